"""Small data sets, and what fits are tried with."""

import warnings

import numpy as np

SOLVERS = ("auto", "newton", "bcd", "m3")
THRESHOLDS = ("regression", "per-label", "zero")


def random_data(m=40, d=4, q=3, seed=0):
    """Labels that depend on the features, with noise; one row without and one with all labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    y = (X @ rng.normal(size=(d, q)) + 0.5 * rng.normal(size=(m, q)) > 0).astype(int)
    y[0], y[1] = 0, 1
    return X, y


def odd_data():
    X, y = random_data(m=30)
    rng = np.random.default_rng(1)
    zero_rows = X.copy()
    zero_rows[::4] = 0.0
    constant = X.copy()
    constant[:, 1] = 7.0
    empty = X.copy()
    empty[:, 2] = 0.0
    nobody, everybody = y.copy(), y.copy()
    nobody[:, 1], everybody[:, 1] = 0, 1
    return {
        "usual": (X, y),
        "no row has labels": (X, np.zeros_like(y)),
        "every row has all labels": (X, np.ones_like(y)),
        "equal rows": (np.repeat(X[:3], 10, axis=0), y),
        "one row repeated": (np.tile(X[0], (30, 1)), y),
        "zero features": (np.zeros((30, 4)), y),
        "constant feature": (constant, y),
        "empty feature": (empty, y),
        "zero rows": (zero_rows, y),
        "a label nobody has": (X, nobody),
        "a label everybody has": (X, everybody),
        "equal labels": (X, y[:, [0, 0, 0]]),
        "one label": (X, y[:, :1]),
        "one label nobody has": (X, 0 * y[:, :1]),
        "one label everybody has": (X, 0 * y[:, :1] + 1),
        "one feature": (X[:, :1], y),
        "one row": (X[:1], np.array([[1, 0, 1]])),
        "one row without labels": (X[:1], np.array([[0, 0, 0]])),
        "one row, one feature, one label": (X[:1, :1], np.array([[1]])),
        "two rows": (X[:2], np.array([[1, 0, 1], [0, 1, 0]])),
        "contradicting rows": (X[[0, 0]], np.array([[1, 0, 1], [0, 1, 0]])),
        "more features than rows": (rng.normal(size=(5, 50)), y[5:10]),
        "more labels than rows": (X[:4], (rng.random((4, 40)) < 0.3).astype(int)),
        "tiny features": (1e-8 * X, y),
        "large features": (1e3 * X, y),
    }


ODD = odd_data()


def check_fit(model, X, y):
    """Fit and predict without a warning: shapes, finite numbers, a certificate."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
        decision = model.decision_function(X)
        predicted = model.predict(X)
    assert decision.shape == predicted.shape == model.label_scores(X).shape == y.shape
    assert np.isfinite(decision).all()
    np.testing.assert_array_equal(predicted, decision > 0)
    assert model.n_iter_ >= 1
    assert 0 <= model.dual_gap_ <= 1e-3
