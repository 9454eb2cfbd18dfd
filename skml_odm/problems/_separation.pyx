"""A row's problem under the calibrated separation ranking loss (paper 002, Eq. 14).

With m_l = |a_l| ≥ 0, z_l = ±1, the residuals r_l = 1 − z_l d_l of the row's scores d = Θ s / β,
s = (K A)_i, and κ = K_ii, the change of the row's multipliers maximises

    Σ_l r_l Δm_l − ½ (κ/β) Δaᵀ Θ Δa,    m ≥ 0,  Σ_{l∈Y} m_l ≤ w,  Σ_{l∈N} m_l ≤ w.

Here Θ = I + τ 11ᵀ. Given y = (κ/β) τ (Σ_Y m − Σ_N m), each side is the projection of its residuals
onto a capped simplex, and y solves an increasing piecewise linear equation: a handful of Newton
steps, each O(q), and no iteration over labels. For other Θ see ``_covariance_rows``.
"""

from libc.math cimport INFINITY, fabs, fmax, fmin
from libc.stdlib cimport free, malloc
from skml_odm.problems._row_problem cimport HingeRows
from skml_odm.problems._separation cimport row_surplus

cdef double ROUNDING = 1e-14
# Where curvature · w is below this share of the residuals, rounding would hide it; a larger
# curvature shortens steps, which are then repeated, and does not move the solution.
cdef double FLAT = 1e-8
cdef int MAX_NEWTON = 100


cdef double capped_sum(
    const double* values, Py_ssize_t n, double shift, double cap, double* slope,
) noexcept nogil:
    """min(cap, Σ (values + shift)₊) and its derivative with respect to the shift."""
    cdef Py_ssize_t k
    cdef double total = 0.0, count = 0.0
    for k in range(n):
        total += fmax(values[k] + shift, 0.0)
        count += 1.0 if values[k] + shift > 0.0 else 0.0
    slope[0] = count if total < cap else 0.0
    return fmin(total, cap)


cdef double balance(
    const double* first, Py_ssize_t n_first, const double* second, Py_ssize_t n_second,
    double cap, double tau, double y,
) noexcept nogil:
    """The root of y = τ (min(cap, Σ (first − y)₊) − min(cap, Σ (second + y)₊)), from a guess."""
    cdef double low = -tau * cap, high = tau * cap, value, slope_first, slope_second, following
    cdef int _iteration
    for _iteration in range(MAX_NEWTON):
        value = y - tau * (
            capped_sum(first, n_first, -y, cap, &slope_first)
            - capped_sum(second, n_second, y, cap, &slope_second)
        )
        if value > 0.0:
            high = y
        else:
            low = y
        following = y - value / (1.0 + tau * (slope_first + slope_second))
        if fabs(following - y) <= ROUNDING * cap:
            return following
        y = following if low < following < high else 0.5 * (low + high)
    return y


cdef void project(
    const double* values, Py_ssize_t n, double shift, double cap, double* result,
) noexcept nogil:
    """result = (values + shift − λ)₊ with the smallest λ ≥ 0 that keeps the sum at most cap."""
    cdef double largest = -INFINITY, level, total, count
    cdef Py_ssize_t k
    cdef int _iteration
    for k in range(n):
        largest = fmax(largest, values[k] + shift)
    # left of the root of a convex decreasing function, where Newton's method ends in few steps
    level = fmax(0.0, largest - cap)
    for _iteration in range(MAX_NEWTON):
        total, count = -cap, 0.0
        for k in range(n):
            total += fmax(values[k] + shift - level, 0.0)
            count += 1.0 if values[k] + shift > level else 0.0
        if total <= ROUNDING * cap:
            break
        level += total / count
    total = 0.0
    for k in range(n):
        result[k] = fmax(values[k] + shift - level, 0.0)
        total += result[k]
    if level > 0.0 and total > 0.0:
        # the cap is met, whatever rounding says
        for k in range(n):
            result[k] *= cap / total


cdef class SeparationRows(HingeRows):
    """Rows of the separation loss with Θ = I + τ 11ᵀ, each solved exactly.

    Parameters
    ----------
    coefficients, sign, weight, beta
        As in ``HingeRows``.
    tau : float
        1 with a dummy label that is learned, 0 without.
    """

    cdef double tau
    cdef double* work

    def __cinit__(self, double[:, ::1] coefficients, *_):
        self.work = <double*> malloc(4 * coefficients.shape[1] * sizeof(double))
        if self.work == NULL:
            raise MemoryError()

    def __init__(self, coefficients, sign, weight, beta, tau):
        super().__init__(coefficients, sign, weight, beta)
        self.tau = tau

    def __dealloc__(self):
        free(self.work)

    cdef double visit(
        self, Py_ssize_t row, const double* product, double diagonal, double* change,
    ) noexcept nogil:
        cdef Py_ssize_t q = self.sign.shape[1], n_relevant = 0, slot, other, k
        cdef double* residual = self.work
        cdef double* m = residual + q
        # residuals without this row's own part, and the solution: the relevant labels in their
        # order, and at the end the irrelevant ones in reverse
        cdef double* ahead = m + q
        cdef double* found = ahead + q
        cdef const double* sign = &self.sign[row, 0]
        cdef double* a = &self.coefficients[row, 0]
        cdef double weight = self.weight[row], curvature
        cdef double total = 0.0, balance_now = 0.0, surplus, y, cap, difference
        cdef double linear = 0.0, quadratic = 0.0, sum_change = 0.0, largest = 0.0
        self.moved = False
        for k in range(q):
            total += product[k]
            balance_now += a[k]
        for k in range(q):
            m[k] = fabs(a[k])
            residual[k] = fabs(sign[k]) - sign[k] * self.scale * (product[k] + self.tau * total)
            largest = fmax(largest, fabs(residual[k]))
        surplus = row_surplus(residual, m, sign, weight, q)
        if surplus <= self.negligible or weight == 0.0:
            return surplus
        curvature = fmax(self.scale * diagonal, FLAT * largest / weight)
        other = q
        for k in range(q):
            if sign[k] > 0.0:
                slot = n_relevant
                n_relevant += 1
            elif sign[k] < 0.0:
                other -= 1
                slot = other
            else:
                continue
            ahead[slot] = residual[k] + curvature * sign[k] * (a[k] + self.tau * balance_now)
        cap = curvature * weight
        y = curvature * self.tau * balance_now
        y = balance(ahead, n_relevant, ahead + other, q - other, cap, self.tau, y)
        project(ahead, n_relevant, -y, cap, found)
        project(ahead + other, q - other, y, cap, found + other)
        slot, other = 0, q
        for k in range(q):
            if sign[k] > 0.0:
                y = found[slot] / curvature
                slot += 1
            elif sign[k] < 0.0:
                other -= 1
                y = found[other] / curvature
            else:
                change[k] = 0.0
                continue
            difference = y - m[k]
            linear += residual[k] * difference
            quadratic += difference * difference
            change[k] = sign[k] * difference
            sum_change += change[k]
            a[k] = sign[k] * y
        quadratic += self.tau * sum_change * sum_change
        self.dual += linear - 0.5 * self.scale * diagonal * quadratic
        self.moved = True
        return surplus


def project_rows(
    const double[:, ::1] sign, const double[::1] weight, double[:, ::1] values,
    double[:, ::1] held,
):
    """Project every row's two sides onto their capped simplices, in place.

    ``held`` (m × 2) becomes 1 where a side's sum is at its cap (relevant labels first), else 0.
    """
    cdef Py_ssize_t m = values.shape[0], q = values.shape[1], i, k, n, side
    cdef double* gathered = <double*> malloc(2 * q * sizeof(double))
    cdef double* found = gathered + q
    cdef double total, wanted
    if gathered == NULL:
        raise MemoryError()
    with nogil:
        for i in range(m):
            for side in range(2):
                wanted = 1.0 if side == 0 else -1.0
                n = 0
                total = 0.0
                for k in range(q):
                    if sign[i, k] == wanted:
                        gathered[n] = values[i, k]
                        total += fmax(values[i, k], 0.0)
                        n += 1
                held[i, side] = 1.0 if total >= weight[i] else 0.0
                project(gathered, n, 0.0, weight[i], found)
                n = 0
                for k in range(q):
                    if sign[i, k] == wanted:
                        values[i, k] = found[n]
                        n += 1
    free(gathered)
