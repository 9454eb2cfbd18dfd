"""The host contract, once: parameters, tags, validation, containers, scores, labels.

An estimator of this package describes a learning problem; everything around it is here.
"""

import inspect
from collections.abc import Collection
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from skmultilearn.base import MLClassifierBase

from ..decisions.thresholds import make_threshold
from ..features.kernels import for_original_kernel
from ..features.operators import LinearOperator
from ..utils.validation import (
    Target,
    check_choice,
    decode,
    forget,
    validated_rows,
    validated_weights,
)
from .kernel_model import KernelModel


class LabelRanker(MLClassifierBase):
    """Base of all estimators: what the host and scikit-learn expect around a learning problem.

    A subclass defines ``fit``, which starts with ``_validated_pair`` and ends with ``_remember``,
    ``label_scores``, and either an attribute ``threshold_`` or a ``_decision`` of its own.
    """

    @property
    def copyable_attrs(self):
        """The names of all parameters, for the host."""
        return [name for name in inspect.signature(type(self)).parameters]

    get_params = BaseEstimator.get_params
    set_params = BaseEstimator.set_params

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=False, multi_label=True)
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        tags.input_tags.sparse = True
        return tags

    def decision_function(self, X):
        """Scores minus thresholds: a label is predicted where this is positive.

        It is never positive for a label that no training row has.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_labels), or (n_samples,) if y was one-dimensional in fit
        """
        decision = self._decision(X)
        decision[:, self._unseen] = np.minimum(decision[:, self._unseen], 0.0)
        return decision[:, 0] if self._container == "column" else decision

    def predict(self, X):
        """Predict the labels of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray or csr_matrix of shape (n_samples, n_labels)
            In the container of y in fit: sparse for sparse, dense for dense, class values for a
            one-dimensional y.
        """
        decision = self.decision_function(X)
        return decode(decision.reshape(len(decision), -1) > 0, self.classes_, self._container)

    def ranking_scores(self, X):
        """Scores that rank the labels of a row as ``decision_function`` does.

        Labels that no training row has are ranked by their scores, too.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
        """
        if getattr(getattr(self, "threshold_", None), "keeps_order", False):
            return self.label_scores(X)
        return self._decision(X)

    def _decision(self, X):
        scores = self.label_scores(X)
        scores -= self.threshold_(scores)
        return scores

    def _validated(self, X, reset):
        order = None if sparse.issparse(X) else "C"
        return validated_rows(
            self, X, reset=reset, accept_sparse="csr", dtype=np.float64, order=order
        )

    def _validated_pair(self, X, y):
        """Training rows and a :class:`~skml_odm.utils.validation.Target` of as many rows."""
        X = self._validated(X, reset=True)
        target = Target(y)
        if X.shape[0] != len(target):
            raise ValueError(
                f"X and y must have the same number of rows; got {X.shape[0]} and {len(target)}."
            )
        return X, target

    def _remember(self, target, sample_weight=None):
        """What predictions need to know of the labels."""
        counted = slice(None) if sample_weight is None else sample_weight > 0.0
        self._unseen = np.flatnonzero(~target.indicator[counted].any(axis=0))
        self.n_labels_ = target.indicator.shape[1]
        self.classes_ = target.classes
        self._container = target.container


class KernelLabelRanker(KernelModel, LabelRanker):
    """Base of the estimators that score labels with a kernel and cut the scores with a threshold.

    A subclass has the parameters of a :class:`~skml_odm.estimators.kernel_model.KernelModel`, a
    ``solver`` if it lists the names of several ``solvers`` and, as a parameter or an attribute,
    ``threshold``. It says if it ``needs_pairs`` of labels, and defines

    ``_check_parameters()``
        raise for invalid values of further parameters;
    ``_solve(X, operator, indicator, sample_weight)``
        return a :class:`~skml_odm.solvers.result.Result`.
    """

    solvers: ClassVar[Collection[str]] = ()
    needs_pairs: ClassVar[bool] = True

    def fit(self, X, y, sample_weight=None):
        """Learn from rows X and their labels y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows, or their kernel matrix if ``kernel="precomputed"``.
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Zeros and ones. A one-dimensional y with two classes is a single label.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row: a row of weight 2 counts like two equal rows, one of weight 0 not
            at all.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X, y, sample_weight=None):
        forget(self)
        self._validate_params()
        threshold = make_threshold(self.threshold)
        X, target = self._sharing.validated_pair(self, X, y)
        if sample_weight is not None:
            sample_weight = validated_weights(sample_weight, X)
        self._kernel = self._sharing.kernel(self, X, sample_weight)
        indicator = target.indicator
        n_labels = indicator.shape[1]
        # One label alone has no pair: its complement takes the place of the second label.
        alone = n_labels == 1 and self.needs_pairs
        pairs = np.hstack([indicator, ~indicator]) if alone else indicator
        with self._within_precision():
            operator, eigenvectors = self._sharing.operator(self, X)
            result = self._solve(X, operator, pairs, sample_weight)
        self._warn_unless_converged(result)

        coefficients = for_original_kernel(result.coefficients[:, :n_labels], eigenvectors)
        weights = None
        if isinstance(operator, LinearOperator):
            weights = operator.weights(coefficients)
        self._keep(X, result, coefficients, result.intercept[:n_labels], weights)
        # the kernel matrix is not needed any more; thresholds are
        del operator, eigenvectors
        self._remember(target, sample_weight)
        scores, labels = result.scores[:, :n_labels], self._labels_to_cut(indicator)
        self.threshold_ = self._sharing.threshold(
            self, threshold, scores, labels, sample_weight, result.margin
        )
        return self

    def label_scores(self, X):
        """Scores of all labels: the larger, the more relevant.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to score, or their kernel values with the training rows if
            ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
        """
        return self._kernel_scores(X)

    def _decision(self, X):
        decision, rounding = self._scores_and_rounding(X)
        decision -= self.threshold_(decision)
        # the sign of what is rounding means nothing
        decision[np.abs(decision) <= rounding[:, None]] = 0.0
        return decision

    def _check_common_parameters(self):
        self._check_kernel_model_parameters()
        if self.solvers:
            check_choice("solver", self.solver, tuple(self.solvers))
        make_threshold(self.threshold)

    def _check_parameters(self):
        pass

    def _labels_to_cut(self, indicator):
        """The labels that thresholds are fitted to."""
        return indicator
