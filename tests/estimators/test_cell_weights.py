"""A weight for every label of every row: each level of weight is a row of its own."""

import numpy as np
import pytest
from groups import first_fast
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold
from written_out import GAMMA, PRECISE, PROBLEMS, random_data

from skml_odm import CSRL, MLODM, ODM, LabelDecisionCV, PathSearchCV, RankCVM, RankSVM
from skml_odm.utils.cell_weights import layers


def weighted_data(seed, m=9, q=4):
    """Rows, labels of which some are unknown, and three weights of cells, one of them zero."""
    X, y, _ = random_data(seed, m=m, q=q, share=0.15)
    weights = np.random.default_rng(seed).choice([0.0, 0.5, 1.3], p=[0.15, 0.45, 0.4], size=y.shape)
    return X, y, weights


def written_out(y, weights):
    """Row, labels (NaN where unknown) and weight of every layer."""
    for i, (row, w) in enumerate(zip(y, weights, strict=True)):
        below = 0.0
        for level in sorted(set(w[~np.isnan(row)]) - {0.0}):
            yield i, np.where(w >= level, row, np.nan), level - below
            below = level


@pytest.mark.parametrize("seed", first_fast(range(20), 3))
@pytest.mark.parametrize("name", PROBLEMS)
def test_optimum_is_that_of_a_quadratic_program(name, seed):
    model, reference = PROBLEMS[name]
    X, y, weights = weighted_data(seed)
    model = clone(model).set_params(**PRECISE).fit(X, y, weights)
    rows, labels, levels = map(np.array, zip(*written_out(y, weights), strict=True))
    optimum = reference(rbf_kernel(X[rows], gamma=GAMMA), labels, levels)
    assert model.objective_ == pytest.approx(optimum, rel=1e-6, abs=1e-9)
    assert model.dual_gap_ <= 1e-8
    assert model.dual_coef_.shape[0] == len(X)


def test_layers_add_up_to_the_weights():
    weights = np.random.default_rng(0).choice([0.0, 0.1, 0.7, 2.0], size=(50, 6))
    row, known, weight = layers(weights)
    total = np.zeros_like(weights)
    np.add.at(total, row, known * weight[:, None])
    np.testing.assert_allclose(total, weights, rtol=0, atol=1e-15)
    assert np.all(np.diff(row) >= 0)
    assert len(layers(np.array([[0.1 + 0.2, 0.3, 0.0]]))[0]) == 1
    assert weight.min() > 0.0


@pytest.mark.parametrize(
    "model", [MLODM(), RankCVM(zero_label=True), RankSVM(), CSRL(), MLODM(threshold="regression")]
)
def test_what_other_weights_and_unknown_labels_say(model):
    X, y, weights = weighted_data(1, m=30)
    model.set_params(tol=1e-7)
    known, of_rows = ~np.isnan(y), np.linspace(0.0, 2.0, len(X))
    equal = {
        "rows": ((y, np.tile(of_rows[:, None], 4)), (y, of_rows)),
        "unknown": ((np.nan_to_num(y), 1.0 * known), (y, None)),
        "both": ((np.nan_to_num(y), weights * known), (y, weights)),
    }
    for name, fits in equal.items():
        one, other = (clone(model).fit(X, *given) for given in fits)
        scores = other.label_scores(X)
        np.testing.assert_allclose(
            one.label_scores(X), scores, atol=3e-3 * np.ptp(scores), err_msg=name
        )


def test_kernels_and_containers_agree():
    X, y, weights = weighted_data(2, m=30)
    plain = MLODM(kernel="linear").fit(X, y, weights)
    given = MLODM(kernel="precomputed", tol=1e-6).fit(X @ X.T, y, weights)
    for model in (
        MLODM(kernel="linear").fit(sparse.csr_matrix(X), sparse.csr_matrix(y), weights.tolist()),
        plain,
    ):
        np.testing.assert_allclose(model.label_scores(X), given.label_scores(X @ X.T), atol=0.02)
    assert not plain.predict_proba(X)[:, (weights * (y == 1) == 0).all(axis=0)].any()


def test_copies_of_a_row_are_in_one_fold(monkeypatch):
    """Calibration must not see a row's own labels."""
    X, y, weights = weighted_data(3, m=30)
    seen = []
    fit = MLODM.make_problem

    def note(model, prepared):
        seen.append(prepared.rows)
        return fit(model, prepared)

    monkeypatch.setattr(MLODM, "make_problem", note)
    MLODM().fit(X, y, weights)
    everything, *parts = seen
    assert len(parts) == 3
    for part in parts:
        left_out = len(everything) - len(part)
        of_part = {row.tobytes() for row in part}
        assert sum(row.tobytes() not in of_part for row in everything) == left_out


def test_searches_and_decisions_take_them():
    X, y, weights = weighted_data(4, m=60)
    kept = weights.copy()
    search = PathSearchCV(MLODM(), cv=KFold(3)).fit(X, y, sample_weight=weights)
    by_hand = clone(search.best_estimator_).fit(X, y, weights)
    np.testing.assert_allclose(
        search.best_estimator_.label_scores(X), by_hand.label_scores(X), atol=0.01
    )
    rows, labels, levels = map(np.array, zip(*written_out(y, weights), strict=True))
    score = by_hand.score(X[rows], labels, levels)
    assert by_hand.score(X, y, weights) == pytest.approx(score)
    grid = GridSearchCV(MLODM(), {"C": [1.0, 8.0]}, cv=KFold(3), error_score="raise")
    assert grid.fit(X, y, sample_weight=weights).best_score_ > 0.0
    for measure in ("micro-f1", "macro-f1", "hamming"):
        model = LabelDecisionCV(MLODM(threshold="regression"), measure).fit(X, y, weights)
        same = LabelDecisionCV(MLODM(threshold="regression"), measure).fit(
            X, np.where(weights > 0.0, y, np.nan), weights
        )
        np.testing.assert_array_equal(model.predict(X), same.predict(X))
        assert model.measures_ == same.measures_
    np.testing.assert_array_equal(weights, kept)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones((9, 3)), r"sample_weight must have one entry per row or per cell of y.*\(9, 3\)"),
        (np.ones((8, 4)), "inconsistent numbers of samples"),
        (-np.ones((9, 4)), "Negative values in data passed to `?sample_weight`?"),
        (np.full((9, 4), np.nan), "sample_weight contains NaN"),
        (np.zeros((9, 4)), "sample_weight must have an entry above zero"),
        (np.ones((9, 4, 1)), "sample_weight must have one entry per row or per row and label; got"),
    ],
)
def test_bad_weights(weights, words):
    X, y, _ = weighted_data(0)
    with pytest.raises(ValueError, match=words):
        MLODM().fit(X, y, weights)


def test_estimators_that_cannot_take_them_say_so():
    X, _, weights = weighted_data(0)
    y = X[:, 0] > 0
    with pytest.raises(ValueError, match=r"^sample_weight must have one entry per row; got shape"):
        ODM().fit(X, y, weights)
    with pytest.raises(ValueError, match=r"^sample_weight must have one entry per row or per cell"):
        LabelDecisionCV(LogisticRegression()).fit(X, y, weights)
