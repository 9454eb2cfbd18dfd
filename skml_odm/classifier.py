"""Plain scikit-learn classifiers with a kernel: what MCODM and ODM share.

The host's problem transformations want such a classifier inside, not one of its own.
"""

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .base import SCORED_ENTRIES, KernelLabelRanker
from .kernels import make_kernel
from .validation import (
    as_plain_array,
    canonical,
    check_bool,
    check_real,
    check_seed,
    check_verbose,
)


class KernelClassifier(ClassifierMixin, BaseEstimator):
    """Base of the classifiers with one score per class, or one in all for two classes.

    A subclass has the parameters ``C, theta, mu, kernel, gamma, degree, coef0, fit_intercept, tol,
    max_iter, random_state, verbose`` and defines

    ``_check_parameters()``
        raise for invalid values of further parameters;
    ``_solve(X, codes, weight)``
        fit to class numbers and row weights that add up to 1, all positive; return a
        :class:`~skml_odm.solvers.result.Result` and, for a linear kernel, the weights
        (features × scores). Two classes have one score.
    """

    # precisions of X that a linear kernel takes as they are
    _linear_precisions: tuple = (np.float64,)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def fit(self, X, y, sample_weight=None):
        """Learn from rows X and their classes y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows, or their kernel matrix if ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Classes: numbers, strings, anything that can be sorted.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row: a row of weight 2 counts like two equal rows, one of weight 0 not
            at all.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X, y, sample_weight):
        self._check_common_parameters()
        self._check_parameters()
        X, y = validate_data(self, as_plain_array(X), y, **self._accepted())
        X = canonical(X) if sparse.issparse(X) else X
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X must be a square kernel matrix for kernel='precomputed'; got shape {X.shape}."
            )
        check_classification_targets(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        counted = np.flatnonzero(weight)
        n_seen = len(np.unique(codes[counted]))
        if n_seen < 2:
            raise ValueError(
                f"y must have at least two classes in rows of positive weight; got {n_seen} class."
            )
        self._check_classes(y)
        self._kernel = make_kernel(
            self.kernel,
            self.gamma,
            self.degree,
            self.coef0,
            X,
            None if sample_weight is None else weight,
        )
        result, weights = self._solved(X, codes, weight, counted)
        self._warn_unless_converged(result)

        for name in ("coef_", "X_fit_"):
            # what an earlier fit with another kernel may have left
            self.__dict__.pop(name, None)
        self.dual_coef_ = np.zeros((X.shape[0], result.coefficients.shape[1]))
        self.dual_coef_[counted] = result.coefficients
        self.intercept_ = result.intercept
        if weights is not None:
            self.coef_ = np.ascontiguousarray(weights.T)
        elif self.kernel != "precomputed":
            self.X_fit_ = X.copy()
        self.n_support_ = int(np.count_nonzero(np.any(self.dual_coef_ != 0.0, axis=1)))
        self.objective_ = float(result.primal)
        self.dual_gap_ = float(result.gap)
        self.n_iter_ = int(result.n_iter)
        return result

    def _solved(self, X, codes, weight, counted):
        """Solve for the rows that count."""
        if len(counted) < len(weight):
            X = X[counted]
            X = X[:, counted] if self.kernel == "precomputed" else X
            codes, weight = codes[counted], weight[counted]
        if not np.isfinite(weight.sum()):
            raise ValueError("sample_weight must have a finite sum; it has not.")
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                return self._solve(X, codes, weight / weight.sum())
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            raise ValueError(
                f"X, C={self.C!r} and sample_weight must keep the problem within double precision; "
                f"they do not ({error}). Scale the features to a common range, or lower C."
            ) from error

    def decision_function(self, X):
        """Scores of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to score, or their kernel values with the training rows if
            ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes the score of the second minus that of the first.
        """
        check_is_fitted(self)
        X = validate_data(self, as_plain_array(X), reset=False, **self._accepted())
        if hasattr(self, "coef_"):
            scores = X @ self.coef_.T + self.intercept_
        else:
            scores = np.empty((X.shape[0], self.dual_coef_.shape[1]))
            train = getattr(self, "X_fit_", None)
            step = max(1, SCORED_ENTRIES // len(self.dual_coef_))
            for start in range(0, X.shape[0], step):
                rows = slice(start, start + step)
                np.matmul(self._kernel.between(X[rows], train), self.dual_coef_, out=scores[rows])
            scores += self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X):
        """Predict the class of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        decision = self.decision_function(X)
        chosen = (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[chosen]

    def _accepted(self):
        """How X is to be validated."""
        if self.kernel == "precomputed":
            return {"accept_sparse": False, "dtype": (np.float64, np.float32), "order": "C"}
        precisions = self._linear_precisions if self.kernel == "linear" else (np.float64,)
        return {"accept_sparse": "csr", "dtype": precisions, "order": "C"}

    def _check_common_parameters(self):
        check_real("C", self.C, 0, open_low=True)
        check_real("theta", self.theta, 0, 1, open_high=True)
        check_real("mu", self.mu, 0, 1)
        check_bool("fit_intercept", self.fit_intercept)
        check_real("tol", self.tol, 0, open_low=True)
        check_real("max_iter", self.max_iter, 1, integer=True)
        check_seed(self.random_state)
        check_verbose(self.verbose)

    def _check_parameters(self):
        pass

    def _check_classes(self, y):
        pass

    ease = KernelLabelRanker.ease
    _operator = KernelLabelRanker._operator
    _warn_unless_converged = KernelLabelRanker._warn_unless_converged
