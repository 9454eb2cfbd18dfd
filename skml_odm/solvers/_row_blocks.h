/* Loops over blocks of four rows, for _frank_wolfe.pyx.

   A pair (row, k, l) has the slope up[row] - down[row] + ridge, up and down the scores of its labels.
   Pairs are visited four rows at a time: block p of a list holds the rows from blocks[p] on, and
   their ridges are ridge[4p .. 4p+3], infinite for rows without the pair.

   AVX2 is used where the processor has it, plain C everywhere else and with SKML_ODM_PLAIN. */

#ifndef SKML_ODM_ROW_BLOCKS_H
#define SKML_ODM_ROW_BLOCKS_H

#include <math.h>
#include <stddef.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(SKML_ODM_PLAIN)
#include <immintrin.h>
#define HAS_WIDE __builtin_cpu_supports("avx2")
#define WIDE __attribute__((target("avx2"))) static inline

WIDE __m256d wide_slopes(const double *up, const double *down, const double *ridge)
{
    return _mm256_add_pd(_mm256_sub_pd(_mm256_loadu_pd(up), _mm256_loadu_pd(down)),
                         _mm256_loadu_pd(ridge));
}

WIDE double wide_least(__m256d values)
{
    __m128d half = _mm_min_pd(_mm256_castpd256_pd128(values), _mm256_extractf128_pd(values, 1));
    return _mm_cvtsd_f64(_mm_min_sd(half, _mm_unpackhi_pd(half, half)));
}

WIDE double wide_smallest_slope(const double *up, const double *down, const double *ridge,
                                const int *blocks, ptrdiff_t n)
{
    __m256d even = _mm256_set1_pd(INFINITY), odd = even;
    ptrdiff_t p;
    for (p = 0; p + 1 < n; p += 2) {
        even = _mm256_min_pd(even, wide_slopes(up + blocks[p], down + blocks[p], ridge + 4 * p));
        odd = _mm256_min_pd(
            odd, wide_slopes(up + blocks[p + 1], down + blocks[p + 1], ridge + 4 * p + 4));
    }
    if (p < n)
        even = _mm256_min_pd(even, wide_slopes(up + blocks[p], down + blocks[p], ridge + 4 * p));
    return wide_least(_mm256_min_pd(even, odd));
}

/* The first block with a slope of at most value, or n. */
WIDE ptrdiff_t wide_find_block(const double *up, const double *down, const double *ridge,
                               const int *blocks, ptrdiff_t n, double value)
{
    __m256d limit = _mm256_set1_pd(value);
    ptrdiff_t p = 0;
    while (p < n && !_mm256_movemask_pd(_mm256_cmp_pd(
                        wide_slopes(up + blocks[p], down + blocks[p], ridge + 4 * p), limit,
                        _CMP_LE_OQ)))
        p++;
    return p;
}

WIDE void wide_shift_scores(double *up, double *down, const double *column, const int *order,
                            double step, double offset, ptrdiff_t n)
{
    __m256d steps = _mm256_set1_pd(step), offsets = _mm256_set1_pd(offset);
    ptrdiff_t j;
    for (j = 0; j < n; j += 4) {
        const int *o = order + j;
        __m128d first = _mm_loadh_pd(_mm_load_sd(column + o[0]), column + o[1]);
        __m128d last = _mm_loadh_pd(_mm_load_sd(column + o[2]), column + o[3]);
        __m256d change = _mm256_mul_pd(
            steps, _mm256_add_pd(_mm256_insertf128_pd(_mm256_castpd128_pd256(first), last, 1),
                                 offsets));
        _mm256_storeu_pd(up + j, _mm256_add_pd(_mm256_loadu_pd(up + j), change));
        _mm256_storeu_pd(down + j, _mm256_sub_pd(_mm256_loadu_pd(down + j), change));
    }
}

/* n is a multiple of four. */
WIDE void wide_extremes(const double *values, ptrdiff_t n, double *least, double *most)
{
    __m256d low = _mm256_set1_pd(INFINITY), high = _mm256_set1_pd(INFINITY);
    ptrdiff_t j;
    for (j = 0; j < n; j += 4) {
        __m256d now = _mm256_loadu_pd(values + j);
        low = _mm256_min_pd(low, now);
        high = _mm256_min_pd(high, _mm256_sub_pd(_mm256_setzero_pd(), now));
    }
    *least = wide_least(low);
    *most = -wide_least(high);
}

/* The smallest of n values, a multiple of four. */
WIDE double wide_least_of(const double *values, ptrdiff_t n)
{
    __m256d even = _mm256_set1_pd(INFINITY), odd = even;
    ptrdiff_t j;
    for (j = 0; j + 4 < n; j += 8) {
        even = _mm256_min_pd(even, _mm256_loadu_pd(values + j));
        odd = _mm256_min_pd(odd, _mm256_loadu_pd(values + j + 4));
    }
    if (j < n) even = _mm256_min_pd(even, _mm256_loadu_pd(values + j));
    return wide_least(_mm256_min_pd(even, odd));
}

/* Skip four values at a time while all of them are at least limit. */
WIDE ptrdiff_t wide_skip(const double *values, ptrdiff_t j, ptrdiff_t n, double limit)
{
    __m256d limits = _mm256_set1_pd(limit);
    while (j + 4 <= n && !_mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(values + j), limits,
                                                           _CMP_LT_OQ)))
        j += 4;
    return j;
}
#else
#define HAS_WIDE 0
#define wide_least_of(values, n) 0.0
#define wide_skip(values, j, n, limit) 0
#define wide_smallest_slope(up, down, ridge, blocks, n) 0.0
#define wide_find_block(up, down, ridge, blocks, n, value) 0
#define wide_shift_scores(up, down, column, order, step, offset, n)
#define wide_extremes(values, n, least, most)
#endif

static inline double smaller(double a, double b) { return a < b ? a : b; }

/* The smallest of some values; infinite if there are none. */
static inline double least_of(const double *values, ptrdiff_t n)
{
    double low = INFINITY;
    ptrdiff_t j = 0;
    if (HAS_WIDE) {
        j = n - n % 4;
        low = wide_least_of(values, j);
    }
    for (; j < n; j++) low = smaller(values[j], low);
    return low;
}

/* The first place from j on with a value below limit, or n. */
static inline ptrdiff_t next_below(const double *values, ptrdiff_t j, ptrdiff_t n, double limit)
{
    if (HAS_WIDE) j = wide_skip(values, j, n, limit);
    while (j < n && !(values[j] < limit)) j++;
    return j;
}

/* The smallest slope of a list of blocks; infinite if there are none. */
static inline double smallest_slope(const double *up, const double *down, const double *ridge,
                                    const int *blocks, ptrdiff_t n)
{
    /* four minima, so that none waits for another */
    double a = INFINITY, b = INFINITY, c = INFINITY, d = INFINITY;
    ptrdiff_t p;
    if (HAS_WIDE) return wide_smallest_slope(up, down, ridge, blocks, n);
    for (p = 0; p < n; p++) {
        const double *u = up + blocks[p], *v = down + blocks[p], *r = ridge + 4 * p;
        a = smaller(u[0] - v[0] + r[0], a);
        b = smaller(u[1] - v[1] + r[1], b);
        c = smaller(u[2] - v[2] + r[2], c);
        d = smaller(u[3] - v[3] + r[3], d);
    }
    return smaller(smaller(a, b), smaller(c, d));
}

/* Where in ridge the pair stands whose slope is the smallest, value; the rounding of sums done in
   another order may have hidden it from a first look. */
static inline ptrdiff_t find_slope(const double *up, const double *down, const double *ridge,
                                   const int *blocks, ptrdiff_t n, double value)
{
    double slope, smallest = INFINITY;
    ptrdiff_t p = 0, end = 4 * n, found = 0;
    if (HAS_WIDE) {
        p = wide_find_block(up, down, ridge, blocks, n, value);
        if (p < n) {
            found = 4 * p;
            end = 4 * p + 4;
        }
        p = found;
    }
    for (; p < end; p++) {
        slope = up[blocks[p / 4] + p % 4] - down[blocks[p / 4] + p % 4] + ridge[p];
        if (slope < smallest) {
            smallest = slope;
            found = p;
        }
    }
    return found;
}

/* up += step (column[order] + offset), down -= the same; n is a multiple of four. */
static inline void shift_scores(double *up, double *down, const double *column, const int *order,
                                double step, double offset, ptrdiff_t n)
{
    ptrdiff_t j;
    if (HAS_WIDE) {
        wide_shift_scores(up, down, column, order, step, offset, n);
        return;
    }
    for (j = 0; j < n; j++) {
        double change = step * (column[order[j]] + offset);
        up[j] += change;
        down[j] -= change;
    }
}

/* Smallest and largest of the values; (inf, -inf) if there are none. */
static inline void extremes(const double *values, ptrdiff_t n, double *least, double *most)
{
    double low, high;
    ptrdiff_t j = 0;
    *least = INFINITY;
    *most = -INFINITY;
    if (HAS_WIDE) {
        j = n - n % 4;
        wide_extremes(values, j, least, most);
    }
    low = *least;
    high = *most;
    for (; j < n; j++) {
        low = values[j] < low ? values[j] : low;
        high = values[j] > high ? values[j] : high;
    }
    *least = low;
    *most = high;
}

#endif
