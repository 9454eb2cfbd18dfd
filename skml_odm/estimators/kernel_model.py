"""What all estimators with a kernel share, and the three steps of their fits.

``prepare`` checks the input and states the learning problem, ``solve`` solves it, ``keep`` makes
the model. ``fit`` runs them in this order. So may anyone else: a search takes the parts of
``prepare`` one by one and replaces some of them by what it knows already.
"""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted

from ..features.kernels import (
    Kernel,
    KernelPrecisionError,
    for_original_kernel,
    make_kernel,
    rows_times,
    semidefinite_part,
)
from ..features.operators import ChunkedOperator, KernelOperator, LinearOperator
from ..solvers.acceptance import accepted
from ..solvers.result import Result, relative_gap
from ..utils.types import ArrayLike, Matrix, NDArray, Self
from ..utils.validation import (
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    check_bool,
    check_parameters,
    check_seed,
    check_verbose,
    forget,
    validated_rows,
)
from ..utils.warn import warn_user

# Kernel values computed at a time when new rows are scored.
SCORED_ENTRIES = 4_000_000


@dataclass
class Prepared:
    """A learning problem with everything that belongs to it, in the order in which it is found.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (m, n_features)
        The training rows.
    target
        The classes, and what else predictions need to know of y.
    sample_weight : ndarray, optional
        Weights of the rows of the problem.
    labels : ndarray
        What the problem is about: booleans (rows × labels), or class numbers.
    known : ndarray of bool, optional
        Which of the labels are known; None if all are.
    rows : ndarray or CSR matrix
        The rows of the problem.
    counted : ndarray of int, optional
        Which of the training rows these are, a row several times if its labels have different
        weights; None for all.
    kernel : Kernel
    operator
        K of the rows; see :mod:`skml_odm.features.operators`.
    eigenvectors : ndarray, optional
        Those of the positive part of K if it was indefinite.
    problem
        What the solver takes besides the operator.
    n_scores : int, optional
        How many scores of the problem are the model's; None for all.
    start : ndarray, optional
        Coefficients that the solver may start from.
    """

    X: Any
    target: Any
    sample_weight: NDArray | None
    labels: NDArray
    rows: Any
    known: NDArray | None = None
    counted: NDArray | None = None
    kernel: Any = None
    operator: Any = None
    eigenvectors: NDArray | None = None
    problem: Any = None
    n_scores: int | None = None
    start: NDArray | None = None

    def own(self, result):
        """The part of a result that is the model's."""
        if self.n_scores is not None:
            result.coefficients = result.coefficients[:, : self.n_scores]
            result.intercept = result.intercept[: self.n_scores]
            result.scores = result.scores[:, : self.n_scores]
        return result


class KernelValues(NamedTuple):
    """Kernel values between rows and the training rows, and the largest absolute one of each row.

    They are those of ``rows`` itself, not of equal rows.
    """

    rows: Any
    values: NDArray
    largest: NDArray

    @classmethod
    def of(cls, rows, values):
        return cls(rows, values, np.maximum(values.max(axis=1), -values.min(axis=1)))


class KernelModel(BaseEstimator):
    """A model whose scores are K(x, X) A + b.

    A subclass has the parameters ``kernel, gamma, degree, coef0, fit_intercept, tol, max_iter,
    random_state, verbose, cache_size`` and the ``trade_off`` between loss and regulariser, lists
    ``checks`` of its parameters, and defines

    ``check_data(X, y, sample_weight)``
        return a ``Prepared`` with the input;
    ``make_problem(prepared)``
        return what the solver takes besides the operator;
    ``minimise(prepared, **options)``
        return a :class:`~skml_odm.solvers.result.Result`; it may start from ``prepared.start``.
    """

    checks: ClassVar[dict[str, Callable]] = {
        "fit_intercept": check_bool,
        "tol": POSITIVE,
        "max_iter": COUNT,
        "random_state": check_seed,
        "verbose": check_verbose,
        "cache_size": NOT_NEGATIVE,
    }
    trade_off: ClassVar[str] = "C"
    # what makes a problem easier to solve
    remedy: ClassVar[str] = "lower C"
    # precisions of X that a linear kernel takes as they are
    linear_precisions: ClassVar[tuple] = (np.float64,)
    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any
    fit_intercept: Any
    tol: Any
    max_iter: Any
    random_state: Any
    verbose: Any
    cache_size: Any
    _kernel: Kernel
    # kernel values of rows that will be scored
    _known: KernelValues | None = None

    # ---- the steps of a fit ----------------------------------------------------------------------

    def prepare(self, X: Matrix, y: Matrix, sample_weight: ArrayLike | None = None) -> Prepared:
        """Check the input and state the learning problem: the first step of a fit."""
        self.start_anew()
        prepared = self.check_data(X, y, sample_weight)
        prepared.kernel = self.make_kernel(prepared)
        with self.within_precision():
            prepared.operator, prepared.eigenvectors = self.make_operator(prepared)
            prepared.problem = self.make_problem(prepared)
        return prepared

    def solve(self, prepared: Prepared, start: Result | None = None) -> Result:
        """Solve the problem: the second step of a fit.

        ``start`` is the result of another problem with the same rows and kernel. Solvers that can
        start from its coefficients do so, and the others ignore it.
        """
        # a result of fewer scores does not have all coefficients
        if start is not None and prepared.n_scores is None:
            prepared.start = start.coefficients / start.margin
        with self.within_precision():
            result = self.minimise(prepared, **self.solver_options())
            return self.accept(prepared, result)

    def keep(self, prepared: Prepared, result: Result, *, copy: bool = True) -> Self:
        """Make a model of the result: the last step of a fit.

        Without ``copy`` the model keeps the training rows themselves, which nobody may change.
        """
        self._warn_unless_converged(result)
        solution = result.coefficients
        if prepared.eigenvectors is not None:
            solution = for_original_kernel(solution, prepared.eigenvectors)
        weights = self._weights(prepared, result, solution)
        coefficients = solution
        if prepared.counted is not None:
            coefficients = np.zeros((prepared.X.shape[0], solution.shape[1]))
            np.add.at(coefficients, prepared.counted, solution)
        # Σ_i |A_i|, in units of the kernel values that the coefficients are multiplied with
        sizes = np.abs(coefficients).max(axis=1, initial=0.0)
        if weights is not None:
            sizes *= row_norms(prepared.X)
            self.coef_ = np.ascontiguousarray(weights.T)
        elif self.kernel != "precomputed":
            self.X_fit_ = prepared.X.copy() if copy else prepared.X
        self._rounding = np.finfo(np.float64).eps * sizes.sum()
        self._kernel = prepared.kernel
        self.dual_coef_ = coefficients
        self.intercept_ = result.intercept
        self.n_support_ = int(np.count_nonzero(coefficients.any(axis=1)))
        self.objective_ = float(result.primal)
        self.dual_gap_ = float(result.gap)
        self.n_iter_ = int(result.n_iter)
        return self

    # ---- their parts -----------------------------------------------------------------------------

    def start_anew(self):
        """Forget an earlier fit and check the parameters."""
        forget(self)
        self._validate_params()

    def make_kernel(self, prepared):
        """The kernel, its parameters fixed for the training rows."""
        return make_kernel(
            self.kernel, self.gamma, self.degree, self.coef0, prepared.rows, prepared.sample_weight
        )

    def make_operator(self, prepared, matrix=None):
        """K of the rows, and eigenvectors of its positive part if it was indefinite.

        ``matrix`` is the kernel matrix if that is known.
        """
        rows, kernel = prepared.rows, prepared.kernel
        if self.kernel == "linear":
            return LinearOperator(rows, self.fit_intercept), None
        if not self.has_room(rows):
            if not kernel.always_semidefinite:
                raise self._no_room(rows, ", which may be indefinite")
            return ChunkedOperator(kernel, rows, self.fit_intercept, 1e6 * self.cache_size), None
        K = kernel.matrix(rows) if matrix is None else matrix
        eigenvectors = None
        if not kernel.always_semidefinite:
            precision = np.finfo(K.dtype).eps
            K, eigenvectors = semidefinite_part(K.astype(np.float64, copy=False), precision)
        return KernelOperator(K, self.fit_intercept), eigenvectors

    def has_room(self, rows):
        """Whether the kernel matrix of some rows may be held in memory."""
        return self.kernel == "precomputed" or 8e-6 * rows.shape[0] ** 2 <= self.cache_size

    def solver_options(self) -> dict[str, Any]:
        """What all solvers are told."""
        return {
            "tol": self.tol,
            "max_iter": self.max_iter,
            # without a seed the same one for every fit, so that equal fits agree
            "random_state": 0 if self.random_state is None else self.random_state,
            "verbose": self.verbose,
        }

    def accept(self, prepared, result):
        """The result of a solver, checked against the zero model, as that of the estimator."""
        at_zero = self.value_at_zero(prepared)
        return prepared.own(accepted(result, prepared.operator, at_zero, tol=self.tol))

    def value_at_zero(self, prepared):
        """The objective of the zero model."""
        return prepared.problem.at_zero

    @contextmanager
    def within_precision(self):
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
                f"{self._remedies()}."
            ) from error

    # ---- the model -------------------------------------------------------------------------------

    def kernel_values(self, X: Matrix) -> NDArray:
        """K(x, X) of new rows."""
        check_is_fitted(self, "dual_coef_")
        return self._kernel.between(self._validated(X, reset=False), self._kernel_rows())

    def know_values(self, known: KernelValues) -> None:
        """Look up kernel values when the very rows that they are for are scored."""
        self._known = known

    def _scores_and_rounding(self, X):
        """K(x, X) A + b of new rows, and how much of a row's scores may be rounding.

        The sum over training rows rounds by about ε Σ_i |K(x, x_i)| |A_i|. It is bounded by the
        largest |K(x, x_i)|, or by ‖x‖ for a linear kernel, times what is known since the fit.
        """
        # the number of features is known before a fit succeeds
        check_is_fitted(self, "dual_coef_")
        if self._known is not None and self._known.rows is X:
            scores = self._known.values @ self.dual_coef_ + self.intercept_
            return scores, self._rounding * self._known.largest
        X = self._validated(X, reset=False)
        if hasattr(self, "coef_"):
            return rows_times(X, self.coef_.T) + self.intercept_, self._rounding * row_norms(X)
        scores = np.empty((X.shape[0], self.dual_coef_.shape[1]))
        largest = np.empty(X.shape[0])
        step = max(1, SCORED_ENTRIES // len(self.dual_coef_))
        for start in range(0, X.shape[0], step):
            part = slice(start, start + step)
            some = KernelValues.of(X[part], self._kernel.between(X[part], self._kernel_rows()))
            np.matmul(some.values, self.dual_coef_, out=scores[part])
            largest[part] = some.largest
        scores += self.intercept_
        return scores, self._rounding * largest

    def _kernel_rows(self):
        """The training rows that kernel values are computed with; None for given values."""
        return getattr(self, "X_fit_", None)

    def _weights(self, prepared, result, coefficients):
        """Weights (features × scores) of a linear model; None for other kernels."""
        if isinstance(prepared.operator, LinearOperator):
            return prepared.operator.weights(coefficients)
        return None

    # ---- checks and messages ---------------------------------------------------------------------

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _validate_params(self):
        """Raise for values of parameters that no fit accepts; named as in scikit-learn."""
        check_parameters(self)

    def _accepted(self):
        """How X is to be validated."""
        if self.kernel == "precomputed":
            # a single-precision kernel matrix must be known as such
            return {"accept_sparse": False, "dtype": (np.float64, np.float32), "order": "C"}
        precisions = self.linear_precisions if self.kernel == "linear" else (np.float64,)
        return {"accept_sparse": "csr", "dtype": precisions, "order": "C"}

    def _validated(self, X, reset):
        X = validated_rows(self, X, reset=reset, **self._accepted())
        if reset and self.kernel == "precomputed":
            self._check_square(X)
        return X

    def rows_at(self, X, index):
        """The rows with these numbers, or their kernel matrix."""
        return X[np.ix_(index, index)] if self.kernel == "precomputed" else X[index]

    def _check_square(self, X):
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X must be a square kernel matrix for kernel='precomputed'; got shape {X.shape}."
            )

    def _no_room(self, rows, why=""):
        """The error of a kernel that only works with its whole matrix in memory."""
        return ValueError(
            f"cache_size must hold the whole kernel matrix, {8e-6 * rows.shape[0] ** 2:.6g} MB, "
            f"for kernel={self.kernel!r}{why}; got {self.cache_size!r}."
        )

    def _steep_parameters(self):
        """Names of parameters other than the trade-off that may be too large to solve for."""
        return ("gamma",) if self.kernel == "poly" and not isinstance(self.gamma, str) else ()

    def _remedies(self):
        """What makes the problem easier to solve, parameters that are to blame included."""
        return " or ".join((self.remedy, *self._steep_parameters()))

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
        warn_user(
            f"{type(self).__name__} {state}. Raise {f'{limit} or ' if limit else ''}tol, scale the "
            f"features to a common range, or {self._remedies()}.",
            ConvergenceWarning,
        )
