"""Sweeps of dual ascent over the rows of A: the bookkeeping around a row's own small problem.

The scores of row i depend on (K A)_i only, so a sweep hands that to the row's problem, takes the
change of A_i it answers with, and keeps K A up to date: with explicit weights Xᵀ A for a linear
kernel, within a panel of rows for a kernel matrix. An intercept adds a constant to K; the sums of
A's columns carry it.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from skml_odm.problems._row_problem cimport RowProblem
from skml_odm.utils._panel cimport add_multiple
from skml_odm.utils._signals cimport ROWS_PER_LOOK, look_for_signals

ctypedef fused index_type:
    int32_t
    int64_t


def sweep_kernel(
    RowProblem problem, const double[:, ::1] gram, double intercept, const Py_ssize_t[::1] rows,
    const double[:, ::1] products, double[::1] total, double[::1] surplus,
    double[:, ::1] changes, Py_ssize_t[::1] moved,
):
    """Visit a panel of rows, given the products K A (without intercept) from before the panel.

    ``gram`` is K among the rows of the panel. Returns how many rows moved; the first entries of
    ``changes`` and ``moved`` tell which of the panel, and by how much. ``total`` holds the sums of
    A's columns.
    """
    cdef Py_ssize_t q = products.shape[1], n_moved = 0, i, j, k, row
    cdef double* product = <double*> malloc(q * sizeof(double))
    if product == NULL:
        raise MemoryError()
    with nogil:
        for i in range(rows.shape[0]):
            row = rows[i]
            for k in range(q):
                product[k] = products[row, k] + intercept * total[k]
            for j in range(n_moved):
                add_multiple(product, &changes[j, 0], gram[i, moved[j]], q)
            surplus[row] = problem.visit(
                row, product, gram[i, i] + intercept, &changes[n_moved, 0]
            )
            if problem.moved:
                moved[n_moved] = i
                add_multiple(&total[0], &changes[n_moved, 0], 1.0, q)
                n_moved += 1
    free(product)
    return n_moved


def sweep_dense(
    RowProblem problem, const double[:, ::1] X, const double[::1] diagonal, double intercept,
    const Py_ssize_t[::1] rows, double[:, ::1] weights, double[::1] total, double[::1] surplus,
):
    """Visit rows of a linear kernel, dense features; ``weights`` is Xᵀ A."""
    cdef Py_ssize_t q = weights.shape[1], d = X.shape[1], i, j, k, row
    cdef double* product = <double*> malloc(2 * q * sizeof(double))
    cdef double* change = product + q
    if product == NULL:
        raise MemoryError()
    try:
        with nogil:
            for i in range(rows.shape[0]):
                if i % ROWS_PER_LOOK == 0:
                    look_for_signals()
                row = rows[i]
                for k in range(q):
                    product[k] = intercept * total[k]
                for j in range(d):
                    add_multiple(product, &weights[j, 0], X[row, j], q)
                surplus[row] = problem.visit(row, product, diagonal[row] + intercept, change)
                if problem.moved:
                    for j in range(d):
                        add_multiple(&weights[j, 0], change, X[row, j], q)
                    add_multiple(&total[0], change, 1.0, q)
    finally:
        free(product)


def sweep_sparse(
    RowProblem problem, const double[::1] data, const index_type[::1] indices,
    const index_type[::1] indptr, const double[::1] diagonal, double intercept,
    const Py_ssize_t[::1] rows, double[:, ::1] weights, double[::1] total, double[::1] surplus,
):
    """Visit rows of a linear kernel, features in CSR; ``weights`` is Xᵀ A."""
    cdef Py_ssize_t q = weights.shape[1], i, j, k, row
    cdef double* product = <double*> malloc(2 * q * sizeof(double))
    cdef double* change = product + q
    if product == NULL:
        raise MemoryError()
    try:
        with nogil:
            for i in range(rows.shape[0]):
                if i % ROWS_PER_LOOK == 0:
                    look_for_signals()
                row = rows[i]
                for k in range(q):
                    product[k] = intercept * total[k]
                for j in range(indptr[row], indptr[row + 1]):
                    add_multiple(product, &weights[indices[j], 0], data[j], q)
                surplus[row] = problem.visit(row, product, diagonal[row] + intercept, change)
                if problem.moved:
                    for j in range(indptr[row], indptr[row + 1]):
                        add_multiple(&weights[indices[j], 0], change, data[j], q)
                    add_multiple(&total[0], change, 1.0, q)
    finally:
        free(product)
