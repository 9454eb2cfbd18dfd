"""Approximate solutions of Newton's system (I + D K) X = R, for conjugate gradients.

D is the Hessian of the loss: a q × q block for every row. Two simplifications of it can be inverted
together with K: its average over the rows, and its diagonal. A preconditioner is ``sharp`` if the
preconditioned residual is a fair measure of what is left to do.
"""

from itertools import pairwise

import numpy as np

from ..features.landmarks import Landmarks
from . import _label_blocks

# Stiffest direction that the landmarks correct: beyond, the correction is lost in rounding.
CANCELLATION = 1e6

# Label blocks are worth their factorisations while these cost less than so many products K V, or
# than landmarks have cost, and may take so much memory (bytes), or this share of what K takes.
WORTH_PRODUCTS = 16.0
MAX_BYTES = 2**24
SHARE_OF_K = 0.25

# A compiled call factors systems with about this many multiplications, so that Ctrl-C is noticed.
WORK_PER_CALL = 1e9


class LandmarkPreconditioner:
    """D replaced by its average over the rows, and K seen through landmarks S.

    Woodbury's formula gives X = R − E_S T K[S, :] R, E_S the columns of the identity in S: nothing
    but the rows in S changes. In the eigenvectors of K[S, S] (λ, standing for w rows each) and of
    the average Hessian (d) T is the factor w d / (1 + w d λ).
    """

    sharp = False

    def __init__(self, operator, most, keep=False):
        self.landmarks = Landmarks(operator, most, operator.intercept, keep)
        self.weight = self.landmarks.multiplicity()

    def update(self, modes):
        """Take over the modes of the average Hessian."""
        self.modes = modes
        self.curvature = max(modes.values.max(), np.finfo(float).tiny)
        scaled = np.minimum(
            np.outer(self.weight, modes.values), CANCELLATION / self.landmarks.values[:, None]
        )
        self.factor = scaled / (1.0 + scaled * self.landmarks.values[:, None])

    def __call__(self, R, system, KR=None):
        """X and K X; K R, where it is known, is used up."""
        correction = self._correction(R)
        X = R.copy()
        X[self.landmarks.rows] -= correction
        if KR is None:
            return X, system.product(X)
        KR -= self.landmarks.spread(correction)
        KR[self.landmarks.rows] -= system.ridge * correction
        return X, KR

    def _correction(self, R):
        """T K[S, :] R: what to take from the rows in S."""
        coarse = self.factor * self.modes.split(self.landmarks.project(R))
        return self.landmarks.vectors @ self.modes.join(coarse)


class LabelPreconditioner:
    """D replaced by its diagonal: one system per label, solved exactly on the label's active rows.

    With H the square root of the diagonal, X = R − H (I + H K H)⁻¹ H K R, label by label; a system
    shrinks to the rows where the label has curvature. Each row of the exact X sums to zero like
    those of R, so the rows are projected to do so, too: what that removes are directions which only
    the diagonal takes for stiff.

    The graph Laplacians in D are bipartite: their own diagonals approximate them within a factor of
    two. A few steps suffice where the average over the rows needs dozens.
    """

    sharp = True

    def __init__(self, operator, curvature):
        self.curvature = max(curvature.mean(axis=0).max(), np.finfo(float).tiny)
        self.sizes = np.count_nonzero(curvature, axis=0).astype(np.int64)
        self.first_row = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int32)
        self.first_entry = np.concatenate([[0], np.cumsum(self.sizes**2)])
        self.operator = operator
        self.diagonal = curvature

    def worthwhile(self, effort):
        """Whether K is at hand, and the factors are cheap enough in time and memory.

        Parameters
        ----------
        effort : int
            Products K V that a solution without them took.
        """
        if self.operator.matrix is None:
            return False
        m = self.operator.shape[0]
        work = np.sum(self.sizes.astype(float) ** 3) / 3.0
        memory = 4.0 * self.first_entry[-1]
        product = 2.0 * m * m * len(self.sizes)
        return work <= max(WORTH_PRODUCTS, effort) * product and memory <= max(
            MAX_BYTES, SHARE_OF_K * 8.0 * m * m
        )

    def factor(self):
        """Factor all systems; False if single precision does not allow it."""
        labels, rows = np.nonzero(self.diagonal.T)
        self.rows = rows.astype(np.int32)
        self.root = np.sqrt(self.diagonal[rows, labels]).astype(np.float32)
        self.factors = np.empty(self.first_entry[-1], dtype=np.float32)
        self.work = np.empty(max(self.sizes.max(), 1), dtype=np.float32)
        call = np.cumsum(self.sizes.astype(float) ** 3) // WORK_PER_CALL
        edges = [0, *(np.flatnonzero(np.diff(call)) + 1), len(self.sizes)]
        for begin, end in pairwise(edges):
            done = _label_blocks.factor(
                self.operator.matrix,
                self.operator.intercept,
                self.rows,
                self.first_row,
                self.root,
                self.factors,
                self.first_entry,
                begin,
                end,
            )
            if done < end - begin:
                return False
        return True

    def __call__(self, R, system, KR=None):
        """X and K X."""
        KR = system.product(R) if KR is None else KR
        X = R.copy()
        _label_blocks.correct(
            KR,
            self.rows,
            self.first_row,
            self.root,
            self.factors,
            self.first_entry,
            self.work,
            X,
        )
        X -= X.mean(axis=1, keepdims=True)
        return X, system.product(X)
