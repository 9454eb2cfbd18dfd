"""The label pairs of all rows, as compiled code shares them."""

from skml_odm.problems._pairs cimport RowPairs


cdef class Pairs:
    cdef const int[:, ::1] order
    cdef const int[::1] n_relevant
    cdef const int[::1] n_involved
    cdef const double[::1] weight
    cdef double lower
    cdef double upper
    cdef double mu

    cdef RowPairs row(self, Py_ssize_t i) noexcept nogil
