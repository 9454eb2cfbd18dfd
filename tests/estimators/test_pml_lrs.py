"""PML-LRS: its proximal maps, its optimum, its certificate, odd data, parameters."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import label_ranking_loss

from skml_odm import PMLLRS
from skml_odm.datasets import add_candidate_noise
from skml_odm.estimators.low_rank_sparse import (
    RowSpace,
    low_rank_sparse,
    lower_bound,
    shrink_singular_values,
    soft_threshold,
)

WEIGHTS = [(0.01, 0.1, 1.0), (0.5, 0.3, 0.2), (0.0, 0.1, 0.5), (2.0, 1.0, 0.01)]


def random_data(m=40, d=5, q=4, seed=0):
    """Rows whose labels depend on the features, and candidates: these and one wrong label."""
    rng = np.random.default_rng(seed)
    X = rng.random((m, d))
    y = ((X - 0.5) @ rng.normal(size=(d, q)) + 0.1 * rng.normal(size=(m, q)) > 0).astype(int)
    return X, y, add_candidate_noise(y, 1, random_state=seed)


def trace_norm(matrix):
    return np.linalg.svd(matrix, compute_uv=False).sum()


def objective(X, Y, W, b, D, gamma, beta, eta):
    fit = 0.5 * np.sum((X @ W + b - D) ** 2)
    return fit + gamma * trace_norm(D) + beta * np.abs(Y - D).sum() + eta * trace_norm(W)


# ---- proximal maps -------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (4, 4), (5, 1), (0, 3)])
@pytest.mark.parametrize("threshold", [0.0, 0.7, 100.0])
def test_shrunk_singular_values(shape, threshold):
    matrix = np.random.default_rng(0).normal(size=shape)
    U, values, V = np.linalg.svd(matrix, full_matrices=False)
    kept = np.maximum(values - threshold, 0)
    shrunk, norm = shrink_singular_values(matrix, threshold)
    np.testing.assert_allclose(shrunk, U * kept @ V, atol=1e-7)
    assert norm == pytest.approx(kept.sum())


def test_soft_threshold():
    np.testing.assert_allclose(soft_threshold(np.array([-2.0, -0.5, 0.2, 3.0]), 1.0), [-1, 0, 0, 2])


@pytest.mark.parametrize("shape", [(12, 4), (4, 12)])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_row_space(shape, center, convert):
    X = np.random.default_rng(1).normal(size=shape) + 2
    space = RowSpace(convert(X), center)
    rows = X - X.mean(axis=0) if center else X
    np.testing.assert_allclose(space.P @ space.directions.T, rows, atol=1e-9)
    np.testing.assert_allclose(space.P.T @ space.P, np.diag(space.squares), atol=1e-8)
    width = len(space.squares)
    np.testing.assert_allclose(space.directions.T @ space.directions, np.eye(width), atol=1e-9)


# ---- the optimum ---------------------------------------------------------------------------


def by_smoothing(X, Y, gamma, beta, eta, fit_intercept):
    """Optimal value by iteratively reweighted least squares: no proximal map, no multipliers.

    |z| becomes √(z² + ε²), and the trace norm of Z the trace of (ZᵀZ + ε²)^½; both have quadratic
    majorants, and each step minimises these over all variables in one linear system. ε shrinks, for
    with a small one zeros stay zeros.
    """
    (m, d), q = X.shape, Y.shape[1]
    design = np.hstack([X, np.ones((m, 1))]) if fit_intercept else X
    width = design.shape[1]
    W, D = np.zeros((width, q)), Y.copy()

    def inverse_root(Z, epsilon):
        values, V = np.linalg.eigh(Z.T @ Z + epsilon**2 * np.eye(q))
        return V / np.sqrt(values) @ V.T

    regularised = np.diag((np.arange(width) < d).astype(float))
    fit_W = np.kron(design.T @ design, np.eye(q))
    cross = -np.kron(design.T, np.eye(q))
    for epsilon in np.geomspace(1.0, 1e-6, 1000):
        on_W = fit_W + eta * np.kron(regularised, inverse_root(W[:d], epsilon))
        share = beta / np.sqrt((Y - D) ** 2 + epsilon**2)
        on_D = np.diag(1.0 + share.ravel())
        on_D += gamma * np.kron(np.eye(m), inverse_root(D, epsilon))
        system = np.block([[on_W, cross], [cross.T, on_D]])
        right = np.concatenate([np.zeros(width * q), (share * Y).ravel()])
        solution = np.linalg.solve(system, right)
        W, D = solution[: width * q].reshape(width, q), solution[width * q :].reshape(m, q)
    b = W[d] if fit_intercept else np.zeros(q)
    return objective(X, Y, W[:d], b, D, gamma, beta, eta), X @ W[:d] + b


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(("gamma", "beta", "eta"), WEIGHTS)
def test_optimum_is_that_of_another_method(gamma, beta, eta, fit_intercept):
    X, _, Y = random_data(m=14, d=3, q=3)
    value, scores = by_smoothing(X, Y.astype(float), gamma, beta, eta, fit_intercept)
    model = PMLLRS(
        gamma=gamma, beta=beta, eta=eta, fit_intercept=fit_intercept, tol=1e-8, max_iter=50_000
    ).fit(X, Y)
    assert model.objective_ <= value * (1 + 1e-7)
    assert model.objective_ == pytest.approx(value, rel=1e-4)
    np.testing.assert_allclose(model.label_scores(X), scores, atol=0.01)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(("gamma", "beta", "eta"), WEIGHTS)
@pytest.mark.parametrize("shape", [(40, 5), (12, 30)])
def test_objective_is_that_of_the_attributes_and_no_step_improves_it(
    shape, gamma, beta, eta, fit_intercept
):
    X, _, Y = random_data(*shape)
    weights = gamma, beta, eta
    model = PMLLRS(*weights, fit_intercept=fit_intercept, tol=1e-6, max_iter=50_000).fit(X, Y)
    W, b, D = model.coef_.T, model.intercept_, model.ground_truth_
    value = objective(X, Y, W, b, D, *weights)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert 0 <= model.dual_gap_ <= 1e-6
    if not fit_intercept:
        assert (b == 0).all()
    rng = np.random.default_rng(3)
    for size in (1e-3, 1e-1):
        for _ in range(20):
            step_b = size * rng.normal(size=b.shape) * fit_intercept
            step_W, step_D = size * rng.normal(size=W.shape), size * rng.normal(size=D.shape)
            changed = objective(X, Y, W + step_W, b + step_b, D + step_D, *weights)
            assert changed >= value * (1 - 1e-6)


def test_bound_is_below_every_value():
    """Whatever A and B, the certificate is a lower bound of the optimum."""
    X, _, Y = random_data(m=15, d=3)
    Y = Y.astype(float)
    rng = np.random.default_rng(0)
    for center in (False, True):
        best = low_rank_sparse(
            X, Y, gamma=0.1, beta=0.2, eta=0.3, fit_intercept=center, tol=1e-6, max_iter=20_000
        )
        for scale in (0.01, 0.1, 1.0, 10.0):
            A, B = scale * rng.normal(size=(2, *Y.shape))
            assert lower_bound(X, Y, A, B - Y * scale, 0.1, 0.2, 0.3, center) <= best.primal


def test_strong_weights_leave_nothing():
    """With a large η the predictor is constant, with a large γ the ground truth is zero."""
    X, _, Y = random_data()
    assert np.abs(PMLLRS(eta=1e4).fit(X, Y).coef_).max() == 0
    model = PMLLRS(gamma=1e4, fit_intercept=False).fit(X, Y)
    assert np.abs(model.ground_truth_).max() == 0
    assert model.objective_ == pytest.approx(0.1 * Y.sum())


def test_noise_is_sparse_and_predictor_of_low_rank():
    X, _, Y = random_data(m=100, q=6)
    model = PMLLRS(eta=3.0, gamma=0.0, beta=0.4, tol=1e-6, max_iter=20_000).fit(X, Y)
    assert np.linalg.matrix_rank(model.coef_, tol=1e-6) < 5
    assert 0 < np.mean(np.abs(Y - model.ground_truth_) < 1e-3) < 1


# ---- learning and odd data -----------------------------------------------------------------


def test_learns_in_spite_of_wrong_candidates():
    X, y, candidates = random_data(m=400)
    model = PMLLRS(eta=0.3).fit(X[:200], candidates[:200])
    assert label_ranking_loss(y[200:], model.label_scores(X[200:])) < 0.2


@pytest.mark.parametrize("threshold", ["regression", "per-label", "zero", 0.5, 0.3])
def test_thresholds(threshold):
    X, _, Y = random_data()
    model = PMLLRS(threshold=threshold).fit(X, Y)
    scores = model.label_scores(X)
    np.testing.assert_allclose(model.decision_function(X), scores - model.threshold_(scores))
    if isinstance(threshold, float):
        np.testing.assert_array_equal(model.predict(X), scores > threshold)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("y", [[[1]], [[0]], [[1, 0]], [[1, 1, 1]], [[0, 0, 0]]], ids=str)
def test_one_row(y, fit_intercept):
    X = [[10.0, 20.0]]
    model = PMLLRS(fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    assert 0 <= model.dual_gap_ <= 1e-3


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(
    "change",
    ["constant", "zero", "duplicates", "no candidates", "all candidates", "large", "wide"],
)
def test_odd_data(change, fit_intercept):
    X, _, y = random_data()
    if change == "constant":
        X[:, :] = 1.0
    elif change == "zero":
        X[:, :] = 0.0
    elif change == "duplicates":
        X, y = np.repeat(X[:4], 10, axis=0), np.repeat(y[:4], 10, axis=0)
    elif change == "no candidates":
        y[::2] = 0
    elif change == "all candidates":
        y[::2] = 1
    elif change == "large":
        X *= 1e6
    else:
        X = np.hstack([X] * 20)
    model = PMLLRS(fit_intercept=fit_intercept).fit(X, y)
    decision = model.decision_function(X)
    assert np.isfinite(decision).all()
    np.testing.assert_array_equal(model.predict(X), decision > 0)
    assert 0 <= model.dual_gap_ <= 1e-3


def test_features_beyond_double_precision_are_refused_in_words():
    X, _, y = random_data()
    with pytest.raises(ValueError, match=r"X must keep the problem within double precision"):
        PMLLRS().fit(X * 1e200, y)


def test_warns_when_iterations_do_not_suffice():
    X, _, Y = random_data()
    with pytest.warns(ConvergenceWarning, match=r"PMLLRS stopped after 3 iterations"):
        model = PMLLRS(max_iter=3, tol=1e-9).fit(X, Y)
    assert model.n_iter_ == 3
    assert model.dual_gap_ > 1e-9


def test_verbose_prints_the_gap(capsys):
    X, _, Y = random_data()
    PMLLRS(verbose=1).fit(X, Y)
    assert capsys.readouterr().out.startswith("iteration 10: objective ")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": -1}, r"gamma must be a number in \[0, inf\); got -1"),
        ({"beta": 0}, r"beta must be a number in \(0, inf\); got 0"),
        ({"eta": "1"}, r"eta must be a number in \(0, inf\); got '1'"),
        ({"fit_intercept": 1}, r"fit_intercept must be True or False; got 1"),
        ({"threshold": "half"}, r"threshold must be one of .*; got 'half'"),
        ({"tol": 0}, r"tol must be a number in \(0, inf\); got 0"),
        ({"max_iter": 1.5}, r"max_iter must be an integer in \[1, inf\); got 1.5"),
        ({"verbose": -1}, r"verbose must be a number in \[0, inf\); got -1"),
    ],
    ids=str,
)
def test_invalid_parameters(parameters, message):
    X, _, y = random_data(m=10)
    with pytest.raises(ValueError, match=message):
        PMLLRS(**parameters).fit(X, y)
