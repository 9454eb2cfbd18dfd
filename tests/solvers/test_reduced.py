"""Combinations of known solutions: close to the best one, whatever is combined."""

from dataclasses import replace

import numpy as np
import pytest
from problems import random_indicator
from scipy.optimize import minimize

from skml_odm.features.kernels import gaussian_kernel
from skml_odm.features.operators import KernelOperator
from skml_odm.problems.pairs import PairLoss
from skml_odm.solvers.newton import newton
from skml_odm.solvers.reduced import best_combination


def make(seed, places):
    """A loss of C = 4, θ = 0.2, μ = 0.5, and solutions of problems with other parameters."""
    rng = np.random.default_rng(seed)
    operator = KernelOperator(gaussian_kernel(rng.normal(size=(80, 4)), 0.3), seed % 2 == 0)
    loss = PairLoss(random_indicator(rng, 80, 5), 4.0, 0.2, 0.5)
    solutions = [
        newton(operator, loss.with_parameters(*place), tol=1e-8, max_iter=100) for place in places
    ]
    return operator, loss, solutions


def primal(loss, A, F):
    return 0.5 * np.vdot(A, F) + loss.evaluate(F)[0]


NEAR = [(2.0, 0.2, 0.5), (1.0, 0.2, 0.5), (0.5, 0.2, 0.5), (2.0, 0.1, 0.9)]


@pytest.mark.parametrize("seed", range(6))
def test_close_to_the_best_combination(seed):
    """Nearly what a general minimiser finds over the weights, which is nearly the optimum."""
    operator, loss, solutions = make(seed, NEAR)
    A, F = best_combination(loss, solutions)
    np.testing.assert_allclose(F, operator.product(A), atol=1e-9)
    coefficients = np.array([solution.coefficients for solution in solutions])
    scores = np.array([solution.scores for solution in solutions])

    def value(w):
        return primal(loss, np.tensordot(w, coefficients, 1), np.tensordot(w, scores, 1))

    best = minimize(value, np.eye(len(solutions))[0], tol=1e-12).fun
    optimum = newton(operator, loss, tol=1e-10, max_iter=100).primal
    found = primal(loss, A, F)
    singles = min(primal(loss, each.coefficients, each.scores) for each in solutions)
    assert found - best <= 0.05 * (singles - best)
    assert found - optimum <= 0.2 * (singles - optimum)


def test_solutions_that_repeat_each_other():
    """Directions that are not there are left alone."""
    _, loss, (one, two) = make(0, NEAR[:2])
    alone = best_combination(loss, [one, two])
    twice = best_combination(loss, [one, two, one, two])
    np.testing.assert_allclose(twice[1], alone[1], atol=1e-6)
    nothing = replace(one, coefficients=0.0 * one.coefficients, scores=0.0 * one.scores)
    A, F = best_combination(loss, [nothing, nothing])
    assert not A.any()
    assert not F.any()
    A, F = best_combination(loss, [nothing, one])
    assert primal(loss, A, F) < primal(loss, nothing.coefficients, nothing.scores)


def test_the_solution_itself_is_kept():
    _, loss, (solution, other) = make(1, [(4.0, 0.2, 0.5), NEAR[0]])
    A, _ = best_combination(loss, [solution, other])
    np.testing.assert_allclose(A, solution.coefficients, atol=1e-3)
