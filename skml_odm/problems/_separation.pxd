"""What all rows under the separation loss share."""

from libc.math cimport fmax


cdef inline double side_surplus(
    const double* residual, const double* m, const double* sign, double side, double weight,
    Py_ssize_t q,
) noexcept nogil:
    """weight · (max r)₊ − Σ m r over one side: never negative for feasible m."""
    cdef Py_ssize_t k
    cdef double top = 0.0, inner = 0.0
    for k in range(q):
        if sign[k] == side:
            top = fmax(top, residual[k])
            inner += m[k] * residual[k]
    return weight * top - inner
