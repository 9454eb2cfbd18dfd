"""A row's problem under a loss on label pairs: the exact block step of ``_block``, row by row."""

from libc.stdlib cimport free, malloc
from skml_odm.problems._block cimport proximal_step, row_workspace
from skml_odm.problems._row_problem cimport RowProblem
from skml_odm.problems._sorted_pairs cimport row_terms


cdef class PairRows(RowProblem):
    """Rows of a ``PairLoss``.

    Parameters
    ----------
    coefficients : ndarray of shape (m, q)
        A; changed by every visit.
    conjugate : ndarray of shape (m,)
        The rows' shares L_i(f*) + ⟨A_i, f*⟩ of the dual value; changed by every visit.
    met : ndarray of shape (m, q)
        Becomes the scores with which rows were met.
    biases : ndarray of shape (q,)
        What scores have beyond K A.
    order, n_relevant, weight, lower, upper, mu
        The loss.
    """

    cdef double[::1] conjugate
    cdef double[:, ::1] met
    cdef const double[::1] biases
    cdef const int[:, ::1] order
    cdef const int[::1] n_relevant
    cdef double lower
    cdef double upper
    cdef double mu
    cdef double* work

    def __cinit__(self, double[:, ::1] coefficients, *_):
        self.work = <double*> malloc(row_workspace(coefficients.shape[1]))
        if self.work == NULL:
            raise MemoryError()

    def __init__(
        self, coefficients, conjugate, met, biases, order, n_relevant, weight, lower, upper, mu
    ):
        super().__init__(coefficients, None, weight, 1.0)
        self.conjugate = conjugate
        self.met = met
        self.biases = biases
        self.order = order
        self.n_relevant = n_relevant
        self.lower, self.upper, self.mu = lower, upper, mu

    def __dealloc__(self):
        free(self.work)

    cdef double visit(
        self, Py_ssize_t row, const double* product, double diagonal, double* change,
    ) noexcept nogil:
        cdef Py_ssize_t q = self.order.shape[1], p = self.n_relevant[row], j, label
        cdef double* centre = self.work
        cdef double* f = self.work + q
        cdef double* pull = self.work + 2 * q
        cdef double* a = &self.coefficients[row, 0]
        cdef double* met = &self.met[row, 0]
        cdef double gap, loss, gain, conjugate, weight = self.weight[row]
        self.moved = False
        for j in range(q):
            met[j] = product[j] + self.biases[j]
        if p == 0 or p == q or weight == 0.0:
            return 0.0
        gap = -self.conjugate[row]
        for j in range(q):
            label = self.order[row, j]
            f[j] = met[label]
            centre[j] = f[j] - diagonal * a[label]
            gap += f[j] * a[label]
        loss = row_terms(
            f, p, q, weight, self.lower, self.upper, self.mu, pull, self.work + 3 * q
        )
        gap += loss
        if gap < self.negligible:
            return gap
        conjugate = proximal_step(
            centre, f, p, q, diagonal, weight, self.lower, self.upper, self.mu, loss, pull,
            self.work + 3 * q,
        )
        gain = -self.conjugate[row]
        for j in range(q):
            label = self.order[row, j]
            pull[j] = -pull[j] if j >= p else pull[j]
            conjugate += pull[j] * f[j]
            change[label] = pull[j] - a[label]
            gain -= change[label] * (met[label] + 0.5 * diagonal * change[label])
        gain += conjugate
        # only rounding can make it negative
        if not gain >= 0.0:
            return gap
        self.dual += gain
        self.conjugate[row] = conjugate
        for j in range(q):
            a[self.order[row, j]] = pull[j]
        self.moved = True
        return gap
