"""Frank-Wolfe steps on the simplex of label pairs (paper 003, Section 7).

    min_α  W(α) = ½ αᵀΘα,   α ≥ 0, Σα = 1,        Θ = HᵀH ∘ K + diag(1/c_i)

A pair (i, k, l) has the derivative g = f_ik − f_il + α_ikl/c_i, F = K A the scores of the
coefficients A = Hα. A step moves weight λ to the pair of smallest g: all the paper's gradient
vector over Σ|Y||N| pairs needs is two columns of F, which change by ±λ K_:i.

Pairs are stored group by group, one group for every two labels (k, l). A step with the vertex
(i, k*, l*) changes the g of row j in a group by λ s K_ij, s = [k=k*] + [l=l*] − [k=l*] − [l=k*]. So
a lower bound of the smallest g of a group can be carried along: it rises by λ s min K_:i or falls
by λ |s| max K_:i. Most of that is the same for all rows, and a group is looked at only if its bound
is below the best pair so far; the pair found is exactly the best.

Scores, α, gradients and bounds share a lazy factor, ``scale``, which takes the (1 − λ) of every
step.
"""

from libc.math cimport INFINITY, isnan
import numpy as np

# Steps of length 1 would lose all that is known; exact arithmetic has none.
cdef double LONGEST = 1.0 - 1e-6

# The lazy factor is multiplied out before it underflows.
cdef double SMALLEST_SCALE = 1e-50

# A step that lowers W by less than this share of it is rounding.
cdef double NEGLIGIBLE = 1e-17


cdef struct Pair:
    # Instance, its relevant and irrelevant label, and where its multiplier stands.
    int row, up, down
    Py_ssize_t index
    # its derivative when it was last looked at, in stored units
    double slope


PAIR = np.dtype(
    [
        ("row", np.intc),
        ("up", np.intc),
        ("down", np.intc),
        ("index", np.intp),
        ("slope", np.float64),
    ],
    align=True,
)


cdef void shift_scores(
    double* up, double* down, const double* column, double shift, double step, Py_ssize_t n,
) noexcept nogil:
    """up += step · (column + shift); down −= the same"""
    cdef Py_ssize_t j
    cdef double change
    for j in range(n):
        change = step * (column[j] + shift)
        up[j] += change
        down[j] -= change


cdef double smallest_slope(
    const double* up, const double* down, const double* ridge, const int* rows, Py_ssize_t n,
) noexcept nogil:
    """The smallest derivative of a group; four minima, so that none waits for another."""
    cdef Py_ssize_t p, whole = n - n % 4
    cdef double a = INFINITY, b = INFINITY, c = INFINITY, d = INFINITY
    for p in range(0, whole, 4):
        a = min(a, up[rows[p]] - down[rows[p]] + ridge[p])
        b = min(b, up[rows[p + 1]] - down[rows[p + 1]] + ridge[p + 1])
        c = min(c, up[rows[p + 2]] - down[rows[p + 2]] + ridge[p + 2])
        d = min(d, up[rows[p + 3]] - down[rows[p + 3]] + ridge[p + 3])
    for p in range(whole, n):
        a = min(a, up[rows[p]] - down[rows[p]] + ridge[p])
    return min(min(a, b), min(c, d))


cdef double smallest_value(const double* values, double sign, Py_ssize_t n) noexcept nogil:
    """The smallest of the values times ``sign``."""
    cdef Py_ssize_t j, whole = n - n % 4
    cdef double a = INFINITY, b = INFINITY, c = INFINITY, d = INFINITY
    for j in range(0, whole, 4):
        a = min(a, sign * values[j])
        b = min(b, sign * values[j + 1])
        c = min(c, sign * values[j + 2])
        d = min(d, sign * values[j + 3])
    for j in range(whole, n):
        a = min(a, sign * values[j])
    return min(min(a, b), min(c, d))


cdef class Iterate:
    """A point α of the simplex with its scores, and the steps that improve it.

    Parameters
    ----------
    start, rows
        Where the pairs of the labels k and l begin, group q·k + l, and the rows they belong to,
        in order.
    weight : ndarray of shape (m,)
        c_i.
    diagonal : ndarray of shape (m,)
        The diagonal of K, intercept included.
    shift : float
        What the intercept adds to every kernel value.
    pairwise : bool
        Take weight from the active pair of largest derivative, not from all in proportion.
    q : int
        Number of labels.
    """

    cdef const long long[::1] start
    cdef const int[::1] rows
    cdef const double[::1] weight
    cdef const double[::1] diagonal
    cdef double shift
    cdef bint pairwise
    cdef Py_ssize_t m, q
    # α/c of all pairs, and the pairs where it is positive
    cdef double[::1] ridge
    cdef Pair[::1] active
    cdef Py_ssize_t n_active
    cdef double[:, ::1] scores
    # at most the smallest derivative of each group; infinite for those without pairs
    cdef double[::1] bound
    # extremes of the columns of K met so far, the diagonal left out of the largest value
    cdef double[::1] lowest
    cdef double[::1] highest
    cdef double scale
    cdef Pair best
    cdef Pair away
    cdef Py_ssize_t away_position
    cdef readonly double value
    """W(α), followed through the steps since ``restart``."""
    cdef readonly bint stalled
    """Whether the last step found nothing to gain."""

    def __init__(self, start, rows, weight, diagonal, shift, pairwise, q):
        self.start, self.rows, self.weight = start, rows, weight
        self.diagonal, self.shift, self.pairwise = diagonal, shift, pairwise
        self.m, self.q = len(diagonal), q
        # pages that no active pair touches never take memory
        self.ridge = np.zeros(len(rows))
        self.active = np.empty(len(rows), dtype=PAIR)
        self.n_active = 0
        self.scores = np.zeros((q, self.m))
        self.bound = np.full(q * q, INFINITY)
        self.lowest = np.full(self.m, np.nan)
        self.highest = np.full(self.m, np.nan)
        self.scale = 1.0
        self.stalled = False

    def put(self, int row, int up, int down, double alpha):
        """Give a pair that has none a multiplier; call ``restart`` afterwards."""
        cdef Py_ssize_t group = up * self.q + down, begin = self.start[group]
        members = np.asarray(self.rows)[begin:self.start[group + 1]]
        self.add(Pair(row, up, down, begin + np.searchsorted(members, row), 0.0), alpha)

    def multipliers(self):
        """α of all pairs, group by group."""
        return self.scale * np.asarray(self.ridge) * np.take(self.weight, self.rows)

    def coefficients(self):
        """A (m × q) of the multipliers, which are made to sum to 1 exactly; and Σ α²/c."""
        cdef double[:, ::1] result = np.zeros((self.m, self.q))
        cdef Py_ssize_t a
        cdef Pair pair
        cdef double total = 0.0, squares = 0.0, alpha
        for a in range(self.n_active):
            total += self.ridge[self.active[a].index] * self.weight[self.active[a].row]
        for a in range(self.n_active - 1, -1, -1):
            pair = self.active[a]
            self.ridge[pair.index] /= total
            if self.ridge[pair.index] == 0.0:
                self.drop(a)
                continue
            alpha = self.ridge[pair.index] * self.weight[pair.row]
            squares += alpha * self.ridge[pair.index]
            result[pair.row, pair.up] += alpha
            result[pair.row, pair.down] -= alpha
        return np.asarray(result), squares

    def restart(self, double[:, ::1] scores, double value):
        """Take the scores (q × m) and W of the current multipliers, computed anew."""
        cdef Py_ssize_t group
        self.scores = scores
        self.value = value
        self.scale = 1.0
        self.stalled = False
        for group in range(self.q * self.q):
            if self.start[group] < self.start[group + 1]:
                self.bound[group] = -INFINITY

    def vertex(self):
        """The pair of smallest derivative as (row, relevant, irrelevant label, derivative)."""
        with nogil:
            self.find_vertex()
        return self.best.row, self.best.up, self.best.down, self.scale * self.best.slope

    def away_row(self):
        """The row of the active pair of largest derivative; −1 if steps are not pairwise."""
        if not self.pairwise:
            return -1
        with nogil:
            self.find_away()
        return self.away.row

    def move(self, const double[::1] column, const double[::1] away_column):
        """Step towards ``vertex()`` with its column of K, without shift, and that of away_row()."""
        with nogil:
            self.step(&column[0], &away_column[0])

    def run(self, const double[:, ::1] matrix, Py_ssize_t n, double relative, double absolute):
        """Do up to n steps with K = matrix + shift; return how many were done.

        Ends early where W − W* is proven to be at most ``relative`` · W, where the linearisation
        promises no more than ``absolute``, and where rounding leaves nothing to gain.
        """
        cdef Py_ssize_t done = 0
        cdef double slope, promise
        with nogil:
            while done < n:
                self.find_vertex()
                slope = self.scale * self.best.slope
                promise = 2.0 * self.value - slope
                if promise <= absolute:
                    break
                # W* ≥ g²/4W, see frank_wolfe.py
                if slope > 0.0 and self.value - 0.25 * slope * slope / self.value <= (
                    relative * self.value
                ):
                    break
                if self.pairwise:
                    self.find_away()
                    self.step(&matrix[self.best.row, 0], &matrix[self.away.row, 0])
                else:
                    self.step(&matrix[self.best.row, 0], NULL)
                if self.stalled:
                    break
                done += 1
        return done

    cdef void find_vertex(self) noexcept nogil:
        """Look first where the bound is smallest, then wherever it is below the best so far."""
        cdef Py_ssize_t group, winner = 0
        cdef double smallest, found
        cdef double* bound = &self.bound[0]
        for group in range(1, self.q * self.q):
            if bound[group] < bound[winner]:
                winner = group
        bound[winner] = smallest = self.group_slope(winner)
        for group in range(self.q * self.q):
            if bound[group] < smallest:
                bound[group] = found = self.group_slope(group)
                if found < smallest:
                    smallest = found
                    winner = group
        self.identify(winner)

    cdef double group_slope(self, Py_ssize_t group) noexcept nogil:
        cdef Py_ssize_t begin = self.start[group]
        return smallest_slope(
            &self.scores[group // self.q, 0], &self.scores[group % self.q, 0],
            &self.ridge[begin], &self.rows[begin], self.start[group + 1] - begin,
        )

    cdef void identify(self, Py_ssize_t group) noexcept nogil:
        """Which pair of the group has its smallest derivative."""
        cdef Py_ssize_t up = group // self.q, down = group % self.q, at, index = 0
        cdef double slope, smallest = INFINITY
        cdef const double* high = &self.scores[up, 0]
        cdef const double* low = &self.scores[down, 0]
        for at in range(self.start[group], self.start[group + 1]):
            slope = high[self.rows[at]] - low[self.rows[at]] + self.ridge[at]
            if slope < smallest:
                smallest = slope
                index = at
        self.best = Pair(self.rows[index], <int> up, <int> down, index, smallest)

    cdef void find_away(self) noexcept nogil:
        cdef Py_ssize_t a
        cdef Pair* pair
        cdef double largest = -INFINITY
        for a in range(self.n_active):
            pair = &self.active[a]
            pair.slope = (
                self.scores[pair.up, pair.row] - self.scores[pair.down, pair.row]
                + self.ridge[pair.index]
            )
            if pair.slope > largest:
                largest = pair.slope
                self.away_position = a
        self.away = self.active[self.away_position]

    cdef void step(self, const double* column, const double* away_column) noexcept nogil:
        if self.pairwise:
            self.pairwise_step(column, away_column)
        else:
            self.plain_step(column)
            if self.scale < SMALLEST_SCALE:
                self.multiply_out()

    cdef void plain_step(self, const double* column) noexcept nogil:
        """α ← (1 − λ) α + λ e, with λ of Eq. 64 and W of Eq. 68."""
        cdef double g = self.scale * self.best.slope, W = self.value
        cdef double theta = 2.0 * self.diagonal[self.best.row] + 1.0 / self.weight[self.best.row]
        cdef double curvature = theta - 2.0 * g + 2.0 * W
        cdef double length
        self.stalled = not (2.0 * W - g) ** 2 > 2.0 * NEGLIGIBLE * W * curvature or 2.0 * W <= g
        if self.stalled:
            return
        length = min((2.0 * W - g) / curvature, LONGEST)
        self.value = (
            (1.0 - length) ** 2 * W + length * (1.0 - length) * g + 0.5 * length * length * theta
        )
        self.scale = self.scale * (1.0 - length)
        self.add(self.best, length / self.scale)
        self.spread(self.best, column, length / self.scale)

    cdef void pairwise_step(
        self, const double* column, const double* away_column,
    ) noexcept nogil:
        """Move weight from the active pair of largest derivative to that of smallest."""
        cdef Pair to = self.best
        cdef Pair source = self.away
        cdef double promise = source.slope - to.slope, length, curvature, common
        common = (column[source.row] + self.shift) * (
            (to.up == source.up) - (to.up == source.down)
            - (to.down == source.up) + (to.down == source.down)
        )
        curvature = (
            2.0 * (self.diagonal[to.row] + self.diagonal[source.row]) - 2.0 * common
            + 1.0 / self.weight[to.row] + 1.0 / self.weight[source.row]
        )
        self.stalled = (
            to.index == source.index
            or promise <= 0.0
            or promise * promise <= 2.0 * NEGLIGIBLE * self.value * curvature
        )
        if self.stalled:
            return
        length = promise / curvature
        if length >= self.ridge[source.index] * self.weight[source.row]:
            length = self.ridge[source.index] * self.weight[source.row]
            self.drop(self.away_position)
        else:
            self.ridge[source.index] -= length / self.weight[source.row]
        self.value = self.value - length * (promise - 0.5 * length * curvature)
        self.add(to, length)
        self.spread(to, column, length)
        self.spread(source, away_column, -length)
        # the source's α has fallen, and with it its own derivative
        self.bound[source.up * self.q + source.down] -= length / self.weight[source.row]

    cdef void spread(self, Pair pair, const double* column, double length) noexcept nogil:
        """Scores and bounds after the pair's multiplier has grown by ``length``."""
        cdef Py_ssize_t up = pair.up, down = pair.down, q = self.q, k
        cdef double least, most
        cdef double* bound = &self.bound[0]
        if isnan(self.lowest[pair.row]):
            self.find_extremes(pair.row, column)
        least, most = self.lowest[pair.row], self.highest[pair.row]
        if length < 0.0:
            # now the pair's own row is among those that fall
            most = max(most, self.diagonal[pair.row])
            up, down, length = down, up, -length
        shift_scores(
            &self.scores[up, 0], &self.scores[down, 0], column, self.shift, length, self.m
        )
        for k in range(q):
            bound[up * q + k] += length * least
            bound[k * q + down] += length * least
            bound[down * q + k] -= length * most
            bound[k * q + up] -= length * most

    cdef void find_extremes(self, Py_ssize_t i, const double* column) noexcept nogil:
        cdef const double* rest = column + i + 1
        cdef Py_ssize_t n_rest = self.m - i - 1
        self.lowest[i] = self.shift + smallest_value(column, 1.0, self.m)
        self.highest[i] = self.shift - min(
            smallest_value(column, -1.0, i), smallest_value(rest, -1.0, n_rest)
        )

    cdef void add(self, Pair pair, double alpha) noexcept nogil:
        if self.ridge[pair.index] == 0.0:
            self.active[self.n_active] = pair
            self.n_active = self.n_active + 1
        self.ridge[pair.index] += alpha / self.weight[pair.row]

    cdef void drop(self, Py_ssize_t position) noexcept nogil:
        self.n_active = self.n_active - 1
        self.ridge[self.active[position].index] = 0.0
        self.active[position] = self.active[self.n_active]

    cdef void multiply_out(self) noexcept nogil:
        cdef Py_ssize_t a, k, i
        for a in range(self.n_active - 1, -1, -1):
            self.ridge[self.active[a].index] *= self.scale
            if self.ridge[self.active[a].index] == 0.0:
                self.drop(a)
        for k in range(self.q):
            for i in range(self.m):
                self.scores[k, i] *= self.scale
        for k in range(self.q * self.q):
            self.bound[k] *= self.scale
        self.scale = 1.0
