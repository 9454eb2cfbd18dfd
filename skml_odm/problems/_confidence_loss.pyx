"""The pair loss with pairs weighted by differences of confidence: value, gradient and Hessian.

For scores F, row weights c and confidences P (m × q)

    L(F) = Σ_i c_i Σ_{k,l : p_ik > p_il} (p_ik − p_il) ℓ(f_ik − f_il),   ℓ as in ``_pair_loss``.
"""

from libc.stdlib cimport free, malloc
from skml_odm.problems._pairs cimport pair_curvature


cdef class ConfidenceRows:
    """The pairs of all rows; every method works on the rows from ``start`` to ``stop``.

    Parameters
    ----------
    order : ndarray of shape (m, q), int32
        The labels of each row by falling confidence, and those that are in no pair.
    confidences : ndarray of shape (m, q)
        P in that order.
    n_positive, first_other : ndarray of shape (m,), int32
        A pair's greater label is one of the first ``n_positive``, its lesser label stands at place
        ``first_other`` or later.
    n_involved : ndarray of shape (m,), int32
        How many labels are in pairs.
    weight : ndarray of shape (m,)
        c.
    lower, upper, mu : float
        ℓ.
    """

    cdef const int[:, ::1] order
    cdef const double[:, ::1] confidences
    cdef const int[::1] n_positive, first_other, n_involved
    cdef const double[::1] weight
    cdef double lower, upper, mu

    def __init__(
        self, order, confidences, n_positive, first_other, n_involved, weight, lower, upper, mu,
    ):
        self.order, self.confidences = order, confidences
        self.n_positive, self.first_other = n_positive, first_other
        self.n_involved = n_involved
        self.weight = weight
        self.lower, self.upper, self.mu = lower, upper, mu

    def evaluate(
        self, const double[:, ::1] scores, double[:, ::1] gradient,
        Py_ssize_t start, Py_ssize_t stop,
    ):
        """Return L(scores) and write G(scores) = −∇L(scores) into ``gradient``."""
        cdef Py_ssize_t q = scores.shape[1], i, j, a, b
        cdef double loss = 0.0, row_loss, importance, margin, short_by, over_by, pull
        cdef double* f = <double*> malloc((2 * q + 1) * sizeof(double))
        cdef double* g = f + q
        if f == NULL:
            raise MemoryError()
        with nogil:
            for i in range(start, stop):
                for j in range(q):
                    f[j] = scores[i, self.order[i, j]]
                    g[j] = 0.0
                row_loss = 0.0
                for a in range(self.n_positive[i]):
                    for b in range(max(a + 1, self.first_other[i]), self.n_involved[i]):
                        importance = self.confidences[i, a] - self.confidences[i, b]
                        margin = f[a] - f[b]
                        short_by = max(self.lower - margin, 0.0)
                        over_by = max(margin - self.upper, 0.0)
                        row_loss += importance * (short_by**2 + self.mu * over_by**2)
                        pull = importance * (short_by - self.mu * over_by)
                        g[a] += pull
                        g[b] -= pull
                loss += 0.5 * self.weight[i] * row_loss
                for j in range(q):
                    gradient[i, self.order[i, j]] = self.weight[i] * g[j]
        free(f)
        return loss

    def hessian_product(
        self, const double[:, ::1] scores, const double[:, ::1] direction,
        double[:, ::1] result, Py_ssize_t start, Py_ssize_t stop,
    ):
        """Write the generalised Hessian at ``scores`` applied to ``direction`` into ``result``."""
        cdef Py_ssize_t q = scores.shape[1], i, j, a, b
        cdef double flow
        cdef double* f = <double*> malloc((3 * q + 1) * sizeof(double))
        cdef double* step = f + q
        cdef double* out = f + 2 * q
        if f == NULL:
            raise MemoryError()
        with nogil:
            for i in range(start, stop):
                for j in range(q):
                    f[j] = scores[i, self.order[i, j]]
                    step[j] = direction[i, self.order[i, j]]
                    out[j] = 0.0
                for a in range(self.n_positive[i]):
                    for b in range(max(a + 1, self.first_other[i]), self.n_involved[i]):
                        flow = self.confidences[i, a] - self.confidences[i, b]
                        flow *= pair_curvature(f[a] - f[b], self.lower, self.upper, self.mu)
                        flow *= step[a] - step[b]
                        out[a] += flow
                        out[b] -= flow
                for j in range(q):
                    result[i, self.order[i, j]] = self.weight[i] * out[j]
        free(f)

    def add_hessian(
        self, const double[:, ::1] scores, double[:, ::1] total, double[:, ::1] diagonal,
        Py_ssize_t start, Py_ssize_t stop,
    ):
        """Add the rows' Hessians (q × q) to ``total``; write their diagonals into ``diagonal``."""
        cdef Py_ssize_t q = scores.shape[1], i, j, a, b, k, other
        cdef double curvature
        with nogil:
            for i in range(start, stop):
                for j in range(q):
                    diagonal[i, j] = 0.0
                for a in range(self.n_positive[i]):
                    k = self.order[i, a]
                    for b in range(max(a + 1, self.first_other[i]), self.n_involved[i]):
                        other = self.order[i, b]
                        curvature = self.confidences[i, a] - self.confidences[i, b]
                        curvature *= self.weight[i] * pair_curvature(
                            scores[i, k] - scores[i, other], self.lower, self.upper, self.mu
                        )
                        diagonal[i, k] += curvature
                        diagonal[i, other] += curvature
                        total[k, other] -= curvature
                        total[other, k] -= curvature
                for j in range(q):
                    total[j, j] += diagonal[i, j]
