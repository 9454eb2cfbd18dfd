"""The row problems of the pair loss: blocks of its dual, each solved exactly (see ``_block``)."""

from libc.stdlib cimport free, malloc
from skml_odm.problems._block cimport Block, block_loss, block_workspace, open_block, proximal_step
from skml_odm.problems._pair_loss cimport Pairs
from skml_odm.problems._row_problem cimport RowProblem


cdef class ExactBlocks(RowProblem):
    """Rows of a ``PairLoss``.

    Parameters
    ----------
    loss : PairLoss
    coefficients : ndarray of shape (m, q)
        A; changed by every visit.
    biases : ndarray of shape (q,)
        What scores have beyond K A.
    conjugate : ndarray of shape (m,)
        The rows' shares L_i(f*) + ⟨A_i, f*⟩ of the dual value; changed by every visit.
    met : ndarray of shape (m, q)
        Becomes the scores with which rows were met.

    Attributes
    ----------
    gap : float
        The relative duality gap so far, for solvers that need not be more precise than that.
    """

    def __cinit__(self, loss, double[:, ::1] coefficients, *_, **__):
        cdef Py_ssize_t q = coefficients.shape[1]
        cdef Pairs pairs = loss.pairs
        self.work = <double*> malloc(block_workspace(q, pairs.zero_weight.shape[0] > 0))
        if self.work == NULL:
            raise MemoryError()
        open_block(&self.block, q, self.work)

    def __init__(self, loss, coefficients, *, biases, conjugate, met):
        super().__init__(coefficients)
        self.pairs = loss.pairs
        self.biases, self.conjugate, self.met = biases, conjugate, met
        self.gap = 1.0

    def __dealloc__(self):
        free(self.work)

    cdef double improve(self, Py_ssize_t row, double loss) noexcept nogil:
        """Write new coefficients into the block's ``gradient``; return their share of the dual.

        ``loss`` is the loss at the block's f, and ``gradient`` holds its coefficients.
        """
        cdef Py_ssize_t j
        cdef double conjugate = proximal_step(&self.block, loss)
        for j in range(self.block.pairs.q + self.block.pairs.has_zero):
            conjugate += self.block.gradient[j] * self.block.f[j]
        return conjugate

    cdef void accept(self, Py_ssize_t row) noexcept nogil:
        """The coefficients of the last ``improve`` are kept."""

    cdef double visit(
        self, Py_ssize_t row, const double* product, double diagonal, double* change,
    ) noexcept nogil:
        cdef Py_ssize_t q = self.met.shape[1], n, j, label
        cdef Block* block = &self.block
        cdef const int* order = &self.pairs.order[row, 0]
        cdef double* a = &self.coefficients[row, 0]
        cdef double* met = &self.met[row, 0]
        cdef double gap = -self.conjugate[row], gain = -self.conjugate[row], loss, conjugate
        self.moved = False
        for j in range(q):
            met[j] = product[j] + self.biases[j]
        block.pairs = self.pairs.row(row)
        if block.pairs.weight == 0.0 and not block.pairs.has_zero:
            return 0.0
        block.kappa = diagonal
        n = block.pairs.q + block.pairs.has_zero
        for j in range(n):
            label = order[j]
            block.f[j] = met[label]
            block.centre[j] = met[label] - diagonal * a[label]
            gap += met[label] * a[label]
        loss = block_loss(block)
        gap += loss
        if gap < self.negligible:
            return gap
        conjugate = self.improve(row, loss)
        for j in range(n):
            label = order[j]
            change[label] = block.gradient[j] - a[label]
            gain -= change[label] * (met[label] + 0.5 * diagonal * change[label])
        # coefficients of labels that are in no pair are zero and stay so
        for j in range(n, q):
            change[order[j]] = 0.0
        gain += conjugate
        # an exact step loses by rounding only
        if not gain >= 0.0:
            return gap
        self.accept(row)
        self.dual += gain
        self.conjugate[row] = conjugate
        for j in range(n):
            a[order[j]] = block.gradient[j]
        self.moved = True
        return gap
