"""One instance's label pairs: the loss every solver shares.

An instance has ``p`` relevant labels with scores ``u`` and ``s`` irrelevant ones with scores ``v``.
Each pair (k, l) has the margin ``u[k] - v[l]`` and the loss

    weight * (lower - margin)_+^2 / 2  +  weight * mu * (margin - upper)_+^2 / 2 .
"""


cdef inline double pair_terms(
    const double* u, Py_ssize_t p, const double* v, Py_ssize_t s,
    double weight, double lower, double upper, double mu,
    double* pull_u, double* pull_v,
) noexcept nogil:
    """Loss of all pairs; ``pull_u[k]`` and ``pull_v[l]`` become the sums of the pair multipliers.

    The multiplier of a pair is minus the derivative of its loss with respect to its margin, so
    the gradient coefficients of the instance are ``+pull_u`` and ``-pull_v``.
    """
    cdef Py_ssize_t k, other
    cdef double short_by, over_by, multiplier, row_sum, row_loss, loss = 0.0
    for other in range(s):
        pull_v[other] = 0.0
    for k in range(p):
        row_sum = 0.0
        row_loss = 0.0
        for other in range(s):
            short_by = lower - (u[k] - v[other])
            over_by = (u[k] - v[other]) - upper
            short_by = short_by if short_by > 0.0 else 0.0
            over_by = over_by if over_by > 0.0 else 0.0
            # multiplier = where(short, short_by, -mu * over_by)
            multiplier = short_by - mu * over_by
            row_loss += short_by * short_by + mu * over_by * over_by
            row_sum += multiplier
            pull_v[other] += multiplier
        pull_u[k] = weight * row_sum
        loss += row_loss
    for other in range(s):
        pull_v[other] *= weight
    return 0.5 * weight * loss


cdef inline double pair_curvature(
    double margin, double lower, double upper, double mu,
) noexcept nogil:
    """Second derivative of a pair's loss, before its weight."""
    return (1.0 if margin < lower else 0.0) + (mu if margin >= upper else 0.0)


cdef inline void pair_hessian_product(
    const double* u, Py_ssize_t p, const double* v, Py_ssize_t s,
    double weight, double lower, double upper, double mu,
    const double* step_u, const double* step_v, double* result_u, double* result_v,
) noexcept nogil:
    """The Hessian of all pairs applied to a step.

    It is a graph Laplacian: (D x)_k = Σ_l w_kl (x_k − x_l) over the active pairs.
    """
    cdef Py_ssize_t k, other
    cdef double flow, total
    for other in range(s):
        result_v[other] = 0.0
    for k in range(p):
        total = 0.0
        for other in range(s):
            flow = step_u[k] - step_v[other]
            flow *= pair_curvature(u[k] - v[other], lower, upper, mu)
            total += flow
            result_v[other] -= flow
        result_u[k] = weight * total
    for other in range(s):
        result_v[other] *= weight


cdef inline void pair_hessian_diagonal(
    const double* u, Py_ssize_t p, const double* v, Py_ssize_t s,
    double weight, double lower, double upper, double mu, double* result_u, double* result_v,
) noexcept nogil:
    """The diagonal of the Hessian of all pairs."""
    cdef Py_ssize_t k, other
    cdef double curvature, total
    for other in range(s):
        result_v[other] = 0.0
    for k in range(p):
        total = 0.0
        for other in range(s):
            curvature = pair_curvature(u[k] - v[other], lower, upper, mu)
            total += curvature
            result_v[other] += curvature
        result_u[k] = weight * total
    for other in range(s):
        result_v[other] *= weight
