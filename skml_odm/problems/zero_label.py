"""The loss over label pairs with one more label, 0, between relevant and irrelevant ones.

The pairs (k, 0) of relevant labels and (0, l) of irrelevant ones have half the weight that the
pairs (k, l) have together, on either side:

    L(F) = Σ_i C s_i ( Σ_{k∈Y_i, l∈N_i} ℓ(f_ik − f_il) / |Y_i||N_i|
                       + Σ_{k∈Y_i} ℓ(f_ik − f_i0) / 2|Y_i| + Σ_{l∈N_i} ℓ(f_i0 − f_il) / 2|N_i| ).

A row without relevant labels keeps the last term, one without irrelevant labels the second one.
"""

from copy import copy
from dataclasses import dataclass

import numpy as np

from ._block import proximal_points
from ._pair_loss import Pairs
from .pairs import Modes, PairCurvature, PairLoss

# The weight of a side's pairs with label 0, where those of a row's labels have the weight 1.
SHARE = 0.5


class ZeroLabelLoss:
    """The sum of three pair losses on q + 1 labels, of which the last one is label 0.

    Parameters
    ----------
    indicator : ndarray of shape (m, q), bool
        Which labels are relevant.
    C, theta, mu : float
    sample_weight : ndarray of shape (m,), optional
        As in ``PairLoss``.

    Attributes
    ----------
    parts : list of PairLoss
        Relevant against irrelevant labels, relevant labels against label 0, and label 0 against
        irrelevant labels.
    shape : tuple of int
        (m, q + 1)
    """

    zero_sums = True

    def __init__(self, indicator, C, theta, mu, sample_weight=None):
        m, q = indicator.shape
        self.shape = (m, q + 1)
        weight = np.ones(m) if sample_weight is None else sample_weight
        relevant, zero = np.zeros((2, m, q + 1), dtype=bool)
        relevant[:, :-1], zero[:, -1] = indicator, True
        irrelevant = ~(relevant | zero)
        self.parts = [
            PairLoss(above, C, theta, mu, share * weight, involved=above | below)
            for above, below, share in (
                (relevant, irrelevant, 1.0),
                (relevant, zero, SHARE),
                (zero, irrelevant, SHARE),
            )
        ]

    @property
    def pairs(self):
        """All pairs, for block steps."""
        between, above, below = self.parts
        weight = np.column_stack([above.weight, below.weight])
        return Pairs(
            between.order,
            between.n_relevant,
            between.n_involved,
            between.weight,
            self.lower,
            self.upper,
            self.mu,
            weight,
        )

    def proximal_points(self, scores, coefficients, kappa):
        """Return argmin_S ‖S − (scores − κ·coefficients)‖² / 2κ + L(S)."""
        result = np.empty(self.shape)
        proximal_points(self.pairs, scores, coefficients, kappa, result)
        return result

    @property
    def C(self):
        return self.parts[0].C

    @property
    def lower(self):
        return self.parts[0].lower

    @property
    def upper(self):
        return self.parts[0].upper

    @property
    def mu(self):
        return self.parts[0].mu

    @property
    def at_zero(self):
        """L(0)."""
        return sum(part.at_zero for part in self.parts)

    def with_parameters(self, C, theta, mu):
        """The loss of the same labels with other parameters."""
        other = copy(self)
        other.parts = [part.with_parameters(C, theta, mu) for part in self.parts]
        return other

    def widest(self, scores):
        """The largest margin of a pair; 0 if none is larger."""
        return max(part.widest(scores) for part in self.parts)

    def evaluate(self, scores):
        """Return L(scores) and the gradient coefficients G = −∇L(scores)."""
        value, gradient = self.parts[0].evaluate(scores)
        for part in self.parts[1:]:
            more, its_gradient = part.evaluate(scores)
            value += more
            gradient += its_gradient
        return value, gradient

    def curvature(self, scores):
        """The Hessian at ``scores``, as Newton's method takes it."""
        return SumCurvature([part.curvature(scores) for part in self.parts])


def differences(values):
    """What the labels have more than label 0, the last one: of coefficients or of scores."""
    return values[..., :-1] - values[..., -1:]


def with_zero_label(coefficients):
    """The coefficients, rows of which sum to zero, whose ``differences`` these are."""
    q = coefficients.shape[1]
    zero = -coefficients.sum(axis=1, keepdims=True) / (q + 1)
    return np.hstack([coefficients + zero, zero])


@dataclass
class SumCurvature:
    """The Hessian of a sum of pair losses."""

    parts: list[PairCurvature]

    def product(self, V):
        """D V."""
        return sum(part.product(V) for part in self.parts)

    def diagonal(self):
        """The diagonal of D (m × q + 1)."""
        return sum(part.diagonal() for part in self.parts)

    def modes(self):
        """The modes of D, averaged over the rows."""
        return Modes.of(sum(part.average() for part in self.parts))
