"""Label scores of fitted classifiers, whatever their author calls them."""

import numpy as np
from scipy import sparse
from skmultilearn.base import MLClassifierBase
from skmultilearn.problem_transform import BinaryRelevance

SCORE_METHODS = ("label_scores", "decision_function", "predict_proba")


class NoScoresError(TypeError):
    """A classifier that predicts labels but does not rank them."""


def as_dense(matrix):
    """A predicted matrix as an array: the host returns sparse matrices of several formats."""
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def label_scores_of(estimator, X):
    """Scores of all labels from a fitted multi-label classifier: the larger, the more relevant.

    Of ``label_scores``, ``decision_function`` and ``predict_proba`` the first that the estimator
    has is used. The host's ``BinaryRelevance`` hides the scores of its parts: they are collected
    here, one column per label.

    Parameters
    ----------
    estimator : fitted multi-label classifier
    X : array or sparse matrix of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_samples, n_labels)

    Raises
    ------
    NoScoresError
        Of a classifier that only predicts labels.
    """
    # not isinstance: subclasses in the host give their parts several labels each
    if type(estimator) is BinaryRelevance:
        return _scores_of_binary_relevance(estimator, X)
    for name in SCORE_METHODS:
        method = getattr(estimator, name, None)
        if method is None:
            continue
        try:
            scores = as_dense(method(X))
            break
        except AttributeError as error:
            # the host's have the method even where the classifier inside them has not
            if not _is_missing_method(error):
                raise
    else:
        raise NoScoresError(
            f"estimator must be a BinaryRelevance or have one of the methods "
            f"{', '.join(SCORE_METHODS)} to rank labels; got {type(estimator).__name__}."
        )
    if scores.ndim != 2 or len(scores) != X.shape[0]:
        raise TypeError(
            f"{name} of {type(estimator).__name__} must return one row per sample and one column "
            f"per label; got shape {scores.shape} for {X.shape[0]} samples."
        )
    return scores


def _is_missing_method(error):
    """Whether an AttributeError is about one of the methods; scikit-learn's have no name."""
    if error.name is not None:
        return error.name in SCORE_METHODS
    return any(repr(method) in str(error) for method in SCORE_METHODS)


def _scores_of_binary_relevance(estimator, X):
    X = as_dense(X) if estimator.require_dense[0] else sparse.csr_matrix(X)
    return np.column_stack([_scores_of_one_label(part, X) for part in estimator.classifiers_])


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
