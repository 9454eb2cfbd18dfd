"""Exact block steps of dual block coordinate descent for mcODM, one block per instance.

With the class y of the instance, its scores f and c its weight, the convex problem that an outer
iteration solves has the loss

    ½c (lower − f_y + max_{l≠y} f_l)₊²  +  ½cμ (f_y − rival − upper)₊²,

where the rival is the score f_r of a fixed class r ≠ y ("moving"), or a fixed number (paper 004).
Its multipliers are a vector ζ ≥ 0 over the classes l ≠ y, and β ≥ 0. The coefficients A of the
instance are A_l = −ζ_l, A_y = Σζ − β, and A_r is larger by β where the rival moves. The dual is

    Σ_i [ lower·Σζ − upper·β − (Σζ)²/2c − β²/2cμ ] − ½⟨A, K A⟩        (− rival·β where it is fixed).

Block i, all others fixed, is the proximal step  min_f ‖f − f⁰‖²/2κ + loss(f),  f⁰ = F_i − κ A_i,
κ = K_ii. With t = max_{l≠y} f_l and a = Σζ = c (lower − f_y + t)₊ its solution has

    f_l = min(f⁰_l, t),   ζ_l = (f⁰_l − t)₊/κ,   f_y = f⁰_y + κ(a − β),   f_r = f⁰_r + κ(β − ζ_r),

and β is an affine function of a where it is positive, so t = t₀ + s·a with known t₀ and s > 0:

    Σ_l (f⁰_l − t₀ − s·a)₊ = κ a.

The left side is convex and falls, so Newton's method from a = 0 rises to the root and ends there
after finitely many steps: the sums of a sorted list (paper 004, Eq. 24) without the sorting.
"""

import numpy as np

# Visits that a row may be spared after its block was found all but optimal.
cdef int LONGEST_REST = 7


cdef inline double root(
    const double* centre, Py_ssize_t* kept, Py_ssize_t n, double start, double slope, double kappa,
) noexcept nogil:
    """The a with Σ (centre − start − slope·a)₊ = κa over the kept classes; changes ``kept``."""
    cdef double a = 0.0, total, bar = start
    cdef Py_ssize_t j, left = n
    while True:
        n = left
        left = 0
        total = 0.0
        for j in range(n):
            if centre[kept[j]] > bar:
                kept[left] = kept[j]
                total += centre[kept[j]] - start
                left += 1
        if left == 0 or (left == n and bar > start):
            return a
        a = total / (kappa + left * slope)
        bar = start + slope * a


cdef double solve(
    const double* centre, Py_ssize_t k, Py_ssize_t y, Py_ssize_t r, double rival, double kappa,
    double c, Shape shape, double* A, Py_ssize_t* kept,
) noexcept nogil:
    """Fill in the optimal coefficients A of a block with the given centre f⁰; returns β."""
    cdef Py_ssize_t j, n, top = -1
    cdef double highest, top_other, excess, over = c * shape.mu, a = 0.0, beta, t, start, slope
    # κ as far as β moves the margin to the rival
    cdef double spread = (2.0 if shape.moving else 1.0) * kappa
    cdef double share = over / (1.0 + spread * over)
    if shape.moving:
        rival = centre[r]
    for j in range(k):
        A[j] = 0.0
        if j != y and (top < 0 or centre[j] > centre[top]):
            top = j
    highest = centre[top]
    excess = centre[y] - rival - shape.upper

    # a = 0?
    beta = share * excess if excess > 0.0 else 0.0
    top_other = highest
    if shape.moving and beta > 0.0:
        # the rival rises
        top_other = max(highest, centre[r] + kappa * beta)
    if shape.lower - (centre[y] - kappa * beta) + top_other <= 0.0:
        A[y] = -beta
        if shape.moving:
            A[r] = beta
        return beta

    # β = 0?
    start = centre[y] - shape.lower
    slope = kappa + 1.0 / c
    if kappa <= 0.0:
        # a row of zeros moves no score: any ζ with this sum will do
        a = c * (highest - start)
        beta = over * excess if excess > 0.0 else 0.0
        A[top] -= a
        A[y] = a - beta
        if shape.moving:
            A[r] += beta
        return beta
    n = 0
    for j in range(k):
        if j != y and centre[j] > start:
            kept[n] = j
            n += 1
    a = root(centre, kept, n, start, slope, kappa)
    t = start + slope * a
    beta = 0.0
    if shape.moving:
        rival = min(centre[r], t)
    if centre[y] + kappa * a - rival - shape.upper > 0.0 and over > 0.0:
        # Both are positive. A moving rival is then not among the highest: it has no ζ.
        start = centre[y] - kappa * share * excess - shape.lower
        slope = kappa * (1.0 - kappa * share) + 1.0 / c
        n = 0
        for j in range(k):
            if j != y and centre[j] > start and not (shape.moving and j == r):
                kept[n] = j
                n += 1
        a = root(centre, kept, n, start, slope, kappa)
        t = start + slope * a
        beta = share * (excess + kappa * a)
        beta = beta if beta > 0.0 else 0.0
        for j in range(k):
            if j != y and centre[j] > t and not (shape.moving and j == r):
                A[j] = (t - centre[j]) / kappa
        A[y] = a - beta
        if shape.moving:
            A[r] = beta
        return beta
    for j in range(k):
        if j != y and centre[j] > t:
            A[j] = (t - centre[j]) / kappa
    A[y] = a
    return 0.0


cdef inline double surplus(
    const double* f, const double* A, double beta, Py_ssize_t k, Py_ssize_t y, Py_ssize_t r,
    double rival, double c, Shape shape, double* loss,
) noexcept nogil:
    """What a row adds to the duality gap, a sum of terms ≥ 0; ``loss`` becomes its true loss."""
    cdef Py_ssize_t j
    cdef double highest, short_by, excess, a = A[y] + beta, over = c * shape.mu, gap, pull = 0.0
    cdef double margin
    highest = f[0] if y != 0 else f[1]
    for j in range(k):
        if j != y and f[j] > highest:
            highest = f[j]
    for j in range(k):
        pull += A[j] * (f[j] - highest)
    pull -= A[y] * (f[y] - highest)
    if shape.moving:
        rival = f[r]
        pull -= beta * (rival - highest)
    margin = f[y] - highest
    short_by = shape.lower - margin
    excess = margin - shape.upper
    loss[0] = 0.0
    if short_by > 0.0:
        loss[0] = 0.5 * c * short_by * short_by
    if excess > 0.0:
        loss[0] += 0.5 * over * excess * excess
    # ζ_l (max f − f_l), then what a and β lack to be the derivatives at f
    gap = pull
    if short_by > 0.0:
        gap += 0.5 * (a - c * short_by) * (a - c * short_by) / c
    else:
        gap += 0.5 * a * a / c - a * short_by
    excess = f[y] - rival - shape.upper
    if over > 0.0:
        if excess > 0.0:
            gap += 0.5 * (beta - over * excess) * (beta - over * excess) / over
        else:
            gap += 0.5 * beta * beta / over - beta * excess
    return gap


cdef class Blocks:
    """The dual variables of all rows, and what their blocks need to know but the features.

    Parameters
    ----------
    label : (m,) of int32
        Class numbers.
    weight : (m,)
        c; positive.
    diagonal : (m,)
        κ.
    n_classes : int
    lower, upper, mu : float
    moving : bool
        Whether the rival is a class, and not a number.
    """

    def __init__(self, label, weight, diagonal, n_classes, lower, upper, mu, moving):
        m = len(label)
        self.label = label
        self.weight = weight
        self.diagonal = diagonal
        self.k = n_classes
        self.shape.lower = lower
        self.shape.upper = upper
        self.shape.mu = mu
        self.shape.moving = moving
        self.coefficients = np.zeros((m, n_classes))
        self.over = np.zeros(m)
        # any other class: to be set
        self.rival = np.where(np.asarray(label) == 0, 1, 0).astype(np.intc)
        self.level = np.zeros(m)
        self.rest = np.zeros(m, dtype=np.uint8)
        self.rested = np.zeros(m, dtype=np.uint8)
        self.room = np.zeros(2 * n_classes)
        self.kept = np.zeros(n_classes, dtype=np.intp)

    @property
    def lower(self):
        return self.shape.lower

    @property
    def upper(self):
        return self.shape.upper

    @property
    def mu(self):
        return self.shape.mu

    @mu.setter
    def mu(self, value):
        self.shape.mu = value

    def wake(self):
        """Let every row be visited again."""
        self.rest[:] = 0
        self.rested[:] = 0

    def certify(self, const double[:, ::1] scores):
        """True loss and duality gap of the rows, given their scores."""
        cdef Py_ssize_t i
        cdef double total = 0.0, gap = 0.0, loss = 0.0
        with nogil:
            for i in range(scores.shape[0]):
                gap += surplus(
                    &scores[i, 0], &self.coefficients[i, 0], self.over[i], self.k, self.label[i],
                    self.rival[i], self.level[i], self.weight[i], self.shape, &loss,
                )
                total += loss
        return total, gap

    def set_rivals(self, const double[:, ::1] scores):
        """Make each row's best other class its rival.

        Where a moving rival changes and β > 0, β is handed over to the new one.
        """
        cdef Py_ssize_t i, j, top, y
        with nogil:
            for i in range(scores.shape[0]):
                y = self.label[i]
                top = 1 if y == 0 else 0
                for j in range(self.k):
                    if j != y and scores[i, j] > scores[i, top]:
                        top = j
                self.level[i] = scores[i, top]
                if self.shape.moving:
                    self.coefficients[i, self.rival[i]] -= self.over[i]
                    self.coefficients[i, top] += self.over[i]
                self.rival[i] = <int>top

    cdef bint is_spared(self, Py_ssize_t i) noexcept nogil:
        """Whether a row is left out this time, because its block was all but optimal."""
        if not self.rest[i]:
            return False
        self.rest[i] -= 1
        return True

    cdef double visit(
        self, Py_ssize_t i, double* f, double* change, double negligible
    ) noexcept nogil:
        """Solve block i, whose scores are f; what its coefficients change by goes to ``change``.

        Returns the block's gap before; below ``negligible`` nothing is changed.
        """
        cdef Py_ssize_t j, k = self.k
        cdef double* A = &self.coefficients[i, 0]
        cdef double kappa = self.diagonal[i], loss = 0.0, gap
        gap = surplus(
            f, A, self.over[i], k, self.label[i], self.rival[i], self.level[i], self.weight[i],
            self.shape, &loss,
        )
        if gap <= negligible:
            self.rested[i] = min(2 * self.rested[i] + 1, LONGEST_REST)
            self.rest[i] = self.rested[i]
            for j in range(k):
                change[j] = 0.0
            return gap
        self.rested[i] = 0
        for j in range(k):
            f[j] -= kappa * A[j]
        self.over[i] = solve(
            f, k, self.label[i], self.rival[i], self.level[i], kappa, self.weight[i], self.shape,
            change, &self.kept[0],
        )
        for j in range(k):
            f[j] = change[j]
            change[j] -= A[j]
            A[j] = f[j]
        return gap


def solve_block(
    const double[::1] centre, Py_ssize_t label, Py_ssize_t rival, double level, double kappa,
    double weight, double lower, double upper, double mu, bint moving,
):
    """Coefficients and β of one block with the given centre f⁰."""
    cdef Py_ssize_t k = centre.shape[0]
    A = np.empty(k)
    cdef double[::1] coefficients = A
    cdef Py_ssize_t[::1] kept = np.empty(k, dtype=np.intp)
    cdef Shape shape
    shape.lower = lower
    shape.upper = upper
    shape.mu = mu
    shape.moving = moving
    beta = solve(
        &centre[0], k, label, rival, level, kappa, weight, shape, &coefficients[0], &kept[0]
    )
    return A, beta
