"""The exact block step, for all that visit rows."""

from skml_odm.problems._pairs cimport RowPairs


cdef struct Block:
    RowPairs pairs
    # K_ii
    double kappa
    # f⁰, f and its gradient coefficients, relevant labels first; then room for steps
    double* centre
    double* f
    double* gradient
    double* step
    double* trial
    double* memory


cdef size_t block_workspace(Py_ssize_t q, bint with_zero) noexcept nogil

cdef void open_block(Block* block, Py_ssize_t q, double* work) noexcept nogil

cdef double block_loss(Block* block) noexcept nogil

cdef double proximal_step(Block* block, double loss) noexcept nogil
