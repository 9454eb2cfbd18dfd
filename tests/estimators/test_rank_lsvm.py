"""RankLSVM: its optimum, its solvers, odd data and weights."""

from functools import partial

import numpy as np
import pytest
from problems import by_minimisation, primal_value
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from small_data import ODD, THRESHOLDS, check_fit, random_data

from skml_odm import MLODM, RankLSVM
from skml_odm.features.operators import KernelOperator
from skml_odm.problems.pairs import PairLoss

# Without a zero label, though some rows have no label or all of them.
PlainRankLSVM = partial(RankLSVM, zero_label=False)

SOLVERS = RankLSVM.solvers


@pytest.mark.parametrize("solver", SOLVERS)
def test_linear_optimum_is_that_of_a_general_minimiser(solver):
    X, y = random_data(m=25, d=3)
    value, W = by_minimisation(X, y, 0.5, 0.0, 0.0)
    model = PlainRankLSVM(C=0.5, kernel="linear", solver=solver, tol=1e-9, max_iter=3000).fit(X, y)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(model.coef_, W[:-1].T, atol=1e-3)
    np.testing.assert_allclose(model.intercept_, W[-1], atol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_it_is_mlodm_without_an_upper_margin(solver, fit_intercept):
    X, y = random_data(m=80)
    options = {"solver": solver, "fit_intercept": fit_intercept, "random_state": 0, "C": 2.0}
    model, other = RankLSVM(**options).fit(X, y), MLODM(theta=0.0, mu=0.0, **options).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, other.dual_coef_)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    assert (model.objective_, model.n_iter_) == (other.objective_, other.n_iter_)


@pytest.mark.parametrize("solver", SOLVERS)
def test_objective_is_that_of_the_attributes(solver):
    X, y = random_data(m=70)
    model = PlainRankLSVM(C=1.0, solver=solver, gamma=0.3, random_state=0).fit(X, y)
    operator = KernelOperator(rbf_kernel(X, gamma=0.3), True)
    loss = PairLoss(y == 1, 1.0, 0.0, 0.0)
    by_hand = primal_value(operator, loss, model.dual_coef_, model.intercept_)
    assert model.objective_ == pytest.approx(by_hand, rel=1e-9)
    assert 0.0 <= model.dual_gap_ <= 1e-3


@pytest.mark.parametrize("parameter", ["theta", "mu"])
def test_there_is_no_upper_margin_to_set(parameter):
    with pytest.raises(TypeError):
        RankLSVM(**{parameter: 0.5})


@pytest.mark.parametrize(
    ("parameter", "value"), [("solver", "m3"), ("C", 0.0), ("tol", -1.0), ("max_iter", 0)]
)
def test_invalid_parameters(parameter, value):
    X, y = random_data(m=10)
    with pytest.raises(ValueError, match=parameter):
        RankLSVM(**{parameter: value}).fit(X, y)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_odd_data(name, kernel):
    check_fit(RankLSVM(kernel=kernel, max_iter=200), *ODD[name])


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("m", [30, 80])
def test_integer_weights_are_repeated_rows(threshold, m):
    X, y = random_data(m=m)
    weight = np.random.default_rng(0).integers(0, 4, size=m)
    options = {"threshold": threshold, "gamma": 0.3, "tol": 1e-12}
    weighted = RankLSVM(**options).fit(X, y, sample_weight=weight)
    repeated = RankLSVM(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-4
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_stopping_early_is_told(solver):
    X, y = random_data(m=120)
    with pytest.warns(ConvergenceWarning, match="RankLSVM stopped.*max_iter=1"):
        model = RankLSVM(C=100.0, tol=1e-9, max_iter=1, solver=solver).fit(X, y)
    assert model.dual_gap_ > 1e-9
