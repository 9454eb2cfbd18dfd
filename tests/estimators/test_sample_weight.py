"""Sample weights of MLODM."""

import numpy as np
import pytest
from small_data import SOLVERS, THRESHOLDS, random_data

from skml_odm import MLODM


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("m", [30, 80])
def test_integer_weights_are_repeated_rows(threshold, kernel, m):
    X, y = random_data(m=m)
    weight = np.random.default_rng(0).integers(1, 4, size=m)
    options = {"threshold": threshold, "kernel": kernel, "tol": 1e-12, "C": 0.5}
    weighted = MLODM(**options).fit(X, y, sample_weight=weight)
    repeated = MLODM(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
    np.testing.assert_allclose(weighted.label_scores(X), repeated.label_scores(X), atol=1e-5)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-4
    )


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("m", [30, 80])
def test_rows_of_weight_zero_are_removed(threshold, kernel, m):
    X, y = random_data(m=m)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=m) * (np.arange(m) % 3 > 0)
    kept = weight > 0
    options = {"threshold": threshold, "kernel": kernel, "tol": 1e-12, "C": 0.5}
    weighted = MLODM(**options).fit(X, y, sample_weight=weight)
    removed = MLODM(**options).fit(X[kept], y[kept], sample_weight=weight[kept])
    assert weighted.objective_ == pytest.approx(removed.objective_, rel=1e-9)
    np.testing.assert_allclose(weighted.label_scores(X), removed.label_scores(X), atol=1e-5)
    np.testing.assert_allclose(
        weighted.decision_function(X), removed.decision_function(X), atol=1e-4
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_equal_weights_scale_C(solver):
    X, y = random_data(m=70)
    options = {"solver": solver, "gamma": 0.5, "random_state": 0}
    weighted = MLODM(C=0.25, **options).fit(X, y, sample_weight=np.full(70, 4.0))
    plain = MLODM(C=1.0, **options).fit(X, y)
    np.testing.assert_allclose(weighted.label_scores(X), plain.label_scores(X), atol=1e-9)
