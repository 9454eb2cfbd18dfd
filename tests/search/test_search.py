"""PathSearchCV: the same results as GridSearchCV."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, ParameterGrid, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import get_tags
from small_searches import CV, X, Y, assert_same, means, results

from skml_odm import (
    CSRL,
    M3L,
    MCODM,
    MLODM,
    ODM,
    PMLLRS,
    PMLODM,
    Particle,
    PathSearchCV,
    RankCVM,
    RankLSVM,
    RankSVM,
    RankSVMz,
)
from skml_odm.metrics import average_precision_scorer, ranking_loss_scorer
from skml_odm.search.candidates import ends_first, tasks

GRIDS = [
    (
        MLODM(tol=1e-8, random_state=0),
        {"C": [0.1, 1, 30], "gamma": [0.05, "scale"], "theta": [0, 0.6], "mu": [0.2, 1]},
    ),
    (
        MLODM(tol=1e-8, random_state=0),
        {"kernel": ["linear", "poly", "laplacian", "cosine", "rbf"], "C": [1.0, 8.0]},
    ),
    (MLODM(tol=1e-8, solver="bcd", random_state=0), {"C": [0.5, 1.0]}),
    (
        MLODM(tol=1e-8, fit_intercept=False, random_state=0),
        {"C": [0.5, 4.0], "threshold": ["zero", 0.3]},
    ),
    (RankLSVM(tol=1e-8, random_state=0), {"C": [0.5, 2, 20], "gamma": [0.05, 0.3]}),
    (RankCVM(tol=1e-8, random_state=0), {"C": [0.5, 2, 20], "gamma": [0.05, 0.3]}),
    (RankSVM(tol=1e-6, random_state=0), {"C": [0.5, 5], "gamma": [0.05, 0.3]}),
    (RankSVMz(tol=1e-6, random_state=0), {"C": [0.5, 5], "gamma": [0.05, 0.3]}),
    (CSRL(tol=1e-8, random_state=0), {"beta": [0.5, 5.0], "kernel": ["linear", "rbf"]}),
    (CSRL(tol=1e-8, covariance="learn", random_state=0), {"beta": [1.0, 9.0]}),
    (M3L(tol=1e-8, random_state=0), {"C": [0.5, 5], "covariance": [None, "correlation"]}),
    (PMLODM(tol=1e-8, random_state=0), {"C": [0.5, 5], "gamma": [0.05, 0.3]}),
    (Particle(), {"k": [5, 8]} if "k" in Particle().get_params() else {"n_neighbors": [5, 8]}),
    (PMLLRS(), {}),
]


@pytest.mark.parametrize(("estimator", "grid"), GRIDS, ids=lambda value: type(value).__name__)
def test_same_scores_as_grid_search(estimator, grid):
    scoring = {"loss": ranking_loss_scorer, "precision": average_precision_scorer}
    if not hasattr(estimator, "decision_function"):
        scoring = "accuracy"
    options = {"cv": CV, "scoring": scoring, "refit": "loss" if scoring != "accuracy" else True}
    ours = PathSearchCV(estimator, grid, **options).fit(X, Y)
    theirs = GridSearchCV(estimator, grid, **options).fit(X, Y)
    assert_same(ours, theirs)
    assert ours.best_index_ == theirs.best_index_
    assert ours.best_params_ == theirs.best_params_
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X))
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    assert ours.score(X, Y) == pytest.approx(theirs.score(X, Y))


@pytest.mark.parametrize(
    "estimator", [ODM(tol=1e-9, random_state=0), MCODM(mu=0.0, tol=1e-6, random_state=0)], ids=repr
)
def test_plain_classifiers(estimator):
    y = Y[:, 0] if isinstance(estimator, ODM) else Y[:, 0] + 2 * Y[:, 1]
    grid = {"C": [1.0, 30.0], "kernel": ["linear", "rbf"], "theta": [0.1, 0.4]}
    ours = PathSearchCV(estimator, grid, cv=4).fit(X, y)
    theirs = GridSearchCV(estimator, grid, cv=4).fit(X, y)
    assert_same(ours, theirs)


def test_estimators_of_others():
    grid = {"C": [0.1, 1.0]}
    ours = PathSearchCV(LogisticRegression(), grid).fit(X, Y[:, 0])
    theirs = GridSearchCV(LogisticRegression(), grid).fit(X, Y[:, 0])
    assert_same(ours, theirs)


@pytest.mark.parametrize("container", ["csr", "frame", "list", "precomputed", "float32"])
def test_containers(container):
    model, rows, labels = MLODM(tol=1e-8), X, Y
    if container == "csr":
        rows, labels = sparse.csr_matrix(X * (np.abs(X) > 0.5)), sparse.csr_matrix(Y)
    elif container == "frame":
        rows, labels = pd.DataFrame(X, columns=list("abcde")), pd.DataFrame(Y)
    elif container == "list":
        rows, labels = X.tolist(), Y.tolist()
    elif container == "precomputed":
        model, rows = MLODM(kernel="precomputed", tol=1e-8), X @ X.T
    else:
        rows = X.astype(np.float32)
    grid = {"C": [0.5, 5.0]}
    options = {"cv": CV, "scoring": ranking_loss_scorer}
    ours = PathSearchCV(model, grid, **options).fit(rows, labels)
    assert_same(ours, GridSearchCV(model, grid, **options).fit(rows, labels))
    if container == "frame":
        np.testing.assert_array_equal(ours.feature_names_in_, list("abcde"))
    assert get_tags(ours).input_tags.pairwise == (container == "precomputed")


def test_label_names_are_those_of_the_best_estimator():
    labels = pd.DataFrame(Y, columns=["sea", "sky", "sun", "tree"])
    for estimator, prefix in ((MLODM(), ""), (make_pipeline(MLODM()), "mlodm__")):
        search = PathSearchCV(estimator, {f"{prefix}C": [0.5, 5.0]}, cv=CV).fit(X, labels)
        assert search.label_names_.tolist() == list(labels.columns)
        assert isinstance(search.predict(X), np.ndarray)
        assert not hasattr(search.fit(X, Y), "label_names_")


def test_sample_weight_and_one_dimensional_targets():
    weight = np.random.default_rng(0).uniform(0, 2, size=len(X))
    weight[:10] = 0.0
    grid, exact = {"C": [0.5, 5.0], "theta": [0.1, 0.5]}, {"tol": 1e-9, "random_state": 0}
    # other thresholds choose among tied cuts
    ranker = MLODM(threshold="zero", **exact)
    for model, y in ((ranker, Y), (ranker, Y[:, 0]), (ODM(**exact), Y[:, 0])):
        ours = PathSearchCV(model, grid, cv=CV).fit(X, y, sample_weight=weight)
        theirs = GridSearchCV(model, grid, cv=CV).fit(X, y, sample_weight=weight)
        for key, values in results(theirs).items():
            np.testing.assert_allclose(ours.cv_results_[key], values, atol=1e-6)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X))


def test_pipelines():
    """Steps before the model are fitted to each fold; their parameters can be searched, too."""
    pipeline = make_pipeline(MinMaxScaler(), MLODM(tol=1e-9))
    grid = {
        "minmaxscaler__feature_range": [(0, 1), (0, 3)],
        "mlodm__C": [0.5, 5.0],
        "mlodm__gamma": [0.1, 1.0],
    }
    options = {"cv": CV, "scoring": ranking_loss_scorer}
    ours = PathSearchCV(pipeline, grid, **options).fit(X, Y)
    assert_same(ours, GridSearchCV(pipeline, grid, **options).fit(X, Y))


def test_scorers_that_look_at_the_model():
    """Scores are only reused for equal models where they depend on predictions alone."""

    def parameter(estimator, X, y):
        copy = pickle.loads(pickle.dumps(estimator))
        assert copy.threshold_.intercept_ == estimator.threshold_.intercept_
        return {"mu": estimator.mu, "half": estimator.label_scores(X[:5])[0, 0]}

    grid = {"mu": [0.1, 0.5], "theta": [0.9], "C": [0.01]}
    model = MLODM(threshold="regression", tol=1e-9)
    ours = PathSearchCV(model, grid, cv=CV, scoring=parameter, refit="mu").fit(X, Y)
    theirs = GridSearchCV(model, grid, cv=CV, scoring=parameter, refit="mu").fit(X, Y)
    assert_same(ours, theirs)
    assert ours.best_params_["mu"] == 0.5


def test_refit_by_a_function_and_not_at_all():
    grid = {"C": [0.5, 5.0]}
    last = PathSearchCV(MLODM(), grid, cv=CV, refit=lambda table: len(table["params"]) - 1)
    assert last.fit(X, Y).best_params_ == {"C": 5.0}
    scoring = {"a": ranking_loss_scorer, "b": average_precision_scorer}
    plain = PathSearchCV(MLODM(), grid, cv=CV, scoring=scoring, refit=False).fit(X, Y)
    assert not hasattr(plain, "best_estimator_")
    assert "mean_test_b" in plain.cv_results_
    with pytest.raises(ValueError, match="refit"):
        PathSearchCV(MLODM(), grid, cv=CV, scoring=scoring, refit=True).fit(X, Y)


def test_failing_candidates():
    grid = {"C": [-1.0, 1.0]}
    search = PathSearchCV(MLODM(), grid, cv=CV)
    with pytest.warns(FitFailedWarning, match="C must be"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="One or more of the test scores")
        search.fit(X, Y)
    assert np.isnan(search.cv_results_["mean_test_score"][0])
    assert search.best_params_ == {"C": 1.0}
    with pytest.raises(ValueError, match="C must be"):
        PathSearchCV(MLODM(), grid, cv=CV, error_score="raise").fit(X, Y)
    with pytest.raises(ValueError, match="Invalid parameter"):
        PathSearchCV(MLODM(), {"D": [1.0]}, cv=CV, error_score="raise").fit(X, Y)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("strategy", "best"),
        ("n_candidates", 0),
        ("factor", 1.0),
        ("cache_size", -1),
        ("random_state", -3),
        ("verbose", "loud"),
        ("error_score", "ignore"),
    ],
)
def test_invalid_parameters(parameter, value):
    with pytest.raises(ValueError, match=parameter):
        PathSearchCV(MLODM(), {"C": [1.0]}, **{parameter: value}).fit(X, Y)


def test_without_room_for_the_matrix_of_all_rows():
    grid = {"C": [0.5, 5.0], "gamma": [0.1, 0.5]}
    options = {"cv": CV, "scoring": ranking_loss_scorer}
    with_room = PathSearchCV(MLODM(tol=1e-9), grid, **options).fit(X, Y)
    without = PathSearchCV(MLODM(tol=1e-9), grid, cache_size=0.01, **options).fit(X, Y)
    assert_same(without, with_room)


def test_random_and_lazy_strategies():
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.1, 1.0]}
    options = {"cv": CV, "scoring": ranking_loss_scorer}
    full = PathSearchCV(MLODM(), grid, **options).fit(X, Y)
    score = {str(p): s for p, s in means(full)}
    some = PathSearchCV(MLODM(), grid, strategy="random", n_candidates=4, random_state=0, **options)
    some.fit(X, Y)
    assert len(some.cv_results_["params"]) == 4
    lazy = PathSearchCV(MLODM(), grid, strategy="lazy", **options).fit(X, Y)
    tried = lazy.cv_results_["params"]
    assert tried[:3] == [{"C": C, "gamma": 0.1} for C in grid["C"]]
    best_C = max(grid["C"], key=lambda C: score[str({"C": C, "gamma": 0.1})])
    assert len(tried) == 5
    assert all(p["C"] == best_C for p in tried[3:])
    for search in (some, lazy):
        for p, s in means(search):
            assert s == pytest.approx(score[str(dict(sorted(p.items())))], abs=5e-3)
    with pytest.raises(ValueError, match="param_grid"):
        PathSearchCV(MLODM(), [grid], strategy="lazy").fit(X, Y)


@pytest.mark.parametrize("measure", ["accuracy", "losses"])
def test_sparing_finds_the_best_with_fewer_fits(measure):
    grid = {"C": [1e-3, 0.1, 1.0, 10.0], "gamma": [1e-3, 0.1, 10.0]}
    scoring, highest = ("accuracy", 1.0) if measure == "accuracy" else (ranking_loss_scorer, 0.0)
    options = {"cv": 5, "scoring": scoring, "refit": False}
    full = PathSearchCV(MLODM(tol=1e-9), grid, **options).fit(X, Y)
    some = PathSearchCV(
        MLODM(tol=1e-9), grid, strategy="sparing", highest_score=highest, **options
    ).fit(X, Y)
    assert some.best_params_ == full.best_params_
    assert some.best_score_ == pytest.approx(full.best_score_, abs=1e-9)
    scores = np.array([some.cv_results_[f"split{i}_test_score"] for i in range(5)])
    known = np.isfinite(scores)
    assert known[0].all() and not known[-1].all()
    wanted = np.array([full.cv_results_[f"split{i}_test_score"] for i in range(5)])
    np.testing.assert_allclose(scores[known], wanted[known], atol=1e-9)
    # whoever was spared could not have reached the first fold's best, not a fold too early or late
    leader = wanted[:, wanted[0].argmax()].mean()
    for theirs in scores.T[~known.all(axis=0)]:
        n_done = np.isfinite(theirs).sum()
        reach = (np.nansum(theirs) + (5 - n_done) * highest) / 5
        before = (np.sum(theirs[: n_done - 1]) + (6 - n_done) * highest) / 5
        assert reach < leader <= before


def test_sparing_keeps_ties_and_failures():
    def scorer(model, X, y):
        if model.C == 3.0:
            raise ValueError
        return 1.0

    options = {"cv": 3, "scoring": scorer, "refit": False, "highest_score": 1.0}
    search = PathSearchCV(MLODM(), {"C": [1.0, 2.0, 3.0]}, strategy="sparing", **options)
    with pytest.warns(UserWarning, match="Scoring failed in 1 of 7 fits"):
        search.fit(X, Y)
    assert search.best_params_ == {"C": 1.0}
    np.testing.assert_array_equal(search.cv_results_["rank_test_score"], [1, 1, 3])
    search.set_params(param_grid={"C": [3.0]})
    with pytest.warns(UserWarning, match="Scoring failed in 3 of 3 fits"):
        search.fit(X, Y)


@pytest.mark.parametrize(
    "options, message",
    [
        ({}, "highest_score must be a finite number; got None"),
        ({"highest_score": np.nan}, "highest_score must be a finite number; got nan"),
        ({"highest_score": 1.0, "refit": len}, "refit must not be a callable"),
    ],
)
def test_what_sparing_needs(options, message):
    with pytest.raises(ValueError, match=message):
        PathSearchCV(MLODM(), {"C": [1.0]}, strategy="sparing", **options).fit(X, Y)


def test_halving_drops_candidates_after_each_fold():
    grid = {"C": [0.01, 0.1, 1.0, 10.0], "gamma": [0.01, 0.1]}
    search = PathSearchCV(MLODM(), grid, cv=CV, strategy="halving", factor=2.0)
    search.fit(X, Y)
    done = [np.isfinite(search.cv_results_[f"split{i}_test_score"]).sum() for i in range(3)]
    assert done == [8, 4, 2]
    assert np.isfinite(search.best_score_)
    assert np.isfinite(search.cv_results_["split2_test_score"][search.best_index_])


def test_host_and_sklearn_use():
    search = PathSearchCV(MLODM(), {"C": [0.5, 5.0]}, cv=2, scoring=ranking_loss_scorer)
    assert cross_val_score(search, X, Y, cv=2, scoring=ranking_loss_scorer).shape == (2,)
    copy = clone(search)
    assert copy.get_params()["cache_size"] == 1000.0
    before = X.copy(), Y.copy()
    copy.fit(X, Y)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(Y, before[1])


def test_tasks_share_kernel_matrices():
    grid = list(ParameterGrid({"C": [1, 2, 3], "gamma": [0.1, 0.2], "mu": [0.1, 0.2, 0.3]}))
    fold = (0, np.arange(4), np.arange(4, 6))
    made = tasks(MLODM(), grid, range(len(grid)), fold, 1)
    assert sorted(index for task in made for index in task.indices) == list(range(len(grid)))
    assert [len({c["gamma"] for c in task.candidates}) for task in made] == [1, 1]
    assert [(c["C"], c["mu"]) for c in made[0].candidates[:4]] == [
        (1, 0.1),
        (1, 0.3),
        (1, 0.2),
        (2, 0.1),
    ]
    many = tasks(MLODM(), grid, range(len(grid)), fold, 6)
    assert len(many) >= 6
    assert sorted(index for task in many for index in task.indices) == list(range(len(grid)))


@pytest.mark.parametrize("n", range(12))
def test_ends_first(n):
    order = ends_first(list(range(n)))
    assert sorted(order) == list(range(n))
    if n > 2:
        assert order[:2] == [0, n - 1]
        # every later one lies between two earlier ones
        for i, at in enumerate(order[2:], start=2):
            assert min(order[:i]) < at < max(order[:i])


def test_scorers_of_sklearn_agree_with_ours():
    from sklearn.metrics import label_ranking_loss

    theirs = make_scorer(
        label_ranking_loss, greater_is_better=False, response_method="decision_function"
    )
    for threshold in ("regression", "per-label", "zero", 0.3):
        model = MLODM(threshold=threshold).fit(X, Y)
        assert ranking_loss_scorer(model, X, Y) == pytest.approx(theirs(model, X, Y))


@pytest.mark.parametrize("search", [GridSearchCV, PathSearchCV])
def test_several_ranking_scorers_with_weights(search):
    scoring = {"loss": ranking_loss_scorer, "precision": average_precision_scorer}
    found = search(MLODM(), {"C": [1.0, 2.0]}, cv=CV, scoring=scoring, refit="loss")
    found.fit(X, Y, sample_weight=np.linspace(0.5, 2.0, len(X)))
    assert np.isfinite(found.cv_results_["mean_test_precision"]).all()
