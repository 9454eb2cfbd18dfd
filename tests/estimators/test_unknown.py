"""Unknown labels: NaN in y takes no part in learning, and everything else stays as it is."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from own_loss import RankLogistic
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

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
from tests.groups import first_fast
from tests.problems import features_of, solve_quadratic_program

GAMMA = 0.3
PRECISE = {"kernel": "rbf", "gamma": GAMMA, "tol": 1e-8, "threshold": "zero", "max_iter": 100_000}


def random_data(seed, m=11, q=4, share=0.35):
    """Rows, labels of which some are unknown (NaN), all of the first row, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    y = (rng.random((m, q)) < rng.uniform(0.3, 0.7)).astype(float)
    y[rng.random((m, q)) < share] = np.nan
    y[0] = np.nan
    return X, y, rng.uniform(0.2, 2.0, size=m) if seed % 2 else np.ones(m)


# ---- optima: a quadratic program with everything written out -------------------------------------


class Program:
    """min ½ Σ_j square_j z_j² + Σ_t weight_t ξ_t (or ½ ξ_t²),  rows_t z + ξ_t ≥ least_t,  ξ ≥ 0."""

    def __init__(self, K, n_scores, has_biases=False):
        self.features = features_of(K)
        self.n_scores = n_scores
        self.square = np.ones(n_scores * self.features.shape[1])
        if has_biases:
            self.features = np.hstack([self.features, np.ones((len(K), 1))])
            self.square = np.tile(np.append(np.ones(self.features.shape[1] - 1), 0.0), n_scores)
        self.rows, self.least, self.slack, self.costs = [], [], [], []

    def add(self, weight, rows, squared=False):
        """A slack that is shared by rows (i, {score: factor}, least)."""
        for i, factors, least in rows:
            row = np.zeros((self.n_scores, self.features.shape[1]))
            for k, factor in factors.items():
                row[k] = factor * self.features[i]
            self.rows.append(row.ravel())
            self.least.append(least)
            self.slack.append(len(self.costs))
        self.costs.append((weight, squared))

    def optimum(self):
        n, n_slack = len(self.square), len(self.costs)
        weight, squared = np.array(self.costs).T
        owners = np.eye(n_slack)[self.slack]
        matrix = np.vstack(
            [
                -np.hstack([self.rows, owners]),
                -np.hstack([np.zeros((n_slack, n)), np.eye(n_slack)]),
            ]
        )
        bounds = np.concatenate([-np.array(self.least), np.zeros(n_slack)])
        square = np.concatenate([self.square, weight * squared])
        linear = np.concatenate([np.zeros(n), weight * (1.0 - squared)])
        return solve_quadratic_program(square, linear, matrix, bounds, 1e-10)


def two_sided(program, weight, i, k, label, theta, mu):
    program.add(weight, [(i, {k: 1.0, label: -1.0}, 1.0 - theta)], squared=True)
    program.add(mu * weight, [(i, {k: -1.0, label: 1.0}, -1.0 - theta)], squared=True)


def of_rows(y, weight):
    """Number, relevant and irrelevant labels, and weight of every row; unknown ones are neither."""
    for i, (row, w) in enumerate(zip(y, weight, strict=True)):
        yield i, np.flatnonzero(row == 1), np.flatnonzero(row == 0), w


def pairs(K, y, weight, zero_label=False):
    program, q = Program(K + 1.0, y.shape[1] + zero_label), y.shape[1]
    for i, relevant, irrelevant, w in of_rows(y, weight):
        for k in relevant:
            for label in irrelevant:
                c = 4.0 * w / (len(relevant) * len(irrelevant))
                two_sided(program, c, i, k, label, 0.1, 0.7)
        for k in relevant if zero_label else ():
            two_sided(program, 2.0 * w / len(relevant), i, k, q, 0.1, 0.7)
        for label in irrelevant if zero_label else ():
            two_sided(program, 2.0 * w / len(irrelevant), i, q, label, 0.1, 0.7)
    return program.optimum()


def hinge(K, y, weight):
    program = Program(K, y.shape[1], has_biases=True)
    for i, relevant, irrelevant, w in of_rows(y, weight):
        for k in relevant:
            for label in irrelevant:
                c = 4.0 * w / (len(relevant) * len(irrelevant))
                program.add(c, [(i, {k: 1.0, label: -1.0}, 1.0)])
    return program.optimum()


def cells(K, y, weight, shared):
    """A hinge loss per known label, its weight shared by the relevant or irrelevant ones or not."""
    program = Program(K + (not shared), y.shape[1], has_biases=shared)
    for i, relevant, irrelevant, w in of_rows(y, weight):
        for sign, labels in ((1.0, relevant), (-1.0, irrelevant)):
            for k in labels:
                program.add(4.0 * w / (len(labels) if shared else 1), [(i, {k: sign}, 1.0)])
    return program.optimum()


def sides(K, y, weight):
    """A hinge loss for each side of a row against the dummy label, the last one."""
    program, q = Program(K / 0.2, y.shape[1] + 1), y.shape[1]
    for i, relevant, irrelevant, w in of_rows(y, weight):
        for sign, labels in ((1.0, relevant), (-1.0, irrelevant)):
            program.add(w, [(i, {k: sign, q: -sign}, 1.0) for k in labels])
    return program.optimum()


def confidences(K, y, _, P, of_candidates):
    """The pairs of a row count 4 together."""
    program = Program(K + 1.0, y.shape[1])
    for i, row in enumerate(y):
        known = np.flatnonzero(~np.isnan(row))
        difference = {
            (k, label): P[i, k] - P[i, label]
            for k in known
            for label in known
            if (row[k] > row[label] if of_candidates else P[i, k] > P[i, label])
        }
        for (k, label), share in difference.items():
            c = 4.0 * share / sum(difference.values())
            two_sided(program, c, i, k, label, 0.1, 0.7)
    return program.optimum()


LOSS = {"theta": 0.1, "mu": 0.7}
PROBLEMS = {
    "newton": (MLODM(C=4.0, **LOSS, solver="newton", zero_label=False), pairs),
    "bcd": (MLODM(C=4.0, **LOSS, solver="bcd", zero_label=False), pairs),
    "auto": (MLODM(C=4.0, **LOSS, zero_label=False), pairs),
    "zero label": (
        MLODM(C=4.0, **LOSS, zero_label=True),
        lambda K, y, w: pairs(K, y, w, zero_label=True),
    ),
    "zero label by bcd": (
        MLODM(C=4.0, **LOSS, zero_label=True, solver="bcd"),
        lambda K, y, w: pairs(K, y, w, zero_label=True),
    ),
    "multipliers": (RankSVM(C=4.0, solver="multipliers"), hinge),
    "hinge by newton": (RankSVM(C=4.0, solver="newton"), hinge),
    "hinge": (RankSVM(C=4.0), hinge),
    "with a zero label": (RankSVMz(C=4.0), lambda K, y, w: cells(K, y, w, shared=True)),
    "separation": (CSRL(beta=0.2), sides),
    "cells": (M3L(C=4.0, covariance=None), lambda K, y, w: cells(K, y, w, shared=False)),
}


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
