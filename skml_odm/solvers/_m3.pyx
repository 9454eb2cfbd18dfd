"""Multiplicative margin maximisation (M³, Sha et al. 2002) as the block solver of paper 000.

Block i of the dual, with the pair multipliers η = [α; β] ≥ 0 of one instance, is

    min_η  ½ ηᵀ H η + vᵀ η,     H = [A + I/c, −A; −A, A + I/(cμ)],
    v_α = γ⁰ − lower,           v_β = upper − γ⁰,

where γ⁰ are the margins that the other blocks give and A_(kl),(k'l') = κ(δ_kk' + δ_ll') ≥ 0. Split
into H = H⁺ − H⁻ with nonnegative parts, one update multiplies every variable by

    λ = (−v + √(v² + 4 (H⁺η)(H⁻η))) / (2 H⁺η)

and never increases the objective. A·α is a row sum plus a column sum of the pair matrix, so an
update costs O(|Y||N|) and no matrix is ever formed. Zero is absorbing: a block starts from its
last multipliers, lifted to a small positive floor.
"""

from libc.math cimport fabs, sqrt
from libc.stdlib cimport free, malloc
from skml_odm.problems._pairs cimport pair_terms
from skml_odm.utils._panel cimport add_multiple

# Multipliers start at least this far (times the row's weight) from the absorbing zero.
cdef double FLOOR = 1e-10


cdef inline double growth(double v, double plus, double minus) noexcept nogil:
    """The factor λ, written so that nothing cancels."""
    cdef double root = sqrt(v * v + 4.0 * plus * minus)
    if plus == 0.0:
        # all multipliers are zero and stay so
        return 1.0
    if v > 0.0:
        return 2.0 * minus / (v + root)
    return (root - v) / (2.0 * plus)


cdef void multiplicative_updates(
    const double* centre, double* alpha, double* beta, Py_ssize_t p, Py_ssize_t s,
    double kappa, double weight, double lower, double upper, double mu,
    double tol, int max_updates, double* sums,
) noexcept nogil:
    """Update the multipliers in place until no variable changes by more than ``tol`` · largest.

    ``sums`` has room for 4(p + s) doubles: row and column sums of α and β, old and new.
    """
    cdef Py_ssize_t k, other, j, q = p + s
    cdef int _update
    cdef double a, b, margin, shared_a, shared_b, largest, change
    cdef double* old_a = sums
    cdef double* old_b = sums + q
    cdef double* new_a = sums + 2 * q
    cdef double* new_b = sums + 3 * q
    for j in range(2 * q):
        new_a[j] = 0.0
    for k in range(p):
        for other in range(s):
            new_a[k] += alpha[k * s + other]
            new_a[p + other] += alpha[k * s + other]
            new_b[k] += beta[k * s + other]
            new_b[p + other] += beta[k * s + other]
    for _update in range(max_updates):
        for j in range(2 * q):
            old_a[j] = new_a[j]
            new_a[j] = 0.0
        largest = 0.0
        change = 0.0
        for k in range(p):
            for other in range(s):
                margin = centre[k] - centre[p + other]
                a = alpha[k * s + other]
                b = beta[k * s + other]
                shared_a = kappa * (old_a[k] + old_a[p + other])
                shared_b = kappa * (old_b[k] + old_b[p + other])
                alpha[k * s + other] = a * growth(margin - lower, shared_a + a / weight, shared_b)
                if mu > 0.0:
                    beta[k * s + other] = b * growth(
                        upper - margin, shared_b + b / (weight * mu), shared_a
                    )
                new_a[k] += alpha[k * s + other]
                new_a[p + other] += alpha[k * s + other]
                new_b[k] += beta[k * s + other]
                new_b[p + other] += beta[k * s + other]
                change = max(
                    change, fabs(alpha[k * s + other] - a), fabs(beta[k * s + other] - b)
                )
                largest = max(largest, alpha[k * s + other], beta[k * s + other])
        if change <= tol * largest:
            break


def sweep(
    const long long[::1] visits,
    Py_ssize_t start,
    Py_ssize_t spacing,
    const double[:, ::1] gram,
    double[:, ::1] scores,
    double[:, ::1] coefficients,
    double[::1] conjugate,
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const double[::1] weight,
    double lower,
    double upper,
    double mu,
    const long long[::1] first,
    double[::1] multipliers,
    double tol,
    int max_updates,
):
    """Visit every block of one panel of instances once; return (gap, dual gain).

    Arguments as in ``_block.sweep``; from ``multipliers[first[i]]`` on stand the values α − β of
    the pairs of instance i, relevant label by relevant label. A block that M³ leaves worse than it
    was keeps its old multipliers.
    """
    cdef Py_ssize_t n = gram.shape[0], q = scores.shape[0], visit, at
    cdef Py_ssize_t i, j, k, other, p, s, row, most = 1
    cdef double kappa, gap = 0.0, gain = 0.0, linear, block_gain, new_conjugate, change, d
    for i in range(n_relevant.shape[0]):
        most = max(most, n_relevant[i] * (q - n_relevant[i]))
    cdef double* work = <double*> malloc((7 * q + 2 * most) * sizeof(double))
    cdef double* f = work
    cdef double* centre = work + q
    cdef double* pull = work + 2 * q
    cdef double* sums = work + 3 * q
    cdef double* alpha = work + 7 * q
    cdef double* beta = alpha + most
    cdef double* multiplier
    if work == NULL:
        raise MemoryError()
    with nogil:
        for visit in range(n):
            at = visits[visit]
            i = start + at * spacing
            p = n_relevant[i]
            s = q - p
            if p == 0 or p == q or weight[i] == 0.0:
                continue
            kappa = gram[at, at]
            multiplier = &multipliers[first[i]]
            linear = 0.0
            for j in range(q):
                f[j] = scores[order[i, j], at]
                centre[j] = f[j] - kappa * coefficients[i, order[i, j]]
                linear += f[j] * coefficients[i, order[i, j]]
            gap += (
                pair_terms(f, p, f + p, s, weight[i], lower, upper, mu, pull, pull + p)
                + linear - conjugate[i]
            )
            for j in range(p * s):
                alpha[j] = max(multiplier[j], FLOOR * weight[i])
                beta[j] = max(-multiplier[j], FLOOR * weight[i]) if mu > 0.0 else 0.0
            multiplicative_updates(
                centre, alpha, beta, p, s, kappa, weight[i], lower, upper, mu, tol, max_updates,
                sums,
            )
            new_conjugate = 0.0
            for j in range(q):
                pull[j] = 0.0
            for k in range(p):
                for other in range(s):
                    j = k * s + other
                    # what did not grow from the floor is zero; α and β of one pair cancel
                    if alpha[j] <= FLOOR * weight[i]:
                        alpha[j] = 0.0
                    if beta[j] <= FLOOR * weight[i]:
                        beta[j] = 0.0
                    d = alpha[j] - beta[j]
                    alpha[j] = d
                    pull[k] += d
                    pull[p + other] -= d
                    if d > 0.0:
                        new_conjugate += d * (lower - 0.5 * d / weight[i])
                    elif d < 0.0:
                        new_conjugate += d * (upper - 0.5 * d / (weight[i] * mu))
            block_gain = new_conjugate - conjugate[i]
            for j in range(q):
                change = pull[j] - coefficients[i, order[i, j]]
                block_gain -= change * (f[j] + 0.5 * kappa * change)
            if block_gain < 0.0:
                continue
            gain += block_gain
            conjugate[i] = new_conjugate
            for j in range(p * s):
                multiplier[j] = alpha[j]
            for j in range(q):
                row = order[i, j]
                change = pull[j] - coefficients[i, row]
                if change != 0.0:
                    coefficients[i, row] = pull[j]
                    add_multiple(&scores[row, 0], &gram[at, 0], change, n)
    free(work)
    return gap, gain
