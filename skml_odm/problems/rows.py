"""Losses that couple the labels of a row and nothing else, with multipliers on the labels.

With label covariances Θ, a kernel K and coefficients A (m × q), A = sign · multipliers,

    D = K A Θ / β,        primal  ½ ⟨A, D⟩ + Σ_i loss_i(D_i),        dual  Σ |A| − ½ ⟨A, D⟩.

Where Θ is learned, primal and dual value both contain ½α‖R − I‖², with the R that is best for A.
Their difference is then the gap of the saddle point problem over R and A.

The smoothed loss has −½ Σ w (m − m⁰)² / c added to the dual around given multipliers m⁰, c the
row's weight: the multipliers of scores with residuals r are the projection of m⁰ + c r / w onto
their bounds. With Θ/β = L Lᵀ, coefficients Ã = A L and F̃ = K Ã the scores are D = F̃ Lᵀ, and the
quadratic term is ½⟨Ã, F̃⟩: in these coordinates it is a problem for Newton's method.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from ..utils.numbers import TINY
from ._binary_rows import BinaryRows
from ._covariance_rows import CovarianceRows
from ._separation import SeparationRows, project_rows
from .covariance import ROUNDING
from .pairs import Modes


class RowValues(NamedTuple):
    """A model, as coefficients with scores K · coefficients, and what its objectives are."""

    coefficients: np.ndarray
    scores: np.ndarray
    primal: float
    difference: float
    """Primal minus dual value."""


class RowLoss:
    """A loss that couples the labels of a row and nothing else.

    Parameters
    ----------
    indicator : ndarray of shape (m, q), bool
        Which labels are relevant.
    beta : float
        Weight of the regulariser.
    covariance : LabelCovariance
    sample_weight : ndarray of shape (m,), optional
    involved : ndarray of shape (m, q), bool, optional
        Which labels take part in the row; all by default. The others have no loss, and no
        multiplier.

    Attributes
    ----------
    sides : pair of ndarrays of shape (m, q), bool
        Which labels are relevant, and which are irrelevant.
    sign : ndarray of shape (m, q)
        1 for relevant labels, −1 for irrelevant ones, 0 for those that are not involved.
    coefficients : ndarray of shape (m, q)
        A; zero at first.
    matrix, between_labels : ndarray
        R and Θ; where they are learned, those of the coefficients that were evaluated last.
    rows : RowProblem
        The rows' problems in compiled code, which change A, and Θ where it is learned.
    """

    def __init__(self, indicator, beta, covariance, sample_weight=None, involved=None):
        m = len(indicator)
        self.indicator = indicator
        self.involved = np.True_ if involved is None else involved
        self.shape = indicator.shape
        self.sides = indicator & self.involved, ~indicator & self.involved
        self.sign = np.where(indicator, 1.0, -1.0) * self.involved
        self.weight = np.ones(m) if sample_weight is None else sample_weight
        self.beta = float(beta)
        self.covariance = covariance
        self.coefficients = np.zeros(indicator.shape)
        self.matrix = covariance.matrix(np.zeros((indicator.shape[1],) * 2))
        self.between_labels = covariance.between_labels(self.matrix)
        self.rows = self._rows()
        self.rows.dual = covariance.penalty(self.matrix)

    def copy(self):
        """The same problem at the same coefficients, to be solved independently."""
        twin = type(self)(self.indicator, self.beta, self.covariance, self.weight, self.involved)
        twin.start_from(self)
        return twin

    def can_start(self, other):
        """Whether another problem has the same rows and labels, and this one has not failed."""
        same = np.array_equal(self.sign, other.sign) and np.array_equal(
            self.weight > 0.0, other.weight > 0.0
        )
        return same and bool(np.isfinite(self.coefficients.sum()))

    def start_from(self, other):
        """Begin where another problem of the same rows and labels has ended.

        What is at a bound stays there; the other multipliers grow with β, which leaves the scores
        as they are. A problem that does not start at zero is to be evaluated first.
        """
        multipliers = np.abs(other.coefficients)
        wider = np.divide(
            self.weight, other.weight, out=np.ones(len(multipliers)), where=other.weight > 0.0
        )
        multipliers *= np.where(other.full(multipliers), wider[:, None], self.beta / other.beta)
        self.project(multipliers)
        np.multiply(self.sign, multipliers, out=self.coefficients)

    @property
    def at_zero(self):
        """The primal value of zero coefficients; R is then as close to I as it gets."""
        return self._worst(self.residuals(np.zeros(self.shape))).sum()

    def residuals(self, scores):
        """What labels lack of a margin of 1; nothing if they are not involved."""
        return self.involved - self.sign * scores

    @property
    def covariance_at_zero(self):
        """R that goes with zero coefficients."""
        return self.covariance.matrix(np.zeros(self.between_labels.shape))

    def evaluate(self, products):
        """RowValues of the present coefficients, given K A; R and Θ become those of A."""
        A = self.coefficients
        self.matrix = self.covariance.matrix(A.T @ products)
        # what compiled code has followed so far starts anew, without its rounding
        self.between_labels[:] = self.covariance.between_labels(self.matrix)
        weights = self.between_labels / self.beta
        scores = products @ weights
        residuals = self.residuals(scores)
        worst = self._worst(residuals)
        # by rows: a sum of nonnegative terms, without cancellation
        difference = np.sum(worst - np.sum(np.abs(A) * residuals, axis=1))
        primal = worst.sum() + 0.5 * np.vdot(A, scores) + self.covariance.penalty(self.matrix)
        self.rows.dual = primal - difference
        return RowValues(_without_rounding(A, weights), scores, primal, difference)

    def half(self):
        """L with L Lᵀ = Θ/β, square and, where Θ is, invertible."""
        values, vectors = np.linalg.eigh(self.between_labels / self.beta)
        return vectors * np.sqrt(np.maximum(values, 0.0))

    def values_of(self, coefficients, products, half):
        """RowValues of any coefficients Ã, given K Ã, without a dual value."""
        scores = products @ half.T
        primal = self._worst(self.residuals(scores)).sum()
        primal += 0.5 * np.vdot(coefficients, products) + self.covariance.penalty(self.matrix)
        return RowValues(coefficients @ half.T, scores, primal, primal)

    def dual_value(self, total, gram):
        """The dual value of coefficients A with Σ|A| and Aᵀ K A."""
        matrix = self.covariance.matrix(gram)
        quadratic = np.vdot(gram, self.covariance.between_labels(matrix)) / self.beta
        return total - 0.5 * quadratic + self.covariance.penalty(matrix)

    def move(self, following, product):
        """Take over new coefficients; ``product`` maps V to K V.

        They are the solution for a fixed covariance. If that is learned, the coefficients move
        towards them as far as the dual value rises.
        """
        A = self.coefficients
        if self.covariance.is_learned:
            step = following - A
            products, change = product(A), product(step)
            gram, cross, square = A.T @ products, A.T @ change, step.T @ change
            total, growth = np.abs(A).sum(), np.abs(following).sum() - np.abs(A).sum()

            def fall(t):
                return -self.dual_value(
                    total + t * growth, gram + t * (cross + cross.T) + t * t * square
                )

            found = minimize_scalar(fall, bounds=(0.0, 1.0), method="bounded")
            t = min((0.0, found.x, 1.0), key=fall)
            following = following if t == 1.0 else A + t * step
        A[:] = following

    def smoothed(self, width, half):
        """The loss smoothed around the present coefficients, in the coordinates of L."""
        return SmoothRows(self, half, width)


def _without_rounding(A, weights):
    """A Θ/β with zeros where nothing but rounding is left of the sums.

    Labels without coefficients of their own get their row's sum over all labels. It is zero where
    both sides of the row are at their bounds.
    """
    product = A @ weights
    rounding = len(weights) * np.finfo(np.float64).eps * (np.abs(A) @ np.abs(weights))
    product[np.abs(product) <= rounding] = 0.0
    return product


class SeparationLoss(RowLoss):
    """w_i (max_{l∈Y_i} (1 − d_il)₊ + max_{l∈N_i} (1 + d_il)₊); parameters as in ``RowLoss``."""

    def _rows(self):
        covariance = self.covariance
        common = self.coefficients, self.sign, self.weight, self.beta, float(covariance.dummy)
        if covariance.is_identity:
            return SeparationRows(*common)
        return CovarianceRows(*common, self.between_labels, covariance.alpha)

    def project(self, multipliers):
        """Bring multipliers to their bounds, in place; which are free, and which sums are held."""
        held = np.empty((len(multipliers), 2))
        project_rows(self.sign, self.weight, multipliers, held)
        return multipliers > 0.0, held

    def full(self, multipliers):
        """Which multipliers are on a side whose sum is at its bound."""
        result = np.zeros(multipliers.shape, dtype=bool)
        for side in self.sides:
            sums = np.where(side, multipliers, 0.0).sum(axis=1)
            result |= side & (sums >= (1.0 - ROUNDING) * self.weight)[:, None]
        return result

    def _worst(self, residuals):
        tops = (np.where(side, residuals, 0.0).max(axis=1) for side in self.sides)
        return self.weight * sum(np.maximum(top, 0.0) for top in tops)


class BinaryLoss(RowLoss):
    """w_i Σ_l (1 − z_il d_il)₊, z = ±1; parameters as in ``RowLoss``."""

    def _rows(self):
        coupled = np.count_nonzero(self.between_labels) > len(self.between_labels)
        return BinaryRows(
            self.coefficients, self.sign, self.weight, self.beta, self.between_labels, coupled
        )

    def project(self, multipliers):
        """Bring multipliers to their bounds, in place; which are free, and which sums are held."""
        most = self.weight[:, None]
        free = (multipliers > 0.0) & (multipliers < most)
        np.clip(multipliers, 0.0, most, out=multipliers)
        return free, np.zeros((len(multipliers), 2))

    def full(self, multipliers):
        """Which multipliers are at their bounds."""
        return multipliers >= (1.0 - ROUNDING) * self.weight[:, None]

    def _worst(self, residuals):
        return self.weight * np.maximum(residuals, 0.0).sum(axis=1)


class SmoothRows:
    """The smoothed loss around a problem's coefficients, in the coordinates F̃.

    Attributes
    ----------
    multipliers : ndarray of shape (m, q)
        Those of the scores that were evaluated last.
    """

    def __init__(self, problem, half, width):
        self.problem, self.half, self.shape = problem, half, problem.shape
        self.centre = np.abs(problem.coefficients)
        self.reach = problem.weight[:, None] / width

    def evaluate(self, scores):
        """Return the loss and its gradient coefficients."""
        residuals, self.multipliers, _, _ = self._at(scores)
        value = np.vdot(self.multipliers, residuals) - self.distance()
        return value, (self.problem.sign * self.multipliers) @ self.half

    def distance(self):
        """½ Σ w (m − m⁰)² / c for the scores that were evaluated last."""
        moved = self.multipliers - self.centre
        return 0.5 * np.sum(moved * moved / np.maximum(self.reach, TINY))

    def curvature(self, scores):
        """The Hessian at ``scores``."""
        _, _, free, held = self._at(scores)
        return RowCurvature(free * self.reach, held, self.problem.sides, self.half)

    def _at(self, scores):
        """Residuals, multipliers, which of these are free, and which of their sums are held."""
        residuals = self.problem.residuals(scores @ self.half.T)
        multipliers = self.centre + self.reach * residuals
        return residuals, multipliers, *self.problem.project(multipliers)


class RowCurvature:
    """The Hessian of the smoothed loss: c/w on free labels, less their mean where a sum is held."""

    def __init__(self, free, held, sides, half):
        self.free, self.half = free, half
        self.sides = []
        for side, is_held in zip(sides, held.T, strict=True):
            among = free * side * is_held[:, None]
            total = among.sum(axis=1, keepdims=True)
            self.sides.append(among / np.sqrt(np.maximum(total, TINY)))

    def product(self, V):
        """D V."""
        U = V @ self.half.T
        result = self.free * U
        for side in self.sides:
            result -= side * np.sum(side * U, axis=1, keepdims=True)
        return result @ self.half

    def diagonal(self):
        """The diagonal of D (m × q)."""
        result = self.free @ self.half**2
        for side in self.sides:
            result -= (side @ self.half) ** 2
        return np.maximum(result, 0.0)

    def modes(self):
        """The modes of D, averaged over the rows."""
        total = np.diag(self.free.sum(axis=0))
        for side in self.sides:
            total -= side.T @ side
        return Modes.of(self.half.T @ total @ self.half / len(self.free))
