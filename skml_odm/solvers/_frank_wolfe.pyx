"""Frank-Wolfe steps on the simplex of label pairs (paper 003, Section 7).

    min_α  W(α) = ½ αᵀΘα,   α ≥ 0, Σα = 1,        Θ = HᵀH ∘ K + diag(1/c_i)

The pair (i, k, l) has the derivative g = f_ik − f_il + α_ikl/c_i, where F = K A are the scores of
the coefficients A = Hα. A step moves weight λ to the pair of smallest g. So it changes two columns
of F, by ±λ K_:i; the factor (1 − λ) that all else gets is kept aside in ``scale``.

To find that pair without a look at all of them, pairs are grouped by their labels (k, l), and each
group has a lower bound of its derivatives. A step to (i, k*, l*) changes the g of row j in a group
by λ s K_ij, s = [k=k*] + [l=l*] − [k=l*] − [l=k*]: the bound rises by λ s min K_:i or falls by
λ |s| max K_:i. A group is searched only if its bound is below the best pair found so far.
"""

from libc.math cimport INFINITY, isnan
from skml_odm.utils._signals cimport look_for_signals
import numpy as np

# A step that lowers W by less than this share of it is rounding.
cdef double NEGLIGIBLE = 1e-17

# Steps between two looks at Ctrl-C.
cdef enum:
    STEPS_PER_LOOK = 64


cdef class Iterate:
    """A point α of the simplex with its scores, and the steps that improve it.

    Call ``restart`` first.

    Parameters
    ----------
    loss
        Its weights c.
    pairs : GroupedPairs
        A pair is known by its position there.
    diagonal : ndarray of shape (m,)
        The diagonal of K, intercept included.
    shift : float
        What the intercept adds to every kernel value.
    pairwise : bool
        Take weight from the active pair of largest derivative, not from all in proportion.
    """

    # by pair: its row and labels; by group q·k + l: its first pair
    cdef const int[::1] row
    cdef const int[::1] relevant
    cdef const int[::1] irrelevant
    cdef const Py_ssize_t[::1] first
    cdef const double[::1] weight
    cdef const double[::1] diagonal
    cdef double shift
    cdef bint pairwise
    cdef Py_ssize_t m, q
    # α/c of every pair, scores (q × m) and bounds of the groups: all are to be multiplied by scale
    cdef double[::1] ridge
    cdef double[:, ::1] scores
    cdef double[::1] bound
    cdef double scale
    # the pairs with α > 0
    cdef Py_ssize_t[::1] active
    cdef Py_ssize_t n_active
    # smallest value and largest off-diagonal value of the columns of K met so far
    cdef double[::1] lowest
    cdef double[::1] highest
    # the pairs of the next step: smallest derivative, and largest one among active pairs
    cdef Py_ssize_t best, away, away_position
    cdef double best_slope, away_slope
    cdef readonly double value
    """W(α), followed through the steps since ``restart``."""

    def __init__(self, loss, pairs, diagonal, shift, pairwise):
        self.m, self.q = loss.shape
        self.weight = loss.weight
        self.row, self.relevant, self.irrelevant, self.first = pairs
        self.diagonal, self.shift, self.pairwise = diagonal, shift, pairwise
        self.ridge = np.zeros(len(pairs.row))
        # pages that no active pair touches never take memory
        self.active = np.empty(len(pairs.row), dtype=np.intp)
        self.n_active = 0
        self.bound = np.empty(self.q * self.q)
        self.lowest = np.full(self.m, np.nan)
        self.highest = np.full(self.m, np.nan)

    def restart(self, active, alpha, scores, double value):
        """Start from the given active pairs, their α, and their scores (m × q) and W."""
        cdef Py_ssize_t group
        ridge, listed = np.asarray(self.ridge), np.asarray(self.active)
        ridge[listed[:self.n_active]] = 0.0
        ridge[active] = alpha / np.take(self.weight, np.take(self.row, active))
        listed[:len(active)] = active
        self.n_active = len(active)
        self.scores = np.array(scores.T, order="C")
        self.value = value
        self.scale = 1.0
        for group in range(self.q * self.q):
            self.bound[group] = -INFINITY if self.first[group] < self.first[group + 1] else INFINITY

    def multipliers(self):
        """The active pairs and their α."""
        active = np.array(self.active[:self.n_active])
        weight = np.take(self.weight, np.take(self.row, active))
        return active, self.scale * weight * np.take(self.ridge, active)

    def vertex(self):
        """The pair of smallest derivative and that derivative."""
        with nogil:
            self.find_vertex()
        return self.best, self.scale * self.best_slope

    def run(self, const double[:, ::1] matrix, Py_ssize_t n, double relative, double absolute):
        """Do up to n steps with K = matrix + shift; return how many were done.

        Ends early where W − W* is proven to be at most ``relative`` · W, where the linearisation
        promises no more than ``absolute``, and where rounding leaves nothing to gain.
        """
        cdef Py_ssize_t done = 0
        with nogil:
            while done < n and self.find_step(relative, absolute):
                if not self.step(&matrix[self.row[self.best], 0], &matrix[self.row[self.away], 0]):
                    break
                done += 1
                if done % STEPS_PER_LOOK == 0:
                    look_for_signals()
        return done

    def next_rows(self, double relative, double absolute):
        """The rows of the next step's two pairs, or None where ``run`` would end.

        For plain steps both are the same.
        """
        if not self.find_step(relative, absolute):
            return None
        return self.row[self.best], self.row[self.away]

    def move(self, const double[::1] column, const double[::1] away_column):
        """Do the step with its columns of K, without shift; return whether there was any gain."""
        return self.step(&column[0], &away_column[0])

    cdef bint find_step(self, double relative, double absolute) noexcept nogil:
        """Find the pairs of the next step; return whether the point needs one."""
        cdef double slope
        self.find_vertex()
        self.away = self.best
        if self.pairwise:
            self.find_away()
        slope = self.scale * self.best_slope
        if 2.0 * self.value - slope <= absolute:
            return False
        # W* ≥ g²/4W, see frank_wolfe.py
        slope = max(slope, 0.0)
        return self.value - 0.25 * slope * slope / self.value > relative * self.value

    cdef void find_vertex(self) noexcept nogil:
        """Search the group of smallest bound, then those with a bound below the best pair."""
        cdef Py_ssize_t n = self.q * self.q, group, least = 0
        cdef double smallest = INFINITY
        cdef double* bound = &self.bound[0]
        for group in range(n):
            if bound[group] < smallest:
                smallest = bound[group]
                least = group
        self.best_slope = INFINITY
        self.search(least)
        for group in range(n):
            if bound[group] < self.best_slope:
                self.search(group)

    cdef void search(self, Py_ssize_t group) noexcept nogil:
        """Make the bound of a group exact; keep its best pair if that is better than ``best``."""
        cdef Py_ssize_t p, found = self.first[group]
        cdef const double* up = &self.scores[self.relevant[found], 0]
        cdef const double* down = &self.scores[self.irrelevant[found], 0]
        cdef double slope
        cdef double* smallest = &self.bound[group]
        smallest[0] = INFINITY
        for p in range(found, self.first[group + 1]):
            slope = up[self.row[p]] - down[self.row[p]] + self.ridge[p]
            if slope < smallest[0]:
                smallest[0] = slope
                found = p
        if smallest[0] < self.best_slope:
            self.best_slope = smallest[0]
            self.best = found

    cdef void find_away(self) noexcept nogil:
        cdef Py_ssize_t a, p
        cdef double slope
        self.away_slope = -INFINITY
        for a in range(self.n_active):
            p = self.active[a]
            slope = self.ridge[p] + (
                self.scores[self.relevant[p], self.row[p]]
                - self.scores[self.irrelevant[p], self.row[p]]
            )
            if slope > self.away_slope:
                self.away_slope = slope
                self.away = p
                self.away_position = a

    cdef bint step(self, const double* column, const double* away_column) noexcept nogil:
        """Do the step that was found; return whether there was anything to gain."""
        if self.pairwise:
            return self.pairwise_step(column, away_column)
        return self.plain_step(column)

    cdef bint plain_step(self, const double* column) noexcept nogil:
        """α ← (1 − λ) α + λ e, with λ of Eq. 64 and W of Eq. 68."""
        cdef double g = self.scale * self.best_slope, W = self.value
        cdef double theta = self.own_curvature(self.best)
        cdef double curvature = theta - 2.0 * g + 2.0 * W
        cdef double length
        if 2.0 * W <= g or (2.0 * W - g) ** 2 <= 2.0 * NEGLIGIBLE * W * curvature:
            return False
        # W is at most ½ min Θ_ii from the start on, so that only rounding makes a step longer than
        # ½; with W − W* = h it falls to at most (1 − λ/2) h: scale is at least (h/h₀)³
        length = min((2.0 * W - g) / curvature, 0.5)
        self.value = (
            (1.0 - length) ** 2 * W + length * (1.0 - length) * g + 0.5 * length * length * theta
        )
        self.scale = self.scale * (1.0 - length)
        self.add(self.best, length / self.scale)
        self.spread(self.best, column, length / self.scale)
        return True

    cdef bint pairwise_step(
        self, const double* column, const double* away_column,
    ) noexcept nogil:
        """Move weight from the active pair of largest derivative to the pair of smallest."""
        cdef Py_ssize_t to = self.best, source = self.away
        cdef int up = self.relevant[to], down = self.irrelevant[to]
        cdef double gain = self.away_slope - self.best_slope, length, curvature, common
        cdef double source_weight = self.weight[self.row[source]]
        common = (column[self.row[source]] + self.shift) * (
            (up == self.relevant[source]) - (up == self.irrelevant[source])
            - (down == self.relevant[source]) + (down == self.irrelevant[source])
        )
        curvature = self.own_curvature(to) + self.own_curvature(source) - 2.0 * common
        if to == source or gain <= 0.0 or (
            gain * gain <= 2.0 * NEGLIGIBLE * self.value * curvature
        ):
            return False
        length = gain / curvature
        if length >= self.ridge[source] * source_weight:
            length = self.ridge[source] * source_weight
            self.ridge[source] = 0.0
            self.n_active = self.n_active - 1
            self.active[self.away_position] = self.active[self.n_active]
        else:
            self.ridge[source] -= length / source_weight
        self.value = self.value - length * (gain - 0.5 * length * curvature)
        self.add(to, length)
        self.spread(to, column, length)
        self.spread(source, away_column, -length)
        # the source's α has fallen, and with it its own derivative
        self.bound[self.relevant[source] * self.q + self.irrelevant[source]] -= (
            length / source_weight
        )
        return True

    cdef inline double own_curvature(self, Py_ssize_t p) noexcept nogil:
        """Θ_pp."""
        return 2.0 * self.diagonal[self.row[p]] + 1.0 / self.weight[self.row[p]]

    cdef void add(self, Py_ssize_t p, double alpha) noexcept nogil:
        if self.ridge[p] == 0.0:
            self.active[self.n_active] = p
            self.n_active = self.n_active + 1
        self.ridge[p] += alpha / self.weight[self.row[p]]

    cdef void spread(self, Py_ssize_t p, const double* column, double length) noexcept nogil:
        """Scores and bounds after the pair's multiplier has grown by ``length``."""
        cdef Py_ssize_t up = self.relevant[p], down = self.irrelevant[p], q = self.q, i, k
        cdef double least, most, change, shift = self.shift
        cdef double* bound = &self.bound[0]
        cdef double* rising
        cdef double* falling
        if isnan(self.lowest[self.row[p]]):
            self.find_extremes(self.row[p], column)
        least, most = self.lowest[self.row[p]], self.highest[self.row[p]]
        if length < 0.0:
            # now the pair's own row is among those that fall
            most = max(most, self.diagonal[self.row[p]])
            up, down, length = down, up, -length
        rising, falling = &self.scores[up, 0], &self.scores[down, 0]
        for i in range(self.m):
            change = length * (column[i] + shift)
            rising[i] += change
            falling[i] -= change
        for k in range(q):
            bound[up * q + k] += length * least
            bound[k * q + down] += length * least
            bound[down * q + k] -= length * most
            bound[k * q + up] -= length * most

    cdef void find_extremes(self, Py_ssize_t i, const double* column) noexcept nogil:
        cdef double least = INFINITY, most = -INFINITY
        cdef Py_ssize_t j
        for j in range(self.m):
            least = min(least, column[j])
            if j != i:
                most = max(most, column[j])
        self.lowest[i] = self.shift + least
        self.highest[i] = self.shift + most
