"""M3L: objective by hand, the independent machines it contains, parameters, odd data."""

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.svm import LinearSVC
from small_data import ODD, random_data

import skml_odm
from skml_odm.problems.covariance import label_correlations

# the learning problem alone, with a decision that is the score
M3L = partial(skml_odm.M3L, threshold="zero")


@pytest.mark.parametrize("covariance", ["correlation", None, np.diag([1.0, 2.0, 0.5])])
@pytest.mark.parametrize("m", [40, 120])
def test_objective_by_definition(covariance, m):
    X, y = random_data(m=m)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=m)
    model = M3L(C=2.0, covariance=covariance, kernel="linear", tol=1e-6, random_state=0)
    model.fit(X, y, sample_weight=weight)
    V = np.c_[model.coef_, model.intercept_]
    hinge = np.maximum(0.0, 1 - (2 * y - 1) * model.decision_function(X))
    value = 0.5 * np.trace(V.T @ np.linalg.solve(model.covariance_, V)) + 2.0 * weight @ hinge.sum(
        1
    )
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert 0 <= model.dual_gap_ <= 1e-6


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_without_covariances_labels_are_independent(fit_intercept):
    X, y = random_data(m=100)
    options = {"C": 0.5, "fit_intercept": fit_intercept}
    model = M3L(covariance=None, kernel="linear", tol=1e-9, **options).fit(X, y)
    for k in range(3):
        machine = LinearSVC(loss="hinge", tol=1e-9, max_iter=10**6, **options).fit(X, y[:, k])
        np.testing.assert_allclose(model.coef_[k], machine.coef_[0], atol=1e-3)
        np.testing.assert_allclose(model.intercept_[k], machine.intercept_, atol=1e-3)


def test_the_default_covariance_is_that_of_the_labels():
    X, y = random_data(m=60)
    weight = np.arange(60.0)
    model = M3L().fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.covariance_, label_correlations(y, weight), atol=1e-15)


def test_correlated_labels_share_weights():
    """A label known on few rows learns from one that agrees with it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20))
    truth = X @ rng.normal(size=20) > 0
    y = np.c_[truth, truth].astype(int)
    y[8:, 1] = rng.random(52) < 0.5
    prior = np.array([[1.0, 0.9], [0.9, 1.0]])
    together = M3L(kernel="linear", covariance=prior, C=0.1, tol=1e-6).fit(X, y)
    apart = M3L(kernel="linear", covariance=None, C=0.1, tol=1e-6).fit(X, y)

    def agreement(model):
        return np.corrcoef(*model.coef_)[0, 1]

    assert agreement(together) > agreement(apart) + 0.2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, "C must be"),
        ({"covariance": "learn"}, "covariance must be one of 'correlation', or None or a matrix"),
        ({"covariance": np.eye(4)}, r"covariance must be a matrix of shape \(3, 3\)"),
    ],
)
def test_invalid_parameters(parameters, message):
    X, y = random_data(m=20)
    with pytest.raises(ValueError, match=message):
        M3L(**parameters).fit(X, y)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_odd_data(name, kernel):
    X, y = ODD[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = M3L(kernel=kernel).fit(X, y)
    decision = model.decision_function(X)
    assert decision.shape == y.shape
    assert np.isfinite(decision).all()
    assert 0 <= model.dual_gap_ <= 1e-3
