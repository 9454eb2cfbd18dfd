"""Approximate solutions of Newton's system (I + D K) X = R, for conjugate gradients.

D is the Hessian of the loss: a q × q block for every row. Two simplifications of it can be inverted
together with K: its average over the rows, and its diagonal. A preconditioner is ``sharp`` if the
preconditioned residual is a fair measure of what is left to do.

A call takes a residual R, the product with K (and ridge), the ridge, and K R where it is known; it
returns X and K X.
"""

import numpy as np
from scipy.linalg.blas import strsv
from scipy.linalg.lapack import spotrf

from ..features.landmarks import Landmarks

MAX_LANDMARKS = 256

# Stiffest direction that the landmarks correct: beyond, the correction is lost in rounding.
CANCELLATION = 1e6

# Label blocks are worth their factorisations while these cost less than so many products with K, or
# than landmarks have cost, and take at most so many bytes, or a quarter of what K takes.
WORTH_PRODUCTS = 16.0
MAX_BYTES = 2**24

TINY = np.finfo(np.float64).tiny


class LandmarkPreconditioner:
    """D replaced by its average over the rows, and K seen through landmarks S.

    Woodbury's formula gives X = R − E_S T K[S, :] R, E_S the columns of the identity in S: nothing
    but the rows in S changes. In the eigenvectors of K[S, S] (λ, standing for w rows each) and of
    the average Hessian (d) T is the factor w d / (1 + w d λ).
    """

    sharp = False

    def __init__(self, operator):
        most = min(MAX_LANDMARKS, max(100, operator.shape[0] // 3))
        self.landmarks = Landmarks(operator, most, operator.intercept)
        self.weight = self.landmarks.multiplicity()

    def update(self, modes):
        """Take over the modes of the average Hessian."""
        self.modes = modes
        self.curvature = max(modes.values.max(), TINY)
        scaled = np.minimum(
            np.outer(self.weight, modes.values), CANCELLATION / self.landmarks.values[:, None]
        )
        self.factor = scaled / (1.0 + scaled * self.landmarks.values[:, None])

    def __call__(self, R, product, ridge, KR=None):
        coarse = self.factor * self.modes.split(self.landmarks.project(R))
        correction = self.landmarks.vectors @ self.modes.join(coarse)
        X = R.copy()
        X[self.landmarks.rows] -= correction
        if KR is None:
            return X, product(X)
        KX = KR - self.landmarks.spread(correction)
        KX[self.landmarks.rows] -= ridge * correction
        return X, KX


class LabelPreconditioner:
    """D replaced by its diagonal: one system per label, solved exactly on the label's active rows.

    With H the square root of the diagonal, X = R − H (I + H K H)⁻¹ H K R, label by label; a system
    shrinks to the rows where the label has curvature. Each row of the exact X sums to zero like
    those of R, so the rows are projected to do so, too: that removes directions which are stiff for
    the diagonal only.

    The graph Laplacians in D are bipartite: their own diagonals approximate them within a factor of
    two. A few steps suffice where the average over the rows needs dozens. Single precision is
    enough for the factors of a preconditioner.
    """

    sharp = True

    def __init__(self, operator, curvature):
        self.operator = operator
        self.diagonal = curvature
        self.curvature = max(curvature.mean(axis=0).max(), TINY)

    def is_worthwhile(self, effort):
        """Whether K is at hand, and the factors are cheap enough in time and memory.

        Parameters
        ----------
        effort : int
            Products with K that a solution without them took.
        """
        if self.operator.matrix is None:
            return False
        m, q = self.diagonal.shape
        sizes = np.count_nonzero(self.diagonal, axis=0).astype(float)
        work, memory = np.sum(sizes**3) / 3.0, 4.0 * np.sum(sizes**2)
        is_fast = work <= max(WORTH_PRODUCTS, effort) * 2.0 * m * m * q
        return is_fast and memory <= max(MAX_BYTES, 2.0 * m * m)

    def factor(self):
        """Factor all systems; False if single precision does not allow it."""
        self.systems = []
        K, intercept = self.operator.matrix, self.operator.intercept
        for label, diagonal in enumerate(self.diagonal.T):
            rows = np.flatnonzero(diagonal)
            if len(rows) == 0:
                continue
            root = np.sqrt(diagonal[rows])
            matrix = ((K[np.ix_(rows, rows)] + intercept) * root * root[:, None]).astype(np.float32)
            matrix[np.diag_indices_from(matrix)] += 1.0
            # the matrix is symmetric: its transpose has the order that LAPACK wants
            factor, info = spotrf(matrix.T, lower=True, overwrite_a=True)
            if info != 0:
                return False
            self.systems.append((label, rows, root, factor))
        return True

    def __call__(self, R, product, ridge, KR=None):
        KR = product(R) if KR is None else KR
        X = R.copy()
        for label, rows, root, factor in self.systems:
            right = root * KR[rows, label]
            # single precision has the digits, but not the range
            size = max(np.abs(right).max(), TINY)
            half = strsv(factor, (right / size).astype(np.float32), lower=True)
            X[rows, label] -= size * root * strsv(factor, half, lower=True, trans=True)
        X -= X.mean(axis=1, keepdims=True)
        return X, product(X)
