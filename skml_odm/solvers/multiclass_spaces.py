"""Where the unknowns of mcODM live: weights of features, or coefficients of a kernel's rows.

A space knows the map Φ from unknowns V to the scores of the training rows, and nothing of labels:

``scores(V)``, ``combine(A)``
    Φ V, and its adjoint Φ* A = Σ_i φ(x_i) A_i.
``inner(U, V, scores)``
    ⟨U, V⟩, given the scores Φ V.
``diagonal()``, ``intercept``
    ‖φ(x_i)‖², and the value of the feature that is the same in all rows.
``shape``
    Numbers of rows and of unknowns of a class.
``preconditioner(diagonals)``
    What takes a residual of Newton's equations to about its solution, and to the scores of that.
``sweep(problem, V, negligible, rng)``
    One epoch of dual block coordinate descent from V = Φ* A, which is kept up to date. Returns the
    sum of the gaps as the blocks were met, and the number of blocks met.
"""

from contextlib import suppress
from functools import partial

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, get_blas_funcs

from ..features.kernels import row_slices, rows_times, squared_norms
from ..utils.numbers import EPSILON, WORK_PER_CALL
from ._multiclass_sweeps import sweep_dense, sweep_panel, sweep_sparse
from .sweeps import panels

# Features, and entries of all classes' blocks, at most, for which conjugate gradients have a
# preconditioner: to factor larger ones takes longer than the steps that it saves.
MOST_FEATURES = 1500
MOST_ENTRIES = 2**26
# Numbers of the rows that one product takes: these stay in the cache.
ENTRIES_PER_CALL = 2**17


class WeightSpace:
    """Weights W (features + 1 × classes); Φ is X, with the intercept as last feature.

    Parameters
    ----------
    X : ndarray or CSR of shape (m, d)
        In single or double precision.
    intercept : float or bool
    """

    is_kernel = False

    def __init__(self, X, intercept):
        self.X = X
        self.intercept = float(intercept)
        self.shape = X.shape[0], X.shape[1] + 1

    def scores(self, weights):
        result = rows_times(self.X, weights[:-1])
        result += self.intercept * weights[-1]
        return result

    def combine(self, coefficients):
        coefficients = np.asarray(coefficients)
        result = np.zeros((self.shape[1], coefficients.shape[1]))
        if self.X.dtype == np.float64:
            result[:-1] = self.X.T @ coefficients
        else:
            # NumPy and SciPy would cast all rows at once
            for rows in row_slices(self.X):
                result[:-1] += self.X[rows].T @ coefficients[rows]
        # faster than by sum
        result[-1] = np.full(self.shape[0], self.intercept) @ coefficients
        return result

    def inner(self, U, V, scores):
        return np.vdot(U, V)

    def diagonal(self):
        return squared_norms(self.X) + self.intercept**2

    def dense(self, index):
        """Some rows as a new array in double precision."""
        chosen = self.X[index]
        result = np.empty((len(index), self.shape[1]))
        result[:, :-1] = chosen.toarray() if sparse.issparse(chosen) else chosen
        result[:, -1] = self.intercept
        return result

    def gram(self, weight, precision=np.float64):
        """Σ_i w_i x_i x_iᵀ for weights ≥ 0 of the rows."""
        total = np.zeros((self.shape[1],) * 2, dtype=precision)
        index = np.flatnonzero(weight)
        step = max(1, ENTRIES_PER_CALL // len(total))
        for start in range(0, len(index), step):
            part = index[start : start + step]
            X = self.dense(part) * np.sqrt(weight[part, None])
            X = X.astype(precision, copy=False)
            total += X.T @ X
        return total

    def solve(self, curvature, residual):
        """The solution of Newton's equations and its scores, by one Cholesky factor."""
        size, k = residual.shape
        matrix = np.zeros((k, size, k, size))
        step = max(1, ENTRIES_PER_CALL // size)
        for start in range(0, self.shape[0], step):
            rows = np.arange(start, min(start + step, self.shape[0]))
            curvature.add_to(matrix, self.dense(rows), start)
        matrix = matrix.reshape(k * size, k * size)
        matrix += np.eye(k * size)
        factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        solution = cho_solve(factor, residual.T.ravel(), check_finite=False)
        solution = np.ascontiguousarray(solution.reshape(k, size).T)
        return solution, self.scores(solution)

    def preconditioner(self, diagonals):
        if has_few_features(self.shape[1], diagonals.shape[1]):
            return ClassBlocks(self, diagonals)
        return lambda residual: (residual.copy(), self.scores(residual))

    def sweep(self, problem, weights, negligible, rng):
        X, entries = self.X, self.X.size
        order = rng.permutation(self.shape[0]).astype(np.intp, copy=False)
        if sparse.issparse(X):
            visit = partial(sweep_sparse, problem, X.data, X.indices, X.indptr)
        else:
            visit = partial(sweep_dense, problem, X)
        step = max(1, WORK_PER_CALL * len(order) // max(1, entries * weights.shape[1]))
        parts = [order[start : start + step] for start in range(0, len(order), step)]
        found = [visit(self.intercept, weights, part, negligible) for part in parts]
        return tuple(map(sum, zip(*found, strict=True)))


class ClassBlocks:
    """Preconditioner: the blocks I + Σ_i H_i,ll x_i x_iᵀ of Newton's equations, class by class.

    What it leaves out couples different classes. All weights are changed by vectors that add up to
    zero over the classes, and so are the solutions.

    Parameters
    ----------
    space : WeightSpace
    diagonals : ndarray of shape (m, n_classes)
        Of the rows' second derivatives.
    """

    def __init__(self, space, diagonals):
        self.space = space
        # traces of the blocks, but for the identity
        self.scales = np.maximum(space.diagonal() @ diagonals, 1.0)
        self.factors = [
            self._factor(column, scale)
            for column, scale in zip(diagonals.T, self.scales, strict=True)
        ]

    def _factor(self, weight, scale):
        """Cholesky's factor of a class's block divided by ``scale``.

        It is in single precision if that is positive definite, too: conjugate gradients make up for
        the digits.
        """
        with suppress(np.linalg.LinAlgError):
            return self._factor_in(np.float32, weight, scale)
        return self._factor_in(np.float64, weight, scale)

    def _factor_in(self, precision, weight, scale):
        matrix = self.space.gram(weight / scale, precision)
        matrix.flat[:: len(matrix) + 1] += 1.0 / scale
        return cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)[0]

    def __call__(self, residual):
        result = np.empty_like(residual)
        for label, factor in enumerate(self.factors):
            # five times as fast as cho_solve, which is made for many columns
            (trsv,) = get_blas_funcs(("trsv",), (factor,))
            half = trsv(factor, residual[:, label] / self.scales[label], lower=True)
            result[:, label] = trsv(factor, half, lower=True, trans=True, overwrite_x=True)
        result -= result.mean(axis=1, keepdims=True)
        return result, self.space.scores(result)


def has_few_features(n_features, n_classes):
    """Whether the blocks of :class:`ClassBlocks` are small enough."""
    return n_features <= MOST_FEATURES and n_features**2 * n_classes <= MOST_ENTRIES


class FunctionSpace:
    """Coefficients V of the training rows, which stand for Σ_i φ(x_i) V_i; Φ is K, with intercept.

    Parameters
    ----------
    operator : Operator
        See :mod:`..features.operators`.
    """

    is_kernel = True

    def __init__(self, operator):
        self.operator = operator
        self.intercept = operator.intercept
        self.shape = operator.shape

    def scores(self, coefficients):
        return self.operator.product(coefficients)

    def combine(self, coefficients):
        return np.array(coefficients)

    def inner(self, U, V, scores):
        return np.vdot(U, scores)

    def diagonal(self):
        return self.operator.diagonal().astype(np.float64) + self.intercept

    def preconditioner(self, diagonals):
        return lambda residual: (residual.copy(), self.scores(residual))

    def sweep(self, problem, coefficients, negligible, rng):
        A = np.asarray(problem.coefficients)
        total, n_visited = 0.0, 0
        for rows in panels(len(A), rng):
            scores = self.operator.product_rows(rows, A) + self.intercept * A.sum(axis=0)
            gram = self.operator.gram(rows).astype(np.float64, copy=False) + self.intercept
            order = rng.permutation(len(gram)).astype(np.intp, copy=False)
            gap, n = sweep_panel(problem, gram, scores, rows.start, rows.step, order, negligible)
            total += gap
            n_visited += n
        coefficients[:] = A
        return total, n_visited


def explicit_features(operator):
    """Features Φ with K = ΦΦᵀ, few if K has low rank, and what turns weights into coefficients."""
    values, vectors = np.linalg.eigh(operator.matrix.astype(np.float64, copy=False))
    # what is smaller is rounding
    kept = values > len(values) * EPSILON * values[-1]
    root = np.sqrt(values[kept])
    return np.ascontiguousarray(vectors[:, kept] * root), vectors[:, kept] / root
