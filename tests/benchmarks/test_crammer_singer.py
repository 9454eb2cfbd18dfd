"""The solver behind paper 004's column "mcSVM, optimum", against independent solutions."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from class_problems import random_classes
from problems import solve_quadratic_program
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    return import_module("benchmarks.papers.crammer_singer")


def objective(W, X, y, C):
    """The primal value by definition."""
    F = np.column_stack([X, np.ones(len(X))]) @ W
    losses = (
        max(float(j != label) + score - f[label] for j, score in enumerate(f))
        for f, label in zip(F, y, strict=True)
    )
    return 0.5 * np.vdot(W, W) + C * sum(losses)


def least_value(X, y, C):
    """The optimum by Clarabel: variables are the weights, class by class, and a slack per row."""
    X1 = np.column_stack([X, np.ones(len(X))])
    (m, d), k = X1.shape, y.max() + 1
    rows, bounds = [], []
    for i, label in enumerate(y):
        for j in range(k):
            row = np.zeros(k * d + m)
            row[j * d : (j + 1) * d] += X1[i]
            row[label * d : (label + 1) * d] -= X1[i]
            row[k * d + i] = -1.0
            rows.append(row)
            bounds.append(-float(j != label))
    square = np.r_[np.ones(k * d), np.zeros(m)]
    linear = np.r_[np.zeros(k * d), np.full(m, C)]
    matrix = sparse.csc_matrix(np.array(rows))
    return solve_quadratic_program(square, linear, matrix, np.array(bounds))


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0, 2.0**20])
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum(C, seed, module):
    pytest.importorskip("clarabel")
    X, y, _ = random_classes(seed, m=60 + 10 * seed, d=2 + seed, k=2 + seed)
    model = module.CrammerSinger(C, tol=1e-6).fit(X, y)
    assert model.objective_ == pytest.approx(objective(model.weights_, X, y, C), rel=1e-9)
    least = least_value(X, y, C)
    assert -1e-6 <= 1.0 - least / model.objective_ <= model.dual_gap_ + 1e-6
    assert model.dual_gap_ <= 1e-6


def test_the_certificate_holds_wherever_it_ends(module):
    pytest.importorskip("clarabel")
    X, y, _ = random_classes(0)
    least = least_value(X, y, 10.0)
    for max_iter in range(1, 12):
        with pytest.warns(ConvergenceWarning, match="above tol"):
            model = module.CrammerSinger(10.0, tol=1e-12, max_iter=max_iter).fit(X, y)
        assert model.n_iter_ == max_iter
        assert model.objective_ * (1.0 - model.dual_gap_) <= least * (1.0 + 1e-6)
        assert least <= model.objective_ * (1.0 + 1e-6)


def test_the_same_machine_as_scikit_learns(module):
    X, y, _ = random_classes(1, m=200)
    names = np.array(["one", "two", "three", "four"])[y]
    theirs = LinearSVC(multi_class="crammer_singer", C=0.1, tol=1e-5).fit(X, names)
    ours = module.CrammerSinger(0.1, tol=1e-8).fit(X, names)
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    np.testing.assert_allclose(ours.weights_[:-1], theirs.coef_.T, atol=1e-3)
    np.testing.assert_allclose(ours.weights_[-1], theirs.intercept_, atol=1e-3)
    # of the rows that are no tie up to what LIBLINEAR leaves
    first, second = np.sort(theirs.decision_function(X))[:, :-3:-1].T
    clear = X[first - second > 0.01]
    assert len(clear) > 190
    np.testing.assert_array_equal(ours.predict(clear), theirs.predict(clear))


def test_separable_classes_have_a_largest_margin(module):
    """From some C on nothing changes."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0], [0.0, 5.0], [1.0, 6.0]])
    y = [0, 0, 1, 1, 2, 2]
    some, more = (module.CrammerSinger(2.0**e, tol=1e-6).fit(X, y) for e in (10, 20))
    # half the squared distance to the optimum is at most the gap
    atol = 2 * np.sqrt(2e-6 * more.objective_)
    np.testing.assert_allclose(some.weights_, more.weights_, atol=atol)
    assert more.predict(X).tolist() == y
