"""Problems along a path: every result has a true certificate, however it was found."""

import numpy as np
import pytest
from groups import first_fast
from problems import random_indicator

from skml_odm.features.kernels import gaussian_kernel
from skml_odm.features.operators import KernelOperator, LinearOperator
from skml_odm.problems.pairs import PairLoss
from skml_odm.solvers.newton import newton
from skml_odm.solvers.path import N_NEIGHBOURS, PairPath
from skml_odm.solvers.result import relative_gap

TOL = 1e-3


def make(seed, linear=False):
    rng = np.random.default_rng(seed)
    m, q = int(rng.integers(70, 110)), int(rng.integers(2, 7))
    X = rng.normal(size=(m, 4))
    indicator = random_indicator(rng, m, q)
    weight = rng.uniform(0, 2, size=m) if seed % 3 == 0 else None
    operator = (
        LinearOperator(X, True)
        if linear
        else KernelOperator(gaussian_kernel(X, 2.0 ** rng.uniform(-5, 1)), seed % 2 == 0)
    )
    return rng, operator, lambda C, theta, mu: PairLoss(indicator, C, theta, mu, weight)


def check(operator, loss, result, tol=TOL):
    """The primal value is that of the coefficients, and the bound is below the optimum."""
    of_rows = operator.with_intercept(0.0).product(result.coefficients)
    # block coordinate descent has an intercept that is not yet quite Σ_i A_i
    F = of_rows + result.intercept
    np.testing.assert_allclose(result.scores, F, atol=1e-9 * max(1.0, np.abs(F).max()))
    primal = loss.evaluate(F)[0] + 0.5 * np.vdot(result.coefficients, of_rows)
    primal += 0.5 * np.vdot(result.intercept, result.intercept)
    assert result.primal == pytest.approx(primal, rel=1e-9)
    assert result.gap <= tol
    best = newton(operator, loss, tol=1e-9, max_iter=500)
    assert best.gap <= 1e-8
    assert result.primal >= best.dual * (1 - 1e-9)
    assert result.dual <= best.primal * (1 + 1e-9)


@pytest.mark.parametrize("seed", first_fast(range(12), 6))
def test_a_grid(seed):
    """All of C × θ × μ, in the order of a search; spot checks against tight solutions."""
    rng, operator, loss_at = make(seed, linear=seed % 4 == 3)
    path = PairPath(operator)
    serials = []
    for C in (0.1, 1.0, 10.0, 300.0):
        for theta in (0.9, 0.6, 0.2, 0.0):
            for mu in (0.0, 0.9, 0.4, 0.2, 0.6):
                loss = loss_at(C, theta, mu)
                result = path.minimise(loss, tol=TOL, max_iter=2000)
                serials.append(path.serial)
                assert result.converged
                if rng.random() < 0.25:
                    check(operator, loss, result)
    # what the path is for: many problems share a solution
    assert len(set(serials)) < len(serials)


@pytest.mark.parametrize("width", [1e-6, 1e-3, 1.0])
def test_tight_tolerances(width):
    rng = np.random.default_rng(7)
    operator = KernelOperator(gaussian_kernel(rng.normal(size=(90, 4)), width), True)
    indicator = random_indicator(rng, 90, 5)
    path = PairPath(operator)
    for C in (1.0, 1e2, 1e4):
        loss = PairLoss(indicator, C, 0.2, 0.5)
        result = path.minimise(loss, tol=1e-7, max_iter=2000)
        assert result.converged
        check(operator, loss, result, tol=1e-7)


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_kernels_of_any_size(scale):
    rng = np.random.default_rng(8)
    operator = KernelOperator(scale * gaussian_kernel(rng.normal(size=(80, 3)), 0.5), False)
    loss = PairLoss(random_indicator(rng, 80, 4), 1.0 / scale, 0.2, 0.5)
    result = PairPath(operator).minimise(loss, tol=TOL, max_iter=2000)
    unscaled = PairLoss(loss.relevant, 1.0, 0.2, 0.5)
    expected = newton(
        KernelOperator(operator.matrix / scale, False), unscaled, tol=1e-9, max_iter=99
    )
    assert result.gap <= TOL
    assert result.primal * scale == pytest.approx(expected.primal, rel=TOL)


@pytest.mark.parametrize("seed", first_fast(range(20), 8))
def test_any_order(seed):
    """Neighbours help, but nothing depends on them: places at random, some of them twice."""
    rng, operator, loss_at = make(100 + seed)
    path = PairPath(operator)
    for _ in range(25):
        loss = loss_at(
            rng.choice([0.25, 1.0, 16.0, 256.0]),
            rng.choice([0.0, 0.3, 0.8, 1.0]),
            rng.choice([0.0, 0.1, 0.5, 1.0]),
        )
        tol = rng.choice([1e-2, 1e-4])
        result = path.minimise(loss, tol=tol, max_iter=2000)
        check(operator, loss, result, tol)


def test_equal_serials_mean_equal_coefficients():
    _, operator, loss_at = make(2)
    path, known = PairPath(operator), {}
    for theta in (0.9, 0.5):
        for mu in (0.1, 0.5, 0.9):
            result = path.minimise(loss_at(0.5, theta, mu), tol=TOL, max_iter=100)
            first = known.setdefault(path.serial, result.coefficients)
            np.testing.assert_array_equal(result.coefficients, first)
    assert len(known) < 6


def test_one_sided_solutions_scale():
    """Without the upper side the solution for θ is 1 − θ times the one for θ = 0."""
    _, operator, loss_at = make(4)
    at_zero = newton(operator, loss_at(3.0, 0.0, 0.0), tol=1e-12, max_iter=200)
    at_half = newton(operator, loss_at(3.0, 0.5, 0.0), tol=1e-12, max_iter=200)
    np.testing.assert_allclose(0.5 * at_zero.scores, at_half.scores, atol=1e-5)
    assert 0.25 * at_zero.primal == pytest.approx(at_half.primal)


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr("skml_odm.solvers.path.PATH_MEMORY", 0)
    _, operator, loss_at = make(6)
    path = PairPath(operator)
    for C in 2.0 ** np.arange(12):
        assert path.minimise(loss_at(C, 0.0, 0.5), tol=TOL, max_iter=100).converged
        assert len(path.solutions) <= N_NEIGHBOURS


def test_few_rows_are_solved_to_rounding():
    rng = np.random.default_rng(0)
    K = gaussian_kernel(rng.normal(size=(30, 3)), 0.5)
    operator, indicator = KernelOperator(K, True), random_indicator(rng, 30, 4)
    path = PairPath(operator)
    for mu in (0.1, 0.5):
        loss = PairLoss(indicator, 2.0, 0.1, mu)
        assert path.minimise(loss, tol=TOL, max_iter=100).gap <= 1e-10


def test_problems_without_pairs():
    operator = KernelOperator(np.eye(80), True)
    path = PairPath(operator)
    loss = PairLoss(np.zeros((80, 3), dtype=bool), 1.0, 0.5, 0.5)
    for _ in range(2):
        result = path.minimise(loss, tol=TOL, max_iter=100)
        assert result.converged and not result.coefficients.any()
        assert relative_gap(result.primal, result.difference) == 0.0


def test_a_path_that_begins_at_a_large_C():
    """Easier problems come first, and the serial is that of the problem asked for."""
    _, operator, loss_at = make(2)
    path = PairPath(operator)
    loss = loss_at(1000.0, 0.2, 0.5)
    check(operator, loss, path.minimise(loss, tol=TOL, max_iter=2000))
    assert min(place.C for place in path.solutions) <= 1.0
    first = path.serial
    path.minimise(loss_at(2000.0, 0.2, 0.5), tol=TOL, max_iter=2000)
    assert path.serial > first


@pytest.mark.filterwarnings("error")
def test_no_label_pairs():
    """Rows without labels: nothing to solve for any parameters, θ = 1 included."""
    operator = KernelOperator(gaussian_kernel(np.random.default_rng(3).normal(size=(90, 3)), 1), 1)
    path = PairPath(operator)
    for theta in (0.5, 1.0):
        for mu in (0.0, 0.5):
            loss = PairLoss(np.zeros((90, 4), dtype=bool), 10.0, theta, mu)
            result = path.minimise(loss, tol=TOL, max_iter=100)
            assert result.converged
            assert not result.coefficients.any()
