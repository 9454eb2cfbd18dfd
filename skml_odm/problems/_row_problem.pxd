"""What a problem that is solved row by row offers to compiled code."""


cdef class RowProblem:
    cdef double[:, ::1] coefficients
    cdef public double negligible
    cdef public double dual
    cdef bint moved

    cdef double visit(
        self, Py_ssize_t row, const double* product, double diagonal, double* change,
    ) noexcept nogil


cdef class HingeRows(RowProblem):
    cdef const double[:, ::1] sign
    cdef const double[::1] weight
    cdef double scale
