"""The best combination of known solutions: a problem of a few variables.

    min_w  ½ wᵀQw + L(Σ_j w_j F_j),    Q_jk = ⟨A_j, F_k⟩

The coefficients A_j and scores F_j = K A_j are those of solved neighbours: no product with K is
needed. Neighbours have nearly the same pairs at work, so that one Newton step is close to the best.
"""

import numpy as np

from ..utils.numbers import TINY
from .newton import residual, step_length
from .result import ROUNDING


def best_combination(loss, solutions):
    """Coefficients and scores of a combination that is nearly the best.

    Parameters
    ----------
    loss
        L.
    solutions : list of Result
        Newton's step starts at the first one.
    """
    start = solutions[0]
    _, R = residual(loss, start.coefficients, start.scores)
    A = np.stack([solution.coefficients.ravel() for solution in solutions])
    F = np.stack([solution.scores.ravel() for solution in solutions])
    Q = A @ F.T
    curvature = loss.curvature(start.scores)
    DF = np.stack([curvature.product(solution.scores).ravel() for solution in solutions])
    w = _solve(Q + F @ DF.T, F @ R.ravel())
    X, KX = (w @ A).reshape(loss.shape), (w @ F).reshape(loss.shape)
    t = step_length(loss, start.scores, X, KX)
    return start.coefficients + t * X, start.scores + t * KX


def _solve(matrix, right):
    """Solve with a positive semidefinite matrix; nothing in directions lost in rounding."""
    scale = np.sqrt(np.maximum(matrix.diagonal(), TINY))
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    keep = values > ROUNDING * values[-1]
    vectors = vectors[:, keep]
    return vectors @ ((vectors.T @ (right / scale)) / values[keep]) / scale
