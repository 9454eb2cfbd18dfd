"""The pair loss with pairs weighted by differences of confidence: value, gradient and Hessian.

For scores F, row weights c and confidences P (m × q)

    L(F) = Σ_i c_i Σ_{k,l : p_ik > p_il} (p_ik − p_il) ℓ(f_ik − f_il),

ℓ as in ``_pair_loss``. ``order[i]`` lists the labels of row i by falling confidence, ``sorted[i]``
the confidences in that order, the first ``n_positive[i]`` of them above zero: only these labels can
be the greater one of a pair. The lesser one is among the labels from place ``first_other[i]`` on.
"""

from libc.stdlib cimport free, malloc
from skml_odm.problems._pairs cimport pair_curvature


def evaluate(
    const double[:, ::1] scores,
    const int[:, ::1] order,
    const int[::1] n_positive,
    const int[::1] first_other,
    const double[:, ::1] sorted,
    const double[::1] weight,
    double lower,
    double upper,
    double mu,
    double[:, ::1] gradient,
):
    """Return L(scores) and write G(scores) = −∇L(scores) into ``gradient``."""
    cdef Py_ssize_t m = scores.shape[0], q = scores.shape[1], i, j, a, b
    cdef double loss = 0.0, row_loss, importance, margin, short_by, over_by, pull
    cdef double* f = <double*> malloc((2 * q + 1) * sizeof(double))
    cdef double* g = f + q
    if f == NULL:
        raise MemoryError()
    with nogil:
        for i in range(m):
            for j in range(q):
                f[j] = scores[i, order[i, j]]
                g[j] = 0.0
            row_loss = 0.0
            for a in range(n_positive[i]):
                for b in range(max(a + 1, first_other[i]), q):
                    importance = sorted[i, a] - sorted[i, b]
                    margin = f[a] - f[b]
                    short_by = lower - margin
                    over_by = margin - upper
                    short_by = short_by if short_by > 0.0 else 0.0
                    over_by = over_by if over_by > 0.0 else 0.0
                    row_loss += importance * (short_by * short_by + mu * over_by * over_by)
                    pull = importance * (short_by - mu * over_by)
                    g[a] += pull
                    g[b] -= pull
            loss += 0.5 * weight[i] * row_loss
            for j in range(q):
                gradient[i, order[i, j]] = weight[i] * g[j]
    free(f)
    return loss


def hessian_product(
    const double[:, ::1] scores,
    const double[:, ::1] direction,
    const int[:, ::1] order,
    const int[::1] n_positive,
    const int[::1] first_other,
    const double[:, ::1] sorted,
    const double[::1] weight,
    double lower,
    double upper,
    double mu,
    double[:, ::1] result,
):
    """Write the generalised Hessian at ``scores`` applied to ``direction`` into ``result``."""
    cdef Py_ssize_t m = scores.shape[0], q = scores.shape[1], i, j, a, b
    cdef double flow
    cdef double* f = <double*> malloc((3 * q + 1) * sizeof(double))
    cdef double* step = f + q
    cdef double* out = f + 2 * q
    if f == NULL:
        raise MemoryError()
    with nogil:
        for i in range(m):
            for j in range(q):
                f[j] = scores[i, order[i, j]]
                step[j] = direction[i, order[i, j]]
                out[j] = 0.0
            for a in range(n_positive[i]):
                for b in range(max(a + 1, first_other[i]), q):
                    flow = (sorted[i, a] - sorted[i, b]) * (step[a] - step[b])
                    flow *= pair_curvature(f[a] - f[b], lower, upper, mu)
                    out[a] += flow
                    out[b] -= flow
            for j in range(q):
                result[i, order[i, j]] = weight[i] * out[j]
    free(f)


def add_hessian(
    const double[:, ::1] scores,
    const int[:, ::1] order,
    const int[::1] n_positive,
    const int[::1] first_other,
    const double[:, ::1] sorted,
    const double[::1] weight,
    double lower,
    double upper,
    double mu,
    double[:, ::1] total,
    double[:, ::1] diagonal,
):
    """Add the rows' Hessians (q × q) to ``total``; write their diagonals into ``diagonal``."""
    cdef Py_ssize_t m = scores.shape[0], q = scores.shape[1], i, j, a, b, k, other
    cdef double curvature
    with nogil:
        for i in range(m):
            for j in range(q):
                diagonal[i, j] = 0.0
            for a in range(n_positive[i]):
                k = order[i, a]
                for b in range(max(a + 1, first_other[i]), q):
                    other = order[i, b]
                    curvature = weight[i] * (sorted[i, a] - sorted[i, b]) * pair_curvature(
                        scores[i, k] - scores[i, other], lower, upper, mu
                    )
                    if curvature == 0.0:
                        continue
                    diagonal[i, k] += curvature
                    diagonal[i, other] += curvature
                    total[k, other] -= curvature
                    total[other, k] -= curvature
            for j in range(q):
                total[j, j] += diagonal[i, j]
