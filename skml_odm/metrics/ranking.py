"""Ranking measures and label margins.

Ranking loss and average precision are scikit-learn's, computed for all rows at once: in a search
with many small validation folds its loop over rows would take most of the time.

A row without a relevant or without an irrelevant label cannot be ranked wrongly: as in
scikit-learn's ranking measures it counts, with no error.

Unknown labels (NaN in ``y_true``) are left out, and so are rows in which nothing is known:
``known_counts`` says what is left.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..utils.types import Matrix, NDArray, Weights
from ..utils.validation import (
    Target,
    as_plain_numbers,
    some_rows,
    validated_weights,
    weights_of_known,
)

# With at most so many labels ranking loss compares all pairs; otherwise it sorts.
FEW_LABELS = 16


class KnownCounts(NamedTuple):
    """How much of a target is known."""

    rows: int
    """Rows with a known label."""
    cells: int
    """Known labels of all rows."""


def known_counts(y: Matrix) -> KnownCounts:
    """How many rows and cells (rows × labels) the measures of a target use.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n_samples, n_labels)
        NaN where a label is unknown.

    Returns
    -------
    KnownCounts
        With the fields ``rows`` and ``cells``.

    Examples
    --------
    >>> known_counts([[1, 0, float("nan")], [0, 1, 1]])
    KnownCounts(rows=2, cells=5)
    """
    target = Target(y)
    if target.known is None:
        return KnownCounts(len(target), target.indicator.size)
    return KnownCounts(int(target.known.any(axis=1).sum()), int(target.known.sum()))


class _Rows(NamedTuple):
    """What a ranking measure is computed from: rows with a known label.

    The scores of unknown labels are below those of all known ones of the row.
    """

    indicator: NDArray
    irrelevant: NDArray
    scores: NDArray
    weights: Weights
    n_known: Any


def _rows(y_true: Matrix, y_score: Matrix, sample_weight: Weights = None) -> _Rows:
    """The arguments of a ranking measure as arrays of one shape."""
    target = Target(y_true)
    indicator, known = target.indicator, target.known
    y_score = as_plain_numbers(y_score, "y_score")
    scores = y_score.toarray() if sparse.issparse(y_score) else np.asarray(y_score, dtype=float)
    scores = scores[:, None] if scores.ndim == 1 else scores
    if indicator.shape != scores.shape:
        raise ValueError(
            f"y_true and y_score must have the same shape; got {indicator.shape}, {scores.shape}."
        )
    if not np.isfinite(scores).all():
        raise ValueError("y_score must be finite; got NaN or infinity.")
    if known is None:
        return _Rows(indicator, ~indicator, scores, sample_weight, indicator.shape[1])
    weights = weights_of_known(target, validated_weights(sample_weight, indicator))
    counted = known.any(axis=1)
    indicator, known, scores = indicator[counted], known[counted], scores[counted]
    lowest = np.where(known, scores, np.inf).min(axis=1, keepdims=True)
    scores = np.where(known, scores, np.nextafter(lowest, -np.inf))
    weights = some_rows(weights, counted)
    return _Rows(indicator, ~indicator & known, scores, weights, known.sum(axis=1))


def one_error(y_true: Matrix, y_score: Matrix, *, sample_weight: Weights = None) -> float:
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
    rows = _rows(y_true, y_score, sample_weight)
    top = rows.scores == rows.scores.max(axis=1, keepdims=True)
    error = (top & ~rows.indicator).sum(axis=1) / top.sum(axis=1)
    error[~rows.indicator.any(axis=1)] = 0.0
    return float(np.average(error, weights=rows.weights))


def _ranking(indicator: NDArray, scores: NDArray) -> NDArray:
    """The labels of each row by falling score, irrelevant ones first among equal ones."""
    first = np.argsort(indicator, axis=1, kind="stable")
    falling = np.argsort(-np.take_along_axis(scores, first, axis=1), axis=1, kind="stable")
    return np.take_along_axis(first, falling, axis=1)


def ranking_loss(y_true: Matrix, y_score: Matrix, *, sample_weight: Weights = None) -> float:
    """Share of the pairs of a relevant and an irrelevant label that are ranked wrongly.

    As scikit-learn's ``label_ranking_loss``: equal scores are wrong, the share is averaged over
    rows.

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
    >>> ranking_loss([[1, 0, 0], [0, 1, 1]], [[0.9, 0.1, 0.5], [0.7, 0.6, 0.1]])
    0.5
    """
    indicator, irrelevant, scores, weights, n_known = _rows(y_true, y_score, sample_weight)
    if indicator.shape[1] <= FEW_LABELS:
        # all pairs at once
        wrong = scores[:, :, None] <= scores[:, None, :]
        wrong &= indicator[:, :, None] & irrelevant[:, None, :]
        wrong = np.count_nonzero(wrong, axis=(1, 2))
    else:
        relevant = np.take_along_axis(indicator, _ranking(indicator, scores), axis=1)
        wrong = np.where(relevant, np.cumsum(~relevant, axis=1), 0).sum(axis=1)
    n_relevant = indicator.sum(axis=1)
    n_pairs = n_relevant * (n_known - n_relevant)
    return float(np.average(wrong / np.maximum(n_pairs, 1), weights=weights))


def average_precision(y_true: Matrix, y_score: Matrix, *, sample_weight: Weights = None) -> float:
    """For each relevant label the share of relevant ones among those ranked no lower; averaged.

    As scikit-learn's ``label_ranking_average_precision_score``.

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
    >>> average_precision([[1, 0, 0], [0, 1, 1]], [[0.9, 0.1, 0.5], [0.7, 0.6, 0.1]])
    0.7916666666666666
    """
    indicator, _, scores, weights, n_known = _rows(y_true, y_score, sample_weight)
    order = _ranking(indicator, scores)
    relevant = np.take_along_axis(indicator, order, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    # where the labels of equal score end
    position = np.where(
        np.diff(ranked, axis=1, append=-np.inf) != 0.0, np.arange(1, ranked.shape[1] + 1), np.inf
    )
    last = np.minimum.accumulate(position[:, ::-1], axis=1)[:, ::-1].astype(np.intp)
    counts = np.take_along_axis(np.cumsum(relevant, axis=1), last - 1, axis=1)
    precision = np.where(relevant, counts / last, 0.0).sum(axis=1)
    n_relevant = indicator.sum(axis=1)
    row = precision / np.maximum(n_relevant, 1)
    row[(n_relevant == 0) | (n_relevant == n_known)] = 1.0
    return float(np.average(row, weights=weights))


def coverage(
    y_true: Matrix,
    y_score: Matrix,
    *,
    sample_weight: Weights = None,
    normalize: bool = False,
) -> float:
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
    indicator, _, scores, weights, _ = _rows(y_true, y_score, sample_weight)
    lowest = np.where(indicator, scores, np.inf).min(axis=1, keepdims=True)
    depth = np.maximum((scores >= lowest).sum(axis=1) - 1, 0)
    depth = float(np.average(depth, weights=weights))
    return depth / indicator.shape[1] if normalize else depth


def label_margins(estimator: Any, X: Matrix, y: Matrix) -> NDArray:
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
    rows = _rows(y, score(X))
    margins = [
        np.subtract.outer(row[relevant], row[irrelevant]).ravel()
        for row, relevant, irrelevant in zip(
            rows.scores, rows.indicator, rows.irrelevant, strict=True
        )
    ]
    return np.concatenate(margins)
