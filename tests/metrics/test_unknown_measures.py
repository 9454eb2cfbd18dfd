"""Measures leave unknown cells out: row by row they are those of the known labels alone."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import (
    accuracy_score,
    label_ranking_average_precision_score,
    label_ranking_loss,
)

from skml_odm import MLODM
from skml_odm.metrics import (
    average_precision,
    coverage,
    known_counts,
    label_margins,
    one_error,
    ranking_loss,
    ranking_loss_scorer,
)
from skml_odm.metrics.labels import example_f1, hamming, macro_f1, micro_f1, subset_accuracy


def random_cells(seed, q=5):
    rng = np.random.default_rng(seed)
    y = (rng.random((40, q)) < 0.4).astype(float)
    y[rng.random(y.shape) < 0.4] = np.nan
    y[0] = np.nan
    return rng, y, rng.integers(0, 6, size=y.shape) / 3.0


@pytest.mark.parametrize("q", [5, 30])
@pytest.mark.parametrize(
    ("measure", "reference"),
    [
        (ranking_loss, label_ranking_loss),
        (average_precision, label_ranking_average_precision_score),
        (one_error, one_error),
        (coverage, coverage),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_ranking_measures(measure, reference, q, seed):
    rng, y, scores = random_cells(seed, q)
    weight = rng.uniform(0, 2, size=len(y))
    rows = np.flatnonzero(~np.isnan(y).all(axis=1))
    values = []
    for i in rows:
        known = ~np.isnan(y[i])
        row = y[i : i + 1, known].astype(int), scores[i : i + 1, known]
        # of a single label scikit-learn takes the classes for two
        values.append(reference(*row) if known.sum() > 1 else measure(*row))
    assert measure(y, scores) == pytest.approx(np.mean(values))
    assert measure(sparse.csr_matrix(y), scores, sample_weight=weight) == pytest.approx(
        np.average(values, weights=weight[rows])
    )


def test_label_measures():
    _, y, scores = random_cells(0)
    predicted, known = scores > 0.9, ~np.isnan(y)
    truth = y == 1
    assert hamming(y, predicted) == np.mean(truth[known] != predicted[known])
    assert micro_f1(y, predicted) == micro_f1(truth[known][:, None], predicted[known][:, None])
    rows = [i for i in range(len(y)) if known[i].any()]
    for by_row in (subset_accuracy, example_f1):
        values = [by_row(truth[[i]][:, known[i]], predicted[[i]][:, known[i]]) for i in rows]
        assert by_row(y, predicted) == pytest.approx(np.mean(values))
    of_labels = [
        macro_f1(truth[known[:, k]][:, [k]], predicted[known[:, k]][:, [k]]) for k in range(5)
    ]
    assert macro_f1(y, predicted) == pytest.approx(np.mean(of_labels))


def test_known_counts():
    _, y, _ = random_cells(0)
    assert known_counts(y) == (39, np.sum(~np.isnan(y)))
    assert known_counts(np.nan_to_num(y)) == (40, 200)


def test_models_are_scored_on_known_cells():
    rng, y, _ = random_cells(0)
    X = rng.normal(size=(len(y), 3))
    model = MLODM().fit(X, y)
    assert ranking_loss_scorer(model, X, y) == -ranking_loss(y, model.label_scores(X))
    assert model.score(X, y) == pytest.approx(subset_accuracy(y, model.predict(X)))
    complete = np.nan_to_num(y).astype(int)
    assert model.score(X, complete) == accuracy_score(complete, model.predict(X))
    n_pairs = np.sum((y == 1).sum(axis=1) * (y == 0).sum(axis=1))
    assert label_margins(model, X, y).shape == (n_pairs,)


def test_weights_may_be_a_list():
    y, scores = (
        [[1, np.nan, 0], [0, 1, 1], [np.nan] * 3],
        [[0.1, 0.2, 0.5], [0.9, 0.1, 0.2], [0] * 3],
    )
    weights = [2.0, 0.5, 4.0]
    assert ranking_loss(y, scores, sample_weight=weights) == ranking_loss(
        y[:2], scores[:2], sample_weight=np.array(weights[:2])
    )
    with pytest.raises(ValueError, match=r"^sample_weight must have one entry per row; got"):
        ranking_loss(y, scores, sample_weight=np.ones((3, 3)))
