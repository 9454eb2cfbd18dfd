"""PMLODM: its optimum given confidences, the three kinds of confidences, odd data, messages."""

import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from groups import first_fast
from problems import confidence_pairs, optimum_by_quadratic_program
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import label_ranking_loss
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler
from small_data import ODD, random_data

from skml_odm import MLODM, PMLODM
from skml_odm.datasets import add_candidate_noise
from skml_odm.estimators import disambiguation
from skml_odm.estimators.candidates import Neighbourhood, Prototypes, largest_is_one
from skml_odm.estimators.disambiguation import (
    Training,
    closeness_to_the_best,
    equal_weights,
    unseen_scores,
)
from skml_odm.features.operators import KernelOperator
from skml_odm.problems.confidences import ConfidenceLoss

KINDS = ("cross-fitted", "neighbours", "paper")
ROOT = Path(__file__).parents[2]


def candidate_data(m=40, d=4, q=4, seed=0, n_noisy=1):
    """Rows, their labels, and candidates; one row without candidates and one with all."""
    X, y = random_data(m, d, q, seed)
    candidates = add_candidate_noise(y, n_noisy, random_state=seed)
    candidates[0] = 0
    return X, y, candidates


def model_for(kind, **parameters):
    """C of the paper's kind is divided by the number of rows, labels and candidates."""
    C = parameters.pop("C", 1000.0 if kind == "paper" else 1.0)
    return PMLODM(
        **{"C": C, "confidence": kind, "random_state": 0, "threshold": "per-label", **parameters}
    )


# ---- the convex problem --------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_optimum_is_that_of_a_quadratic_program(seed):
    """Any confidences, ties and rows of zeros among them, both kernels, with and without b."""
    pytest.importorskip("clarabel")
    rng = np.random.default_rng(seed)
    m, q = int(rng.integers(5, 20)), int(rng.integers(2, 6))
    X = rng.normal(size=(m, 3))
    P = rng.random((m, q)) * (rng.random((m, q)) < 0.7)
    if seed % 3 == 0:
        P = np.round(3 * P) / 3
    P[0], P[1] = 0.0, 1.0
    C = 2.0 ** rng.uniform(-2, 6)
    theta, mu = [(0.0, 0.7), (rng.uniform(), rng.uniform()), (0.1, 0.0), (0.3, 1.0)][seed % 4]
    kernel, intercept = ["linear", "rbf"][seed % 2], seed % 3 > 0
    model = PMLODM(
        C=C, theta=theta, mu=mu, kernel=kernel, gamma=0.4, fit_intercept=intercept, tol=1e-8
    ).fit(X, P > 0, confidences=P)
    total = np.array([sum(max(a - b, 0.0) for a in row for b in row) for row in P])
    weight = np.divide(C, total, out=np.zeros(m), where=total > 0)
    K = linear_kernel(X) if kernel == "linear" else rbf_kernel(X, gamma=0.4)
    optimum = optimum_by_quadratic_program(
        KernelOperator(K, intercept),
        ConfidenceLoss(P, weight, theta, mu),
        *confidence_pairs(P, weight),
    )
    assert model.objective_ == pytest.approx(optimum, rel=1e-6)
    assert 0.0 <= model.dual_gap_ <= 1e-8
    np.testing.assert_array_equal(model.confidences_, P)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("threshold", ["per-label", "regression", "zero"])
def test_indicators_as_confidences_give_mlodm(kernel, threshold):
    X, y = random_data(m=50, q=4)
    options = {"C": 3.0, "theta": 0.1, "mu": 0.5, "kernel": kernel, "threshold": threshold}
    model = PMLODM(tol=1e-10, **options).fit(X, y, confidences=y)
    plain = MLODM(zero_label=False, tol=1e-10, **options).fit(X, y)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    np.testing.assert_allclose(model.dual_coef_, plain.dual_coef_, atol=1e-5)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-4)


def test_equal_weights_give_every_row_the_same():
    rng = np.random.default_rng(0)
    P = rng.random((20, 5)) * (rng.random((20, 5)) < 0.6)
    P[0], P[1], P[2], P[3] = 0.0, 1.0, 0.3, [1.0, 1.0, 0.0, 0.0, 0.0]
    weight = equal_weights(P, 2.5)
    total = np.zeros(20)
    for (i, _, _), c in zip(*confidence_pairs(P, weight), strict=True):
        total[i] += c
    np.testing.assert_array_equal(weight[:3], 0.0)
    np.testing.assert_allclose(total, np.where(np.ptp(P, axis=1) > 0.0, 2.5, 0.0))
    assert weight[3] == pytest.approx(2.5 / 6)


def test_rounding_is_no_pair():
    P = np.full((1, 3), 0.1)
    P[0, 1] = np.nextafter(0.1, 1.0)
    assert equal_weights(P, 1.0) == 0.0


def test_stopping_early_is_told():
    X, _, candidates = candidate_data(m=80)
    for kind in KINDS:
        with pytest.warns(ConvergenceWarning, match=r"PMLODM stopped.*max_iter=1\b") as record:
            model_for(kind, max_iter=1, tol=1e-12, C=1e4).fit(X, candidates)
        assert record[0].filename == __file__


# ---- confidences of all kinds --------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("seed", range(2))
def test_confidences_are_of_candidates(kind, kernel, seed):
    X, _, candidates = candidate_data(seed=seed)
    rows = rbf_kernel(X) if kernel == "precomputed" else X
    model = model_for(kind, kernel=kernel).fit(rows, candidates)
    P = model.confidences_
    assert P.shape == candidates.shape
    assert (P >= 0.0).all() and (P <= 1.0).all()
    assert not P[candidates == 0].any()
    assert (P[1:].sum(axis=1) >= 1.0 - 1e-9).all()
    if kind != "paper":
        np.testing.assert_allclose(P[1:].max(axis=1), 1.0)
        assert (model.objective_history_, model.n_outer_iter_) == ([], 1)
        assert model.confidence_solver_ == "none"
    shape = (4, 40) if kernel == "precomputed" else (4, 4)
    assert model.prototypes_.shape == shape
    assert 0.0 <= model.dual_gap_ <= 1e-3


def test_votes_of_neighbours():
    X, _, candidates = candidate_data()
    model = PMLODM(confidence="neighbours", n_neighbors=6).fit(X, candidates)
    votes = Neighbourhood(X, 6).smooth(candidates) * candidates
    np.testing.assert_array_equal(model.confidences_, largest_is_one(votes))
    weights = model.confidences_ / model.confidences_.sum(axis=0)
    np.testing.assert_allclose(model.prototypes_, weights.T @ X)


@pytest.mark.parametrize("kind", ["cross-fitted", "neighbours"])
def test_the_model_is_that_of_its_confidences(kind):
    """Stationary for the loss of its confidences, on pairs with certainly irrelevant labels."""
    X, _, candidates = candidate_data()
    model = model_for(kind, tol=1e-9, gamma=0.3).fit(X, candidates)
    P = model.confidences_
    G = np.zeros(P.shape)
    F = model.label_scores(X)
    for i, Z in enumerate(candidates.astype(bool)):
        for k in np.flatnonzero(Z):
            for other in np.flatnonzero(~Z):
                c = model.C * P[i, k] / (P[i].sum() * (~Z).sum())
                margin = F[i, k] - F[i, other]
                pull = c * (max(1.0 - margin, 0.0) - model.mu * max(margin - 1.0, 0.0))
                G[i, k] += pull
                G[i, other] -= pull
    np.testing.assert_allclose(model.dual_coef_, G, atol=1e-3 * model.C)


def test_cross_fitting_by_hand():
    """Five models, each without the rows of its fold, score these; the closer to the best one."""
    X, _, candidates = candidate_data(m=30)
    options = {"C": 2.0, "gamma": 0.3, "tol": 1e-9}
    model = PMLODM(random_state=5, **options).fit(X, candidates)
    scores = np.empty(candidates.shape)
    for fold in np.array_split(np.random.RandomState(5).permutation(30), 5):
        rest = np.setdiff1d(np.arange(30), fold)
        # that takes all candidates for labels
        other = MLODM(zero_label=False, **options).fit(X[rest], candidates[rest])
        scores[fold] = other.label_scores(X[fold])
    expected = np.zeros(candidates.shape)
    for i in range(1, 30):
        own = np.flatnonzero(candidates[i])
        close = np.clip(1.0 - (scores[i, own].max() - scores[i, own]), 0.0, 1.0)
        expected[i, own] = 0.25 + 0.75 * close
    np.testing.assert_allclose(model.confidences_, expected, atol=1e-4)


@pytest.mark.parametrize("m", [30, 90])
def test_unseen_scores_have_not_seen_the_row(m, monkeypatch):
    """Another row's labels change other scores of the same folds, never its own."""
    monkeypatch.setattr(disambiguation, "ROUGH", 1e-10)
    X, _, candidates = candidate_data(m=m)
    train = Training(KernelOperator(rbf_kernel(X, gamma=0.3), True), 0.0, 0.7, 1e-3, 500, 0)
    P = candidates.astype(float)
    P[5] = [1.0, 0.5, 0.0, 0.0]
    changed = P.copy()
    changed[5] = [0.0, 0.0, 0.0, 1.0]
    before, after = (
        unseen_scores(train, given, None, 3.0, 5, np.random.RandomState(1))
        for given in (P, changed)
    )
    np.testing.assert_allclose(after[5], before[5], atol=1e-4)
    fold = next(f for f in np.array_split(np.random.RandomState(1).permutation(m), 5) if 5 in f)
    np.testing.assert_allclose(after[fold], before[fold], atol=1e-4)
    others = np.setdiff1d(np.arange(m), fold)
    assert np.abs(after[others] - before[others]).max() > 0.01


def test_closeness_to_the_best():
    scores = np.array([[2.0, 1.75, 5.0, 0.5], [1.0, 2.0, 3.0, 4.0]])
    candidates = np.array([[True, True, False, True], [False] * 4])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = closeness_to_the_best(scores, candidates)
    np.testing.assert_allclose(found, [[1.0, 0.75, 0.0, 0.0], [0.0] * 4])


@pytest.mark.parametrize("threshold", ["per-label", "regression"])
def test_thresholds_are_fitted_to_credible_candidates(threshold):
    X, y, candidates = candidate_data(m=60, n_noisy=2)
    given = np.where(y == 1, 0.5, 0.49) * candidates
    model = PMLODM(threshold=threshold, C=10.0).fit(X, candidates, confidences=given)
    scores = model.label_scores(X)
    credible = given == 0.5
    expected = type(model.threshold_)().fit(scores, credible)(scores)
    np.testing.assert_allclose(model.threshold_(scores), expected, atol=1e-8)
    paper = model_for("paper", threshold=threshold).fit(X, candidates)
    scores = paper.label_scores(X)
    expected = type(paper.threshold_)().fit(scores, candidates == 1)(scores)
    np.testing.assert_allclose(paper.threshold_(scores), expected, atol=1e-8)


@pytest.mark.parametrize("make", [int, np.random.RandomState])
def test_same_seed_same_result(make):
    X, _, candidates = candidate_data(m=80)
    one, other = (PMLODM(random_state=make(7)).fit(X, candidates) for _ in range(2))
    np.testing.assert_array_equal(one.confidences_, other.confidences_)
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    another = PMLODM(random_state=8).fit(X, candidates)
    assert not np.array_equal(one.confidences_, another.confidences_)


@pytest.mark.parametrize("kind", ["neighbours", "paper"])
def test_other_kinds_are_not_random(kind):
    X, _, candidates = candidate_data()
    one, other = (model_for(kind).set_params(random_state=s).fit(X, candidates) for s in (0, 1))
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)


def test_the_default_learns():
    """Noisy labels are told from true ones, and new rows are ranked better than by chance."""
    X, y, candidates = candidate_data(m=200, q=5, seed=3)
    model = PMLODM(C=10.0, random_state=0).fit(X[:120], candidates[:120])
    P, true = model.confidences_[2:], y[2:120] == 1
    noisy = (candidates[2:120] == 1) & ~true
    assert P[true].mean() > P[noisy].mean() + 0.2
    assert label_ranking_loss(y[120:], model.label_scores(X[120:])) < 0.25


# ---- the paper's alternation ---------------------------------------------------------------


@pytest.fixture
def record(monkeypatch):
    """Every confidence step (its arguments and what it found), and every model, of a fit."""
    steps, models = [], []
    step, train = disambiguation.confidence_step, Training.__call__

    def recorded_step(*args, **kwargs):
        steps.append((args, step(*args, **kwargs)))
        return steps[-1][1]

    def recorded_train(self, confidences, *args, **kwargs):
        models.append((confidences, train(self, confidences, *args, **kwargs)))
        return models[-1][1]

    monkeypatch.setattr(disambiguation, "confidence_step", recorded_step)
    monkeypatch.setattr(Training, "__call__", recorded_train)
    return steps, models


def test_a_turn_in_which_cuts_failed_is_told(monkeypatch):
    """Not only if it was the last one."""
    step, turns = disambiguation.confidence_step, []

    def first_with_help(*args, **kwargs):
        turns.append(step(*args, **kwargs))
        return turns[-1]._replace(solver="cut+linprog") if len(turns) == 1 else turns[-1]

    monkeypatch.setattr(disambiguation, "confidence_step", first_with_help)
    X, _, candidates = candidate_data(m=25, n_noisy=2)
    model = model_for("paper", prototype_weight=10.0).fit(X, candidates)
    assert len(turns) > 1
    assert model.confidence_solver_ == "cut+linprog"


@pytest.mark.parametrize("prototype", ["adaptive", "fixed"])
@pytest.mark.parametrize("prototype_weight", [0.0, 0.1, 10.0])
@pytest.mark.parametrize("solver", ["cut", "linprog"])
def test_alternation(record, prototype, prototype_weight, solver):
    """Eq. 7 by definition: no confidence step raises it, and the history is what it gives."""
    X, _, candidates = candidate_data(m=25, n_noisy=2)
    parameters = {"prototype": prototype, "prototype_weight": prototype_weight, "theta": 0.1}
    model = model_for("paper", confidence_solver=solver, **parameters).fit(X, candidates)
    steps, models = record
    n_outer = model.n_outer_iter_
    assert 1 <= n_outer <= 10
    assert len(model.objective_history_) == len(steps) == n_outer == len(models) - 1
    weight = 1000.0 / (25 * 4 * np.maximum(candidates.sum(axis=1), 1))

    def value(P, scores, costs):
        total = np.vdot(P, costs)
        for i, k, label in np.ndindex(25, 4, 4):
            margin = scores[i, k] - scores[i, label]
            loss = max(0.9 - margin, 0.0) ** 2 + 0.7 * max(margin - 1.1, 0.0) ** 2
            total += 0.5 * weight[i] * max(P[i, k] - P[i, label], 0.0) * loss
        return total

    for turn, (args, found) in enumerate(steps):
        scores, _, costs = args[:3]
        P, result = models[turn]
        np.testing.assert_array_equal(scores, result.scores)
        after = value(found.confidences, scores, costs)
        assert after <= value(P, scores, costs) * (1 + 1e-9)
        assert found.value == pytest.approx(after, rel=1e-9)
        size = 0.5 * np.vdot(result.coefficients, scores)
        assert model.objective_history_[turn] == pytest.approx(size + after, rel=1e-6)
        assert (found.confidences[1:].sum(axis=1) >= 1.0 - 1e-9).all()
        np.testing.assert_array_equal(models[turn + 1][0], found.confidences)
    np.testing.assert_array_equal(model.confidences_, steps[-1][1].confidences)
    assert model.confidence_solver_ in (solver, f"{solver}+linprog")
    distances = np.linalg.norm(X[:, None] - model.prototypes_[None], axis=2)
    expected = prototype_weight * 1000.0 / 25 * distances
    np.testing.assert_allclose(steps[-1][0][2], expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_cuts_and_linear_programs_agree(seed):
    X, _, candidates = candidate_data(m=25, q=5, seed=seed, n_noisy=2)
    cut, reference = (
        model_for("paper", confidence_solver=solver, tol=1e-8).fit(X, candidates)
        for solver in ("cut", "linprog")
    )
    np.testing.assert_allclose(cut.objective_history_, reference.objective_history_, rtol=1e-5)
    np.testing.assert_allclose(cut.confidences_, reference.confidences_, atol=1e-6)
    np.testing.assert_allclose(cut.dual_coef_, reference.dual_coef_, atol=1e-4)


@pytest.mark.parametrize("convert", [np.array, sparse.csr_matrix])
def test_fixed_prototypes_never_move(convert, monkeypatch):
    X, _, candidates = candidate_data()
    updates, update = [], Prototypes.update
    monkeypatch.setattr(Prototypes, "update", lambda *a: (updates.append(1), update(*a)))
    model = model_for("paper", prototype="fixed").fit(convert(X), candidates)
    means = [X[candidates[:, k] == 1].mean(axis=0) for k in range(4)]
    np.testing.assert_allclose(model.prototypes_, means)
    assert len(updates) == 1
    assert model_for("paper").fit(convert(X), candidates).n_outer_iter_ == len(updates) - 2


def test_adaptive_prototypes_are_of_predicted_candidates():
    """After one turn: the weighted mean of the rows that the first model says have the label."""
    X, _, candidates = candidate_data(m=60)
    model = model_for("paper", max_outer_iter=1, tol=1e-9, C=1e5).fit(X, candidates)
    near = Neighbourhood(X, 10)
    votes = largest_is_one(near.smooth(candidates) * candidates)
    # the first model, its rows weighted by hand through MLODM's loss
    operator = KernelOperator(rbf_kernel(X, gamma=1 / (4 * X.var())), True)
    weight = 1e5 / (60 * 4 * np.maximum(candidates.sum(axis=1), 1))
    scores = Training(operator, 0.0, 0.7, 1e-9, 500, 0)(votes, weight).scores
    threshold = type(model.threshold_)().fit(scores, candidates == 1)
    predicted = (scores > threshold(scores)) & (candidates == 1)
    importance = near.smooth(predicted) * predicted
    assert predicted.any(axis=0).all()
    points = (importance / importance.sum(axis=0)).T @ X
    np.testing.assert_allclose(model.prototypes_, points, atol=1e-9)


def test_outer_iterations_end():
    X, _, candidates = candidate_data()
    for most in (1, 2, 3):
        model = model_for("paper", max_outer_iter=most).fit(X, candidates)
        assert model.n_outer_iter_ == len(model.objective_history_) <= most
    assert model_for("paper", max_outer_iter=1).fit(X, candidates).n_outer_iter_ == 1


def test_heavy_prototypes_choose_the_nearest():
    """With λ2 far above all else a row believes in the candidate whose prototype is nearest."""
    X, _, candidates = candidate_data()
    model = model_for("paper", prototype="fixed", prototype_weight=1e9, C=1.0).fit(X, candidates)
    distances = np.linalg.norm(X[:, None] - model.prototypes_[None], axis=2)
    nearest = np.where(candidates == 1, distances, np.inf).argmin(axis=1)
    expected = np.eye(4)[nearest] * candidates.any(axis=1)[:, None]
    np.testing.assert_allclose(model.confidences_, expected)


# ---- messages ------------------------------------------------------------------------------


def test_given_confidences_are_checked():
    X, _, candidates = candidate_data()
    good = candidates * 0.5
    negative, large, outside, missing = (good.copy() for _ in range(4))
    negative[3, np.flatnonzero(candidates[3])[0]] = -0.25
    large[3, np.flatnonzero(candidates[3])[0]] = 1.5
    k = np.flatnonzero(candidates[3] == 0)[0]
    outside[3, k] = 0.75
    missing[2, 0] = np.nan
    for given, message in (
        (good[:5], r"confidences must have the shape of y, \(40, 4\); got \(5, 4\)"),
        (good[:, :3], r"confidences must have the shape of y, \(40, 4\); got \(40, 3\)"),
        (negative, r"confidences must be in \[0, 1\]; got values from -0.25 to 0.5"),
        (large, r"confidences must be in \[0, 1\]; got values from 0 to 1.5"),
        (outside, rf"no candidates; got 0.75 for label {k} of row 3"),
        (missing, "confidences contains NaN"),
        (good[:, 0], "2D array"),
    ):
        with pytest.raises(ValueError, match=message):
            PMLODM().fit(X, candidates, confidences=given)


def test_given_confidences_may_be_zero_for_candidates():
    X, _, candidates = candidate_data()
    given = 0.0 * candidates
    model = PMLODM().fit(X, candidates, confidences=given.tolist())
    assert not model.dual_coef_.any()
    assert model.objective_ == 0.0
    assert not model.predict(X).any()


@pytest.mark.parametrize("kind", KINDS)
def test_given_confidences_are_not_learned(kind):
    X, _, candidates = candidate_data()
    given = candidates * np.random.default_rng(0).uniform(0.1, 1.0, size=candidates.shape)
    copy = given.copy()
    model = PMLODM(confidence=kind).fit(X, candidates, confidences=given)
    np.testing.assert_array_equal(model.confidences_, copy)
    np.testing.assert_array_equal(given, copy)
    assert model.confidences_ is not given and not np.shares_memory(model.confidences_, given)
    assert (model.n_outer_iter_, model.confidence_solver_) == (1, "none")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, r"C must be a number in \(0, inf\)"),
        (
            {"confidence": "votes"},
            "confidence must be one of 'cross-fitted', 'neighbours', 'paper'",
        ),
        ({"prototype_weight": -1.0}, r"prototype_weight must be a number in \[0, inf\)"),
        ({"prototype_weight": np.nan}, "prototype_weight must be a number"),
        ({"prototype": "moving"}, "prototype must be one of 'adaptive', 'fixed'"),
        ({"confidence_solver": "mosek"}, "confidence_solver must be one of 'cut', 'linprog'"),
        ({"max_outer_iter": 0}, r"max_outer_iter must be an integer in \[1, inf\)"),
        ({"max_outer_iter": 2.5}, "max_outer_iter must be an integer"),
        ({"n_neighbors": 0}, r"n_neighbors must be an integer in \[1, inf\)"),
        ({"theta": 1.1}, r"theta must be a number in \[0, 1\]"),
        ({"mu": -0.1}, r"mu must be a number in \[0, 1\]"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"fit_intercept": "yes"}, "fit_intercept must be True or False"),
        ({"threshold": "none"}, "threshold must be one of"),
        ({"random_state": "0"}, "random_state must be"),
    ],
)
def test_invalid_parameters(parameters, message):
    X, _, candidates = candidate_data(m=5)
    with pytest.raises(ValueError, match=message):
        PMLODM(**parameters).fit(X, candidates)


# ---- odd data ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("convert", first_fast([sparse.csr_matrix, np.asarray], 1))
def test_odd_data(name, kind, kernel, convert):
    """Shapes, finite numbers, a certificate, and no warning."""
    X, y = convert(ODD[name][0]), ODD[name][1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = model_for(kind, kernel=kernel, C=1.0).fit(X, y)
        decision = model.decision_function(X)
        predicted = model.predict(X)
    assert decision.shape == predicted.shape == model.confidences_.shape == y.shape
    assert np.isfinite(decision).all()
    assert np.isfinite(model.prototypes_).all()
    np.testing.assert_array_equal(predicted, decision > 0)
    assert 0.0 <= model.dual_gap_ <= 1e-3
    P = model.confidences_
    assert (P >= 0.0).all() and (P <= 1.0).all() and not P[y == 0].any()
    assert (P.sum(axis=1) >= y.any(axis=1) - 1e-9).all()


@pytest.mark.parametrize("kind", KINDS)
def test_one_dimensional_labels(kind):
    X, y = random_data(q=1)
    target = np.array(["cat", "dog"])[y[:, 0]]
    model = model_for(kind).fit(X, target)
    assert model.predict(X).shape == model.decision_function(X).shape == (40,)
    assert (model.predict(X) == target).mean() > 0.8
    assert model.confidences_.shape == (40, 1)
    assert model.prototypes_.shape == (1, 4)


@pytest.mark.parametrize("kind", ["cross-fitted", "neighbours"])
def test_one_label_is_that_of_mlodm(kind):
    """A label alone competes with its complement, and no candidate has a rival."""
    X, y = random_data(q=1)
    model = model_for(kind, tol=1e-10).fit(X, y)
    np.testing.assert_array_equal(model.confidences_, y)
    plain = MLODM(C=1.0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.label_scores(X), plain.label_scores(X), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_candidate_is_believed(kind):
    X, _, candidates = candidate_data()
    candidates[5:20] = np.eye(4, dtype=int)[np.arange(15) % 4]
    model = model_for(kind).fit(X, candidates)
    np.testing.assert_allclose(model.confidences_[5:20], candidates[5:20])


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_candidates_have_no_influence_on_scores(kind):
    X, _, candidates = candidate_data()
    model = model_for(kind, tol=1e-9).fit(X, candidates)
    assert not model.confidences_[0].any()
    np.testing.assert_allclose(model.dual_coef_[0], 0.0, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("convert", [np.array, np.asfortranarray, sparse.csr_matrix])
def test_inputs_stay_unchanged(kind, convert):
    X, _, candidates = candidate_data()
    X = convert(X)
    for array in (X.data if sparse.issparse(X) else X, candidates):
        array.setflags(write=False)
    model_for(kind).fit(X, candidates).predict(X)


@pytest.mark.parametrize("kind", KINDS)
def test_precomputed_kernel_stays_unchanged(kind):
    X, _, candidates = candidate_data()
    K = rbf_kernel(X)
    K.setflags(write=False)
    model_for(kind, kernel="precomputed").fit(K, candidates).predict(K)


# ---- evidence ------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.parametrize("seed", range(2))
def test_confidences_rank_better_than_candidates(seed, data_folder):
    """emotions, one noisy label per row: docs/pmlodm.md has the other data sets."""
    spec = importlib.util.spec_from_file_location(
        "benchmarks_data_for_pml", ROOT / "benchmarks" / "data.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    X, y, *_ = module.load_raw("emotions")
    X, X_test, y, y_test = train_test_split(X, y.astype(int), test_size=0.2, random_state=seed)
    scaler = MinMaxScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    candidates = add_candidate_noise(y, 1, random_state=seed)
    default, plain = (
        label_ranking_loss(y_test, model.fit(X, candidates).label_scores(X_test))
        for model in (PMLODM(C=10.0, random_state=0), MLODM(C=10.0, random_state=0))
    )
    print(f"emotions, seed {seed}: PMLODM {default:.4f}, MLODM on candidates {plain:.4f}")
    assert default < 0.95 * plain
