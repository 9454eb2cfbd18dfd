"""mcODM: convex majorants of an objective that is not convex, each solved in the dual.

The objective, with the margin γ_i = f_iy − max_{l≠y} f_il of row i and its weight c_i,

    J = ½‖W‖² + Σ_i c_i [ ½(lower − γ_i)₊² + ½μ(γ_i − upper)₊² ],

is not convex, for the second term is not. Given a point W̄, let r_i be the *rival* of row i: the
class other than y_i that scores highest there. As f_ir ≤ max f_il,

    Q(W) = ½‖W‖² + Σ_i c_i [ ½(lower − γ_i)₊² + ½μ(f_iy − f_ir − upper)₊² ]

is convex, nowhere below J, and equal to J at W̄: whatever lowers Q lowers J. Paper 004 has a fixed
number, max_l f̄_il, in place of f_ir. That is no majorant, and where it comes to rest the gradient
of J lacks the part of the rival.

A dual point of Q at a W where Q = J proves that the next outer step cannot lower the objective by
more than the duality gap. This is the certificate: W is, up to the gap, a stationary point.

:func:`descend` solves each Q by block coordinate descent, one block per row. It needs the rows, or
panels of a kernel matrix, and nothing else. For linear problems with few weights,
:mod:`.multiclass_newton` is faster.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ..features.kernels import row_slices, squared_norms
from ..problems._classes import Blocks
from ._multiclass_sweeps import sweep_dense, sweep_panel, sweep_sparse
from .result import Result, Trace, relative_gap
from .sweeps import panels

# Multiplications done by one compiled call, about, so that Ctrl-C is noticed soon.
WORK_PER_CALL = 50_000_000
# Rows that are cast to single precision at a time, and the largest squared norms of rows that are.
ROWS_PER_COPY = 1024
TINY_NORM, LARGE_NORM = 1e-12, 1e12
# Problems of at most this many rows are solved to rounding, whatever the tolerance: it costs
# nothing, and equal problems then have equal solutions.
SMALL = 64
# Their relative gap: a gap is a sum of squares, half of whose digits are those of the weights.
EXACT = 1e-16
ROUNDING = 1e-14
# A block is left as it is for a while where its gap is below this share of the average.
NEGLIGIBLE = 0.1
# Relative gap at which the first convex problem is left, and how much smaller it gets each time.
FIRST_GAP = 0.1
NEXT_GAP = 0.3


@dataclass(kw_only=True)
class MultiClassResult(Result):
    """A result that also counts the convex problems.

    Attributes
    ----------
    n_outer : int
        How many convex problems were met.
    """

    n_outer: int = 1


def make_blocks(rows, label, weight, lower, upper, mu, n_classes, moving):
    """The dual variables of a problem, all zero."""
    label = np.ascontiguousarray(label, dtype=np.intc)
    weight = np.array(weight, dtype=np.float64)
    return Blocks(label, weight, rows.diagonal(), n_classes, lower, upper, mu, moving)


class LinearRows:
    """Rows of features, dense or CSR, in single or double precision, and the weights W."""

    is_kernel = False

    def __init__(self, X, intercept, n_classes):
        self.X = X
        self.intercept = float(intercept)
        self.weights = np.zeros((X.shape[1] + 1, n_classes))
        entries = X.nnz if sparse.issparse(X) else X.size
        self.work_per_row = max(1, entries // X.shape[0]) * n_classes

    def diagonal(self):
        return squared_norms(self.X) + self.intercept**2

    def scores(self, weights):
        """X W, with the intercept."""
        result = np.empty((self.X.shape[0], weights.shape[1]))
        for part, X in self._parts():
            result[part] = X @ weights[:-1]
        result += self.intercept * weights[-1]
        return result

    def combine(self, coefficients):
        """Xᵀ A, with the intercept."""
        result = np.zeros_like(self.weights)
        for part, X in self._parts():
            result[:-1] += X.T @ coefficients[part]
        result[-1] = self.intercept * coefficients.sum(axis=0)
        return result

    def inner(self, U, V, scores):
        """⟨U, V⟩ of two weights, given the scores of V."""
        return np.vdot(U, V)

    def dense(self, index, precision):
        """Some rows as a new array, the intercept as last column."""
        chosen = self.X[index]
        result = np.empty((len(index), self.X.shape[1] + 1), dtype=precision)
        result[:, :-1] = chosen.toarray() if sparse.issparse(chosen) else chosen
        result[:, -1] = self.intercept
        return result

    @cached_property
    def single(self):
        """What does products that need not be precise: a copy, of dense rows of usual size."""
        largest = self.diagonal().max()
        if sparse.issparse(self.X) or not TINY_NORM <= largest <= LARGE_NORM:
            return self
        return SingleRows(self)

    # all features; see SingleRows
    used = slice(None)

    @property
    def n_used(self):
        return len(self.weights)

    def _parts(self):
        """Slices of the rows, and what they cut out: everything at once where it is little.

        Products cast rows in single precision, so these come in smaller blocks.
        """
        if self.X.dtype != np.float64:
            return ((part, self.X[part]) for part in row_slices(self.X))
        m, step = self.X.shape[0], max(1, 8 * WORK_PER_CALL // self.work_per_row)
        if m <= step:
            return [(slice(m), self.X)]
        slices = (slice(start, start + step) for start in range(0, m, step))
        return ((part, self.X[part]) for part in slices)

    def restart(self, blocks):
        """Compute W anew."""
        self.weights = self.combine(np.asarray(blocks.coefficients))

    def sweep(self, blocks, negligible, rng):
        order = rng.permutation(self.X.shape[0]).astype(np.intp, copy=False)
        step = max(1, WORK_PER_CALL // self.work_per_row)
        total, n_visited = 0.0, 0
        for start in range(0, len(order), step):
            part = order[start : start + step]
            if sparse.issparse(self.X):
                rows: tuple = (self.X.data, self.X.indices, self.X.indptr)
                visit = sweep_sparse
            else:
                rows, visit = (self.X,), sweep_dense
            gap, n = visit(blocks, *rows, self.intercept, self.weights, part, negligible)
            total += gap
            n_visited += n
        return total, n_visited

    def certify(self, blocks):
        """Scores, objective and duality gap of the point W = XᵀA."""
        scores = self.scores(self.weights)
        loss, gap = blocks.certify(scores)
        return scores, loss + 0.5 * np.vdot(self.weights, self.weights), gap


class SingleRows:
    """Dense rows in single precision, without features that are zero in all of them.

    Weights have all features still; those left out stay zero. The intercept is the last feature.
    """

    def __init__(self, rows):
        X = rows.X
        seen = np.append(np.any(X, axis=0), rows.intercept != 0.0)
        self.used = np.flatnonzero(seen)
        self.shape = rows.weights.shape
        self.X = np.empty((X.shape[0], self.n_used), dtype=np.float32)
        for start in range(0, len(X), ROWS_PER_COPY):
            part = np.arange(start, min(start + ROWS_PER_COPY, len(X)))
            self.X[part] = rows.dense(part, np.float32)[:, self.used]

    @property
    def n_used(self):
        return len(self.used)

    def scores(self, weights):
        """X W, with the intercept."""
        return (self.X @ weights[self.used].astype(np.float32)).astype(np.float64)

    def combine(self, coefficients):
        """Xᵀ A, with the intercept."""
        result = np.zeros(self.shape)
        result[self.used] = (coefficients.astype(np.float32).T @ self.X).T
        return result

    def inner(self, U, V, scores):
        """⟨U, V⟩ of two weights."""
        return np.vdot(U, V)

    def dense(self, index, precision):
        """Some rows as a new array."""
        return self.X[index].astype(precision, copy=False)


class FeatureRows(LinearRows):
    """A kernel matrix as explicit features Φ, K = ΦΦᵀ: few where the matrix has low rank.

    ``back`` turns weights into coefficients of the rows.
    """

    def __init__(self, operator, n_classes):
        values, vectors = np.linalg.eigh(operator.matrix.astype(np.float64, copy=False))
        # what is smaller is rounding
        kept = values > len(values) * np.finfo(np.float64).eps * values[-1]
        root = np.sqrt(values[kept])
        self.back = vectors[:, kept] / root
        features = np.ascontiguousarray(vectors[:, kept] * root)
        super().__init__(features, operator.intercept, n_classes)


class KernelRows:
    """A kernel operator, visited panel by panel as in :mod:`.bcd`; the intercept is in K + 1.

    Weights are known by their coefficients V: ``weights`` and all that is like them has one row
    per training row, and stands for Σ_i φ(x_i) V_i.
    """

    is_kernel = True

    def __init__(self, operator, n_classes):
        self.operator = operator
        self.intercept = operator.intercept
        self.weights = np.zeros((operator.shape[0], n_classes))

    def scores(self, weights):
        return self.operator.product(weights)

    def combine(self, coefficients):
        return coefficients.copy()

    def inner(self, U, V, scores):
        return np.vdot(U, scores)

    def diagonal(self):
        return self.operator.diagonal().astype(np.float64) + self.intercept

    def restart(self, blocks):
        self.weights = np.array(blocks.coefficients)

    def sweep(self, blocks, negligible, rng):
        A = np.asarray(blocks.coefficients)
        constant = self.intercept
        total, n_visited = 0.0, 0
        for rows in panels(len(A), rng):
            scores = self.operator.product_rows(rows, A) + constant * A.sum(axis=0)
            gram = self.operator.gram(rows).astype(np.float64, copy=False) + constant
            order = rng.permutation(len(gram)).astype(np.intp, copy=False)
            gap, n = sweep_panel(blocks, gram, scores, rows.start, rows.step, order, negligible)
            total += gap
            n_visited += n
        self.weights = A.copy()
        return total, n_visited

    def certify(self, blocks):
        A = np.asarray(blocks.coefficients)
        scores = self.operator.product(A)
        loss, gap = blocks.certify(scores)
        return scores, loss + 0.5 * np.vdot(A, scores), gap


def certificate(rows, blocks, W, scores):
    """J(W) minus the value of the dual point, where the rivals are those of W.

    And what the rows add to it; the rest is what the dual point's weights miss of W.
    """
    miss = W - rows.combine(np.asarray(blocks.coefficients))
    missing = 0.5 * rows.inner(miss, miss, rows.scores(miss) if rows.is_kernel else None)
    of_rows = blocks.certify(scores)[1]
    return of_rows + missing, of_rows


def descend(rows, blocks, *, tol, max_iter, max_outer_iter, rng, verbose=0):
    """Solve one convex problem after the other by block coordinate descent.

    The first problem has μ = 0: it is convex without further ado, and where it ends the rivals are
    what they are for good reasons. Its successors are solved ever more precisely. A step that does
    not lower the objective is solved more precisely before it is given up.

    Parameters
    ----------
    rows : LinearRows or KernelRows
    blocks : Blocks
        Changed in place.
    tol : float
        Relative duality gap of the last convex problem.
    max_iter : int
        Epochs at most.
    max_outer_iter : int
        Convex problems at most, the first not counted.
    rng : RandomState
        Order of the rows.
    verbose : int
        Print a line per convex problem if positive.

    Returns
    -------
    MultiClassResult
    """
    return _Descent(rows, blocks, tol, max_iter, rng, verbose).run(max_outer_iter)


class _Descent:
    def __init__(self, rows, blocks, tol, max_iter, rng, verbose):
        self.rows = rows
        self.blocks = blocks
        self.tol = tol
        self.max_iter = max_iter
        self.rng = rng
        self.trace = Trace("descent", verbose)
        self.n_iter = 0
        self.small = len(blocks.label) <= SMALL

    def run(self, max_outer_iter):
        blocks = self.blocks
        mu, blocks.mu = blocks.mu, 0.0
        target = EXACT if self.small else max(FIRST_GAP, 0.5 * self.tol)
        self.inner(target)
        blocks.mu = mu
        # with μ = 0 the objective was another one
        point = self.rows.certify(blocks)
        n_outer = 0
        while True:
            scores, objective, _ = point
            gap = self.touching_gap(scores)
            done = relative_gap(objective, gap) <= self.goal
            if done or n_outer >= max_outer_iter or self.n_iter >= self.max_iter:
                break
            kept = self.state()
            n_outer += 1
            target = EXACT if self.small else max(NEXT_GAP * target, 0.5 * self.tol)
            before, start = objective, gap
            blocks.set_rivals(scores, at_once=False)
            point = self.inner(target)
            while point[1] > before and target > 1e-2 * self.tol and self.n_iter < self.max_iter:
                target = NEXT_GAP * target
                point = self.inner(target)
            self.trace.add(n_outer, point[1], point[2])
            if point[1] >= before:
                self.put_back(kept)
                scores, objective, _ = self.rows.certify(blocks)
                gap = self.touching_gap(scores)
                break
            if self.small and start <= point[2] and point[1] >= before * (1 - ROUNDING):
                scores, objective, gap = point
                break
        A = np.asarray(blocks.coefficients)
        return MultiClassResult(
            coefficients=A,
            intercept=self.rows.intercept * A.sum(axis=0),
            scores=scores,
            primal=objective,
            difference=gap,
            n_iter=self.n_iter,
            converged=relative_gap(objective, gap) <= self.tol,
            trace=self.trace.entries,
            n_outer=n_outer + 1,
            limit=self.limit(n_outer, max_outer_iter),
        )

    def limit(self, n_outer, max_outer_iter):
        """The argument that no further step is allowed by, if any."""
        if self.n_iter >= self.max_iter:
            return "max_iter"
        return "max_outer_iter" if n_outer >= max_outer_iter else ""

    def touching_gap(self, scores):
        """J(W) minus a dual value of the majorant that touches J at W, whose scores are given.

        Multipliers β of rows whose rival is another class now go over to that one. What the
        weights XᵀA of these coefficients miss of W is part of the gap.
        """
        blocks, rows = self.blocks, self.rows
        kept = self.state()
        blocks.set_rivals(scores, at_once=True)
        gap, _ = certificate(rows, blocks, rows.weights, scores)
        blocks.coefficients, blocks.over, blocks.rival, blocks.level = kept
        return gap

    @property
    def goal(self):
        return EXACT if self.small else self.tol

    def state(self):
        blocks = self.blocks
        return [
            np.array(part)
            for part in (blocks.coefficients, blocks.over, blocks.rival, blocks.level)
        ]

    def put_back(self, state):
        blocks = self.blocks
        blocks.coefficients, blocks.over, blocks.rival, blocks.level = state
        blocks.wanted = np.array(blocks.rival)
        self.rows.restart(blocks)

    def inner(self, target):
        """Epochs until the relative gap is at most ``target``; returns what ``certify`` does."""
        blocks, rows, m = self.blocks, self.rows, len(self.blocks.label)
        blocks.wake()
        negligible, best, idle = 0.0, np.inf, 0
        worth_a_look = np.inf
        while True:
            surplus, n_visited = rows.sweep(blocks, negligible, self.rng)
            self.n_iter += 1
            negligible = 0.0 if self.small else NEGLIGIBLE * surplus / m
            last = self.n_iter >= self.max_iter
            if surplus > worth_a_look and n_visited and not last:
                continue
            point = rows.certify(blocks)
            _, objective, gap = point
            if not np.isfinite(objective):
                raise FloatingPointError("the objective is not finite")
            idle = idle + 1 if gap >= 0.5 * best else 0
            best = min(best, gap)
            # what is left of a small problem may be rounding
            if gap <= target * objective or last or (self.small and idle > 100):
                return point
            # the gap as the blocks were met is about that of the epoch before
            worth_a_look = max(1.5 * target * objective, 0.5 * surplus)
