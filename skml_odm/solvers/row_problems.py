"""The losses that ``row_ascent`` minimises, with their certificates."""

import numpy as np

from ._binary_rows import BinaryRows
from ._covariance_rows import CovarianceRows
from ._separation import SeparationRows
from .result import Result


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
    coefficients : ndarray of shape (m, q)
        A; zero at first.
    rows : RowProblem
        The rows' problems in compiled code, which change A.
    """

    def __init__(self, indicator, beta, covariance, sample_weight=None):
        m = len(indicator)
        self.sign = np.where(indicator, 1.0, -1.0)
        self.weight = np.ones(m) if sample_weight is None else sample_weight
        self.beta = float(beta)
        self.covariance = covariance
        self.coefficients = np.zeros(indicator.shape)
        start = covariance.matrix(np.zeros((indicator.shape[1],) * 2))
        self.between_labels = covariance.between_labels(start)
        self.rows = self._rows()
        self.rows.dual = covariance.penalty(start)

    def certify(self, operator):
        """Scores, primal value and duality gap of the present coefficients, all computed anew."""
        A = self.coefficients
        products = operator.product(A)
        matrix = self.covariance.matrix(A.T @ products)
        # what compiled code has followed so far starts anew, without its rounding
        self.between_labels[:] = self.covariance.between_labels(matrix)
        weights = self.between_labels / self.beta
        scores = products @ weights
        residuals = 1.0 - self.sign * scores
        worst = self._worst(residuals)
        # by rows: a sum of nonnegative terms, without cancellation
        difference = np.sum(worst - np.sum(np.abs(A) * residuals, axis=1))
        penalty = self.covariance.penalty(matrix)
        primal = worst.sum() + 0.5 * np.vdot(A, scores) + penalty
        self.rows.dual = primal - difference
        coefficients = A @ weights
        return Result(
            coefficients=coefficients,
            intercept=operator.intercept * coefficients.sum(axis=0),
            scores=scores,
            primal=primal,
            difference=difference,
            n_iter=0,
            converged=False,
            covariance=matrix,
        )


class SeparationLoss(RowLoss):
    """w_i (max_{l∈Y_i} (1 − d_il)₊ + max_{l∈N_i} (1 + d_il)₊); parameters as in ``RowLoss``."""

    def _rows(self):
        covariance = self.covariance
        common = self.coefficients, self.sign, self.weight, self.beta, float(covariance.dummy)
        if covariance.is_identity:
            return SeparationRows(*common)
        return CovarianceRows(*common, self.between_labels, covariance.alpha)

    def _worst(self, residuals):
        relevant = self.sign > 0.0
        sides = (np.where(side, residuals, 0.0).max(axis=1) for side in (relevant, ~relevant))
        return self.weight * sum(np.maximum(side, 0.0) for side in sides)


class BinaryLoss(RowLoss):
    """w_i Σ_l (1 − z_il d_il)₊, z = ±1; parameters as in ``RowLoss``."""

    def _rows(self):
        coupled = np.count_nonzero(self.between_labels) > len(self.between_labels)
        return BinaryRows(
            self.coefficients, self.sign, self.weight, self.beta, self.between_labels, coupled
        )

    def _worst(self, residuals):
        return self.weight * np.maximum(residuals, 0.0).sum(axis=1)
