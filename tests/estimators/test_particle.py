"""PARTICLE: its neighbours, propagation and credible labels, its votes, its tables, odd data."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import lsq_linear
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import label_ranking_loss
from sklearn.svm import SVC

from skml_odm import Particle
from skml_odm.datasets import add_candidate_noise
from skml_odm.estimators.propagation import (
    credible_labels,
    nearest_rows,
    propagate,
    reconstruction_weights,
    unit_range,
)

VARIANTS = ("vls", "map")


def random_data(m=60, d=4, q=4, seed=0):
    """Rows whose labels depend on the features, and candidates: these and one wrong label."""
    rng = np.random.default_rng(seed)
    X = rng.random((m, d))
    y = ((X - 0.5) @ rng.normal(size=(d, q)) + 0.1 * rng.normal(size=(m, q)) > 0).astype(int)
    return X, y, add_candidate_noise(y, 1, random_state=seed)


def stage_one(X, candidates, n_neighbors=10, alpha=0.95, credibility=0.9):
    neighbours, distances = nearest_rows(X, n_neighbors)
    graph = reconstruction_weights(X, neighbours)
    confidence = propagate(graph, candidates, alpha)
    credible = credible_labels(confidence, candidates, neighbours, distances, credibility)
    return neighbours, distances, graph, confidence, credible


# ---- neighbours ----------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 7, 59, 100])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_neighbours_are_the_nearest_other_rows(k, convert, monkeypatch):
    monkeypatch.setattr("skml_odm.estimators.propagation.DISTANCE_ENTRIES", 200)
    X, _, _ = random_data()
    neighbours, distances = nearest_rows(convert(X), k)
    assert neighbours.shape == distances.shape == (60, min(k, 59))
    for i, x in enumerate(X):
        distance = np.sqrt(((X - x) ** 2).sum(axis=1))
        others = sorted((value, j) for j, value in enumerate(distance) if j != i)[:k]
        np.testing.assert_array_equal(neighbours[i], [j for _, j in others])
        np.testing.assert_allclose(distances[i], [value for value, _ in others], atol=1e-7)


def test_ties_go_to_the_first_rows():
    """Four corners of a square and its copies: duplicates first, then by row number."""
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    neighbours, distances = nearest_rows(np.vstack([corners, corners]), 4)
    np.testing.assert_array_equal(neighbours[0], [4, 1, 3, 5])
    np.testing.assert_array_equal(neighbours[6], [2, 1, 3, 5])
    np.testing.assert_allclose(distances[0], [0, 1, 1, 1])


def test_one_row_has_no_neighbours():
    neighbours, distances = nearest_rows(np.ones((1, 3)), 10)
    assert neighbours.shape == distances.shape == (1, 0)


def test_weights_are_those_of_bounded_least_squares():
    X, _, _ = random_data(m=25, d=6)
    neighbours, _ = nearest_rows(X, 4)
    before = neighbours.copy()
    graph = reconstruction_weights(X, neighbours).toarray()
    np.testing.assert_array_equal(neighbours, before)
    for i, near in enumerate(neighbours):
        w = lsq_linear(X[near].T, X[i], (0, np.inf), method="bvls").x
        np.testing.assert_allclose(graph[i, near], w / w.sum(), atol=1e-7)
        assert np.count_nonzero(graph[i]) <= len(near)
    same = reconstruction_weights(sparse.csr_matrix(X), neighbours).toarray()
    np.testing.assert_allclose(same, graph, atol=1e-12)


def test_a_row_that_no_neighbour_helps_listens_to_none():
    X = np.array([[1.0], [-1.0], [0.0]])
    graph = reconstruction_weights(X, nearest_rows(X, 2)[0]).toarray()
    np.testing.assert_array_equal(graph, np.zeros((3, 3)))


# ---- confidences ---------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.95])
def test_confidences_solve_a_linear_system(alpha):
    """Given the row sums s, the fixed point is linear: s_i f_ik = α Σ_a h_ia f_ak + 1 − α."""
    X, _, candidates = random_data(m=30)
    candidates = candidates == 1
    _, _, graph, confidence, _ = stage_one(X, candidates, alpha=alpha)
    np.testing.assert_allclose(confidence.sum(axis=1), 1.0)
    assert (confidence[~candidates] == 0).all()
    assert (confidence >= 0).all()
    sums = np.where(candidates, alpha * (graph @ confidence) + 1 - alpha, 0.0).sum(axis=1)
    for label in range(candidates.shape[1]):
        mask = candidates[:, label].astype(float)
        system = np.diag(sums) - alpha * mask[:, None] * graph.toarray()
        solution = np.linalg.solve(system, (1 - alpha) * mask)
        np.testing.assert_allclose(confidence[:, label], solution, atol=1e-6)


def test_confidences_of_two_rows_by_hand():
    """Rows that rebuild each other, one sure of label 0: f = (α + 1 − α) / (1 + 1 − α)."""
    graph = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    candidates = np.array([[True, False], [True, True]])
    alpha = 0.5
    confidence = propagate(graph, candidates, alpha)
    np.testing.assert_allclose(confidence[0], [1, 0])
    # row 1 hears (1, 0) from row 0 and adds its own candidates
    np.testing.assert_allclose(confidence[1], [1.0 / 1.5, 0.5 / 1.5])


def test_rows_without_candidates_keep_zero_confidence():
    X, _, candidates = random_data()
    candidates[:5] = 0
    _, _, _, confidence, credible = stage_one(X, candidates == 1)
    assert not confidence[:5].any()
    assert not credible[:5].any()
    assert np.isfinite(confidence).all()


def test_propagation_that_does_not_settle_warns(monkeypatch):
    monkeypatch.setattr("skml_odm.estimators.propagation.PROPAGATION_TOL", -1.0)
    with pytest.warns(ConvergenceWarning, match="Lower alpha"):
        propagate(sparse.csr_array(np.zeros((1, 1))), np.array([[True]]), 0.5)


# ---- credible labels -----------------------------------------------------------------------


def test_unit_range():
    values = np.array([[1.0, 3.0, 2.0], [2.0, 2.0, 2.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(unit_range(values), [[0, 1, 0.5], [1, 1, 1], [0, 0, 0]])


@pytest.mark.parametrize("credibility", [0.0, 0.5, 0.9, 1.0])
def test_credible_labels_are_candidates(credibility):
    X, _, candidates = random_data()
    candidates = candidates == 1
    *_, credible = stage_one(X, candidates, credibility=credibility)
    assert (credible <= candidates).all()
    np.testing.assert_array_equal(credible.any(axis=1), candidates.any(axis=1))
    if credibility == 0.0:
        np.testing.assert_array_equal(credible, candidates)


def test_credible_labels_by_hand():
    """Scaled to label counts, then voted on by neighbours with weights 1 − d/Σd."""
    confidence = np.array([[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]])
    candidates = confidence > 0
    neighbours = np.array([[1, 2], [0, 2], [1, 0]])
    distances = np.array([[1.0, 3.0], [1.0, 1.0], [2.0, 3.0]])
    # counts (2, 3) over masses (1.25, 1.75): rows become (1.2, .43), (.8, .86), (0, 1.71)
    # and in the unit range (1, 0), (0, 1), (0, 1); each row asks its two neighbours
    credible = credible_labels(confidence, candidates, neighbours, distances, 0.9)
    # row 0: 0.75 (0, 1) + 0.25 (0, 1): label 1; row 1: 0.5 (1, 0) + 0.5 (0, 1): both;
    # row 2: 0.6 (0, 1) + 0.4 (1, 0): label 1
    np.testing.assert_array_equal(credible, [[False, True], [True, True], [False, True]])


def test_the_best_candidate_is_credible_where_neighbours_believe_in_others():
    confidence = np.array([[1.0, 0.0, 0.0], [0.0, 0.2, 0.8]])
    candidates = confidence > 0
    neighbours, distances = np.array([[1], [0]]), np.ones((2, 1))
    credible = credible_labels(confidence, candidates, neighbours, distances, 0.9)
    # row 1 hears of label 0 only, no candidate of its own: both candidates are equally good
    np.testing.assert_array_equal(credible, candidates)


def test_credible_labels_are_right_more_often_than_candidates(data_folder):
    data = np.load(data_folder / "emotions.npz")
    X, y = data["X"].astype(float), data["Y"] == 1
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    candidates = add_candidate_noise(y, 1, random_state=0)
    *_, credible = stage_one(X, candidates)
    assert y[candidates].mean() < 0.7
    assert y[credible].mean() > 0.85


# ---- votes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_machines_are_support_vector_machines_of_certain_rows(variant):
    X, _, candidates = random_data()
    model = Particle(variant=variant, C=3.0).fit(X, candidates)
    credible, irrelevant = model.credible_, candidates == 0
    q = 4
    assert len(model.pairs_) == (10 if variant == "vls" else 6)
    scores = np.zeros((len(X), q + 1))
    for (first, second), weight in zip(model.pairs_, model.vote_weight_, strict=True):
        if second == q:
            a, b = credible[:, first], irrelevant[:, first]
        else:
            a = credible[:, first] & irrelevant[:, second]
            b = credible[:, second] & irrelevant[:, first]
        rows = a | b
        machine = SVC(C=3.0, kernel="linear").fit(X[rows], a[rows])
        expected = (machine.predict(X[rows]) == a[rows]).mean() if variant == "vls" else 1.0
        assert weight == pytest.approx(expected)
        votes = machine.predict(X)
        scores[votes, first] += weight
        scores[~votes, second] += weight
    if variant == "vls":
        np.testing.assert_allclose(model.label_scores(X), scores[:, :q], atol=1e-9)
        decision = scores[:, :q] - scores[:, q:]
        np.testing.assert_allclose(model.decision_function(X), decision, atol=1e-9)
    else:
        np.testing.assert_allclose(model._votes(X), scores, atol=1e-9)


def test_a_machine_that_sees_one_label_only_votes_for_it():
    X, y, _ = random_data()
    y[:, 0] = 1
    model = Particle().fit(X, y)
    with_first = (model.pairs_ == 0).any(axis=1)
    assert (model.coef_[with_first] == 0).all()
    assert (model.intercept_[with_first] == 1).all()
    assert (model.decision_function(X)[:, 0] > 0).all()


# ---- the maximum a posteriori rule ---------------------------------------------------------


def test_posterior_by_counting():
    """Log odds from Bayes' rule, with every count taken on training rows alone."""
    X, _, candidates = random_data()
    model = Particle(variant="map", n_neighbors=6).fit(X, candidates)
    neighbours, _ = nearest_rows(X, 6)
    votes, X_new = model._votes(X), random_data(seed=9)[0]
    new_votes, decision = model._votes(X_new), model.decision_function(X_new)
    for label in range(4):
        prior = 1 + sum(candidates[near, label].sum() >= 3 for near in neighbours)
        prior /= 2 + len(X)
        relevant = votes[model.credible_[:, label], label]
        irrelevant = votes[candidates[:, label] == 0, label]
        for row, count in enumerate(new_votes[:, label]):
            # four labels: 0 to 3 votes, one more row for each
            for_label = prior * (1 + (relevant == count).sum()) / (4 + len(relevant))
            against = (1 - prior) * (1 + (irrelevant == count).sum()) / (4 + len(irrelevant))
            assert decision[row, label] == pytest.approx(np.log(for_label / against))


def test_tables_do_not_depend_on_what_is_predicted():
    """Other rows in the same call, or calls in between, change no score."""
    X, _, candidates = random_data()
    X_new = random_data(seed=5)[0]
    model = Particle(variant="map").fit(X, candidates)
    tables = model.prior_.copy(), model.likelihood_.copy()
    together = model.decision_function(X_new)
    alone = np.vstack([model.decision_function(row[None]) for row in X_new])
    np.testing.assert_array_equal(alone, together)
    mixed = model.decision_function(np.vstack([X_new[:3], 5 * X_new - 2]))
    np.testing.assert_array_equal(mixed[:3], together[:3])
    np.testing.assert_array_equal(model.prior_, tables[0])
    np.testing.assert_array_equal(model.likelihood_, tables[1])
    np.testing.assert_allclose(model.likelihood_.sum(axis=2), 1.0)


# ---- learning ------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_learns_in_spite_of_wrong_candidates(variant):
    X, y, candidates = random_data(m=400)
    model = Particle(variant=variant).fit(X[:200], candidates[:200])
    assert label_ranking_loss(y[200:], model.label_scores(X[200:])) < 0.25


def test_variants_share_the_first_stage_and_forget_each_other():
    X, _, candidates = random_data()
    model = Particle(variant="map").fit(X, candidates)
    credible = model.credible_
    model.set_params(variant="vls").fit(X, candidates)
    np.testing.assert_array_equal(model.credible_, credible)
    assert not hasattr(model, "prior_")
    assert not hasattr(model, "likelihood_")


# ---- odd data ------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "y",
    [[[1]], [[0]], [[1, 0]], [[1, 1, 1]], [[0, 0, 0]]],
    ids=str,
)
def test_one_row(variant, y):
    model = Particle(variant=variant).fit([[1.0, 2.0]], y)
    np.testing.assert_array_equal(model.predict([[1.0, 2.0], [0.0, 5.0]]), y * 2)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n_neighbors", [1, 2, 1000])
@pytest.mark.parametrize(
    "change",
    ["constant", "zero", "duplicates", "no candidates", "all candidates", "few rows"],
)
def test_odd_data(variant, n_neighbors, change):
    X, _, y = random_data()
    if change == "constant":
        X[:, :] = 1.0
    elif change == "zero":
        X[:, :] = 0.0
    elif change == "duplicates":
        X, y = np.repeat(X[:6], 10, axis=0), np.repeat(y[:6], 10, axis=0)
    elif change == "no candidates":
        y[::2] = 0
    elif change == "all candidates":
        y[::2] = 1
    else:
        X, y = X[:2], y[:2]
    model = Particle(variant=variant, n_neighbors=n_neighbors).fit(X, y)
    decision = model.decision_function(X)
    assert np.isfinite(decision).all()
    np.testing.assert_array_equal(model.predict(X), decision > 0)
    assert (model.credible_ <= (y == 1)).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_label_is_a_binary_machine(variant):
    X, y, _ = random_data(m=120)
    model = Particle(variant=variant, C=10.0).fit(X, y[:, 0])
    plain = SVC(C=10.0, kernel="linear").fit(X, y[:, 0])
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"variant": "svm"}, r"variant must be one of 'vls', 'map'; got 'svm'"),
        ({"C": 0}, r"C must be a number in \(0, inf\); got 0"),
        ({"n_neighbors": 0}, r"n_neighbors must be an integer in \[1, inf\); got 0"),
        ({"n_neighbors": 2.5}, r"n_neighbors must be an integer in \[1, inf\); got 2.5"),
        ({"alpha": 1}, r"alpha must be a number in \[0, 1\); got 1"),
        ({"alpha": -0.1}, r"alpha must be a number in \[0, 1\); got -0.1"),
        ({"credibility": 1.5}, r"credibility must be a number in \[0, 1\]; got 1.5"),
        ({"max_iter": 0}, r"max_iter must be an integer in \[1, .*\]; got 0"),
    ],
    ids=str,
)
def test_invalid_parameters(parameters, message):
    X, _, y = random_data(m=10)
    with pytest.raises(ValueError, match=message):
        Particle(**parameters).fit(X, y)


def test_machines_that_stop_short_warn():
    X, _, y = random_data()
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        Particle(max_iter=1).fit(X, y)
