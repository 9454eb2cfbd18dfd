"""Many labels: the pair loss from sorted scores against sums over all pairs."""

import numpy as np
import pytest

from skml_odm.problems.pairs import PairLoss

# enough labels on both sides that scores are sorted, with the relevant or the irrelevant ones fewer
SHAPES = [(400, 60), (400, 340), (300, 150)]
KINKS = [(0.0, 0.7), (0.25, 0.5), (0.0, 0.0), (1.0, 1.0)]
SCORES = ["normal", "ties", "equal", "tiny", "huge", "far", "one far"]


def random_rows(q, n_relevant, kind, seed, m=7):
    """Labels and scores; row 0 has no irrelevant label, row 1 no relevant one, row 2 only one."""
    rng = np.random.default_rng(seed)
    indicator = rng.permuted(np.arange(q) < n_relevant * np.ones((m, 1)), axis=1)
    indicator[:3] = False
    indicator[0], indicator[2, 5] = True, True
    scores = np.where(indicator, 0.8, 0.0) + 0.5 * rng.normal(size=(m, q))
    if kind == "ties":
        scores = np.round(2 * scores) / 2
    elif kind == "equal":
        scores[:] = 0.25
    elif kind == "tiny":
        scores *= 1e-9
    elif kind == "huge":
        scores *= 1e9
    elif kind == "far":
        scores += 2.0**20
    elif kind == "one far":
        scores[:, 5] = 1e7
    return rng, indicator, scores


def by_pairs(loss, indicator, scores, direction):
    """Value, gradient coefficients, Hessian product and diagonal, pair by pair; and their sizes."""
    value, size = 0.0, 0.0
    gradient, product, diagonal = np.zeros((3, *scores.shape))
    for i, row in enumerate(indicator):
        c, margins = loss.weight[i], np.subtract.outer(scores[i, row], scores[i, ~row])
        short, over = loss.lower - margins, margins - loss.upper
        multipliers = c * (np.maximum(short, 0.0) - loss.mu * np.maximum(over, 0.0))
        curvature = c * ((short > 0) + loss.mu * (over >= 0))
        apart = curvature * np.subtract.outer(direction[i, row], direction[i, ~row])
        value += 0.5 * c * np.sum(np.maximum(short, 0) ** 2 + loss.mu * np.maximum(over, 0) ** 2)
        size = max(size, np.abs(scores[i]).max() * c * max(margins.shape, default=0))
        for target, terms, sign in (
            (gradient, multipliers, -1.0),
            (product, apart, -1.0),
            (diagonal, curvature, 1.0),
        ):
            target[i, row] = terms.sum(axis=1)
            target[i, ~row] = sign * terms.sum(axis=0)
    return value, gradient, product, diagonal, size


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize(("theta", "mu"), KINKS)
@pytest.mark.parametrize(("q", "n_relevant"), SHAPES)
def test_sums_over_pairs(q, n_relevant, theta, mu, kind):
    rng, indicator, scores = random_rows(q, n_relevant, kind, seed=q + n_relevant)
    direction = rng.normal(size=scores.shape)
    loss = PairLoss(indicator, C=3.0, theta=theta, mu=mu)
    value, gradient, product, diagonal, size = by_pairs(loss, indicator, scores, direction)
    found = loss.evaluate(scores)
    rounding = 1e-15 * (1 + size)
    assert found[0] == pytest.approx(value, rel=1e-12, abs=1e-25)
    np.testing.assert_allclose(found[1], gradient, rtol=1e-12, atol=rounding)
    np.testing.assert_allclose(loss.curvature(scores).diagonal(), diagonal, rtol=1e-12)
    np.testing.assert_allclose(
        loss.curvature(scores).product(direction), product, rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("kind", ["normal", "ties", "equal", "far"])
@pytest.mark.parametrize(("theta", "mu"), KINKS)
@pytest.mark.parametrize(("q", "n_relevant"), [(130, 6), (130, 124), (230, 115)])
@pytest.mark.parametrize("C", [1e-2, 1e2, 1e5])
def test_block_steps_are_stationary(q, n_relevant, theta, mu, kind, C):
    """S = F − κA + κG(S)."""
    rng, indicator, scores = random_rows(q, n_relevant, kind, seed=q)
    kappa, coefficients = 0.7, rng.normal(size=scores.shape)
    coefficients[kind == "equal"] = 0.0
    loss = PairLoss(indicator, C=C, theta=theta, mu=mu)
    points = loss.proximal_points(scores, coefficients, kappa)
    expected = scores - kappa * coefficients + kappa * by_pairs(loss, indicator, points, points)[1]
    expected[:2] = scores[:2]
    np.testing.assert_allclose(
        points, expected, rtol=0, atol=1e-14 * (1 + C) * np.abs(scores).max() + 1e-13
    )
