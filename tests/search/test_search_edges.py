"""PathSearchCV: pipelines, scorers that fail, unusual folds and arguments."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler
from small_searches import CV, Stopping, X, Y, assert_same

from skml_odm import MLODM, PathSearchCV
from skml_odm.metrics import ranking_loss_scorer
from skml_odm.search.fold import Stages
from skml_odm.search.matrices import source_matrix

GRID = {"C": [10.0, 0.1, 1.0]}
PIPELINE_GRID = {"mlodm__C": [0.5, 5.0]}


def both(estimator, grid, rows=X, labels=Y, **options):
    """Our search and scikit-learn's, fitted."""
    options = {"cv": CV, **options}
    ours = PathSearchCV(estimator, grid, **options).fit(rows, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ours, GridSearchCV(estimator, grid, **options).fit(rows, labels)


def test_whole_and_real_parameters_of_steps_are_different():
    """min_df=1 means one text, min_df=1.0 all of them."""
    rng = np.random.default_rng(0)
    texts = np.array(["all " + " ".join(rng.choice(list("abcd"), 2)) for _ in range(60)])
    labels = np.array(["a" in text.split() for text in texts]).astype(int)
    words = CountVectorizer(token_pattern=r"\w+")
    pipeline = Pipeline([("words", words), ("model", LogisticRegression())])
    assert_same(*both(pipeline, {"words__min_df": [1, 1.0]}, texts, labels))


class Scale(TransformerMixin, BaseEstimator):
    """Columns multiplied by weights."""

    def __init__(self, weights=1.0):
        self.weights = weights

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X * self.weights


@pytest.mark.parametrize("strategy", ["grid", "lazy"])
def test_parameters_that_are_arrays(strategy):
    pipeline = make_pipeline(Scale(), MLODM(tol=1e-9))
    grid = {"scale__weights": [np.ones(5), np.arange(5.0)], **PIPELINE_GRID}
    options = {"cv": CV, "scoring": ranking_loss_scorer, "error_score": "raise"}
    ours = PathSearchCV(pipeline, grid, strategy=strategy, **options).fit(X, Y)
    n_candidates = 4 if strategy == "grid" else 3
    assert len(ours.cv_results_["params"]) == n_candidates
    if strategy == "grid":
        theirs = GridSearchCV(pipeline, grid, **options).fit(X, Y)
        np.testing.assert_allclose(
            ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-6
        )


def test_arrays_as_parameters_of_others():
    """Estimators that share nothing have all their candidates in one task."""
    pipeline = make_pipeline(Scale(), LogisticRegression())
    grid = {"scale__weights": [np.ones(5), np.arange(5.0)]}
    options = {"cv": CV, "error_score": "raise"}
    ours = PathSearchCV(pipeline, grid, **options).fit(X, Y[:, 0])
    theirs = GridSearchCV(pipeline, grid, **options).fit(X, Y[:, 0])
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
    )


def test_pipelines_of_one_step():
    pipeline = make_pipeline(MLODM(tol=1e-9))
    assert_same(*both(pipeline, PIPELINE_GRID, scoring=ranking_loss_scorer))


@pytest.mark.parametrize("several", [False, True])
def test_functions_score_whole_pipelines(several):
    def steps_and_rows(estimator, X, y):
        low = estimator.named_steps["minmaxscaler"].data_min_[0]
        return low + X[0, 0] + estimator.decision_function(X)[0, 0]

    scoring = {"own": steps_and_rows, "acc": "accuracy"} if several else steps_and_rows
    pipeline = make_pipeline(MinMaxScaler(), MLODM(tol=1e-10))
    grid = {"minmaxscaler__feature_range": [(0, 1), (0, 3)], **PIPELINE_GRID}
    ours, theirs = both(pipeline, grid, scoring=scoring, refit="own" if several else True)
    assert_same(ours, theirs, tolerance=1e-4)


def test_one_scorer_of_several_fails():
    def fails(estimator, X, y):
        if estimator.C == 10.0:
            raise RuntimeError("no score today")
        return 1.0

    scoring = {"fails": fails, "loss": ranking_loss_scorer}
    with pytest.warns(UserWarning, match=r"(?s)Scoring failed in 3 of 9.*no score today"):
        ours, theirs = both(MLODM(tol=1e-8), GRID, scoring=scoring, refit="loss")
    assert_same(ours, theirs)
    assert np.isnan(ours.cv_results_["mean_test_fails"]).tolist() == [True, False, False]
    with pytest.raises(RuntimeError, match="today"):
        both(MLODM(), GRID, scoring=scoring, refit="loss", error_score="raise")


@pytest.mark.parametrize("result", [1.0, {"a": 1.0, "b": 2.0}], ids=["number", "dict"])
def test_the_only_scorer_fails(result):
    def fails(estimator, X, y):
        if estimator.C == 10.0:
            raise RuntimeError("no score today")
        return result

    refit = "b" if isinstance(result, dict) else True
    search = PathSearchCV(MLODM(), GRID, cv=CV, scoring=fails, refit=refit, error_score=-7.0)
    with pytest.warns(UserWarning, match="Scoring failed"):
        search.fit(X, Y)
    name = "b" if isinstance(result, dict) else "score"
    np.testing.assert_array_equal(
        search.cv_results_[f"mean_test_{name}"], [-7.0, *[result if name == "score" else 2.0] * 2]
    )
    with pytest.raises(RuntimeError, match="today"):
        PathSearchCV(MLODM(), GRID, scoring=fails, refit=refit, error_score="raise").fit(X, Y)


def test_all_scores_fail():
    def fails(estimator, X, y):
        raise RuntimeError("no score today")

    with pytest.warns(UserWarning) as caught:
        search = PathSearchCV(MLODM(), GRID, cv=CV, scoring=fails).fit(X, Y)
    assert any("Scoring failed in 9 of 9" in str(each.message) for each in caught)
    assert np.isnan(search.cv_results_["mean_test_score"]).all()


def test_scores_are_numbers():
    with pytest.raises(ValueError, match="scoring must return a number"):
        PathSearchCV(MLODM(), GRID, cv=CV, scoring=lambda e, X, y: "good").fit(X, Y)


def test_halving_with_several_scores_of_one_function():
    def two(estimator, X, y):
        return {"C": estimator.C, "loss": ranking_loss_scorer(estimator, X, y)}

    options = {"cv": CV, "strategy": "halving", "scoring": two}
    search = PathSearchCV(MLODM(), GRID, refit="C", **options).fit(X, Y)
    assert search.best_params_ == {"C": 10.0}
    assert np.isnan(search.cv_results_["split2_test_loss"]).tolist() == [False, True, True]
    with pytest.raises(ValueError, match="refit"):
        PathSearchCV(MLODM(), GRID, refit="nope", **options).fit(X, Y)


@pytest.mark.parametrize("form", ["lists", "ranges", "masks"])
def test_forms_of_folds(form):
    make = {"lists": list, "ranges": lambda part: part, "masks": lambda part: in_part(part)}[form]

    def in_part(part):
        return np.isin(np.arange(len(X)), part)

    folds = [(range(40, 120), range(40)), (range(80), range(80, 120))]
    shown = [(make(train), make(test)) for train, test in folds]
    assert_same(*both(MLODM(tol=1e-8), GRID, cv=shown, scoring=ranking_loss_scorer))


@pytest.mark.parametrize("part", [[0.5, 1.5], [True, False], [[1, 2]]])
def test_folds_that_are_no_rows(part):
    with pytest.raises(ValueError, match="cv must give"):
        PathSearchCV(MLODM(), GRID, cv=[(part, [1, 2])]).fit(X, Y)


def test_weights_for_the_last_step():
    weight = np.random.default_rng(0).uniform(size=len(X))
    pipeline = make_pipeline(MinMaxScaler(), MLODM(tol=1e-8, random_state=0))
    search = PathSearchCV(pipeline, PIPELINE_GRID, cv=CV, scoring=ranking_loss_scorer)
    search.fit(X, Y, sample_weight=weight)
    alone = pipeline.set_params(**search.best_params_).fit(X, Y, mlodm__sample_weight=weight)
    np.testing.assert_allclose(search.decision_function(X), alone.decision_function(X))


def test_room_is_for_all_rows(monkeypatch):
    """The matrix has all rows, however few a fold has."""
    made = []

    def noted(*arguments):
        made.append(arguments)
        return source_matrix(*arguments)

    monkeypatch.setattr("skml_odm.search.run.source_matrix", noted)
    folds = [(np.arange(20, 60), np.arange(20)), (np.arange(40), np.arange(40, 60))]
    needed = 8e-6 * len(X) ** 2
    for cache_size in (0.9 * needed, 1.1 * needed):
        PathSearchCV(MLODM(), GRID, cv=folds, cache_size=cache_size).fit(X, Y)
    assert len(made) == 1


def test_an_interrupted_search_forgets_the_last_one():
    search = PathSearchCV(MLODM(), GRID, cv=CV, scoring=ranking_loss_scorer).fit(X, Y)
    assert search.refit_time_ > 0
    search.set_params(scoring=Stopping(8, KeyboardInterrupt()))
    with pytest.warns(UserWarning, match="interrupted"):
        search.fit(X, Y)
    for name in ("best_estimator_", "refit_time_"):
        assert not hasattr(search, name)
    with pytest.raises(NotFittedError, match="not fitted"):
        search.predict(X)
    search.set_params(scoring=Stopping(0, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    for name in ("cv_results_", "best_params_", "best_score_", "best_index_", "scorer_"):
        assert not hasattr(search, name)


def test_candidates_have_their_own_generators():
    """Neither the grid's generators nor the estimator's are used up, or shared."""
    own, of_grid = np.random.RandomState(0), np.random.RandomState(1)
    before = own.get_state()[1].copy(), of_grid.get_state()[1].copy()
    stages = Stages(MLODM(random_state=own), X, Y, X)
    first, second = (stages.prepare({"C": C})[0].random_state for C in (1.0, 2.0))
    assert len({id(each) for each in (own, first, second)}) == 3
    assert first.randint(10**6) == second.randint(10**6)
    first, second = (
        stages.prepare({"C": C, "random_state": of_grid})[0].random_state for C in (1.0, 2.0)
    )
    assert first.randint(10**6) == second.randint(10**6)
    np.testing.assert_array_equal(own.get_state()[1], before[0])
    np.testing.assert_array_equal(of_grid.get_state()[1], before[1])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"param_grid": []}, "param_grid must have at least one candidate"),
        ({"param_grid": [], "strategy": "random"}, "param_grid must have at least one candidate"),
        ({"param_grid": {}, "strategy": "lazy"}, "param_grid must have at least one candidate"),
        ({"cv": []}, "cv must give at least one fold"),
        ({"n_jobs": "two"}, "n_jobs must be an integer.*'two'"),
        ({"n_jobs": 1.5}, "n_jobs must be an integer.*1.5"),
        ({"n_jobs": 0}, "n_jobs must be an integer.*0"),
        ({"refit": 5}, "refit must be .*5"),
        ({"refit": None}, "refit must be .*None"),
        ({"refit": "nope"}, "refit must be .*'nope'"),
        ({"refit": "nope", "scoring": None}, "refit must be .*'nope'"),
        ({"error_score": np.array([0.0, 1.0])}, "error_score must be .*array"),
    ],
)
def test_arguments_that_make_no_search(wrong, words):
    arguments = {"param_grid": GRID, "cv": CV, "scoring": ranking_loss_scorer, **wrong}
    with pytest.raises(ValueError, match=words):
        PathSearchCV(MLODM(), **arguments).fit(X, Y)


def test_arguments_that_are_fine():
    search = PathSearchCV(
        MLODM(), GRID, cv=CV, scoring="accuracy", refit="accuracy", error_score=np.float32(0)
    )
    assert search.fit(X, Y).best_params_ in search.cv_results_["params"]


def test_targets_may_be_missing():
    """Scorers then get rows only, as from GridSearchCV."""

    class Spread(BaseEstimator):
        def __init__(self, power=1):
            self.power = power

        def fit(self, X, y=None):
            self.spread_ = np.std(X) ** self.power
            return self

        def score(self, X, y=None):
            return -abs(np.std(X) - self.spread_)

    assert_same(*both(Spread(), {"power": [1, 2]}, X, None, scoring=lambda e, X: e.score(X)))


def test_scorers_of_sklearn_see_the_last_step_only():
    """The steps before it are not applied again for functions of predictions."""
    seen = []

    class Counting(Scale):
        def transform(self, X):
            seen.append(len(X))
            return super().transform(X)

    pipeline = Pipeline([("scale", Counting()), ("model", SGDClassifier(random_state=0))])
    grid = {"model__alpha": [1e-4, 1e-3, 1e-2]}
    scoring = make_scorer(accuracy_score)
    PathSearchCV(pipeline, grid, cv=CV, scoring=scoring, refit=False).fit(X, Y[:, 0])
    assert len(seen) == 2 * 3


@pytest.mark.parametrize("convert", [np.asarray, pd.DataFrame, sparse.csr_matrix])
def test_unknown_labels(convert):
    """The same results as GridSearchCV, which must be told what the folds are."""
    hidden = np.random.default_rng(0).random(Y.shape) < 0.3
    y = convert(np.where(hidden, np.nan, Y))
    model, grid = MLODM(tol=1e-8), {"C": [0.5, 4.0], "mu": [0.0, 0.7]}
    found = PathSearchCV(model, grid, cv=3, scoring=ranking_loss_scorer).fit(X, y)
    expected = GridSearchCV(model, grid, cv=KFold(3), scoring=ranking_loss_scorer).fit(X, y)
    assert_same(found, expected)
    accuracy = PathSearchCV(model, grid, cv=2).fit(X, y)
    assert 0.0 < accuracy.best_score_ < 1.0
    assert PathSearchCV(MLODM(), cv=2).fit(X, y).best_score_ > -0.5
