"""The pair loss against sums over pairs written out by hand, and finite differences."""

import itertools

import numpy as np
import pytest
from problems import random_indicator

from skml_odm.problems import pairs as losses
from skml_odm.problems.pairs import PairLoss

SEEDS = range(8)


def random_case(seed, m=23, q=6):
    """Labels, scores and parameters; margins on both sides of both kinks."""
    rng = np.random.default_rng(seed)
    indicator = random_indicator(rng, m, q)
    indicator[0], indicator[1] = False, True
    parameters = {
        "C": 2.0 ** rng.uniform(-3, 6),
        "theta": [0.0, rng.uniform(0, 1), 1.0][seed % 3],
        "mu": [0.0, rng.uniform(0, 1), 1.0][seed % 3],
    }
    weight = rng.uniform(0.1, 3, size=m) if seed % 2 else None
    scores = 2.0 * rng.normal(size=(m, q))
    return rng, indicator, parameters, weight, scores


def pair_loss(margin, theta, mu):
    if margin < 1 - theta:
        return 0.5 * (1 - theta - margin) ** 2
    if margin > 1 + theta:
        return 0.5 * mu * (margin - 1 - theta) ** 2
    return 0.0


def pair_hessian(margin, theta, mu):
    return 1.0 if margin < 1 - theta else mu if margin > 1 + theta else 0.0


def row_pairs(row):
    return list(itertools.product(np.flatnonzero(row), np.flatnonzero(~row)))


def value_by_hand(indicator, scores, C, theta, mu, weight=None):
    total = 0.0
    for i, row in enumerate(indicator):
        pairs = row_pairs(row)
        for k, other in pairs:
            c = C * (1.0 if weight is None else weight[i]) / len(pairs)
            total += c * pair_loss(scores[i, k] - scores[i, other], theta, mu)
    return total


def hessians_by_hand(indicator, scores, C, theta, mu, weight=None):
    """One q × q Hessian per row."""
    m, q = scores.shape
    hessians = np.zeros((m, q, q))
    for i, row in enumerate(indicator):
        pairs = row_pairs(row)
        for k, other in pairs:
            c = C * (1.0 if weight is None else weight[i]) / len(pairs)
            difference = np.eye(q)[k] - np.eye(q)[other]
            curvature = pair_hessian(scores[i, k] - scores[i, other], theta, mu)
            hessians[i] += c * curvature * np.outer(difference, difference)
    return hessians


def distance_to_kinks(indicator, scores, theta):
    """The least distance of any margin from a kink of the loss."""
    least = np.inf
    for i, row in enumerate(indicator):
        for k, other in row_pairs(row):
            margin = scores[i, k] - scores[i, other]
            least = min(least, abs(margin - 1 + theta), abs(margin - 1 - theta))
    return least


@pytest.mark.parametrize("seed", SEEDS)
def test_value_is_the_sum_over_pairs(seed):
    _, indicator, parameters, weight, scores = random_case(seed)
    value, _ = PairLoss(indicator, **parameters, sample_weight=weight).evaluate(scores)
    assert value == pytest.approx(value_by_hand(indicator, scores, **parameters, weight=weight))


def test_value_of_one_pair():
    """Closed forms: too small, free, and too large a margin."""
    loss = PairLoss(np.array([[True, False]]), C=2.0, theta=0.25, mu=0.5)
    for margin, expected in ((0.0, 0.5625), (0.75, 0.0), (1.1, 0.0), (1.25, 0.0), (2.25, 0.5)):
        assert loss.evaluate(np.array([[margin, 0.0]]))[0] == pytest.approx(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_gradient_is_minus_the_slope_of_the_value(seed):
    _, indicator, parameters, weight, scores = random_case(seed, m=9, q=5)
    _, gradient = PairLoss(indicator, **parameters, sample_weight=weight).evaluate(scores)
    step, slope = 1e-6, np.empty_like(scores)
    for index in np.ndindex(scores.shape):
        shift = np.zeros_like(scores)
        shift[index] = step
        above = value_by_hand(indicator, scores + shift, **parameters, weight=weight)
        below = value_by_hand(indicator, scores - shift, **parameters, weight=weight)
        slope[index] = (above - below) / (2 * step)
    np.testing.assert_allclose(gradient, -slope, atol=1e-6 * parameters["C"], rtol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_hessian_product_is_the_slope_of_the_gradient(seed):
    rng, indicator, parameters, weight, scores = random_case(seed)
    loss = PairLoss(indicator, **parameters, sample_weight=weight)
    direction = rng.normal(size=scores.shape)
    step = 1e-7
    moved = 2 * step * np.abs(direction).max()
    assert distance_to_kinks(indicator, scores, parameters["theta"]) > moved
    forward = loss.evaluate(scores + step * direction)[1]
    backward = loss.evaluate(scores - step * direction)[1]
    product = loss.curvature(scores).product(direction)
    slope = (backward - forward) / (2 * step)
    np.testing.assert_allclose(product, slope, atol=1e-6 * parameters["C"], rtol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_hessian_product_is_that_of_the_explicit_matrices(seed):
    rng, indicator, parameters, weight, scores = random_case(seed)
    loss = PairLoss(indicator, **parameters, sample_weight=weight)
    hessians = hessians_by_hand(indicator, scores, **parameters, weight=weight)
    direction = rng.normal(size=scores.shape)
    expected = np.einsum("ikl,il->ik", hessians, direction)
    np.testing.assert_allclose(
        loss.curvature(scores).product(direction),
        expected,
        atol=1e-12 * parameters["C"],
        rtol=1e-10,
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_hessian_diagonal_is_that_of_the_explicit_matrices(seed):
    _, indicator, parameters, weight, scores = random_case(seed)
    loss = PairLoss(indicator, **parameters, sample_weight=weight)
    expected = np.einsum(
        "ikk->ik", hessians_by_hand(indicator, scores, **parameters, weight=weight)
    )
    np.testing.assert_allclose(loss.curvature(scores).diagonal(), expected, rtol=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_hessian_is_symmetric_and_semidefinite(seed):
    rng, indicator, parameters, weight, scores = random_case(seed)
    loss = PairLoss(indicator, **parameters, sample_weight=weight)
    for _ in range(10):
        U, V = rng.normal(size=(2, *scores.shape))
        assert np.vdot(U, loss.curvature(scores).product(V)) == pytest.approx(
            np.vdot(V, loss.curvature(scores).product(U)), abs=1e-10 * parameters["C"]
        )
        assert np.vdot(U, loss.curvature(scores).product(U)) >= 0.0


def test_common_shift_of_a_row_changes_nothing():
    """Only differences of scores matter: gradients sum to zero, constants are in the null space."""
    _, indicator, parameters, weight, scores = random_case(4)
    loss = PairLoss(indicator, **parameters, sample_weight=weight)
    value, gradient = loss.evaluate(scores)
    shift = np.linspace(-3, 3, len(scores))[:, None]
    assert loss.evaluate(scores + shift)[0] == pytest.approx(value)
    np.testing.assert_allclose(gradient.sum(axis=1), 0.0, atol=1e-12 * parameters["C"])
    constant = np.broadcast_to(shift, scores.shape).copy()
    np.testing.assert_allclose(
        loss.curvature(scores).product(constant), 0.0, atol=1e-12 * parameters["C"]
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_curvature_modes_are_those_of_the_mean_hessian(seed):
    _, indicator, parameters, weight, scores = random_case(seed)
    loss = PairLoss(indicator, **parameters, sample_weight=weight)
    modes = loss.curvature(scores).modes()
    values, vectors = modes.values, modes.vectors
    mean = hessians_by_hand(indicator, scores, **parameters, weight=weight).mean(axis=0)
    np.testing.assert_allclose((vectors * values) @ vectors.T, mean, atol=1e-12 * parameters["C"])
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-12)
    assert (values >= 0).all()
    np.testing.assert_allclose(modes.split(mean), vectors * values, atol=1e-12 * parameters["C"])
    np.testing.assert_allclose(modes.join(modes.split(scores)), scores, atol=1e-12)


def test_curvature_modes_of_many_labels_are_the_diagonal(monkeypatch):
    monkeypatch.setattr(losses, "MAX_COUPLED_LABELS", 5)
    _, indicator, parameters, weight, scores = random_case(1, q=6)
    loss = PairLoss(indicator, **parameters, sample_weight=weight)
    modes = loss.curvature(scores).modes()
    mean = hessians_by_hand(indicator, scores, **parameters, weight=weight).mean(axis=0)
    np.testing.assert_allclose(modes.values, np.diag(mean), atol=1e-12)
    assert modes.split(scores) is scores and modes.join(scores) is scores


def test_rows_without_pairs_add_nothing():
    rng = np.random.default_rng(0)
    indicator = np.array([[False] * 4, [True] * 4])
    loss = PairLoss(indicator, C=3.0, theta=0.1, mu=0.7)
    scores, direction = rng.normal(size=(2, 2, 4))
    value, gradient = loss.evaluate(scores)
    assert value == 0.0
    assert not gradient.any()
    assert not loss.curvature(scores).product(direction).any()
    assert not loss.curvature(scores).modes().values.any()
    assert not loss.n_pairs.any()


def test_one_label_has_no_pairs():
    loss = PairLoss(np.array([[True], [False]]), C=1.0, theta=0.1, mu=0.7)
    value, gradient = loss.evaluate(np.array([[5.0], [-2.0]]))
    assert value == 0.0
    assert not gradient.any()


def test_sample_weight_counts_rows():
    """Integer weights are repetitions; a zero weight removes the row."""
    _, indicator, parameters, _, scores = random_case(2)
    weight = np.arange(len(scores)) % 3
    repeated = PairLoss(np.repeat(indicator, weight, axis=0), **parameters)
    weighted = PairLoss(indicator, **parameters, sample_weight=weight.astype(float))
    value, gradient = weighted.evaluate(scores)
    assert value == pytest.approx(repeated.evaluate(np.repeat(scores, weight, axis=0))[0])
    assert not gradient[weight == 0].any()
    assert not weighted.curvature(scores).product(scores)[weight == 0].any()


def test_weights_scale_gradient_and_hessian():
    _, indicator, parameters, weight, scores = random_case(3)
    plain = PairLoss(indicator, **parameters)
    weighted = PairLoss(indicator, **parameters, sample_weight=weight)
    np.testing.assert_allclose(
        weighted.evaluate(scores)[1], weight[:, None] * plain.evaluate(scores)[1]
    )
    np.testing.assert_allclose(
        weighted.curvature(scores).product(scores),
        weight[:, None] * plain.curvature(scores).product(scores),
    )


def test_inputs_stay_unchanged():
    rng, indicator, parameters, weight, scores = random_case(7)
    direction = rng.normal(size=scores.shape)
    for array in (indicator, weight, scores, direction):
        array.setflags(write=False)
    loss = PairLoss(indicator, **parameters, sample_weight=weight)
    loss.evaluate(scores)
    loss.curvature(scores).product(direction)
    loss.curvature(scores).modes()


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("n_relevant", [1, 2, 5, 9, 10])
@pytest.mark.parametrize("grid", [False, True])
def test_proximal_points_are_stationary(C, n_relevant, grid):
    """S = F − κA + κG(S), for one or several labels on either side, with and without ties."""
    rng = np.random.default_rng(n_relevant)
    m, q, kappa = 40, 11, 0.7
    indicator = rng.permuted(np.arange(q) < n_relevant * np.ones((m, 1)), axis=1)
    loss = PairLoss(indicator, C=C, theta=0.25, mu=0.5)
    scores, coefficients = rng.normal(size=(2, m, q))
    if grid:
        scores, coefficients = np.round(2 * scores) / 4, np.zeros((m, q))
    points = loss.proximal_points(scores, coefficients, kappa)
    expected = scores - kappa * coefficients + kappa * loss.evaluate(points)[1]
    np.testing.assert_allclose(points, expected, atol=1e-13 * (1 + C))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("q", [5, 260])
def test_labels_that_are_not_involved_change_nothing(seed, q):
    """Each row is as if it had only the labels that are involved."""
    rng = np.random.default_rng(seed)
    m = 12
    indicator, involved = rng.random((m, q)) < 0.4, rng.random((m, q)) < 0.8
    # rows of one label, and of relevant labels alone
    indicator[1, 0] = True
    involved[0], involved[1] = np.arange(q) == 0, indicator[1]
    scores, direction = rng.normal(size=(2, m, q))
    coefficients = np.where(involved, rng.normal(size=(m, q)), 0.0)
    options = {"C": 3.0, "theta": 0.1 * seed, "mu": 0.5}
    loss = PairLoss(indicator, **options, involved=involved)
    value, gradient = loss.evaluate(scores)
    curvature = loss.curvature(scores)
    product, diagonal = curvature.product(direction), curvature.diagonal()
    points = loss.proximal_points(scores, coefficients, 0.7)
    total, widest, average = 0.0, 0.0, np.zeros((q, q))
    for i, used in enumerate(involved):
        assert not gradient[i, ~used].any() and not product[i, ~used].any()
        np.testing.assert_array_equal(points[i, ~used], scores[i, ~used])
        alone = PairLoss(indicator[i : i + 1, used], **options)
        part = scores[i : i + 1, used]
        one = alone.evaluate(part)
        total += one[0]
        widest = max(widest, alone.widest(part))
        np.testing.assert_array_equal(gradient[i, used], one[1][0])
        its = alone.curvature(part)
        np.testing.assert_array_equal(product[i, used], its.product(direction[i : i + 1, used])[0])
        np.testing.assert_array_equal(diagonal[i, used], its.diagonal()[0])
        moved = alone.proximal_points(part, coefficients[i : i + 1, used], 0.7)
        np.testing.assert_array_equal(points[i, used], moved[0])
        if q <= 200 and used.any():
            average[np.ix_(used, used)] += its.average() / m
    assert value == pytest.approx(total, rel=1e-12)
    assert loss.widest(scores) == widest
    if q <= 200:
        np.testing.assert_allclose(curvature.average(), average, atol=1e-13)
