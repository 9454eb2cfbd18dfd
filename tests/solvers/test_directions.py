"""Newton directions in weight space: what they solve, and where they are used."""

import numpy as np
import pytest
from problems import random_indicator
from scipy import sparse

from skml_odm.features.operators import ChunkedOperator, KernelOperator, LinearOperator
from skml_odm.problems.pairs import PairLoss
from skml_odm.solvers.bcd import bcd
from skml_odm.solvers.directions import Direction, FeatureDirection, directions, has_few_features
from skml_odm.solvers.newton import newton, newton_steps
from skml_odm.solvers.turns import solve_pairs as auto


def problem(m, d, q, C, *, intercept=1.0, seed=0, sparse_rows=False, rank=None):
    """A linear operator with features of very different sizes, and a pair loss."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d)) * np.geomspace(1.0, 30.0, d)
    if rank is not None:
        X = X[:, :rank] @ rng.normal(size=(rank, d))
    if sparse_rows:
        X *= rng.random((m, d)) < 0.3
        X = sparse.csr_matrix(X)
    return LinearOperator(X, intercept), PairLoss(random_indicator(rng, m, q), C, 0.1, 0.4)


@pytest.mark.parametrize("intercept", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("rank", [None, 3])
def test_direction_solves_newtons_system(intercept, sparse_rows, rank):
    """(I + D K) X = R, against a dense solution; also where features depend on each other."""
    m, q = 40, 4
    operator, loss = problem(m, 6, q, 10.0, intercept=intercept, sparse_rows=sparse_rows, rank=rank)
    rng = np.random.default_rng(1)
    curvature = loss.curvature(rng.normal(size=(m, q)))
    R = rng.normal(size=(m, q))
    K = operator.product(np.eye(m))
    columns = [(V + curvature.product(K @ V)).ravel() for V in np.eye(m * q).reshape(m * q, m, q)]
    expected = np.linalg.solve(np.stack(columns, axis=1), R.ravel()).reshape(m, q)
    X, KX, _ = FeatureDirection(operator)(curvature, R.copy(), None, 1e-12)
    np.testing.assert_allclose(X, expected, atol=1e-8)
    np.testing.assert_allclose(KX, K @ expected, atol=1e-8)


def test_unfinished_direction_has_its_product():
    """K X is what is returned with X, however far conjugate gradients have come."""
    operator, loss = problem(60, 8, 5, 100.0)
    R = loss.evaluate(np.zeros(loss.shape))[1]
    finder = FeatureDirection(operator)
    for forcing in (0.9, 0.3, 1e-3):
        X, KX, _ = finder(loss.curvature(np.zeros(loss.shape)), R, None, forcing)
        np.testing.assert_allclose(KX, operator.product(X), atol=1e-8 * np.abs(KX).max())


def test_nothing_to_do():
    operator, loss = problem(30, 4, 3, 1.0)
    zero = np.zeros(loss.shape)
    X, KX, _ = FeatureDirection(operator)(loss.curvature(zero), zero, None, 0.1)
    assert not X.any() and not KX.any()


def test_which_operators_have_few_features():
    X = np.random.default_rng(0).normal(size=(50, 10))
    assert has_few_features(LinearOperator(X, 1.0))
    assert has_few_features(LinearOperator(sparse.csr_matrix(X), 1.0))
    assert not has_few_features(LinearOperator(X[:10], 1.0))
    assert not has_few_features(LinearOperator(sparse.csr_matrix((2000, 1999)), 1.0))
    assert not has_few_features(KernelOperator(X @ X.T, 1.0))
    assert not has_few_features(ChunkedOperator(None, X, 1.0, 0.0, np.empty((0, 50))))
    assert isinstance(directions(LinearOperator(X, 1.0)), FeatureDirection)
    assert isinstance(directions(KernelOperator(X @ X.T, 1.0)), Direction)


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_same_optimum_as_with_a_kernel_matrix(C):
    operator, loss = problem(150, 7, 4, C)
    kernel = KernelOperator(operator.X @ operator.X.T, operator.intercept)
    found = newton(operator, loss, tol=1e-8, max_iter=100)
    # with a matrix of so low a rank rounding ends sooner, which depends on the BLAS
    expected = newton(kernel, loss, tol=1e-6, max_iter=100)
    assert found.converged and expected.converged
    assert found.primal == pytest.approx(expected.primal, rel=1e-6)


def test_products_do_not_grow_with_rows_or_C():
    def products(m, C):
        operator, loss = problem(m, 20, 6, C, sparse_rows=True)
        steps, total = newton_steps(operator, loss, tol=1e-4), 0
        for step in steps:
            total += step.n_products
        return total

    few = products(300, 1.0)
    assert products(6000, 1.0) <= 2 * few
    assert products(6000, 1e4) <= 2 * few


def test_descent_makes_way_on_sparse_rows():
    """Where it would take very many epochs, although it visits sparse rows."""
    operator, loss = problem(2000, 20, 6, 0.01, sparse_rows=True)
    assert not bcd(operator, loss, tol=1e-3, max_iter=40, random_state=0).converged
    assert auto(operator, loss, tol=1e-3, max_iter=40, random_state=0).converged
