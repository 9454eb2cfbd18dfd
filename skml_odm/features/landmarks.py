"""A coarse picture of K, seen through a few evenly spaced rows.

Wide kernels and intercepts give K a few huge eigenvalues whose eigenvectors vary slowly over the
data. First-order and conjugate-gradient steps both suffer from them, and both are helped by the
eigenvectors q_i, λ_i of K[S, S] on some landmarks S.
"""

from typing import Any

import numpy as np


class Landmarks:
    """Eigenvectors q_i and eigenvalues λ_i of K[S, S], S every so-many-th row.

    Parameters
    ----------
    operator
    most : int
        Landmarks at most.
    intercept : float
        The constant that is added to K.
    """

    def __init__(self, operator: Any, most: int, intercept: float) -> None:
        m = operator.shape[0]
        gram = operator.gram(slice(0, None, max(1, -(-m // most)))) + intercept
        self.diagonal = np.trace(gram) / len(gram)
        self.ratio = m / len(gram)
        values, vectors = np.linalg.eigh(gram)
        seen = values > 1e-10 * max(values[-1], np.finfo(float).tiny)
        self.values, self.vectors = values[seen], vectors[:, seen]
        self.sums = self.vectors.sum(axis=0)

    def constant_response(self, curvature: np.ndarray) -> np.ndarray:
        """Estimate 1ᵀ(I/d + K)⁻¹1 for each curvature d: the answer of Σ_i A_i to a common shift.

        The off-diagonal part of K grows with the number of rows, the diagonal does not. What of the
        shift is in no eigenvector, as with few features, meets no resistance of K.
        """
        values = self.ratio * (self.values - self.diagonal) + self.diagonal
        values = np.maximum(values, 1e-3 * self.diagonal)
        shares = self.ratio * self.sums**2
        unseen = max(0.0, self.ratio * len(self.vectors) - shares.sum())
        d = curvature[:, None]
        return (shares * d / (1.0 + d * values)).sum(axis=1) + unseen * curvature
