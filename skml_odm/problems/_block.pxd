"""The exact block step, for all that visit rows."""


cdef double proximal_step(
    const double* centre, double* f, Py_ssize_t p, Py_ssize_t q, double kappa, double weight,
    double lower, double upper, double mu, double loss, double* pull, double* work,
) noexcept nogil

cdef size_t row_workspace(Py_ssize_t q) noexcept nogil
