"""Newton directions of mcODM: solutions of (I + Σ_i x_i x_iᵀ ⊗ H_i) Δ = R.

Few equations are solved directly. Otherwise conjugate gradients need nothing but products of X, or
of a kernel matrix, with vectors; where features are not too many, each class has a factored block
as preconditioner, and a handful of steps suffice.
"""

import itertools
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, get_blas_funcs

from ..problems._class_smoothing import (
    add_rank_ones,
    apply_curvature,
    curvature,
    curvature_diagonal,
)
from .multiclass import SMALL

# Equations are solved directly for at most this many weights, and set up row by row for at most
# this many features.
DIRECT = 1500
FEW_FEATURES = 32
# Features, and entries of all classes' blocks, at most, for which conjugate gradients have a
# preconditioner; the trace of the blocks and the steps up to which all of this is in single
# precision.
MOST_FEATURES = 1500
MOST_ENTRIES = 2**26
MOST_SINGLE = 1e10
SINGLE_STEPS = 60
# Rows per feature below which a problem with more weights than DIRECT is left to dual descent.
ROWS_PER_FEATURE = 4
# Conjugate gradients: the relative residual that is asked for without a preconditioner, and with
# one until the gap is small and after; steps at most.
PLAIN = 1e-4
ROUGH = 0.1
FINE = 0.01
MOST_STEPS = 500
# Numbers of the rows that one product takes: these stay in the cache.
ENTRIES_PER_CALL = 2**17
# Second derivatives held at a time.
TRIPLES = 1_000_000


def suits_descent(shape, n_classes):
    """Whether a linear problem with X of this shape is better left to dual descent."""
    m, d = shape
    many = d * n_classes > DIRECT and (m < ROWS_PER_FEATURE * d or not few_features(d, n_classes))
    return m > SMALL and (d > m or many)


def few_features(n_features, n_classes):
    """Whether the blocks of ``ClassBlocks`` are small enough."""
    return n_features <= MOST_FEATURES and n_features**2 * n_classes <= MOST_ENTRIES


def newton_direction(rows, blocks, smoothing, residual, near, enough, missing):
    """Δ and its scores.

    Parameters
    ----------
    rows : LinearRows or KernelRows
    blocks : Blocks
        After ``smooth_step``.
    smoothing : float
    residual : ndarray
        R, of the shape of the weights.
    near : bool
        Whether the gap is small, so that precision pays.
    enough : float
        Squared residual, in the norm of the preconditioner, that is small enough in any case.
    missing : float
        Half the squared residual that the certificate can do with: it misses that much. A
        preconditioner's norm may be smaller by orders of magnitude.
    """
    if not rows.is_kernel and residual.size <= DIRECT:
        direction = direct_solution(rows, blocks, smoothing, residual)
        return direction, rows.scores(direction)
    if rows.is_kernel or not few_features(*residual.shape):
        system = System(rows, blocks, smoothing, np.array)
        # residuals have the norm of the weights, and are smaller than the certificate needs
        return system.solve(residual, PLAIN, enough, np.inf, MOST_STEPS)[:2]
    bends = np.empty((len(blocks.label), residual.shape[1]), dtype=np.float32)
    curvature_diagonal(blocks, smoothing, bends)
    limits = FINE if near else ROUGH, enough, missing
    if np.max(np.asarray(blocks.diagonal) @ bends) <= MOST_SINGLE:
        single = rows.single
        with suppress(np.linalg.LinAlgError):
            system = System(single, blocks, smoothing, ClassBlocks(single, bends, np.float32))
            direction, change, solved = system.solve(residual, *limits, SINGLE_STEPS)
            if solved:
                return direction, change if single is rows else rows.scores(direction)
    system = System(rows, blocks, smoothing, ClassBlocks(rows, bends, np.float64))
    return system.solve(residual, *limits, MOST_STEPS)[:2]


class System(NamedTuple):
    """Newton's equations (I + Xᵀ H X) Δ = R.

    With a kernel the unknowns are coefficients, Δ + H K Δ = R, and inner products are those of the
    weights: every step costs one product with K.
    """

    rows: Any
    blocks: Any
    smoothing: float
    precondition: Callable

    def solve(self, residual, precision, enough, missing, most_steps):
        """Conjugate gradients; returns Δ, its scores, and whether it is as precise as asked for.

        The squared residual in the norm of the preconditioner is to fall by the square of
        ``precision``, or below ``enough``, and half of it in the norm of the weights below
        ``missing``.
        """
        rows, blocks = self.rows, self.blocks
        solution = np.zeros_like(residual)
        change = np.zeros((len(blocks.label), residual.shape[1]))
        bent = np.empty_like(change)
        rest, direction, direction_scores, square, least = residual.copy(), 0.0, 0.0, 1.0, 0.0
        for step in range(most_steps + 1):
            steepest = self.precondition(rest)
            steepest_scores = rows.scores(steepest)
            before, square = square, rows.inner(rest, steepest, steepest_scores)
            # without a preconditioner the scores are those of the residual itself
            solved = square <= least and 0.5 * rows.inner(rest, rest, steepest_scores) <= missing
            if solved or square <= 0.0:
                return solution, change, True
            if step == most_steps:
                break
            if step == 0:
                least = max(enough, precision**2 * square)
            share = square / before if step else 0.0
            direction = steepest + share * direction
            direction_scores = steepest_scores + share * direction_scores
            apply_curvature(blocks, direction_scores, self.smoothing, bent)
            image = direction + rows.combine(bent)
            length = square / rows.inner(image, direction, direction_scores)
            solution += length * direction
            change += length * direction_scores
            rest -= length * image
        return solution, change, False


class ClassBlocks:
    """Preconditioner: the blocks I + Σ_i H_i,ll x_i x_iᵀ of Newton's equations, class by class.

    What it leaves out couples different classes. All weights are changed by vectors that add up to
    zero over the classes, and so are the solutions.

    Parameters
    ----------
    rows : LinearRows or SingleRows
    bends : ndarray of shape (n_rows, n_classes)
        The diagonals of H.
    precision : dtype
    """

    def __init__(self, rows, bends, precision):
        self.used, self.precision = rows.used, precision
        self.factors = [self._factor(rows, bend) for bend in bends.T]

    def _factor(self, rows, bend):
        matrix = np.eye(rows.n_used, dtype=self.precision, order="F")
        bent = np.flatnonzero(bend)
        matrix = add_gram(matrix, rows, bent, bend[bent])
        return cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)[0]

    def __call__(self, residual):
        R = np.asfortranarray(residual[self.used], dtype=self.precision)
        # five times as fast as cho_solve, which is made for many columns
        (trsv,) = get_blas_funcs(("trsv",), (R,))
        for label, factor in enumerate(self.factors):
            half = trsv(factor, R[:, label], lower=True)
            R[:, label] = trsv(factor, half, lower=True, trans=True, overwrite_x=True)
        result = np.zeros_like(residual)
        result[self.used] = R - R.mean(axis=1, keepdims=True)
        return result


def direct_solution(rows, blocks, smoothing, residual):
    """Solve (I + Σ x xᵀ ⊗ H) Δ = residual."""
    size, k = residual.shape
    H = np.zeros((k, size, k, size))
    room = TRIPLES + (k + 1) ** 2
    row, pair, value = np.empty(room, np.intp), np.empty(room, np.intp), np.empty(room)
    start, m = 0, len(blocks.label)
    add = row_by_row(rows, k, m) if size <= FEW_FEATURES else partial(pair_by_pair, rows)
    while start < m:
        start, n = curvature(blocks, smoothing, start, row, pair, value)
        add(H, row[:n], pair[:n], value[:n])
    H = H.reshape(k * size, k * size)
    H.flat[:: k * size + 1] += 1.0
    factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    # H is ordered class by class
    return cho_solve(factor, residual.T.ravel(), check_finite=False).reshape(k, size).T.copy()


def row_by_row(rows, k, m):
    """What adds triples to the lower half of H for few features, where products are too small."""
    X = rows.dense(np.arange(m), np.float64)
    grams = np.zeros((k * k, X.shape[1], X.shape[1]))
    return lambda H, row, pair, value: add_rank_ones(H, X, row, pair, value, grams)


def pair_by_pair(rows, H, row, pair, value):
    """Add the triples to the lower half of H, many rows of a pair of classes in one product."""
    k, size = H.shape[:2]
    # short integers have a radix sort
    order = np.argsort(pair.astype(np.int16) if k * k < 2**15 else pair, kind="stable")
    ordered = pair[order]
    ends = np.flatnonzero(np.diff(ordered, prepend=-1, append=-1))
    for start, end in itertools.pairwise(ends):
        p, q = divmod(ordered[start], k)
        members = order[start:end]
        lower = add_gram(np.zeros((size, size), order="F"), rows, row[members], value[members])
        gram = lower + np.tril(lower, -1).T
        H[p, :, p, :] += gram
        H[q, :, q, :] += gram
        H[p, :, q, :] -= gram


def add_gram(matrix, rows, index, weight):
    """Add Σ w x xᵀ over some rows to the lower half of a matrix, in its precision; w ≥ 0."""
    (syrk,) = get_blas_funcs(("syrk",), (matrix,))
    step = max(1, ENTRIES_PER_CALL // len(matrix))
    for start in range(0, len(index), step):
        part = slice(start, start + step)
        X = rows.dense(index[part], matrix.dtype)
        X *= np.sqrt(weight[part, None])
        matrix = syrk(1.0, X.T, beta=1.0, c=matrix, lower=True, overwrite_c=True)
    return matrix
