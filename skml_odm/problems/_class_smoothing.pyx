"""The smooth loss of Newton's method for mcODM, and its derivatives.

Each row's loss is replaced by min_z loss(z) + ‖z − f + σA‖²/2σ at its scores f, σ = smoothing/c and
A some coefficients of the row: a block of ``_multiclass`` with σ in place of κ, whatever the
features. The coefficients of its solution are the gradient's, but for the sign.

The gradient is piecewise affine. With S the classes of positive ζ (the rival r is not among them
where β > 0), n = |S|, and share = cμ/(1 + 2σcμ) where β > 0, else 0, changes of scores f change

    a by g (Σ_S f − n·start),  start = (1 − s) f_y + s f_r,  s = σ·share,  g = 1/(σ + n·slope),
    ζ_l by (f_l − start − slope·a)/σ,  slope = σ(1 − s) + 1/c,        β by share (f_y − f_r + σa).

Rivals are moving ones throughout.
"""

from skml_odm.problems._classes cimport Blocks, solve
from skml_odm.utils._panel cimport add_multiple


cdef struct Piece:
    # where a row is, and the numbers that its derivatives are made of
    Py_ssize_t y
    Py_ssize_t r
    Py_ssize_t n
    double c
    double sigma
    double share
    double s
    double slope
    double g


cdef Piece piece(Blocks blocks, Py_ssize_t i, double smoothing) noexcept nogil:
    """The piece that row i is on after ``smooth_step``; lists S in ``blocks.kept``."""
    cdef Piece found
    cdef const double* A = &blocks.coefficients[i, 0]
    cdef double beta = blocks.over[i], zeta, over
    cdef Py_ssize_t j
    found.y = blocks.label[i]
    found.r = blocks.rival[i]
    found.n = 0
    found.c = blocks.weight[i]
    found.sigma = smoothing / found.c
    over = found.c * blocks.shape.mu
    found.share = over / (1.0 + 2.0 * found.sigma * over) if beta > 0.0 else 0.0
    for j in range(blocks.k):
        zeta = -A[j] + (beta if j == found.r else 0.0)
        if j != found.y and zeta > 0.0 and not (j == found.r and beta > 0.0):
            blocks.kept[found.n] = j
            found.n += 1
    found.s = found.sigma * found.share
    found.slope = found.sigma * (1.0 - found.s) + 1.0 / found.c
    found.g = 1.0 / (found.sigma + found.n * found.slope)
    return found


cdef inline double change_of_sum(
    const Piece* at, const double* f, const Py_ssize_t* kept, double* start,
) noexcept nogil:
    """The change of a, and of what the scores of S are compared with."""
    cdef Py_ssize_t j
    cdef double total = 0.0
    for j in range(at.n):
        total += f[kept[j]]
    start[0] = (1.0 - at.s) * f[at.y] + at.s * f[at.r]
    return (total - at.n * start[0]) * at.g


def smooth_step(
    Blocks blocks, const double[:, ::1] scores, const double[:, ::1] centre, double smoothing,
    bint keep=True,
):
    """The sum of the smooth losses around the coefficients ``centre``.

    If ``keep``, the blocks get the coefficients of the minimisers.
    """
    cdef Py_ssize_t i, j, k = blocks.k, y
    cdef double* f = &blocks.room[0]
    cdef double* A = f + k
    cdef double total = 0.0, sigma, c, beta, a, over
    with nogil:
        for i in range(scores.shape[0]):
            c = blocks.weight[i]
            sigma = smoothing / c
            over = c * blocks.shape.mu
            y = blocks.label[i]
            for j in range(k):
                f[j] = scores[i, j] - sigma * centre[i, j]
            beta = solve(
                f, k, y, blocks.rival[i], blocks.level[i], sigma, c, blocks.shape, A,
                &blocks.kept[0],
            )
            # the loss at its minimiser by its derivatives: a²/2c + β²/2cμ
            a = A[y] + beta
            total += 0.5 * a * a / c
            if over > 0.0:
                total += 0.5 * beta * beta / over
            for j in range(k):
                total += 0.5 * sigma * A[j] * A[j]
            if keep:
                blocks.over[i] = beta
                for j in range(k):
                    blocks.coefficients[i, j] = A[j]
    return total


def extrapolate(Blocks blocks, const double[:, ::1] change, double smoothing):
    """Follow ``smooth_step`` to first order as scores change, but keep ζ and β feasible."""
    cdef Py_ssize_t i, j
    cdef const Py_ssize_t* kept = &blocks.kept[0]
    cdef double* A
    cdef const double* f
    cdef double beta, zeta, start = 0.0, a, total
    cdef Piece at
    with nogil:
        for i in range(change.shape[0]):
            at = piece(blocks, i, smoothing)
            A = &blocks.coefficients[i, 0]
            f = &change[i, 0]
            a = change_of_sum(&at, f, kept, &start)
            beta = blocks.over[i]
            A[at.r] -= beta
            total = 0.0
            for j in range(at.n):
                zeta = -A[kept[j]] + (f[kept[j]] - start - at.slope * a) / at.sigma
                zeta = zeta if zeta > 0.0 else 0.0
                A[kept[j]] = -zeta
                total += zeta
            if beta > 0.0:
                beta += at.share * (f[at.y] - f[at.r] + at.sigma * a)
                beta = beta if beta > 0.0 else 0.0
            blocks.over[i] = beta
            A[at.y] = total - beta
            A[at.r] += beta


def apply_curvature(
    Blocks blocks, const double[:, ::1] change, double smoothing, double[:, ::1] result,
):
    """H times a change of scores, H the second derivatives of every row where it is."""
    cdef Py_ssize_t i, j
    cdef const Py_ssize_t* kept = &blocks.kept[0]
    cdef double* out
    cdef const double* f
    cdef double beta, start = 0.0, a
    cdef Piece at
    with nogil:
        for i in range(change.shape[0]):
            at = piece(blocks, i, smoothing)
            f = &change[i, 0]
            out = &result[i, 0]
            for j in range(blocks.k):
                out[j] = 0.0
            if at.n == 0 and at.share == 0.0:
                continue
            a = change_of_sum(&at, f, kept, &start)
            beta = at.share * (f[at.y] - f[at.r] + at.sigma * a)
            for j in range(at.n):
                out[kept[j]] = (f[kept[j]] - start - at.slope * a) / at.sigma
            out[at.y] = beta - a
            out[at.r] -= beta


def curvature_diagonal(Blocks blocks, double smoothing, double[:, ::1] result):
    """The diagonals of H (rows × classes)."""
    cdef Py_ssize_t i, j
    cdef double both
    cdef Piece at
    with nogil:
        for i in range(result.shape[0]):
            at = piece(blocks, i, smoothing)
            for j in range(blocks.k):
                result[i, j] = 0.0
            # what y and r owe to β
            both = at.share - at.n * at.g * (1.0 - at.s) * at.s
            for j in range(at.n):
                result[i, blocks.kept[j]] = at.g * (1.0 + (at.n - 1) * at.slope / at.sigma)
            result[i, at.y] = at.n * (1.0 - at.s) * at.g + both
            if at.share > 0.0:
                result[i, at.r] = at.n * at.s * at.g + both


def add_curvature(
    Blocks blocks, double smoothing, const double[:, ::1] X, Py_ssize_t first,
    double[:, :, :, ::1] grams,
):
    """Add w x xᵀ to the lower halves of the matrices of pairs of classes, for rows X.

    X begins with row ``first``. H of a row is the sum of w (e_p − e_q)(e_p − e_q)ᵀ over few pairs
    (p, q), for the loss knows only differences of scores.
    """
    cdef Py_ssize_t i, j, q
    cdef const Py_ssize_t* kept = &blocks.kept[0]
    cdef Piece at
    with nogil:
        for i in range(X.shape[0]):
            at = piece(blocks, first + i, smoothing)
            for j in range(at.n):
                for q in range(j):
                    add_square(grams, kept[j], kept[q], at.slope * at.g / at.sigma, X, i)
                add_square(grams, kept[j], at.y, (1.0 - at.s) * at.g, X, i)
                if at.s > 0.0:
                    add_square(grams, kept[j], at.r, at.s * at.g, X, i)
            if at.share > 0.0:
                add_square(
                    grams, at.y, at.r, at.share - at.n * at.g * (1.0 - at.s) * at.s, X, i
                )


cdef inline void add_square(
    double[:, :, :, ::1] grams, Py_ssize_t p, Py_ssize_t q, double weight,
    const double[:, ::1] X, Py_ssize_t i,
) noexcept nogil:
    """Add w x xᵀ to the lower half of the matrix of a pair."""
    cdef Py_ssize_t j
    for j in range(X.shape[1]):
        add_multiple(&grams[p, q, j, 0], &X[i, 0], weight * X[i, j], j + 1)
