"""The loss with a zero label: pairs written out, finite differences, and a QP solver."""

import numpy as np
import pytest
from problems import optimum_by_quadratic_program, random_indicator, random_problem
from test_losses import pair_hessian, pair_loss

from skml_odm.features.operators import KernelOperator
from skml_odm.problems.zero_label import ZeroLabelLoss, differences, with_zero_label
from skml_odm.solvers.bcd import bcd
from skml_odm.solvers.newton import newton
from skml_odm.solvers.turns import solve_pairs

SEEDS = range(6)


def random_case(seed, m=13, q=4):
    rng = np.random.default_rng(seed)
    indicator = random_indicator(rng, m, q)
    indicator[0], indicator[1] = False, True
    parameters = {
        "C": 2.0 ** rng.uniform(-3, 6),
        "theta": [0.0, rng.uniform(0, 1), 1.0][seed % 3],
        "mu": [0.0, rng.uniform(0, 1), 1.0][seed % 3],
    }
    weight = rng.uniform(0.1, 3, size=m) if seed % 2 else None
    if seed % 2:
        weight[2] = 0.0
    loss = ZeroLabelLoss(indicator, **parameters, sample_weight=weight)
    scores = 2.0 * rng.normal(size=loss.shape)
    return rng, loss, pairs_by_hand(indicator, parameters["C"], weight), parameters, scores


def pairs_by_hand(indicator, C, sample_weight=None):
    """Every pair as (row, upper label, lower label), label 0 being the last; and their weights."""
    pairs, weight = [], []
    q = indicator.shape[1]
    for i, row in enumerate(indicator):
        c = C if sample_weight is None else C * sample_weight[i]
        relevant, irrelevant = np.flatnonzero(row), np.flatnonzero(~row)
        n_pairs = len(relevant) * len(irrelevant)
        found = [(k, other, n_pairs) for k in relevant for other in irrelevant]
        found += [(k, q, 2 * len(relevant)) for k in relevant]
        found += [(q, other, 2 * len(irrelevant)) for other in irrelevant]
        if c > 0.0:
            pairs += [(i, upper, lower) for upper, lower, _ in found]
            weight += [c / n for *_, n in found]
    return pairs, weight


def value_by_hand(pairs, scores, theta, mu, **_):
    terms = zip(*pairs, strict=True)
    return sum(c * pair_loss(scores[i, k] - scores[i, n], theta, mu) for (i, k, n), c in terms)


def hessians_by_hand(pairs, scores, theta, mu, **_):
    """One Hessian per row."""
    hessians = np.zeros((*scores.shape, scores.shape[1]))
    for (i, k, other), c in zip(*pairs, strict=True):
        e = np.eye(scores.shape[1])[k] - np.eye(scores.shape[1])[other]
        curvature = pair_hessian(scores[i, k] - scores[i, other], theta, mu)
        hessians[i] += c * curvature * np.outer(e, e)
    return hessians


@pytest.mark.parametrize("seed", SEEDS)
def test_value_is_the_sum_over_pairs(seed):
    _, loss, pairs, parameters, scores = random_case(seed)
    assert loss.evaluate(scores)[0] == pytest.approx(value_by_hand(pairs, scores, **parameters))
    at_zero = value_by_hand(pairs, np.zeros(loss.shape), **parameters)
    assert loss.at_zero == pytest.approx(at_zero, abs=1e-12)
    margins = [scores[i, k] - scores[i, other] for i, k, other in pairs[0]]
    assert loss.widest(scores) == max(margins)


@pytest.mark.parametrize("seed", SEEDS)
def test_gradient_is_minus_the_slope_of_the_value(seed):
    _, loss, pairs, parameters, scores = random_case(seed, m=7)
    _, gradient = loss.evaluate(scores)
    step, slope = 1e-6, np.empty_like(scores)
    for index in np.ndindex(scores.shape):
        shift = np.zeros_like(scores)
        shift[index] = step
        above = value_by_hand(pairs, scores + shift, **parameters)
        below = value_by_hand(pairs, scores - shift, **parameters)
        slope[index] = (above - below) / (2 * step)
    np.testing.assert_allclose(gradient, -slope, atol=1e-6 * parameters["C"], rtol=1e-6)
    np.testing.assert_allclose(gradient.sum(axis=1), 0.0, atol=1e-12 * parameters["C"])


@pytest.mark.parametrize("seed", SEEDS)
def test_curvature_is_that_of_the_explicit_matrices(seed):
    """And the product the slope of the gradient."""
    rng, loss, pairs, parameters, scores = random_case(seed)
    hessians = hessians_by_hand(pairs, scores, **parameters)
    curvature = loss.curvature(scores)
    direction = rng.normal(size=scores.shape)
    tolerance = {"atol": 1e-12 * parameters["C"], "rtol": 1e-10}
    product = np.einsum("ikl,il->ik", hessians, direction)
    np.testing.assert_allclose(curvature.product(direction), product, **tolerance)
    diagonal = np.einsum("ikk->ik", hessians)
    np.testing.assert_allclose(curvature.diagonal(), diagonal, **tolerance)
    modes = curvature.modes()
    mean = (modes.vectors * modes.values) @ modes.vectors.T
    np.testing.assert_allclose(mean, hessians.mean(axis=0), **tolerance)
    step = 1e-7
    forward = loss.evaluate(scores + step * direction)[1]
    backward = loss.evaluate(scores - step * direction)[1]
    slope = (backward - forward) / (2 * step)
    np.testing.assert_allclose(product, slope, atol=1e-6 * parameters["C"], rtol=1e-6)


def test_with_very_many_labels_the_modes_are_the_diagonal():
    indicator = np.random.default_rng(0).random((3, 230)) < 0.1
    loss = ZeroLabelLoss(indicator, 1.0, 0.0, 0.5)
    curvature = loss.curvature(np.zeros(loss.shape))
    assert curvature.modes().vectors is None
    np.testing.assert_allclose(curvature.modes().values, curvature.diagonal().mean(axis=0))


@pytest.mark.parametrize("seed", range(2000, 2024))
def test_optimum_equals_that_of_an_independent_solver(seed):
    """Small problems with rows that have no label or all of them against Clarabel."""
    pytest.importorskip("clarabel")
    operator, plain = random_problem(seed, largest=12)
    rng = np.random.default_rng(seed)
    m = len(plain.relevant)
    indicator, C, weight = plain.relevant.copy(), plain.C, None
    indicator[0], indicator[-1] = False, True
    if seed % 2:
        weight = rng.uniform(0.1, 2, size=m) * (rng.random(m) < 0.9)
        weight[0] = 1.0
    loss = ZeroLabelLoss(indicator, C, 1.0 - plain.lower, plain.mu, weight)
    reference = optimum_by_quadratic_program(operator, loss, *pairs_by_hand(indicator, C, weight))
    for solve in (newton, solve_pairs):
        result = solve(operator, loss, tol=1e-9, max_iter=2000)
        assert result.gap <= 1e-9
        assert result.primal == pytest.approx(reference, rel=1e-7, abs=1e-10)


@pytest.mark.parametrize("seed", range(2100, 2110))
def test_descent_encloses_the_optimum(seed):
    operator, plain = random_problem(seed, largest=100)
    loss = ZeroLabelLoss(plain.relevant, plain.C, 1.0 - plain.lower, plain.mu)
    optimum = newton(operator, loss, tol=1e-9, max_iter=200).primal
    result = bcd(operator, loss, tol=1e-6, max_iter=100)
    assert result.converged == (result.gap <= 1e-6)
    assert result.dual <= optimum * (1 + 1e-8) and optimum <= result.primal * (1 + 1e-8)


def test_descent_converges_on_friendly_problems():
    """Narrow kernel, moderate C; the sums of the rows' coefficients are zero."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    operator = KernelOperator(np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)), True)
    loss = ZeroLabelLoss(random_indicator(rng, 150, 5), 1.0, 0.2, 0.6)
    result = bcd(operator, loss, tol=1e-6, max_iter=500, random_state=0)
    assert result.gap <= 1e-6
    np.testing.assert_allclose(result.coefficients.sum(axis=1), 0.0, atol=1e-12)


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("q", [1, 2, 11, 230])
@pytest.mark.parametrize("grid", [False, True])
def test_proximal_points_are_stationary(C, q, grid):
    """S = F − κA + κG(S), for any number of labels on either side, with and without ties."""
    rng = np.random.default_rng(q)
    m, kappa = 12, 0.7
    n_relevant = np.array([0, q, 1, q - 1, *rng.integers(0, q + 1, size=m - 4)])
    indicator = rng.permuted(np.arange(q) < n_relevant[:, None], axis=1)
    loss = ZeroLabelLoss(indicator, C=C, theta=0.25, mu=0.5)
    scores, coefficients = rng.normal(size=(2, *loss.shape))
    if grid:
        scores, coefficients = np.round(2 * scores) / 4, np.zeros(loss.shape)
    points = loss.proximal_points(scores, coefficients, kappa)
    expected = scores - kappa * coefficients + kappa * loss.evaluate(points)[1]
    np.testing.assert_allclose(points, expected, atol=1e-13 * (1 + C))


@pytest.mark.parametrize("seed", SEEDS)
def test_certificate_is_that_of_the_pairs(seed):
    """The dual value of the multipliers of all pairs, spelled out, is what the gap says."""
    rng, loss, pairs, parameters, _ = random_case(seed, m=90)
    X = rng.normal(size=(90, 3))
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    operator = KernelOperator(K, True)
    result = newton(operator, loss, tol=1e-2, max_iter=100)
    F, A, theta, mu = result.scores, np.zeros(loss.shape), parameters["theta"], parameters["mu"]
    np.testing.assert_allclose(F, (K + 1) @ result.coefficients, atol=1e-9)
    primal = 0.5 * np.vdot(result.coefficients, F) + value_by_hand(pairs, F, **parameters)
    dual = 0.0
    for (i, k, other), c in zip(*pairs, strict=True):
        margin = F[i, k] - F[i, other]
        alpha, beta = c * max(1 - theta - margin, 0.0), c * mu * max(margin - 1 - theta, 0.0)
        dual += alpha * (1 - theta) - beta * (1 + theta) - alpha**2 / (2 * c)
        dual -= beta**2 / (2 * c * mu) if mu else 0.0
        A[i, k] += alpha - beta
        A[i, other] -= alpha - beta
    dual -= 0.5 * np.vdot(A, (K + 1) @ A)
    assert result.primal == pytest.approx(primal)
    assert result.dual == pytest.approx(dual, rel=1e-6)


def test_other_parameters_make_another_loss():
    _, loss, pairs, parameters, scores = random_case(3)
    other = loss.with_parameters(7.0 * parameters["C"], 0.2, 0.9)
    assert (other.lower, other.upper, other.mu) == (0.8, 1.2, 0.9)
    heavier = pairs[0], [7.0 * c for c in pairs[1]]
    value = value_by_hand(heavier, scores, 0.2, 0.9)
    assert other.evaluate(scores)[0] == pytest.approx(value)
    assert loss.evaluate(scores)[0] == pytest.approx(value_by_hand(pairs, scores, **parameters))


def test_differences_can_be_undone():
    A = np.random.default_rng(0).normal(size=(5, 4))
    A -= A.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(with_zero_label(differences(A)), A, atol=1e-15)
