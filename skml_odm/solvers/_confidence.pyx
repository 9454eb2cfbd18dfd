"""Confidences of candidate labels, row by row: the set of labels with the least cost per label.

A row has n candidate labels with costs c ≥ 0 and couplings a ≥ 0. Its confidences solve

    min_p  h(p) = Σ_k c_k p_k + Σ_kl a_kl (p_k − p_l)₊,     Σ_k p_k ≥ 1,   0 ≤ p ≤ 1.

h is the Lovász extension of the cut function h(S) = Σ_{k∈S} c_k + Σ_{k∈S, l∉S} a_kl, and it is
homogeneous, so p = 1/|S| on a set S with the least h(S)/|S| is optimal. Such sets are closed under
union: the largest one is unique, and does not depend on the order of the labels.

Dinkelbach's method finds it. Beginning with λ = h(S)/|S| for all candidates, a minimum cut gives
the largest S with the least h(S) − λ|S|. If it is below zero, S has a smaller ratio, the next λ.
Otherwise the flow that found the cut proves that λ is the optimum: any skew-symmetric f ≤ a has
a_kl (p_k − p_l)₊ + a_lk (p_l − p_k)₊ ≥ f_kl (p_k − p_l), so with prices c_k + Σ_l f_kl

    h(p) ≥ Σ_k price_k p_k ≥ λ + Σ_k min(0, price_k − λ)     for all feasible p.
"""

import numpy as np
from libc.math cimport INFINITY, NAN

# Differences below this, relative to λ, are rounding.
cdef double TIE = 1e-14

# The proof may miss this much, relative to λ.
cdef double TOLERANCE = 1e-11

# Looks at all couplings of a label, for each pair of labels, before a row is given up.
cdef Py_ssize_t MAX_SCANS = 10

# The flow of a λ this much larger would leave too much rounding behind to go on from.
cdef double DROP = 0.01


cdef class RowSolver:
    """Solves the program of one row after another.

    Parameters
    ----------
    most : int
        Candidates of a row at most.
    """

    # candidates of the present row, and their label numbers, costs and couplings:
    # couplings[k, l] weighs (p_k − p_l)₊
    cdef Py_ssize_t n
    cdef Py_ssize_t[::1] labels
    cdef double[::1] costs
    cdef double[:, ::1] couplings
    # f and c_k + Σ_l f_kl
    cdef double[:, ::1] flow
    cdef double[::1] prices
    # steps to a label with a price above λ, or n if there is no way; labels yet to visit
    cdef Py_ssize_t[::1] distances, queue
    # S
    cdef unsigned char[::1] inside
    cdef Py_ssize_t size

    def __init__(self, most):
        self.costs, self.prices = np.empty(most), np.empty(most)
        self.couplings, self.flow = np.empty((most, most)), np.empty((most, most))
        self.labels, self.distances, self.queue = np.empty((3, most), dtype=np.intp)
        self.inside = np.empty(most, dtype=np.uint8)

    def solve(self, const double[::1] costs, const double[:, ::1] couplings):
        """The confidences of one row, given its costs and couplings, and h(p).

        h(p) is NaN without a proof that it is the least.
        """
        self.n = costs.shape[0]
        self.costs[: self.n] = costs
        self.couplings[: self.n, : self.n] = couplings
        value = self.minimise()
        return np.asarray(self.inside[: self.n]) / self.size, value

    def solve_rows(
        self,
        const double[:, ::1] scores,
        const unsigned char[:, ::1] candidates,
        const double[:, ::1] costs,
        const double[::1] weight,
        double lower,
        double upper,
        double mu,
        double[:, ::1] confidences,
        double[::1] values,
    ):
        """Write the confidences of all rows and their h(p), NaN without a proof; 0 is expected.

        The couplings are those of the scores, a_kl = weight·ℓ(f_k − f_l).
        """
        cdef Py_ssize_t i, j, k
        with nogil:
            for i in range(candidates.shape[0]):
                self.n = 0
                for j in range(candidates.shape[1]):
                    if candidates[i, j]:
                        self.labels[self.n] = j
                        self.costs[self.n] = costs[i, j]
                        self.n += 1
                if self.n == 0:
                    continue
                self.couple(scores[i], candidates[i], 0.5 * weight[i], lower, upper, mu)
                values[i] = self.minimise()
                for k in range(self.n):
                    if self.inside[k]:
                        confidences[i, self.labels[k]] = 1.0 / self.size

    cdef void couple(
        self, const double[::1] scores, const unsigned char[::1] candidates,
        double weight, double lower, double upper, double mu,
    ) noexcept nogil:
        """Couplings from scores; those with labels that are no candidates become costs."""
        cdef Py_ssize_t k, other, label, column
        cdef double loss, margin, short_by, over_by
        for k in range(self.n):
            label, column = self.labels[k], 0
            for other in range(scores.shape[0]):
                margin = scores[label] - scores[other]
                short_by = lower - margin if margin < lower else 0.0
                over_by = margin - upper if margin > upper else 0.0
                loss = weight * (short_by * short_by + mu * over_by * over_by)
                if not candidates[other]:
                    self.costs[k] += loss
                else:
                    self.couplings[k, column] = 0.0 if other == label else loss
                    column += 1

    cdef double minimise(self) noexcept nogil:
        """Find S; return h(S)/|S|, or NaN if it is not proved to be the least."""
        cdef Py_ssize_t n = self.n, k, size, scans = MAX_SCANS * n * n
        cdef double level = 0.0, highest = INFINITY, cost
        self.size = n
        for k in range(n):
            self.inside[k] = 1
            level += self.costs[k] / n
        if not self.is_proper():
            return NAN
        while True:
            if level < DROP * highest:
                self.clear_flow()
                highest = level
            if not self.balance(level, &scans):
                return NAN
            cost = self.cut(&size)
            if not (0 < size < self.size and cost < level * (size - TIE * n)):
                break
            for k in range(n):
                self.inside[k] = self.distances[k] == n
            self.size = size
            level = cost / size
        return level if self.is_proved(level) else NAN

    cdef bint is_proved(self, double level) noexcept nogil:
        """Whether the flow proves that λ is the least h(p), with prices computed anew."""
        cdef Py_ssize_t n = self.n, k, other
        cdef double price, missing = 0.0
        for k in range(n):
            price = self.costs[k]
            for other in range(n):
                if (
                    self.flow[k, other] != -self.flow[other, k]
                    or self.flow[k, other] > self.couplings[k, other]
                ):
                    return False
                price += self.flow[k, other]
            missing += max(0.0, level - price)
        return missing <= TOLERANCE * level

    cdef bint is_proper(self) noexcept nogil:
        """Whether costs and couplings are numbers ≥ 0 with a finite sum."""
        cdef Py_ssize_t k, other
        cdef double total = 0.0
        for k in range(self.n):
            if not self.costs[k] >= 0.0:
                return False
            total += self.costs[k]
            for other in range(self.n):
                if not self.couplings[k, other] >= 0.0:
                    return False
                total += self.couplings[k, other]
        return total < INFINITY

    cdef double cut(self, Py_ssize_t* size) noexcept nogil:
        """h(S) of the labels at distance n, and how many there are."""
        cdef Py_ssize_t n = self.n, k, other
        cdef double total = 0.0
        size[0] = 0
        for k in range(n):
            if self.distances[k] == n:
                size[0] += 1
                total += self.costs[k]
                for other in range(n):
                    total += self.couplings[k, other] if self.distances[other] < n else 0.0
        return total

    cdef void clear_flow(self) noexcept nogil:
        """Begin with no flow."""
        cdef Py_ssize_t k, other
        for k in range(self.n):
            self.prices[k] = self.costs[k]
            for other in range(self.n):
                self.flow[k, other] = 0.0

    cdef bint balance(self, double level, Py_ssize_t* scans) noexcept nogil:
        """Find the flow with the largest Σ_k min(0, price_k − λ); 0 if it takes too long.

        That sum is the least h(S) − λ|S|. Labels at distance n are the largest such S.
        """
        cdef Py_ssize_t n = self.n, k
        cdef bint moved = True
        while moved:
            moved = False
            self.measure_distances(level)
            for k in range(n):
                if self.distances[k] < n and level - self.prices[k] > TIE * level:
                    scans[0] -= self.discharge(k, level)
                    moved = True
            if scans[0] < 0:
                return False
        return True

    cdef void measure_distances(self, double level) noexcept nogil:
        """Breadth-first search from the labels with a price above λ."""
        cdef Py_ssize_t n = self.n, k, other, head = 0, tail = 0
        cdef double rounding = TIE * level
        for k in range(n):
            self.distances[k] = n
            if self.prices[k] - level > rounding:
                self.distances[k] = 0
                self.queue[tail] = k
                tail += 1
        while head < tail:
            other = self.queue[head]
            head += 1
            for k in range(n):
                if (
                    self.distances[k] == n
                    and self.couplings[k, other] - self.flow[k, other] > rounding
                ):
                    self.distances[k] = self.distances[other] + 1
                    self.queue[tail] = k
                    tail += 1

    cdef Py_ssize_t discharge(self, Py_ssize_t k, double level) noexcept nogil:
        """Raise a label's price to λ, as far as flow finds room; return the number of scans.

        This is push-relabel: flow goes to labels one step nearer to a price above λ.
        """
        cdef Py_ssize_t n = self.n, other, nearest, scans = 0
        cdef double rounding = TIE * level, room, amount
        while self.distances[k] < n:
            scans += 1
            nearest = n
            for other in range(n):
                room = self.couplings[k, other] - self.flow[k, other]
                if not room > rounding:
                    continue
                if self.distances[other] >= self.distances[k]:
                    nearest = min(nearest, self.distances[other] + 1)
                    continue
                amount = min(room, level - self.prices[k])
                # rounding is not to exceed the coupling, and the price ends at λ exactly
                if amount < room:
                    self.flow[k, other] = min(
                        self.flow[k, other] + amount, self.couplings[k, other]
                    )
                    self.prices[k] = level
                else:
                    self.flow[k, other] = self.couplings[k, other]
                    self.prices[k] += amount
                self.flow[other, k] = -self.flow[k, other]
                self.prices[other] -= amount
                if not level - self.prices[k] > rounding:
                    return scans
            self.distances[k] = nearest
        return scans
