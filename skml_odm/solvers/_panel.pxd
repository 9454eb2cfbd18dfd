"""What every block solver does with a panel's scores."""


cdef inline void add_multiple(
    double* target, const double* source, double factor, Py_ssize_t n,
) noexcept nogil:
    """target += factor · source"""
    cdef Py_ssize_t j
    for j in range(n):
        target[j] += factor * source[j]
