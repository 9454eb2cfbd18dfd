"""The two inner loops of a kernel matrix that is made in place, a few rows at a time."""

from libc.math cimport exp

# what scipy indexes sparse matrices with
ctypedef fused index:
    int
    long long


def sparse_gram_rows(
    const index[::1] row_start,
    const index[::1] columns,
    const double[::1] row_values,
    const index[::1] column_start,
    const index[::1] rows,
    const double[::1] column_values,
    Py_ssize_t first,
    double[:, :] result,
):
    """Write X[first : first + n] · X[: first + n]ᵀ into ``result`` (n × (first + n)).

    X is given twice, by rows (CSR) and by columns (CSC), both with sorted indices.
    """
    cdef Py_ssize_t n = result.shape[0], stop = result.shape[1], i, a, b
    cdef double value
    with nogil:
        for i in range(n):
            for b in range(stop):
                result[i, b] = 0.0
            for a in range(row_start[first + i], row_start[first + i + 1]):
                value = row_values[a]
                for b in range(column_start[columns[a]], column_start[columns[a] + 1]):
                    if rows[b] >= stop:
                        break
                    result[i, rows[b]] += value * column_values[b]


def gaussian_rows(
    double[:, :] gram,
    const double[::1] squared_norms,
    Py_ssize_t first,
    double gamma,
):
    """Turn inner products into exp(−γ‖x_i − x_j‖²): rows first…, columns 0…, of a Gram matrix.

    The square block at the end is computed below its diagonal and mirrored, so that it is
    symmetric to the last bit.
    """
    cdef Py_ssize_t n = gram.shape[0], i, j
    cdef double distance
    with nogil:
        for i in range(n):
            for j in range(first + i):
                distance = squared_norms[first + i] + squared_norms[j] - 2.0 * gram[i, j]
                gram[i, j] = exp(-gamma * distance) if distance > 0.0 else 1.0
            gram[i, first + i] = 1.0
            for j in range(i):
                gram[j, first + i] = gram[i, first + j]
