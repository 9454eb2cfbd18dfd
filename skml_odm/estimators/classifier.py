"""Plain scikit-learn classifiers with a kernel: what MCODM and ODM share.

The host's problem transformations want such a classifier inside, not one of its own.
"""

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ..utils.validation import (
    as_plain_array,
    as_plain_numbers,
    canonical,
    check_real,
    forget,
    numbers_of_objects,
    usual_errors,
    validated_weights,
)
from .kernel_model import KernelModel

# θ above which it is named where a problem is beyond double precision: 1/(1−θ)² is above 10⁴.
STEEP = 0.99


class KernelClassifier(ClassifierMixin, KernelModel):
    """Base of the classifiers with one score per class, or one in all for two classes.

    A subclass has the parameters of a :class:`~skml_odm.estimators.kernel_model.KernelModel`,
    ``theta`` and ``mu``, and defines

    ``_check_parameters()``
        raise for invalid values of further parameters;
    ``_solve(X, codes, weight)``
        fit to class numbers and row weights that add up to 1, all positive; return a
        :class:`~skml_odm.solvers.result.Result` and, for a linear kernel, the weights
        (features × scores). Two classes have one score.
    """

    def fit(self, X, y, sample_weight=None):
        """Learn from rows X and their classes y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows, or their kernel matrix if ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Classes: integers, floats that are whole numbers, booleans, or strings; an array of
            dtype object may hold strings only.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row: a row of weight 2 counts like two equal rows, one of weight 0 not
            at all.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X, y, sample_weight):
        forget(self)
        self._validate_params()
        y = numbers_of_objects(as_plain_array(y, "y"))
        with usual_errors("X"):
            X, y = validate_data(self, as_plain_numbers(X), y, **self._accepted())
        self._check_square(X)
        X = canonical(X) if sparse.issparse(X) else X
        check_classification_targets(y)
        weight = validated_weights(sample_weight, X)
        self.classes_, codes = np.unique(y, return_inverse=True)
        counted = np.flatnonzero(weight)
        n_seen = len(np.unique(codes[counted]))
        if n_seen < 2:
            raise ValueError(
                f"y must have at least two classes in rows of positive weight; got {n_seen} class."
            )
        self._check_classes(y)
        self._kernel = self._sharing.kernel(self, X, None if sample_weight is None else weight)
        result, weights = self._solved(X, codes, weight, counted)
        self._warn_unless_converged(result)

        coefficients = np.zeros((X.shape[0], result.coefficients.shape[1]))
        coefficients[counted] = result.coefficients
        self._keep(X, result, coefficients, result.intercept, weights)
        return result

    def _solved(self, X, codes, weight, counted):
        """Solve for the rows that count."""
        if len(counted) < len(weight):
            X = X[np.ix_(counted, counted)] if self.kernel == "precomputed" else X[counted]
            codes, weight = codes[counted], weight[counted]
        if not np.isfinite(weight.sum()):
            raise ValueError("sample_weight must have a finite sum; it has not.")
        with self._within_precision():
            return self._solve(X, codes, weight / weight.sum())

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
        scores = self._kernel_scores(X)
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

    def _check_common_parameters(self):
        self._check_kernel_model_parameters()
        check_real("theta", self.theta, 0, 1, open_high=True)
        check_real("mu", self.mu, 0, 1)

    def _steep_parameters(self):
        return (*super()._steep_parameters(), *(("theta",) if self.theta > STEEP else ()))

    def _check_parameters(self):
        pass

    def _check_classes(self, y):
        pass
