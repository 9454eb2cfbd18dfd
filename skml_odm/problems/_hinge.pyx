"""Hinge loss on label pairs: value, subgradient, and steps on the multipliers of Rank-SVM's dual.

Row i has a multiplier 0 ≤ α_ikl ≤ c_i for every relevant label k and irrelevant label l; its
coefficients are A_ik = Σ_l α_ikl and A_il = −Σ_k α_ikl. ``order[i]`` lists the row's labels, its
``n_relevant[i]`` relevant ones first; from ``first[i]`` on stand its multipliers, relevant label by
relevant label. A pair whose labels are in different ``component``s keeps its multiplier: zero.
"""

from libc.math cimport fabs
from libc.stdlib cimport free, malloc
from skml_odm.utils._panel cimport add_multiple
from skml_odm.utils._signals cimport ROWS_PER_LOOK, look_for_signals


def vertex(
    const double[:, ::1] scores,
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const double[::1] weight,
    double[:, ::1] coefficients,
):
    """Return Σ_i c_i Σ_kl (1 − f_ik + f_il)₊; write A with all pairs of margin below 1 at c_i."""
    cdef Py_ssize_t m = scores.shape[0], q = scores.shape[1], i, j, a, b, k, other, p
    cdef double total = 0.0, row, short_by
    with nogil:
        for i in range(m):
            p = n_relevant[i]
            for j in range(q):
                coefficients[i, j] = 0.0
            if weight[i] == 0.0:
                continue
            row = 0.0
            for a in range(p):
                k = order[i, a]
                for b in range(p, q):
                    other = order[i, b]
                    short_by = 1.0 - scores[i, k] + scores[i, other]
                    if short_by > 0.0:
                        row += short_by
                        coefficients[i, k] += weight[i]
                        coefficients[i, other] -= weight[i]
            total += weight[i] * row
    return total


def sweep(
    int max_passes,
    double precision,
    const long long[::1] visits,
    Py_ssize_t start,
    Py_ssize_t spacing,
    const double[:, ::1] gram,
    double[:, ::1] scores,
    double[:, ::1] coefficients,
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const double[::1] weight,
    const long long[::1] first,
    const int[::1] component,
    double[::1] multipliers,
):
    """Improve every block of one panel of instances; return the sum of their gaps when met.

    The panel holds the instances start, start + spacing, …; ``visits`` is the order of its blocks.
    ``gram`` is the kernel matrix of the panel, ``scores`` (labels × instances) are its scores; all
    but these are the whole problem's. A block is improved by passes over its pairs, each moved to
    its own optimum, until no multiplier changes by more than ``precision`` times its bound.
    """
    cdef Py_ssize_t n = gram.shape[0], q = scores.shape[0], visit, at, i, j, a, b, p, s, row
    cdef double kappa, half, gap = 0.0, slack, value, change, largest, level, rise, c
    cdef int _pass
    cdef double* work = <double*> malloc((2 * q + 1) * sizeof(double))
    cdef double* f = work
    cdef double* moved = work + q
    cdef double* alpha
    cdef int* kind = <int*> malloc((q + 1) * sizeof(int))
    if work == NULL or kind == NULL:
        free(work)
        free(kind)
        raise MemoryError()
    with nogil:
        for visit in range(n):
            at = visits[visit]
            i = start + at * spacing
            p = n_relevant[i]
            s = q - p
            c = weight[i]
            if p == 0 or s == 0 or c == 0.0:
                continue
            kappa = gram[at, at]
            # a row without length has nothing to lose: its multipliers go to a bound at once
            half = 0.5 / kappa if kappa > 1e-300 else 1e300
            alpha = &multipliers[first[i]]
            for j in range(q):
                f[j] = scores[order[i, j], at]
                kind[j] = component[order[i, j]]
                moved[j] = 0.0
            for _pass in range(max_passes):
                largest = 0.0
                for a in range(p):
                    level = 1.0 - f[a]
                    rise = 0.0
                    for b in range(s):
                        if kind[a] != kind[p + b]:
                            continue
                        slack = level + f[p + b]
                        if _pass == 0:
                            gap += (c if slack > 0.0 else 0.0) * slack - alpha[a * s + b] * slack
                        value = alpha[a * s + b] + slack * half
                        value = value if value > 0.0 else 0.0
                        value = value if value < c else c
                        change = value - alpha[a * s + b]
                        if change != 0.0:
                            alpha[a * s + b] = value
                            rise += change
                            level -= kappa * change
                            f[p + b] -= kappa * change
                            moved[p + b] -= change
                            largest = max(largest, fabs(change))
                    f[a] += kappa * rise
                    moved[a] += rise
                if largest <= precision * c:
                    break
            for j in range(q):
                if moved[j] != 0.0:
                    row = order[i, j]
                    coefficients[i, row] += moved[j]
                    add_multiple(&scores[row, 0], &gram[at, 0], moved[j], n)
    free(work)
    free(kind)
    return gap


def free_laplacian(
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const double[::1] weight,
    const long long[::1] first,
    const double[::1] multipliers,
    double[:, ::1] laplacian,
):
    """Add Σ α(c − α)/c · (e_k − e_l)(e_k − e_l)ᵀ to ``laplacian``: what free ones can move."""
    cdef Py_ssize_t q = order.shape[1], i, a, b, k, other, p, s
    cdef double freedom, alpha, c
    with nogil:
        for i in range(order.shape[0]):
            if i % ROWS_PER_LOOK == 0:
                look_for_signals()
            p = n_relevant[i]
            s = q - p
            c = weight[i]
            if p == 0 or s == 0 or c == 0.0:
                continue
            for a in range(p):
                k = order[i, a]
                for b in range(s):
                    alpha = multipliers[first[i] + a * s + b]
                    freedom = alpha * (c - alpha) / c
                    if freedom > 0.0:
                        other = order[i, p + b]
                        laplacian[k, k] += freedom
                        laplacian[other, other] += freedom
                        laplacian[k, other] -= freedom
                        laplacian[other, k] -= freedom


def shift_free(
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const double[::1] weight,
    const long long[::1] first,
    const double[::1] potential,
    double[::1] multipliers,
    double[:, ::1] coefficients,
):
    """Move all multipliers by −α(c − α)/c · (potential_k − potential_l); recompute coefficients."""
    cdef Py_ssize_t q = order.shape[1], i, j, a, b, k, other, p, s
    cdef double alpha, c
    with nogil:
        for i in range(order.shape[0]):
            if i % ROWS_PER_LOOK == 0:
                look_for_signals()
            p = n_relevant[i]
            s = q - p
            c = weight[i]
            for j in range(q):
                coefficients[i, j] = 0.0
            if p == 0 or s == 0 or c == 0.0:
                continue
            for a in range(p):
                k = order[i, a]
                for b in range(s):
                    other = order[i, p + b]
                    alpha = multipliers[first[i] + a * s + b]
                    alpha -= alpha * (c - alpha) / c * (potential[k] - potential[other])
                    multipliers[first[i] + a * s + b] = alpha
                    coefficients[i, k] += alpha
                    coefficients[i, other] -= alpha
