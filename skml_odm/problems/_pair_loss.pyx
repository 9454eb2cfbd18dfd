"""Value, gradient coefficients and Hessian products of the pair loss, row by row.

For scores F (m × q) and row weights c, with the relevant labels Y_i and irrelevant labels N_i,

    L(F)    = Σ_i c_i Σ_{k∈Y_i, l∈N_i} ℓ(f_ik − f_il),
    ℓ(γ)    = ½ (lower − γ)₊² + ½ μ (γ − upper)₊²,
    G(F)    = −∇L(F),
    D(F)[V] = the generalised Hessian of L at F applied to V.

Every loop over rows looks for Ctrl-C now and then.
"""

from libc.stdlib cimport free, malloc
from skml_odm.problems._pairs cimport RowPairs, pair_curvature
from skml_odm.problems._sorted_pairs cimport bucket_workspace, row_hessian_product, row_terms
from skml_odm.problems._zero_label cimport zero_curvature, zero_hessian_product, zero_terms
from skml_odm.utils._signals cimport ROWS_PER_LOOK, look_for_signals

import numpy as np


cdef class Pairs:
    """The label pairs of all rows.

    Parameters
    ----------
    order : ndarray of shape (m, q), int32
        The labels of each row: relevant ones, irrelevant ones, and those that are in no pair.
    n_relevant, n_involved : ndarray of shape (m,), int32
        How many of them are relevant, and how many are relevant or irrelevant.
    weight : ndarray of shape (m,)
        c; zero for rows that lack relevant or irrelevant labels.
    lower, upper, mu : float
    zero_weight : ndarray of shape (m, 2), optional
        The label that ``order`` has after the ``n_involved`` ones is a zero label, whose pairs with
        relevant and with irrelevant labels have these weights.
    """

    def __init__(
        self, const int[:, ::1] order, const int[::1] n_relevant, const int[::1] n_involved,
        const double[::1] weight, double lower, double upper, double mu, zero_weight=None,
    ):
        self.order, self.n_relevant, self.n_involved = order, n_relevant, n_involved
        self.weight = weight
        self.lower, self.upper, self.mu = lower, upper, mu
        self.zero_weight = np.empty((0, 2)) if zero_weight is None else zero_weight

    cdef RowPairs row(self, Py_ssize_t i) noexcept nogil:
        cdef RowPairs row
        row.p, row.q, row.weight = self.n_relevant[i], self.n_involved[i], self.weight[i]
        row.lower, row.upper, row.mu = self.lower, self.upper, self.mu
        row.above_zero = row.below_zero = 0.0
        if self.zero_weight.shape[0] > 0:
            row.above_zero, row.below_zero = self.zero_weight[i, 0], self.zero_weight[i, 1]
        row.has_zero = row.above_zero > 0.0 or row.below_zero > 0.0
        return row

    def evaluate(self, const double[:, ::1] scores, double[:, ::1] gradient):
        """Return L(scores) and write G(scores) into ``gradient``."""
        cdef Py_ssize_t m = self.order.shape[0], q = self.order.shape[1], i, j
        cdef RowPairs row
        cdef double loss = 0.0
        cdef double* f = <double*> malloc((2 * q + bucket_workspace(q)) * sizeof(double))
        cdef double* found = f + q
        if f == NULL:
            raise MemoryError()
        try:
            with nogil:
                for i in range(m):
                    if i % ROWS_PER_LOOK == 0:
                        look_for_signals()
                    row = self.row(i)
                    for j in range(q):
                        f[j] = scores[i, self.order[i, j]]
                        found[j] = 0.0
                    if row.weight > 0.0:
                        loss += row_terms(&row, f, found, found + q)
                    if row.has_zero:
                        loss += zero_terms(&row, f, found)
                    for j in range(q):
                        gradient[i, self.order[i, j]] = found[j]
        finally:
            free(f)
        return loss

    def hessian_product(
        self, const double[:, ::1] scores, const double[:, ::1] direction, double[:, ::1] result,
    ):
        """Write D(scores)[direction] into ``result``."""
        cdef Py_ssize_t m = self.order.shape[0], q = self.order.shape[1], i, j
        cdef RowPairs row
        cdef double* f = <double*> malloc((3 * q + bucket_workspace(q)) * sizeof(double))
        cdef double* step = f + q
        cdef double* found = step + q
        if f == NULL:
            raise MemoryError()
        try:
            with nogil:
                for i in range(m):
                    if i % ROWS_PER_LOOK == 0:
                        look_for_signals()
                    row = self.row(i)
                    for j in range(q):
                        f[j] = scores[i, self.order[i, j]]
                        step[j] = direction[i, self.order[i, j]]
                        found[j] = 0.0
                    if row.weight > 0.0:
                        row_hessian_product(&row, f, step, found, found + q)
                    if row.has_zero:
                        zero_hessian_product(&row, f, step, found)
                    for j in range(q):
                        result[i, self.order[i, j]] = found[j]
        finally:
            free(f)

    def add_hessian(self, const double[:, ::1] scores, double[:, ::1] total):
        """Add the rows' Hessians (q × q graph Laplacians) to ``total``."""
        cdef Py_ssize_t m = self.order.shape[0], q = self.order.shape[1], i, a, b
        cdef const int* order
        cdef RowPairs row
        cdef double* f = <double*> malloc(q * sizeof(double))
        if f == NULL:
            raise MemoryError()
        try:
            with nogil:
                for i in range(m):
                    if i % ROWS_PER_LOOK == 0:
                        look_for_signals()
                    row = self.row(i)
                    order = &self.order[i, 0]
                    for a in range(q):
                        f[a] = scores[i, order[a]]
                    for a in range(row.p if row.weight > 0.0 else 0):
                        for b in range(row.p, row.q):
                            add_pair(total, order[a], order[b], row.weight * pair_curvature(
                                f[a] - f[b], row.lower, row.upper, row.mu
                            ))
                    for a in range(row.q if row.has_zero else 0):
                        add_pair(total, order[a], order[row.q], zero_curvature(&row, f, a))
        finally:
            free(f)


cdef inline void add_pair(
    double[:, ::1] total, Py_ssize_t k, Py_ssize_t other, double curvature,
) noexcept nogil:
    """Add the Laplacian of one edge."""
    if curvature > 0.0:
        total[k, k] += curvature
        total[other, other] += curvature
        total[k, other] -= curvature
        total[other, k] -= curvature
