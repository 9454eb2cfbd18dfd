"""docs/add_your_own_loss.md: its code does what the page says."""

import re

import numpy as np
import own_loss
import pytest
from own_loss import EXAMPLES, PAGE, LogisticLoss, RankLogistic
from problems import random_indicator
from scipy.optimize import check_grad, minimize
from sklearn.model_selection import GridSearchCV
from small_data import random_data

from skml_odm import MLODM, PathSearchCV
from skml_odm.metrics import ranking_loss_scorer


def logistic_loss(labels, F, weight):
    """The loss by definition: every pair spelled out."""
    value = 0.0
    for row, f, c in zip(labels, F, weight, strict=True):
        relevant, others = np.flatnonzero(row), np.flatnonzero(~row)
        for k in relevant:
            for j in others:
                value += c / (len(relevant) * len(others)) * np.logaddexp(0.0, f[j] - f[k])
    return value


def by_minimisation(X, labels, weight):
    """Optimal value and weights with an intercept: no kernel, no gradient, no code of ours."""
    X = np.hstack([X, np.ones((len(X), 1))])
    shape = X.shape[1], labels.shape[1]

    def function(parameters):
        W = parameters.reshape(shape)
        return 0.5 * np.vdot(W, W) + logistic_loss(labels, X @ W, weight)

    options = {"maxiter": 1000, "maxfun": 100_000, "ftol": 1e-13, "gtol": 1e-7}
    found = minimize(function, np.zeros(np.prod(shape)), method="L-BFGS-B", options=options)
    return found.fun, found.x.reshape(shape)


@pytest.fixture
def loss_and_scores():
    rng = np.random.default_rng(0)
    labels = random_indicator(rng, 12, 5)
    weight = rng.uniform(0.0, 2.0, size=12)
    return LogisticLoss(labels, 3.0, weight), labels, 3.0 * weight, rng.normal(size=(12, 5))


def test_value(loss_and_scores):
    loss, labels, weight, F = loss_and_scores
    assert loss.evaluate(F)[0] == pytest.approx(logistic_loss(labels, F, weight), rel=1e-12)
    assert loss.at_zero == pytest.approx(loss.evaluate(np.zeros_like(F))[0], rel=1e-12)
    # no overflow
    assert np.isfinite(loss.evaluate(1e4 * F)[0])


def test_gradient(loss_and_scores):
    loss, _, _, F = loss_and_scores
    error = check_grad(
        lambda f: loss.evaluate(f.reshape(F.shape))[0],
        lambda f: -loss.evaluate(f.reshape(F.shape))[1].ravel(),
        F.ravel(),
    )
    assert error < 1e-5


def test_curvature(loss_and_scores):
    loss, _, _, F = loss_and_scores
    V = np.random.default_rng(1).normal(size=F.shape)
    curvature = loss.curvature(F)
    h = 1e-5
    differences = (loss.evaluate(F - h * V)[1] - loss.evaluate(F + h * V)[1]) / (2.0 * h)
    np.testing.assert_allclose(curvature.product(V), differences, atol=1e-8)
    m, q = loss.shape
    columns = [curvature.product(np.tile(unit, (m, 1))) for unit in np.eye(q)]
    blocks = np.stack(columns, axis=2)
    np.testing.assert_allclose(curvature.diagonal(), np.einsum("ikk->ik", blocks))
    modes = curvature.modes()
    average = modes.vectors @ np.diag(modes.values) @ modes.vectors.T
    np.testing.assert_allclose(average, blocks.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
@pytest.mark.parametrize("weighted", [False, True])
def test_optimum(kernel, weighted):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(25, 2))
    y = random_indicator(rng, 25, 3)
    weight = rng.uniform(0.5, 2.0, size=25) if weighted else np.ones(25)
    value, W = by_minimisation(X, y, 5.0 * weight)
    rows = X if kernel == "linear" else X @ X.T
    model = RankLogistic(C=5.0, kernel=kernel, tol=1e-10).fit(rows, y.astype(int), weight)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    assert model.dual_gap_ <= 1e-10
    np.testing.assert_allclose(model.label_scores(rows), X @ W[:-1] + W[-1], atol=1e-4)


class CountedSteps:
    """Newton's method, and how many steps it took in all."""

    def __init__(self, monkeypatch):
        self.newton, self.total = own_loss.module.newton, 0
        monkeypatch.setattr(own_loss.module, "newton", self)

    def __call__(self, *arguments, **options):
        result = self.newton(*arguments, **options)
        # a trace begins before the first step
        self.total += len(result.trace) - 1
        return result

    def of(self, fit, *arguments):
        before = self.total
        fit(*arguments)
        return self.total - before


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_search_starts_from_the_last_solution(monkeypatch, kernel):
    X, y = random_data()
    steps = CountedSteps(monkeypatch)
    grid = {"C": 2.0 ** np.arange(-2, 11)}
    model = RankLogistic(kernel=kernel, tol=1e-7)
    options = {"cv": 3, "scoring": ranking_loss_scorer, "refit": False}
    ours, theirs = (each(model, grid, **options) for each in (PathSearchCV, GridSearchCV))
    assert steps.of(ours.fit, X, y) <= 0.75 * steps.of(theirs.fit, X, y)
    for key in ("split0_test_score", "mean_test_score"):
        np.testing.assert_allclose(ours.cv_results_[key], theirs.cv_results_[key], atol=1e-6)


@pytest.mark.parametrize("model", [RankLogistic(), MLODM(solver="newton")])
def test_solve_starts_from_a_result(model):
    X, y = random_data()
    prepared = model.prepare(X, y)
    result = model.solve(prepared)
    assert len(result.trace) > 2
    again = model.prepare(X, y)
    assert len(model.solve(again, start=result).trace) == 1
    # one label has the scores of its complement, too, which a result does not
    prepared = model.prepare(X, y[:, :1])
    model.solve(model.prepare(X, y[:, :1]), start=model.solve(prepared))


def test_output_of_the_page(capsys):
    names = dict(vars(own_loss.module))
    for number, example in enumerate(EXAMPLES):
        exec(compile(example, str(PAGE), "exec"), names)
        printed = capsys.readouterr().out
        if number == 0:
            assert f"```text\n{printed}```" in PAGE.read_text()
    ours, theirs = printed.splitlines()
    assert re.fullmatch(r"\{'C': .*\} 0\.\d{3}", ours) and ours == theirs
