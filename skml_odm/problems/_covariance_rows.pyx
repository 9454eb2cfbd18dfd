"""A row's problem under the separation loss, with label covariances.

The problem is that of ``_separation``, for any positive semidefinite Θ: a small quadratic program
over two capped simplices, solved by an active-set method that starts from the row's present
multipliers. Few of them are positive, so its linear systems are tiny.

The covariance may be learned along the way. With Θ₀ = I + τ 11ᵀ = Γ Γᵀ and Q = Aᵀ K A, the best
one for given A is Θ = Θ₀ + Θ₀ Q Θ₀ / (2αβ), which leaves the concave function

    φ(A) = Σ |a| − tr(Q Θ₀) / 2β − ‖Γᵀ Q Γ‖² / 8αβ².

Along Δa, with c = 1/(2αβ²), p = Θ₀ s, and s and κ as in ``_separation``, it is the polynomial

    t Σ r Δm − ½ t² Δaᵀ ((κ/β) Θ + c (sᵀp Θ₀ + p pᵀ)) Δa
        − t³ c κ (pᵀΔa)(Δaᵀ Θ₀ Δa) − t⁴ ¼ c κ² (Δaᵀ Θ₀ Δa)².

A row goes towards the maximiser of the second-order part, as far as the whole polynomial rises,
and Θ follows at once: φ never falls.
"""

from libc.math cimport INFINITY, fabs, fmax, fmin
from libc.stdlib cimport free, malloc
from scipy.linalg.cython_lapack cimport dposv
from skml_odm.problems._row_problem cimport HingeRows
from skml_odm.problems._separation cimport side_surplus

cdef double ROUNDING = 1e-13
# Where a pivot is below FLAT times the largest diagonal entry, RIDGE times that is added to the
# diagonal. It shortens steps, which are then repeated; it does not move the solution.
cdef double FLAT = 1e-6
cdef double RIDGE = 1e-3
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
    cdef int* support

    def __cinit__(self, double[:, ::1] coefficients, *_):
        cdef Py_ssize_t q = coefficients.shape[1]
        self.support = <int*> malloc(q * sizeof(int))
        self.work = <double*> malloc(q * (q + 7) * sizeof(double))
        if self.work == NULL or self.support == NULL:
            raise MemoryError()

    def __init__(self, coefficients, sign, weight, beta, tau, double[:, ::1] theta, alpha):
        super().__init__(coefficients, sign, weight, beta)
        self.tau = tau
        self.theta = theta
        self.alpha = alpha

    def __dealloc__(self):
        free(self.work)
        free(self.support)

    cdef double visit(
        self, Py_ssize_t row, const double* product, double diagonal, double* change,
    ) noexcept nogil:
        cdef Py_ssize_t q = self.sign.shape[1], k, j
        cdef double* residual = self.work
        cdef double* m = residual + q
        cdef double* plain = m + q
        cdef double* slope = plain + q
        cdef const double* sign = &self.sign[row, 0]
        cdef const double* theta = &self.theta[0, 0]
        cdef double* a = &self.coefficients[row, 0]
        cdef double weight = self.weight[row], total = 0.0, surplus, value, length
        cdef double linear = 0.0, quadratic = 0.0, learned
        cdef double[2] multiplier
        cdef double[2] difference
        cdef int side
        difference[0] = difference[1] = 0.0
        self.moved = False
        for k in range(q):
            total += product[k]
            m[k] = fabs(a[k])
        for k in range(q):
            value = 0.0
            for j in range(q):
                value += theta[k * q + j] * product[j]
            residual[k] = 1.0 - sign[k] * self.scale * value
            plain[k] = product[k] + self.tau * total
            slope[k] = residual[k]
        surplus = (
            side_surplus(residual, m, sign, 1.0, weight, q)
            + side_surplus(residual, m, sign, -1.0, weight, q)
        )
        if surplus <= self.negligible or weight == 0.0:
            return surplus
        learned = 0.5 * self.scale * self.scale / self.alpha
        value = 0.0
        for k in range(q):
            value += product[k] * plain[k]
        self.solve(
            row, self.scale * diagonal, learned, learned * value, m, plain, slope, multiplier
        )
        for k in range(q):
            side = 0 if sign[k] > 0.0 else 1
            change[k] = sign[k] * m[k] - a[k]
            difference[side] += m[k] - fabs(a[k])
            # The multipliers take out what rounding of a sum that is held would add.
            linear += (residual[k] - multiplier[side]) * sign[k] * change[k]
            # slope = residual − H Δm
            quadratic += (residual[k] - slope[k]) * sign[k] * change[k]
        for side in range(2):
            if fabs(difference[side]) > ROUNDING * weight:
                linear += multiplier[side] * difference[side]
        if linear - 0.5 * quadratic <= 0.0:
            # rounding is all that is left
            return surplus
        length = 1.0
        if learned > 0.0:
            length = self.learn(diagonal, learned, linear, quadratic, plain, change, slope)
        else:
            self.dual += linear - 0.5 * quadratic
        for k in range(q):
            change[k] *= length
            a[k] = sign[k] * m[k] if length == 1.0 else a[k] + change[k]
        self.moved = True
        return surplus

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

    cdef void solve(
        self, Py_ssize_t row, double curvature, double learned, double spread, double* m,
        const double* plain, double* slope, double* multiplier,
    ) noexcept nogil:
        """Maximise the row's second-order model from m on.

        ``slope`` is its gradient throughout; the multipliers are those of the two sums.
        """
        cdef Py_ssize_t q = self.sign.shape[1], k, j, n_support = 0, _iteration, blocking, entering
        # solutions for the slope and for ones on either side: the direction, and what keeps sums
        cdef double* solution = self.work + 4 * q
        cdef double* matrix = solution + 3 * q
        cdef int* support = self.support
        cdef const double* sign = &self.sign[row, 0]
        cdef double weight = self.weight[row], length, value, largest, tolerance = 0.0
        cdef double[2] held
        cdef double[2] sums
        cdef double[2] rate
        cdef int side, held_side
        cdef bint shortened
        sums[0] = sums[1] = 0.0
        for k in range(q):
            tolerance = fmax(tolerance, fabs(slope[k]))
            if m[k] > 0.0:
                support[n_support] = <int> k
                n_support += 1
                sums[0 if sign[k] > 0.0 else 1] += m[k]
        tolerance = ROUNDING * (1.0 + tolerance)
        for side in range(2):
            held[side] = 1.0 if sums[side] >= weight * (1.0 - ROUNDING) else 0.0
        for _iteration in range(20 + 10 * q):
            shortened = n_support > 0 and self.directions(
                sign, curvature, learned, spread, plain, slope, n_support, matrix, solution
            )
            keep_sums(sign, support, n_support, solution, held, multiplier)
            # how far until a multiplier or a sum stops it
            length, blocking, held_side = 1.0, -1, -1
            sums[0] = sums[1] = rate[0] = rate[1] = 0.0
            for k in range(n_support):
                j = support[k]
                side = 0 if sign[j] > 0.0 else 1
                sums[side] += m[j]
                rate[side] += solution[k]
                if m[j] + length * solution[k] < 0.0:
                    length, blocking = -m[j] / solution[k], k
            for side in range(2):
                if held[side] == 0.0 and sums[side] + length * rate[side] > weight:
                    length = fmax(0.0, weight - sums[side]) / rate[side]
                    blocking, held_side = -1, side
            for k in range(n_support):
                j = support[k]
                m[j] = fmax(0.0, m[j] + length * solution[k])
            for k in range(q):
                value = 0.0
                for j in range(n_support):
                    value += solution[j] * self.entry(
                        sign, k, support[j], curvature, learned, spread, plain
                    )
                slope[k] -= length * value
            if blocking >= 0:
                m[support[blocking]] = 0.0
                n_support -= 1
                support[blocking] = support[n_support]
                continue
            if held_side >= 0:
                held[held_side] = 1.0
                continue
            if shortened:
                largest = 0.0
                for k in range(n_support):
                    j = support[k]
                    value = slope[j] - multiplier[0 if sign[j] > 0.0 else 1]
                    largest = fmax(largest, fabs(value))
                if largest > tolerance:
                    continue
            if held[0] > 0.0 and multiplier[0] < -tolerance:
                held[0] = 0.0
                continue
            if held[1] > 0.0 and multiplier[1] < -tolerance:
                held[1] = 0.0
                continue
            largest, entering = tolerance, -1
            for k in range(q):
                value = slope[k] - multiplier[0 if sign[k] > 0.0 else 1]
                if m[k] == 0.0 and value > largest:
                    largest, entering = value, k
            for k in range(n_support):
                if support[k] == entering:
                    # it is there already, and rounding keeps it at zero
                    entering = -1
            if entering < 0:
                break
            support[n_support] = <int> entering
            n_support += 1
        # rounding must not add up over many visits
        sums[0] = sums[1] = 0.0
        for k in range(q):
            sums[0 if sign[k] > 0.0 else 1] += m[k]
        for k in range(q):
            value = sums[0 if sign[k] > 0.0 else 1]
            m[k] *= weight / value if value > weight else 1.0

    cdef double entry(
        self, const double* sign, Py_ssize_t k, Py_ssize_t j, double curvature, double learned,
        double spread, const double* plain,
    ) noexcept nogil:
        """An entry of the second-order model's (negated) Hessian."""
        return sign[k] * sign[j] * (
            curvature * self.theta[k, j] + spread * ((1.0 if k == j else 0.0) + self.tau)
            + learned * plain[k] * plain[j]
        )

    cdef bint directions(
        self, const double* sign, double curvature, double learned, double spread,
        const double* plain, const double* slope, Py_ssize_t n_support, double* matrix,
        double* solution,
    ) noexcept nogil:
        """Solve with the Hessian on the support: for the slope, and for ones on either side.

        Returns whether a ridge was needed.
        """
        cdef int n = <int> n_support, n_sides = 3, failed = 0
        cdef Py_ssize_t k, j
        cdef double ridge = 0.0, largest = 0.0, pivot
        while True:
            for k in range(n):
                for j in range(k, n):
                    matrix[k * n + j] = self.entry(
                        sign, self.support[k], self.support[j], curvature, learned, spread, plain
                    )
                largest = fmax(largest, matrix[k * n + k])
            for k in range(n):
                matrix[k * n + k] += ridge * (largest if largest > 0.0 else 1.0)
                solution[k] = slope[self.support[k]]
                solution[n + k] = 1.0 if sign[self.support[k]] > 0.0 else 0.0
                solution[2 * n + k] = 1.0 - solution[n + k]
            # the upper half by rows is the lower half by columns
            dposv("L", &n, &n_sides, matrix, &n, solution, &n, &failed)
            if ridge > 0.0:
                return True
            pivot = INFINITY
            for k in range(n):
                pivot = fmin(pivot, matrix[k * n + k])
            if failed == 0 and pivot * pivot > FLAT * largest:
                return False
            ridge = RIDGE


cdef void keep_sums(
    const double* sign, const int* support, Py_ssize_t n, double* solution, const double* held,
    double* multiplier,
) noexcept nogil:
    """Take from the direction what would change the sums that are held; say how much."""
    cdef double[2][2] gram
    cdef double[2] sums
    cdef double determinant
    cdef Py_ssize_t k
    cdef int side
    multiplier[0] = multiplier[1] = 0.0
    gram[0][0] = gram[0][1] = gram[1][0] = gram[1][1] = 0.0
    sums[0] = sums[1] = 0.0
    for k in range(n):
        side = 0 if sign[support[k]] > 0.0 else 1
        sums[side] += solution[k]
        gram[side][0] += solution[n + k]
        gram[side][1] += solution[2 * n + k]
    for side in range(2):
        # a sum that is free, or that nothing contributes to, has no multiplier
        if held[side] == 0.0 or gram[side][side] <= 0.0:
            gram[side][0] = gram[side][1] = gram[1 - side][side] = 0.0
            gram[side][side] = 1.0
            sums[side] = 0.0
    determinant = gram[0][0] * gram[1][1] - gram[0][1] * gram[1][0]
    if determinant <= 1e-14 * gram[0][0] * gram[1][1]:
        # the sides move together: hold each for itself
        multiplier[0] = sums[0] / gram[0][0]
        multiplier[1] = sums[1] / gram[1][1]
    else:
        multiplier[0] = (gram[1][1] * sums[0] - gram[0][1] * sums[1]) / determinant
        multiplier[1] = (gram[0][0] * sums[1] - gram[1][0] * sums[0]) / determinant
    for k in range(n):
        solution[k] -= (
            multiplier[0] * solution[n + k] + multiplier[1] * solution[2 * n + k]
        )
