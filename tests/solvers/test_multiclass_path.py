"""Problems of mcODM that begin where others have ended."""

import numpy as np
import pytest
from class_problems import majorant_by_quadratic_program, objective, random_classes
from groups import first_fast
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from skml_odm import MCODM, PathSearchCV
from skml_odm.features.operators import KernelOperator
from skml_odm.problems.classes import ClassProblem
from skml_odm.solvers import multiclass_path
from skml_odm.solvers.multiclass_path import MultiClassPath
from skml_odm.solvers.multiclass_spaces import FunctionSpace, WeightSpace

GRID = [(C, theta, mu) for C in (1.0, 4.0, 16.0) for theta in (0.6, 0.2) for mu in (0.2, 0.8)]


class Problems:
    """A path along problems of the same rows, and each of them solved alone."""

    def __init__(self, seed=0, kernel=False, **shape):
        self.X, self.y, weight = random_classes(seed, **shape)
        self.weight = weight / weight.sum()
        self.kernel = kernel
        self.intercept = 1.0
        self.path = MultiClassPath()

    def solve(self, C, theta, mu, path=None, tol=1e-8):
        """The result, and the weights or coefficients that it leaves."""
        k = int(self.y.max()) + 1
        if self.kernel:
            space = FunctionSpace(KernelOperator(rbf_kernel(self.X, gamma=0.2), True))
        else:
            space = WeightSpace(self.X, self.intercept)
        cost = 2.0 * C / (1.0 - theta) ** 2 * self.weight
        bounds = {"lower": 1.0 - theta, "upper": 1.0 + theta, "mu": mu}
        problem = ClassProblem(self.y, cost, space.diagonal(), k, **bounds)
        options = {"max_iter": 2000, "max_outer_iter": 500, "rng": np.random.RandomState(0)}
        path = self.path if path is None else path
        result = path.minimise(space, problem, tol=tol, **options)
        return result, result.unknowns

    def alone(self, C, theta, mu, **options):
        return self.solve(C, theta, mu, path=MultiClassPath(), **options)


@pytest.mark.parametrize("seed", range(3))
def test_every_solution_is_the_minimum_of_its_own_majorant(seed):
    problems = Problems(seed)
    X1 = np.hstack([problems.X, np.ones((len(problems.X), 1))])
    for C, theta, mu in GRID:
        result, W = problems.solve(C, theta, mu)
        weight = 2.0 * C / (1.0 - theta) ** 2 * problems.weight
        bounds = {"lower": 1.0 - theta, "upper": 1.0 + theta}
        F = X1 @ W
        value = objective(F, W, problems.y, weight, mu, **bounds)
        assert result.primal == pytest.approx(value, rel=1e-12)
        assert result.converged and result.difference <= 1e-8 * result.primal
        least = majorant_by_quadratic_program(X1, F, problems.y, weight, mu, **bounds)
        assert value == pytest.approx(least, rel=1e-7)


@pytest.mark.parametrize("kernel", [False, True])
def test_problems_of_equal_weights_share_their_solution(kernel):
    # θ = 0.6 and C, θ = 0.2 and 4 C: few rows are far from the others, so no margin is large
    problems = Problems(m=200, d=2, kernel=kernel)
    first, known = problems.solve(0.1, 0.6, 0.5)
    for theta, C, mu in ((0.6, 0.1, 0.9), (0.2, 0.4, 0.1), (0.2, 0.4, 0.0)):
        result, other = problems.solve(C, theta, mu)
        assert result.n_iter == 0 and result.converged
        scale = (1.0 - theta) / 0.4
        np.testing.assert_allclose(other, scale * known, rtol=1e-12)
        assert result.primal == pytest.approx(scale**2 * first.primal, rel=1e-9)
        assert result.primal == pytest.approx(problems.alone(C, theta, mu)[0].primal, rel=1e-7)
    assert first.n_iter > 0
    # other weights: from scratch
    assert problems.solve(0.2, 0.6, 0.5)[0].n_iter > 0


def test_starts_with_large_margins_take_steps():
    """Where the objective is not convex there may be several minima, all but equal."""
    problems = Problems()
    n_begun = 0
    for C, theta, mu in GRID:
        result, _ = problems.solve(30.0 * C, theta, mu, tol=1e-3)
        alone, _ = problems.alone(30.0 * C, theta, mu, tol=1e-3)
        assert result.converged
        assert result.primal == pytest.approx(alone.primal, rel=2e-3)
        n_begun += 0 < result.n_iter != alone.n_iter
    assert n_begun > 0


def test_steps_begin_at_the_same_theta(monkeypatch):
    """A solution for another θ is looked at, and no more: steps from there may be many."""
    problems = Problems()
    taken = []

    def newton(space, problem, **options):
        taken.append((options.get("start") is not None, options["max_iter"]))
        return solver(space, problem, **options)

    solver = multiclass_path.newton
    monkeypatch.setattr(multiclass_path, "newton", newton)
    # equal C/(1 − θ)²
    for C, theta, mu, expected in (
        (120.0, 0.6, 0.2, [(False, 2000)]),
        (480.0, 0.2, 0.2, [(True, 0), (False, 2000)]),
        (480.0, 0.2, 0.9, [(True, 2000)]),
        (120.0, 0.6, 1.0, [(True, 0), (True, 2000)]),
    ):
        taken.clear()
        result, _ = problems.solve(C, theta, mu, tol=1e-6)
        assert result.converged and result.n_iter > 0
        assert taken == expected


def test_without_an_upper_side_no_start_has_multipliers_of_it():
    problems = Problems(5)
    two_sided, _ = problems.solve(100.0, 0.2, 1.0)
    (known,) = problems.path.solutions.values()
    assert known.over.any()
    result, W = problems.solve(100.0, 0.2, 0.0)
    alone, other = problems.alone(100.0, 0.2, 0.0)
    np.testing.assert_array_equal(W, other)
    assert result.n_iter == alone.n_iter
    # the other way round it is a start; there may be several minima
    del problems.path.solutions[next(iter(problems.path.solutions))]
    begun, _ = problems.solve(100.0, 0.2, 1.0)
    assert begun.primal <= 1.001 * two_sided.primal


@pytest.mark.parametrize("error", [None, FloatingPointError, np.linalg.LinAlgError])
def test_a_start_that_leads_nowhere_is_given_up(error, monkeypatch):
    problems = Problems()
    problems.solve(10.0, 0.2, 0.4)
    begun = []

    def newton(space, problem, **options):
        begun.append(options.get("start") is not None)
        if begun[-1] and error:
            raise error
        result = solver(space, problem, **options)
        result.converged = not begun[-1]
        return result

    solver = multiclass_path.newton
    monkeypatch.setattr(multiclass_path, "newton", newton)
    _, W = problems.solve(10.0, 0.2, 0.8)
    assert begun == [True, False]
    _, other = problems.alone(10.0, 0.2, 0.8)
    np.testing.assert_array_equal(W, other)


def test_solutions_in_memory(monkeypatch):
    problems = Problems()
    problems.solve(1.0, 0.2, 0.2)
    (known,) = problems.path.solutions.values()
    monkeypatch.setattr(multiclass_path, "PATH_MEMORY", 2.5 * sum(part.nbytes for part in known))
    for C in (2.0, 4.0, 8.0):
        problems.solve(C, 0.2, 0.2)
    assert [place.weight for place in problems.path.solutions] == pytest.approx([12.5, 25.0])
    monkeypatch.setattr(multiclass_path, "PATH_MEMORY", 0)
    problems.solve(16.0, 0.2, 0.2)
    assert len(problems.path.solutions) == 1


def test_coefficients_beyond_single_precision():
    problems = Problems()
    problems.X, problems.intercept = 1e-22 * problems.X, 0.0
    for mu in (0.2, 0.8):
        result, _ = problems.solve(1e44, 0.2, mu, tol=1e-3)
        assert result.converged and abs(result.coefficients).max() > 1e40


@pytest.mark.parametrize("kernel", first_fast(["linear", "rbf"], 1))
def test_searches_find_what_grid_search_finds(kernel):
    X, y, _ = random_classes(3, m=260)
    grid = {"C": [1.0, 16.0], "theta": [0.8, 0.2], "mu": [0.2, 0.9], "fit_intercept": [True, False]}
    gaps, steps = [], {}

    def accuracy(model, X, y):
        gaps.append(model.dual_gap_)
        steps.setdefault(search, []).append(model.n_iter_)
        return model.score(X, y)

    means = []
    for search in (PathSearchCV, GridSearchCV):
        model = MCODM(kernel=kernel, random_state=0)
        found = search(model, grid, cv=3, scoring=accuracy, refit=False).fit(X, y)
        means.append(found.cv_results_["mean_test_score"])
    assert max(gaps) <= 1e-3
    assert sum(steps[PathSearchCV]) < 0.6 * sum(steps[GridSearchCV])
    # two rows at most
    np.testing.assert_allclose(*means, atol=2.01 / 260)
