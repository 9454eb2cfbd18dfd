"""All solvers of an estimator predict the same labels, whatever turns scores into labels."""

import numpy as np
import pytest
from groups import first_fast
from sklearn.base import clone
from sklearn.datasets import load_iris

from skml_odm import MCODM, MLODM, PMLODM, RankCVM, RankLSVM, RankSVM, RankSVMz
from skml_odm.datasets import load_digit_attributes
from skml_odm.solvers.result import Result

THRESHOLDS = ("regression", "per-label", "zero")

# Plain Frank-Wolfe steps converge slowly, so a few decision values still have the wrong sign.
SLOW = {"frank-wolfe": {"tol": 1e-4, "max_iter": 20000}}
SLOW_MISSES = 2e-3

X, Y = load_digit_attributes(return_X_y=True)
# rows without labels take part in fitting thresholds, and in nothing else
Y[::5] = 0


RANKERS = [
    (kind, solver)
    for kind in (MLODM, RankLSVM, RankSVM, RankCVM)
    for solver in kind.solvers
    if solver != "newton"
]


def labels(estimator, n_rows=200, **parameters):
    model = clone(estimator).set_params(**parameters).fit(X[:n_rows], Y[:n_rows])
    return model.predict(X[n_rows : 3 * n_rows])


@pytest.mark.parametrize("threshold", first_fast(THRESHOLDS, 1))
@pytest.mark.parametrize(("kind", "solver"), RANKERS)
def test_rankers_predict_what_newtons_method_does(kind, threshold, solver):
    estimator = kind(C=4.0, threshold=threshold, tol=1e-7)
    if solver in ("m3", "frank-wolfe", "pairwise") and kind is not RankSVM:
        # these learn no zero label
        estimator.set_params(zero_label=False)
    wanted = labels(estimator, solver="newton")
    found = labels(estimator, solver=solver, **SLOW.get(solver, {}))
    assert (found != wanted).mean() <= (SLOW_MISSES if solver in SLOW else 0.0)


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "rbf", "solver": "libsvm"},
        {"kernel": "linear", "solver": "liblinear"},
        {"kernel": "linear", "solver": "liblinear", "fit_intercept": False},
    ],
    ids=str,
)
def test_rank_svmz_predicts_the_same_by_its_solvers(parameters):
    estimator = RankSVMz(C=4.0, tol=1e-7)
    wanted = labels(estimator, **{**parameters, "solver": "auto"})
    np.testing.assert_array_equal(labels(estimator, **parameters), wanted)


def test_pmlodm_predicts_the_same_by_both_confidence_solvers():
    estimator = PMLODM(confidence="paper", C=100.0, tol=1e-7)
    wanted, found = (
        labels(estimator, 100, confidence_solver=each, max_outer_iter=3)
        for each in ("cut", "linprog")
    )
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("solver", ["auto", "descent"])
def test_mcodm_predicts_what_newtons_method_does(solver):
    features, classes = load_iris(return_X_y=True)
    wanted, found = (
        MCODM(C=10.0, solver=each, tol=1e-6).fit(features, classes).predict(features)
        for each in ("newton", solver)
    )
    np.testing.assert_array_equal(found, wanted)


def test_no_value_of_a_result_can_take_the_place_of_another():
    with pytest.raises(TypeError, match="positional"):
        Result(np.zeros((1, 1)), np.zeros(1), np.zeros((1, 1)), 0.0, 0.0, 1, True)
