"""The loss over label pairs that are weighted by differences of confidence."""

import numpy as np

from ..utils.numbers import WORK_PER_CALL
from ._confidence_loss import ConfidenceRows
from .pairs import Modes, chunks


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
    involved : ndarray of shape (m, q), bool, optional
        Which labels are in pairs; all by default. The others have the confidence 0.
    """

    zero_sums = True

    def __init__(self, confidences, weight, theta, mu, candidates=None, involved=None):
        self.shape = confidences.shape
        self.lower, self.upper, self.mu = 1.0 - theta, 1.0 + theta, float(mu)
        rank = -confidences if candidates is None else np.where(candidates, -confidences, 1.0)
        n_involved = np.full(len(confidences), self.shape[1], dtype=np.int32)
        if involved is not None:
            rank = np.where(involved, rank, 2.0)
            n_involved = involved.sum(axis=1, dtype=np.int32)
        order = np.argsort(rank, axis=1, kind="stable").astype(np.int32)
        ordered = np.take_along_axis(confidences, order, axis=1)
        n_positive = np.count_nonzero(ordered > 0.0, axis=1).astype(np.int32)
        first_other = np.zeros(len(confidences), dtype=np.int32)
        if candidates is not None:
            first_other += candidates.sum(axis=1, dtype=np.int32)
        self.rows = ConfidenceRows(
            order,
            confidences=ordered,
            n_positive=n_positive,
            first_other=first_other,
            n_involved=n_involved,
            weight=np.ascontiguousarray(weight, dtype=np.float64),
            lower=self.lower,
            upper=self.upper,
            mu=self.mu,
        )
        n_pairs = np.cumsum(n_positive.astype(np.int64) * self.shape[1])
        self.calls = [(rows.start, rows.stop) for rows in chunks(n_pairs, WORK_PER_CALL)]

    @property
    def at_zero(self):
        """L(0)."""
        return self.evaluate(np.zeros(self.shape))[0]

    def evaluate(self, scores):
        """Return L(scores) and the gradient coefficients G = −∇L(scores)."""
        gradient = np.empty(self.shape)
        value = sum(self.rows.evaluate(scores, gradient, *ends) for ends in self.calls)
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
        for ends in loss.calls:
            loss.rows.add_hessian(scores, self.total, self.entries, *ends)

    def product(self, V):
        """D V."""
        result = np.empty(self.loss.shape)
        for ends in self.loss.calls:
            self.loss.rows.hessian_product(self.scores, V, result, *ends)
        return result

    def diagonal(self):
        """The diagonal of D (m × q)."""
        return self.entries

    def modes(self):
        """The modes of D, averaged over the rows."""
        return Modes.of(self.total / self.loss.shape[0])
