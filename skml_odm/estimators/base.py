"""The host contract, once: parameters, tags, validation, containers, scores, labels.

An estimator of this package describes a learning problem; everything around it is here.
"""

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import ClassifierTags
from sklearn.utils.metaestimators import available_if
from skmultilearn.base import MLClassifierBase

from ..decisions.scores import as_dense
from ..decisions.thresholds import check_threshold, make_threshold
from ..problems.pairs import PairLoss
from ..problems.zero_label import ZeroLabelLoss, differences, with_zero_label
from ..solvers.result import Result
from ..solvers.turns import minimise, solve_rows
from ..utils.cell_weights import layers
from ..utils.types import ArrayLike, Matrix, NDArray, Self, csr_matrix
from ..utils.validation import (
    POSITIVE,
    Target,
    as_probabilities,
    check_auto_or_bool,
    check_parameters,
    decode,
    validated_rows,
    validated_weights,
    weights_of_known,
)
from .kernel_model import KernelModel, Prepared
from .unseen import unseen_scores

# Solvers of pair losses that can learn a zero label.
ZERO_LABEL_SOLVERS = ("auto", "newton", "bcd")


class LabelRanker(MLClassifierBase):
    """Base of all estimators: what the host and scikit-learn expect around a learning problem.

    A subclass lists ``checks`` of its parameters, and defines ``fit``, which starts with
    ``_validated_pair`` and ends with ``_remember``, ``label_scores``, and either an attribute
    ``threshold_`` or a ``_decision`` of its own.
    """

    checks: ClassVar[dict[str, Callable]]
    # whether learning leaves out what ``known`` says is unknown
    takes_unknown: ClassVar[bool] = False

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

    def decision_function(self, X: Matrix) -> NDArray[np.float64]:
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

    def predict(self, X: Matrix) -> NDArray | csr_matrix:
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

    def score(self, X: Matrix, y: Matrix, sample_weight: ArrayLike | None = None) -> float:
        """Subset accuracy: the share of rows whose known labels are all predicted correctly.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            NaN where a label is unknown. Rows in which nothing is known are left out.
        sample_weight : array-like of shape (n_samples,) or (n_samples, n_labels), optional
            As in ``fit``.

        Returns
        -------
        float
        """
        target = Target(y)
        per_cell = target.container != "column"
        weight = validated_weights(sample_weight, target.indicator, per_cell=per_cell)
        weight, known = weights_of_known(target, weight), target.known
        if weight is not None and weight.ndim == 2:
            rows, known, weight = layers(weight)
        elif known is None:
            return super().score(X, y, weight)
        else:
            rows = slice(None)
        wrong = as_dense(self.predict(X)) != target.indicator
        return float(np.average(~(wrong[rows] & known).any(axis=1), weights=weight))

    def label_scores(self, X: Matrix) -> NDArray[np.float64]:
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
        raise NotImplementedError

    def ranking_scores(self, X: Matrix) -> NDArray[np.float64]:
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
        return self.threshold_.decide(scores)

    def _probabilities(self, decision, scores):
        """Probabilities in the container of the target; 0 for a label that no training row has."""
        probabilities = decision.probabilities(scores)
        probabilities[:, self._unseen] = 0.0
        return as_probabilities(probabilities, self.classes_, self._container)

    def _validate_params(self):
        """Raise for values of parameters that no fit accepts; named as in scikit-learn."""
        check_parameters(self)

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
        if target.known is not None and not self.takes_unknown:
            raise ValueError(
                f"y must have no unknown labels (NaN) for {type(self).__name__}, which does not "
                "leave them out. Fill them in, or use another estimator."
            )
        return X, target

    def _remember(self, target, sample_weight=None):
        """What predictions need to know of the labels."""
        # weights of rows or of cells
        counts = True if sample_weight is None else (sample_weight > 0.0).reshape(len(target), -1)
        self._unseen = np.flatnonzero(~(target.indicator & counts).any(axis=0))
        self.n_labels_ = target.indicator.shape[1]
        self.classes_ = target.classes
        if target.label_names is not None:
            self.label_names_ = target.label_names
        self._container = target.container


def _is_calibrated(estimator):
    """Whether an estimator has probabilities."""
    return estimator.threshold == "calibrated"


class KernelLabelRanker(KernelModel, LabelRanker):
    """Base of the estimators that score labels with a kernel and cut the scores with a threshold.

    A subclass is a :class:`~skml_odm.estimators.kernel_model.KernelModel` with, as a parameter or
    an attribute, ``threshold``. It says if it ``needs_pairs`` of labels. The constructor here is
    for those that have no parameters of their own.
    """

    checks = KernelModel.checks | {"C": POSITIVE, "threshold": check_threshold}
    needs_pairs: ClassVar[bool] = True

    def __init__(
        self,
        C=8.0,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        threshold="calibrated",
        solver="auto",
        tol=1e-3,
        max_iter=2000,
        random_state=None,
        verbose=0,
        cache_size=2000.0,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.threshold = threshold
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.cache_size = cache_size

    def fit(self, X: Matrix, y: Matrix, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows X and their labels y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows, or their kernel matrix if ``kernel="precomputed"``.
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Zeros and ones, and NaN for unknown labels, which take no part in their row. A
            one-dimensional y with two classes is a single label.
        sample_weight : array-like of shape (n_samples,) or (n_samples, n_labels), optional
            Weight of each row: a row of weight 2 counts like two equal rows, one of weight 0 not
            at all. Or a weight for each label of each row; 0 is an unknown label. Many different
            weights in a row make the fit slower.

        Returns
        -------
        self
        """
        prepared = self.prepare(X, y, sample_weight)
        return self.keep(prepared, self.solve(prepared))

    def check_data(self, X, y, sample_weight=None):
        X, target = self._validated_pair(X, y)
        weight = validated_weights(sample_weight, X, per_cell=self.takes_unknown)
        weight = weights_of_known(target, weight)
        rows, counted = X, None
        if weight is not None and weight.ndim == 2:
            counted, known, weight = layers(weight)
            rows = self.rows_at(X, counted)
            target = target.layered(counted, known)
        prepared = Prepared(
            X=X,
            target=target,
            sample_weight=weight,
            labels=target.indicator,
            known=target.known,
            rows=rows,
            counted=counted,
        )
        if prepared.labels.shape[1] == 1 and self.needs_pairs:
            # one label alone has no pair: its complement takes the place of the second label
            prepared.labels = np.hstack([prepared.labels, ~prepared.labels])
            prepared.n_scores = 1
            if prepared.known is not None:
                prepared.known = np.hstack([prepared.known, prepared.known])
        return prepared

    def keep(
        self, prepared: Prepared, result: Result, *, copy: bool = True, threshold: Any = None
    ) -> Self:
        """Make a model of the result: the last step of a fit.

        Without ``copy`` the model keeps the training rows themselves, which nobody may change.
        ``threshold`` is the fitted threshold if that is known.
        """
        super().keep(prepared, result, copy=copy)
        self._remember(prepared.target, prepared.sample_weight)
        self.threshold_ = threshold or self.fit_threshold(prepared, result)
        # the kernel matrix is not needed any more
        prepared.operator = prepared.eigenvectors = None
        return self

    def fit_threshold(self, prepared: Prepared, result: Result) -> Any:
        """The fitted threshold."""
        threshold = make_threshold(self.threshold)
        scores = result.scores
        if threshold.needs_unseen_scores:
            with self.within_precision():
                scores = self.unseen_scores(prepared, result)
        labels = self._labels_to_cut(prepared)
        known = prepared.target.known
        return threshold.fit(scores, labels, prepared.sample_weight, result.margin, known=known)

    def unseen_scores(self, prepared: Prepared, result: Result) -> NDArray[np.float64]:
        """Scores of every training row by a model that has not seen it."""
        return unseen_scores(self, prepared, result)

    def label_scores(self, X: Matrix) -> NDArray[np.float64]:
        return self._scores_and_rounding(X)[0]

    def _decision(self, X):
        scores, rounding = self._scores_and_rounding(X)
        return self.threshold_.decide(scores, rounding)

    @available_if(_is_calibrated)
    def predict_proba(self, X: Matrix) -> NDArray[np.float64] | csr_matrix:
        """Calibrated probabilities of all labels; only with ``threshold="calibrated"``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray or csr_matrix of shape (n_samples, n_labels)
            In the container of y in fit. For a one-dimensional y of shape (n_samples, 2): the
            probabilities of both classes.
        """
        scores = self.label_scores(X)
        if not hasattr(self.threshold_, "probabilities"):
            raise NotFittedError(
                "threshold was set to 'calibrated' after fit: call fit again for probabilities."
            )
        return self._probabilities(self.threshold_, scores)

    def _labels_to_cut(self, prepared):
        """The labels that thresholds are fitted to."""
        return prepared.target.indicator


class PairLossRanker(KernelLabelRanker):
    """Base of the estimators that minimise a :class:`~skml_odm.problems.pairs.PairLoss`.

    With a zero label it is a :class:`~skml_odm.problems.zero_label.ZeroLabelLoss`; a model keeps
    the differences of its labels to label 0. A subclass has the parameters ``solver``, one of its
    ``solvers``, and ``zero_label``.
    """

    checks = KernelLabelRanker.checks | {"zero_label": check_auto_or_bool}
    takes_unknown = True
    solvers: tuple[str, ...]
    theta: Any = 0.0
    mu: Any = 0.0
    solver: Any
    zero_label: Any

    @property
    def loss_parameters(self) -> tuple[float, float, float]:
        """C, θ and μ of the loss."""
        return self.C, self.theta, self.mu

    def has_zero_label(self, prepared: Prepared) -> bool:
        """Whether a zero label is to be learned."""
        # a single label has its complement to compare with
        if self.solver not in ZERO_LABEL_SOLVERS or prepared.n_scores is not None:
            return False
        if not isinstance(self.zero_label, str):
            return bool(self.zero_label)
        labels, known = prepared.labels, prepared.known
        irrelevant = ~labels if known is None else ~labels & known
        if prepared.sample_weight is not None:
            counted = prepared.sample_weight > 0.0
            labels, irrelevant = labels[counted], irrelevant[counted]
        return bool((~labels.any(axis=1) | ~irrelevant.any(axis=1)).any())

    def make_problem(self, prepared):
        if prepared.problem is not None:
            # with other weights it stays what it is
            kind = type(prepared.problem)
        else:
            kind = ZeroLabelLoss if self.has_zero_label(prepared) else PairLoss
        return kind(
            prepared.labels,
            *self.loss_parameters,
            sample_weight=prepared.sample_weight,
            involved=prepared.known,
        )

    def minimise(self, prepared, **options):
        operator, problem, start = prepared.operator, prepared.problem, prepared.start
        if start is not None and isinstance(problem, ZeroLabelLoss):
            start = with_zero_label(start)
        elif start is not None:
            # those of a model with a zero label do not sum to zero
            start = start - start.mean(axis=1, keepdims=True)
        return minimise(self.solver, operator, problem, start=start, **options)

    def accept(self, prepared, result):
        result = super().accept(prepared, result)
        if isinstance(prepared.problem, ZeroLabelLoss):
            result.coefficients = differences(result.coefficients)
            result.intercept = differences(result.intercept)
            result.scores = differences(result.scores)
        return result

    def keep(self, prepared, result, **options):
        self.zero_label_ = isinstance(prepared.problem, ZeroLabelLoss)
        return super().keep(prepared, result, **options)

    def _validate_params(self):
        super()._validate_params()
        if self.solver not in ZERO_LABEL_SOLVERS and self.zero_label not in ("auto", False):
            allowed = [repr(name) for name in self.solvers if name in ZERO_LABEL_SOLVERS]
            raise ValueError(
                f"solver must be {' or '.join(allowed)} for zero_label={self.zero_label!r}; got "
                f"{self.solver!r}. Use zero_label=False or 'auto', which learns no zero label then."
            )


class RowLossRanker(KernelLabelRanker):
    """Base of the estimators that minimise a :class:`~skml_odm.problems.rows.RowLoss`."""

    takes_unknown = True
    needs_pairs = False
    threshold: Any
    covariance: Any

    def minimise(self, prepared, **options):
        return solve_rows(prepared.operator, prepared.problem, **options)

    def accept(self, prepared, result):
        found = super().accept(prepared, result)
        if found is not result:
            found.covariance = prepared.problem.covariance_at_zero
        return found

    def keep(self, prepared, result, **options):
        super().keep(prepared, result, **options)
        self.covariance_ = result.covariance
        return self
