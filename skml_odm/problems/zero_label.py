"""The loss over label pairs with one more label, 0, between relevant and irrelevant ones.

The pairs (k, 0) of relevant labels and (0, l) of irrelevant ones have half the weight that the
pairs (k, l) have together, on either side:

    L(F) = Σ_i C s_i ( Σ_{k∈Y_i, l∈N_i} ℓ(f_ik − f_il) / |Y_i||N_i|
                       + Σ_{k∈Y_i} ℓ(f_ik − f_i0) / 2|Y_i| + Σ_{l∈N_i} ℓ(f_i0 − f_il) / 2|N_i| ).

A row without relevant labels keeps the last term, one without irrelevant labels the second one.
"""

from copy import copy

import numpy as np

from .pairs import PairCurvature, PairLoss

# The weight of a side's pairs with label 0, where those of a row's labels have the weight 1.
ZERO_PAIR_WEIGHT = 0.5


class ZeroLabelLoss(PairLoss):
    """A ``PairLoss`` on q + 1 labels, of which the last one is label 0.

    Solvers that keep multipliers of pairs (m3, Frank-Wolfe) do not know of it.

    Parameters
    ----------
    indicator : ndarray of shape (m, q), bool
        Which labels are relevant.
    C, theta, mu, sample_weight, involved
        As in ``PairLoss``.

    Attributes
    ----------
    zero_weight : ndarray of shape (m, 2)
        Weights of the pairs of relevant and of irrelevant labels with label 0.
    """

    def __init__(self, indicator, C, theta, mu, sample_weight=None, involved=None):
        m, q = indicator.shape
        n_relevant = indicator.sum(axis=1)
        n_involved = q if involved is None else involved.sum(axis=1)
        self.n_zero_pairs = np.column_stack([n_relevant, n_involved - n_relevant])
        weight = np.full(m, C) if sample_weight is None else C * sample_weight
        self.zero_weight = ZERO_PAIR_WEIGHT * weight[:, None] / np.maximum(self.n_zero_pairs, 1)
        wide = np.pad(indicator, ((0, 0), (0, 1)))
        others = np.arange(q + 1) < q
        if involved is not None:
            others = others & np.pad(involved, ((0, 0), (0, 1)))
        super().__init__(wide, C, theta, mu, sample_weight, involved=others)

    def _kinds(self):
        kinds = super()._kinds()
        kinds[:, -1] = 2
        return kinds

    def with_parameters(self, C, theta, mu):
        other = copy(self)
        other.zero_weight = self.zero_weight * (float(C) / self.C)
        return super(ZeroLabelLoss, other).with_parameters(C, theta, mu)

    @property
    def at_zero(self):
        """L(0)."""
        pairs_with_zero = 0.5 * self.lower**2 * np.vdot(self.zero_weight, self.n_zero_pairs)
        return super().at_zero + float(pairs_with_zero)

    def widest(self, scores):
        """The largest margin of a pair; 0 if none is larger."""
        counted = self.zero_weight.any(axis=1)
        margins = differences(scores[counted])
        margins *= self.relevant[counted, :-1].astype(float) - self.irrelevant[counted, :-1]
        return max(super().widest(scores), np.max(margins, initial=0.0))

    def curvature(self, scores):
        """The Hessian at ``scores``, as Newton's method takes it."""
        return ZeroLabelCurvature(self, scores)


class ZeroLabelCurvature(PairCurvature):
    """The generalised Hessian D of a ``ZeroLabelLoss`` at given scores."""

    def diagonal(self):
        """The diagonal of D (m × q + 1)."""
        relevant = self.loss.relevant
        upper = relevant.astype(float)
        # a relevant label's pairs are with labels below it, an irrelevant one's with labels above
        above = self.product(upper)
        upper[:, -1] = 1.0
        below = self.product(upper)
        diagonal = np.where(relevant, above, -below)
        diagonal[:, -1] = below[:, -1] - above[:, -1]
        return diagonal


def differences(values):
    """What the labels have more than label 0, the last one: of coefficients or of scores."""
    return values[..., :-1] - values[..., -1:]


def with_zero_label(coefficients):
    """The coefficients, rows of which sum to zero, whose ``differences`` these are."""
    q = coefficients.shape[1]
    zero = -coefficients.sum(axis=1, keepdims=True) / (q + 1)
    return np.hstack([coefficients + zero, zero])
