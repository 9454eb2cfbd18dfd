"""Newton directions in single precision that hardly take more memory than their vectors.

As in :mod:`.newton`, conjugate gradients solve (I + D K) X = R with one vector and its product with
K at a time. Products have the form W + 1 sᵀ: the constant part of K is far larger than the rest of
a wide kernel, and single precision can only hold the two apart.
"""

from typing import Any

import numpy as np
from scipy.linalg.blas import saxpy

from . import _label_systems
from .directions import MAX_CG, RELAXED, Directions
from .sketch import Sketch

# Added to K, relative to its diagonal, inside conjugate gradients only: null vectors of K are
# invisible to the inner product and would grow unseen.
RIDGE = 1e-6

# Features of K that the preconditioner knows: as many as take this share of K's memory, within
# bounds.
SHARE_OF_K = 0.05
FEWEST, MOST = 4, 16


class LeanDirection(Directions):
    """Newton directions for a rounded operator: approximate solutions of (I + D K) X = R.

    Parameters
    ----------
    operator : RoundedOperator
    """

    def __init__(self, operator):
        self.operator = operator
        self.sketch: Any = None
        self.diagonal = operator.diagonal().mean(dtype=float) + operator.intercept

    def __call__(self, curvature, R, KR, forcing):
        """X, K X and the number of products they took; R is used up."""
        size = max(R.max(), -R.min(), np.finfo(float).tiny)
        R /= size
        r = R.astype(np.float32)
        # an array in double precision is room for two
        X, P = R.reshape(-1).view(np.float32).reshape(2, *R.shape)
        n_products = self._conjugate_gradients(curvature, r, X, P, forcing)
        X = X.astype(float)
        X *= size
        return X, self.operator.product(X), n_products

    def _conjugate_gradients(self, curvature, r, X, P, forcing):
        """Write the solution for a residual r into X, and return the number of products it took.

        r and P are used up.
        """
        if self.sketch is None:
            self.sketch = Sketch(self.operator, affordable_rank(*r.shape))
        precondition = SketchPreconditioner(self.sketch, curvature.diagonal())
        ridge = min(RIDGE * self.diagonal, 1e-4 / precondition.curvature)
        X[:] = 0.0
        P[:] = precondition(r, *self._product(r, ridge))
        W, s = self._product(P, ridge)
        square = product(r, W, s)
        target = (RELAXED * forcing) ** 2 * square
        n_products, done = 3, False
        while n_products < 2 * MAX_CG:
            Q = curvature.product(W + s).astype(W.dtype)
            Q += P
            bend = product(Q, W, s)
            if not (bend > 0.0 and square > 0.0):
                break
            length = square / bend
            add_multiple(P, length, X)
            if done:
                break
            add_multiple(Q, -length, r)
            del Q
            Z = precondition(r, *self._product(r, ridge))
            V, t = self._product(Z, ridge)
            n_products += 2
            old, square = square, product(r, V, t)
            # the product that told so is good for a last step
            done = square <= target
            ratio = square / old
            P *= ratio
            P += Z
            del Z
            W *= ratio
            W += V
            del V
            s = ratio * s + t
        return n_products

    def _product(self, V, ridge):
        """(K + ridge) V in two parts."""
        W, s = self.operator.product_in_parts(V)
        add_multiple(V, ridge, W)
        return W, s


def affordable_rank(m, q):
    """Features whose systems for q labels, and themselves, take a small part of K's memory."""
    for rank in range(MOST, FEWEST, -1):
        if 8.0 * q * (1 + rank) ** 2 + 4.0 * m * (1 + rank) <= SHARE_OF_K * 8.0 * m**2:
            return rank
    return FEWEST


class SketchPreconditioner:
    """D replaced by its diagonal, and K by its sketch K̂ = Φ Φᵀ + λ I: a small system per label.

    With E = (D⁻¹ + λ)⁻¹ Woodbury's formula gives (K̂ + D⁻¹)⁻¹ = E − E Φ (I + Φᵀ E Φ)⁻¹ Φᵀ E, and

        X = R − (K̂ + D⁻¹)⁻¹ K R.

    K̂ ≥ K makes the map from R to K X positive definite. The part 1 sᵀ of K R is the constant
    feature times s / √c, and all that is left of it, E Φ (I + Φᵀ E Φ)⁻¹ e s / √c, is small: no
    large numbers are ever subtracted.

    Each row of the exact X sums to zero like those of R, so the rows are projected to do so, too:
    what that removes are directions which only the diagonal takes for stiff.

    Parameters
    ----------
    sketch : Sketch
    curvature : ndarray of shape (m, q)
        The diagonal of D.

    Attributes
    ----------
    curvature : float
        The largest mean curvature of a label.
    """

    def __init__(self, sketch, curvature):
        self.features, self.constant = sketch.features, sketch.constant
        self.curvature = max(curvature.mean(axis=0).max(), np.finfo(float).tiny)
        r, q = len(self.features), curvature.shape[1]
        self.weights = curvature.astype(np.float32)
        with np.errstate(divide="ignore"):
            np.reciprocal(self.weights, out=self.weights)
            self.weights += sketch.rest
            np.reciprocal(self.weights, out=self.weights)
        self.systems = np.empty((q, r, r))
        room = np.empty_like(self.features), np.empty((r, r), dtype=np.float32)
        _label_systems.factor(self.features, self.weights, *room, self.systems)

    def __call__(self, R, W, s):
        """X for R and K R = W + 1 sᵀ; X takes the place of W."""
        W *= self.weights
        sides = (self.features @ W).T.astype(float, order="C")
        if self.constant:
            sides[:, 0] -= s / self.constant
        _label_systems.solve(self.systems, sides)
        spread = self.features.T @ sides.T.astype(np.float32)
        spread *= self.weights
        W -= spread
        del spread
        X = np.subtract(R, W, out=W)
        X -= X.mean(axis=1, keepdims=True)
        return X


def product(V, W, s):
    """⟨V, W + 1 sᵀ⟩."""
    return float(np.vdot(V, W)) + float(np.vdot(V.sum(axis=0, dtype=float), s))


def add_multiple(V, factor, W):
    """W += factor · V in single precision, without another array."""
    saxpy(V.reshape(-1), W.reshape(-1), a=factor)
