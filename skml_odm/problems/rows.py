"""The losses that ``row_ascent`` minimises, with their certificates."""

import numpy as np

from ..solvers.result import FULL, Result
from ._binary_rows import BinaryRows
from ._covariance_rows import CovarianceRows
from ._separation import SeparationRows, project_rows


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

    Attributes
    ----------
    sides : pair of ndarrays of shape (m, q), bool
        Which labels are relevant, and which are not.
    coefficients : ndarray of shape (m, q)
        A; zero at first.
    matrix, between_labels : ndarray
        R and Θ; where they are learned, those of the coefficients that were certified last.
    rows : RowProblem
        The rows' problems in compiled code, which change A, and Θ where it is learned.
    """

    def __init__(self, indicator, beta, covariance, sample_weight=None):
        m = len(indicator)
        self.indicator = indicator
        self.sides = indicator, ~indicator
        self.sign = np.where(indicator, 1.0, -1.0)
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
        twin = type(self)(self.indicator, self.beta, self.covariance, self.weight)
        twin.coefficients[:] = self.coefficients
        return twin

    def can_start(self, other):
        """Whether another problem has the same rows and labels, and this one has not failed."""
        same = np.array_equal(self.indicator, other.indicator) and np.array_equal(
            self.weight > 0.0, other.weight > 0.0
        )
        return same and bool(np.isfinite(self.coefficients.sum()))

    def start_from(self, other, operator):
        """Begin where another problem of the same rows and labels has ended.

        What is at a bound stays there; the other multipliers grow with β, which leaves the scores
        as they are.
        """
        multipliers = np.abs(other.coefficients)
        wider = np.divide(
            self.weight, other.weight, out=np.ones(len(multipliers)), where=other.weight > 0.0
        )
        multipliers *= np.where(other.full(multipliers), wider[:, None], self.beta / other.beta)
        self.project(multipliers)
        np.multiply(self.sign, multipliers, out=self.coefficients)
        # what compiled code follows belongs to the coefficients
        self.certify(operator)

    @property
    def at_zero(self):
        """The primal value of zero coefficients; R is then as close to I as it gets."""
        return self._worst(np.ones(self.indicator.shape)).sum()

    @property
    def covariance_at_zero(self):
        """R that goes with zero coefficients."""
        return self.covariance.matrix(np.zeros(self.between_labels.shape))

    def dual_value(self, total, gram):
        """The dual value of coefficients A with Σ|A| and Aᵀ K A."""
        matrix = self.covariance.matrix(gram)
        quadratic = np.vdot(gram, self.covariance.between_labels(matrix)) / self.beta
        return total - 0.5 * quadratic + self.covariance.penalty(matrix)

    def value_of(self, operator, coefficients, half):
        """A Result for any coefficients Ã with scores K Ã Lᵀ, L Lᵀ = Θ/β; its dual value is 0."""
        products = operator.product(coefficients)
        scores = products @ half.T
        worst = self._worst(1.0 - self.sign * scores).sum()
        primal = worst + 0.5 * np.vdot(coefficients, products)
        primal += self.covariance.penalty(self.matrix)
        return self._result(operator, coefficients @ half.T, scores, primal, primal)

    def certify(self, operator):
        """A Result for the present coefficients, everything computed anew."""
        A = self.coefficients
        products = operator.product(A)
        self.matrix = self.covariance.matrix(A.T @ products)
        # what compiled code has followed so far starts anew, without its rounding
        self.between_labels[:] = self.covariance.between_labels(self.matrix)
        weights = self.between_labels / self.beta
        scores = products @ weights
        residuals = 1.0 - self.sign * scores
        worst = self._worst(residuals)
        # by rows: a sum of nonnegative terms, without cancellation
        difference = np.sum(worst - np.sum(np.abs(A) * residuals, axis=1))
        primal = worst.sum() + 0.5 * np.vdot(A, scores) + self.covariance.penalty(self.matrix)
        self.rows.dual = primal - difference
        return self._result(operator, _without_rounding(A, weights), scores, primal, difference)

    def _result(self, operator, coefficients, scores, primal, difference):
        return Result(
            coefficients=coefficients,
            intercept=operator.intercept * coefficients.sum(axis=0),
            scores=scores,
            primal=primal,
            difference=difference,
            n_iter=0,
            converged=False,
            covariance=self.matrix,
        )


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
            result |= side & (sums >= FULL * self.weight)[:, None]
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
        return multipliers >= FULL * self.weight[:, None]

    def _worst(self, residuals):
        return self.weight * np.maximum(residuals, 0.0).sum(axis=1)
