"""Coordinate steps on the dual of one weighted binary SVM, in double precision.

In signed coefficients a (nonnegative for positive rows, nonpositive for negative ones) it is

    min_a  ½ aᵀK a − yᵀa     subject to  lower ≤ a ≤ upper   (and Σ a = 0 with a free intercept),

with gradient K a − y. A step moves the coefficients that lower the objective most, to second
order: a pair of them where the intercept is free, else a single one.
"""

import numpy as np
from libc.math cimport INFINITY

# Stand in for a vanishing curvature of a pair, relative to its diagonal, and of a coefficient: such
# a step ends at a bound.
cdef double FLAT = 1e-12
cdef double TINY = 1e-280


cdef class CoordinateSteps:
    """Coordinate steps for some rows of a binary SVM.

    Parameters
    ----------
    K : ndarray of shape (m, m)
        Symmetric.
    sign, lower, upper : ndarray of shape (m,)
        y, 1 or −1, and the bounds.
    balanced : bool
        Whether Σ a is to stay what it is.
    """

    cdef const double[:, ::1] _K
    cdef const double[::1] _diagonal, _sign, _lower, _upper
    cdef bint _balanced

    def __init__(self, K, sign, lower, upper, balanced):
        self._K = K
        # a copy stays in the processor's cache; the diagonal itself is spread all over K
        self._diagonal = np.maximum(K.diagonal(), TINY)
        self._sign, self._lower, self._upper = sign, lower, upper
        self._balanced = balanced

    def descend(self, double[::1] a, double[::1] scores, double violation, Py_ssize_t max_steps):
        """Take steps until no optimality condition is violated by more than ``violation``.

        Parameters
        ----------
        a : ndarray of shape (m,)
            Feasible; changed in place.
        scores : ndarray of shape (m,)
            K a, up to a constant; kept up to date.
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
                if self._balanced:
                    moved = self.move_pair(a, scores, violation)
                else:
                    moved = self.move_one(a, scores, violation)
                taken += moved
        return taken

    cdef bint move_pair(
        self, double[::1] a, double[::1] scores, double violation,
    ) noexcept nogil:
        """a_up += t, a_down −= t for the steepest ``up`` and the best ``down`` to go with it."""
        cdef Py_ssize_t m = a.shape[0], i, up = -1, down = -1
        cdef double smallest = INFINITY, largest = -INFINITY, best = 0.0, t = 0.0
        cdef double slope, gain, trace, curvature, room_up, room_down
        cdef const double[::1] diagonal = self._diagonal, sign = self._sign
        cdef const double[::1] lower = self._lower, upper = self._upper, K_up, K_down
        for i in range(m):
            slope = scores[i] - sign[i]
            if slope < smallest and a[i] < upper[i]:
                smallest, up = slope, i
            if slope > largest and a[i] > lower[i]:
                largest = slope
        if up < 0 or largest - smallest <= violation:
            return False
        K_up = self._K[up]
        for i in range(m):
            slope = scores[i] - sign[i] - smallest
            if slope > 0.0 and a[i] > lower[i] and i != up:
                trace = diagonal[up] + diagonal[i]
                curvature = max(trace - 2.0 * K_up[i], FLAT * trace)
                gain = slope * slope / curvature
                if gain > best:
                    best, down, t = gain, i, slope / curvature
        if down < 0:
            return False
        room_up, room_down = upper[up] - a[up], a[down] - lower[down]
        t = min(t, room_up, room_down)
        # a bound that is reached is reached exactly: a rest below rounding could never be removed
        a[up] = upper[up] if t == room_up else a[up] + t
        a[down] = lower[down] if t == room_down else a[down] - t
        K_down = self._K[down]
        for i in range(m):
            scores[i] += t * (K_up[i] - K_down[i])
        return True

    cdef bint move_one(
        self, double[::1] a, double[::1] scores, double violation,
    ) noexcept nogil:
        """Minimise over the coefficient with the largest gain."""
        cdef Py_ssize_t m = a.shape[0], i, chosen = -1
        cdef double best = 0.0, largest = 0.0, slope, gain, goal, change
        cdef const double[::1] diagonal = self._diagonal, sign = self._sign
        cdef const double[::1] lower = self._lower, upper = self._upper, K_chosen
        for i in range(m):
            slope = scores[i] - sign[i]
            if (slope < 0.0 and a[i] < upper[i]) or (slope > 0.0 and a[i] > lower[i]):
                largest = max(largest, slope, -slope)
                gain = slope * slope / diagonal[i]
                if gain > best:
                    best, chosen = gain, i
        if largest <= violation or chosen < 0:
            return False
        goal = a[chosen] - (scores[chosen] - sign[chosen]) / diagonal[chosen]
        goal = min(max(goal, lower[chosen]), upper[chosen])
        change = goal - a[chosen]
        a[chosen] = goal
        K_chosen = self._K[chosen]
        for i in range(m):
            scores[i] += change * K_chosen[i]
        return True
