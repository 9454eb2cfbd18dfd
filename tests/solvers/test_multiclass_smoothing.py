"""How much Newton's method smooths the losses of mcODM."""

import numpy as np
import pytest
from class_problems import random_classes
from sklearn.datasets import make_blobs

from skml_odm.solvers import multiclass_smoothing
from skml_odm.solvers.multiclass import LinearRows, make_blocks
from skml_odm.solvers.multiclass_newton import newton
from skml_odm.solvers.multiclass_smoothing import Smoothing


def separable(seed):
    """Many features: a hyperplane separates any class from the others, by little."""
    X, y = make_blobs(300, 60, centers=5, cluster_std=4.0, random_state=seed)
    return X / 10.0, y.astype(np.intc)


def begin(X, y, C, theta=0.8, mu=0.2):
    k = int(y.max()) + 1
    rows = LinearRows(X, 1.0, k)
    cost = np.full(len(y), 2.0 * C / (1.0 - theta) ** 2 / len(y))
    return rows, make_blocks(rows, y, cost, 1.0 - theta, 1.0 + theta, mu, k, True)


def solve(X, y, C, max_iter=150, **shape):
    rows, blocks = begin(X, y, C, **shape)
    rng = np.random.RandomState(0)
    return newton(rows, blocks, tol=1e-3, max_iter=max_iter, max_outer_iter=500, rng=rng)


@pytest.mark.parametrize("seed", range(3))
def test_large_C_and_separable_classes(seed, monkeypatch):
    X, y = separable(seed)
    # solutions tend to that of the hard margin
    limit = solve(X, y, 2.0**14).primal
    for C in (2.0**20, 2.0**26):
        result = solve(X, y, C)
        assert result.converged and result.n_iter <= 60
        assert result.primal == pytest.approx(limit, rel=0.01)
    monkeypatch.setattr(multiclass_smoothing, "STEEP", 0.0)
    assert solve(X, y, 2.0**26).n_iter > 2 * result.n_iter


@pytest.mark.parametrize("theta", [0.8, 0.2])
def test_large_C_and_classes_that_overlap(theta):
    X, y, _ = random_classes(1, m=300, d=3)
    found = [solve(X, y, C, theta=theta) for C in (2.0**10, 2.0**20, 2.0**30)]
    assert all(result.converged and result.n_iter < 60 for result in found)
    # the loss of the limit is what counts
    shares = [
        result.primal / C for result, C in zip(found, (2.0**10, 2.0**20, 2.0**30), strict=True)
    ]
    assert shares[1] == pytest.approx(shares[2], rel=5e-3)


def test_what_makes_a_problem_steep():
    X, y = separable(0)
    small, large = (Smoothing(begin(X, y, C)[1]) for C in (1e-3, 1e6))
    assert (small.value, small.most, small.steep) == (1.0, 10.0, False)
    kappa = np.mean(np.sum(X**2, axis=1) + 1.0)
    stiffness = kappa * 2.0 * 1e6 / 0.2**2 / len(y)
    assert large.steep
    assert large.value == pytest.approx(0.03 * stiffness)
    assert large.most == pytest.approx(stiffness)


def test_many_margins_above_the_band_are_not_steep():
    X, y = separable(0)
    _, blocks = begin(X, y, 1e6, theta=0.1, mu=0.8)
    smoothing = Smoothing(blocks)
    scores = 50.0 * np.eye(5)[y]
    blocks.set_rivals(scores, at_once=True)
    before = np.array(blocks.coefficients)
    centre = smoothing.step(blocks, scores)
    np.testing.assert_array_equal(centre, before)
    assert (smoothing.value, smoothing.most, smoothing.steep) == (1.0, 10.0, False)
    # and the blocks are those of the new value
    found = np.array(blocks.coefficients)
    blocks.coefficients = before.copy()
    smoothing.step(blocks, scores)
    np.testing.assert_array_equal(blocks.coefficients, found)


def test_steps_choose_the_smoothing():
    smoothing = Smoothing(begin(*separable(0), 1e6)[1])
    first = smoothing.value
    smoothing.growth = 1.2
    smoothing.adapt(1.0, 0.2)
    assert smoothing.value == first / 2
    smoothing.growth = 1.4
    smoothing.adapt(1.0, 0.2)
    assert smoothing.value == first / 8
    smoothing.adapt(0.5, 0.2)
    assert smoothing.value == first / 8
    smoothing.adapt(0.1, 0.2)
    assert smoothing.value == first / 4
    for _ in range(99):
        smoothing.adapt(0.1, 0.2)
    assert smoothing.value == smoothing.most


def test_lagging_coefficients_end_the_large_smoothing():
    smoothing = Smoothing(begin(*separable(0), 1e6)[1])
    for objective, gap in ((9.0, 9.0), (8.9, 8.0), (7.0, 7.0), (6.9, 1.0), (6.8, 6.0)):
        smoothing.look(objective, gap)
        assert smoothing.steep
    smoothing.look(6.7, 6.0)
    assert (smoothing.value, smoothing.steep) == (1.0, False)
