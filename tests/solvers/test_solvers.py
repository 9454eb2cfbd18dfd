"""Every solver against the certificate, against each other and against an independent QP solver."""

from functools import partial

import numpy as np
import pytest
from groups import first_fast
from problems import optimum_by_quadratic_program, primal_value, random_problem

from skml_odm.features.operators import KernelOperator, LinearOperator
from skml_odm.problems.pairs import PairLoss
from skml_odm.solvers._m3 import MultiplicativeBlocks
from skml_odm.solvers.bcd import bcd
from skml_odm.solvers.iteration import Step
from skml_odm.solvers.newton import newton
from skml_odm.solvers.turns import SMOOTH_WORK, is_slow, solve_pairs

EXACT = {"newton": newton, "auto": solve_pairs}
FIRST_ORDER = {"bcd": bcd, "m3": partial(bcd, blocks=MultiplicativeBlocks)}
N_PROBLEMS = 200
TOL = 1e-6
MAX_ITER = {"newton": 200, "auto": 2000, "bcd": 200, "m3": 200}


def check_certificate(result, operator, loss):
    """What a result claims is what its coefficients give when everything is computed by hand."""
    scores = operator.product(result.coefficients)
    if operator.intercept:
        scores += result.intercept - result.coefficients.sum(axis=0)
    np.testing.assert_allclose(result.scores, scores, atol=1e-8 * (1 + np.abs(scores).max()))
    primal = primal_value(operator, loss, result.coefficients, result.intercept)
    assert result.primal == pytest.approx(primal, rel=1e-7, abs=1e-12)
    assert result.difference >= -1e-9 * (1e-9 + abs(primal))
    assert result.converged == (result.gap <= TOL)


@pytest.mark.parametrize("seed", first_fast(range(N_PROBLEMS), 40))
def test_random_problem(seed):
    """newton and auto reach the gap; all four enclose one optimum."""
    operator, loss = random_problem(seed, largest=100)
    results = {}
    for name, solve in {**EXACT, **FIRST_ORDER}.items():
        results[name] = solve(operator, loss, tol=TOL, max_iter=MAX_ITER[name])
        check_certificate(results[name], operator, loss)
    for name in EXACT:
        assert results[name].gap <= TOL, (name, results[name].gap)
    lowest_primal = min(result.primal for result in results.values())
    highest_dual = max(result.dual for result in results.values())
    assert highest_dual <= lowest_primal * (1 + 1e-9) + 1e-12


def test_first_order_solvers_converge_on_friendly_problems():
    """Narrow kernel, moderate C: bcd and m3 reach the tolerance, too."""
    for seed in range(5):
        operator, loss = friendly_problem(seed)
        optimum = newton(operator, loss, tol=1e-10, max_iter=100).primal
        for name, solve in FIRST_ORDER.items():
            result = solve(operator, loss, tol=TOL, max_iter=500, random_state=0)
            assert result.gap <= TOL, name
            assert result.primal == pytest.approx(optimum, rel=2 * TOL)


def friendly_problem(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 6))
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    indicator = rng.random((150, 5)) < 0.4
    return KernelOperator(np.exp(-0.5 * distances), intercept=seed % 2 == 0), PairLoss(
        indicator, C=1.0, theta=0.2, mu=0.6
    )


@pytest.mark.parametrize("seed", first_fast(range(1000, 1030), 10))
def test_optimum_equals_that_of_an_independent_solver(seed):
    """Thirty small problems against Clarabel, to 1e-6 relative."""
    pytest.importorskip("clarabel")
    operator, loss = random_problem(seed, largest=14)
    if not loss.n_pairs.sum():
        assert newton(operator, loss, tol=TOL, max_iter=5).primal == 0.0
        return
    reference = optimum_by_quadratic_program(operator, loss)
    for solve in EXACT.values():
        result = solve(operator, loss, tol=1e-9, max_iter=2000)
        assert result.primal == pytest.approx(reference, rel=1e-6, abs=1e-10)


def test_dual_value_is_below_every_primal_value():
    """Weak duality against arbitrary coefficients, not only optimal ones."""
    rng = np.random.default_rng(0)
    operator, loss = friendly_problem(1)
    dual = newton(operator, loss, tol=1e-2, max_iter=50).dual
    for scale in (0.0, 0.01, 0.1, 1.0):
        A = scale * rng.normal(size=loss.shape)
        assert dual <= primal_value(operator, loss, A)


def test_newton_starts_from_given_coefficients():
    """The optimum of a neighbouring problem is a start that saves steps, and is not changed."""
    operator, loss = friendly_problem(3)
    cold = newton(operator, loss, tol=1e-8, max_iter=50)
    start = cold.coefficients.copy()
    warm = newton(operator, loss, tol=1e-8, max_iter=50, start=start)
    assert warm.n_iter < cold.n_iter
    np.testing.assert_array_equal(start, cold.coefficients)


def test_auto_hands_over_to_newton():
    """A wide kernel with a large C: descent alone is far away, auto is not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    K = np.exp(-0.01 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    problem = KernelOperator(K, True), PairLoss(rng.random((200, 5)) < 0.4, 512.0, 0.2, 0.5)
    assert solve_pairs(*problem, tol=1e-6, max_iter=2000).gap <= 1e-6
    assert bcd(*problem, tol=1e-6, max_iter=30).gap > 1e-3


@pytest.mark.parametrize(
    ("gaps", "slow"),
    [
        # scene with two kernels, and yeast: 20, 7 and 10 epochs in all
        ([0.954, 0.808, 0.615, 0.446, 0.312], False),
        ([1.195, 0.992, 0.300, 0.089, 0.021], False),
        ([1.14, 0.135, 0.0485, 0.00899, 0.00652], False),
        # wide kernels, large C: more than 150
        ([0.994, 0.983], True),
        ([0.999, 0.995], True),
        ([0.973, 0.936, 0.900, 0.869, 0.836], True),
    ],
)
def test_auto_gives_up_descent_that_is_slow_and_no_other(gaps, slow):
    steps = [Step(gap, 2) for gap in gaps]
    told = [is_slow(steps[:n], SMOOTH_WORK, 1e-3) for n in range(1, len(gaps) + 1)]
    assert told[-1] == slow
    assert slow or not any(told)


def test_iterations_are_bounded_and_the_gap_still_true():
    """max_iter=1: not converged, and the gap bounds the distance to the optimum."""
    operator, loss = friendly_problem(4)
    optimum = newton(operator, loss, tol=1e-10, max_iter=100).primal
    for solve in {**EXACT, **FIRST_ORDER}.values():
        result = solve(operator, loss, tol=1e-9, max_iter=1)
        assert result.n_iter == 1
        assert not result.converged
        assert result.dual <= optimum * (1 + 1e-9) and optimum <= result.primal * (1 + 1e-9)


def test_trace_has_one_entry_per_iteration():
    operator, loss = friendly_problem(5)
    for solve in FIRST_ORDER.values():
        result = solve(operator, loss, tol=1e-3, max_iter=50)
        assert [entry[0] for entry in result.trace] == list(range(1, result.n_iter + 1))
    result = newton(operator, loss, tol=1e-3, max_iter=50)
    assert [entry[0] for entry in result.trace] == list(range(result.n_iter + 1))


@pytest.mark.parametrize(("m", "d", "C"), [(100, 2, 100.0), (300, 1, 10.0), (72, 4, 6.0)])
def test_descent_finds_the_intercept_of_few_features(m, d, C):
    """A common shift of all scores is no combination of features: K does not resist it."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(m, d))
    indicator = X @ rng.normal(size=(d, 3)) + rng.normal(size=(m, 3)) > 0
    operator, loss = LinearOperator(X, True), PairLoss(indicator, C, 0.0, 0.0)
    optimum = newton(operator, loss, tol=1e-9, max_iter=200).primal
    result = bcd(operator, loss, tol=1e-2, max_iter=1000, random_state=0)
    assert result.converged
    assert optimum * (1 - 1e-9) <= result.primal <= optimum / (1 - 1e-2)


def test_every_pair_solver_leaves_labels_out():
    """All solvers agree, and labels that are not involved have no coefficients."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    operator = KernelOperator(np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)), True)
    indicator, involved = rng.random((80, 5)) < 0.4, rng.random((80, 5)) < 0.8
    loss = PairLoss(indicator, C=1.0, theta=0.1, mu=0.5, involved=involved)
    best = newton(operator, loss, tol=1e-9, max_iter=100)
    for solve in (*EXACT.values(), *FIRST_ORDER.values()):
        result = solve(operator, loss, tol=1e-5, max_iter=500)
        assert result.gap <= 1e-5
        assert result.primal == pytest.approx(best.primal, rel=2e-5)
        np.testing.assert_allclose(result.coefficients[~involved], 0.0, atol=1e-4)
