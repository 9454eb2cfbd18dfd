"""Block coordinate descent: what it knows within an epoch, and that a panel's second visit pays."""

import numpy as np
import pytest
from problems import primal_value

from skml_odm.kernels import gaussian_kernel
from skml_odm.losses import PairLoss
from skml_odm.operators import KernelOperator
from skml_odm.solvers.bcd import AllScores, ExactBlocks, bcd, panels
from skml_odm.solvers.newton import newton


@pytest.fixture(scope="module")
def problem():
    """Five labels that are linear in the features, with some noise."""
    rng = np.random.RandomState(0)
    X = rng.randn(600, 4)
    Y = X @ rng.randn(4, 5) + 0.5 * rng.randn(600, 5) > 0.0
    return KernelOperator(gaussian_kernel(X, 0.3), True), PairLoss(Y, 2.0, 0.1, 0.5)


def test_ends_within_an_epoch(problem):
    """A loose tolerance leaves rows unvisited, and what is claimed is true all the same."""
    operator, loss = problem
    result = bcd(operator, loss, tol=0.8, max_iter=100, random_state=0)
    unvisited = (result.coefficients == 0.0).all(axis=1) & (loss.n_pairs > 0)
    assert np.count_nonzero(unvisited) > 0.2 * loss.shape[0]
    assert result.converged
    assert result.n_iter == 1
    optimum = newton(operator, loss, tol=1e-8, max_iter=100).primal
    assert result.dual <= optimum <= result.primal
    primal = primal_value(operator, loss, result.coefficients, result.intercept)
    assert result.primal == pytest.approx(primal, rel=1e-12)
    assert result.gap <= 0.8


@pytest.mark.parametrize("tol", [0.3, 0.03, 1e-4])
def test_scores_are_computed_anew(problem, tol):
    operator, loss = problem
    result = bcd(operator, loss, tol=tol, max_iter=100, random_state=0)
    assert result.converged
    scores = operator.with_intercept(0.0).product(result.coefficients) + result.intercept
    np.testing.assert_allclose(result.scores, scores, rtol=0.0, atol=1e-12 * np.abs(scores).max())


def test_all_scores(problem):
    """Scores that follow the changes of panels are those of a product."""
    operator, loss = problem
    rng = np.random.RandomState(0)
    A = np.zeros(loss.shape)
    current = AllScores(operator, A)
    for _ in range(2):
        for rows in panels(len(A), rng):
            before = A[rows].copy()
            A[rows] = rng.randn(*before.shape)
            current.changed(rows, before)
    expected = operator.with_intercept(0.0).product(A)
    np.testing.assert_allclose(current.product(), expected, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(current.scores(slice(3, None, 7)), expected[3::7].T, atol=1e-10)


def test_second_visits_save_epochs(problem, monkeypatch):
    operator, loss = problem
    twice = bcd(operator, loss, tol=1e-4, max_iter=200, random_state=0)
    monkeypatch.setattr(ExactBlocks, "n_visits", 1)
    once = bcd(operator, loss, tol=1e-4, max_iter=200, random_state=0)
    assert twice.converged
    assert once.converged
    assert twice.n_iter < once.n_iter
