"""The preconditioner of Newton's method: what it inverts, and that it helps."""

import numpy as np
import pytest
from problems import random_indicator

from skml_odm.features.kernels import gaussian_kernel
from skml_odm.features.operators import KernelOperator
from skml_odm.features.sketch import Sketch
from skml_odm.problems.pairs import PairLoss
from skml_odm.solvers.directions import Direction
from skml_odm.solvers.newton import newton
from skml_odm.solvers.preconditioner import SketchPreconditioner


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("zero_sums", [False, True])
def test_the_preconditioner_inverts_what_it_says(intercept, zero_sums):
    rng = np.random.default_rng(0)
    operator = KernelOperator(gaussian_kernel(rng.normal(size=(40, 3)), 0.2), intercept)
    sketch = Sketch(operator, 6)
    curvature = rng.random((40, 5)) * (rng.random((40, 5)) < 0.6) * 100.0
    curvature[:, 2] = 0.0
    R = rng.normal(size=(40, 5))
    R -= R.mean(axis=1, keepdims=True)
    KR = operator.product(R)
    given = R.copy(), KR.copy()
    similar = sketch.features @ sketch.features.T + sketch.rest * np.eye(40)
    expected = np.empty((40, 5))
    for k in range(5):
        d = curvature[:, k]
        solution = np.linalg.solve(np.eye(40) + d[:, None] * similar, d * KR[:, k])
        expected[:, k] = R[:, k] - solution
    if zero_sums:
        expected -= expected.mean(axis=1, keepdims=True)
    found = SketchPreconditioner(sketch, curvature, zero_sums)(R, KR)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_array_equal(R, given[0])
    np.testing.assert_array_equal(KR, given[1])


def test_wide_kernels_and_stiff_losses():
    """K is 10⁴ times larger in one direction than in the next, and D is stiff."""
    rng = np.random.default_rng(0)
    operator = KernelOperator(gaussian_kernel(rng.normal(size=(120, 6)), 1e-4), True)
    loss = PairLoss(rng.random((120, 10)) < 0.3, 1e3, 0.1, 0.3)
    curvature = loss.curvature(rng.normal(size=loss.shape))
    R = rng.normal(size=loss.shape)
    R -= R.mean(axis=1, keepdims=True)
    X, KX, _ = Direction(operator)(curvature, R, operator.product(R), 1e-3)
    residual = X + curvature.product(operator.product(X)) - R
    weighted = np.vdot(residual, operator.product(residual))
    assert weighted <= 0.01**2 * np.vdot(R, operator.product(R))
    np.testing.assert_allclose(KX, operator.product(X), atol=1e-6 * np.abs(KX).max())


@pytest.mark.parametrize(("C", "gamma"), [(100.0, 0.05), (1000.0, 0.01)])
def test_it_saves_most_products(monkeypatch, C, gamma):
    rng = np.random.default_rng(0)
    operator = KernelOperator(gaussian_kernel(rng.normal(size=(150, 4)), gamma), True)
    loss = PairLoss(random_indicator(rng, 150, 6), C, 0.1, 0.3)
    product, counts = KernelOperator.product, []

    def counted(self, V):
        counts[-1] += 1
        return product(self, V)

    monkeypatch.setattr(KernelOperator, "product", counted)
    for works in (True, False):
        counts.append(0)
        if not works:
            monkeypatch.setattr(SketchPreconditioner, "__call__", lambda self, R, KR: R.copy())
        assert newton(operator, loss, tol=1e-4, max_iter=200).gap <= 1e-4
    assert 4 * counts[0] < counts[1]
