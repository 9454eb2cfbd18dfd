"""The solver behind the codes of paper 004's mnist10k, against independent solutions."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from problems import solve_quadratic_program
from sklearn.exceptions import ConvergenceWarning

ROOT = Path(__file__).resolve().parents[2]
CS = 2.0 ** np.array([-6, 0, 6, 12, 20])


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    return import_module("benchmarks.papers.squared_hinge")


def random_problems(seed, m=70, d=6, n=5):
    """Rows, one of them zero and one twice, and signs of which the first are separable."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    X[0], X[1] = 0.0, X[2]
    X[:, -1] = 1.0
    signs = np.sign(rng.normal(size=(n, d)) @ X.T + rng.normal(size=(n, m)))
    signs[0] = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    return X, signs, rng


def objective_of(w, X, y, C):
    """The primal value by definition."""
    slacks = (max(0.0, 1.0 - sign * (x @ w)) for x, sign in zip(X, y, strict=True))
    return 0.5 * w @ w + C * sum(slack**2 for slack in slacks)


def least_value(X, y, C):
    """The optimum by Clarabel: variables are the weights and a slack per row."""
    m, d = X.shape
    square = np.r_[np.ones(d), np.full(m, 2.0 * C)]
    matrix = np.block([[-y[:, None] * X, -np.eye(m)], [np.zeros((m, d)), -np.eye(m)]])
    bounds = np.r_[-np.ones(m), np.zeros(m)]
    return solve_quadratic_program(square, np.zeros(d + m), matrix, bounds, precision=1e-8)


@pytest.mark.parametrize("d", [3, 6, 90])
@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_for_ever_larger_C(seed, d, module):
    pytest.importorskip("clarabel")
    X, signs, _ = random_problems(seed, d=d)
    problems = module.SquaredHinges(X, signs, np.zeros((len(signs), d)))
    for C in CS:
        problems.solve(C, tol=1e-7)
        assert np.all(problems.gaps <= 1e-7)
        for w, y, value in zip(problems.weights, signs, problems.objectives, strict=True):
            assert value == pytest.approx(objective_of(w, X, y, C), rel=1e-8)
            assert value == pytest.approx(least_value(X, y, C), rel=1e-6)


def test_the_gap_is_that_of_the_dual(module):
    X, signs, rng = random_problems(0)
    problems = module.SquaredHinges(X, signs, rng.normal(size=(len(signs), X.shape[1])))
    C = 3.0
    problems.solve(C, tol=np.inf)
    for w, y, value, gap in zip(
        problems.weights, signs, problems.objectives, problems.gaps, strict=True
    ):
        alpha = 2.0 * C * np.maximum(0.0, 1.0 - y * (X @ w))
        sums = X.T @ (alpha * y)
        dual = alpha.sum() - 0.5 * sums @ sums - alpha @ alpha / (4.0 * C)
        assert value - dual == pytest.approx(gap * value, rel=1e-10)


def test_some_of_the_rows(module):
    """From what is known of all rows, the same as from nothing; all rows stay as they were."""
    X, signs, _ = random_problems(1, m=120)
    start = np.zeros((len(signs), X.shape[1]))
    whole = module.SquaredHinges(X, signs, start).solve(2.0, tol=1e-10)
    weights = whole.weights.copy()
    rows = np.arange(1, 100)
    part = whole.of_rows(rows).solve(2.0, tol=1e-12).solve(8.0, tol=1e-12)
    alone = module.SquaredHinges(X[rows], signs[:, rows], start).solve(8.0, tol=1e-12)
    np.testing.assert_allclose(part.weights, alone.weights, atol=1e-6)
    np.testing.assert_array_equal(whole.weights, weights)
    whole.solve(8.0, tol=1e-12)
    fresh = module.SquaredHinges(X, signs, start).solve(8.0, tol=1e-12)
    np.testing.assert_allclose(whole.weights, fresh.weights, atol=1e-6)


@pytest.mark.parametrize("few", [0, 60])
@pytest.mark.parametrize("C", CS)
def test_the_hessian_follows_the_rows(C, few, module, monkeypatch):
    """Whether factored anew or told by difference; the only row of a direction goes, too."""
    monkeypatch.setattr(module, "FEW_ROWS", few)
    X, _, rng = random_problems(2, m=200, d=8)
    X[:, 0] = 0.0
    X[5, 0] = 1.0
    curvature = module.Curvature(X)
    active = rng.random(200) < 0.4
    active[5] = True
    for step in range(20):
        right = rng.normal(size=8)
        x = curvature.solve(active.copy(), C, right)
        hessian = np.eye(8) + 2.0 * C * X[active].T @ X[active]
        left = hessian @ x - right
        # where told by difference, steps may be as rough as this
        assert np.linalg.norm(left) <= 1.01 * module.RESIDUAL * np.linalg.norm(right)
        active[rng.integers(200, size=4)] ^= True
        active[5] = step < 10


def test_a_warning_when_steps_run_out(module, monkeypatch):
    monkeypatch.setattr(module, "MOST_STEPS", 1)
    X, signs, _ = random_problems(0)
    problems = module.SquaredHinges(X, signs, np.zeros((len(signs), X.shape[1])))
    with pytest.warns(ConvergenceWarning, match="above tol=1e-10"):
        problems.solve(100.0, tol=1e-10)
    assert problems.n_steps == len(signs)
