"""The pair loss of one instance in O(q log p), p labels on the smaller side; see ``pxd``."""

from libc.math cimport INFINITY
from skml_odm.problems._pairs cimport RowPairs, pair_curvature

# With so many labels on the smaller and on the larger side buckets beat loops over all pairs.
cdef Py_ssize_t MIN_FEW = 8
cdef Py_ssize_t MIN_MANY = 100

# Cells of the line per cut, for the search.
cdef Py_ssize_t CELLS = 8


cdef bint sorting_pays(const RowPairs* row) noexcept nogil:
    """Whether buckets are faster than a loop over all pairs."""
    return min(row.p, row.q - row.p) >= MIN_FEW and max(row.p, row.q - row.p) >= MIN_MANY


cdef Py_ssize_t most_pairs_in_a_loop(Py_ssize_t q) noexcept nogil:
    """The most pairs of a row with at most q labels in pairs for which sorting does not pay."""
    cdef Py_ssize_t n = min(q, 2 * MIN_MANY)
    return max((n // 2) * (n - n // 2), MIN_FEW * q)


cdef size_t bucket_workspace(Py_ssize_t q) noexcept nogil:
    """Doubles that the buckets of an instance with q labels need."""
    # at most q/2 labels on the smaller side, q + 1 buckets, and integers at half the size
    return 9 * (q // 2 + 1) + 9 * (q + 1) + q + (CELLS * (q + 1)) // 2 + 2


cdef void open_buckets(Buckets* buckets, const RowPairs* row, double* work) noexcept nogil:
    """Buckets for a row; ``work`` has room for ``bucket_workspace(q)`` doubles."""
    cdef Py_ssize_t p = row.p, q = row.q, n_few = min(p, q - p), a
    buckets.lower, buckets.upper, buckets.mu = row.lower, row.upper, row.mu
    buckets.weight, buckets.n_few, buckets.n_many = row.weight, n_few, q - n_few
    if p <= q - p:
        buckets.sign, buckets.first_few, buckets.first_many = 1.0, 0, p
    else:
        buckets.sign, buckets.first_few, buckets.first_many = -1.0, p, 0
    # without an interval that costs nothing both kinks are one
    buckets.n_cuts = n_few if row.lower == row.upper else 2 * n_few
    buckets.few = work
    buckets.mean_below = work + (n_few + 1)
    buckets.mean_above = work + 2 * (n_few + 1)
    buckets.spread_above = work + 3 * (n_few + 1)
    buckets.short_count = work + 4 * (n_few + 1)
    buckets.short_mean = work + 5 * (n_few + 1)
    buckets.over_count = work + 6 * (n_few + 1)
    buckets.over_mean = work + 7 * (n_few + 1)
    buckets.place = <int*> (work + 8 * (n_few + 1))
    work += 9 * (n_few + 1)
    buckets.cut = work
    buckets.pairs = work + (buckets.n_cuts + 1)
    buckets.centre = work + 2 * (buckets.n_cuts + 1)
    buckets.spread = work + 3 * (buckets.n_cuts + 1)
    buckets.count = work + 4 * (buckets.n_cuts + 1)
    buckets.total = work + 5 * (buckets.n_cuts + 1)
    buckets.square = work + 6 * (buckets.n_cuts + 1)
    buckets.n_short = <int*> (work + 7 * (buckets.n_cuts + 1))
    buckets.first_over = buckets.n_short + (buckets.n_cuts + 1)
    buckets.bucket = buckets.n_short + 2 * (buckets.n_cuts + 1)
    buckets.cell = buckets.bucket + buckets.n_many
    for a in range(n_few):
        buckets.place[a] = <int> a
    for a in range(buckets.n_cuts + 1):
        buckets.n_short[a] = -1
    for a in range(buckets.n_many):
        buckets.bucket[a] = -1


cdef bint sort_few(Buckets* buckets, const double* f) noexcept nogil:
    """Sort the smaller side's scores, from their last order on; whether the order changed."""
    cdef const double* scores = f + buckets.first_few
    cdef Py_ssize_t n = buckets.n_few, a, at, gap
    cdef double* few = buckets.few
    cdef int* place = buckets.place
    cdef double score
    cdef int label
    cdef bint changed = False
    # far from zero means of scores lose digits that their differences have
    buckets.shift = scores[0]
    for a in range(n):
        few[a] = buckets.sign * (scores[place[a]] - buckets.shift)
    # Shell's sort: no memory, and hardly any work where little has changed
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for a in range(gap, n):
            score, label, at = few[a], place[a], a
            while at >= gap and few[at - gap] > score:
                few[at] = few[at - gap]
                place[at] = place[at - gap]
                at -= gap
            if at < a:
                few[at] = score
                place[at] = label
                changed = True
        gap //= 3
    return changed


cdef inline double share_of(double part, double whole) noexcept nogil:
    return part / whole if whole > 0.0 else 0.0


cdef bint cut_line(Buckets* buckets) noexcept nogil:
    """Cuts, and what a bucket has in common; whether the order of the cuts changed."""
    cdef Py_ssize_t n = buckets.n_few, n_cuts = buckets.n_cuts, i = 0, j = 0, t
    cdef double lower = buckets.lower, upper = buckets.upper, mu = buckets.mu
    cdef double* few = buckets.few
    cdef double mean = 0.0, spread = 0.0, apart, over, pairs, share
    cdef bint changed = False
    # u_a from some rank on
    buckets.mean_above[n] = 0.0
    buckets.spread_above[n] = 0.0
    if mu > 0.0:
        for t in range(n - 1, -1, -1):
            apart = few[t] - mean
            mean += apart / (n - t)
            spread += apart * (few[t] - mean)
            buckets.mean_above[t] = mean
            buckets.spread_above[t] = spread
    else:
        for t in range(n):
            buckets.mean_above[t] = 0.0
            buckets.spread_above[t] = 0.0
    mean = 0.0
    spread = 0.0
    for t in range(n_cuts + 1):
        over = mu * (n - j)
        pairs = i + over
        # the mean of the cuts where pairs fall short, and its distance to that of the others
        apart = (buckets.mean_above[j] - upper) - (mean - lower)
        share = share_of(over, pairs)
        changed |= buckets.n_short[t] != i
        buckets.n_short[t], buckets.first_over[t] = <int> i, <int> j
        buckets.pairs[t] = pairs
        buckets.centre[t] = (mean - lower) + share * apart
        if i == 0:
            buckets.centre[t] = buckets.mean_above[j] - upper
        buckets.spread[t] = spread + mu * buckets.spread_above[j] + i * share * apart * apart
        buckets.count[t] = 0.0
        buckets.total[t] = 0.0
        buckets.square[t] = 0.0
        if t == n_cuts:
            break
        if j < n and (i == n or few[j] - upper <= few[i] - lower):
            buckets.cut[t] = few[j] - upper
            j += 1
            if n_cuts > n:
                continue
        buckets.cut[t] = few[i] - lower
        i += 1
        apart = few[i - 1] - mean
        mean += apart / i
        spread += apart * (few[i - 1] - mean)
    lay_cells(buckets)
    return changed


cdef inline int cell_of(double score, double origin, double per_unit, double top) noexcept nogil:
    """The cell of the line that a score is in: never falls where scores rise."""
    cdef double at = per_unit * (score - origin)
    at = at if at > 0.0 else 0.0
    return <int> (at if at < top else top)


cdef void lay_cells(Buckets* buckets) noexcept nogil:
    """Split the line into equal cells, and count the cuts before each."""
    cdef Py_ssize_t n = buckets.n_cuts, n_cells = CELLS * n, t, c = 0, last
    cdef double width = buckets.cut[n - 1] - buckets.cut[0]
    buckets.cut[n] = INFINITY
    buckets.origin = buckets.cut[0]
    # equal cuts are all in the first cell
    buckets.per_unit = n_cells / width if width > 0.0 else 0.0
    buckets.top = n_cells - 1
    for t in range(n):
        last = cell_of(buckets.cut[t], buckets.origin, buckets.per_unit, buckets.top)
        while c <= last:
            buckets.cell[c] = <int> t
            c += 1
    while c <= n_cells:
        buckets.cell[c] = <int> n
        c += 1


cdef inline Py_ssize_t search(const double* cut, Py_ssize_t n, double score) noexcept nogil:
    """How many of n ascending cuts are below the score."""
    cdef Py_ssize_t at = 0, half
    while n > 1:
        half = n // 2
        at += half * (cut[at + half - 1] < score)
        n -= half
    return at + (cut[at] < score)


cdef bint fill(Buckets* buckets, const double* f, double* gradient) noexcept nogil:
    """Put the other side's scores into their buckets, and write its gradient coefficients.

    Counts, sums and squares of v − centre are added up. Returns whether a label's bucket changed.
    """
    cdef Py_ssize_t other, t, c
    cdef const int* cell = buckets.cell
    cdef const double* cut = buckets.cut
    cdef const double* pairs = buckets.pairs
    cdef const double* centre = buckets.centre
    cdef double* count = buckets.count
    cdef double* total = buckets.total
    cdef double* square = buckets.square
    cdef double score, apart, sign = buckets.sign, shift = buckets.shift
    cdef double scale = -sign * buckets.weight
    cdef int* bucket = buckets.bucket
    cdef int changed = 0
    f += buckets.first_many
    gradient += buckets.first_many
    for other in range(buckets.n_many):
        score = sign * (f[other] - shift)
        c = cell_of(score, buckets.origin, buckets.per_unit, buckets.top)
        t = cell[c]
        # most cells hold one cut or none, and the cut after them is above the score
        if cell[c + 1] - t <= 1:
            t += cut[t] < score
        else:
            t += search(cut + t, cell[c + 1] - t, score)
        changed |= bucket[other] ^ <int> t
        bucket[other] = <int> t
        apart = score - centre[t]
        gradient[other] = scale * pairs[t] * apart
        count[t] += 1.0
        total[t] += apart
        square[t] += apart * apart
    return changed != 0


cdef void pool(Buckets* buckets) noexcept nogil:
    """For every rank of the smaller side, how many pairs fall short or are over, and their mean v.

    ``count`` and ``total`` (around ``centre``) are those of the buckets.
    """
    cdef Py_ssize_t a, t = buckets.n_cuts, n = buckets.n_few
    cdef double count = 0.0, mean = 0.0
    for a in range(n - 1, -1, -1):
        while t >= 0 and buckets.n_short[t] > a:
            if buckets.count[t] > 0.0:
                count += buckets.count[t]
                mean += (
                    buckets.count[t] * (buckets.centre[t] - mean) + buckets.total[t]
                ) / count
            t -= 1
        buckets.short_count[a] = count
        buckets.short_mean[a] = mean
    count = 0.0
    mean = 0.0
    t = 0
    for a in range(n):
        while t <= buckets.n_cuts and buckets.first_over[t] <= a:
            if buckets.count[t] > 0.0:
                count += buckets.count[t]
                mean += (
                    buckets.count[t] * (buckets.centre[t] - mean) + buckets.total[t]
                ) / count
            t += 1
        buckets.over_count[a] = count
        buckets.over_mean[a] = mean


cdef double bucket_terms(
    Buckets* buckets, const double* f, double* gradient, bint* changed,
) noexcept nogil:
    """Loss and gradient coefficients; whether the state of a pair is another than at the last call.

    ``f`` and ``gradient`` hold the relevant labels first.
    """
    cdef Py_ssize_t a, t
    cdef double pull, loss = 0.0
    changed[0] = sort_few(buckets, f)
    changed[0] |= cut_line(buckets)
    changed[0] |= fill(buckets, f, gradient)
    pool(buckets)
    gradient += buckets.first_few
    for a in range(buckets.n_few):
        pull = buckets.short_count[a] * (
            buckets.short_mean[a] - (buckets.few[a] - buckets.lower)
        )
        if buckets.mu > 0.0:
            pull -= buckets.mu * buckets.over_count[a] * (
                (buckets.few[a] - buckets.upper) - buckets.over_mean[a]
            )
        gradient[buckets.place[a]] = buckets.sign * buckets.weight * pull
    for t in range(buckets.n_cuts + 1):
        loss += buckets.pairs[t] * buckets.square[t] + buckets.count[t] * buckets.spread[t]
    return 0.5 * buckets.weight * loss


cdef double pair_terms(const RowPairs* row, const double* f, double* gradient) noexcept nogil:
    """Loss and gradient coefficients by a loop over all pairs."""
    cdef Py_ssize_t k, other, p = row.p, q = row.q
    cdef double lower = row.lower, upper = row.upper, mu = row.mu
    cdef double short_by, over_by, multiplier, row_sum, row_loss, loss = 0.0
    for other in range(p, q):
        gradient[other] = 0.0
    for k in range(p):
        row_sum = 0.0
        row_loss = 0.0
        for other in range(p, q):
            short_by = lower - (f[k] - f[other])
            over_by = (f[k] - f[other]) - upper
            short_by = short_by if short_by > 0.0 else 0.0
            over_by = over_by if over_by > 0.0 else 0.0
            # minus the derivative of the pair's loss
            multiplier = short_by - mu * over_by
            row_loss += short_by * short_by + mu * over_by * over_by
            row_sum += multiplier
            gradient[other] -= multiplier
        gradient[k] = row.weight * row_sum
        loss += row_loss
    for other in range(p, q):
        gradient[other] *= row.weight
    return 0.5 * row.weight * loss


cdef double row_terms(
    const RowPairs* row, const double* f, double* gradient, double* work,
) noexcept nogil:
    """Loss of all pairs, and their gradient coefficients; relevant labels first.

    ``work`` has room for ``bucket_workspace(q)`` doubles.
    """
    cdef Buckets buckets
    cdef bint changed
    if not sorting_pays(row):
        return pair_terms(row, f, gradient)
    open_buckets(&buckets, row, work)
    return bucket_terms(&buckets, f, gradient, &changed)


cdef void pair_hessian_product(
    const RowPairs* row, const double* f, const double* x, double* result,
) noexcept nogil:
    """The Hessian times ``x`` by a loop over all pairs."""
    cdef Py_ssize_t k, other, p = row.p, q = row.q
    cdef double lower = row.lower, upper = row.upper, mu = row.mu, flow, total
    for other in range(p, q):
        result[other] = 0.0
    for k in range(p):
        total = 0.0
        for other in range(p, q):
            flow = (x[k] - x[other]) * pair_curvature(f[k] - f[other], lower, upper, mu)
            total += flow
            result[other] -= flow
        result[k] = row.weight * total
    for other in range(p, q):
        result[other] *= row.weight


cdef void row_hessian_product(
    const RowPairs* row, const double* f, const double* x, double* result, double* work,
) noexcept nogil:
    """Write the Hessian at ``f`` times ``x``; relevant labels first, ``work`` as in ``row_terms``.

    It is a graph Laplacian, (D x)_k = Σ_l w_kl (x_k − x_l) over the active pairs: for each label,
    the weight of its pairs times the difference of x to its mean over them.
    """
    cdef Buckets buckets
    cdef Py_ssize_t a, k, t, other
    cdef double mean, apart, weight = row.weight, mu = row.mu
    if not sorting_pays(row):
        pair_hessian_product(row, f, x, result)
        return
    open_buckets(&buckets, row, work)
    sort_few(&buckets, f)
    cut_line(&buckets)
    fill(&buckets, f, result)
    cdef const double* few = x + buckets.first_few
    cdef double* below = buckets.mean_below
    cdef double* above = buckets.mean_above
    below[0] = 0.0
    for a in range(buckets.n_few):
        below[a + 1] = below[a] + (few[buckets.place[a]] - below[a]) / (a + 1)
    above[buckets.n_few] = 0.0
    for a in range(buckets.n_few - 1, -1, -1):
        apart = few[buckets.place[a]] - above[a + 1]
        above[a] = above[a + 1] + apart / (buckets.n_few - a)
    for t in range(buckets.n_cuts + 1):
        # the mean over a bucket's pairs takes the place of their centre
        a = buckets.first_over[t]
        k = buckets.n_short[t]
        mean = above[a] if k == 0 else below[k]
        apart = mu * (buckets.n_few - a)
        buckets.centre[t] = mean + share_of(apart, buckets.pairs[t]) * (above[a] - mean)
        buckets.total[t] = 0.0
    k = buckets.first_many
    for other in range(buckets.n_many):
        t = buckets.bucket[other]
        apart = x[k + other] - buckets.centre[t]
        buckets.total[t] += apart
        result[k + other] = weight * buckets.pairs[t] * apart
    pool(&buckets)
    for a in range(buckets.n_few):
        k = buckets.first_few + buckets.place[a]
        result[k] = buckets.short_count[a] * (x[k] - buckets.short_mean[a])
        result[k] += mu * buckets.over_count[a] * (x[k] - buckets.over_mean[a])
        result[k] *= weight
