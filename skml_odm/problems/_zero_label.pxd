"""The pairs of one row's labels with its zero label, which follows the others at position q."""

from skml_odm.problems._pairs cimport RowPairs, pair_curvature


cdef inline double zero_curvature(
    const RowPairs* row, const double* f, Py_ssize_t j,
) noexcept nogil:
    """Second derivative of the loss of label j's pair, its weight included."""
    if j < row.p:
        return row.above_zero * pair_curvature(f[j] - f[row.q], row.lower, row.upper, row.mu)
    return row.below_zero * pair_curvature(f[row.q] - f[j], row.lower, row.upper, row.mu)


cdef inline double zero_terms(
    const RowPairs* row, const double* f, double* gradient,
) noexcept nogil:
    """The loss of these pairs; their gradient coefficients are added to those of other pairs."""
    cdef Py_ssize_t j, q = row.q
    cdef double sign, margin, short_by, over_by, multiplier, weight, loss = 0.0
    gradient[q] = 0.0
    for j in range(q):
        sign = 1.0 if j < row.p else -1.0
        weight = row.above_zero if j < row.p else row.below_zero
        margin = sign * (f[j] - f[q])
        short_by = max(row.lower - margin, 0.0)
        over_by = max(margin - row.upper, 0.0)
        multiplier = sign * weight * (short_by - row.mu * over_by)
        loss += 0.5 * weight * (short_by * short_by + row.mu * over_by * over_by)
        gradient[j] += multiplier
        gradient[q] -= multiplier
    return loss


cdef inline void zero_hessian_product(
    const RowPairs* row, const double* f, const double* x, double* result,
) noexcept nogil:
    """Their Hessian times ``x``, added to that of other pairs."""
    cdef Py_ssize_t j, q = row.q
    cdef double flow
    result[q] = 0.0
    for j in range(q):
        flow = zero_curvature(row, f, j) * (x[j] - x[q])
        result[j] += flow
        result[q] -= flow
