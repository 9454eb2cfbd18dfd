"""The loss with pairs weighted by confidence, against sums over pairs and finite differences."""

import numpy as np
import pytest
from problems import random_indicator
from test_losses import pair_hessian, pair_loss

from skml_odm.problems import confidences as losses
from skml_odm.problems.confidences import ConfidenceLoss
from skml_odm.problems.pairs import PairLoss

SEEDS = range(6)


def random_case(seed, m=17, q=6):
    """Confidences with ties and rows of zeros, weights, scores on both sides of both kinks."""
    rng = np.random.default_rng(seed)
    confidences = rng.random((m, q)) * (rng.random((m, q)) < 0.7)
    if seed % 2:
        confidences = np.round(4 * confidences) / 4  # ties
    confidences[0], confidences[1], confidences[2] = 0.0, 1.0, 0.3
    weight = rng.uniform(0.1, 3, size=m)
    weight[3] = 0.0
    parameters = {
        "theta": [0.0, rng.uniform(0, 1), 1.0][seed % 3],
        "mu": [0.0, rng.uniform(0, 1), 1.0][seed % 3],
    }
    return rng, confidences, weight, parameters, 2.0 * rng.normal(size=(m, q))


def pairs_of(confidences, weight):
    """Every pair as row, greater label, lesser label, and its weight."""
    m, q = confidences.shape
    for i in range(m):
        for k in range(q):
            for label in range(q):
                difference = confidences[i, k] - confidences[i, label]
                if difference > 0.0:
                    yield i, k, label, weight[i] * difference


def value_by_hand(scores, confidences, weight, theta, mu):
    return sum(
        c * pair_loss(scores[i, k] - scores[i, label], theta, mu)
        for i, k, label, c in pairs_of(confidences, weight)
    )


def hessians_by_hand(scores, confidences, weight, theta, mu):
    """One q × q Hessian per row."""
    m, q = scores.shape
    hessians = np.zeros((m, q, q))
    for i, k, label, c in pairs_of(confidences, weight):
        difference = np.eye(q)[k] - np.eye(q)[label]
        curvature = pair_hessian(scores[i, k] - scores[i, label], theta, mu)
        hessians[i] += c * curvature * np.outer(difference, difference)
    return hessians


@pytest.mark.parametrize("seed", SEEDS)
def test_value_is_the_sum_over_pairs(seed):
    _, P, weight, parameters, scores = random_case(seed)
    value, _ = ConfidenceLoss(P, weight, **parameters).evaluate(scores)
    assert value == pytest.approx(value_by_hand(scores, P, weight, **parameters))


def test_value_of_one_pair():
    """Weight 2, confidences 0.75 and 0.25: the pair counts 1; the loss is that of MLODM."""
    loss = ConfidenceLoss(np.array([[0.25, 0.75]]), np.array([2.0]), theta=0.25, mu=0.5)
    for margin, expected in ((0.0, 0.28125), (0.75, 0.0), (1.25, 0.0), (2.25, 0.25)):
        assert loss.evaluate(np.array([[0.0, margin]]))[0] == pytest.approx(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_gradient_is_minus_the_slope_of_the_value(seed):
    _, P, weight, parameters, scores = random_case(seed, m=7, q=4)
    _, gradient = ConfidenceLoss(P, weight, **parameters).evaluate(scores)
    step, slope = 1e-6, np.empty_like(scores)
    for index in np.ndindex(scores.shape):
        shift = np.zeros_like(scores)
        shift[index] = step
        above = value_by_hand(scores + shift, P, weight, **parameters)
        below = value_by_hand(scores - shift, P, weight, **parameters)
        slope[index] = (above - below) / (2 * step)
    np.testing.assert_allclose(gradient, -slope, atol=1e-6)
    np.testing.assert_allclose(gradient.sum(axis=1), 0.0, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_curvature_is_that_of_the_explicit_matrices(seed):
    rng, P, weight, parameters, scores = random_case(seed)
    curvature = ConfidenceLoss(P, weight, **parameters).curvature(scores)
    hessians = hessians_by_hand(scores, P, weight, **parameters)
    V = rng.normal(size=scores.shape)
    expected = np.einsum("ikl,il->ik", hessians, V)
    np.testing.assert_allclose(curvature.product(V), expected, atol=1e-12)
    diagonal = np.einsum("ikk->ik", hessians)
    np.testing.assert_allclose(curvature.diagonal(), diagonal, atol=1e-12)
    modes = curvature.modes()
    mean = (modes.vectors * modes.values) @ modes.vectors.T
    np.testing.assert_allclose(mean, hessians.mean(axis=0), atol=1e-12)
    assert (modes.values >= 0.0).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_indicators_give_the_pair_loss(seed):
    """P of zeros and ones with c_i / (|Y||N|) as weights is what MLODM minimises."""
    rng = np.random.default_rng(seed)
    indicator = random_indicator(rng, 15, 5)
    indicator[0], indicator[1] = False, True
    c = rng.uniform(0.5, 2.0, size=15)
    plain = PairLoss(indicator, C=3.0, theta=0.2, mu=0.6, sample_weight=c)
    n_pairs = np.maximum(indicator.sum(axis=1) * (~indicator).sum(axis=1), 1)
    loss = ConfidenceLoss(indicator.astype(float), 3.0 * c / n_pairs, theta=0.2, mu=0.6)
    scores, V = 2.0 * rng.normal(size=(2, 15, 5))
    for found, expected in zip(loss.evaluate(scores), plain.evaluate(scores), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-13)
    one, other = loss.curvature(scores), plain.curvature(scores)
    np.testing.assert_allclose(one.product(V), other.product(V), atol=1e-13)
    np.testing.assert_allclose(one.diagonal(), other.diagonal(), atol=1e-13)
    np.testing.assert_allclose(one.modes().values, other.modes().values, atol=1e-13)


def test_equal_confidences_are_no_pair():
    """Labels that tie have no influence on each other; their order does not matter."""
    P, weight = np.array([[0.5, 0.5, 0.0], [0.7, 0.7, 0.7]]), np.ones(2)
    loss = ConfidenceLoss(P, weight, theta=0.0, mu=0.5)
    scores = np.array([[3.0, -1.0, 0.5], [5.0, 0.0, -5.0]])
    value, gradient = loss.evaluate(scores)
    assert value == pytest.approx(0.5 * (0.5 * 0.5 * 1.5**2 + 0.5 * 2.5**2))
    assert not gradient[1].any()
    swapped = [1, 0, 2]
    again, other = loss.evaluate(np.ascontiguousarray(scores[:, swapped]))
    assert again == pytest.approx(value)
    np.testing.assert_allclose(other[:, swapped], gradient)


def test_rows_without_pairs_add_nothing():
    P = np.array([[0.0] * 4, [1.0] * 4, [0.9, 0.2, 0.0, 0.0]])
    loss = ConfidenceLoss(P, np.array([1.0, 1.0, 0.0]), theta=0.1, mu=0.7)
    scores, V = np.random.default_rng(0).normal(size=(2, 3, 4))
    value, gradient = loss.evaluate(scores)
    curvature = loss.curvature(scores)
    assert value == 0.0
    assert not gradient.any()
    assert not curvature.product(V).any()
    assert not curvature.diagonal().any()
    assert not curvature.modes().values.any()


@pytest.mark.parametrize("pairs_per_call", [1, 7, 40])
def test_result_does_not_depend_on_chunks(monkeypatch, pairs_per_call):
    _, P, weight, parameters, scores = random_case(4)
    whole = ConfidenceLoss(P, weight, **parameters)
    monkeypatch.setattr(losses, "WORK_PER_CALL", pairs_per_call)
    cut = ConfidenceLoss(P, weight, **parameters)
    assert len(whole.calls) == 1 and len(cut.calls) > 2
    for found, expected in zip(cut.evaluate(scores), whole.evaluate(scores), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    one, other = cut.curvature(scores), whole.curvature(scores)
    np.testing.assert_array_equal(one.product(scores), other.product(scores))
    np.testing.assert_array_equal(one.diagonal(), other.diagonal())
    np.testing.assert_allclose(one.total, other.total, atol=1e-13)


def test_inputs_stay_unchanged():
    _, P, weight, parameters, scores = random_case(5)
    for array in (P, weight, scores):
        array.setflags(write=False)
    loss = ConfidenceLoss(P, weight, **parameters)
    loss.evaluate(scores)
    loss.curvature(scores).product(scores)
