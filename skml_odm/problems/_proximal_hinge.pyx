"""The hinge loss on label pairs, smoothed around given multipliers: value, gradient and Hessian.

A pair with slack s = 1 − f_k + f_l, weight c and given multiplier α⁰ has the loss

    φ(s) = max { α s − w (α − α⁰)² / 2c : 0 ≤ α ≤ c },    φ'(s) = α(s) = clip(α⁰ + c s / w, 0, c),

w the width of the smoothing. φ'' is c / w where α(s) is between its bounds and zero elsewhere.
Arguments as in ``_hinge``; pairs between different components have no loss.
"""

from libc.stdlib cimport free, malloc


cdef inline double clipped(double value, double c) noexcept nogil:
    value = value if value > 0.0 else 0.0
    return value if value < c else c


def evaluate(
    const double[:, ::1] scores,
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const double[::1] weight,
    const long long[::1] first,
    const int[::1] component,
    const double[::1] centre,
    double width,
    double[:, ::1] gradient,
    double[::1] multipliers,
):
    """Return Σ φ; write its gradient coefficients −∂/∂f and the multipliers α(s)."""
    cdef Py_ssize_t q = scores.shape[1], i, a, b, k, other, p, s, pair
    cdef double loss = 0.0, slack, alpha, c, moved, total
    with nogil:
        for i in range(scores.shape[0]):
            p = n_relevant[i]
            s = q - p
            c = weight[i]
            for a in range(q):
                gradient[i, a] = 0.0
            if p == 0 or s == 0 or c == 0.0:
                continue
            for a in range(p):
                k = order[i, a]
                total = 0.0
                for b in range(s):
                    other = order[i, p + b]
                    pair = first[i] + a * s + b
                    if component[k] != component[other]:
                        multipliers[pair] = 0.0
                        continue
                    slack = 1.0 - scores[i, k] + scores[i, other]
                    alpha = clipped(centre[pair] + slack * c / width, c)
                    moved = alpha - centre[pair]
                    loss += alpha * slack - 0.5 * width / c * moved * moved
                    multipliers[pair] = alpha
                    total += alpha
                    gradient[i, other] -= alpha
                gradient[i, k] += total
    return loss


def curvatures(
    const double[:, ::1] scores,
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const double[::1] weight,
    const long long[::1] first,
    const int[::1] component,
    const double[::1] centre,
    double width,
    unsigned char[::1] active,
):
    """Mark the pairs whose multiplier is between its bounds: those with curvature c / w."""
    cdef Py_ssize_t q = scores.shape[1], i, a, b, k, other, p, s, pair
    cdef double value, c
    with nogil:
        for i in range(scores.shape[0]):
            p = n_relevant[i]
            s = q - p
            c = weight[i]
            if p == 0 or s == 0 or c == 0.0:
                continue
            for a in range(p):
                k = order[i, a]
                for b in range(s):
                    other = order[i, p + b]
                    pair = first[i] + a * s + b
                    value = centre[pair] + (1.0 - scores[i, k] + scores[i, other]) * c / width
                    active[pair] = component[k] == component[other] and 0.0 < value < c


def hessian_product(
    const double[:, ::1] direction,
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const double[::1] weight,
    const long long[::1] first,
    const unsigned char[::1] active,
    double width,
    double[:, ::1] result,
):
    """Write the Hessian applied to ``direction``: row by row a graph Laplacian of active pairs."""
    cdef Py_ssize_t q = direction.shape[1], i, j, a, b, p, s
    cdef double flow, total
    cdef double* work = <double*> malloc((2 * q + 1) * sizeof(double))
    cdef double* step = work
    cdef double* out = work + q
    cdef const unsigned char* mark
    if work == NULL:
        raise MemoryError()
    with nogil:
        for i in range(direction.shape[0]):
            p = n_relevant[i]
            s = q - p
            if p == 0 or s == 0 or weight[i] == 0.0:
                for j in range(q):
                    result[i, j] = 0.0
                continue
            for j in range(q):
                step[j] = direction[i, order[i, j]]
                out[j] = 0.0
            for a in range(p):
                mark = &active[first[i] + a * s]
                total = 0.0
                for b in range(s):
                    flow = mark[b] * (step[a] - step[p + b])
                    total += flow
                    out[p + b] -= flow
                out[a] = total
            for j in range(q):
                result[i, order[i, j]] = weight[i] / width * out[j]
    free(work)


def add_hessian(
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const double[::1] weight,
    const long long[::1] first,
    const unsigned char[::1] active,
    double width,
    double[:, ::1] total,
    double[:, ::1] diagonal,
):
    """Add the rows' Hessians (q × q) to ``total``; write their diagonals into ``diagonal``."""
    cdef Py_ssize_t q = order.shape[1], i, j, a, b, k, other, p, s
    cdef double curvature
    with nogil:
        for i in range(order.shape[0]):
            p = n_relevant[i]
            s = q - p
            for j in range(q):
                diagonal[i, j] = 0.0
            if p == 0 or s == 0 or weight[i] == 0.0:
                continue
            curvature = weight[i] / width
            for a in range(p):
                k = order[i, a]
                for b in range(s):
                    if active[first[i] + a * s + b]:
                        other = order[i, p + b]
                        diagonal[i, k] += curvature
                        diagonal[i, other] += curvature
                        total[k, other] -= curvature
                        total[other, k] -= curvature
            for j in range(q):
                total[j, j] += diagonal[i, j]
