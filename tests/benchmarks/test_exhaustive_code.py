"""The codes of paper 004's baseline that scikit-learn does not have."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import LinearSVC

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def exhaustive_code(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    return import_module("benchmarks.papers.exhaustive_code").ExhaustiveCode


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_every_dichotomy_once(k, exhaustive_code):
    rng = np.random.RandomState(0)
    y = np.repeat(list("vwxyz"[:k]), 4)
    codes = exhaustive_code(LinearSVC()).fit(rng.standard_normal((len(y), 3)), y).code_book_
    assert codes.shape == (k, 2 ** (k - 1) - 1) and set(np.unique(codes)) <= {-1.0, 1.0}
    # each column splits the classes, no two in the same way or with sides exchanged
    splits = {
        frozenset((frozenset(np.flatnonzero(c > 0)), frozenset(np.flatnonzero(c < 0))))
        for c in codes.T
    }
    assert len(splits) == codes.shape[1]
    assert all(len(side) for split in splits for side in split)


def test_the_class_with_the_nearest_code_word(exhaustive_code):
    X, y = load_iris(return_X_y=True)
    model = exhaustive_code(LogisticRegression(max_iter=1000)).fit(X, y.astype(str))
    scores = np.column_stack([each.decision_function(X) for each in model.estimators_])
    distances = ((scores[:, None] - model.code_book_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.predict(X), model.classes_[distances.argmin(axis=1)])
    assert np.mean(model.predict(X) == y.astype(str)) > 0.9


@pytest.mark.parametrize("Cs", [[1.0, 4.0, 16.0], [0.01, 4.0]])
def test_the_choice_of_a_grid_search(Cs, exhaustive_code, monkeypatch):
    module = import_module("benchmarks.papers.exhaustive_code_cv")
    monkeypatch.setattr(module, "AT_ONCE", 2)
    X, y = load_iris(return_X_y=True)
    # the last feature is never there
    X = np.column_stack([X / X.max(axis=0), np.zeros(len(X))])
    names = np.array(["one", "two", "three"])[y]
    ours = module.ExhaustiveCodeCV(Cs, tol=1e-12, random_state=3).fit(X, names)
    svm = LinearSVC(tol=1e-8, max_iter=100_000)
    folds = KFold(5, shuffle=True, random_state=3)
    grid = {"estimator__C": Cs}
    theirs = GridSearchCV(exhaustive_code(svm), grid, cv=folds).fit(X, names)
    np.testing.assert_allclose(ours.scores_.mean(axis=0), theirs.cv_results_["mean_test_score"])
    assert theirs.best_params_ == {"estimator__C": ours.C_}
    coefficients = np.vstack([each.coef_ for each in theirs.best_estimator_.estimators_])
    np.testing.assert_allclose(ours.weights_[:, :-1], coefficients, atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
