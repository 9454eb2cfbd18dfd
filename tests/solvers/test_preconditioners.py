"""The preconditioners of Newton's method: what they invert, and when they are used."""

import numpy as np
import pytest
from problems import random_problem
from sklearn.metrics.pairwise import rbf_kernel

from skml_odm.features.operators import KernelOperator, LinearOperator
from skml_odm.problems.pairs import PairLoss
from skml_odm.solvers import preconditioners
from skml_odm.solvers.directions import Direction
from skml_odm.solvers.newton import newton
from skml_odm.solvers.preconditioners import LabelPreconditioner


def text_like_problem(m=200, q=12, C=1000.0, seed=0):
    """Sparse binary rows whose label is one of their words: a wide kernel, a nearly hard margin.

    Few labels compete in each row, so the active sets are small.
    """
    rng = np.random.RandomState(seed)
    X = (rng.rand(m, 300) < 0.04).astype(float)
    label = rng.randint(q, size=m)
    X[np.arange(m), label] = 1.0
    X[:, q : 2 * q] = 0.0
    X[np.arange(m), q + label] = 1.0
    operator = KernelOperator(rbf_kernel(X, gamma=0.01), True)
    return operator, PairLoss(label[:, None] == np.arange(q), C, 0.1, 0.3)


@pytest.mark.parametrize("intercept", [True, False])
def test_label_blocks_invert_the_diagonal(intercept):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(30, 4))
    K = rbf_kernel(X)
    operator = KernelOperator(K, intercept)
    curvature = rng.rand(30, 5) * (rng.rand(30, 5) < 0.5)
    curvature[:, 3] = 0.0
    precondition = LabelPreconditioner(operator, curvature)
    assert precondition.is_worthwhile(0)
    assert precondition.factor()
    R = rng.normal(size=(30, 5))
    R -= R.mean(axis=1, keepdims=True)
    given = R.copy()
    Z, KZ = precondition(R, operator.product, 0.0)
    expected = np.stack(
        [
            np.linalg.solve(np.eye(30) + curvature[:, [k]] * (K + intercept), R[:, k])
            for k in range(5)
        ],
        axis=1,
    )
    expected -= expected.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(Z, expected, atol=1e-5)
    np.testing.assert_allclose(KZ, operator.product(Z), atol=1e-12)
    np.testing.assert_array_equal(R, given)


def test_label_blocks_say_when_single_precision_fails():
    K = np.full((40, 40), 1.0)
    precondition = LabelPreconditioner(KernelOperator(K, False), np.full((40, 2), 1e12))
    assert not precondition.factor()


def test_label_blocks_are_not_for_operators_without_a_matrix():
    X = np.random.RandomState(0).normal(size=(20, 3))
    curvature = np.eye(20, 4)
    assert LabelPreconditioner(KernelOperator(X @ X.T, False), curvature).is_worthwhile(0)
    assert not LabelPreconditioner(LinearOperator(X, False), curvature).is_worthwhile(0)


def test_label_blocks_need_little_memory(monkeypatch):
    X = np.random.RandomState(0).normal(size=(20, 3))
    blocks = LabelPreconditioner(KernelOperator(X @ X.T, False), np.ones((20, 4)))
    assert blocks.is_worthwhile(0)
    monkeypatch.setattr(preconditioners, "MAX_BYTES", 10)
    assert not blocks.is_worthwhile(0)


def test_label_blocks_save_products(monkeypatch):
    """On nearly hard margins with many labels they need a fraction of the products."""
    operator, loss = text_like_problem()
    counts = {}
    product = KernelOperator.product

    def counted(self, V):
        counts[name] += 1
        return product(self, V)

    monkeypatch.setattr(KernelOperator, "product", counted)
    objectives = []
    for name in ("blocks", "landmarks"):
        counts[name] = 0
        if name == "landmarks":
            monkeypatch.setattr(LabelPreconditioner, "is_worthwhile", lambda self, effort: False)
        result = newton(operator, loss, tol=1e-6, max_iter=100)
        assert result.gap <= 1e-6
        objectives.append(result.primal)
    assert objectives[0] == pytest.approx(objectives[1], rel=2e-6)
    assert 2 * counts["blocks"] < counts["landmarks"]


def test_landmarks_take_over_where_label_blocks_fail(monkeypatch):
    operator, loss = random_problem(3, largest=100)
    monkeypatch.setattr(LabelPreconditioner, "is_worthwhile", lambda self, effort: True)
    monkeypatch.setattr(LabelPreconditioner, "factor", lambda self: False)
    used = Direction(operator)._preconditioner(loss.curvature(np.zeros(loss.shape)))
    assert not used.sharp
    assert newton(operator, loss, tol=1e-6, max_iter=200).gap <= 1e-6
