"""What all rows under the separation loss share."""

from libc.math cimport fmax


cdef inline double row_surplus(
    const double* residual, const double* m, const double* sign, double weight, Py_ssize_t q,
) noexcept nogil:
    """The row's share of the duality gap: weight · (max r)₊ of either side, minus Σ m r."""
    cdef Py_ssize_t k
    cdef double relevant = 0.0, irrelevant = 0.0, inner = 0.0
    for k in range(q):
        inner += m[k] * residual[k]
        if sign[k] > 0.0:
            relevant = fmax(relevant, residual[k])
        elif sign[k] < 0.0:
            irrelevant = fmax(irrelevant, residual[k])
    return weight * (relevant + irrelevant) - inner
