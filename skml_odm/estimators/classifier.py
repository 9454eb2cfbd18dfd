"""Plain scikit-learn classifiers with a kernel: what MCODM and ODM share.

The host's problem transformations want such a classifier inside, not one of its own.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ..utils.types import ArrayLike, Matrix, NDArray, Self
from ..utils.validation import (
    POSITIVE,
    SHARE,
    as_plain_array,
    as_plain_numbers,
    canonical,
    check_real,
    numbers_of_objects,
    refuse_missing,
    usual_errors,
    validated_weights,
)
from .kernel_model import KernelModel, Prepared

# θ above which it is named where a problem is beyond double precision: 1/(1−θ)² is above 10⁴.
STEEP = 0.99


class Classes(NamedTuple):
    """What predictions need to know of y."""

    classes: NDArray


class KernelClassifier(ClassifierMixin, KernelModel):
    """Base of the classifiers with one score per class, or one in all for two classes.

    A subclass is a :class:`~skml_odm.estimators.kernel_model.KernelModel` with parameters
    ``theta`` and ``mu``. Its problem is about the rows of positive weight.
    """

    checks = KernelModel.checks | {
        "C": POSITIVE,
        "theta": partial(check_real, low=0, high=1, open_high=True),
        "mu": SHARE,
    }
    C: Any
    theta: Any
    mu: Any

    def fit(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
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
        prepared = self.prepare(X, y, sample_weight)
        return self.keep(prepared, self.solve(prepared))

    def check_data(self, X, y, sample_weight=None):
        y = numbers_of_objects(as_plain_array(y, "y"))
        refuse_missing(y, f"Leave out the rows that have none: {type(self).__name__} needs it.")
        with usual_errors("X"):
            X, y = validate_data(self, as_plain_numbers(X), y, **self._accepted())
        if self.kernel == "precomputed":
            self._check_square(X)
        X = canonical(X) if sparse.issparse(X) else X
        check_classification_targets(y)
        weight = validated_weights(sample_weight, X)
        classes, codes = np.unique(y, return_inverse=True)
        rows, counted = X, None
        if weight is not None and not weight.all():
            counted = np.flatnonzero(weight)
            codes, weight = codes[counted], weight[counted]
            rows = self.rows_at(X, counted)
        n_seen = len(np.unique(codes))
        if n_seen < 2:
            raise ValueError(
                f"y must have at least two classes in rows of positive weight; got {n_seen} class."
            )
        self._check_classes(classes, y)
        if weight is not None and not np.isfinite(weight.sum()):
            raise ValueError("sample_weight must have a finite sum; it has not.")
        return Prepared(
            X=X,
            target=Classes(classes),
            sample_weight=weight,
            labels=codes,
            rows=rows,
            counted=counted,
        )

    def keep(self, prepared, result, **options):
        super().keep(prepared, result, **options)
        self.classes_ = prepared.target.classes
        return self

    def decision_function(self, X: Matrix) -> NDArray[np.float64]:
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
        scores = self._scores_and_rounding(X)[0]
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Matrix) -> NDArray:
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

    def _steep_parameters(self):
        return (*super()._steep_parameters(), *(("theta",) if self.theta > STEEP else ()))

    def _check_classes(self, classes, y):
        """Raise for classes that the classifier cannot learn."""


def shares(prepared):
    """Weights of the rows of a problem, which add up to 1."""
    m = len(prepared.labels)
    if prepared.sample_weight is None:
        return np.full(m, 1.0 / m)
    return prepared.sample_weight / prepared.sample_weight.sum()
