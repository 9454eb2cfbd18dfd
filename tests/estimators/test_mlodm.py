"""MLODM: its optimum, its certificate, its attributes."""

import warnings
from functools import partial

import numpy as np
import pytest
from problems import by_minimisation, primal_value
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from small_data import SOLVERS, random_data

from skml_odm import MLODM
from skml_odm.features.operators import KernelOperator
from skml_odm.problems.pairs import PairLoss

# Without a zero label, though some rows have no label or all of them.
PlainMLODM = partial(MLODM, zero_label=False)


def value_by_hand(model, K, y):
    """P of a fitted model, from its public attributes, every pair spelled out."""
    operator = KernelOperator(K, model.fit_intercept)
    loss = PairLoss(y == 1, model.C, model.theta, model.mu)
    return primal_value(operator, loss, model.dual_coef_, model.intercept_)


# ---- the optimum ---------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_one_row_has_a_closed_form(solver, fit_intercept):
    """One pair: δ = C(1 − θ)/(1 + 2κC), as the margin 2κδ stays below 1 − θ."""
    x = np.array([[1.0, 2.0, 0.5]])
    kappa = (x @ x.T).item() + fit_intercept
    model = MLODM(
        C=3.0, theta=0.2, kernel="linear", fit_intercept=fit_intercept, solver=solver, tol=1e-10
    ).fit(x, [[1, 0]])
    delta = 3.0 * 0.8 / (1 + 2 * kappa * 3.0)
    np.testing.assert_allclose(model.dual_coef_, [[delta, -delta]], rtol=1e-4)
    np.testing.assert_allclose(model.label_scores(x), [[kappa * delta, -kappa * delta]], rtol=1e-4)
    loss = 0.5 * 3.0 * (0.8 - 2 * kappa * delta) ** 2
    assert model.objective_ == pytest.approx(kappa * delta**2 + loss, rel=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("theta", "mu"), [(0.3, 0.5), (0.0, 0.0), (0.1, 1.0)])
def test_linear_optimum_is_that_of_a_general_minimiser(solver, theta, mu):
    X, y = random_data(m=25, d=3)
    value, W = by_minimisation(X, y, 0.5, theta, mu)
    model = PlainMLODM(
        C=0.5, theta=theta, mu=mu, kernel="linear", solver=solver, tol=1e-9, max_iter=3000
    ).fit(X, y)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(model.coef_, W[:-1].T, atol=1e-3)
    np.testing.assert_allclose(model.intercept_, W[-1], atol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_objective_is_that_of_the_attributes(solver, fit_intercept):
    X, y = random_data(m=70)
    model = PlainMLODM(solver=solver, gamma=0.3, fit_intercept=fit_intercept, random_state=0).fit(
        X, y
    )
    by_hand = value_by_hand(model, rbf_kernel(X, gamma=0.3), y)
    assert model.objective_ == pytest.approx(by_hand, rel=1e-9)
    assert 0.0 <= model.dual_gap_ <= 1e-3
    assert model.n_iter_ >= 1


@pytest.mark.parametrize("solver", ["newton", "bcd", "m3"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_solvers_agree(solver, kernel, fit_intercept):
    X, y = random_data(m=100)
    options = {"C": 0.3, "kernel": kernel, "fit_intercept": fit_intercept, "tol": 1e-7}
    best = PlainMLODM(solver="auto", **options).fit(X, y)
    model = PlainMLODM(solver=solver, max_iter=2000, random_state=0, **options).fit(X, y)
    assert model.objective_ == pytest.approx(best.objective_, rel=2e-7)
    np.testing.assert_allclose(model.label_scores(X), best.label_scores(X), atol=2e-3)


@pytest.mark.parametrize("solver", ["bcd", "m3"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_descent_does_not_stall(solver, kernel, fit_intercept):
    """Slow it may be, but ever more epochs bring the gap ever lower."""
    X, y = random_data(m=100)
    model = MLODM(
        C=1.0, solver=solver, kernel=kernel, fit_intercept=fit_intercept, tol=1e-4, max_iter=2000,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    assert model.dual_gap_ <= 1e-4


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("theta", [0.0, 1.0])
@pytest.mark.parametrize("mu", [0.0, 1.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_extreme_theta_and_mu(solver, theta, mu, kernel):
    """The corners of what is allowed, on data with a zero row: numbers, and a true certificate."""
    X, y = random_data(m=30)
    X[3] = 0.0
    options = {"theta": theta, "mu": mu, "kernel": kernel, "C": 0.3, "max_iter": 1000}
    model = PlainMLODM(solver=solver, **options).fit(X, y)
    optimum = PlainMLODM(solver="newton", tol=1e-8, **options).fit(X, y).objective_
    assert np.isfinite(model.dual_coef_).all()
    assert optimum * (1 - 1e-7) <= model.objective_
    assert model.objective_ * (1 - model.dual_gap_) <= optimum * (1 + 1e-7) + 1e-12


@pytest.mark.parametrize("C", [1e-8, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("m", [40, 90])
def test_extreme_C(C, m):
    X, y = random_data(m=m)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PlainMLODM(C=C).fit(X, y)
    assert model.dual_gap_ <= 1e-3
    by_hand = value_by_hand(model, rbf_kernel(X, gamma=1 / (4 * X.var())), y)
    assert model.objective_ == pytest.approx(by_hand, rel=1e-6)


@pytest.mark.filterwarnings("ignore:MLODM stopped")
@pytest.mark.parametrize("solver", ["auto", "newton"])
@pytest.mark.parametrize("scale", [1e3, 1e5])
def test_larger_features_never_cost_more(solver, scale):
    """Weights smaller by the same factor give the same scores, so the optimum cannot rise."""
    X, y = random_data(m=30)
    options = {"kernel": "linear", "solver": solver, "max_iter": 200}
    reference = MLODM(tol=1e-6, **options).fit(1e2 * X, y)
    larger = MLODM(**options).fit(scale * X, y)
    assert larger.objective_ <= reference.objective_ * (1 + 1e-3)


@pytest.mark.parametrize("scale", [1e7, 1e8])
def test_features_beyond_double_precision_are_said(scale):
    """c·K near 1/eps: no solver can certify that, and none claims to."""
    X, y = random_data(m=30)
    with pytest.warns(ConvergenceWarning, match="scale the features"):
        model = MLODM(kernel="linear", max_iter=100).fit(scale * X, y)
    assert model.dual_gap_ > 1e-3
    assert np.isfinite(model.decision_function(scale * X)).all()


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_label_is_a_problem_of_two_labels(kernel, fit_intercept):
    """A label alone competes with its complement."""
    X, y = random_data(q=1)
    options = {"kernel": kernel, "fit_intercept": fit_intercept, "tol": 1e-10, "C": 2.0}
    one = MLODM(**options).fit(X, y)
    two = MLODM(**options).fit(X, np.hstack([y, 1 - y]))
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-9)
    scores = two.label_scores(X)
    np.testing.assert_allclose(one.label_scores(X), scores[:, :1], atol=1e-5)
    np.testing.assert_allclose(scores[:, 1], -scores[:, 0], atol=1e-5)


def test_one_label_is_binary_odm():
    """‖w‖² + C Σ ℓ(2 s f(x)): what is left of two opposite labels, minimised by L-BFGS."""
    X, y = random_data(q=1, seed=3)
    C, theta, mu = 0.7, 0.2, 0.5
    signs = 2.0 * y[:, 0] - 1.0

    def function(w):
        margins = 2 * signs * (X @ w[:-1] + w[-1])
        low, high = np.maximum(1 - theta - margins, 0), np.maximum(margins - 1 - theta, 0)
        slope = 2 * signs * C * (mu * high - low)
        value = w @ w + 0.5 * C * np.sum(low**2 + mu * high**2)
        return value, 2 * w + np.append(X.T @ slope, slope.sum())

    found = minimize(function, np.zeros(5), jac=True, options={"gtol": 1e-10})
    model = MLODM(C=C, theta=theta, mu=mu, kernel="linear", tol=1e-10).fit(X, y)
    assert model.objective_ == pytest.approx(found.fun, rel=1e-8)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), found.x, atol=1e-5)


# ---- attributes ----------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_linear_weights_reproduce_the_scores(convert, fit_intercept):
    X, y = random_data()
    model = MLODM(kernel="linear", fit_intercept=fit_intercept).fit(convert(X), y)
    assert model.coef_.shape == (3, 4)
    np.testing.assert_allclose(model.coef_, model.dual_coef_.T @ X, atol=1e-12)
    np.testing.assert_allclose(
        model.label_scores(convert(X)), X @ model.coef_.T + model.intercept_, atol=1e-12
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_coefficients_of_a_row_sum_to_zero(solver):
    X, y = random_data(m=70)
    model = PlainMLODM(solver=solver, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0.0, atol=1e-12)


@pytest.mark.parametrize("m", [30, 90])
def test_rows_without_pairs_have_no_coefficients(m):
    X, y = random_data(m=m)
    model = PlainMLODM(tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_[:2], 0.0, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_no_intercept_is_zero(solver, kernel):
    X, y = random_data()
    model = MLODM(solver=solver, kernel=kernel, fit_intercept=False, C=0.1).fit(X, y)
    np.testing.assert_array_equal(model.intercept_, np.zeros(3))
    if kernel == "linear":
        np.testing.assert_allclose(model.label_scores(np.zeros((1, 4))), 0.0, atol=1e-15)


def test_intercept_is_the_sum_of_the_coefficients():
    X, y = random_data()
    model = MLODM(solver="newton").fit(X, y)
    np.testing.assert_allclose(model.intercept_, model.dual_coef_.sum(axis=0), atol=1e-12)


def test_shapes_of_attributes():
    X, y = random_data()
    model = MLODM().fit(X, y)
    assert model.dual_coef_.shape == (40, 3)
    assert model.intercept_.shape == (3,)
    assert model.n_labels_ == 3
    assert model.n_features_in_ == 4
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    assert type(model.objective_) is type(model.dual_gap_) is float
    assert type(model.n_iter_) is int


def test_the_defaults_learn():
    X, y = random_data(m=150, seed=1)
    model = MLODM().fit(X[:100], y[:100])
    majority = np.maximum(y[100:].mean(axis=0), 1 - y[100:].mean(axis=0)).mean()
    assert (model.predict(X[100:]) == y[100:]).mean() > majority + 0.1


# ---- stopping ------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_stopping_early_is_told_and_the_gap_stays_true(solver):
    """objective_·(1 − dual_gap_) ≤ optimum ≤ objective_, and the warning points here."""
    X, y = random_data(m=120)
    optimum = PlainMLODM(C=100.0, tol=1e-10, solver="newton").fit(X, y).objective_
    with pytest.warns(ConvergenceWarning, match="max_iter=1.*gap.*tol=1e-09") as record:
        model = PlainMLODM(C=100.0, tol=1e-9, max_iter=1, solver=solver, random_state=0).fit(X, y)
    assert record[0].filename == __file__
    assert model.n_iter_ == 1
    assert model.dual_gap_ > 1e-9
    assert model.objective_ * (1 - model.dual_gap_) <= optimum * (1 + 1e-8)
    assert optimum <= model.objective_ * (1 + 1e-8)


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("solver", SOLVERS)
def test_gap_is_at_most_the_tolerance(tol, solver):
    X, y = random_data(m=90)
    optimum = PlainMLODM(C=0.5, tol=1e-11).fit(X, y).objective_
    model = PlainMLODM(C=0.5, tol=tol, solver=solver, max_iter=2000, random_state=0).fit(X, y)
    assert 0 <= model.dual_gap_ <= tol
    assert optimum * (1 - 1e-9) <= model.objective_ <= optimum * (1 + 2 * tol)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", [1e-8, 1.0])
def test_at_least_one_iteration_is_counted(solver, C):
    """Also where nothing, or next to nothing, is left to do."""
    X, y = random_data(m=90)
    assert MLODM(solver=solver, C=C).fit(X, 0 * y).n_iter_ >= 1
    assert MLODM(solver=solver, C=C, max_iter=1, tol=0.9).fit(X, y).n_iter_ == 1


def test_auto_counts_every_epoch():
    """On a problem that descent solves soon, auto is descent."""
    X, y = random_data(m=90)
    options = {"C": 0.1, "random_state": 0}
    auto, bcd = (PlainMLODM(solver=solver, **options).fit(X, y) for solver in ("auto", "bcd"))
    np.testing.assert_array_equal(auto.dual_coef_, bcd.dual_coef_)
    assert auto.n_iter_ == bcd.n_iter_


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_tiny_problems_end_before_max_iter(value):
    """What is solved to rounding is not iterated on, however exact the solution could be."""
    _, y = random_data(m=30)
    model = MLODM(max_iter=200).fit(np.full((30, 3), value), y)
    assert model.n_iter_ < 50


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("make", [int, np.random.RandomState])
def test_same_seed_same_result(solver, make):
    X, y = random_data(m=200)
    one, other = (MLODM(solver=solver, random_state=make(7), C=0.3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    assert one.n_iter_ == other.n_iter_


def test_another_seed_another_order_of_blocks():
    X, y = random_data(m=400)
    one, other = (MLODM(solver="bcd", random_state=seed, tol=0.1).fit(X, y) for seed in (0, 1))
    assert not np.array_equal(one.dual_coef_, other.dual_coef_)
    assert one.objective_ == pytest.approx(other.objective_, rel=0.2)


@pytest.mark.parametrize("solver", SOLVERS)
def test_verbose_prints_the_gap_of_every_iteration(solver, capsys):
    X, y = random_data(m=100)
    model = MLODM(solver=solver, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= model.n_iter_
    assert all("gap" in line for line in lines)
    MLODM(solver=solver).fit(X, y)
    assert capsys.readouterr() == ("", "")
