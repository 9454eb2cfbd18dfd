"""The loss over label pairs: the part of a learning problem that knows labels but no kernel."""

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from . import _block, _confidence_loss, _pair_loss

# A compiled call handles about this many label pairs, so that Ctrl-C is noticed soon.
PAIRS_PER_CALL = 50_000_000

# Beyond this many labels the average Hessian is used without its off-diagonal part.
MAX_COUPLED_LABELS = 200


def chunks(work, limit):
    """Consecutive slices of about ``limit`` work each, given the work up to every row."""
    edges = [0, *(np.flatnonzero(np.diff(work // limit)) + 1), len(work)]
    return [slice(a, b) for a, b in pairwise(edges)]


class LabelPairs:
    """The pairs of a relevant and an irrelevant label in every row, and their weights.

    A pair of row i has the weight c_i = C · sample_weight_i / (|Y_i| |N_i|). Rows without a
    relevant or without an irrelevant label have no pair.

    Parameters
    ----------
    indicator : ndarray of shape (m, q), bool
        Which labels are relevant.
    C : float
    sample_weight : ndarray of shape (m,), optional

    Attributes
    ----------
    order : ndarray of shape (m, q), int32
        The labels of each row, relevant ones first.
    n_relevant : ndarray of shape (m,), int32
    weight : ndarray of shape (m,)
        c; zero for rows without pairs.
    n_pairs : ndarray of shape (m,)
        Pairs with a weight above zero.
    first : ndarray of shape (m,)
        Where a row's pairs begin if those of all rows stand one after the other.
    """

    def __init__(self, indicator, C, sample_weight=None):
        m, q = indicator.shape
        self.C = float(C)
        self.relevant = indicator
        # a stable sort on "irrelevant" lists each row's relevant labels first
        self.order = np.argsort(~indicator, axis=1, kind="stable").astype(np.int32)
        self.n_relevant = indicator.sum(axis=1, dtype=np.int32)
        n_pairs = self.n_relevant.astype(np.int64) * (q - self.n_relevant)
        weight = np.full(m, float(C)) if sample_weight is None else float(C) * sample_weight
        self.weight = np.divide(weight, n_pairs, out=np.zeros(m), where=n_pairs > 0)
        self.n_pairs = np.where(self.weight > 0, n_pairs, 0)
        self.shape = (m, q)

    @property
    def first(self):
        return np.cumsum(self.n_pairs) - self.n_pairs

    @cached_property
    def _row_chunks(self):
        """Consecutive row ranges with a bounded number of pairs each."""
        return chunks(np.cumsum(self.n_pairs), PAIRS_PER_CALL)


class PairLoss(LabelPairs):
    """Two-sided squared loss on the margins of all relevant-irrelevant label pairs.

    L(F) = Σ_i c_i Σ_{k∈Y_i, l∈N_i} ½ (1−θ−γ)₊² + ½ μ (γ−1−θ)₊²,   γ = f_ik − f_il.

    Parameters
    ----------
    indicator, C, sample_weight
        As in ``LabelPairs``.
    theta, mu : float
        Half-width of the interval of margins that cost nothing, and the weight of margins above it.
    """

    def __init__(self, indicator, C, theta, mu, sample_weight=None):
        super().__init__(indicator, C, sample_weight)
        self._set(theta, mu)

    def _set(self, theta, mu):
        self.lower, self.upper, self.mu = 1.0 - theta, 1.0 + theta, float(mu)

    def with_parameters(self, C, theta, mu):
        """The loss of the same labels with other parameters."""
        # found once for all copies
        _ = self._row_chunks
        other = copy(self)
        other.C, other.weight = float(C), self.weight * (float(C) / self.C)
        other._set(theta, mu)
        return other

    def rows(self, rows):
        """The arguments that describe some rows to compiled code."""
        return (
            np.ascontiguousarray(self.order[rows]),
            np.ascontiguousarray(self.n_relevant[rows]),
            np.ascontiguousarray(self.weight[rows]),
            self.lower,
            self.upper,
            self.mu,
        )

    @property
    def at_zero(self):
        """L(0)."""
        return 0.5 * self.lower**2 * float(self.weight @ self.n_pairs)

    def widest(self, scores):
        """The largest margin of a pair; 0 if none is larger."""
        counted = self.n_pairs > 0
        scores, relevant = scores[counted], self.relevant[counted]
        highest = np.where(relevant, scores, -np.inf).max(axis=1)
        lowest = np.where(relevant, np.inf, scores).min(axis=1)
        return np.max(highest - lowest, initial=0.0)

    def evaluate(self, scores):
        """Return L(scores) and the gradient coefficients G = −∇L(scores)."""
        gradient = np.empty(self.shape)
        value = 0.0
        for rows in self._row_chunks:
            value += _pair_loss.evaluate(scores[rows], *self.rows(rows), gradient[rows])
        return value, gradient

    def curvature(self, scores):
        """The Hessian at ``scores``, as Newton's method takes it."""
        return PairCurvature(self, scores)

    def hessian_product(self, scores, direction, shift=None):
        """Return the generalised Hessian of L at ``scores`` applied to ``direction + shift``.

        ``shift`` is a row that is added to all rows of ``direction``, in double precision.
        """
        result = np.empty_like(direction)
        shift = np.zeros(self.shape[1]) if shift is None else shift
        for rows in self._row_chunks:
            _pair_loss.hessian_product(
                scores[rows], direction[rows], shift, *self.rows(rows), result[rows]
            )
        return result

    def hessian_diagonal(self, scores):
        """Return the diagonal of the generalised Hessian of L at ``scores``."""
        result = np.empty(self.shape)
        for rows in self._row_chunks:
            _pair_loss.hessian_diagonal(scores[rows], *self.rows(rows), result[rows])
        return result

    def proximal_points(self, scores, coefficients, kappa):
        """Return argmin_S ‖S − (scores − κ·coefficients)‖² / 2κ + L(S)."""
        result = np.empty(self.shape)
        for rows in self._row_chunks:
            _block.proximal_points(
                scores[rows], coefficients[rows], kappa, *self.rows(rows), result[rows]
            )
        return result

    def curvature_modes(self, scores):
        """The modes of the Hessian (q × q) at ``scores``, averaged over the rows.

        With very many labels the off-diagonal part of the average is small and is left out.
        """
        m, q = self.shape
        if q > MAX_COUPLED_LABELS:
            return Modes(self.hessian_diagonal(scores).mean(axis=0), None)
        total = np.zeros((q, q))
        for rows in self._row_chunks:
            _pair_loss.add_hessian(scores[rows], *self.rows(rows), total)
        return Modes.of(total / m)


class ConfidenceLoss:
    """The two-sided squared loss on all label pairs, weighted by differences of confidence.

    L(F) = Σ_i c_i Σ_{k,l : p_ik > p_il} (p_ik − p_il) ℓ(f_ik − f_il),   ℓ as in ``PairLoss``.

    Parameters
    ----------
    confidences : ndarray of shape (m, q)
        P, from 0 to 1.
    weight : ndarray of shape (m,)
        c.
    theta, mu : float
        As in ``PairLoss``.
    candidates : ndarray of shape (m, q), bool, optional
        If given, only pairs of a candidate and a label that is none count.
    """

    def __init__(self, confidences, weight, theta, mu, candidates=None):
        rank = -confidences if candidates is None else np.where(candidates, -confidences, 1.0)
        self.order = np.argsort(rank, axis=1, kind="stable").astype(np.int32)
        self.first_other = np.zeros(len(confidences), dtype=np.int32)
        if candidates is not None:
            self.first_other += candidates.sum(axis=1, dtype=np.int32)
        self.sorted = np.take_along_axis(confidences, self.order, axis=1)
        self.n_positive = np.count_nonzero(self.sorted > 0.0, axis=1).astype(np.int32)
        self.weight = np.ascontiguousarray(weight, dtype=np.float64)
        self.lower, self.upper, self.mu = 1.0 - theta, 1.0 + theta, float(mu)
        self.shape = confidences.shape
        n_pairs = np.cumsum(self.n_positive.astype(np.int64) * self.shape[1])
        self._row_chunks = chunks(n_pairs, PAIRS_PER_CALL)

    @property
    def at_zero(self):
        """L(0)."""
        return self.evaluate(np.zeros(self.shape))[0]

    def rows(self, rows):
        """The arguments that describe some rows to compiled code."""
        return (
            self.order[rows],
            self.n_positive[rows],
            self.first_other[rows],
            self.sorted[rows],
            self.weight[rows],
            self.lower,
            self.upper,
            self.mu,
        )

    def evaluate(self, scores):
        """Return L(scores) and the gradient coefficients G = −∇L(scores)."""
        gradient = np.empty(self.shape)
        value = 0.0
        for rows in self._row_chunks:
            value += _confidence_loss.evaluate(scores[rows], *self.rows(rows), gradient[rows])
        return value, gradient

    def curvature(self, scores):
        """The Hessian at ``scores``, as Newton's method takes it."""
        return ConfidenceCurvature(self, scores)


class ConfidenceCurvature:
    """The generalised Hessian of a ``ConfidenceLoss`` at given scores."""

    def __init__(self, loss, scores):
        self.loss, self.scores = loss, scores
        q = loss.shape[1]
        self.total, self.entries = np.zeros((q, q)), np.empty(loss.shape)
        for rows in loss._row_chunks:
            _confidence_loss.add_hessian(
                scores[rows], *loss.rows(rows), self.total, self.entries[rows]
            )

    def product(self, V):
        """D V."""
        result = np.empty(self.loss.shape)
        for rows in self.loss._row_chunks:
            _confidence_loss.hessian_product(
                self.scores[rows], V[rows], *self.loss.rows(rows), result[rows]
            )
        return result

    def diagonal(self):
        """The diagonal of D (m × q)."""
        return self.entries

    def modes(self):
        """The modes of D, averaged over the rows."""
        return Modes.of(self.total / self.loss.shape[0])


@dataclass
class PairCurvature:
    """The generalised Hessian of a ``PairLoss`` at given scores."""

    loss: PairLoss
    scores: np.ndarray

    def product(self, V, shift=None):
        """D V, or D (V + shift) for a row that is added to all rows of V."""
        return self.loss.hessian_product(self.scores, V, shift)

    def diagonal(self):
        """The diagonal of D (m × q)."""
        return self.loss.hessian_diagonal(self.scores)

    def modes(self):
        """The modes of D, averaged over the rows."""
        return self.loss.curvature_modes(self.scores)


@dataclass
class Modes:
    """Eigenvalues and eigenvectors of a q × q matrix; no vectors where it is diagonal."""

    values: np.ndarray
    vectors: np.ndarray | None

    @classmethod
    def of(cls, matrix):
        """The modes of a positive semidefinite matrix."""
        values, vectors = np.linalg.eigh(matrix)
        return cls(np.maximum(values, 0.0), vectors)

    def split(self, V):
        """Rows of V in the basis of the eigenvectors."""
        return V if self.vectors is None else V @ self.vectors

    def join(self, V):
        """The inverse of ``split``."""
        return V if self.vectors is None else V @ self.vectors.T
