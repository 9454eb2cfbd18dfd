"""Dual ascent row by row, for losses that couple the labels of a row and nothing else.

For the problem see :mod:`skml_odm.problems.rows`; a row's own problem is small (``_separation``,
``_covariance_rows``, ``_binary_rows``). Rows are visited in random order (paper 002); rows that
were found at their optimum are visited again after 1, 2, 4, … epochs. K A is kept up to date: by
weights Xᵀ A for a linear kernel, otherwise by one product for the rows of a panel that moved.
"""

import numpy as np
from scipy import sparse

from ..features.operators import LinearOperator
from ._row_ascent import Weights, sweep_panel
from .certificates import row_certificate
from .iteration import finish
from .sweeps import PANEL_ROWS, Epoch, epochs

# Epochs between two visits of a row at most.
LONGEST_REST = 8


def row_ascent(operator, problem, *, tol, max_iter, random_state=None, verbose=0):
    """Solve the problem to a relative duality gap of ``tol``.

    Parameters
    ----------
    operator
        K.
    problem : RowLoss
        Its coefficients are where the solver starts, and in the end the solution.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Epochs at most.
    random_state : int, RandomState or None
        Order of the rows.
    verbose : int
        Print a line per epoch if positive.

    Returns
    -------
    Result
    """
    sweep = RowSweep(operator, problem)
    return finish(epochs(sweep, tol=tol, random_state=random_state, verbose=verbose), max_iter)


class RowSweep:
    """Visit the rows that are due; changes the coefficients of ``problem``."""

    name = "row ascent"

    def __init__(self, operator, problem):
        self.operator, self.problem = operator, problem
        self.n_rows = len(problem.coefficients)
        if problem.coefficients.any():
            self.problem.evaluate(operator.product(problem.coefficients))
        kind = LinearVisits if isinstance(operator, LinearOperator) else KernelVisits
        self.visits = kind(operator, problem.coefficients, problem.rows)
        self.surplus = np.zeros(self.n_rows)
        # epochs from a row's last visit to its next, and epochs until that
        self.rest, self.wait = (np.ones(self.n_rows, dtype=np.int64) for _ in range(2))

    def __call__(self, rng, gap, negligible):
        self.problem.rows.negligible = negligible
        self.wait -= 1
        due = np.flatnonzero(self.wait <= 0)
        n_products = self.visits(rng.permutation(due), self.surplus)
        is_done = self.surplus[due] <= negligible
        self.rest[due] = np.where(is_done, np.minimum(2 * self.rest[due], LONGEST_REST), 1)
        self.wait[due] = self.rest[due]
        return Epoch(self.surplus.sum(), self.problem.rows.dual, n_products)

    def certificate(self):
        # rows at rest are part of what is left
        self.wait[:] = 0
        return row_certificate(self.operator, self.problem)


class KernelVisits:
    """Visit rows of a kernel matrix, a panel at a time; ``rows`` changes the coefficients A."""

    def __init__(self, operator, A, rows):
        self.operator, self.rows = operator, rows
        self.products = operator.with_intercept(0.0).product(A)
        self.total = A.sum(axis=0)

    def __call__(self, order, surplus):
        """Visit rows in this order; what it cost, in products K V."""
        cost, intercept = 0.0, self.operator.intercept
        for start in range(0, len(order), PANEL_ROWS):
            panel = order[start : start + PANEL_ROWS]
            moved, changes = sweep_panel(
                self.rows,
                self.operator.gram(panel) + intercept,
                self.products[panel] + intercept * self.total,
                panel,
                np.arange(len(panel)),
                surplus,
            )
            if len(moved):
                self.products += self.operator.spread(panel[moved], changes)
                self.total += changes.sum(axis=0)
                cost += len(moved) / len(surplus)
        return cost


class LinearVisits:
    """Visit rows of a linear kernel, with explicit weights; ``rows`` changes the coefficients A."""

    def __init__(self, operator, A, rows):
        X, self.rows = operator.X, rows
        weights = Weights(
            np.ascontiguousarray(operator.weights(A)),
            A.sum(axis=0),
            operator.diagonal(),
            operator.intercept,
        )
        self.features: tuple
        if sparse.issparse(X):
            self.sweep, self.features = weights.sweep_sparse, (X.data, X.indices, X.indptr)
        else:
            self.sweep, self.features = weights.sweep_dense, (X,)

    def __call__(self, order, surplus):
        """Visit rows in this order; what it cost, in products K V."""
        self.sweep(self.rows, *self.features, order, surplus)
        return len(order) / len(surplus)
