"""A row's problem under one hinge loss per label, with label covariances (M3L).

In the notation of ``_separation`` the row's multipliers maximise the same quadratic function over
a box, 0 ≤ m_l ≤ w. A visit maximises it over one label after the other, once: with covariances
close to the identity the labels of a row hardly see each other.
"""

from libc.math cimport fabs, fmax, fmin
from libc.stdlib cimport free, malloc
from skml_odm.problems._row_problem cimport HingeRows


cdef class BinaryRows(HingeRows):
    """Rows of independent hinge losses.

    Parameters
    ----------
    coefficients, sign, weight, beta
        As in ``HingeRows``.
    theta : ndarray of shape (q, q)
        Θ, positive semidefinite.
    """

    cdef const double[:, ::1] theta
    cdef double* residual
    cdef bint coupled

    def __cinit__(self, double[:, ::1] coefficients, *_):
        self.residual = <double*> malloc(coefficients.shape[1] * sizeof(double))
        if self.residual == NULL:
            raise MemoryError()

    def __init__(self, coefficients, sign, weight, beta, const double[:, ::1] theta, coupled):
        super().__init__(coefficients, sign, weight, beta)
        self.theta = theta
        self.coupled = coupled

    def __dealloc__(self):
        free(self.residual)

    cdef double visit(
        self, Py_ssize_t row, const double* product, double diagonal, double* change,
    ) noexcept nogil:
        cdef Py_ssize_t q = self.sign.shape[1], k, j
        cdef double* residual = self.residual
        cdef const double* sign = &self.sign[row, 0]
        cdef double* a = &self.coefficients[row, 0]
        cdef double weight = self.weight[row], rho = self.scale * diagonal
        cdef double surplus = 0.0, value, curvature, m
        self.moved = False
        for k in range(q):
            change[k] = 0.0
            if self.coupled:
                value = 0.0
                for j in range(q):
                    value += self.theta[k, j] * product[j]
            else:
                value = self.theta[k, k] * product[k]
            residual[k] = fabs(sign[k]) - sign[k] * self.scale * value
            surplus += weight * fmax(residual[k], 0.0) - fabs(a[k]) * residual[k]
        if surplus <= self.negligible:
            return surplus
        for k in range(q):
            if sign[k] == 0.0:
                continue
            curvature = rho * self.theta[k, k]
            m = fabs(a[k])
            if curvature > 0.0:
                value = fmin(fmax(m + residual[k] / curvature, 0.0), weight)
            else:
                value = weight if residual[k] > 0.0 else 0.0
            if value == m:
                continue
            change[k] = sign[k] * (value - m)
            a[k] = sign[k] * value
            self.dual += (value - m) * (residual[k] - 0.5 * curvature * (value - m))
            self.moved = True
            if self.coupled:
                for j in range(q):
                    residual[j] -= rho * sign[j] * change[k] * self.theta[k, j]
        return surplus
