"""Blocks of the pair loss; subclasses solve them in their own way."""

from skml_odm.problems._block cimport Block
from skml_odm.problems._pair_loss cimport Pairs
from skml_odm.problems._row_problem cimport RowProblem


cdef class ExactBlocks(RowProblem):
    cdef Pairs pairs
    cdef const double[::1] biases
    cdef double[::1] conjugate
    cdef double[:, ::1] met
    cdef public double gap
    cdef Block block
    cdef double* work

    cdef double improve(self, Py_ssize_t row, double loss) noexcept nogil

    cdef void accept(self, Py_ssize_t row) noexcept nogil
