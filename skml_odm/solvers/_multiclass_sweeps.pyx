"""Sweeps of dual block coordinate descent for mcODM over dense rows, CSR rows, or a kernel panel.

Every row's block is solved in turn, and what the next rows need of it is kept up to date: the
weights W = Xᵀ A, or the scores of the panel. All sweeps return the sum of the gaps as the blocks
were met, and the number of rows visited.
"""

import numpy as np

from skml_odm.problems._classes cimport Blocks
from skml_odm.utils._panel cimport add_multiple

ctypedef fused real:
    float
    double

ctypedef fused integer:
    int
    long long


cdef double visit_row(
    Blocks blocks, Py_ssize_t i, const Py_ssize_t* columns, const double* values, Py_ssize_t n,
    double[:, ::1] weights, double negligible,
) noexcept nogil:
    """Solve the block of a row with n features that are not zero; returns its gap before."""
    cdef Py_ssize_t j, k = blocks.k
    cdef double* f = &blocks.room[0]
    cdef double* change = f + k
    cdef double gap
    for j in range(k):
        f[j] = 0.0
    for j in range(n):
        add_multiple(f, &weights[columns[j], 0], values[j], k)
    gap = blocks.visit(i, f, change, negligible)
    if not blocks.rest[i]:
        for j in range(n):
            add_multiple(&weights[columns[j], 0], change, values[j], k)
    return gap


def sweep_dense(
    Blocks blocks, const real[:, ::1] X, double intercept, double[:, ::1] weights,
    const Py_ssize_t[::1] order, double negligible,
):
    """Visit dense rows in the given order.

    ``weights`` (features + 1 × classes) is W, kept up to date; its last row belongs to a feature
    that is ``intercept`` in every row.
    """
    cdef Py_ssize_t d = X.shape[1], p, i, j, n, n_visited = 0
    cdef Py_ssize_t[::1] columns = np.empty(d + 1, dtype=np.intp)
    cdef double[::1] values = np.empty(d + 1)
    cdef double total = 0.0
    with nogil:
        for p in range(order.shape[0]):
            i = order[p]
            if blocks.is_spared(i):
                continue
            n_visited += 1
            columns[0] = d
            values[0] = intercept
            n = 1
            for j in range(d):
                if X[i, j] != 0.0:
                    columns[n] = j
                    values[n] = X[i, j]
                    n += 1
            total += visit_row(blocks, i, &columns[0], &values[0], n, weights, negligible)
    return total, n_visited


def sweep_sparse(
    Blocks blocks, const real[::1] data, const integer[::1] indices, const integer[::1] indptr,
    double intercept, double[:, ::1] weights, const Py_ssize_t[::1] order, double negligible,
):
    """Visit CSR rows in the given order; otherwise as ``sweep_dense``."""
    cdef Py_ssize_t p, i, j, n, longest = np.max(np.diff(indptr), initial=0), n_visited = 0
    cdef Py_ssize_t[::1] columns = np.empty(longest + 1, dtype=np.intp)
    cdef double[::1] values = np.empty(longest + 1)
    cdef double total = 0.0
    with nogil:
        for p in range(order.shape[0]):
            i = order[p]
            if blocks.is_spared(i):
                continue
            n_visited += 1
            columns[0] = weights.shape[0] - 1
            values[0] = intercept
            n = 1
            for j in range(indptr[i], indptr[i + 1]):
                columns[n] = indices[j]
                values[n] = data[j]
                n += 1
            total += visit_row(blocks, i, &columns[0], &values[0], n, weights, negligible)
    return total, n_visited


def sweep_panel(
    Blocks blocks, const double[:, ::1] gram, double[:, ::1] scores, Py_ssize_t first,
    Py_ssize_t step, const Py_ssize_t[::1] order, double negligible,
):
    """Visit the rows first, first + step, … with the given kernel matrix and scores among them.

    ``scores`` (rows × classes) is kept up to date.
    """
    cdef Py_ssize_t k = blocks.k, p, i, j, row, n_visited = 0
    cdef double* f = &blocks.room[0]
    cdef double* change = f + k
    cdef double total = 0.0
    with nogil:
        for p in range(order.shape[0]):
            i = order[p]
            row = first + i * step
            if blocks.is_spared(row):
                continue
            n_visited += 1
            for j in range(k):
                f[j] = scores[i, j]
            total += blocks.visit(row, f, change, negligible)
            if not blocks.rest[row]:
                for j in range(order.shape[0]):
                    add_multiple(&scores[j, 0], change, gram[i, j], k)
    return total, n_visited
