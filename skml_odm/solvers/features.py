"""Newton directions for linear kernels with few features, found in weight space.

With features Φ (m × d, the intercept among them) K = Φ Φᵀ, and the system (I + D K) X = R becomes

    (I + Φᵀ D Φ) w = Φᵀ R,     K X = Φ w.

D replaced by its average over the rows can be inverted together with the d × d matrix ΦᵀΦ exactly:
the number of conjugate gradient steps hardly depends on the number of rows, on C or on the kernel's
width. All vectors but the scores Φ w have d rows.
"""

import numpy as np
from scipy import sparse

from ..features.operators import LinearOperator
from .directions import MAX_CG, Directions

# An epoch over rows with n entries takes as long as the eigenvectors of ΦᵀΦ where d³ is so many n,
# and these may take so many epochs.
CUBE_PER_EPOCH = 300.0
MAX_EPOCHS = 40.0

# Eigenvalues below this share of the largest are zero.
SMALLEST = 1e-12


def preparation(operator):
    """How many epochs of descent the eigenvectors take; infinite if the kernel is not linear."""
    if not isinstance(operator, LinearOperator) or operator.X.shape[1] >= operator.X.shape[0]:
        return np.inf
    X = operator.X
    n_entries = X.nnz if sparse.issparse(X) else X.size
    return X.shape[1] ** 3 / (CUBE_PER_EPOCH * max(n_entries, 1))


def has_few_features(operator):
    """Whether a kernel is linear with features so few that directions are found in weight space."""
    return preparation(operator) <= MAX_EPOCHS


class FeatureDirection(Directions):
    """Newton directions for one linear operator: approximate solutions of (I + D K) X = R.

    Parameters
    ----------
    operator : LinearOperator
    """

    def __init__(self, operator):
        self.operator = operator
        self.X = operator.X
        self.constant = operator.intercept**0.5
        m, d = self.X.shape
        gram = np.empty((d + 1, d + 1))
        square = self.X.T @ self.X
        gram[:d, :d] = square.toarray() if sparse.issparse(square) else square
        gram[d, :d] = gram[:d, d] = self.constant * np.asarray(self.X.sum(axis=0)).ravel()
        gram[d, d] = m * operator.intercept
        self.diagonal = np.trace(gram) / m
        values, self.vectors = np.linalg.eigh(gram)
        self.values = np.maximum(values, 0.0)[:, None]
        positive = values > SMALLEST * values[-1]
        self.inverse = np.zeros_like(self.values)
        self.inverse[positive] = 1.0 / self.values[positive]

    def __call__(self, curvature, R, KR, forcing):
        """X, K X and the number of products K V they took.

        Conjugate gradients in the eigenvectors of ΦᵀΦ and of the average Hessian.
        """
        modes = curvature.modes()
        stiffness = 1.0 / (1.0 + self.values * modes.values)
        residual = self._gather(R, modes)
        P = stiffness * residual
        square = np.vdot(residual, P)
        target = forcing**2 * square
        KX, DKX = np.zeros_like(R), np.zeros_like(R)
        step = 0
        while square > 0.0 and step < MAX_CG:
            step += 1
            KP = self._spread(P, modes)
            DKP = curvature.product(KP)
            Q = self._gather(DKP, modes)
            Q += P
            length = square / np.vdot(P, Q)
            KP *= length
            KX += KP
            DKP *= length
            DKX += DKP
            residual -= length * Q
            Z = stiffness * residual
            old, square = square, np.vdot(residual, Z)
            if square <= target:
                break
            P *= square / old
            P += Z
        # Φᵀ(R − D K X) = w + residual: taking the residual's preimage away leaves Φᵀ X = w
        X = R - DKX
        X -= self._spread(self.inverse * residual, modes)
        return X, KX, step + 1

    def _gather(self, V, modes):
        """Φᵀ V."""
        weights = np.empty((len(self.vectors), V.shape[1]))
        weights[:-1] = self.X.T @ V
        weights[-1] = self.constant * V.sum(axis=0)
        return modes.split(self.vectors.T @ weights)

    def _spread(self, W, modes):
        """Φ W."""
        weights = self.vectors @ modes.join(W)
        result = self.X @ weights[:-1]
        result += self.constant * weights[-1]
        return result
