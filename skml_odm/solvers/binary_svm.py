"""One weighted binary SVM per label, each with its certificate.

For the label's signs y, costs c and an operator K, in signed dual coefficients a:

    primal  ½ aᵀK a + Σ_i c_i (1 − y_i f_i)₊,   f = K a + b,
    dual    Σ_i |a_i| − ½ aᵀK a,   0 ≤ y_i a_i ≤ c_i,   and Σ a = 0 where the intercept b is free.

With u = 1 − y f their difference is Σ (c_i − |a_i|)(u_i)₊ + |a_i|(−u_i)₊, a sum of nonnegative
terms: no digit is lost to cancellation.

LIBSVM or LIBLINEAR brings a label's coefficients close to the optimum. LIBSVM keeps the kernel in
single precision and neither reports a duality gap, so coordinate steps in double precision finish
the work until the gap is certified.
"""

import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from ..features.operators import ChunkedOperator
from ..utils.numbers import EPSILON, WORK_PER_CALL
from ._binary_svm import CoordinateSteps
from .result import EXACT_ROWS, Result, Trace, relative_gap

# Kernels that LIBSVM can compute by itself.
LIBSVM_KERNELS = {"rbf", "poly"}

# Without a kernel matrix, coordinate steps see that of at most this many rows at a time.
BLOCK = 1500
# Coordinate steps per row after which coefficients inside their bounds, if these are few, are
# moved together: one by one they creep where the kernel has low rank.
STEPS_PER_ROW = 20
# Iterations after which LIBSVM and LIBLINEAR are stuck and leave the rest to the steps here.
START_ITERATIONS = 100
# Relative size of what sums and products in double precision may lose.
ROUNDING = 1e-14


def binary_svms(operator, indicator, cost, start, *, balanced, tol, max_iter, verbose=0):
    """Solve one weighted binary SVM per label.

    Parameters
    ----------
    operator : KernelOperator or LinearOperator
        With an intercept it means K + 1: a regularised intercept, unless ``balanced``.
    indicator, cost : ndarray of shape (m, q)
        Positive rows, and the cost c of each row, of each label.
    start : callable
        ``start(operator, sign, cost, tol, max_iter)`` returns coefficients to begin with and the
        iterations spent on them.
    balanced : bool
        Whether each label has a free intercept: coefficients then sum to zero.
    tol : float
        Relative duality gap of every label.
    max_iter : int
        Iterations per label; m coordinate steps or one pass over the rows are one.
    verbose : int

    Returns
    -------
    Result
    """
    m, q = indicator.shape
    if balanced:
        # the free intercept is apart from K
        operator = operator.with_intercept(0.0)
    sign = np.where(indicator, 1.0, -1.0)
    A, free = np.zeros((m, q)), np.zeros(q)
    trace = Trace("binary-svm", verbose)
    n_iter = 1
    for k in range(q):
        problem = _Label(operator, sign[:, k], cost[:, k], balanced)
        signs = np.unique(problem.sign[problem.cost > 0])
        if len(signs) < (2 if balanced else 1):
            # a constant score is optimal: ±1, or 0 where no row counts
            problem.intercept = signs.sum()
        else:
            a, used = start(operator, problem.sign, problem.cost, tol, max_iter)
            problem.make_feasible(a)
            used += problem.finish(a, tol, max_iter - used)
            A[:, k] = a
            n_iter = max(n_iter, used)
        free[k] = problem.intercept
        trace.add(k + 1, problem.primal, problem.difference)

    scores = operator.product(A)
    primal, difference = certificate(A, scores, free, sign, cost)
    return Result(
        coefficients=A,
        intercept=free if balanced else operator.intercept * A.sum(axis=0),
        scores=scores + free,
        primal=primal,
        difference=difference,
        n_iter=n_iter,
        converged=relative_gap(primal, difference) <= tol,
        trace=trace.entries,
    )


def certificate(a, scores, intercept, sign, cost):
    """Primal value and its difference to the dual value, of one label or summed over all.

    ``scores`` are K a, without the free intercept.
    """
    lack = 1.0 - sign * (scores + intercept)
    hinge = np.maximum(lack, 0.0)
    primal = 0.5 * np.vdot(a, scores) + np.vdot(cost, hinge)
    difference = np.vdot(cost - np.abs(a), hinge) + np.vdot(np.abs(a), hinge - lack)
    # rounding may have left a little of Σ a
    return primal, difference + np.abs(intercept * a.sum(axis=0)).sum()


class _Label:
    """The problem of one label, and the certificate of the coefficients last looked at."""

    def __init__(self, operator, sign, cost, balanced):
        self.operator = operator
        self.sign, self.cost = np.ascontiguousarray(sign), np.ascontiguousarray(cost)
        self.balanced = balanced
        self.lower = np.where(sign < 0, -cost, 0.0)
        self.upper = np.where(sign > 0, cost, 0.0)
        self.intercept = self.primal = self.difference = 0.0

    def make_feasible(self, a):
        """Bring coefficients back into the box and to a sum of zero, in place."""
        np.clip(a, self.lower, self.upper, out=a)
        if self.balanced:
            positive, negative = a[a > 0].sum(), -a[a < 0].sum()
            if abs(positive - negative) > ROUNDING * positive:
                # the heavier side gives way, which keeps it in the box
                side = a > 0 if positive > negative else a < 0
                a[side] *= min(positive, negative) / max(positive, negative)

    def certify(self, a):
        """Scores of ``a`` without a free intercept; sets the intercept, primal and difference.

        Coefficients that no longer sum to zero prove nothing: they are brought back to it first,
        unless the sum is what the rounding of many steps has left.
        """
        if self.balanced and abs(a.sum()) > 100 * ROUNDING * abs(a).sum():
            self.make_feasible(a)
        scores = self.operator.product(a[:, None])[:, 0]
        if self.balanced:
            self.intercept = best_intercept(scores, self.sign, self.cost)
        self.primal, self.difference = certificate(a, scores, self.intercept, self.sign, self.cost)
        return scores

    def finish(self, a, tol, max_iter):
        """Coordinate steps until the gap is at most ``tol``; returns the iterations spent."""
        m = len(a)
        steps, budget = 0, m * max_iter
        violation, settled, before = tol, False, np.inf
        while True:
            scores = self.certify(a)
            finest = ROUNDING * max(1.0, np.abs(scores).max())
            done = relative_gap(self.primal, self.difference) <= tol
            if steps >= budget or (done and m > EXACT_ROWS):
                break
            # what is left may be the rounding that the scores gathered on the way, or for good
            if settled and (done or self.difference > 0.5 * before):
                break
            before = self.difference
            if done:
                violation = finest
            rows, block = self._block(scores, a)
            part, part_scores = a[rows].copy(), scores[rows].copy()
            n = len(part)
            limit = max(1, min(STEPS_PER_ROW * n, WORK_PER_CALL // n, budget - steps))
            taken = block.descend(part, part_scores, violation, limit)
            steps += taken
            settled = taken < limit and violation <= finest
            if taken == limit:
                # LAPACK multiplies about ten times as fast
                block.move_inner(part, part_scores, work=30 * n * limit)
            else:
                violation = max(0.1 * violation, finest)
            a[rows] = part
        return -(-steps // m)

    def _block(self, scores, a):
        """Rows to work on and their problem: all of them, or those that violate most."""
        if self.operator.matrix is not None:
            rows = np.arange(len(a))
            return rows, self._block_of(rows, self.operator.matrix)
        rows = np.flatnonzero(self.cost)
        if len(rows) > BLOCK:
            slope = scores + self.intercept - self.sign
            movable = np.where(slope < 0, a < self.upper, a > self.lower)
            inside = (a > self.lower) & (a < self.upper)
            wanted = np.where(movable, np.abs(slope), 0.0) + inside
            rows = np.sort(rows[np.argpartition(-wanted[rows], BLOCK)[:BLOCK]])
        # the intercept is zero here if it is free
        return rows, self._block_of(rows, self.operator.gram(rows) + self.operator.intercept)

    def _block_of(self, rows, K):
        """The problem of some rows, with their part K of the kernel matrix."""
        K = np.ascontiguousarray(K)
        return _Block(K, self.sign[rows], self.lower[rows], self.upper[rows], self.balanced)


class _Block(CoordinateSteps):
    """The problem of some rows, given those of the others; parameters as in the base class."""

    def __init__(self, K, sign, lower, upper, balanced):
        super().__init__(K, sign, lower, upper, balanced)
        self.K, self.sign, self.lower, self.upper = K, sign, lower, upper
        self.balanced = balanced

    def move_inner(self, a, scores, work):
        """Move the coefficients inside their bounds to the optimum of their own; in place.

        An active-set method: Newton steps, or steps along flat directions that still gain, each as
        far as the bounds allow, until no bound stops a step or ``work`` multiplications are done.
        """
        inner = np.flatnonzero((a > self.lower) & (a < self.upper))
        for _ in range(work // max(1, len(inner)) ** 3):
            if len(inner) <= self.balanced:
                break
            H = self.K[np.ix_(inner, inner)]
            direction, length = inner_direction(H, (self.sign - scores)[inner], self.balanced)
            bound = np.where(direction > 0, self.upper[inner], self.lower[inner])
            room = np.full(len(inner), np.inf)
            np.divide(bound - a[inner], direction, out=room, where=direction != 0)
            length = min(length, room.min())
            if not np.isfinite(length):
                break
            stopped = room <= length
            moved = np.where(stopped, bound, a[inner] + length * direction)
            change = moved - a[inner]
            # along nearly flat directions, which are long, rounding would move the sum
            if self.balanced and abs(change.sum()) > ROUNDING * abs(a).sum():
                break
            a[inner] = moved
            scores[inner] += H @ change
            inner = inner[~stopped]
            if not stopped.any():
                break


def inner_direction(H, residual, balanced):
    """Direction of ascent for ½dᵀH d − rᵀd, and how long it is good: 1, or ∞ where H is flat."""
    if balanced:
        # directions sum to zero: they live in the range of I − 11ᵀ/n
        H = H - H.mean(axis=0)
        H -= H.mean(axis=1, keepdims=True)
        residual = residual - residual.mean()
    values, vectors = np.linalg.eigh(H)
    along = vectors.T @ residual
    flat = values <= 1e-12 * values[-1]
    if np.linalg.norm(along[flat]) > 1e-9 * np.linalg.norm(residual) + ROUNDING:
        direction, length = vectors[:, flat] @ along[flat], np.inf
    else:
        direction, length = vectors[:, ~flat] @ (along[~flat] / values[~flat]), 1.0
    return direction - direction.mean() if balanced else direction, length


def best_intercept(scores, sign, cost):
    """argmin_b Σ c_i (1 − y_i (f_i + b))₊; the middle where the minimum is an interval.

    The sum falls with slope −(cost of positive rows with y − f above b) and rises with the cost of
    negative rows with y − f below b.
    """
    knots = sign - scores
    order = np.argsort(knots)
    order = order[cost[order] > 0]
    knots = knots[order]
    rises = np.cumsum(cost[order])
    # slope right of each knot
    slope = rises - cost[sign > 0].sum()
    flat = 1e-12 * rises[-1]
    first = np.searchsorted(slope, -flat)
    last = np.searchsorted(slope, flat, side="right")
    return 0.5 * (knots[min(first, len(knots) - 1)] + knots[min(last, len(knots) - 1)])


def from_zero(operator, sign, cost, tol, max_iter):
    """Begin with all coefficients zero."""
    return np.zeros(len(sign)), 0


def from_libsvm(operator, sign, cost, tol, max_iter):
    """Begin where LIBSVM ends: its intercept is free and not regularised."""
    m = len(sign)
    rows = np.flatnonzero(cost)
    kept = slice(None) if len(rows) == m else rows
    parameters: dict = {"kernel": "linear"}
    if isinstance(operator, ChunkedOperator):
        # it computes rows of K as it needs them, too
        k = operator.kernel
        # a kernel that is known to be semidefinite has a whole degree, perhaps as a float
        degree = int(k.degree) if k.kind == "poly" else 3
        parameters = {"kernel": k.kind, "gamma": k.gamma, "degree": degree, "coef0": k.coef0}
        X = operator.X[kept]
    elif operator.matrix is None:
        X = operator.X[kept]
    else:
        parameters, X = {"kernel": "precomputed"}, operator.matrix[kept][:, kept]
    machine = SVC(
        C=1.0,
        **parameters,
        # it cannot do better with kernel values in single precision
        tol=max(0.5 * tol, 10.0 * np.finfo(np.float32).eps),
        max_iter=min(m * min(max_iter, START_ITERATIONS), np.iinfo(np.int32).max),
        random_state=0,  # unused, but None would draw from the global generator
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(X, sign[kept], sample_weight=cost[kept])
    a = np.zeros(m)
    a[rows[machine.support_]] = sparse.csr_matrix(machine.dual_coef_).toarray()[0]
    return a, -(-int(machine.n_iter_[0]) // m)


def from_liblinear(operator, sign, cost, tol, max_iter, random_state=None):
    """Begin where LIBLINEAR ends: its intercept is one more, regularised weight.

    LIBLINEAR reports weights, but not the dual coefficients they are made of. A feature of its own
    for each row, of a size whose square is lost in rounding, changes nothing but has the row's
    coefficient as its weight.
    """
    mark = EPSILON**0.75
    m = len(sign)
    rows = np.flatnonzero(cost)
    a = np.zeros(m)
    if not len(rows):
        return a, 0
    parts = [sparse.csr_matrix(operator.X[rows])]
    if operator.intercept:
        parts.append(sparse.csr_matrix(np.ones((len(rows), 1))))
    parts.append(mark * sparse.eye(len(rows), format="csr"))
    X, sign, cost = sparse.hstack(parts, format="csr"), sign[rows], cost[rows]
    if len(np.unique(sign)) < 2:
        # LIBLINEAR wants two classes: a row in a dimension of its own disturbs nobody
        X = sparse.block_diag([X, sparse.eye(1)], format="csr")
        sign, cost = np.append(sign, -sign[0]), np.append(cost, cost[0])
    machine = LinearSVC(
        loss="hinge",
        dual=True,
        fit_intercept=False,
        tol=0.5 * tol,
        max_iter=min(max_iter, START_ITERATIONS),
        random_state=random_state,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(X, sign, sample_weight=cost)
    first = X.shape[1] - len(sign)
    a[rows] = machine.coef_[0, first : first + len(rows)] / mark
    return a, int(machine.n_iter_)
