"""Unknown labels: NaN in y takes no part in learning, and everything else stays as it is."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from groups import first_fast
from own_loss import RankLogistic
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from written_out import GAMMA, LOSS, PRECISE, PROBLEMS, confidences, random_data

from skml_odm import (
    CSRL,
    M3L,
    MLODM,
    PMLLRS,
    PMLODM,
    LabelDecisionCV,
    Particle,
    RankCVM,
    RankLSVM,
    RankSVM,
    RankSVMz,
)
from skml_odm.decisions.scores import as_dense

# ---- optima --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", first_fast(range(20), 8))
@pytest.mark.parametrize("name", PROBLEMS)
def test_optimum_is_that_of_a_quadratic_program(name, seed):
    model, reference = PROBLEMS[name]
    X, y, weight = random_data(seed)
    model.set_params(**PRECISE).fit(X, y, weight if seed % 2 else None)
    optimum = reference(rbf_kernel(X, gamma=GAMMA), y, weight)
    assert model.objective_ == pytest.approx(optimum, rel=1e-6, abs=1e-9)
    assert model.dual_gap_ <= 1e-8


@pytest.mark.parametrize("seed", first_fast(range(20), 8))
@pytest.mark.parametrize("of_candidates", [True, False])
def test_optimum_for_confidences(of_candidates, seed):
    """Those that are learned, for pairs of candidates and others; given ones, for all pairs."""
    X, y, _ = random_data(seed)
    K = rbf_kernel(X, gamma=GAMMA)
    given = np.random.default_rng(seed).integers(0, 4, size=y.shape) / 3.0 * (y == 1)
    model = PMLODM(C=4.0, **LOSS, **PRECISE)
    model.fit(X, y, confidences=None if of_candidates else given)
    P = model.confidences_
    assert not P[y != 1].any()
    optimum = confidences(K, y, None, P, of_candidates)
    assert model.objective_ == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("seed", first_fast(range(8), 2))
@pytest.mark.parametrize(
    ("model", "tol"),
    [
        (MLODM(theta=0.0, mu=0.0, solver="m3"), 1e-4),
        (RankCVM(zero_label=False), 1e-6),
        (RankCVM(solver="pairwise"), 1e-4),
        (RankCVM(solver="frank-wolfe"), 1e-2),
        (RankSVM(solver="frank-wolfe"), 1e-2),
    ],
)
def test_other_solvers_agree(model, tol, seed):
    X, y, _ = random_data(seed)
    precise = PRECISE | {"tol": tol}
    found = model.set_params(**precise).fit(X, y)
    other = RankSVM() if isinstance(model, RankSVM) else RankLSVM(zero_label=False)
    other.set_params(**(PRECISE | {"tol": 1e-8})).fit(X, y)
    objective = 0.25 / other.objective_ if isinstance(model, RankCVM) else other.objective_
    assert found.dual_gap_ <= tol
    assert found.objective_ == pytest.approx(objective, rel=2 * tol)


# ---- containers, and what goes wrong -------------------------------------------------------------


CONTAINERS = {
    "float": lambda y: y,
    "list": lambda y: y.tolist(),
    "None": lambda y: np.where(np.isnan(y), None, y),
    "masked": lambda y: np.ma.masked_array(np.nan_to_num(y).astype(int), np.isnan(y)),
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
    "DataFrame": pd.DataFrame,
    "Int64": lambda y: pd.DataFrame(y).astype("Int64"),
    "boolean": lambda y: pd.DataFrame(y).astype("boolean"),
    "object with NA": lambda y: pd.DataFrame(y).astype("Int64").astype(object),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers(name):
    X, y, _ = random_data(0, m=30)
    given = CONTAINERS[name](y)
    kept = deepcopy(given)
    model, expected = MLODM(tol=1e-6).fit(X, given), MLODM(tol=1e-6).fit(X, y)
    np.testing.assert_array_equal(model.label_scores(X), expected.label_scores(X))
    np.testing.assert_array_equal(as_dense(model.predict(X)), expected.predict(X))
    assert sparse.issparse(model.predict(X)) == sparse.issparse(given)
    if sparse.issparse(given):
        given, kept = given.toarray(), kept.toarray()
    assert repr(given) == repr(kept)


def test_nothing_known():
    X, y, _ = random_data(0)
    with pytest.raises(ValueError, match="y must have a known label in a row of positive weight"):
        MLODM().fit(X, np.full_like(y, np.nan))
    with pytest.raises(ValueError, match="y must have a known label in a row of positive weight"):
        MLODM().fit(X, y, sample_weight=np.eye(len(y))[0])


def test_the_papers_method_refuses_unknown_labels():
    X, y, _ = random_data(0)
    with pytest.raises(ValueError, match=r"^y must have no unknown labels .*'cross-fitted'"):
        PMLODM(confidence="paper").fit(X, y)


def test_an_estimator_that_does_not_know_of_them():
    X, y, _ = random_data(0)
    with pytest.raises(ValueError, match=r"y must have no unknown labels .* for RankLogistic"):
        RankLogistic().fit(X, y)


# ---- every estimator -----------------------------------------------------------------------------

ESTIMATORS = [
    MLODM(),
    MLODM(kernel="linear", zero_label=True),
    RankLSVM(threshold="regression"),
    RankCVM(threshold="per-label"),
    RankSVM(threshold="regression"),
    RankSVMz(kernel="linear"),
    RankSVMz(fit_intercept=False),
    CSRL(covariance="learn"),
    CSRL(kernel="linear", dummy="zero"),
    M3L(threshold="zero"),
    PMLODM(),
    PMLODM(confidence="neighbours", threshold="per-label"),
    Particle(),
    Particle(variant="map"),
    PMLLRS(threshold="regression"),
    LabelDecisionCV(MLODM(threshold="zero"), cv=2),
]


def larger_data():
    """Labels that depend on the features; the fourth is unknown everywhere."""
    X, y, _ = random_data(1, m=60, q=5)
    relevant = X @ np.random.default_rng(0).normal(size=(3, 5)) > 0.0
    y = np.where(np.isnan(y), np.nan, relevant)
    y[:, 3] = np.nan
    return X, y


@pytest.mark.parametrize("model", ESTIMATORS, ids=str)
def test_dense_and_sparse(model):
    X, y = larger_data()
    found, again = clone(model).fit(X, y), clone(model).fit(X, sparse.csr_matrix(y))
    np.testing.assert_array_equal(again.label_scores(X), found.label_scores(X))
    assert np.isfinite(found.label_scores(X)).all()
    # a label that is unknown everywhere is never predicted
    assert not found.predict(X)[:, 3].any()
    right = found.predict(X) == y
    assert right.sum() > 0.7 * np.sum(~np.isnan(y))


# folds are made of rows: without one of them they are others
WITHOUT_FOLDS = {"threshold": "zero", "confidence": "neighbours", "tol": 1e-7}


@pytest.mark.parametrize("model", ESTIMATORS[:-1], ids=str)
def test_rows_in_which_nothing_is_known_take_no_part(model):
    X, y = larger_data()
    y[::5] = np.nan
    values = {name: value for name, value in WITHOUT_FOLDS.items() if name in model.get_params()}
    kept = ~np.isnan(y).all(axis=1)
    found, expected = (
        clone(model).set_params(**values).fit(X[rows], y[rows]) for rows in (slice(None), kept)
    )
    np.testing.assert_allclose(found.label_scores(X), expected.label_scores(X), atol=1e-2)
    assert len(getattr(found, "confidences_", y)) == len(y)


@pytest.mark.parametrize("model", ESTIMATORS, ids=str)
def test_a_matrix_of_numbers_without_nan_is_one_of_integers(model):
    """What is known of unknown labels does not matter where there are none."""
    X, y = larger_data()
    y = np.nan_to_num(y)
    found, expected = clone(model).fit(X, y), clone(model).fit(X, y.astype(int))
    np.testing.assert_array_equal(found.label_scores(X), expected.label_scores(X))
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
