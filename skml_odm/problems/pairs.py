"""The loss over label pairs: the part of a learning problem that knows labels but no kernel."""

from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ._block import proximal_points
from ._pair_loss import Pairs

# Beyond this many labels the average Hessian is used without its off-diagonal part.
MAX_COUPLED_LABELS = 200


def chunks(work, limit):
    """Consecutive slices of about ``limit`` work each, given the work up to every row."""
    edges = [0, *(np.flatnonzero(np.diff(work // limit)) + 1), len(work)]
    return [slice(a, b) for a, b in pairwise(edges)]


class LabelPairs:
    """The pairs of a relevant and an irrelevant label in every row, and their weights.

    A pair of row i has the weight c_i = C · sample_weight_i / (|Y_i| |N_i|). Rows without a
    relevant or without an irrelevant label have no pair, and labels that are not involved in a row,
    such as unknown ones, are in neither Y_i nor N_i.

    Parameters
    ----------
    indicator : ndarray of shape (m, q), bool
        Which labels are relevant.
    C : float
    sample_weight : ndarray of shape (m,), optional
    involved : ndarray of shape (m, q), bool, optional
        Which labels take part in the row; all by default.

    Attributes
    ----------
    relevant, irrelevant : ndarray of shape (m, q), bool
        Y and N.
    order : ndarray of shape (m, q), int32
        The labels of each row: relevant, irrelevant, then those that are not involved.
    n_relevant, n_involved : ndarray of shape (m,), int32
        How many of them are relevant, and how many are relevant or irrelevant.
    weight : ndarray of shape (m,)
        c; zero for rows without pairs.
    n_pairs : ndarray of shape (m,)
        Pairs with a weight above zero.
    first : ndarray of shape (m,)
        Where a row's pairs begin if those of all rows stand one after the other.
    """

    def __init__(self, indicator, C, sample_weight=None, involved=None):
        m, q = indicator.shape
        self.C = float(C)
        if involved is None:
            involved = np.True_
        self.relevant, self.irrelevant = indicator & involved, ~indicator & involved
        self.order = np.argsort(self._kinds(), axis=1, kind="stable").astype(np.int32)
        self.n_relevant = self.relevant.sum(axis=1, dtype=np.int32)
        n_irrelevant = self.irrelevant.sum(axis=1, dtype=np.int32)
        self.n_involved = self.n_relevant + n_irrelevant
        n_pairs = self.n_relevant.astype(np.int64) * n_irrelevant
        weight = np.full(m, float(C)) if sample_weight is None else float(C) * sample_weight
        self.weight = np.divide(weight, n_pairs, out=np.zeros(m), where=n_pairs > 0)
        self.n_pairs = np.where(self.weight > 0, n_pairs, 0)
        self.shape = (m, q)

    def _kinds(self):
        """What labels are sorted by: 0 if relevant, 1 if irrelevant, 3 if not involved."""
        return 3 - 3 * self.relevant.view(np.int8) - 2 * self.irrelevant.view(np.int8)

    @property
    def first(self):
        return np.cumsum(self.n_pairs) - self.n_pairs


class PairLoss(LabelPairs):
    """Two-sided squared loss on the margins of all relevant-irrelevant label pairs.

    L(F) = Σ_i c_i Σ_{k∈Y_i, l∈N_i} ½ (1−θ−γ)₊² + ½ μ (γ−1−θ)₊²,   γ = f_ik − f_il.

    Parameters
    ----------
    indicator, C, sample_weight, involved
        As in ``LabelPairs``.
    theta, mu : float
        Half-width of the interval of margins that cost nothing, and the weight of margins above it.
    """

    zero_sums = True
    # weights of the pairs with a zero label
    zero_weight: Any = None

    def __init__(self, indicator, C, theta, mu, sample_weight=None, involved=None):
        super().__init__(indicator, C, sample_weight, involved)
        self._set(theta, mu)

    def _set(self, theta, mu):
        self.lower, self.upper, self.mu = 1.0 - theta, 1.0 + theta, float(mu)
        self.pairs = Pairs(
            self.order,
            self.n_relevant,
            self.n_involved,
            self.weight,
            self.lower,
            self.upper,
            self.mu,
            self.zero_weight,
        )

    def with_parameters(self, C, theta, mu):
        """The loss of the same labels with other parameters."""
        other = copy(self)
        other.C, other.weight = float(C), self.weight * (float(C) / self.C)
        other._set(theta, mu)
        return other

    @property
    def at_zero(self):
        """L(0)."""
        return 0.5 * self.lower**2 * float(self.weight @ self.n_pairs)

    def widest(self, scores):
        """The largest margin of a pair; 0 if none is larger."""
        counted = self.n_pairs > 0
        scores = scores[counted]
        highest = np.where(self.relevant[counted], scores, -np.inf).max(axis=1)
        lowest = np.where(self.irrelevant[counted], scores, np.inf).min(axis=1)
        return np.max(highest - lowest, initial=0.0)

    def evaluate(self, scores):
        """Return L(scores) and the gradient coefficients G = −∇L(scores)."""
        gradient = np.empty(self.shape)
        return self.pairs.evaluate(scores, gradient), gradient

    def curvature(self, scores):
        """The Hessian at ``scores``, as Newton's method takes it."""
        return PairCurvature(self, scores)

    def proximal_points(self, scores, coefficients, kappa):
        """Return argmin_S ‖S − (scores − κ·coefficients)‖² / 2κ + L(S)."""
        result = np.empty(self.shape)
        proximal_points(self.pairs, scores, coefficients, kappa, result)
        return result


@dataclass
class PairCurvature:
    """The generalised Hessian D of a ``PairLoss`` at given scores."""

    loss: PairLoss
    scores: np.ndarray

    def product(self, V):
        """D V."""
        result = np.empty(self.loss.shape)
        self.loss.pairs.hessian_product(self.scores, V, result)
        return result

    def diagonal(self):
        """The diagonal of D (m × q)."""
        # pairs join a relevant label to an irrelevant one: D's product with the indicator is the
        # diagonal, with another sign where a label is irrelevant
        return np.abs(self.product(self.loss.relevant.astype(float)))

    def average(self):
        """The average of D over the rows (q × q).

        With very many labels its off-diagonal part is small and is left out.
        """
        m, q = self.loss.shape
        if q > MAX_COUPLED_LABELS:
            return self.diagonal().mean(axis=0)
        total = np.zeros((q, q))
        self.loss.pairs.add_hessian(self.scores, total)
        return total / m

    def modes(self):
        """The modes of D, averaged over the rows."""
        return Modes.of(self.average())


@dataclass
class Modes:
    """Eigenvalues and eigenvectors of a q × q matrix; no vectors where it is diagonal."""

    values: np.ndarray
    vectors: np.ndarray | None

    @classmethod
    def of(cls, matrix):
        """The modes of a positive semidefinite matrix, or of a diagonal given as a vector."""
        if matrix.ndim == 1:
            return cls(matrix, None)
        values, vectors = np.linalg.eigh(matrix)
        return cls(np.maximum(values, 0.0), vectors)

    def split(self, V):
        """Rows of V in the basis of the eigenvectors."""
        return V if self.vectors is None else V @ self.vectors

    def join(self, V):
        """The inverse of ``split``."""
        return V if self.vectors is None else V @ self.vectors.T
