"""Approximate solutions of Newton's system (I + D K) X = R, for conjugate gradients.

D, the Hessian of the loss with a q × q block for every row, is replaced by its diagonal, and K by
its sketch K̂ = Φ Φᵀ + λ I: a small system per label remains. With E = (D⁻¹ + λ)⁻¹ Woodbury's formula
gives (K̂ + D⁻¹)⁻¹ = E − E Φ (I + Φᵀ E Φ)⁻¹ Φᵀ E, and

    X = R − (K̂ + D⁻¹)⁻¹ K R.

K̂ ≥ K makes the map from R to K X positive definite. The blocks of D for losses on label pairs are
graph Laplacians of bipartite graphs, which their diagonals approximate within a factor of two; rows
of X then sum to zero like those of R, so those of the approximation are made to.
"""

import numpy as np

from ..features.sketch import Sketch
from ..utils.numbers import TINY


class SketchPreconditioner:
    """The preconditioner for one Hessian.

    Parameters
    ----------
    sketch : Sketch
        Of K.
    diagonal : ndarray of shape (m, q)
        That of D.
    zero_sums : bool
        Whether the rows of R and D sum to zero.

    Attributes
    ----------
    curvature : float
        The largest mean curvature of a label.
    """

    def __init__(self, sketch: Sketch, diagonal: np.ndarray, zero_sums: bool) -> None:
        self.features = sketch.features
        self.zero_sums = zero_sums
        self.curvature = max(diagonal.mean(axis=0).max(), TINY)
        self.weights = diagonal / (1.0 + sketch.rest * diagonal)
        rank = self.features.shape[1]
        self.inverses = np.empty((diagonal.shape[1], rank, rank))
        for weight, inverse in zip(self.weights.T, self.inverses, strict=True):
            system = np.eye(rank)
            system += self.features.T @ (weight[:, None] * self.features)
            inverse[:] = np.linalg.inv(system)

    def __call__(self, R: np.ndarray, KR: np.ndarray) -> np.ndarray:
        """X for R and K R, which stay as they are."""
        X = self.weights * KR
        # one small system per label
        inner = np.matmul(self.inverses, (self.features.T @ X).T[:, :, None])[:, :, 0]
        X -= self.weights * (self.features @ inner.T)
        np.subtract(R, X, out=X)
        if self.zero_sums:
            X -= X.mean(axis=1, keepdims=True)
        return X
