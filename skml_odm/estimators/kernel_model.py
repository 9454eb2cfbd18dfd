"""What all estimators with a kernel share, label rankers and plain classifiers alike."""

import warnings
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted

from ..features.kernels import Kernel, KernelPrecisionError, rows_times, semidefinite_part
from ..features.lean_operator import LeanOperator
from ..features.operators import ChunkedOperator, KernelOperator, LinearOperator
from ..solvers.result import relative_gap
from ..solvers.turns import EXACT_ROWS
from ..utils.validation import (
    check_bool,
    check_real,
    check_seed,
    check_verbose,
    validated_rows,
)
from .sharing import ALONE, Alone

# Kernel values computed at a time when new rows are scored.
SCORED_ENTRIES = 4_000_000

# Rows per label below which K has to leave room for the arrays of a solver.
ROWS_PER_LABEL = 22


class KernelModel(BaseEstimator):
    """A model whose scores are K(x, X) A + b.

    A subclass has the parameters ``kernel, gamma, degree, coef0, fit_intercept, tol, max_iter,
    random_state, verbose, cache_size`` and the ``trade_off`` between loss and regulariser.
    """

    trade_off: ClassVar[str] = "C"
    # what makes a problem easier to solve
    ease: ClassVar[str] = "lower C"
    # whether the solver makes do with a LeanOperator
    lean: ClassVar[bool] = False
    # precisions of X that a linear kernel takes as they are
    linear_precisions: ClassVar[tuple] = (np.float64,)
    # what fits on the same rows have in common; a search lends more
    _sharing: Alone = ALONE
    kernel: Any
    gamma: Any
    fit_intercept: Any
    tol: Any
    max_iter: Any
    random_state: Any
    verbose: Any
    cache_size: Any
    _kernel: Kernel

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @property
    def _seed(self):
        """``random_state``; without one the same seed for every fit, so that equal fits agree."""
        return 0 if self.random_state is None else self.random_state

    def _validate_params(self):
        """Raise for values of parameters that no fit accepts; named as in scikit-learn."""
        self._check_common_parameters()
        self._check_parameters()

    def _check_kernel_model_parameters(self):
        check_real(self.trade_off, getattr(self, self.trade_off), 0, open_low=True)
        check_bool("fit_intercept", self.fit_intercept)
        check_real("tol", self.tol, 0, open_low=True)
        check_real("max_iter", self.max_iter, 1, integer=True)
        check_seed(self.random_state)
        check_verbose(self.verbose)
        check_real("cache_size", self.cache_size, 0)

    def _accepted(self):
        """How X is to be validated."""
        if self.kernel == "precomputed":
            # a single-precision kernel matrix must be known as such
            return {"accept_sparse": False, "dtype": (np.float64, np.float32), "order": "C"}
        precisions = self.linear_precisions if self.kernel == "linear" else (np.float64,)
        return {"accept_sparse": "csr", "dtype": precisions, "order": "C"}

    def _validated(self, X, reset):
        X = validated_rows(self, X, reset=reset, **self._accepted())
        if reset:
            self._check_square(X)
        return X

    def _check_square(self, X):
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X must be a square kernel matrix for kernel='precomputed'; got shape {X.shape}."
            )

    def _operator(self, X):
        """K of the training rows; eigenvectors of its positive part if it was indefinite."""
        if self.kernel == "linear":
            return LinearOperator(X, self.fit_intercept), None
        room = 1e6 * self.cache_size
        if 8.0 * X.shape[0] ** 2 > room and self.kernel != "precomputed":
            if not self._kernel.always_semidefinite:
                raise self._no_room(X.shape[0], ", which may be indefinite")
            return ChunkedOperator(self._kernel, X, self.fit_intercept, room), None
        K, eigenvectors = self._sharing.matrix(self._kernel, X), None
        if not self._kernel.always_semidefinite:
            precision = np.finfo(K.dtype).eps
            K, eigenvectors = semidefinite_part(K.astype(np.float64, copy=False), precision)
        return KernelOperator(K, self.fit_intercept), eigenvectors

    def _lean_operator(self, X, n_labels):
        """K of the training rows that leaves room for a solver's arrays, or None.

        So many labels come with so few rows that Newton's method would take more than half as much
        memory as K in double precision does.
        """
        m = X.shape[0]
        many_labels = EXACT_ROWS < m < ROWS_PER_LABEL * n_labels
        fits = 8.0 * m**2 <= 1e6 * self.cache_size
        if self.lean and many_labels and fits and self._kernel.bounded:
            return LeanOperator(self._kernel, X, self.fit_intercept)
        return None

    def _no_room(self, n_rows, why=""):
        """The error of a kernel that only works with its whole matrix in memory."""
        return ValueError(
            f"cache_size must hold the whole kernel matrix, {8e-6 * n_rows**2:.6g} MB, for "
            f"kernel={self.kernel!r}{why}; got {self.cache_size!r}."
        )

    @contextmanager
    def _within_precision(self):
        """Say what to do about a problem that rounding makes unsolvable."""
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                yield
        except KernelPrecisionError as error:
            raise ValueError(
                f"X and gamma={self.gamma!r} must keep the kernel within double precision; they do "
                f"not ({error}). Scale the features to a common range, or lower gamma."
            ) from error
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            names = self._steep_parameters()
            named = [f"{name}={getattr(self, name)!r}" for name in (self.trade_off, *names)]
            raise ValueError(
                f"X, {', '.join(named)} and sample_weight must keep the problem within double "
                f"precision; they do not ({error}). Scale the features to a common range, or "
                f"{self._relief()}."
            ) from error

    def _steep_parameters(self):
        """Names of parameters other than the trade-off that may be too large to solve for."""
        return ("gamma",) if self.kernel == "poly" and not isinstance(self.gamma, str) else ()

    def _relief(self):
        """What makes the problem easier to solve, parameters that are to blame included."""
        return " or ".join((self.ease, *self._steep_parameters()))

    def _warn_unless_converged(self, result):
        if result.converged:
            return
        limit = result.limit
        if limit is None:
            limit = "max_iter" if result.n_iter >= self.max_iter else ""
        if result.rounding > relative_gap(result.primal, result.difference):
            # no further iteration helps
            limit = ""
            state = (
                f"cannot certify tol={self.tol:g} in double precision: the rounding of the scores "
                f"may hide a relative duality gap of up to {result.rounding:.3g}"
            )
        else:
            why = f"({limit}={getattr(self, limit)})" if limit else "without further progress"
            state = (
                f"stopped after {result.n_iter} iterations {why} at a relative duality gap of "
                f"{result.gap:.3g} > tol={self.tol:g}"
            )
        warnings.warn(
            f"{type(self).__name__} {state}. Raise {f'{limit} or ' if limit else ''}tol, scale the "
            f"features to a common range, or {self._relief()}.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _keep(self, X, result, coefficients, intercept, weights):
        """Fitted attributes; ``weights`` (features × scores) only for a linear kernel."""
        self.dual_coef_ = coefficients
        self.intercept_ = intercept
        # Σ_i |A_i|, in units of the kernel values that the coefficients are multiplied with
        sizes = np.abs(coefficients).max(axis=1, initial=0.0)
        if weights is not None:
            sizes *= row_norms(X)
        self._rounding = np.finfo(np.float64).eps * sizes.sum()
        if weights is not None:
            self.coef_ = np.ascontiguousarray(weights.T)
        elif self.kernel != "precomputed":
            self.X_fit_ = self._sharing.kept(X)
        self.n_support_ = int(np.count_nonzero(coefficients.any(axis=1)))
        self.objective_ = float(result.primal)
        self.dual_gap_ = float(result.gap)
        self.n_iter_ = int(result.n_iter)

    def _kernel_scores(self, X):
        """K(x, X) A + b of new rows."""
        return self._scores_and_rounding(X)[0]

    def _scores_and_rounding(self, X):
        """K(x, X) A + b of new rows, and how much of a row's scores may be rounding.

        The sum over training rows rounds by about ε Σ_i |K(x, x_i)| |A_i|. It is bounded by the
        largest |K(x, x_i)|, or by ‖x‖ for a linear kernel, times what is known since the fit.
        """
        # the number of features is known before a fit succeeds
        check_is_fitted(self, "dual_coef_")
        known = self._sharing.values_between(self, X)
        if known is not None:
            return known @ self.dual_coef_ + self.intercept_, self._rounding * _largest(known)
        X = self._validated(X, reset=False)
        if hasattr(self, "coef_"):
            return rows_times(X, self.coef_.T) + self.intercept_, self._rounding * row_norms(X)
        scores = np.empty((X.shape[0], self.dual_coef_.shape[1]))
        largest = np.empty(X.shape[0])
        train = getattr(self, "X_fit_", None)
        step = max(1, SCORED_ENTRIES // len(self.dual_coef_))
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            values = self._kernel.between(X[rows], train)
            np.matmul(values, self.dual_coef_, out=scores[rows])
            largest[rows] = _largest(values)
        scores += self.intercept_
        return scores, self._rounding * largest


def _largest(values):
    """The largest absolute value in each row."""
    return np.maximum(values.max(axis=1), -values.min(axis=1))
