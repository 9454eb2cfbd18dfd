"""Labels = low rank + sparse, with a low-rank linear predictor of the low-rank part.

For features X (m × d) and labels Y (m × q) the problem is ::

    min over W, b, D   ½‖XW + 1bᵀ − D‖² + γ‖D‖_* + β‖Y − D‖₁ + η‖W‖_*

with sums of singular values ‖·‖_* and of absolute values ‖·‖₁, the latter over the known labels
alone. Its dual is ::

    max over A, B   −½‖A + B‖² − ⟨B, Y⟩
    ‖A‖₂ ≤ γ,  max|B| ≤ β,  ‖Xᵀ(A + B)‖₂ ≤ η,  1ᵀ(A + B) = 0 (if there is a b)

with B = 0 for unknown labels, and A + B = XW + 1bᵀ − D where both are optimal. W need not leave the
row space of the centred features: the solver works with coordinates P (m × r) of the rows in it,
for which PᵀP is diagonal.
"""

from dataclasses import dataclass

import numpy as np

from ..solvers.result import relative_gap
from ..utils.parallel import interruptible

# Iterations between two computations of the duality gap, which costs about as much as one of them.
CHECK_EVERY = 10

# Each iteration goes this much further than its plain version; 1.5 to 1.8 is the usual range.
OVER_RELAXATION = 1.6


@dataclass
class Decomposition:
    """A solved problem: W, b and D, with the value of the objective and a bound on its error."""

    weights: np.ndarray
    intercept: np.ndarray
    ground_truth: np.ndarray
    primal: float
    gap: float
    n_iter: int
    converged: bool


def shrink_singular_values(matrix, threshold):
    """argmin_Z threshold·‖Z‖_* + ½‖Z − matrix‖², and its ‖Z‖_*."""
    if matrix.shape[0] < matrix.shape[1]:
        shrunk, norm = shrink_singular_values(matrix.T, threshold)
        return shrunk.T, norm
    # the right singular vectors are enough: matrix · V diag(1 − threshold/σ) Vᵀ
    squares, V = np.linalg.eigh(matrix.T @ matrix)
    values = np.sqrt(np.maximum(squares, 0.0))
    kept = np.maximum(values - threshold, 0.0)
    ratio = np.divide(kept, values, out=np.zeros_like(kept), where=values > 0)
    return (matrix @ (V * ratio)) @ V.T, float(kept.sum())


def soft_threshold(matrix, threshold):
    """argmin_Z threshold·‖Z‖₁ + ½‖Z − matrix‖²."""
    return np.sign(matrix) * np.maximum(np.abs(matrix) - threshold, 0.0)


class RowSpace:
    """Coordinates P of the (centred) rows of X: the rows are P · directionsᵀ."""

    def __init__(self, X, center):
        m, d = X.shape
        self.mean = np.asarray(X.sum(axis=0)).ravel() / m if center else np.zeros(d)
        product = X.T @ X if d <= m else X @ X.T
        product = product.toarray() if hasattr(product, "toarray") else product
        if d <= m:
            product = product - m * np.outer(self.mean, self.mean)
        else:
            inner = X @ self.mean
            product = product - inner[:, None] - inner[None, :] + self.mean @ self.mean
        squares, vectors = interruptible(np.linalg.eigh, product)
        kept = squares > max(m, d) * np.finfo(np.float64).eps * max(squares[-1], 0.0)
        self.squares, vectors = squares[kept], vectors[:, kept]
        if d <= m:
            self.directions = vectors
            self.P = X @ vectors - self.mean @ vectors
        else:
            singular = np.sqrt(self.squares)
            self.directions = (X.T @ vectors - np.outer(self.mean, vectors.sum(axis=0))) / singular
            self.P = vectors * singular


def balanced(A, B, known):
    """A and B whose columns sum to zero together; B stays zero for unknown labels."""
    if known is None:
        return A, B - (A + B).mean(axis=0)
    number = known.sum(axis=0)
    A = A - np.where(number > 0, 0.0, A.mean(axis=0))
    return A, B - known * ((A + B).sum(axis=0) / np.maximum(number, 1))


def lower_bound(X, Y, A, B, gamma, beta, eta, center, known=None):
    """The largest dual value on the segment from 0 to (A, B), after B is made to balance A."""
    if gamma == 0:
        # what is left is rounding
        A = np.zeros_like(A)
    if center:
        A, B = balanced(A, B, known)
    both = A + B
    limits = [
        (gamma, np.linalg.norm(A, 2)),
        (beta, np.abs(B).max()),
        (eta, np.linalg.norm(X.T @ both, 2)),
    ]
    longest = min(limit / norm if norm > limit else 1.0 for limit, norm in limits)
    slope, curvature = -np.vdot(B, Y), np.vdot(both, both)
    step = min(max(slope, 0.0) / curvature, longest) if curvature > 0 else longest
    return step * slope - 0.5 * step**2 * curvature


def low_rank_sparse(X, Y, *, gamma, beta, eta, fit_intercept, tol, max_iter, known=None, verbose=0):
    """Solve the problem by the alternating direction method of multipliers.

    W and D have copies J = W, L = D and S = D. The coupled quadratic function of (W, b, D) is
    minimised exactly, then each copy by its proximal map, then the scaled multipliers follow.
    Scaled down far enough, the multipliers of L and S are a dual feasible point.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (m, d)
    Y : ndarray of shape (m, q)
        Zero for unknown labels.
    gamma, beta, eta : float
    fit_intercept : bool
    tol : float
        Relative duality gap to reach.
    max_iter : int
    known : ndarray of shape (m, q), bool, optional
        Which labels are known; all by default.
    verbose : int

    Returns
    -------
    Decomposition
    """
    space = RowSpace(X, fit_intercept)
    counted = 1.0 if known is None else known
    P, squares = space.P, space.squares[:, None]
    J, L, S = np.zeros((len(squares), Y.shape[1])), Y, Y
    of_J, of_L, of_S = np.zeros_like(J), np.zeros_like(Y), np.zeros_like(Y)
    penalty_D = 1.0
    penalty_W = max(float(squares.mean()) if len(squares) else 1.0, np.finfo(float).tiny)
    for n_iter in range(1, max_iter + 1):
        before = J, L, S
        # W, b, D ← argmin of the quadratic part; D is eliminated first
        wanted = 0.5 * (L - of_L + S - of_S)
        curvature = 2 * penalty_D / (1 + 2 * penalty_D)
        right = curvature * (P.T @ wanted) + penalty_W * (J - of_J)
        W = right / (curvature * squares + penalty_W)
        b = wanted.mean(axis=0) * fit_intercept
        D = (P @ W + b + 2 * penalty_D * wanted) / (1 + 2 * penalty_D)
        # copies and multipliers, over-relaxed
        of_J, of_L, of_S = (
            multiplier + OVER_RELAXATION * new + (1 - OVER_RELAXATION) * copy
            for multiplier, new, copy in ((of_J, W, J), (of_L, D, L), (of_S, D, S))
        )
        J, norm_J = shrink_singular_values(of_J, eta / penalty_W)
        L, norm_L = shrink_singular_values(of_L, gamma / penalty_D)
        S = Y - soft_threshold(Y - of_S, counted * beta / penalty_D)
        of_J -= J
        of_L -= L
        of_S -= S
        if n_iter % CHECK_EVERY and n_iter < max_iter:
            continue
        b = L.mean(axis=0) * fit_intercept
        residual = P @ J + b - L
        primal = 0.5 * np.vdot(residual, residual) + gamma * norm_L
        primal += beta * np.abs(counted * (Y - L)).sum() + eta * norm_J
        dual = lower_bound(
            X, Y, penalty_D * of_L, penalty_D * of_S, gamma, beta, eta, fit_intercept, known
        )
        gap = min(1.0, relative_gap(primal, primal - max(dual, 0.0)))
        if verbose:
            print(f"iteration {n_iter}: objective {primal:.6g}, gap {gap:.3g}")
        if gap <= tol:
            break
        # only in the first tenth of the iterations: convergence is proved for fixed penalties
        if n_iter < max_iter // 10:
            change = balance((W - J,), (J - before[0],), penalty_W)
            penalty_W *= change
            of_J /= change
            change = balance((D - L, D - S), (L - before[1], S - before[2]), penalty_D)
            penalty_D *= change
            of_L /= change
            of_S /= change
    weights = space.directions @ J
    intercept = b - space.mean @ weights
    return Decomposition(weights, intercept, L, float(primal), gap, n_iter, gap <= tol)


def balance(disagreements, steps, penalty):
    """What to multiply a penalty with so that primal and dual residuals are of one size."""
    primal = np.sqrt(sum(np.vdot(part, part) for part in disagreements))
    dual = penalty * np.sqrt(sum(np.vdot(part, part) for part in steps))
    if primal > 5 * dual:
        return 2.0
    return 0.5 if dual > 5 * primal else 1.0
