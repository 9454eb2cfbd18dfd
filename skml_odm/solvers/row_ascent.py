"""Dual ascent row by row, for losses that couple the labels of a row and nothing else.

With label covariances Θ, an operator K and the coefficients A (m × q), scores and objectives are

    D = K A Θ / β,
    primal  ½ ⟨A, D⟩ + Σ_i loss_i(D_i),        dual  Σ |A| − ½ ⟨A, D⟩,

and a row's own problem is small (``_separation``, ``_covariance_rows``, ``_binary_rows``). Rows are
visited in random order (paper 002); rows that were found at their optimum are visited again after
1, 2, 4, … epochs. K A is kept up to date: by weights Xᵀ A for a linear kernel, otherwise by one
product for the rows of a panel that moved.

Where Θ is learned, primal and dual value both contain ½α‖R − I‖², with the R that is best for A.
Their difference is then the gap of the saddle point problem over R and A.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from ..features.operators import LinearOperator
from ._row_ascent import Weights, sweep_panel
from .iteration import Step, finish
from .result import TINY, Trace

# Rows of a kernel matrix that are handled with one product.
PANEL_ROWS = 96

# Multiplications by one compiled call, about, so that Ctrl-C is noticed soon.
WORK_PER_CALL = 100_000_000

# A row whose gap is below this share of what it may contribute to ``tol`` is left as it is.
NEGLIGIBLE = 0.03

# Epochs between two visits of a row at most.
LONGEST_REST = 8


def row_ascent(operator, problem, *, tol, max_iter, random_state=None, verbose=0):
    """Solve the problem to a relative duality gap of ``tol``.

    Parameters
    ----------
    operator
        K.
    problem : RowLoss
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
    epochs = row_ascent_epochs(
        operator, problem, tol=tol, random_state=random_state, verbose=verbose
    )
    return finish(epochs, max_iter)


def row_ascent_epochs(operator, problem, *, tol, random_state=None, verbose=0):
    """Epochs one at a time; see :mod:`.iteration` for the protocol."""
    rng = check_random_state(random_state)
    trace = Trace("row ascent", verbose)
    rows = problem.rows
    m = len(problem.coefficients)
    kind = LinearVisits if isinstance(operator, LinearOperator) else KernelVisits
    visits: Any = kind(operator, problem.coefficients, rows)
    surplus = np.zeros(m)
    rest, due = np.ones(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
    gap, worth_a_look, last = 1.0, tol, False
    epoch = 0
    while not last:
        epoch += 1
        now = np.flatnonzero(due < epoch)
        cost = visits(rng.permutation(now), surplus)
        idle = surplus[now] <= rows.negligible
        rest[now] = np.where(idle, np.minimum(2 * rest[now], LONGEST_REST), 1)
        due[now] = epoch - 1 + rest[now]
        # The gap of each row when it was met: an estimate that runs late and only decides when to
        # compute the true one.
        late = surplus.sum()
        if not (np.isfinite(late) and np.isfinite(rows.dual)):
            raise FloatingPointError("the dual value is not finite")
        previous, gap = gap, max(late, 0.0) / max(rows.dual + late, TINY)
        rows.negligible = NEGLIGIBLE * tol * max(rows.dual, 0.0) / m
        trace.add(epoch, rows.dual + late, late)
        if gap * min(gap, previous) <= worth_a_look * previous:
            result = problem.certify(operator)
            if result.gap <= tol:
                break
            worth_a_look = min(0.9 * worth_a_look, tol * gap / result.gap)
            # rows at rest are part of what is left
            due[:] = 0
        last = yield Step(gap, cost)
    else:
        result = problem.certify(operator)
    result.n_iter, result.converged, result.trace = epoch, result.gap <= tol, trace.entries
    return result


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
            work = X.nnz / max(1, X.shape[0])
        else:
            self.sweep, self.features = weights.sweep_dense, (X,)
            work = X.shape[1]
        n_labels = A.shape[1]
        self.n_rows = max(1, int(WORK_PER_CALL // ((work + n_labels) * n_labels)))

    def __call__(self, order, surplus):
        """Visit rows in this order; what it cost, in products K V."""
        for start in range(0, len(order), self.n_rows):
            rows = order[start : start + self.n_rows]
            self.sweep(self.rows, *self.features, rows, surplus)
        return len(order) / len(surplus)
