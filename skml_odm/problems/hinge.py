"""Rank-SVM's hinge loss on label pairs, its multipliers, and the loss smoothed around them.

    min_{A, b}  P(A, b) = ½⟨A, K A⟩ + L(K A + b),    L(F) = Σ_i c_i Σ_kl (1 − f_ik + f_il)₊
    max_α       D(α)    = Σ α − ½⟨A, K A⟩,           0 ≤ α_ikl ≤ c_i,   Σ_i A_i = 0

with A_ik = Σ_l α_ikl for relevant labels and A_il = −Σ_k α_ikl for irrelevant ones. The balance
equations Σ_i A_i = 0 belong to the biases b; a problem without biases has none.
"""

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from ._hinge import HingePairs
from .covariance import ROUNDING
from .pairs import LabelPairs, Modes

# The biases that a penalty must allow, where the loss asks for margins of 1.
REACH = 10.0


class HingeLoss(LabelPairs):
    """L(F) = Σ_i c_i Σ_{k∈Y_i, l∈N_i} (1 − f_ik + f_il)₊; parameters as in ``LabelPairs``."""

    @property
    def at_zero(self):
        """L(0)."""
        return float(self.weight @ self.n_pairs)

    def pairs(self, component):
        """The pairs for compiled code; ``component`` as in ``HingePairs``."""
        return HingePairs(
            self.order, self.n_relevant, self.n_involved, self.weight, self.first, component
        )

    def evaluate(self, scores):
        """Return L(scores) and its gradient coefficients, those of pairs with margin 1 zero."""
        gradient = np.empty(self.shape)
        value = self.pairs(np.zeros(self.shape[1], np.int32)).value(scores, gradient)
        return value, gradient


class PairMultipliers:
    """The multipliers of all pairs, row by row, and the biases b.

    Seen as arcs from irrelevant to relevant labels, balanced multipliers are a circulation: they
    vanish on arcs between different strongly connected components, such as those of a label that
    is relevant always or never.

    Parameters
    ----------
    loss : HingeLoss
    balanced : bool
        Whether the problem has biases.
    """

    def __init__(self, loss, balanced):
        self.loss = loss
        self.shape = loss.shape
        self.balanced = balanced
        self.values = np.zeros(loss.n_pairs.sum())
        self.biases = np.zeros(loss.shape[1])
        self.component = _components(loss) if balanced else np.zeros(loss.shape[1], np.int32)
        self.pairs = loss.pairs(self.component)

    @property
    def bounds(self):
        """c of every pair."""
        return np.repeat(self.loss.weight, self.loss.n_pairs)

    def copy(self):
        """The same multipliers and biases, to be changed independently."""
        twin = PairMultipliers(self.loss, self.balanced)
        twin.start_from(self)
        return twin

    def can_start(self, other):
        """Whether another problem has the same pairs, and this one has not failed."""
        same = all(
            np.array_equal(getattr(self.loss, name), getattr(other.loss, name))
            for name in ("relevant", "irrelevant", "n_pairs")
        )
        return same and bool(np.isfinite(self.values.sum() + self.biases.sum()))

    def start_from(self, other):
        """Begin where another problem with the same pairs has ended.

        Multipliers at their upper bounds stay there, the others keep their values.
        """
        bounds = self.bounds
        np.minimum(other.values, bounds, out=self.values)
        full = other.values >= (1.0 - ROUNDING) * other.bounds
        self.values[full] = bounds[full]
        self.biases[:] = other.biases

    def penalty(self, kappa):
        """ρ for the kernel K + ρ: κ, or more for a small C.

        Biases are ρ Σ_i A_i, and the label sums cannot exceed what the bounds of the multipliers
        allow: this much must suffice for biases of size ``REACH``.
        """
        if not self.balanced:
            return 0.0
        capacity = self.loss.weight @ self.loss.n_pairs
        return max(kappa, REACH * self.shape[1] / capacity if capacity > 0.0 else 0.0)

    def coefficients(self):
        """A of the multipliers."""
        A = np.empty(self.shape)
        self.pairs.shift_free(np.zeros(self.shape[1]), self.values, A)
        return A

    def balance(self):
        """Multipliers with Σ_i A_i = 0, or as close to that as is easy, and their A.

        Every multiplier is moved by −α(1 − α/c)(φ_k − φ_l), φ the solution of a q × q system. None
        leaves its box while φ varies by less than 1, and none at a bound moves: near the optimum,
        where the others have margin 1, the dual value hardly changes.
        """
        values, A = self.values.copy(), self.coefficients()
        # once more for rounding, and where the full step would leave the boxes
        for _ in range(3):
            laplacian = np.zeros(2 * self.biases.shape)
            self.pairs.free_laplacian(values, laplacian)
            potential = np.linalg.lstsq(laplacian, A.sum(axis=0), rcond=1e-13)[0]
            potential /= max(1.0, np.ptp(potential))
            self.pairs.shift_free(potential, values, A)
        return values, A

    def smoothed(self, width):
        """The loss smoothed around these multipliers and biases."""
        return SmoothHinge(self, width)


def _components(loss):
    """The strongly connected component of each label; arcs go from irrelevant to relevant ones."""
    used = loss.weight > 0
    relevant, irrelevant = (
        side[used].astype(np.float64) for side in (loss.relevant, loss.irrelevant)
    )
    arcs = irrelevant.T @ relevant > 0
    return connected_components(csr_matrix(arcs), connection="strong")[1].astype(np.int32)


class SmoothHinge:
    """The loss smoothed around the multipliers and biases of a state; see ``_hinge``.

    Attributes
    ----------
    multipliers : ndarray
        Those of the scores that were evaluated last.
    """

    def __init__(self, state, width):
        self.shape, self.pairs, self.width = state.shape, state.pairs, width
        self.centre, self.biases, self.bounds = state.values.copy(), state.biases, state.bounds
        self.multipliers = np.empty_like(self.centre)

    def evaluate(self, scores):
        """Return the loss and its gradient coefficients."""
        gradient = np.empty(self.shape)
        value = self.pairs.smooth_value(
            scores + self.biases, self.centre, self.width, gradient, self.multipliers
        )
        return value, gradient

    def distance(self):
        """Σ w (α − α⁰)² / 2c for the scores that were evaluated last."""
        moved = self.multipliers - self.centre
        return 0.5 * self.width * np.sum(moved * moved / self.bounds)

    def curvature(self, scores):
        """The Hessian at ``scores``."""
        return HingeCurvature(self, scores)


class HingeCurvature:
    """The Hessian of a ``SmoothHinge``: c / w on the pairs whose multipliers are free."""

    def __init__(self, smooth, scores):
        self.pairs, self.width = smooth.pairs, smooth.width
        m, q = smooth.shape
        self.curved = np.zeros(len(smooth.centre), dtype=np.uint8)
        self.average, self.entries = np.zeros((q, q)), np.empty((m, q))
        self.pairs.mark_curved(
            scores + smooth.biases,
            smooth.centre,
            self.width,
            self.curved,
            self.average,
            self.entries,
        )
        self.average /= m

    def product(self, V):
        """D V."""
        result = np.empty_like(V)
        self.pairs.hessian_product(V, self.curved, self.width, result)
        return result

    def diagonal(self):
        """The diagonal of D (m × q)."""
        return self.entries

    def modes(self):
        """The modes of D, averaged over the rows."""
        return Modes.of(self.average)
