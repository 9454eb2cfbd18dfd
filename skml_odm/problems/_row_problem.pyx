"""The small problem of one row, as compiled sweeps over the rows see it."""

from libc.stdlib cimport free, malloc


cdef class RowProblem:
    """The rows' problems of one learning task.

    Parameters
    ----------
    coefficients : ndarray of shape (m, q)
        A; changed by every visit.

    Attributes
    ----------
    negligible : float
        A row whose share of the duality gap is at most this is left as it is.
    dual : float
        The dual value, followed through all changes.
    """

    def __init__(self, double[:, ::1] coefficients):
        self.coefficients = coefficients
        self.negligible = 0.0
        self.dual = 0.0

    cdef double visit(
        self, Py_ssize_t row, const double* product, double diagonal, double* change,
    ) noexcept nogil:
        """Improve A_row; return the row's share of the duality gap before.

        ``product`` is (K A)_row and ``diagonal`` K_row,row, both with intercept. Sets ``moved``,
        and ``change`` to the change of A_row if it moved.
        """
        self.moved = False
        return 0.0

    def visit_row(self, Py_ssize_t row, const double[::1] product, double diagonal):
        """``visit`` for tests."""
        cdef double* change = <double*> malloc(product.shape[0] * sizeof(double))
        if change == NULL:
            raise MemoryError()
        try:
            return self.visit(row, &product[0], diagonal, change)
        finally:
            free(change)


cdef class HingeRows(RowProblem):
    """Rows of hinge losses, with one multiplier |a_l| per label.

    Parameters
    ----------
    coefficients : ndarray of shape (m, q)
        A; changed by every visit.
    sign : ndarray of shape (m, q)
        1 for relevant labels, −1 for irrelevant ones, 0 for those that are not involved.
    weight : ndarray of shape (m,)
        w.
    beta : float
        Weight of the regulariser.
    """

    def __init__(self, coefficients, sign, weight, beta):
        super().__init__(coefficients)
        self.sign = sign
        self.weight = weight
        self.scale = 1.0 / beta
