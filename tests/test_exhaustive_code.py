"""The codes of paper 004's baseline that scikit-learn does not have."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

ROOT = Path(__file__).resolve().parent.parent


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
