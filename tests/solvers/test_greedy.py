"""Greedy steps: values, gaps and stops, against the explicit matrix and Newton's method."""

import numpy as np
import pytest
from problems import random_indicator
from sklearn.metrics.pairwise import rbf_kernel
from test_frank_wolfe import all_pairs, explicit_theta, make_problem, multipliers

from skml_odm import MLODM, RankCVM, RankLSVM
from skml_odm.features.operators import KernelOperator
from skml_odm.problems.pairs import PairLoss
from skml_odm.solvers import greedy as module
from skml_odm.solvers.frank_wolfe import first_point
from skml_odm.solvers.greedy import Multiple, greedy, suits_greedy
from skml_odm.solvers.newton import newton
from skml_odm.solvers.turns import solve_pairs as auto


def start_of(operator, loss):
    return first_point(loss, operator.diagonal() + operator.intercept, operator.intercept)


def larger_problem(seed, C=1.0, m=150):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 5))
    scores = X @ rng.normal(size=(5, 6)) + 0.3 * rng.normal(size=(m, 6))
    loss = PairLoss(scores > np.quantile(scores, 0.6), C, 0.0, 0.0)
    return KernelOperator(rbf_kernel(X, gamma=0.1), True), loss


@pytest.mark.parametrize("relaxation", [1.0, 1.3])
@pytest.mark.parametrize("seed", [1, 2, 3, 5, 6, 7, 9, 10, 11])
def test_steps_are_those_of_the_explicit_matrix(seed, relaxation):
    operator, loss = make_problem(seed)
    theta, _ = explicit_theta(operator, loss)
    pairs = all_pairs(loss)
    iterate = start_of(operator, loss)
    alpha = np.zeros(len(pairs))
    for _ in range(30):
        gradient = theta @ alpha
        row, up, down, slope = iterate.vertex()
        assert slope == pytest.approx(gradient.min(), rel=1e-8, abs=1e-10)
        done = iterate.climb(operator.matrix, 1, relaxation)
        assert iterate.stalled == (done == 0) == (not slope < 1.0)
        if done:
            at = pairs.index((row, up, down))
            alpha[at] += relaxation * (1.0 - gradient[at]) / theta[at, at]
        np.testing.assert_allclose(multipliers(iterate, pairs), alpha, rtol=1e-7)
        assert iterate.total == pytest.approx(alpha.sum())
        assert iterate.value == pytest.approx(0.5 * alpha @ theta @ alpha, rel=1e-8)
        rows = np.array([i for i, _, _ in pairs])
        assert iterate.squares == pytest.approx(np.sum(alpha**2 / loss.weight[rows]))
    A = np.zeros(loss.shape)
    for value, (i, k, label) in zip(alpha, pairs, strict=True):
        A[i, k] += value
        A[i, label] -= value
    usable = loss.n_pairs > 0
    scores = operator.product(A)
    np.testing.assert_allclose(iterate.current_scores()[usable], scores[usable], atol=1e-9)
    assert not iterate.current_scores()[~usable].any()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tol", [0.1, 0.2, 0.6])
def test_results_enclose_the_optimum(seed, tol):
    operator, loss = larger_problem(seed)
    optimum = newton(operator, loss, tol=1e-10, max_iter=200).primal
    result = greedy(operator, loss, tol=tol, max_iter=100)
    assert result is not None and result.converged and result.gap <= tol
    assert result.dual <= optimum * (1 + 1e-9) and optimum <= result.primal * (1 + 1e-9)
    # the values are those of the coefficients
    scores = operator.product(result.coefficients)
    np.testing.assert_allclose(result.scores, scores, atol=1e-10)
    primal = loss.evaluate(scores)[0] + 0.5 * np.vdot(result.coefficients, scores)
    assert result.primal == pytest.approx(primal)
    assert 1 <= result.n_iter <= module.MOST_STEPS
    assert auto(operator, loss, tol=tol, max_iter=100).trace == result.trace


@pytest.mark.parametrize("seed", range(4))
def test_the_multiple_is_near_the_best(seed):
    """After a few looks; the primal value is never below the least."""
    operator, loss = larger_problem(seed, C=10.0)
    iterate, multiple = start_of(operator, loss), Multiple(loss)
    for _ in range(8):
        iterate.climb(operator.matrix, 40, 1.0)
        primal = multiple.primal(iterate)
    scores = iterate.current_scores()
    regulariser = 2.0 * iterate.value - iterate.squares
    all_factors = np.linspace(0.2, 5.0, 400) * multiple.factor
    values = [loss.evaluate(f * scores)[0] + 0.5 * f * f * regulariser for f in all_factors]
    assert min(values) * (1 - 1e-3) <= primal <= 1.05 * min(values)


def test_what_takes_long_is_left_to_others():
    """Steep problems need more steps than they are worth; so do those with too few iterations."""
    operator, loss = larger_problem(0, C=1e5)
    assert greedy(operator, loss, tol=0.1, max_iter=100) is None
    assert auto(operator, loss, tol=0.1, max_iter=1000).gap <= 0.1
    operator, loss = larger_problem(0)
    assert greedy(operator, loss, tol=0.1, max_iter=1) is None


@pytest.mark.parametrize("C", [1e-300, 1e-200, 1e200, 1e300])
def test_numbers_beyond_their_range_are_left_to_others(C):
    """Steps of no length, values without end; Newton's method knows what to say about them."""
    operator, loss = larger_problem(0, C=C)
    outcomes = []
    for tol in (0.1, 0.07):
        with np.errstate(all="ignore"):
            try:
                outcomes.append(auto(operator, loss, tol=tol, max_iter=50).gap <= tol)
            except FloatingPointError as error:
                outcomes.append(str(error))
    assert outcomes[0] == outcomes[1] or outcomes[0] is True


def test_any_tolerance_is_met_from_the_first_look_on():
    operator, loss = larger_problem(0)
    for tol in (0.999, 1.0, 3.0):
        result = greedy(operator, loss, tol=tol, max_iter=100)
        assert result.converged and result.gap <= 1.0 and result.n_iter == 1


def test_stalled_steps_end(monkeypatch):
    """Multipliers never fall: steps that are too long end at a point that is not the best."""
    monkeypatch.setattr(module, "RELAXATION", 1.9)
    operator, loss = larger_problem(2)
    assert greedy(operator, loss, tol=0.1, max_iter=10**6) is None


def test_only_loose_tolerances_and_one_sided_losses_are_tried():
    operator, loss = larger_problem(0)
    indicator = random_indicator(np.random.default_rng(0), *loss.shape)
    assert suits_greedy(operator, loss, 0.1)
    assert not suits_greedy(operator, loss, 0.01)
    for theta, mu in ((0.2, 0.0), (0.0, 0.5)):
        assert not suits_greedy(operator, PairLoss(indicator, 1.0, theta, mu), 0.1)
    assert not suits_greedy(operator, PairLoss(np.ones_like(indicator), 1.0, 0.0, 0.0), 0.1)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("method", [RankCVM, RankLSVM, MLODM])
def test_estimators_certify_loose_tolerances(method, kernel):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 8))
    y = (X[:, :4] + 0.5 * rng.normal(size=(120, 4)) > 0.3).astype(int)
    loose = method(C=1.0, kernel=kernel, tol=0.3, random_state=0).fit(X, y)
    tight = method(C=1.0, kernel=kernel, tol=1e-6, random_state=0).fit(X, y)
    assert loose.dual_gap_ <= 0.3
    assert tight.objective_ <= loose.objective_ * (1 + 1e-9)
    assert loose.objective_ * (1 - loose.dual_gap_) <= tight.objective_ * (1 + 1e-9)
