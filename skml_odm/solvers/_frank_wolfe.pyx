"""Frank-Wolfe steps on the simplex of label pairs (paper 003, Section 7).

    min_α  W(α) = ½ αᵀΘα,   α ≥ 0, Σα = 1,        Θ = HᵀH ∘ K + diag(1/c_i)

A pair (i, k, l) has the derivative g = f_ik − f_il + α_ikl/c_i, F = K A the scores of the
coefficients A = Hα. A step moves weight λ to the pair of smallest g: all the paper's gradient
vector over Σ|Y||N| pairs needs is two columns of F, which change by ±λ K_:i.

Pairs are stored group by group, one group for every two labels (k, l), and within a group in blocks
of four rows whose scores stand next to each other. Rows of the same labels do, so that most blocks
are full.

A step with the vertex (i, k*, l*) changes the g of row j in a group by λ s K_ij, s = [k=k*] +
[l=l*] − [k=l*] − [l=k*]. So a lower bound of the smallest g of a group can be carried along: it
rises by λ s min K_:i or falls by λ |s| max K_:i. Most of that is the same for all rows, and a group
is looked at only if its bound is below the best pair so far; the pair found is exactly the best.

Scores, α, gradients and bounds share a lazy factor, ``scale``, which takes the (1 − λ) of every
step.
"""

from libc.math cimport INFINITY, isnan, nextafter
import numpy as np

cdef extern from "_row_blocks.h" nogil:
    double smallest_slope(
        const double* up, const double* down, const double* ridge, const int* blocks, Py_ssize_t n)
    Py_ssize_t find_slope(
        const double* up, const double* down, const double* ridge, const int* blocks, Py_ssize_t n,
        double value)
    void shift_scores(
        double* up, double* down, const double* column, const int* order, double step,
        double offset, Py_ssize_t n)
    void extremes(const double* values, Py_ssize_t n, double* least, double* most)
    double least_of(const double* values, Py_ssize_t n)
    Py_ssize_t next_below(const double* values, Py_ssize_t j, Py_ssize_t n, double limit)

# Steps of length 1 would lose all that is known; exact arithmetic has none.
cdef double LONGEST = 1.0 - 1e-6

# The lazy factor is multiplied out before it underflows.
cdef double SMALLEST_SCALE = 1e-50

# Numbers in a cache line.
LINE = 8

# A step that lowers W by less than this share of it is rounding.
cdef double NEGLIGIBLE = 1e-17


cdef struct Pair:
    # Instance and its position, its relevant and irrelevant label, where its multiplier stands.
    int row, place, up, down
    Py_ssize_t index
    # its derivative when it was last looked at, in stored units
    double slope


PAIR = np.dtype(
    [
        ("row", np.intc),
        ("place", np.intc),
        ("up", np.intc),
        ("down", np.intc),
        ("index", np.intp),
        ("slope", np.float64),
    ],
    align=True,
)


def lay_out(const int[::1] rows, const int[:, ::1] order, const int[::1] n_relevant):
    """The label pairs of some rows in groups of blocks.

    Parameters
    ----------
    rows : ndarray of int32
    order, n_relevant
        The labels of all rows, relevant ones first, and how many of them are.

    Returns
    -------
    start, blocks
        Where the blocks of group q·k + l begin; the position in ``rows`` of each block's first row.
    ridge
        One entry for each of the four rows of a block: zero if the row has the pair, else infinite.
    """
    cdef Py_ssize_t q = order.shape[1], at, place, a, b, row, group
    cdef long long[::1] start = np.zeros(q * q + 1, dtype=np.int64)
    cdef long long[::1] free
    # where the last block of every group begins
    cdef int[::1] last = np.full(q * q, -1, dtype=np.intc)
    cdef int[::1] blocks
    cdef double[::1] ridge
    for at in range(len(rows)):
        row, place = rows[at], at - at % 4
        for a in range(n_relevant[row]):
            for b in range(n_relevant[row], q):
                group = q * order[row, a] + order[row, b]
                if last[group] != place:
                    last[group] = <int> place
                    start[group + 1] += 1
    start = np.cumsum(start)
    blocks = np.empty(start[q * q], dtype=np.intc)
    ridge = aligned(4 * start[q * q])
    ridge[:] = INFINITY
    free = start.copy()
    last[:] = -1
    for at in range(len(rows)):
        row, place = rows[at], at - at % 4
        for a in range(n_relevant[row]):
            for b in range(n_relevant[row], q):
                group = q * order[row, a] + order[row, b]
                if last[group] != place:
                    last[group] = <int> place
                    blocks[free[group]] = <int> place
                    free[group] += 1
                ridge[4 * (free[group] - 1) + at % 4] = 0.0
    return np.asarray(start), np.asarray(blocks), np.asarray(ridge)


def aligned(n):
    """Memory for n numbers that begins where a cache line does."""
    space = np.empty(n + LINE)
    skipped = -(space.ctypes.data // space.itemsize) % LINE
    return space[skipped:skipped + n]


cdef class Iterate:
    """A point α of the simplex with its scores, and the steps that improve it.

    Parameters
    ----------
    rows : ndarray of int32
        The rows that have pairs, in the order in which their scores are kept; rows of the same
        labels are best kept together.
    order, n_relevant
        The labels of all rows, relevant ones first, and how many of them are.
    weight : ndarray of shape (m,)
        c_i.
    diagonal : ndarray of shape (m,)
        The diagonal of K, intercept included.
    shift : float
        What the intercept adds to every kernel value.
    pairwise : bool
        Take weight from the active pair of largest derivative, not from all in proportion.
    """

    # labels and first blocks of the groups
    cdef const int[::1] ups
    cdef const int[::1] downs
    cdef const long long[::1] start
    cdef const int[::1] blocks
    # rows by position, filled up to whole cache lines; and the positions by row
    cdef int[::1] rows
    cdef int[::1] places
    cdef const double[::1] weight
    cdef const double[::1] diagonal
    cdef double shift
    cdef bint pairwise
    cdef Py_ssize_t m, q
    # α/c of all pairs, infinite where a block's row has none; and the pairs where it is positive
    cdef double[::1] ridge
    cdef Pair[::1] active
    cdef Py_ssize_t n_active
    # labels by positions
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
    cdef readonly double total
    """Σα, followed through the steps of ``climb``."""
    cdef readonly double squares
    """Σ α²/c, followed likewise."""
    cdef readonly bint stalled
    """Whether the last step found nothing to gain."""

    def __init__(self, rows, order, n_relevant, weight, diagonal, shift, pairwise):
        cdef Py_ssize_t width = -(-len(rows) // LINE) * LINE
        self.weight, self.diagonal, self.shift, self.pairwise = weight, diagonal, shift, pairwise
        self.m, self.q = order.shape
        self.start, self.blocks, self.ridge = lay_out(rows, order, n_relevant)
        labels = np.arange(self.q, dtype=np.intc)
        self.ups, self.downs = np.repeat(labels, self.q), np.tile(labels, self.q)
        places = np.empty(self.m, dtype=np.intc)
        places[rows] = np.arange(len(rows))
        self.rows, self.places = np.append(rows, rows[:1].repeat(width - len(rows))), places
        # pages that no active pair touches never take memory
        self.active = np.empty(len(self.ridge), dtype=PAIR)
        self.n_active = 0
        self.scores = aligned(self.q * width).reshape(self.q, width)
        self.scores[:] = 0.0
        # of all groups that have pairs, the derivatives are zero
        self.bound = np.where(np.diff(self.start) > 0, 0.0, INFINITY)
        self.lowest = np.full(self.m, np.nan)
        self.highest = np.full(self.m, np.nan)
        self.scale = 1.0
        self.stalled = False

    def put(self, int row, int up, int down, double alpha):
        """Give a pair that has none a multiplier; call ``restart`` afterwards."""
        cdef int place = self.places[row]
        cdef Py_ssize_t block = self.start[up * self.q + down]
        while self.blocks[block] != place - place % 4:
            block += 1
        self.add(Pair(row, place, up, down, 4 * block + place % 4, 0.0), alpha)

    def multipliers(self):
        """The active pairs as rows, relevant labels, irrelevant labels, and their α."""
        pairs = np.asarray(self.active)[: self.n_active]
        ridge, weight = np.take(self.ridge, pairs["index"]), np.take(self.weight, pairs["row"])
        return pairs["row"], pairs["up"], pairs["down"], self.scale * ridge * weight

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

    def restart(self, const double[:, ::1] scores, double value):
        """Take the scores (m × q) and W of the current multipliers, computed anew."""
        cdef Py_ssize_t group, place, k
        for place in range(len(self.rows)):
            for k in range(self.q):
                self.scores[k, place] = scores[self.rows[place], k]
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

    def climb(self, const double[:, ::1] matrix, Py_ssize_t n, double relaxation):
        """Do up to n steps from α = 0 on that raise Σα − W(α), α not bound to a sum of 1.

        Each gives the pair of smallest derivative a multiple, below 2, of what is best for it:
        (1 − g)/Θ_ii.
        """
        cdef Py_ssize_t done = 0
        cdef double theta, length
        with nogil:
            while done < n:
                self.find_vertex()
                self.stalled = not self.best.slope < 1.0
                if self.stalled:
                    break
                theta = self.own_curvature()
                length = relaxation * (1.0 - self.best.slope) / theta
                self.value = self.value + length * (self.best.slope + 0.5 * length * theta)
                self.total = self.total + length
                self.squares = self.squares + length * (
                    2.0 * self.ridge[self.best.index] + length / self.weight[self.best.row]
                )
                self.add(self.best, length)
                self.spread(self.best, &matrix[self.best.row, 0], length)
                done += 1
        return done

    def current_scores(self):
        """Scores (m × q) as the steps have left them; zero for rows without pairs."""
        cdef double[:, ::1] result = np.zeros((self.m, self.q))
        cdef Py_ssize_t place, k
        for k in range(self.q):
            for place in range(len(self.rows)):
                result[self.rows[place], k] = self.scale * self.scores[k, place]
        return np.asarray(result)

    cdef inline double own_curvature(self) noexcept nogil:
        """Θ_ii of the best pair."""
        return 2.0 * self.diagonal[self.best.row] + 1.0 / self.weight[self.best.row]

    cdef void find_vertex(self) noexcept nogil:
        """Look first where the bound is smallest, then wherever it is below the best so far."""
        cdef Py_ssize_t n = self.q * self.q, group, winner
        cdef double smallest, found
        cdef double* bound = &self.bound[0]
        # the first that is not above the smallest
        winner = next_below(bound, 0, n, nextafter(least_of(bound, n), INFINITY))
        bound[winner] = smallest = self.group_slope(winner)
        group = next_below(bound, 0, n, smallest)
        while group < n:
            bound[group] = found = self.group_slope(group)
            if found < smallest:
                smallest = found
                winner = group
            group = next_below(bound, group + 1, n, smallest)
        self.identify(winner, smallest)

    cdef inline double group_slope(self, Py_ssize_t group) noexcept nogil:
        cdef Py_ssize_t begin = self.start[group]
        return smallest_slope(
            &self.scores[self.ups[group], 0], &self.scores[self.downs[group], 0],
            &self.ridge[4 * begin], &self.blocks[begin], self.start[group + 1] - begin,
        )

    cdef void identify(self, Py_ssize_t group, double slope) noexcept nogil:
        """Which pair of the group has its smallest derivative."""
        cdef int up = self.ups[group], down = self.downs[group]
        cdef Py_ssize_t begin = self.start[group]
        cdef Py_ssize_t at = find_slope(
            &self.scores[up, 0], &self.scores[down, 0], &self.ridge[4 * begin],
            &self.blocks[begin], self.start[group + 1] - begin, slope,
        )
        cdef int place = <int> (self.blocks[begin + at // 4] + at % 4)
        self.best = Pair(self.rows[place], place, up, down, 4 * begin + at, slope)

    cdef void find_away(self) noexcept nogil:
        cdef Py_ssize_t a
        cdef Pair* pair
        cdef double largest = -INFINITY
        for a in range(self.n_active):
            pair = &self.active[a]
            pair.slope = (
                self.scores[pair.up, pair.place] - self.scores[pair.down, pair.place]
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
        cdef double theta = self.own_curvature()
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
            &self.scores[up, 0], &self.scores[down, 0], column, &self.rows[0], length, self.shift,
            self.rows.shape[0],
        )
        for k in range(q):
            bound[up * q + k] += length * least
            bound[k * q + down] += length * least
            bound[down * q + k] -= length * most
            bound[k * q + up] -= length * most

    cdef void find_extremes(self, Py_ssize_t i, const double* column) noexcept nogil:
        cdef double least, most, other_least, other_most
        extremes(column, i, &least, &most)
        extremes(column + i + 1, self.m - i - 1, &other_least, &other_most)
        self.lowest[i] = self.shift + min(column[i], min(least, other_least))
        self.highest[i] = self.shift + max(most, other_most)

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
            for i in range(self.rows.shape[0]):
                self.scores[k, i] *= self.scale
        for k in range(self.q * self.q):
            self.bound[k] *= self.scale
        self.scale = 1.0
