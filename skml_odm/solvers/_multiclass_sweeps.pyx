"""Sweeps of dual block coordinate descent for mcODM over dense rows, CSR rows, or a kernel panel.

Every row's block is solved in turn (``_multiclass``), and what the next rows need of it is kept up
to date: the weights W = Xᵀ A, or the scores of the panel.
"""

from skml_odm.problems._classes cimport Blocks
from skml_odm.utils._panel cimport add_multiple

ctypedef fused real:
    float
    double

ctypedef fused integer:
    int
    long long


def sweep_dense(
    Blocks blocks, const real[:, ::1] X, double intercept, double[:, ::1] weights,
    const Py_ssize_t[::1] order, double negligible,
):
    """Visit dense rows in the given order.

    ``weights`` (features + 1 × classes) is W, kept up to date; its last row belongs to a feature
    that is ``intercept`` in every row. Returns the sum of the gaps as the blocks were met, and the
    number of rows visited.
    """
    cdef Py_ssize_t d = X.shape[1], k = blocks.k, p, i, j, q, n_visited = 0
    cdef double* f = &blocks.room[0]
    cdef double* change = f + k
    cdef double* row
    cdef const real* x
    cdef double total = 0.0, value
    with nogil:
        for p in range(order.shape[0]):
            i = order[p]
            if blocks.rest[i]:
                blocks.rest[i] -= 1
                continue
            n_visited += 1
            row = &weights[d, 0]
            for q in range(k):
                f[q] = intercept * row[q]
            x = &X[i, 0]
            for j in range(d):
                value = x[j]
                if value != 0.0:
                    row = &weights[j, 0]
                    add_multiple(f, row, value, k)
            total += blocks.visit(i, f, change, negligible)
            if blocks.rest[i]:
                continue
            for j in range(d):
                value = x[j]
                if value != 0.0:
                    row = &weights[j, 0]
                    add_multiple(row, change, value, k)
            row = &weights[d, 0]
            add_multiple(row, change, intercept, k)
    return total, n_visited


def sweep_sparse(
    Blocks blocks, const real[::1] data, const integer[::1] indices, const integer[::1] indptr,
    double intercept, double[:, ::1] weights, const Py_ssize_t[::1] order, double negligible,
):
    """Visit CSR rows in the given order; otherwise as ``sweep_dense``."""
    cdef Py_ssize_t d = weights.shape[0] - 1, k = blocks.k, p, i, j, q, n_visited = 0
    cdef double* f = &blocks.room[0]
    cdef double* change = f + k
    cdef double* row
    cdef double total = 0.0, value
    with nogil:
        for p in range(order.shape[0]):
            i = order[p]
            if blocks.rest[i]:
                blocks.rest[i] -= 1
                continue
            n_visited += 1
            row = &weights[d, 0]
            for q in range(k):
                f[q] = intercept * row[q]
            for j in range(indptr[i], indptr[i + 1]):
                value = data[j]
                row = &weights[indices[j], 0]
                add_multiple(f, row, value, k)
            total += blocks.visit(i, f, change, negligible)
            if blocks.rest[i]:
                continue
            for j in range(indptr[i], indptr[i + 1]):
                value = data[j]
                row = &weights[indices[j], 0]
                add_multiple(row, change, value, k)
            row = &weights[d, 0]
            add_multiple(row, change, intercept, k)
    return total, n_visited


def sweep_panel(
    Blocks blocks, const double[:, ::1] gram, double[:, ::1] scores, Py_ssize_t first,
    Py_ssize_t step, const Py_ssize_t[::1] order, double negligible,
):
    """Visit the rows first, first + step, … with the given kernel matrix and scores among them.

    ``scores`` (rows × classes) is kept up to date. Returns as ``sweep_dense``.
    """
    cdef Py_ssize_t k = blocks.k, n = order.shape[0], p, i, j, q, row, n_visited = 0
    cdef double* f = &blocks.room[0]
    cdef double* change = f + k
    cdef double total = 0.0
    with nogil:
        for p in range(n):
            i = order[p]
            row = first + i * step
            if blocks.rest[row]:
                blocks.rest[row] -= 1
                continue
            n_visited += 1
            for q in range(k):
                f[q] = scores[i, q]
            total += blocks.visit(row, f, change, negligible)
            if blocks.rest[row]:
                continue
            for j in range(n):
                add_multiple(&scores[j, 0], change, gram[i, j], k)
    return total, n_visited
