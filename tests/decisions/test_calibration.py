"""Calibrations against scikit-learn's logistic regression and against what they must fulfil."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from skml_odm.decisions.calibration import (
    CALIBRATIONS,
    MOST_DIRECTIONS,
    OWN_SHARE,
    ContextCalibration,
    IsotonicCalibration,
    PerLabelCalibration,
)


def random_scores(seed, n=60, q=4):
    """Scores that tell something of the labels, of labels that are more or less frequent."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, q)) - np.linspace(0.0, 1.5, q)
    indicator = truth > 0.0
    return rng, 3.0 * (truth + rng.normal(size=(n, q))), indicator


def design_of_all_cells(scores, indicator, weight):
    """The regression that ``ContextCalibration`` states, written out with a row for every cell."""
    n, q = scores.shape
    centre = np.average(scores, weights=np.repeat(weight[:, None], q, axis=1))
    scaled = scores / np.sqrt(weight @ ((scores - centre) ** 2).mean(axis=1) / weight.sum())
    share = (weight @ indicator + 0.5) / (weight.sum() + 1.0)
    centred = scaled - np.average(scaled, axis=0, weights=weight)
    directions = np.linalg.svd(np.sqrt(weight)[:, None] * centred)[2][:MOST_DIRECTIONS]
    rows = []
    for i in range(n):
        for label in range(q):
            own = np.zeros((q, 2 + len(directions)))
            own[label] = OWN_SHARE * np.r_[1.0, scaled[i, label], directions @ centred[i]]
            shared = [logit(share[label]), scaled[i, label], scaled[i].max(), scaled[i].mean()]
            rows.append([*shared, *own.ravel()])
    return np.array(rows)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("seed", "q"), [(0, 4), (1, 4), (2, MOST_DIRECTIONS + 4)])
def test_context_is_the_stated_regression(seed, q, weighted):
    rng, scores, indicator = random_scores(seed, q=q)
    weight = rng.uniform(0.5, 2.0, size=len(scores)) if weighted else np.ones(len(scores))
    cells = design_of_all_cells(scores, indicator, weight)
    reference = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000)
    reference.fit(cells, indicator.ravel(), np.repeat(weight, scores.shape[1]))
    expected = reference.decision_function(cells).reshape(scores.shape)
    found = ContextCalibration().fit(scores, indicator, weight if weighted else None)
    np.testing.assert_allclose(found.log_odds(scores), expected, atol=1e-4)


def test_platt_has_his_targets():
    """Each row twice, once with each class, weighted by Platt's targets."""
    _, scores, indicator = random_scores(5)
    found = PerLabelCalibration().fit(scores, indicator).log_odds(scores)
    for k in range(scores.shape[1]):
        with_label = indicator[:, k].sum()
        target = np.where(
            indicator[:, k],
            (with_label + 1) / (with_label + 2),
            1 / (len(scores) - with_label + 2),
        )
        twice = np.r_[scores[:, k], scores[:, k]][:, None]
        classes = np.r_[np.ones(len(scores)), np.zeros(len(scores))]
        reference = LogisticRegression(C=1e6, tol=1e-10, max_iter=10_000)
        reference.fit(twice, classes, np.r_[target, 1.0 - target])
        np.testing.assert_allclose(
            found[:, k], reference.decision_function(scores[:, k : k + 1]), atol=1e-3
        )


def test_isotonic_is_that_of_scikit_learn():
    _, scores, indicator = random_scores(6)
    found = expit(IsotonicCalibration().fit(scores, indicator).log_odds(scores))
    for k in range(scores.shape[1]):
        expected = IsotonicRegression().fit_transform(scores[:, k], indicator[:, k])
        np.testing.assert_allclose(found[:, k], expected, atol=2e-6)


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_mean_probability_of_a_frequent_label_is_its_share(name):
    _, scores, indicator = random_scores(7, n=2000)
    found = expit(CALIBRATIONS[name]().fit(scores, indicator).log_odds(scores))
    np.testing.assert_allclose(found.mean(axis=0), indicator.mean(axis=0), atol=5e-3)


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_weights_are_repetitions(name):
    rng, scores, indicator = random_scores(8)
    # the scale of scores is that of rows, whatever their weight
    scores = scores / scores.std(axis=0)
    times = rng.integers(1, 4, size=len(scores))
    new = rng.normal(size=(5, 4))
    one = CALIBRATIONS[name]().fit(scores, indicator, times.astype(float)).log_odds(new)
    repeated = np.repeat(scores, times, axis=0), np.repeat(indicator, times, axis=0)
    other = CALIBRATIONS[name]().fit(*repeated).log_odds(new)
    np.testing.assert_allclose(expit(one), expit(other), atol=2e-2)


@pytest.mark.parametrize("name", CALIBRATIONS)
@pytest.mark.parametrize("case", ["constant scores", "separated", "constant labels", "one row"])
def test_odd_data_gives_probabilities(name, case):
    _, scores, indicator = random_scores(9)
    if case == "constant scores":
        scores = np.zeros_like(scores)
    elif case == "separated":
        scores = np.where(indicator, 1e3, -1e3)
    elif case == "constant labels":
        indicator = np.tile([True, False, True, False], (len(scores), 1))
    else:
        scores, indicator = scores[:1], indicator[:1]
    found = CALIBRATIONS[name]().fit(scores, indicator).log_odds(scores)
    assert np.isfinite(found).all()


def test_scale_of_scores_does_not_matter():
    _, scores, indicator = random_scores(10)
    one = ContextCalibration().fit(scores, indicator).log_odds(scores)
    other = ContextCalibration().fit(1e-7 * scores, indicator).log_odds(1e-7 * scores)
    np.testing.assert_allclose(one, other, atol=1e-8)
