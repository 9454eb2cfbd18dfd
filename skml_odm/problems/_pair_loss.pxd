"""The label pairs of all rows, as compiled code shares them."""

from skml_odm.problems._pairs cimport RowPairs


cdef class Pairs:
    cdef const int[:, ::1] order
    cdef const int[::1] n_relevant
    cdef const int[::1] n_involved
    cdef const double[::1] weight
    # of the pairs of relevant and of irrelevant labels with the zero label; no rows without one
    cdef const double[:, ::1] zero_weight
    cdef double lower
    cdef double upper
    cdef double mu

    cdef RowPairs row(self, Py_ssize_t i) noexcept nogil
