"""RankCVM: the same model as RankLSVM but for its scale; its certificate; odd data; Ctrl-C."""

import os
from functools import partial

import numpy as np
import pytest
from interrupts import seconds_to_interrupt
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from small_data import ODD, THRESHOLDS, check_fit, random_data

from skml_odm import RankCVM, RankLSVM

# Without a zero label, though some rows have no label or all of them.
PlainRankCVM = partial(RankCVM, zero_label=False)
PlainRankLSVM = partial(RankLSVM, zero_label=False)

SOLVERS = RankCVM.solvers
TOL = {"auto": 1e-8, "newton": 1e-8, "frank-wolfe": 1e-3, "pairwise": 1e-8}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_it_is_rank_lsvm_scaled(solver, kernel, fit_intercept):
    """Objective 1/4J; scores, coefficients and intercepts 1/2J times as large."""
    X, y = random_data(m=50)
    options = {"kernel": kernel, "fit_intercept": fit_intercept, "C": 0.5}
    lsvm = PlainRankLSVM(tol=1e-10, **options).fit(X, y)
    model = PlainRankCVM(solver=solver, tol=TOL[solver], **options).fit(X, y)
    assert model.objective_ == pytest.approx(0.25 / lsvm.objective_, rel=2 * TOL[solver])
    rho, slack = 0.5 / lsvm.objective_, 3 * TOL[solver] ** 0.5
    np.testing.assert_allclose(model.label_scores(X) / rho, lsvm.label_scores(X), atol=slack)
    np.testing.assert_allclose(model.intercept_ / rho, lsvm.intercept_, atol=slack)
    if kernel == "linear":
        np.testing.assert_allclose(model.coef_ / rho, lsvm.coef_, atol=slack)


@pytest.mark.parametrize("threshold", ["regression", "per-label", "zero"])
@pytest.mark.parametrize("m", [40, 100])
def test_it_predicts_what_rank_lsvm_predicts(threshold, m):
    """Thresholds scale with the learned margin."""
    X, y = random_data(m=m)
    options = {"threshold": threshold, "C": 3.0, "random_state": 0}
    lsvm, model = RankLSVM(**options).fit(X, y), RankCVM(**options).fit(X, y)
    rho = 0.5 / lsvm.objective_
    np.testing.assert_allclose(model.decision_function(X) / rho, lsvm.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), lsvm.predict(X))


def primal_by_hand(model, F, y, rho):
    """½ ‖w‖² − ρ + loss of Eq. 30, every pair spelled out."""
    K = rbf_kernel(model.X_fit_, gamma=0.3) + model.fit_intercept
    value = 0.5 * np.vdot(model.dual_coef_, K @ model.dual_coef_) - rho
    for i, row in enumerate(y):
        relevant, others = np.flatnonzero(row), np.flatnonzero(row == 0)
        for k in relevant:
            for j in others:
                c = model.C / (len(relevant) * len(others))
                value += 0.5 * c * max(rho - F[i, k] + F[i, j], 0.0) ** 2
    return value


@pytest.mark.parametrize("solver", SOLVERS)
def test_primal_and_dual_objective_enclose_zero(solver):
    """The primal value of the coefficients, by definition, is minus the optimum of W."""
    X, y = random_data(m=60)
    model = PlainRankCVM(solver=solver, gamma=0.3, tol=TOL[solver]).fit(X, y)
    primal = primal_by_hand(model, model.label_scores(X), y, 2 * model.objective_)
    assert -model.objective_ * (1 + 1e-9) <= primal
    assert primal <= -model.objective_ * (1 - 5 * TOL[solver])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_stopping_early_is_told_and_the_gap_stays_true(solver, C):
    X, y = random_data(m=120)
    optimum = 0.25 / PlainRankLSVM(C=C, tol=1e-10, solver="newton").fit(X, y).objective_
    with pytest.warns(ConvergenceWarning, match="RankCVM stopped.*max_iter=1") as record:
        model = PlainRankCVM(C=C, tol=1e-9, max_iter=1, solver=solver, random_state=0).fit(X, y)
    assert record[0].filename == __file__
    assert model.n_iter_ == 1
    assert 1e-9 < model.dual_gap_ <= 1.0
    assert model.objective_ * (1 - model.dual_gap_) <= optimum * (1 + 1e-8)
    assert optimum <= model.objective_ * (1 + 1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_row_has_a_closed_form(solver):
    """One pair: α = 1 and W = κ + 1/2C."""
    x = np.array([[1.0, 2.0, 0.5]])
    model = RankCVM(C=3.0, kernel="linear", solver=solver, tol=1e-10).fit(x, [[1, 0]])
    kappa = (x @ x.T).item() + 1
    np.testing.assert_allclose(model.dual_coef_, [[1.0, -1.0]], rtol=1e-6)
    assert model.objective_ == pytest.approx(kappa + 1 / 6, rel=1e-8)


@pytest.mark.parametrize("solver", ["frank-wolfe", "pairwise"])
def test_inactive_rows_have_coefficients_zero(solver):
    X, y = random_data(m=100)
    model = RankCVM(solver=solver, C=100.0, gamma=0.3, tol=0.05).fit(X, y)
    assert not model.dual_coef_[:2].any()  # no pairs
    assert model.n_support_ < 95
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, model.dual_coef_.sum(axis=0), atol=1e-12)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_odd_data(name, kernel):
    X, y = ODD[name]
    for threshold in THRESHOLDS:
        check_fit(RankCVM(kernel=kernel, threshold=threshold, max_iter=200), X, y)


@pytest.mark.filterwarnings("ignore:RankCVM stopped")
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("solver", ["newton", "frank-wolfe", "pairwise"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_odd_data_with_every_solver(name, solver, kernel):
    """Finite numbers, and an objective that the certificate of another solver allows."""
    X, y = ODD[name]
    model = PlainRankCVM(solver=solver, kernel=kernel, max_iter=20, tol=1e-2).fit(X, y)
    best = PlainRankCVM(kernel=kernel, max_iter=200).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert best.objective_ * (1 - best.dual_gap_) <= model.objective_ * (1 + 1e-7) + 1e-15
    assert model.objective_ * (1 - model.dual_gap_) <= best.objective_ * (1 + 1e-7) + 1e-15


@pytest.mark.parametrize("name", ["no row has labels", "every row has all labels"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_without_pairs_the_model_is_zero_and_the_thresholds_decide(name, solver):
    X, y = ODD[name]
    model = PlainRankCVM(solver=solver).fit(X, y)
    assert not model.dual_coef_.any()
    assert model.objective_ == model.dual_gap_ == 0.0
    assert model.n_iter_ >= 1
    np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize("solver", ["auto", "pairwise"])
@pytest.mark.parametrize("m", [30, 80])
def test_integer_weights_are_repeated_rows(solver, m):
    X, y = random_data(m=m)
    weight = np.random.default_rng(0).integers(0, 4, size=m)
    options = {"solver": solver, "gamma": 0.3, "tol": 1e-10}
    weighted = RankCVM(**options).fit(X, y, sample_weight=weight)
    repeated = RankCVM(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)
    np.testing.assert_allclose(weighted.label_scores(X), repeated.label_scores(X), atol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_one_label_is_a_problem_of_two_labels(solver, convert):
    X, y = random_data(q=1)
    options = {"solver": solver, "kernel": "linear", "tol": TOL[solver], "C": 0.5}
    one = RankCVM(**options).fit(convert(X), y)
    two = RankCVM(**options).fit(convert(X), np.hstack([y, 1 - y]))
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-9)
    np.testing.assert_allclose(one.label_scores(X), two.label_scores(X)[:, :1], atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_seed_same_result(solver):
    X, y = random_data(m=100)
    one, other = (RankCVM(solver=solver, random_state=7, tol=0.01).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    assert one.n_iter_ == other.n_iter_


@pytest.mark.parametrize("solver", SOLVERS)
def test_precomputed_kernel_stays_unchanged(solver):
    X, y = random_data(m=70)
    K = rbf_kernel(X)
    copy = K.copy()
    K.setflags(write=False)
    RankCVM(kernel="precomputed", solver=solver, tol=0.01).fit(K, y).predict(K)
    np.testing.assert_array_equal(K, copy)


@pytest.mark.parametrize("solver", SOLVERS)
def test_verbose_prints_gaps(solver, capsys):
    X, y = random_data(m=100)
    RankCVM(solver=solver, verbose=1, tol=0.01).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert lines and all("gap" in line for line in lines)
    RankCVM(solver=solver, tol=0.01).fit(X, y)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("parameter", "value"), [("solver", "bcd"), ("C", -1), ("tol", 0.0)])
def test_invalid_parameters(parameter, value):
    X, y = random_data(m=10)
    with pytest.raises(ValueError, match=parameter):
        RankCVM(**{parameter: value}).fit(X, y)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.filterwarnings("ignore:RankCVM stopped")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("solver", ["frank-wolfe", "pairwise"])
def test_ctrl_c_ends_a_long_fit_at_once(solver, kernel):
    X, y = random_data(m=2500, d=8, q=6)
    model = RankCVM(C=1e4, gamma=0.01, tol=1e-12, kernel=kernel, solver=solver)
    delays = [seconds_to_interrupt(model, X, y, 1.0)]
    if delays[0] >= 0.5:  # the machine may have been busy
        delays.append(seconds_to_interrupt(model, X, y, 1.0))
    assert min(delays) < 0.5
    assert RankCVM(solver=solver, C=0.1).fit(X[:50], y[:50]).dual_gap_ <= 1e-3
