"""PathSearchCV without a grid."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from small_searches import X, Y, results

import skml_odm
from skml_odm import CSRL, M3L, MCODM, MLODM, ODM, PMLODM, Particle, PathSearchCV, RankLSVM, RankSVM
from skml_odm.estimators.kernel_model import KernelModel
from skml_odm.metrics import ranking_loss_scorer
from skml_odm.search.default_grid import default_grid, default_scorer

SCALE = 1 / (X.shape[1] * X.var())
FOLDS = KFold(3, shuffle=True, random_state=0)
CLASSES = [getattr(skml_odm, name) for name in skml_odm.__all__]
CLASSES = [each for each in CLASSES if isinstance(each, type) and issubclass(each, KernelModel)]
SECONDS_LONG = (CSRL, M3L, PMLODM, RankSVM)


def target_of(estimator, labels=Y):
    """Labels, or classes for a plain classifier."""
    return labels[:, 0] if isinstance(estimator, MCODM | ODM) else labels


def text(n=60, d=300, seed=0):
    """Rows with twenty words, most of them from the row's topics."""
    rng = np.random.default_rng(seed)
    y = (rng.random((n, 3)) < 0.4).astype(int)
    words = [
        rng.integers(d, size=20) % 3 * (d // 3)
        if not row.any()
        else rng.choice(np.flatnonzero(row), 20) * (d // 3) + rng.integers(d // 3, size=20)
        for row in y
    ]
    rows = np.zeros((n, d))
    np.add.at(rows, (np.repeat(np.arange(n), 20), np.concatenate(words)), 1.0)
    return rows, y


@pytest.mark.parametrize(
    "cls",
    [pytest.param(c, marks=[pytest.mark.slow] if c in SECONDS_LONG else []) for c in CLASSES],
)
def test_every_estimator_with_a_kernel_has_a_grid(cls):
    rows, labels = X[:40], Y[:40]
    search = PathSearchCV(cls(), cv=2, refit=False).fit(rows, target_of(cls(), labels))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert len(search.cv_results_["params"]) == np.prod(
        [len(v) for v in search.param_grid_.values()]
    )
    assert len(search.cv_results_["params"]) <= 24
    assert search.best_params_ in search.cv_results_["params"]
    assert search.param_grid is None


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_the_same_as_with_this_grid(container):
    rows = container(X)
    ours = PathSearchCV(MLODM(), cv=3).fit(rows, Y)
    scale = [0.125 * SCALE, 0.5 * SCALE, 2 * SCALE]
    np.testing.assert_allclose(ours.param_grid_["gamma"], scale, rtol=0.05)
    assert ours.param_grid_ == {
        "kernel": ["rbf"],
        "C": [1.0, 4.0, 16.0, 64.0],
        "gamma": ours.param_grid_["gamma"],
        "mu": [0.0, 0.7],
    }
    given = PathSearchCV(MLODM(), ours.param_grid_, FOLDS, ranking_loss_scorer).fit(rows, Y)
    assert ours.best_params_ == given.best_params_
    assert ours.scorer_ is ranking_loss_scorer
    assert given.param_grid_ == ours.param_grid_
    for name, values in results(given).items():
        np.testing.assert_array_equal(ours.cv_results_[name], values)
    np.testing.assert_array_equal(ours.predict(rows), given.predict(rows))


def test_a_pipeline_has_the_grid_of_its_rows():
    wide = X * [1.0, 10.0, 100.0, 1000.0, 1e4]
    pipeline = make_pipeline(StandardScaler(), MLODM())
    search = PathSearchCV(pipeline, cv=3).fit(wide, Y)
    scaled = StandardScaler().fit_transform(wide)
    expected = {f"mlodm__{k}": v for k, v in default_grid(MLODM(), scaled, Y).items()}
    assert search.param_grid_ == expected
    assert search.scorer_ is ranking_loss_scorer
    assert not hasattr(pipeline[0], "mean_")
    alone = PathSearchCV(make_pipeline(MLODM()), cv=3, refit=False).fit(X, Y)
    assert alone.param_grid_.keys() == expected.keys()


def test_texts_in_a_pipeline():
    rows, labels = text()
    texts = [" ".join(f"w{j}" for j in np.flatnonzero(row)) for row in rows]
    search = PathSearchCV(make_pipeline(TfidfVectorizer(), MLODM()), cv=2).fit(texts, labels)
    assert search.param_grid_["mlodm__kernel"] == ["linear"]
    # rows of length 1 around a mean near zero
    np.testing.assert_allclose(search.param_grid_["mlodm__C"], [1, 4, 16, 64], rtol=0.1)


@pytest.mark.parametrize("container", [np.asarray, sparse.csc_matrix, sparse.csr_array])
def test_kernel_by_the_rows(container):
    rows, labels = text()
    grid = default_grid(MLODM(), container(rows), labels)
    assert grid["kernel"] == ["linear"] and "gamma" not in grid
    # C times kernel values does not depend on the unit of the features
    np.testing.assert_allclose(
        np.array(default_grid(MLODM(), container(10 * rows), labels)["C"]) * 100,
        grid["C"],
        rtol=0.1,
    )
    few_columns = container(rows[:, :50])
    many_entries = container(np.where(rows, rows, 1.0))
    for other in (few_columns, many_entries):
        assert default_grid(MLODM(), other, labels)["kernel"] == ["rbf"]
    assert default_grid(MLODM(cache_size=0.01), few_columns, labels)["kernel"] == ["linear"]
    assert default_grid(MCODM(), few_columns, labels[:, 0])["kernel"] == ["rbf"]


def test_the_users_kernel_stays():
    rows, labels = text()
    assert default_grid(MCODM(kernel="rbf"), rows, labels[:, 0]).keys() == {"gamma", "C"}
    poly = default_grid(MLODM(kernel="poly", gamma=0.1), X, Y)
    assert poly["gamma"] == [0.013, 0.05, 0.2]
    assert "kernel" not in poly
    for kernel in ("cosine", polynomial_kernel):
        assert default_grid(MLODM(kernel=kernel), X, Y).keys() == {"C", "mu"}
    K = 100 * rbf_kernel(X)
    precomputed = default_grid(MLODM(kernel="precomputed"), K, Y)
    assert precomputed == {"C": [0.01, 0.04, 0.16, 0.64], "mu": [0.0, 0.7]}
    search = PathSearchCV(MLODM(kernel="precomputed"), cv=3).fit(K, Y)
    assert search.predict(K).shape == Y.shape


def test_weights_of_the_loss_follow_the_problem():
    assert default_grid(RankLSVM(), X, Y)["C"] == [1.0, 4.0, 16.0, 64.0]
    assert default_grid(CSRL(), X, Y)["beta"] == [1.0, 0.25, 0.062]
    # its loss is a mean over rows
    assert default_grid(ODM(), X, Y[:, 0])["C"] == [120.0, 480.0, 1900.0, 7700.0]


def test_rows_count_by_their_weights():
    weight = np.r_[np.full(60, 2.0), np.zeros(60)]
    weighted = default_grid(MLODM(), np.r_[X[:60], 9 * X[:60]], Y, weight)
    assert weighted == default_grid(MLODM(), X[:60], Y[:60])
    doubled = np.r_[X[:60], 9 * X[:60]]
    search = PathSearchCV(MLODM(), cv=2).fit(doubled, Y, sample_weight=weight + 1e-9)
    assert search.param_grid_ == weighted


def test_scorers():
    assert default_scorer(MLODM(), Y) is ranking_loss_scorer
    assert default_scorer(MLODM(), sparse.csr_matrix(Y)) is ranking_loss_scorer
    assert default_scorer(make_pipeline(StandardScaler(), MLODM()), Y.tolist()) is not None
    for estimator, labels in (
        (CSRL(), Y),
        (MCODM(), Y[:, 0]),
        (MLODM(), Y[:, 0]),
        (MLODM(), Y[:, :1]),
    ):
        assert default_scorer(estimator, labels) is None
    one = PathSearchCV(MLODM(), cv=3).fit(X, Y[:, 0])
    assert one.best_score_ > 0.6
    assert one.score(X, Y[:, 0]) == np.mean(one.predict(X) == Y[:, 0])
    # a user's scorer and grid keep theirs
    assert PathSearchCV(MLODM(), scoring="f1_micro", cv=3).fit(X, Y).best_score_ > 0.5
    given = PathSearchCV(MLODM(), {"C": [1.0]}, cv=3).fit(X, Y)
    subset_accuracy = GridSearchCV(MLODM(), {"C": [1.0]}, cv=3).fit(X, Y).best_score_
    assert given.best_score_ == pytest.approx(subset_accuracy, abs=0.02)


def test_rows_in_the_order_of_their_labels_do_not_matter():
    order = np.lexsort(Y.T)
    search = PathSearchCV(MLODM(), cv=3).fit(X[order], Y[order])
    in_order = PathSearchCV(MLODM(), search.param_grid_, KFold(3), ranking_loss_scorer)
    assert search.best_score_ > in_order.fit(X[order], Y[order]).best_score_ + 0.05
    other = PathSearchCV(MLODM(), cv=3, random_state=1).fit(X[order], Y[order])
    assert other.best_score_ != search.best_score_
    # splitters of the user stay, and classes stay stratified
    given = PathSearchCV(MLODM(), cv=KFold(3)).fit(X[order], Y[order])
    assert given.best_score_ == in_order.best_score_
    rare = np.arange(len(X)) < 6
    stratified = StratifiedKFold(3, shuffle=True, random_state=0)
    ours = PathSearchCV(ODM(), cv=3).fit(X, rare)
    given = PathSearchCV(ODM(), ours.param_grid_, cv=stratified).fit(X, rare)
    assert ours.best_score_ == given.best_score_


@pytest.mark.parametrize("strategy", ["sparing", "random", "lazy", "halving"])
def test_strategies(strategy):
    options = {"highest_score": 0.0, "n_candidates": 5, "cv": 3}
    search = PathSearchCV(MLODM(), strategy=strategy, **options).fit(X, Y)
    assert search.best_score_ > -0.25


@pytest.mark.parametrize(
    ("rows", "labels"),
    [(X[:12], Y[:12]), (X[:12], Y[:12, :1]), (np.ones((12, 3)), Y[:12]), (X[:12], 0 * Y[:12])],
    ids=["twelve rows", "one label", "constant", "no labels"],
)
def test_odd_data(rows, labels):
    search = PathSearchCV(MLODM(), cv=2).fit(rows, labels)
    assert search.predict(rows).shape == labels.shape
    assert clone(search).param_grid is None


@pytest.mark.parametrize(
    "estimator", [SVC(), Particle(), make_pipeline(StandardScaler(), SVC())], ids=str
)
def test_other_estimators_need_a_grid(estimator):
    name = "Particle" if isinstance(estimator, Particle) else "SVC"
    with pytest.raises(ValueError, match=f"param_grid must be given.*got .*None for {name}"):
        PathSearchCV(estimator).fit(X, Y)


def test_bad_rows_are_named():
    with pytest.raises(ValueError, match="contains NaN"):
        PathSearchCV(MLODM()).fit(np.where(X > 2, np.nan, X), Y)
    with pytest.raises(ValueError, match="y must hold only 0 and 1"):
        PathSearchCV(MLODM()).fit(X, 2 * Y)
