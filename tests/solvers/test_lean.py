"""Newton directions with little memory: the sketch, its preconditioner, and whole problems."""

import numpy as np
import pytest
from problems import random_indicator
from test_solvers import TOL, check_certificate

from skml_odm.features.kernels import Kernel
from skml_odm.features.lean_operator import LeanOperator
from skml_odm.features.operators import KernelOperator
from skml_odm.problems.pairs import PairLoss
from skml_odm.solvers.bcd import bcd
from skml_odm.solvers.lean import LeanDirection, SketchPreconditioner, affordable_rank
from skml_odm.solvers.newton import directions, newton
from skml_odm.solvers.sketch import Sketch, bound
from skml_odm.solvers.turns import solve_pairs as auto


def problem(seed, largest=150):
    """A LeanOperator and a loss: any width, any C from 2⁻² to 2¹⁰, many labels."""
    rng = np.random.default_rng(seed)
    m, q, d = rng.integers(5, largest), rng.integers(2, 20), rng.integers(1, 12)
    X = rng.normal(size=(m, d)) * 2.0 ** rng.uniform(-2, 2)
    if rng.random() < 0.3:
        X[rng.integers(m, size=m // 3)] = X[0]
    kind = ("rbf", "laplacian", "cosine")[seed % 3]
    gamma = 2.0 ** rng.uniform(-6, 1) / d
    loss = PairLoss(
        random_indicator(rng, m, q),
        C=2.0 ** rng.uniform(-2, 10),
        theta=rng.choice([0.0, rng.uniform(0, 1), 0.9]),
        mu=rng.choice([0.0, rng.uniform(0, 1), 1.0]),
        sample_weight=rng.uniform(0, 2, size=m) if rng.random() < 0.3 else None,
    )
    return LeanOperator(Kernel(kind, gamma, 3, 0.0), X, bool(seed % 2)), loss


@pytest.mark.parametrize("seed", range(120))
def test_random_problem(seed):
    """newton and auto reach the gap, bcd encloses the same optimum."""
    operator, loss = problem(seed)
    results = [
        newton(operator, loss, tol=TOL, max_iter=300),
        auto(operator, loss, tol=TOL, max_iter=2000, random_state=0),
        bcd(operator, loss, tol=TOL, max_iter=50, random_state=0),
    ]
    for result in results:
        check_certificate(result, operator, loss)
    assert max(result.gap for result in results[:2]) <= TOL
    lowest_primal = min(result.primal for result in results)
    assert max(result.dual for result in results) <= lowest_primal * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("seed", range(12))
def test_sketches_bound_the_kernel(seed):
    rounded = problem(seed)[0].rounded
    K = rounded.matrix.astype(float) + rounded.intercept
    sketch = Sketch(rounded, 8)
    features = sketch.features.astype(float)
    rest = np.linalg.eigvalsh(K - features.T @ features)
    assert rest[-1] <= sketch.rest + 1e-5 * len(K)
    np.testing.assert_allclose(features[0] ** 2, rounded.intercept, rtol=1e-6, atol=1e-12)


def test_the_bound_is_close_to_the_largest_eigenvalue():
    rng = np.random.default_rng(0)
    for size in (1, 2, 5, 60):
        matrix = rng.normal(size=(size, size))
        matrix = matrix + matrix.T
        largest = np.linalg.eigvalsh(matrix)[-1]
        found = bound(lambda v, matrix=matrix: matrix @ v, rng.normal(size=(size, 1)))
        assert max(largest, 0.0) <= found <= 1.3 * max(largest, 0.0) + 1e-12


@pytest.mark.parametrize("intercept", [False, True])
def test_the_preconditioner_inverts_what_it_says(intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    rounded = LeanOperator(Kernel("rbf", 0.2, 3, 0.0), X, intercept).rounded
    sketch = Sketch(rounded, 6)
    curvature = rng.random((40, 5)) * (rng.random((40, 5)) < 0.6) * 100.0
    curvature[:, 2] = 0.0
    R = rng.normal(size=(40, 5)).astype(np.float32)
    R -= R.mean(axis=1, keepdims=True)
    features = sketch.features.astype(float)
    similar = features.T @ features + sketch.rest * np.eye(40)
    KR = (rounded.matrix.astype(float) + rounded.intercept) @ R
    expected = np.empty((40, 5))
    for k in range(5):
        d = curvature[:, k]
        solution = np.linalg.solve(np.eye(40) + d[:, None] * similar, d * KR[:, k])
        expected[:, k] = R[:, k] - solution
    expected -= expected.mean(axis=1, keepdims=True)
    found = SketchPreconditioner(sketch, curvature)(R, *rounded.product_in_parts(R))
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_wide_kernels_and_stiff_losses_keep_their_digits():
    """K is 10⁴ times larger in one direction than in the next, and D is stiff."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    operator = LeanOperator(Kernel("rbf", 1e-4, 3, 0.0), X, True)
    loss = PairLoss(rng.random((120, 10)) < 0.3, 1e3, 0.1, 0.3)
    F = rng.normal(size=loss.shape)
    curvature = loss.curvature(F)
    R = rng.normal(size=loss.shape)
    R -= R.mean(axis=1, keepdims=True)
    X, KX, _ = directions(operator)(curvature, R.copy(), None, 1e-3)
    residual = X + curvature.product(operator.product(X)) - R
    weighted = np.vdot(residual, operator.product(residual))
    assert weighted <= 0.01**2 * np.vdot(R, operator.product(R))
    np.testing.assert_allclose(KX, operator.product(X), atol=1e-4 * np.abs(KX).max())


def test_lean_operators_have_lean_directions():
    operator, _ = problem(0)
    assert isinstance(directions(operator), LeanDirection)
    exact = KernelOperator(operator.product(np.eye(operator.shape[0])), 0.0)
    assert not isinstance(directions(exact), LeanDirection)


def test_the_rank_is_what_memory_allows():
    assert affordable_rank(333, 45) == 8
    assert affordable_rank(1000, 50) == 16
    assert affordable_rank(100, 90) == 4
