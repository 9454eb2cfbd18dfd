"""Thresholds against brute force over many cuts and against scikit-learn's regression."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from skml_odm import MLODM, RankCVM, RankLSVM, RankSVM
from skml_odm.decisions.thresholds import (
    HALF_MARGIN,
    FixedThreshold,
    PerLabelThreshold,
    RegressionThreshold,
    make_threshold,
    optimal_cuts,
)

SEEDS = range(10)


def errors_at(scores, relevant, cut, weight=None):
    """Weight of the entries of one row on the wrong side of a cut."""
    weight = np.ones(len(scores)) if weight is None else weight
    return weight[(scores > cut) != relevant].sum()


def least_errors(scores, relevant, weight=None):
    """The fewest errors of any cut, from a dense grid that reaches beyond all scores."""
    weight = np.ones(len(scores)) if weight is None else weight
    grid = np.linspace(scores.min() - 1.0, scores.max() + 1.0, 4001)
    return (((scores > grid[:, None]) != relevant) @ weight).min()


def random_rows(seed, n=12, q=6):
    """Scores on a coarse grid, so that ties are common; rows with no and with all labels."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(-4, 5, size=(n, q)) / 4.0
    if seed % 2:
        scores = np.round(rng.normal(size=(n, q)), 2)
    indicator = rng.random((n, q)) < 0.5
    indicator[0], indicator[1] = False, True
    scores[2] = 0.25
    return rng, scores, indicator


@pytest.mark.parametrize("seed", SEEDS)
def test_no_cut_has_fewer_errors(seed):
    _, scores, indicator = random_rows(seed)
    cuts = optimal_cuts(scores, indicator)
    assert cuts.shape == (len(scores),)
    for row, relevant, cut in zip(scores, indicator, cuts, strict=True):
        assert errors_at(row, relevant, cut) == least_errors(row, relevant)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_cut_has_less_weight_of_errors(seed):
    rng, scores, indicator = random_rows(seed)
    weight = rng.uniform(0.1, 2.0, size=scores.shape[1])
    cuts = optimal_cuts(scores, indicator, weight)
    for row, relevant, cut in zip(scores, indicator, cuts, strict=True):
        best = least_errors(row, relevant, weight)
        assert errors_at(row, relevant, cut, weight) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_cuts_never_touch_a_score(seed):
    """Predictions do not hang on rounding: no score equals its row's cut."""
    _, scores, indicator = random_rows(seed)
    assert (scores != optimal_cuts(scores, indicator)[:, None]).all()


@pytest.mark.parametrize(
    ("scores", "relevant", "expected"),
    [
        ([0.0, 1.0], [0, 1], 0.5),
        ([1.0, 0.0, 3.0], [1, 0, 1], 0.5),
        ([0.0, 1.0, 5.0], [0, 0, 1], 3.0),
        ([2.0, 7.0], [0, 0], 7.0 + HALF_MARGIN),
        ([2.0, 7.0], [1, 1], 2.0 - HALF_MARGIN),
        ([4.0], [1], 4.0 - HALF_MARGIN),
        ([4.0], [0], 4.0 + HALF_MARGIN),
        ([3.0, 3.0, 3.0], [1, 1, 0], 3.0 - HALF_MARGIN),
        ([3.0, 3.0, 3.0], [1, 0, 0], 3.0 + HALF_MARGIN),
        # one error each between 0 and 3 and between 3 and 4: the wider gap is taken
        ([0.0, 3.0, 4.0, 5.0], [0, 1, 0, 1], 1.5),
    ],
)
def test_known_cuts(scores, relevant, expected):
    cut = optimal_cuts(np.array([scores]), np.array([relevant], dtype=bool))
    np.testing.assert_allclose(cut, [expected])


def test_cuts_do_not_depend_on_the_order_of_labels():
    rng, scores, indicator = random_rows(3)
    order = rng.permutation(scores.shape[1])
    np.testing.assert_array_equal(
        optimal_cuts(scores[:, order], indicator[:, order]), optimal_cuts(scores, indicator)
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_weights_are_repetitions(seed):
    rng, scores, indicator = random_rows(seed)
    weight = rng.integers(1, 4, size=scores.shape[1])
    repeated = np.repeat(scores, weight, axis=1), np.repeat(indicator, weight, axis=1)
    np.testing.assert_allclose(
        optimal_cuts(scores, indicator, weight.astype(float)), optimal_cuts(*repeated)
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_regression_threshold_is_linear_regression_on_cuts(weighted):
    rng, scores, indicator = random_rows(5, n=30, q=4)
    weight = rng.uniform(0, 2, size=30) if weighted else None
    targets = optimal_cuts(scores, indicator)
    reference = LinearRegression().fit(scores, targets, sample_weight=weight)
    threshold = RegressionThreshold().fit(scores, indicator, weight)
    np.testing.assert_allclose(threshold.coef_, reference.coef_, atol=1e-10)
    assert threshold.intercept_ == pytest.approx(reference.intercept_, abs=1e-10)
    new = rng.normal(size=(7, 4))
    np.testing.assert_allclose(threshold(new), reference.predict(new)[:, None], atol=1e-10)


def test_regression_threshold_of_dependent_scores_predicts_like_linear_regression():
    """Scores that sum to zero in every row, as those of pair losses do."""
    rng, scores, indicator = random_rows(7, n=30, q=4)
    scores = scores - scores.mean(axis=1, keepdims=True)
    reference = LinearRegression().fit(scores, optimal_cuts(scores, indicator))
    threshold = RegressionThreshold().fit(scores, indicator)
    new = rng.normal(size=(7, 4))
    new -= new.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(threshold(new), reference.predict(new)[:, None], atol=1e-10)
    assert np.linalg.norm(threshold.coef_) < 10


def test_regression_threshold_of_equal_rows_is_finite():
    threshold = RegressionThreshold().fit(np.zeros((3, 2)), np.zeros((3, 2), dtype=bool))
    np.testing.assert_allclose(threshold(np.zeros((1, 2))), [[HALF_MARGIN]])


@pytest.mark.parametrize("seed", [9, 10, 11])
def test_per_label_threshold_misclassifies_fewest_rows(seed):
    rng, scores, indicator = random_rows(seed, n=25, q=4)
    weight = rng.uniform(0.1, 2, size=25)
    for w in (None, weight):
        threshold = PerLabelThreshold().fit(scores, indicator, w)
        assert threshold.values_.shape == (4,)
        np.testing.assert_array_equal(threshold(scores), threshold.values_)
        for label in range(4):
            found = errors_at(scores[:, label], indicator[:, label], threshold.values_[label], w)
            best = least_errors(scores[:, label], indicator[:, label], w)
            assert found == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("make", [PerLabelThreshold, RegressionThreshold])
def test_rows_of_weight_zero_are_absent(make):
    """Neither their labels nor their scores move a threshold."""
    rng, scores, indicator = random_rows(11, n=25, q=4)
    weight = rng.integers(0, 3, size=25).astype(float)
    kept = weight > 0
    weighted = make().fit(scores, indicator, weight)
    removed = make().fit(scores[kept], indicator[kept], weight[kept])
    np.testing.assert_allclose(weighted(scores), removed(scores), atol=1e-10)


def test_per_label_threshold_of_constant_labels():
    """A label nobody has lies above all scores, one that everybody has below."""
    scores = np.random.default_rng(0).normal(size=(20, 2))
    indicator = np.tile([False, True], (20, 1))
    threshold = PerLabelThreshold().fit(scores, indicator)
    expected = [scores[:, 0].max() + HALF_MARGIN, scores[:, 1].min() - HALF_MARGIN]
    np.testing.assert_allclose(threshold.values_, expected)


def test_fixed_threshold():
    threshold = FixedThreshold(0.7)
    assert threshold.fit(np.zeros((2, 3)), np.zeros((2, 3), dtype=bool)) is threshold
    np.testing.assert_array_equal(np.broadcast_to(threshold(np.zeros((2, 3))), (2, 3)), 0.7)


@pytest.mark.parametrize("name", ["regression", "per-label", "zero", 0.25, np.float32(2), 3])
def test_thresholds_shift_decisions_to_zero(name):
    """Whatever the threshold: predicted where score − threshold > 0, the scores themselves kept."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), (rng.random((30, 4)) < 0.4).astype(int)
    model = MLODM(threshold=name).fit(X, y)
    scores = model.label_scores(X)
    np.testing.assert_allclose(
        model.decision_function(X), scores - np.broadcast_to(model.threshold_(scores), y.shape)
    )
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)
    np.testing.assert_allclose(scores, MLODM().fit(X, y).label_scores(X))


def test_names_and_numbers():
    assert isinstance(make_threshold("regression"), RegressionThreshold)
    assert isinstance(make_threshold("per-label"), PerLabelThreshold)
    assert make_threshold("zero").value == 0.0
    for value in (1, -0.5, np.float32(0.5), np.int64(2)):
        assert make_threshold(value).value == value


@pytest.mark.parametrize("bad", ["best", "", None, True, [0.5], np.array([0.1, 0.2]), object])
def test_unknown_threshold(bad):
    with pytest.raises(ValueError, match=r"threshold must be .*'regression', 'per-label', 'zero'"):
        make_threshold(bad)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_infinite_threshold(bad):
    with pytest.raises(ValueError, match=f"threshold must be a finite number; got {bad!r}"):
        make_threshold(bad)


@pytest.mark.parametrize("noise", [1e-13, 1e-7])
def test_the_rounding_of_dependent_scores_is_not_fitted(noise):
    """Scores that nearly sum to zero, in double or single precision."""
    rng, scores, indicator = random_rows(7, n=60, q=4)
    scores -= scores.mean(axis=1, keepdims=True)
    noisy = [scores + noise * rng.normal(size=scores.shape) for _ in range(2)]
    threshold = RegressionThreshold().fit(noisy[0], indicator)
    assert np.linalg.norm(threshold.coef_) < 10
    np.testing.assert_allclose(threshold(noisy[1]), threshold(noisy[0]), atol=100 * noise)


def test_regression_threshold_does_not_depend_on_the_size_of_scores():
    _, scores, indicator = random_rows(7, n=60, q=4)
    large, small = (
        RegressionThreshold().fit(size * scores, indicator, margin=size) for size in (1e6, 1e-9)
    )
    np.testing.assert_allclose(small.coef_, large.coef_, rtol=1e-8)
    assert small.intercept_ == pytest.approx(1e-15 * large.intercept_, rel=1e-8)


@pytest.mark.parametrize("method", [MLODM, RankCVM, RankLSVM, RankSVM])
def test_labels_do_not_depend_on_the_rows_beside(method):
    """A nearly hard margin in one dimension: scores sum to zero with large errors."""
    rng = np.random.default_rng(6)
    X, new = rng.normal(size=(100, 1)), rng.normal(size=(200, 1))
    Y = (X @ rng.normal(size=(1, 3)) + rng.normal(size=(100, 3)) > 0).astype(int)
    model = method(C=200.0, gamma=0.5, threshold="regression", random_state=0).fit(X, Y)
    together = model.predict(new)
    alone = np.vstack([model.predict(row[None]) for row in new])
    np.testing.assert_array_equal(together, alone)
    assert np.abs(model.threshold_.coef_).max() < 100


@pytest.mark.parametrize("make", [PerLabelThreshold, RegressionThreshold])
@pytest.mark.parametrize("method", [MLODM, RankSVM])
def test_estimators_fit_thresholds_to_their_own_scores(method, make):
    """Those of the training rows, with the intercept."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 4))
    y = (X @ rng.normal(size=(4, 3)) + rng.normal(size=(40, 3)) > [0.0, 0.5, 1.0]).astype(int)
    name = "per-label" if make is PerLabelThreshold else "regression"
    model = method(kernel="linear", threshold=name).fit(X, y)
    assert np.abs(model.intercept_).max() > 1e-3
    scores = model.label_scores(X)
    expected = make().fit(scores, y.astype(bool))
    np.testing.assert_allclose(
        np.broadcast_to(model.threshold_(scores), y.shape),
        np.broadcast_to(expected(scores), y.shape),
        atol=1e-9,
    )
