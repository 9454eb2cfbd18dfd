"""Measures against loops and scikit-learn, margins against a double loop, scorers at work."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import (
    coverage_error,
    label_ranking_average_precision_score,
    label_ranking_loss,
)
from sklearn.model_selection import GridSearchCV, KFold

from skml_odm import MLODM
from skml_odm.metrics import (
    average_precision,
    average_precision_scorer,
    coverage,
    coverage_scorer,
    label_margins,
    one_error,
    one_error_scorer,
    ranking_loss,
    ranking_loss_scorer,
)

SEEDS = range(6)


def random_ranking(seed, n=40, q=5):
    """Labels and scores with ties; row 0 has no label, row 1 all, row 2 one score for all."""
    rng = np.random.default_rng(seed)
    y = (rng.random((n, q)) < 0.4).astype(int)
    scores = rng.integers(0, 6, size=(n, q)) / 3.0
    y[0], y[1], scores[2] = 0, 1, 0.5
    return rng, y, scores


def one_errors(y, scores):
    for labels, row in zip(y, scores, strict=True):
        top = [k for k in range(len(row)) if row[k] == max(row)]
        wrong = [k for k in top if not labels[k]]
        yield len(wrong) / len(top) if labels.any() else 0.0


def coverages(y, scores):
    for labels, row in zip(y, scores, strict=True):
        relevant = [row[k] for k in range(len(row)) if labels[k]]
        yield sum(score >= min(relevant) for score in row) - 1 if relevant else 0


@pytest.mark.parametrize("seed", SEEDS)
def test_one_error(seed):
    rng, y, scores = random_ranking(seed)
    weight = rng.uniform(0, 2, size=len(y))
    rows = list(one_errors(y, scores))
    assert one_error(y, scores) == pytest.approx(np.mean(rows))
    assert one_error(y, scores, sample_weight=weight) == pytest.approx(
        np.average(rows, weights=weight)
    )


@pytest.mark.parametrize("q", [2, 5, 40])
@pytest.mark.parametrize("seed", SEEDS)
def test_ties_count_as_in_scikit_learn(seed, q):
    """Few labels are compared pair by pair, many are sorted."""
    rng, y, scores = random_ranking(seed, q=q)
    for weight in (None, rng.uniform(0, 2, size=len(y))):
        for ours, theirs in (
            (ranking_loss, label_ranking_loss),
            (average_precision, label_ranking_average_precision_score),
        ):
            expected = theirs(y, scores, sample_weight=weight)
            assert ours(y, scores, sample_weight=weight) == pytest.approx(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_coverage(seed):
    rng, y, scores = random_ranking(seed)
    weight = rng.uniform(0, 2, size=len(y))
    rows = list(coverages(y, scores))
    assert coverage(y, scores) == pytest.approx(np.mean(rows))
    assert coverage(y, scores, sample_weight=weight) == pytest.approx(
        np.average(rows, weights=weight)
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_coverage_is_one_less_than_that_of_scikit_learn(seed):
    """Where every row has a label; ties included."""
    rng, y, scores = random_ranking(seed)
    labelled = y.any(axis=1)
    y, scores = y[labelled], scores[labelled]
    weight = rng.uniform(0, 2, size=len(y))
    assert coverage(y, scores) == pytest.approx(coverage_error(y, scores) - 1)
    assert coverage(y, scores, sample_weight=weight) == pytest.approx(
        coverage_error(y, scores, sample_weight=weight) - 1
    )


def test_normalized_coverage_is_a_share_of_the_labels():
    _, y, scores = random_ranking(0)
    assert coverage(y, scores, normalize=True) == pytest.approx(coverage(y, scores) / 5)


def test_rows_without_labels_count_without_error():
    y, scores = np.array([[0, 0], [1, 0]]), np.array([[0.1, 0.9], [0.1, 0.9]])
    assert one_error(y, scores) == 0.5
    assert coverage(y, scores) == 0.5
    assert one_error(y[:1], scores[:1]) == coverage(y[:1], scores[:1]) == 0.0


def test_ties_at_the_top_count_in_part():
    assert one_error([[1, 0, 0, 0]], [[3.0, 3.0, 3.0, 1.0]]) == pytest.approx(2 / 3)
    assert coverage([[1, 0, 0, 0]], [[3.0, 3.0, 3.0, 1.0]]) == 2.0


def test_extreme_rankings():
    y = np.array([[1, 1, 0, 0]])
    assert one_error(y, [[4, 3, 2, 1]]) == 0.0
    assert coverage(y, [[4, 3, 2, 1]]) == 1.0
    assert one_error(y, [[1, 2, 3, 4]]) == 1.0
    assert coverage(y, [[1, 2, 3, 4]]) == 3.0


@pytest.mark.parametrize("measure", [one_error, coverage])
@pytest.mark.parametrize("convert", [sparse.csr_matrix, sparse.coo_array, np.ndarray.tolist])
def test_containers(measure, convert):
    _, y, scores = random_ranking(3)
    expected = measure(y, scores)
    assert measure(convert(y), scores) == expected
    assert measure(y.astype(bool), scores) == expected
    assert measure(y, convert(scores)) == expected


@pytest.mark.parametrize("measure", [one_error, coverage])
def test_measures_return_plain_floats(measure):
    _, y, scores = random_ranking(4)
    assert type(measure(y, scores)) is float


@pytest.mark.parametrize("measure", [one_error, coverage])
def test_shapes_must_agree(measure):
    _, y, scores = random_ranking(0)
    for wrong in (scores[:, 1:], scores[1:], scores[:, 0]):
        with pytest.raises(ValueError, match=r"y_true and y_score .*same shape.*\(40, 5\)"):
            measure(y, wrong)


@pytest.mark.parametrize("measure", [one_error, coverage])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_must_be_finite(measure, bad):
    _, y, scores = random_ranking(0)
    scores[4, 2] = bad
    with pytest.raises(ValueError, match="y_score must be finite"):
        measure(y, scores)


@pytest.mark.parametrize("measure", [one_error, coverage])
def test_labels_must_be_zeros_and_ones(measure):
    with pytest.raises(ValueError, match="0 and 1"):
        measure([[0, 2]], [[0.1, 0.2]])


def fitted_model(kernel="rbf", n=30, q=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = (X @ rng.normal(size=(3, q)) + rng.normal(size=(n, q)) > 0.5).astype(int)
    y[0], y[1] = 0, 1
    return MLODM(kernel=kernel).fit(X, y), X, y


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_label_margins_are_all_pairs_row_by_row(convert):
    model, X, y = fitted_model()
    scores = model.label_scores(X)
    expected = [
        scores[i, k] - scores[i, other]
        for i in range(len(y))
        for k in np.flatnonzero(y[i])
        for other in np.flatnonzero(y[i] == 0)
    ]
    margins = label_margins(model, X, convert(y))
    assert margins.shape == ((y.sum(axis=1) * (1 - y).sum(axis=1)).sum(),)
    np.testing.assert_allclose(margins, expected)


def test_label_margins_do_not_depend_on_the_threshold():
    _, X, y = fitted_model()
    one = MLODM(threshold="per-label").fit(X, y)
    other = MLODM(threshold="zero").fit(X, y)
    np.testing.assert_allclose(label_margins(one, X, y), label_margins(other, X, y))


def test_label_margins_of_rows_without_pairs_are_none():
    model, X, _ = fitted_model()
    assert label_margins(model, X[:2], [[0] * 4, [1] * 4]).shape == (0,)


def test_label_margins_of_an_estimator_with_decisions_only():
    class Constant:
        def decision_function(self, X):
            return np.tile([3.0, 1.0], (len(X), 1))

    np.testing.assert_array_equal(label_margins(Constant(), [[0]] * 2, [[1, 0], [0, 1]]), [2, -2])


SCORERS = [
    (ranking_loss_scorer, label_ranking_loss, -1),
    (average_precision_scorer, label_ranking_average_precision_score, 1),
    (one_error_scorer, one_error, -1),
    (coverage_scorer, coverage, -1),
]


@pytest.mark.parametrize(("scorer", "measure", "sign"), SCORERS)
def test_scorers_measure_the_decisions(scorer, measure, sign):
    model, X, y = fitted_model()
    assert scorer(model, X, y) == pytest.approx(sign * measure(y, model.decision_function(X)))


@pytest.mark.parametrize(("scorer", "measure", "sign"), SCORERS)
def test_grid_search_chooses_what_a_loop_chooses(scorer, measure, sign):
    _, X, y = fitted_model(n=60)
    y[y.sum(axis=1) == 0, 0] = 1
    folds = KFold(3)
    grid = {"gamma": [1e-3, 0.3, 30.0]}
    search = GridSearchCV(MLODM(C=2.0), grid, scoring=scorer, cv=folds, refit=True).fit(X, y)
    by_hand = []
    for gamma in grid["gamma"]:
        scores = []
        for train, test in folds.split(X):
            model = MLODM(C=2.0, gamma=gamma).fit(X[train], y[train])
            scores.append(sign * measure(y[test], model.ranking_scores(X[test])))
        by_hand.append(np.mean(scores))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], by_hand)
    assert len(set(by_hand)) == 3
    assert search.best_params_["gamma"] == grid["gamma"][int(np.argmax(by_hand))]
    again = MLODM(C=2.0, **search.best_params_).fit(X, y)
    np.testing.assert_allclose(search.decision_function(X), again.decision_function(X))
