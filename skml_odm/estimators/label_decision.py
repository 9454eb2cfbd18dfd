"""Labels and probabilities as good as the scores, for any classifier that scores labels."""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.metaestimators import _safe_split, available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from ..decisions.decision import LabelDecision, check_calibration, check_measure
from ..decisions.guarantee import check_guarantee
from ..decisions.rules import RULES
from ..decisions.scores import labels_of, unbounded_scores_of
from ..metrics.labels import LABEL_MEASURES
from ..utils.cell_weights import layers
from ..utils.types import ArrayLike, Matrix, NDArray, Self, csr_matrix
from ..utils.validation import (
    Target,
    as_plain_array,
    as_plain_labels,
    check_parameters,
    check_real,
    check_seed,
    forget,
    some_rows,
    validated_weights,
    weights_of_known,
    with_unknown,
)
from .base import LabelRanker

MEASURES: dict[str, Callable[[NDArray, NDArray], float]] = {
    **LABEL_MEASURES,
    "cardinality": lambda y_true, predicted: float(predicted.sum(axis=1).mean()),
}


def check_cv_number(name, value):
    """Raise unless ``value`` can be the ``cv`` of scikit-learn."""
    if not (hasattr(value, "split") or np.iterable(value)):
        check_real(name, value, 2, integer=True)


class LabelDecisionCV(LabelRanker):
    """Cross-validated decisions: probabilities, and labels that are best for a measure.

    Wraps any multi-label classifier that scores labels. The classifier is fitted to parts of the
    training rows and scores the others. From these scores it is learned which probability a score
    stands for, and which cuts of the probabilities are best for ``measure``. Then the classifier is
    fitted to all rows.

    Parameters
    ----------
    estimator : estimator
        With one of the methods ``label_scores``, ``decision_function`` or ``predict_proba``: one of
        this package, of scikit-multilearn or of scikit-learn, or a pipeline that ends with one. A
        fitted ``FrozenEstimator`` is only calibrated.
    measure : str or callable, default="hamming"
        What predicted labels are to be good at:

        - "hamming": few wrong cells; labels with a probability above ½,
        - "subset-accuracy": rows that are right as a whole,
        - "micro-f1": F1 of all cells; one cut of the probabilities,
        - "macro-f1": mean F1 of the labels; a cut per label,
        - "example-f1": mean F1 of the rows; the most probable labels, as many as promise the best
          F1,
        - "balanced": all of these a little; labels with a probability above ½,
        - "cardinality": as many labels as there are in training,
        - a function of (y_true, y_pred), boolean arrays (rows × labels), that is larger for better
          predictions; one cut. If y has unknown labels, y_true has numbers, and NaN for these.

        For "hamming", "subset-accuracy" and "balanced" a row for which nothing would be predicted
        gets its most probable label if that pays in training: in accuracy of cells, or of rows
        ("balanced": if its probability is above 0.35, too).
    calibration : {"context", "per-label", "isotonic"} or None, default="context"
        How scores become probabilities: by a logistic regression on the label's score and the
        highest and mean score of the row, with all labels fitted together; by a logistic regression
        (Platt) or a step function for each label alone; or not at all, and raw scores are cut.
    cv : int, splitter or iterable, default=5
        Folds; a number of them is shuffled.
    n_jobs : int, default=None
        Workers of joblib, for the folds.
    guarantee : dict, default=None
        ``{"recall": share}`` or ``{"precision": share}``: one cut whose mean recall, or
        precision, over rows is at least ``share`` (conformal risk control). It takes the place of
        ``measure``. See the user guide for what exactly is promised.
    random_state : int, RandomState instance or None, default=None
        How a number of folds is shuffled. None is a fixed order.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to all rows.
    decision_ : LabelDecision
        Calibration and cuts.
    measures_ : dict of dict
        ``measures_[decision][measure]``: what each decision, fitted to the other folds, is worth
        on a fold; "estimator" is what the classifier itself predicts. "hamming" is a loss,
        "cardinality" the mean number of predicted labels. Rows and cells of weight 0 are left out,
        all others count alike.
    classes_ : ndarray
        Label numbers, or the class values of a one-dimensional y.
    n_labels_ : int
    n_features_in_ : int
        Only if the estimator has it.
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the estimator has it.

    Notes
    -----
    For the estimators of this package ``threshold="calibrated"`` does nearly the same, and is
    faster.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.multiclass import OneVsRestClassifier
    >>> from skml_odm import LabelDecisionCV
    >>> from skml_odm.datasets import load_digit_attributes
    >>> X, y = load_digit_attributes(return_X_y=True)
    >>> plain = OneVsRestClassifier(LogisticRegression(max_iter=1000))
    >>> model = LabelDecisionCV(plain, measure="example-f1").fit(X[:500] / 16, y[:500])
    >>> model.predict(X[500:502] / 16).shape
    (2, 7)
    >>> values = model.measures_
    >>> bool(values["example-f1"]["example-f1"] > values["estimator"]["example-f1"])
    True
    """

    checks: ClassVar[dict[str, Callable]] = {
        "measure": check_measure,
        "calibration": check_calibration,
        "cv": check_cv_number,
        "guarantee": check_guarantee,
        "random_state": check_seed,
    }

    def __init__(
        self,
        estimator,
        measure="hamming",
        calibration="context",
        cv=5,
        n_jobs=None,
        *,
        guarantee=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.measure = measure
        self.calibration = calibration
        self.cv = cv
        self.n_jobs = n_jobs
        self.guarantee = guarantee
        self.random_state = random_state

    def fit(
        self,
        X: Matrix,
        y: Matrix,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the classifier, and the decision to scores of rows that it has not seen.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the estimator takes.
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Zeros and ones, and NaN for unknown labels if the estimator takes them. A
            one-dimensional y with two classes is a single label.
        sample_weight : array-like of shape (n_samples,) or (n_samples, n_labels), optional
            For the ``fit`` of the estimator, or of a pipeline's last step, and for the decision.
            Weights of all labels of a row if the estimator takes them.
        groups : array-like of shape (n_samples,), optional
            For the splitter.

        Returns
        -------
        self
        """
        forget(self)
        check_parameters(self)
        y = as_plain_labels(y)
        target = Target(y)
        X, y, groups = indexable(as_plain_array(X), y, groups)
        if target.container == "column":
            y = target.indicator[:, 0].astype(int)
        for_fit = validated_weights(sample_weight, X, per_cell=True)
        weight = weights_of_known(target, for_fit)
        folds = self._folds(X, y, groups)
        rows, parts, scores, predicted = self._held_out(X, y, for_fit, folds, target)
        self.estimator_ = _fitted(self.estimator, X, y, for_fit)
        self._remember(target, weight)
        if self.guarantee is not None or isinstance(self.estimator, FrozenEstimator):
            # labels without a row here may be predicted: others may have them
            self._unseen = self._unseen[:0]
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        known = target.known if weight is None or weight.ndim == 1 else weight > 0.0
        truth = target.indicator[rows], some_rows(weight, rows), some_rows(known, rows)
        self.decision_ = fit_decision(self._new_decision(), *in_layers(scores, truth, parts))
        self.measures_ = self._measured(scores, truth, parts, predicted)
        return self

    def label_scores(self, X: Matrix) -> NDArray[np.float64]:
        """Log-odds of the calibrated probabilities; without calibration the classifier's scores.

        Where the classifier only has probabilities, their log-odds are its scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
        """
        scores = self._raw_scores(X)
        return self.decision_.values(scores)

    def ranking_scores(self, X: Matrix) -> NDArray[np.float64]:
        return self.label_scores(X)

    @available_if(lambda self: self.calibration is not None)
    def predict_proba(self, X: Matrix) -> NDArray[np.float64] | csr_matrix:
        """Calibrated probabilities of all labels; not with ``calibration=None``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray or csr_matrix of shape (n_samples, n_labels)
            In the container of y in fit. For a one-dimensional y of shape (n_samples, 2): the
            probabilities of both classes.
        """
        scores = self._raw_scores(X)
        return self._probabilities(self.decision_, scores)

    def _raw_scores(self, X):
        """Scores by the classifier itself."""
        check_is_fitted(self, "decision_")
        return unbounded_scores_of(self.estimator_, as_plain_array(X), self.n_labels_)

    def _decision(self, X):
        scores = self._raw_scores(X)
        return self.decision_.decide(scores)

    def _new_decision(self):
        return LabelDecision(self.measure, self.calibration, self.guarantee)

    def _folds(self, X, y, groups):
        cv = self.cv
        if isinstance(cv, int | np.integer):
            n = _num_samples(X)
            if n < 2:
                raise ValueError("X must have at least two rows to be split; got n_samples = 1.")
            seed = 0 if self.random_state is None else self.random_state
            cv = KFold(min(int(cv), n), shuffle=True, random_state=seed)
        folds = list(check_cv(cv, y).split(X, y, groups))
        if not folds:
            raise ValueError(f"cv must give at least one fold; got {self.cv!r}.")
        return folds

    def _held_out(self, X, y, sample_weight, folds, target):
        """Rows, their folds, scores, and what the classifier predicts for them."""
        work = delayed(_scores_and_labels)
        found = Parallel(n_jobs=self.n_jobs)(
            work(self.estimator, X, y, target, sample_weight, train, test) for train, test in folds
        )
        held_out = [np.arange(len(target))[test] for _, test in folds]
        folds = [np.full(len(part), i) for i, part in enumerate(held_out)]
        copies, parts, scores, predicted = (
            np.concatenate(each) for each in (held_out, folds, *zip(*found, strict=True))
        )
        # a row that is held out several times has the mean of its scores
        rows, first, which = np.unique(copies, return_index=True, return_inverse=True)
        total = np.zeros((len(rows), scores.shape[1]))
        np.add.at(total, which, scores)
        scores = total / np.bincount(which)[:, None]
        return rows, parts[first], scores, predicted[first]

    def _measured(self, scores, truth, parts, predicted):
        """Every measure of every decision, fitted to the other folds if there are any.

        The truth of some rows are their labels, weights, and which labels are known.
        """
        weight = truth[1]
        if weight is not None:
            counted = (weight > 0.0).reshape(len(weight), -1).any(axis=1)
            scores, parts, predicted = scores[counted], parts[counted], predicted[counted]
            truth = tuple(some_rows(each, counted) for each in truth)
        named = {name: LabelDecision(name, self.calibration) for name in RULES}
        if self.guarantee is not None or callable(self.measure):
            named["chosen"] = self._new_decision()
        labels = {name: np.zeros(scores.shape, dtype=bool) for name in named}
        for part in np.unique(parts):
            new = parts == part
            other = ~new if not new.all() else new
            of_others = tuple(some_rows(each, other) for each in truth)
            of_others = in_layers(scores[other], of_others, parts[other])
            first = None
            for name, decision in named.items():
                if first is None or decision.guarantee is not None:
                    first = fit_decision(decision, *of_others)
                else:
                    decision.calibration_ = first.calibration_
                    decision.fit_rule(decision.values(of_others[0]), *of_others[1])
                labels[name][new] = decision.decide(scores[new]) > 0.0
        labels = {"estimator": predicted, **labels}
        y_true = with_unknown(truth[0], truth[2])
        return {
            name: {measure: value(y_true, found) for measure, value in MEASURES.items()}
            for name, found in labels.items()
        }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.pairwise = inner.sparse, inner.pairwise
        tags.input_tags.allow_nan = inner.allow_nan
        return tags


def in_layers(scores, truth, parts):
    """The same of layers, if there are weights of cells; see ``cell_weights``."""
    indicator, weight, _ = truth
    if weight is None or weight.ndim == 1:
        return scores, truth, parts
    rows, known, weight = layers(weight)
    return scores[rows], (indicator[rows] & known, weight, known), parts[rows]


def fit_decision(decision, scores, truth, parts):
    """A decision fitted to scores of rows with this truth: labels, weights and what is known."""
    indicator, weight, known = truth
    return decision.fit(scores, indicator, weight, known=known, parts=parts)


def _fitted(estimator, X, y, sample_weight):
    """A clone, fitted."""
    options = {}
    if sample_weight is not None:
        prefix = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
        options[f"{prefix}sample_weight"] = sample_weight
    return clone(estimator).fit(X, y, **options)


def _scores_and_labels(estimator, X, y, target, sample_weight, train, test):
    """Scores and predicted labels of a fold's test rows.

    Many classifiers refuse a label that all training rows of the fold have, or none. It is left out
    then, and has the highest or the lowest score of every row.
    """
    X_train, y_train = _safe_split(estimator, X, y, train)
    X_test, _ = _safe_split(estimator, X, y, test, train)
    weight = None if sample_weight is None else _safe_indexing(sample_weight, train)
    given = target.labels[train]
    learned = (given == 1).any(axis=0) & (given == 0).any(axis=0)
    try:
        model = _fitted(estimator, X_train, y_train, weight)
        learned[:] = True
    except ValueError:
        if learned.all() or not learned.any():
            raise
        y_train = given[:, learned].astype(int if target.known is None else float)
        y_train = sparse.csr_matrix(y_train) if sparse.issparse(y) else y_train
        model = _fitted(estimator, X_train, y_train, weight)
    scores, labels = (
        read(model, X_test, int(learned.sum())) for read in (unbounded_scores_of, labels_of)
    )
    if learned.all():
        return scores, labels.astype(bool)
    all_labels = np.tile((given == 1).any(axis=0), (len(labels), 1))
    all_scores = np.where(all_labels, scores.max(axis=1)[:, None], scores.min(axis=1)[:, None])
    all_scores[:, learned], all_labels[:, learned] = scores, labels
    return all_scores, all_labels
