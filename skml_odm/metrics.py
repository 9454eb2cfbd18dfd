"""Ranking measures that scikit-learn lacks, label margins, and scorers for model selection.

A row without a relevant or without an irrelevant label cannot be ranked wrongly: as in
scikit-learn's ranking measures it counts, with no error.
"""

import numpy as np
from scipy import sparse
from sklearn.metrics import (
    label_ranking_average_precision_score,
    label_ranking_loss,
    make_scorer,
)

from .validation import Target


def _labels_and_scores(y_true, y_score):
    """The two arguments of a ranking measure as arrays of one shape."""
    indicator = Target(y_true).indicator
    scores = y_score.toarray() if sparse.issparse(y_score) else np.asarray(y_score, dtype=float)
    scores = scores[:, None] if scores.ndim == 1 else scores
    if indicator.shape != scores.shape:
        raise ValueError(
            f"y_true and y_score must have the same shape; got {indicator.shape}, {scores.shape}."
        )
    if not np.isfinite(scores).all():
        raise ValueError("y_score must be finite; got NaN or infinity.")
    return indicator, scores


def one_error(y_true, y_score, *, sample_weight=None):
    """Share of rows whose top-ranked label is not relevant.

    Where several labels share the top score, the share of irrelevant ones among them counts.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
    y_score : array-like of shape (n_samples, n_labels)
    sample_weight : array-like of shape (n_samples,), optional

    Returns
    -------
    float

    Examples
    --------
    >>> one_error([[1, 0, 0], [0, 1, 1]], [[0.9, 0.1, 0.5], [0.7, 0.6, 0.1]])
    0.5
    """
    indicator, scores = _labels_and_scores(y_true, y_score)
    top = scores == scores.max(axis=1, keepdims=True)
    error = (top & ~indicator).sum(axis=1) / top.sum(axis=1)
    error[~indicator.any(axis=1)] = 0.0
    return float(np.average(error, weights=sample_weight))


def coverage(y_true, y_score, *, sample_weight=None, normalize=False):
    """How far down the ranking one has to go to meet all relevant labels, counted from zero.

    The papers count from zero, scikit-learn's ``coverage_error`` from one. Irrelevant labels with
    the same score as the lowest relevant one stand above it.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
    y_score : array-like of shape (n_samples, n_labels)
    sample_weight : array-like of shape (n_samples,), optional
    normalize : bool, default=False
        Divide by the number of labels, as paper 001 does.

    Returns
    -------
    float

    Examples
    --------
    >>> coverage([[1, 0, 0], [0, 1, 1]], [[0.9, 0.1, 0.5], [0.7, 0.6, 0.1]])
    1.0
    """
    indicator, scores = _labels_and_scores(y_true, y_score)
    lowest = np.where(indicator, scores, np.inf).min(axis=1, keepdims=True)
    depth = np.maximum((scores >= lowest).sum(axis=1) - 1, 0)
    depth = float(np.average(depth, weights=sample_weight))
    return depth / indicator.shape[1] if normalize else depth


def label_margins(estimator, X, y):
    """The margins f_k(x) − f_l(x) of all pairs of a relevant label k and an irrelevant label l.

    Their distribution is what margin-distribution methods shape.

    Parameters
    ----------
    estimator : fitted estimator
        Its ``label_scores`` are used, or its ``decision_function`` if it has none.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like or sparse matrix of shape (n_samples, n_labels)

    Returns
    -------
    ndarray of shape (n_pairs,)
        Row by row; rows without a pair add none.
    """
    score = getattr(estimator, "label_scores", None) or estimator.decision_function
    indicator, scores = _labels_and_scores(y, score(X))
    margins = [
        np.subtract.outer(row[relevant], row[~relevant]).ravel()
        for row, relevant in zip(scores, indicator, strict=True)
    ]
    return np.concatenate(margins)


ranking_loss_scorer = make_scorer(
    label_ranking_loss, greater_is_better=False, response_method="decision_function"
)
average_precision_scorer = make_scorer(
    label_ranking_average_precision_score, response_method="decision_function"
)
one_error_scorer = make_scorer(
    one_error, greater_is_better=False, response_method="decision_function"
)
coverage_scorer = make_scorer(
    coverage, greater_is_better=False, response_method="decision_function"
)
