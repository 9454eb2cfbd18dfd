"""Sweeps of dual ascent over the rows of A: the bookkeeping around a row's own small problem.

The scores of row i depend on (K A)_i only, so a sweep hands that to the row's problem, takes the
change of A_i it answers with, and keeps K A up to date: with explicit weights Xᵀ A for a linear
kernel, within a panel of rows for a kernel matrix.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from skml_odm.problems._row_problem cimport RowProblem
from skml_odm.utils._panel cimport add_combination, add_multiple
from skml_odm.utils._signals cimport ROWS_PER_LOOK, look_for_signals

import numpy as np

ctypedef fused index_type:
    int32_t
    int64_t


def sweep_panel(
    RowProblem problem, const double[:, ::1] gram, const double[:, ::1] products,
    const Py_ssize_t[:] rows, const Py_ssize_t[::1] order, double[::1] surplus,
):
    """Visit a panel of rows in some order; return which of the panel moved, and by how much.

    ``gram`` is K among the rows of the panel and ``products`` their rows of K A from before.
    """
    cdef Py_ssize_t n = products.shape[0], q = products.shape[1], n_moved = 0, i, at, k
    found_changes, found_moved = np.empty((n + 1, q)), np.empty(n + 1, dtype=np.intp)
    cdef double[:, ::1] changes = found_changes
    cdef Py_ssize_t[::1] moved = found_moved
    # the last row is scratch
    cdef double* product = &changes[n, 0]
    with nogil:
        for i in range(n):
            at = order[i]
            for k in range(q):
                product[k] = products[at, k]
            add_combination(product, &changes[0, 0], &gram[at, 0], &moved[0], n_moved, q)
            surplus[rows[at]] = problem.visit(
                rows[at], product, gram[at, at], &changes[n_moved, 0]
            )
            if problem.moved:
                moved[n_moved] = at
                n_moved += 1
    return found_moved[:n_moved], found_changes[:n_moved]


cdef class Weights:
    """The explicit weights Xᵀ A of a linear kernel, and what an intercept adds.

    Parameters
    ----------
    weights : ndarray of shape (d, q)
        Xᵀ A; kept up to date.
    total : ndarray of shape (q,)
        The sums of A's columns; kept up to date.
    diagonal : ndarray of shape (m,)
        That of X Xᵀ.
    intercept : float
        Constant that is added to the kernel.
    """

    cdef double[:, ::1] weights
    cdef double[::1] total
    cdef const double[::1] diagonal
    cdef double intercept

    def __init__(
        self, double[:, ::1] weights, double[::1] total, const double[::1] diagonal, intercept,
    ):
        self.weights, self.total = weights, total
        self.diagonal, self.intercept = diagonal, intercept

    def sweep_dense(
        self, RowProblem problem, const double[:, ::1] X, const Py_ssize_t[::1] rows,
        double[::1] surplus,
    ):
        """Visit rows of dense features."""
        cdef Py_ssize_t d = X.shape[1], i
        cdef double* room = self._room()
        try:
            with nogil:
                for i in range(rows.shape[0]):
                    if i % ROWS_PER_LOOK == 0:
                        look_for_signals()
                    surplus[rows[i]] = visit_row(
                        self, problem, rows[i], &X[rows[i], 0], <const int32_t*> NULL, d, room
                    )
        finally:
            free(room)

    def sweep_sparse(
        self, RowProblem problem, const double[::1] data, const index_type[::1] indices,
        const index_type[::1] indptr, const Py_ssize_t[::1] rows, double[::1] surplus,
    ):
        """Visit rows of features in CSR."""
        cdef Py_ssize_t i, start
        cdef const double* values = &data[0] if data.shape[0] > 0 else NULL
        cdef const index_type* columns = &indices[0] if data.shape[0] > 0 else NULL
        cdef double* room = self._room()
        try:
            with nogil:
                for i in range(rows.shape[0]):
                    if i % ROWS_PER_LOOK == 0:
                        look_for_signals()
                    start = indptr[rows[i]]
                    surplus[rows[i]] = visit_row(
                        self, problem, rows[i], values + start, columns + start,
                        indptr[rows[i] + 1] - start, room,
                    )
        finally:
            free(room)

    cdef double* _room(self) except NULL:
        cdef double* room = <double*> malloc(2 * self.weights.shape[1] * sizeof(double))
        if room == NULL:
            raise MemoryError()
        return room


cdef double visit_row(
    Weights state, RowProblem problem, Py_ssize_t row, const double* values,
    const index_type* columns, Py_ssize_t n_values, double* product,
) noexcept nogil:
    """Visit a row with these values in these columns, or in the first ones where none are given."""
    cdef Py_ssize_t q = state.weights.shape[1], j, k
    cdef double* change = product + q
    cdef double surplus
    for k in range(q):
        product[k] = state.intercept * state.total[k]
    for j in range(n_values):
        k = columns[j] if columns != NULL else j
        add_multiple(product, &state.weights[k, 0], values[j], q)
    surplus = problem.visit(row, product, state.diagonal[row] + state.intercept, change)
    if problem.moved:
        for j in range(n_values):
            k = columns[j] if columns != NULL else j
            add_multiple(&state.weights[k, 0], change, values[j], q)
        add_multiple(&state.total[0], change, 1.0, q)
    return surplus
