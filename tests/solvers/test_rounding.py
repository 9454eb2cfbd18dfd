"""Problems at the edge of double precision: a right answer or an error, no false certificate."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skml_odm import MLODM


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 5))
    y = (X @ rng.standard_normal((5, 4)) + rng.standard_normal((100, 4)) > 0.5).astype(int)
    return X, y


def test_rows_far_from_the_origin(data):
    """A Gaussian kernel knows distances only: a time stamp as offset changes nothing."""
    X, y = data
    distant = X + np.array([1.7e9, 0, 0, 0, 0])
    near = MLODM(C=10, gamma=0.2, tol=1e-6, random_state=0).fit(X, y)
    far = MLODM(C=10, gamma=0.2, tol=1e-6, random_state=0).fit(distant, y)
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-5)
    np.testing.assert_allclose(far.label_scores(distant), near.label_scores(X), atol=1e-4)


@pytest.mark.parametrize("solver", ["auto", "newton", "bcd", "m3"])
@pytest.mark.parametrize(
    "options, scale",
    [
        ({"kernel": "linear"}, 1e12),
        ({"kernel": "linear"}, 1e100),
        ({"gamma": 0.2}, 1e160),
        ({"C": 1e150}, 1),
        ({"C": 1e300}, 1),
    ],
)
def test_overflow_is_an_error_or_said(data, solver, options, scale):
    X, y = data
    model = MLODM(solver=solver, max_iter=50, random_state=0, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(scale * X, y)
        except ValueError as error:
            assert "within double precision" in str(error)
            return
    assert any(issubclass(one.category, ConvergenceWarning) for one in caught)
    assert 1e-3 < model.dual_gap_ <= 1.0
    assert np.isfinite(model.decision_function(scale * X)).all()


@pytest.mark.parametrize("seed", range(10))
def test_gap_of_zero(seed):
    """A tolerance at rounding, a small C: the estimate of the gap may be zero on the way."""
    rng = np.random.default_rng(seed)
    m, q = rng.integers(65, 150), rng.integers(2, 6)
    X, y = rng.standard_normal((m, 3)), (rng.random((m, q)) < 0.4).astype(int)
    for solver in ("auto", "bcd", "m3"):
        model = MLODM(C=0.01, solver=solver, tol=1e-16, max_iter=150, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert model.fit(X, y).dual_gap_ < 1e-6


def test_auto_keeps_the_smaller_objective(data):
    """Features of very different scales: not certified, but no worse than Newton's method."""
    X, y = data
    X = np.column_stack([X, 1e6 * (1 + np.random.default_rng(1).random(100))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        options = {"C": 1.0, "kernel": "linear", "zero_label": False, "max_iter": 300}
        auto = MLODM(random_state=0, **options).fit(X, y)
        newton = MLODM(solver="newton", **options).fit(X, y)
    assert auto.objective_ <= newton.objective_ * (1 + 1e-3)


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_single_precision_kernel_matrix_is_made_semidefinite(data, C):
    """Negative eigenvalues of the size of its rounding are removed, and the certificate holds."""
    X, y = np.tile(data[0], (3, 1)), np.tile(data[1], (3, 1))
    K = np.exp(-0.2 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    values, vectors = np.linalg.eigh(K)
    values[:150] = -1e-4
    K = ((vectors * values) @ vectors.T).astype(np.float32)
    K = (K + K.T) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        single = MLODM(kernel="precomputed", C=C, random_state=0).fit(K, y)
    with pytest.warns(ConvergenceWarning, match="smallest eigenvalue"):
        double = MLODM(kernel="precomputed", C=C, random_state=0).fit(K.astype(float), y)
    assert single.dual_gap_ <= 1e-3
    assert single.objective_ == pytest.approx(double.objective_, rel=3e-3)
