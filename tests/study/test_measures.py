"""The measures of a study."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from skml_odm import MLODM
from skml_odm.study.measures import COSTS, MEASURES, OF_ACCURACY, LabelScorer, label_measures


def measures_by_definition(y, scores, predicted):
    """The measures from their definitions, row by row, for scores without ties."""
    ranking_loss, precision, wrong_top = [], [], []
    for labels, row in zip(y.astype(bool), scores, strict=True):
        relevant, irrelevant = row[labels], row[~labels]
        if len(relevant) == 0 or len(irrelevant) == 0:
            ranking_loss.append(0.0)
            precision.append(1.0)
            wrong_top.append(0.0)
            continue
        ranking_loss.append(np.mean([r < i for r in relevant for i in irrelevant]))
        precision.append(np.mean([(relevant >= r).sum() / (row >= r).sum() for r in relevant]))
        wrong_top.append(float(not labels[row.argmax()]))
    both = (y * predicted).sum(axis=1)
    sizes = y.sum(axis=1) + predicted.sum(axis=1)
    columns = 2 * (y * predicted).sum(axis=0), y.sum(axis=0) + predicted.sum(axis=0)
    depth = [
        sum(row > row[labels].min()) if labels.any() else 0
        for labels, row in zip(y.astype(bool), scores, strict=True)
    ]
    return {
        "coverage": np.mean(depth),
        "macro_f1": np.mean([a / b if b else 0.0 for a, b in zip(*columns, strict=True)]),
        "example_f1": np.mean([2 * a / b if b else 1.0 for a, b in zip(both, sizes, strict=True)]),
        "subset_accuracy": np.mean([(a == b).all() for a, b in zip(y, predicted, strict=True)]),
        "macro_auc": np.mean(
            [roc_auc_score(y[:, k], scores[:, k]) for k in range(y.shape[1]) if np.ptp(y[:, k])]
        ),
        "ranking_loss": np.mean(ranking_loss),
        "average_precision": np.mean(precision),
        "one_error": np.mean(wrong_top),
        "hamming_loss": np.mean(y != predicted),
        "micro_f1": 2 * both.sum() / sizes.sum(),
    }


@pytest.mark.parametrize("seed", range(5))
def test_measures_equal_their_definitions(seed):
    random = np.random.RandomState(seed)
    y = (random.rand(30, 5) < 0.3).astype(int)
    # rows and labels at their limits, and a label that nobody predicts
    y[0], y[1], y[:, 4] = 0, 1, 0
    scores, predicted = random.randn(30, 5), (random.rand(30, 5) < 0.4).astype(int)
    predicted[0], predicted[:, 4] = 0, 0
    found = label_measures(y, scores, predicted)
    assert tuple(found) == OF_ACCURACY
    assert found == pytest.approx(measures_by_definition(y, scores, predicted))


def test_macro_auc_needs_a_label_of_some_rows():
    found = label_measures(np.ones((3, 2)), np.zeros((3, 2)), np.ones((3, 2)))
    assert set(OF_ACCURACY) - set(found) == {"macro_auc"}


@pytest.mark.parametrize("measure", OF_ACCURACY)
def test_scorers_prefer_what_is_better(measure):
    random = np.random.RandomState(0)
    X = random.randn(120, 6)
    y = (X[:, :4] > 0.5).astype(int)
    scorer = LabelScorer(measure)
    good = scorer(MLODM().fit(X, y), X, y)
    bad = scorer(MLODM().fit(X, y[::-1]), X, y)
    assert good > bad
    assert (good > 0) == MEASURES[measure][1] or good == 0
    assert measure in repr(scorer)


def test_scorers_need_scores():
    X, y = np.zeros((2, 1)), np.array([[0, 1], [1, 0]])
    with pytest.raises(TypeError, match=r"one column per label; got shape \(2, 3\)"):
        LabelScorer("ranking_loss")(Constant(np.zeros((2, 3))), X, y)
    with pytest.raises(ValueError, match="decision_function of Constant must not return NaN"):
        LabelScorer("ranking_loss")(Constant(np.full((2, 2), np.nan)), X, y)


def test_scorers_need_labels():
    X, y = np.zeros((2, 1)), np.array([[0, 1], [1, 0]])
    for wrong in (2 * y, y + 0.5, y * np.nan):
        with pytest.raises(ValueError, match=r"predict of Constant must (return only 0 and 1|not)"):
            LabelScorer("micro_f1")(Constant(wrong), X, y)
    with pytest.raises(TypeError, match="predict of Constant must return one row per sample"):
        LabelScorer("micro_f1")(Constant(y[:1]), X, y)


class Constant:
    """Always the same answer."""

    def __init__(self, answer):
        self.answer = answer

    def predict(self, X):
        return self.answer

    decision_function = predict


def test_a_single_label():
    """scikit-learn's measures would take it for two classes."""
    y = np.array([[1], [1], [0], [0], [0]])
    predicted = np.array([[1], [0], [1], [0], [0]])
    found = label_measures(y, predicted + 0.5, predicted)
    assert found["micro_f1"] == found["macro_f1"] == 0.5
    assert found["example_f1"] == found["subset_accuracy"] == 1 - found["hamming_loss"] == 0.6


def test_every_measure_is_either_of_accuracy_or_a_cost():
    assert set(OF_ACCURACY) | set(COSTS) == set(MEASURES)
    assert set(OF_ACCURACY).isdisjoint(COSTS)


def test_unknown_labels_are_left_out():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=(30, 4)).astype(float)
    scores, predicted = rng.normal(size=y.shape), rng.integers(0, 2, size=y.shape)
    complete = label_measures(y, scores, predicted)
    other = label_measures(
        np.vstack([y, np.full((5, 4), np.nan)]),
        np.vstack([scores, rng.normal(size=(5, 4))]),
        np.vstack([predicted, np.ones((5, 4), dtype=int)]),
    )
    assert other == pytest.approx(complete)
    y[rng.random(y.shape) < 0.4] = np.nan
    known = [np.flatnonzero(~np.isnan(column)) for column in y.T]
    areas = [roc_auc_score(y[rows, k], scores[rows, k]) for k, rows in enumerate(known)]
    assert label_measures(y, scores, predicted)["macro_auc"] == pytest.approx(np.mean(areas))
