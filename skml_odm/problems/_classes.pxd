"""The blocks of mcODM, for the modules that sweep over them or differentiate their loss."""


cdef struct Shape:
    # the loss, but for the weight
    double lower
    double upper
    double mu
    bint moving


cdef class Blocks:
    cdef readonly int[::1] label
    cdef readonly double[::1] weight
    cdef readonly double[::1] diagonal
    cdef public double[:, ::1] coefficients
    cdef public double[::1] over
    cdef public int[::1] rival
    cdef public double[::1] level
    cdef unsigned char[::1] rest
    cdef unsigned char[::1] rested
    cdef double[::1] room
    cdef Py_ssize_t[::1] kept
    cdef Shape shape
    cdef readonly Py_ssize_t k

    cdef bint is_spared(self, Py_ssize_t i) noexcept nogil
    cdef double visit(
        self, Py_ssize_t i, double* f, double* change, double negligible
    ) noexcept nogil


cdef double solve(
    const double* centre, Py_ssize_t k, Py_ssize_t y, Py_ssize_t r, double rival, double kappa,
    double c, Shape shape, double* A, Py_ssize_t* kept,
) noexcept nogil
