"""How much Newton's method smooths the losses of mcODM."""

import numpy as np
import pytest
from class_problems import random_classes
from sklearn.datasets import make_blobs

from skml_odm.problems.classes import ClassProblem
from skml_odm.solvers.multiclass_newton import newton
from skml_odm.solvers.multiclass_spaces import WeightSpace


def separable(seed):
    """Many features: a hyperplane separates any class from the others, by little."""
    X, y = make_blobs(300, 60, centers=5, cluster_std=4.0, random_state=seed)
    return X / 10.0, y.astype(np.intc)


def solve(X, y, C, max_iter=150, theta=0.8, mu=0.2):
    space = WeightSpace(X, 1.0)
    cost = np.full(len(y), 2.0 * C / (1.0 - theta) ** 2 / len(y))
    bounds = {"lower": 1.0 - theta, "upper": 1.0 + theta, "mu": mu}
    problem = ClassProblem(y, cost, space.diagonal(), int(y.max()) + 1, **bounds)
    rng = np.random.RandomState(0)
    return newton(space, problem, tol=1e-3, max_iter=max_iter, max_outer_iter=500, rng=rng)


@pytest.mark.parametrize("seed", range(3))
def test_large_C_and_separable_classes(seed):
    X, y = separable(seed)
    # solutions tend to that of the hard margin
    limit = solve(X, y, 2.0**14).primal
    for C in (2.0**20, 2.0**26):
        result = solve(X, y, C)
        assert result.converged and result.n_iter <= 60
        assert result.primal == pytest.approx(limit, rel=0.01)


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
