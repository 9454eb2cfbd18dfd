"""Coordinate steps on the dual of one weighted binary SVM, in double precision.

In signed coefficients a (nonnegative for positive rows, nonpositive for negative ones) it is

    min_a  ½ aᵀK a − yᵀa     subject to  lower ≤ a ≤ upper   (and Σ a = 0 with a free intercept),

with gradient K a − y. Steps are greedy: with a free intercept the pair, without one the single
coefficient that (to second order) lowers the objective most.
"""

from libc.math cimport INFINITY, fabs, fmax, fmin

# Stand in for a vanishing curvature, relative and absolute: such a step ends at a bound.
cdef double FLAT = 1e-12
cdef double TINY = 1e-300


def descend(
    const double[:, ::1] K,
    const double[::1] sign,
    const double[::1] lower,
    const double[::1] upper,
    double[::1] a,
    double[::1] scores,
    bint balanced,
    double violation,
    Py_ssize_t max_steps,
):
    """Take steps until no optimality condition is violated by more than ``violation``.

    Parameters
    ----------
    K : (m, m)
        Symmetric.
    sign : (m,)
        y: 1 or −1.
    lower, upper : (m,)
    a : (m,)
        Feasible; changed in place.
    scores : (m,)
        K a, up to a constant; kept up to date.
    balanced : bool
        Whether Σ a is to stay what it is.
    violation : float
        In units of the margin.
    max_steps : int

    Returns
    -------
    int
        Steps taken; fewer than ``max_steps`` if the conditions hold.
    """
    cdef Py_ssize_t taken = 0
    cdef bint moved = True
    with nogil:
        while moved and taken < max_steps:
            if balanced:
                moved = pair_step(K, sign, lower, upper, a, scores, violation)
            else:
                moved = single_step(K, sign, lower, upper, a, scores, violation)
            taken += moved
    return taken


cdef inline double pair_curvature(
    const double[:, ::1] K, Py_ssize_t i, Py_ssize_t j
) noexcept nogil:
    cdef double trace = K[i, i] + K[j, j]
    return fmax(trace - 2.0 * K[i, j], FLAT * trace + TINY)


cdef bint pair_step(
    const double[:, ::1] K, const double[::1] sign, const double[::1] lower,
    const double[::1] upper, double[::1] a, double[::1] scores, double violation,
) noexcept nogil:
    """a_up += t, a_down −= t for the steepest ``up`` and the best ``down`` to go with it."""
    cdef Py_ssize_t m = a.shape[0], i, up = -1, down = -1
    cdef double smallest = INFINITY, largest = -INFINITY, best = 0.0
    cdef double slope, gain, t, room_up, room_down
    cdef bint full_up, full_down
    for i in range(m):
        slope = scores[i] - sign[i]
        if slope < smallest and a[i] < upper[i]:
            smallest, up = slope, i
        if slope > largest and a[i] > lower[i]:
            largest = slope
    if up < 0 or largest - smallest <= violation:
        return False
    for i in range(m):
        slope = scores[i] - sign[i] - smallest
        if slope > 0.0 and a[i] > lower[i] and i != up:
            gain = slope * slope / pair_curvature(K, up, i)
            if gain > best:
                best, down = gain, i
    if down < 0:
        return False
    t = (scores[down] - sign[down] - smallest) / pair_curvature(K, up, down)
    room_up, room_down = upper[up] - a[up], a[down] - lower[down]
    full_up = room_up <= t and room_up <= room_down
    full_down = room_down <= t and room_down <= room_up
    t = fmin(t, fmin(room_up, room_down))
    # a bound that is reached is reached exactly: a rest below rounding could never be removed
    a[up] = upper[up] if full_up else a[up] + t
    a[down] = lower[down] if full_down else a[down] - t
    for i in range(m):
        scores[i] += t * (K[up, i] - K[down, i])
    return True


cdef bint single_step(
    const double[:, ::1] K, const double[::1] sign, const double[::1] lower,
    const double[::1] upper, double[::1] a, double[::1] scores, double violation,
) noexcept nogil:
    """a_i −= t for the coefficient i with the largest gain."""
    cdef Py_ssize_t m = a.shape[0], i, chosen = -1
    cdef double best = 0.0, largest = 0.0, slope, gain, before, t
    for i in range(m):
        slope = scores[i] - sign[i]
        if (slope < 0.0 and a[i] < upper[i]) or (slope > 0.0 and a[i] > lower[i]):
            largest = fabs(slope) if fabs(slope) > largest else largest
            gain = slope * slope / (K[i, i] if K[i, i] > TINY else TINY)
            if gain > best:
                best, chosen = gain, i
    if largest <= violation or chosen < 0:
        return False
    before = a[chosen]
    slope = scores[chosen] - sign[chosen]
    t = slope / (K[chosen, chosen] if K[chosen, chosen] > TINY else TINY)
    a[chosen] = fmin(fmax(before - t, lower[chosen]), upper[chosen])
    for i in range(m):
        scores[i] += (a[chosen] - before) * K[chosen, i]
    return True
