"""A row's problem under the separation loss, with label covariances.

The problem is that of ``_separation``, for any positive semidefinite Θ: a small quadratic program
over two capped simplices. What a side's sum leaves of its cap is one more multiplier, without slope
or curvature, so that the sum is always w. In each step one multiplier of a side grows at the
expense of another, as far as that pays, until no such step pays any more.

The covariance may be learned along the way. With Θ₀ = I + τ 11ᵀ = Γ Γᵀ and Q = Aᵀ K A, the best
one for given A is Θ = Θ₀ + Θ₀ Q Θ₀ / (2αβ), which leaves the concave function

    φ(A) = Σ |a| − tr(Q Θ₀) / 2β − ‖Γᵀ Q Γ‖² / 8αβ².

Along Δa, with c = 1/(2αβ²), p = Θ₀ s, and s and κ as in ``_separation``, it is the polynomial

    t Σ r Δm − ½ t² Δaᵀ ((κ/β) Θ + c (sᵀp Θ₀ + p pᵀ)) Δa
        − t³ c κ (pᵀΔa)(Δaᵀ Θ₀ Δa) − t⁴ ¼ c κ² (Δaᵀ Θ₀ Δa)².

A row goes towards the maximiser of the second-order part, as far as the whole polynomial rises,
and Θ follows at once: φ never falls.
"""

from libc.math cimport fabs, fmax, fmin
from libc.stdlib cimport calloc, free
from skml_odm.problems._row_problem cimport HingeRows
from skml_odm.problems._separation cimport row_surplus

# A row is solved when slopes differ by no more than this share of the largest, or when less is left
# than this share of what is negligible.
cdef double ROUNDING = 1e-12
cdef double SHARE_OF_NEGLIGIBLE = 0.5
cdef int MAX_STEPS = 100_000
cdef int MAX_BISECTIONS = 60


cdef class CovarianceRows(HingeRows):
    """Rows of the separation loss with a general Θ.

    Parameters
    ----------
    coefficients, sign, weight, beta, tau
        As in ``SeparationRows``.
    theta : ndarray of shape (q, q)
        Θ, for the present coefficients if it is learned; changed by every visit then.
    alpha : float
        What keeps learned covariances close to the identity; infinity to keep Θ as it is.
    """

    cdef double tau
    cdef double alpha
    cdef double[:, ::1] theta
    cdef double* work
    cdef int* side

    def __cinit__(self, double[:, ::1] coefficients, *_):
        cdef Py_ssize_t q = coefficients.shape[1]
        # the slope and the curvature of what a side leaves of its cap remain zero
        self.side = <int*> calloc(q + 2, sizeof(int))
        self.work = <double*> calloc((q + 2) * (q + 6), sizeof(double))
        if self.work == NULL or self.side == NULL:
            raise MemoryError()
        self.side[q + 1] = 1

    def __init__(self, coefficients, sign, weight, beta, tau, double[:, ::1] theta, alpha):
        super().__init__(coefficients, sign, weight, beta)
        self.tau = tau
        self.theta = theta
        self.alpha = alpha

    def __dealloc__(self):
        free(self.work)
        free(self.side)

    cdef double visit(
        self, Py_ssize_t row, const double* product, double diagonal, double* change,
    ) noexcept nogil:
        cdef Py_ssize_t q = self.sign.shape[1], k, j
        cdef double* residual = self.work
        cdef double* plain = residual + (q + 2)
        cdef double* m = plain + (q + 2)
        cdef double* slope = m + (q + 2)
        cdef double* hessian = slope + (q + 2)
        cdef const double* sign = &self.sign[row, 0]
        cdef const double* theta = &self.theta[0, 0]
        cdef double* a = &self.coefficients[row, 0]
        cdef double weight = self.weight[row], total = 0.0, spread = 0.0, quadratic = 0.0
        cdef double surplus, value, length, learned, gain
        self.moved = False
        m[q] = m[q + 1] = weight
        for k in range(q):
            total += product[k]
            m[k] = fabs(a[k])
            # 2: a label that is not involved keeps m = 0
            self.side[k] = 0 if sign[k] > 0.0 else 1 if sign[k] < 0.0 else 2
            if self.side[k] < 2:
                m[q + self.side[k]] -= m[k]
        for k in range(q):
            value = 0.0
            for j in range(q):
                value += theta[k * q + j] * product[j]
            residual[k] = fabs(sign[k]) - sign[k] * self.scale * value
            plain[k] = product[k] + self.tau * total
            spread += product[k] * plain[k]
            slope[k] = residual[k]
        surplus = row_surplus(residual, m, sign, weight, q)
        if surplus <= self.negligible or weight == 0.0:
            return surplus
        learned = 0.5 * self.scale * self.scale / self.alpha
        for k in range(q):
            for j in range(k + 1):
                value = sign[k] * sign[j] * (
                    self.scale * diagonal * theta[k * q + j]
                    + learned * (spread * self.tau + plain[k] * plain[j])
                )
                hessian[k * (q + 2) + j] = hessian[j * (q + 2) + k] = value
            hessian[k * (q + 3)] += learned * spread
        gain = self.solve(weight, m, slope, hessian)
        if gain <= 0.0:
            # rounding is all that is left
            return surplus
        for k in range(q):
            change[k] = sign[k] * m[k] - a[k]
            # slope = residual − H Δm
            quadratic += (residual[k] - slope[k]) * sign[k] * change[k]
        length = 1.0
        if learned > 0.0:
            length = self.learn(
                diagonal, learned, gain + 0.5 * quadratic, quadratic, plain, change, slope
            )
        else:
            self.dual += gain
        for k in range(q):
            change[k] *= length
            a[k] = sign[k] * m[k] if length == 1.0 else a[k] + change[k]
        self.moved = True
        return surplus

    cdef double solve(
        self, double weight, double* m, double* slope, const double* hessian,
    ) noexcept nogil:
        """Maximise the row's second-order model from m on; return what has been gained.

        ``slope`` is its gradient throughout.
        """
        cdef Py_ssize_t q = self.sign.shape[1], n = q + 2, k, rising, falling
        cdef Py_ssize_t[2] high
        cdef Py_ssize_t[2] low
        cdef double enough = 0.0, most, apart, curvature, length, gain, step = 0.0, total = 0.0
        cdef int _step, side
        for k in range(q):
            enough = fmax(enough, fabs(slope[k]))
        enough = ROUNDING * (1.0 + enough)
        enough = fmax(enough, SHARE_OF_NEGLIGIBLE * self.negligible / weight)
        for _step in range(MAX_STEPS):
            # on the side where slopes differ most, the multiplier with the largest slope grows
            most, rising, falling = enough, -1, -1
            high[0], high[1] = q, q + 1
            low[0] = low[1] = -1
            for k in range(n):
                side = self.side[k]
                if side == 2:
                    continue
                if slope[k] > slope[high[side]]:
                    high[side] = k
                if m[k] > 0.0 and (low[side] < 0 or slope[k] < slope[low[side]]):
                    low[side] = k
            for side in range(2):
                if low[side] >= 0 and slope[high[side]] - slope[low[side]] > most:
                    most, rising = slope[high[side]] - slope[low[side]], high[side]
            if rising < 0:
                break
            # at the expense of the one with which it gains most
            most = 0.0
            for k in range(n):
                apart = slope[rising] - slope[k]
                if self.side[k] != self.side[rising] or m[k] <= 0.0 or apart <= 0.0:
                    continue
                curvature = (
                    hessian[rising * n + rising] + hessian[k * n + k]
                    - 2.0 * hessian[rising * n + k]
                )
                length = fmin(m[k], apart / curvature) if curvature > 0.0 else m[k]
                gain = length * (apart - 0.5 * length * curvature)
                if gain > most:
                    most, falling, step = gain, k, length
            if falling < 0:
                break
            total += most
            m[rising] += step
            m[falling] -= step
            for k in range(q):
                slope[k] -= step * (hessian[rising * n + k] - hessian[falling * n + k])
        return total

    cdef double learn(
        self, double diagonal, double learned, double linear, double quadratic,
        const double* plain, const double* change, double* image,
    ) noexcept nogil:
        """How far to go along ``change``; moves Θ along."""
        cdef Py_ssize_t q = self.sign.shape[1], k, j
        cdef double total = 0.0, across = 0.0, square = 0.0, cubic, quartic
        cdef double low = 0.0, high = 1.0, t = 1.0, factor
        cdef int _iteration
        for k in range(q):
            total += change[k]
        for k in range(q):
            image[k] = change[k] + self.tau * total
            across += plain[k] * change[k]
            square += image[k] * change[k]
        cubic = learned * diagonal * across * square
        quartic = 0.25 * learned * diagonal * diagonal * square * square
        if linear - quadratic - 3.0 * cubic - 4.0 * quartic < 0.0:
            # the derivative falls from a positive value to a negative one
            for _iteration in range(MAX_BISECTIONS):
                t = 0.5 * (low + high)
                if linear - t * (quadratic + t * (3.0 * cubic + t * 4.0 * quartic)) > 0.0:
                    low = t
                else:
                    high = t
            t = low
        self.dual += t * (linear - t * (0.5 * quadratic + t * (cubic + t * quartic)))
        factor = 0.5 * t * self.scale / self.alpha
        for k in range(q):
            for j in range(q):
                self.theta[k, j] += factor * (
                    plain[k] * image[j] + image[k] * plain[j]
                    + t * diagonal * image[k] * image[j]
                )
        return t
