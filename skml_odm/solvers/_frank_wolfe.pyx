"""Frank-Wolfe steps on the simplex of label pairs (paper 003, Section 7).

    min_α  W(α) = ½ αᵀΘα,   α ≥ 0, Σα = 1,        Θ = HᵀH ∘ K + diag(1/c_i)

A pair (i, k, l) has the derivative g = f_ik − f_il + α_ikl/c_i, F = K A the scores of the
coefficients A = Hα. A step moves weight λ to the pair of smallest g: all the paper's gradient
vector over Σ|Y||N| pairs needs is two columns of F, which change by ±λ K_:i.

F is stored label by label. Scores, α and gradients share a lazy factor, ``scale``, which takes the
(1 − λ) of every step. For each row a lower bound of its smallest g is carried along: a step lowers
no g of row j by more than λ(|K_ij| + K_ij(y_jl − y_jk)), y the 0/1 relevance. A row is looked at
only if its bound is below the best pair so far, so the pair found is exactly the best. That spares
few rows while steps are long: with K + 1 a step lowers the bounds of all rows at once.
"""

from libc.math cimport INFINITY, fabs
import numpy as np

# Steps of length 1 would lose all that is known; exact arithmetic has none.
cdef double LONGEST = 1.0 - 1e-6

# The lazy factor is multiplied out before it underflows.
cdef double SMALLEST_SCALE = 1e-50

# A step that lowers W by less than this share of it is rounding.
cdef double NEGLIGIBLE = 1e-17


cdef struct Pair:
    # Instance, its relevant and irrelevant label, and where its multiplier stands.
    Py_ssize_t row, up, down, index
    # its derivative, in stored units
    double slope


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


cdef void lower_bounds(
    double* bound, const double* relevant_up, const double* relevant_down,
    const double* column, double shift, double step, Py_ssize_t n,
) noexcept nogil:
    """Subtract from every row's bound the most that one of its gradients may have fallen."""
    cdef Py_ssize_t j
    cdef double change
    for j in range(n):
        change = step * (column[j] + shift)
        bound[j] -= fabs(change) + change * (relevant_down[j] - relevant_up[j])


cdef class Iterate:
    """A point α of the simplex with its scores, and the steps that improve it.

    Parameters
    ----------
    order, n_relevant, weight, first
        Each row's labels, relevant ones first; how many those are; c_i (zero for a row that takes
        no part); where its multipliers begin, pair by pair.
    relevant : ndarray of shape (q, m)
        Relevance as 0.0 and 1.0.
    diagonal : ndarray of shape (m,)
        The diagonal of K, intercept included.
    shift : float
        What the intercept adds to every kernel value.
    pairwise : bool
        Take weight from the active pair of largest derivative, not from all in proportion.
    """

    cdef const int[:, ::1] order
    cdef const int[::1] n_relevant
    cdef const double[::1] weight
    cdef const long long[::1] first
    cdef const double[:, ::1] relevant
    cdef const double[::1] diagonal
    cdef double shift
    cdef bint pairwise
    cdef Py_ssize_t m, q
    # α/c of all pairs; pairs where it is positive; how many of them each row has
    cdef double[::1] ridge
    cdef long long[::1] active
    cdef int[::1] active_row
    cdef int[::1] n_active
    cdef Py_ssize_t n_in_use
    cdef double[:, ::1] scores
    cdef double[::1] bound
    cdef double[::1] row_scores
    cdef double scale
    cdef Py_ssize_t guess
    cdef Pair best
    cdef Pair away
    cdef Py_ssize_t away_position
    cdef readonly double value
    """W(α), followed through the steps since ``restart``."""
    cdef readonly bint stalled
    """Whether the last step found nothing to gain."""

    def __init__(
        self, order, n_relevant, weight, first, relevant, diagonal, shift, pairwise, n_pairs,
    ):
        self.order, self.n_relevant, self.weight = order, n_relevant, weight
        self.first, self.relevant, self.diagonal = first, relevant, diagonal
        self.shift, self.pairwise = shift, pairwise
        self.m, self.q = order.shape
        # pages that no active pair touches never take memory
        self.ridge = np.zeros(n_pairs)
        self.active = np.empty(n_pairs, dtype=np.int64)
        self.active_row = np.empty(n_pairs, dtype=np.int32)
        self.n_active = np.zeros(self.m, dtype=np.int32)
        self.n_in_use = 0
        self.scores = np.zeros((self.q, self.m))
        self.bound = np.full(self.m, INFINITY)
        self.row_scores = np.empty(self.q)
        self.scale = 1.0
        self.guess = -1
        self.stalled = False

    def put(self, Py_ssize_t row, Py_ssize_t index, double alpha):
        """Give a pair that has none a multiplier; call ``restart`` afterwards."""
        self.add(row, index, alpha)

    def multipliers(self):
        """α of all pairs, row by row."""
        counts = np.diff(np.append(self.first, self.ridge.shape[0]))
        return self.scale * np.asarray(self.ridge) * np.repeat(self.weight, counts)

    def coefficients(self):
        """A (m × q) of the multipliers, which are made to sum to 1 exactly; and Σ α²/c."""
        cdef double[:, ::1] result = np.zeros((self.m, self.q))
        cdef Py_ssize_t a, i, p, s, at
        cdef double total = 0.0, squares = 0.0, alpha
        for a in range(self.n_in_use):
            total += self.ridge[self.active[a]] * self.weight[self.active_row[a]]
        for a in range(self.n_in_use - 1, -1, -1):
            at = self.active[a]
            i = self.active_row[a]
            p = self.n_relevant[i]
            s = self.q - p
            self.ridge[at] /= total
            if self.ridge[at] == 0.0:
                self.drop(a)
                continue
            alpha = self.ridge[at] * self.weight[i]
            squares += alpha * self.ridge[at]
            at -= self.first[i]
            result[i, self.order[i, at // s]] += alpha
            result[i, self.order[i, p + at % s]] -= alpha
        return np.asarray(result), squares

    def restart(self, double[:, ::1] scores, double value):
        """Take the scores (q × m) and W of the current multipliers, computed anew."""
        cdef Py_ssize_t i
        self.scores = scores
        self.value = value
        self.scale = 1.0
        self.stalled = False
        for i in range(self.m):
            if self.weight[i] > 0.0:
                self.bound[i] = -INFINITY

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
        cdef Py_ssize_t i, guess = self.guess, row = -1, second = -1
        cdef double smallest = INFINITY, found
        cdef double* bound = &self.bound[0]
        if guess >= 0:
            smallest = bound[guess] = self.smallest_slope(guess, INFINITY)
            row = guess
        for i in range(self.m):
            if bound[i] < smallest:
                bound[i] = found = self.smallest_slope(i, smallest)
                if found < smallest:
                    smallest = found
                    second = row
                    row = i
        # the runner-up often is the next vertex
        self.guess = second
        self.best.row = row
        self.best.slope = smallest
        self.identify(row)

    cdef double smallest_slope(self, Py_ssize_t i, double enough) noexcept nogil:
        """The row's smallest derivative, or a lower bound of it that is at least ``enough``."""
        cdef Py_ssize_t p = self.n_relevant[i], s = self.q - p, m = self.m, k, other
        cdef double low = INFINITY, high = -INFINITY, nearest, smallest
        cdef double* f = &self.row_scores[0]
        cdef double* v = f + p
        cdef const int* order = &self.order[i, 0]
        cdef const double* scores = &self.scores[0, i]
        cdef const double* ridge
        for k in range(p):
            f[k] = scores[order[k] * m]
            low = min(low, f[k])
        for other in range(s):
            v[other] = scores[order[p + other] * m]
            high = max(high, v[other])
        if self.n_active[i] == 0 or low - high >= enough:
            return low - high
        ridge = &self.ridge[self.first[i]]
        smallest = INFINITY
        for k in range(p):
            if f[k] - high >= smallest:
                continue
            nearest = INFINITY
            for other in range(s):
                nearest = min(nearest, ridge[k * s + other] - v[other])
            smallest = min(smallest, f[k] + nearest)
        return smallest

    cdef void identify(self, Py_ssize_t i) noexcept nogil:
        """Which pair of the row has its smallest derivative."""
        cdef Py_ssize_t p = self.n_relevant[i], s = self.q - p, k, other, index
        cdef double slope, smallest = INFINITY
        for k in range(p):
            for other in range(s):
                index = self.first[i] + k * s + other
                slope = (
                    self.scores[self.order[i, k], i] - self.scores[self.order[i, p + other], i]
                    + (self.ridge[index] if self.n_active[i] > 0 else 0.0)
                )
                if slope < smallest:
                    smallest = slope
                    self.best.up = self.order[i, k]
                    self.best.down = self.order[i, p + other]
                    self.best.index = index

    cdef void find_away(self) noexcept nogil:
        cdef Py_ssize_t a, i, p, s, at, up, down
        cdef double slope, largest = -INFINITY
        for a in range(self.n_in_use):
            i = self.active_row[a]
            p = self.n_relevant[i]
            s = self.q - p
            at = self.active[a] - self.first[i]
            up = self.order[i, at // s]
            down = self.order[i, p + at % s]
            slope = (
                self.scores[up, i] - self.scores[down, i]
                + self.ridge[self.active[a]]
            )
            if slope > largest:
                largest = slope
                self.away_position = a
                self.away.row = i
                self.away.up = up
                self.away.down = down
                self.away.index = self.active[a]
                self.away.slope = slope

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
        self.add(self.best.row, self.best.index, length / self.scale)
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
        self.add(to.row, to.index, length)
        self.spread(to, column, length)
        self.spread(source, away_column, -length)
        # the source's α has fallen, and with it its own derivative
        self.bound[source.row] -= length / self.weight[source.row]

    cdef void spread(self, Pair pair, const double* column, double length) noexcept nogil:
        """Scores and bounds after the pair's multiplier has grown by ``length``."""
        cdef Py_ssize_t up = pair.up, down = pair.down
        if length < 0.0:
            up, down, length = down, up, -length
        shift_scores(
            &self.scores[up, 0], &self.scores[down, 0], column, self.shift, length, self.m
        )
        lower_bounds(
            &self.bound[0], &self.relevant[up, 0], &self.relevant[down, 0],
            column, self.shift, length, self.m,
        )

    cdef void add(self, Py_ssize_t row, Py_ssize_t index, double alpha) noexcept nogil:
        if self.ridge[index] == 0.0:
            self.active[self.n_in_use] = index
            self.active_row[self.n_in_use] = <int> row
            self.n_in_use = self.n_in_use + 1
            self.n_active[row] += 1
        self.ridge[index] += alpha / self.weight[row]

    cdef void drop(self, Py_ssize_t position) noexcept nogil:
        self.n_in_use = self.n_in_use - 1
        self.ridge[self.active[position]] = 0.0
        self.n_active[self.active_row[position]] -= 1
        self.active[position] = self.active[self.n_in_use]
        self.active_row[position] = self.active_row[self.n_in_use]

    cdef void multiply_out(self) noexcept nogil:
        cdef Py_ssize_t a, k, i
        for a in range(self.n_in_use - 1, -1, -1):
            self.ridge[self.active[a]] *= self.scale
            if self.ridge[self.active[a]] == 0.0:
                self.drop(a)
        for k in range(self.q):
            for i in range(self.m):
                self.scores[k, i] *= self.scale
        for i in range(self.m):
            self.bound[i] *= self.scale
        self.scale = 1.0
