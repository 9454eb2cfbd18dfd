"""What scikit-multilearn and scikit-learn expect of a multi-label classifier.

The host runs each of its classifiers through one shared test base that neither of its two
distributions ships. This file and test_containers.py state that contract in our own words. Here:
host ensembles and splits, model selection, parameters, and the complaints of the host's users that
we must never hear again. The estimators that keep the contract are listed in host_data.py.
"""

import inspect
import pickle
import random
import subprocess
import sys

import joblib
import numpy as np
import pytest
from host_data import (
    COLUMN,
    N_LABELS,
    PARTITIONS,
    VOTINGS,
    X_ALL,
    X_NEW,
    Y_ALL,
    Y_NEW,
    AllLabels,
    X,
    Y,
    as_array,
    assert_mirrors,
    assert_same_model,
    cluster_votes,
    fit_ensemble,
    fixed_partition,
    fixed_voting,
    main_parameter,
)
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.metrics import (
    accuracy_score,
    hamming_loss,
    label_ranking_average_precision_score,
    label_ranking_loss,
    make_scorer,
)
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    ShuffleSplit,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils.validation import has_fit_parameter
from skmultilearn.base import MLClassifierBase, ProblemTransformationBase
from skmultilearn.model_selection import IterativeStratification, iterative_train_test_split
from skmultilearn.problem_transform import BinaryRelevance, LabelPowerset

from skml_odm.metrics import average_precision_scorer, one_error_scorer, ranking_loss_scorer

# Ordinary data must neither stop short of the tolerance nor compute with infinities.
pytestmark = pytest.mark.filterwarnings(
    "error:.* stopped after .* iterations:sklearn.exceptions.ConvergenceWarning",
    "error::RuntimeWarning",
    "ignore:The kernel matrix is not positive:sklearn.exceptions.ConvergenceWarning",
    "ignore:the matrix subclass:PendingDeprecationWarning",
)


@pytest.fixture
def seeded():
    """Seed the two global generators that the host draws from, and put them back."""
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    yield
    random.setstate(states[0])
    np.random.set_state(states[1])  # noqa: NPY002


# Scores and labels


@pytest.mark.parametrize("threshold", ["regression", "per-label", "zero", 0.25])
def test_a_label_is_predicted_where_the_decision_is_positive(one_of_each, threshold):
    """decision_function is an array of one column per label; predict is its sign."""
    if "threshold" not in one_of_each.get_params():
        pytest.skip("its threshold is fixed")
    model = one_of_each.set_params(threshold=threshold).fit(sparse.csr_matrix(X), Y)
    for X_new in (X_NEW, sparse.csr_matrix(X_NEW)):
        decision = model.decision_function(X_new)
        assert type(decision) is np.ndarray
        assert decision.shape == (len(X_NEW), N_LABELS)
        np.testing.assert_array_equal(model.predict(X_new), decision > 0)


def test_probabilities_are_probabilities(fitted):
    """A model offers no probabilities, or ones in [0, 1] in the container of y."""
    if not hasattr(fitted, "predict_proba"):
        assert not hasattr(clone(fitted).fit(X, sparse.csr_matrix(Y)), "predict_proba")
        return
    for y in (Y, sparse.csr_matrix(Y)):
        probability = clone(fitted).fit(X, y).predict_proba(X_NEW)
        assert sparse.issparse(probability) == sparse.issparse(y)
        assert probability.shape == Y_NEW.shape
        assert 0.0 <= as_array(probability).min() <= as_array(probability).max() <= 1.0


# The host's ensembles


def test_the_host_takes_us_for_one_of_its_own(estimator):
    """The host recognises its classifiers by their base, and hands those sparse matrices."""
    assert isinstance(estimator, MLClassifierBase)
    assert ProblemTransformationBase(estimator).require_dense == [False, False]


@pytest.mark.shared_code(make=[fixed_partition])
@pytest.mark.parametrize("make", PARTITIONS)
@pytest.mark.usefixtures("seeded")
def test_partition_of_the_label_space(estimator, make):
    """An ensemble over a partition predicts what models of its parts predict."""
    ensemble = fit_ensemble(make, estimator)
    assert sorted(np.concatenate(list(map(list, ensemble.partition_)))) == list(range(N_LABELS))
    votes, _ = cluster_votes(estimator, ensemble.partition_)
    for X_new in (X_NEW, sparse.csr_matrix(X_NEW)):
        prediction = ensemble.predict(X_new)
        assert sparse.issparse(prediction)
        np.testing.assert_array_equal(prediction.toarray(), votes)


@pytest.mark.shared_code
@pytest.mark.parametrize("make", VOTINGS)
@pytest.mark.usefixtures("seeded")
def test_majority_vote_of_overlapping_clusters(estimator, make):
    """An ensemble of overlapping clusters predicts what more than half of its voters predict."""
    ensemble = fit_ensemble(make, estimator)
    votes, voters = cluster_votes(estimator, ensemble.partition_)
    assert voters.max() > 1
    for X_new in (X_NEW, sparse.csr_matrix(X_NEW)):
        np.testing.assert_array_equal(as_array(ensemble.predict(X_new)), votes / voters > 0.5)


def test_binary_relevance(estimator):
    """One of our models per label, each fitted to a single sparse column."""
    ensemble = fit_ensemble(BinaryRelevance, estimator)
    votes, _ = cluster_votes(estimator, [[label] for label in range(N_LABELS)])
    np.testing.assert_array_equal(ensemble.predict(X_NEW).toarray(), votes)


def test_label_powerset_is_refused_in_words(estimator):
    """A label powerset asks for a multi-class model, which ours are not, and they say so."""
    with pytest.raises(ValueError, match=r"multiclass.*per label"):
        LabelPowerset(estimator).fit(X, Y)


@pytest.mark.shared_code
@pytest.mark.usefixtures("seeded")
def test_a_fitted_ensemble_can_be_pickled(estimator):
    """An ensemble of ours survives a round trip through pickle."""
    ensemble = fit_ensemble(fixed_voting, estimator)
    copy = pickle.loads(pickle.dumps(ensemble))
    np.testing.assert_array_equal(copy.predict(X_NEW).toarray(), ensemble.predict(X_NEW).toarray())


@pytest.mark.shared_code
def test_grid_search_through_an_ensemble(estimator):
    """GridSearchCV reaches our parameters through the host's ensemble and clones both."""
    fit_ensemble(fixed_partition, estimator)
    partitions = [[[0, 1], [2, 3]], [[0, 1, 2, 3]]]
    name = main_parameter(estimator)
    value = getattr(estimator, name)
    grid = {f"classifier__{name}": [1e-4, 1.0], "clusterer__clusters": partitions}
    ensemble = fixed_partition(estimator)
    folds = KFold(3)
    search = GridSearchCV(ensemble, grid, scoring="accuracy", cv=folds, error_score="raise")
    search.fit(X, Y)
    results = search.cv_results_
    expected = []
    for parameters in results["params"]:
        candidate = clone(ensemble).set_params(**parameters)
        scores = cross_val_score(candidate, X, Y, scoring="accuracy", cv=folds)
        expected.append(scores.mean())
    np.testing.assert_allclose(results["mean_test_score"], expected)
    assert np.unique(results["mean_test_score"]).size > 1
    best = search.best_params_
    chosen = {getattr(model, name) for model in search.best_estimator_.classifiers_}
    assert chosen == {best[f"classifier__{name}"]}
    assert len(search.best_estimator_.classifiers_) == len(best["clusterer__clusters"])
    assert as_array(search.predict(X_NEW)).shape == Y_NEW.shape
    assert getattr(estimator, name) == getattr(clone(estimator), name) == value
    assert not hasattr(estimator, "classes_")


@pytest.mark.shared_code
def test_grid_search_replaces_the_classifier(estimator):
    """A grid may put one of our estimators in the place of another classifier."""
    fit_ensemble(fixed_partition, estimator)
    grid = {"classifier": [AllLabels(), estimator]}
    search = GridSearchCV(
        fixed_partition(AllLabels()), grid, scoring="accuracy", cv=2, error_score="raise"
    ).fit(X, Y)
    assert type(search.best_estimator_.classifiers_[0]) is type(estimator)


# Parameters


def test_copyable_attrs_lists_all_parameters(estimator):
    """The host reads parameters from copyable_attrs: all are there, and its own code works."""
    names = list(inspect.signature(type(estimator)).parameters)
    assert sorted(estimator.copyable_attrs) == sorted(names)
    assert sorted(estimator.get_params()) == sorted(names)
    assert MLClassifierBase.get_params(estimator) == estimator.get_params()


def test_clone_keeps_every_parameter(estimator):
    """clone drops no parameter, whatever its value, and no fitted state comes along."""
    values = {name: f"a value of {name}" for name in estimator.get_params()}
    assert clone(type(estimator)(**values)).get_params() == values
    copy = clone(estimator.fit(X, Y))
    assert vars(copy) == estimator.get_params()


def test_set_params(one_of_each):
    """set_params returns the estimator, sets what it is told and refuses unknown names."""
    name = main_parameter(one_of_each)
    assert one_of_each.set_params(**{name: 3.0}, kernel="linear") is one_of_each
    assert (getattr(one_of_each, name), one_of_each.kernel) == (3.0, "linear")
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        one_of_each.set_params(nonsense=1)
    nested = f"classifier__{name}"
    ensemble = fixed_partition(one_of_each).set_params(**{nested: 0.5})
    assert getattr(ensemble.classifier, name) == ensemble.get_params()[nested] == 0.5


@pytest.mark.shared_code(before=["linear"], after=["rbf"])
@pytest.mark.parametrize("before", ["linear", "rbf"])
@pytest.mark.parametrize("after", ["linear", "rbf"])
def test_a_second_fit_forgets_the_first(one_of_each, before, after):
    """Refitting with other parameters, features and labels equals fitting a new estimator."""
    fresh = clone(one_of_each).set_params(kernel=after).fit(X, Y)
    one_of_each.set_params(kernel=before, **{main_parameter(one_of_each): 0.1})
    one_of_each.fit(sparse.csr_matrix(X[:40, :3]), COLUMN[:40])
    one_of_each.set_params(**fresh.get_params()).fit(X, Y)
    assert_same_model(fresh, one_of_each)
    assert_mirrors(one_of_each.predict(X_NEW), Y)
    assert sorted(vars(one_of_each)) == sorted(vars(fresh))


def test_representations(estimator):
    """repr is code that makes the estimator again; the HTML names it, before and after fit."""
    parameter = main_parameter(estimator)
    changed = estimator.set_params(**{parameter: 0.125})
    name = type(changed).__name__
    assert f"{parameter}=0.125" in repr(changed)
    assert eval(repr(changed), {name: type(changed)}).get_params() == changed.get_params()
    for shown in (changed, clone(changed).fit(X, Y)):
        assert name in estimator_html_repr(shown)
        assert "0.125" in shown._repr_html_()


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_pickle_round_trip(estimator, convert):
    """A model from pickle has equal decisions to the last bit, and the same containers."""
    model = estimator.fit(convert(X), convert(Y))
    copy = pickle.loads(pickle.dumps(model))
    assert copy.get_params() == model.get_params()
    np.testing.assert_array_equal(copy.decision_function(X_NEW), model.decision_function(X_NEW))
    assert_mirrors(copy.predict(X_NEW), convert(Y))


@pytest.mark.shared_code(mmap_mode=["r"], convert=[sparse.csr_matrix])
@pytest.mark.parametrize("mmap_mode", [None, "r"])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_joblib_round_trip(estimator, convert, mmap_mode, tmp_path):
    """A model from joblib works too, even when all its arrays are read-only maps of a file."""
    model = estimator.fit(convert(X), convert(Y))
    joblib.dump(model, tmp_path / "model")
    copy = joblib.load(tmp_path / "model", mmap_mode=mmap_mode)
    new = convert(X_NEW)
    np.testing.assert_array_equal(copy.decision_function(new), model.decision_function(new))
    assert_mirrors(copy.predict(new), convert(Y))


# scikit-learn's tools


def ranking_of(model, rows):
    """What scorers rank by."""
    return getattr(model, "ranking_scores", model.decision_function)(rows)


def fold_models(estimator, folds):
    """The test rows of each fold, and a model of the other folds."""
    return [(test, clone(estimator).fit(X[train], Y[train])) for train, test in folds.split(X)]


def fold_decisions(estimator, folds):
    """Decisions on each fold of a model of the other folds."""
    models = fold_models(estimator, folds)
    return [(test, model.decision_function(X[test])) for test, model in models]


def test_scikit_learn_knows_what_we_are(estimator):
    """Tags: a multi-label classifier, not a multi-class one, that takes sparse features."""
    tags = get_tags(estimator)
    assert is_classifier(estimator)
    assert tags.target_tags.required
    assert tags.target_tags.multi_output
    assert tags.classifier_tags.multi_label
    assert not tags.classifier_tags.multi_class
    assert tags.input_tags.sparse
    assert not tags.input_tags.pairwise


@pytest.mark.shared_code
def test_cross_validated_accuracy(estimator):
    """cross_val_score gives the accuracy of each split of ShuffleSplit."""
    splits = ShuffleSplit(n_splits=3, test_size=0.5, random_state=0)
    scores = cross_val_score(estimator, X, Y, cv=splits, scoring="accuracy", error_score="raise")
    expected = [
        accuracy_score(Y[test], decision > 0)
        for test, decision in fold_decisions(estimator, splits)
    ]
    np.testing.assert_allclose(scores, expected)
    assert len(scores) == 3


@pytest.mark.shared_code
def test_cross_validated_decisions(estimator):
    """cross_val_predict collects the decisions of the models of each fold."""
    folds = KFold(3)
    expected = np.empty(Y.shape)
    for test, decision in fold_decisions(estimator, folds):
        expected[test] = decision
    decisions = cross_val_predict(estimator, X, Y, cv=folds, method="decision_function")
    np.testing.assert_allclose(decisions, expected, atol=1e-12)
    labels = cross_val_predict(estimator, X, Y, cv=folds)
    np.testing.assert_array_equal(labels, expected > 0)


@pytest.mark.shared_code
def test_cross_validation_with_kernel_matrix(one_of_each):
    """A precomputed kernel is split along both axes."""
    if hasattr(one_of_each, "n_neighbors"):
        pytest.skip("neighbours of rows are not those of a kernel")
    folds = KFold(3)
    one_of_each.set_params(kernel="rbf", gamma=0.5)
    expected = cross_val_predict(one_of_each, X, Y, cv=folds, method="decision_function")
    one_of_each.set_params(kernel="precomputed")
    K = rbf_kernel(X, gamma=0.5)
    decisions = cross_val_predict(one_of_each, K, Y, cv=folds, method="decision_function")
    np.testing.assert_allclose(decisions, expected, atol=1e-6)


def test_fits_in_threads(estimator):
    """Models fitted in two threads at a time are those fitted one after the other."""
    arguments = {"cv": KFold(4), "method": "decision_function"}
    expected = cross_val_predict(estimator, X, Y, **arguments)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        decisions = cross_val_predict(estimator, X, Y, **arguments)
    np.testing.assert_allclose(decisions, expected, atol=1e-12)


@pytest.mark.shared_code
def test_grid_search_over_own_parameters(estimator):
    """Issue 308: GridSearchCV finds the parameters, and the search has our classes_."""
    grid = {main_parameter(estimator): [1e-4, 1.0, 64.0]}
    if "threshold" in estimator.get_params():
        grid["threshold"] = ["zero", "per-label"]
    search = GridSearchCV(estimator, grid, cv=3, error_score="raise").fit(X, Y)
    assert isinstance(estimator.fit(X, Y).classes_, np.ndarray)
    np.testing.assert_array_equal(search.classes_, np.arange(N_LABELS))
    assert np.unique(search.cv_results_["mean_test_score"]).size > 1
    best = clone(estimator).set_params(**search.best_params_).fit(X, Y)
    assert_same_model(best, search)
    assert search.score(X_NEW, Y_NEW) == accuracy_score(Y_NEW, best.predict(X_NEW))


def share_of_wrong_tops(y, decision):
    """One-error where no scores tie: the share of labelled rows whose top label is wrong."""
    top_is_right = np.take_along_axis(y, decision.argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.mean((top_is_right == 0) & y.any(axis=1))


# scorer, the measure by definition, and which way is better
RANKINGS = {
    "ranking_loss": (ranking_loss_scorer, label_ranking_loss, -1),
    "average_precision": (average_precision_scorer, label_ranking_average_precision_score, 1),
    "one_error": (one_error_scorer, share_of_wrong_tops, -1),
}


@pytest.mark.shared_code
def test_grid_search_by_ranking(estimator):
    """The scorers of skml_odm.metrics rank: larger is better, and GridSearchCV can use them."""
    folds = KFold(3)
    name = main_parameter(estimator)
    grid = {name: [1e-4, 0.01, 1.0]}
    scoring = {key: scorer for key, (scorer, _, _) in RANKINGS.items()}
    options = {"scoring": scoring, "refit": "ranking_loss", "cv": folds, "error_score": "raise"}
    search = GridSearchCV(estimator, grid, **options).fit(X, Y)
    best = ranking_of(search.best_estimator_, X_NEW)
    decisions = [
        [
            (test, ranking_of(model, X[test]))
            for test, model in fold_models(clone(estimator).set_params(**{name: value}), folds)
        ]
        for value in grid[name]
    ]
    for key, (scorer, measure, sign) in RANKINGS.items():
        expected = [np.mean([sign * measure(Y[test], d) for test, d in each]) for each in decisions]
        np.testing.assert_allclose(search.cv_results_[f"mean_test_{key}"], expected)
        # what a search by this measure alone would choose
        assert np.argmin(search.cv_results_[f"rank_test_{key}"]) == np.argmax(expected)
        np.testing.assert_allclose(scorer(search, X_NEW, Y_NEW), sign * measure(Y_NEW, best))
    assert search.best_index_ == np.argmin(search.cv_results_["rank_test_ranking_loss"])


def test_scorers_take_sparse_labels(fitted):
    """Ranking scorers give the same value for sparse and dense labels, and sparse features."""
    model = clone(fitted).fit(sparse.csr_matrix(X), sparse.csr_matrix(Y))
    for scorer in (ranking_loss_scorer, average_precision_scorer, one_error_scorer):
        value = scorer(model, sparse.csr_matrix(X_NEW), sparse.csr_matrix(Y_NEW))
        assert value == pytest.approx(scorer(fitted, X_NEW, Y_NEW))


@pytest.mark.shared_code
def test_pipeline_with_dense_scaler(estimator):
    """In a pipeline the model sees the scaled features, and parameters are reached by name."""
    parameter = main_parameter(estimator)
    name = f"{type(estimator).__name__.lower()}__{parameter}"
    pipeline = make_pipeline(MinMaxScaler(), estimator).set_params(**{name: 0.5})
    pipeline.fit(100 * X - 7, Y)
    scaler = MinMaxScaler().fit(X)
    direct = clone(estimator).set_params(**{parameter: 0.5}).fit(scaler.transform(X), Y)
    expected = direct.decision_function(scaler.transform(X_NEW))
    np.testing.assert_allclose(pipeline.decision_function(100 * X_NEW - 7), expected, atol=1e-6)
    np.testing.assert_array_equal(pipeline.classes_, np.arange(N_LABELS))
    search = GridSearchCV(pipeline, {name: [1e-4, 0.5]}, scoring=ranking_loss_scorer, cv=2)
    assert search.fit(X, Y).best_params_[name] in (1e-4, 0.5)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_pipeline_with_sparse_scaler(estimator):
    """Sparse features stay sparse through a pipeline, on their way in and out."""
    pipeline = make_pipeline(MaxAbsScaler(), estimator)
    pipeline.fit(sparse.csc_matrix(X), sparse.csc_matrix(Y))
    scale = X.max(axis=0)
    direct = clone(estimator).fit(X / scale, Y)
    expected = direct.decision_function(X_NEW / scale)
    np.testing.assert_allclose(
        pipeline.decision_function(sparse.csr_matrix(X_NEW)), expected, atol=1e-8
    )
    assert_mirrors(pipeline.predict(sparse.csr_matrix(X_NEW)), sparse.csc_matrix(Y))


def test_sample_weights_reach_the_model(estimator):
    """Issues 62, 165, 245, 179: weights pass through GridSearchCV to fit, split with the rows."""
    if not has_fit_parameter(estimator, "sample_weight"):
        pytest.skip("fit takes no sample weights")
    weight = np.where(np.arange(len(X)) % 2, 5.0, 0.2)
    name = main_parameter(estimator)
    search = GridSearchCV(estimator, {name: [0.1]}, cv=KFold(2), error_score="raise")
    search.fit(X, Y, sample_weight=weight)
    weighted = clone(estimator).set_params(**{name: 0.1}).fit(X, Y, sample_weight=weight)
    assert_same_model(weighted, search)
    plain = clone(estimator).set_params(**{name: 0.1}).fit(X, Y)
    difference = plain.decision_function(X_NEW) - weighted.decision_function(X_NEW)
    assert np.abs(difference).max() > 1e-3


# The host's way to split


def stratified_split(features, labels):
    """The host's split as X_train, X_new, y_train, y_new; its two distributions differ in order."""
    parts = iterative_train_test_split(features, labels, test_size=0.3)
    X_parts = [part for part in parts if part.shape[1] == features.shape[1]]
    y_parts = [part for part in parts if part.shape[1] == labels.shape[1]]
    return *X_parts, *y_parts


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.usefixtures("seeded")
def test_iterative_train_test_split(estimator, convert):
    """The parts of the host's stratified split go straight into fit and predict."""
    X_train, X_test, y_train, y_test = stratified_split(convert(X_ALL), convert(Y_ALL))
    assert X_train.shape[0] == y_train.shape[0] > X_test.shape[0] == y_test.shape[0] > 0
    prediction = estimator.fit(X_train, y_train).predict(X_test)
    assert sparse.issparse(prediction) == sparse.issparse(y_test)
    wrong = hamming_loss(as_array(y_test), as_array(prediction))
    majority = np.tile(as_array(y_train).mean(axis=0) > 0.5, (y_test.shape[0], 1))
    assert wrong < hamming_loss(as_array(y_test), majority)


@pytest.mark.shared_code(convert=[sparse.csr_matrix])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.usefixtures("seeded")
def test_iterative_stratification(estimator, convert):
    """The host's folds index our input, and every row is predicted once."""
    features, labels = convert(X), convert(Y)
    times_predicted = np.zeros(len(X), dtype=int)
    for train, test in IterativeStratification(n_splits=3, order=1).split(features, labels):
        prediction = estimator.fit(features[train], labels[train]).predict(features[test])
        assert sparse.issparse(prediction) == sparse.issparse(labels)
        assert prediction.shape == (len(test), N_LABELS)
        times_predicted[test] += 1
    assert (times_predicted == 1).all()


@pytest.mark.shared_code
@pytest.mark.usefixtures("seeded")
def test_iterative_stratification_inside_grid_search(estimator):
    """The host's folds also drive scikit-learn's search."""
    folds = IterativeStratification(n_splits=2, order=2)
    grid = {main_parameter(estimator): [0.01, 1.0]}
    search = GridSearchCV(estimator, grid, cv=folds, error_score="raise").fit(X, Y)
    assert search.n_splits_ == 2
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


# A label column with one class (issues 56, 101, 253)


def with_constant_columns(values):
    """Y with further columns, each of one value."""
    return np.hstack([Y, np.tile(np.array(values, dtype=Y.dtype), (len(Y), 1))])


@pytest.mark.shared_code(values=[[0, 1]])
@pytest.mark.parametrize("values", [[0], [1], [0, 1], [0, 0], [1, 1]], ids=str)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_constant_label_columns(estimator, values, convert):
    """A label that all rows have, or none, is learnt like any other, and as what it is."""
    y = with_constant_columns(values)
    model = estimator.fit(X, convert(y))
    decision = model.decision_function(X_NEW)
    assert decision.shape == (len(X_NEW), y.shape[1])
    assert np.isfinite(decision).all()
    prediction = as_array(model.predict(X_NEW))
    np.testing.assert_array_equal(prediction, decision > 0)
    np.testing.assert_array_equal(prediction[:, N_LABELS:].mean(axis=0).round(), values)


@pytest.mark.shared_code(n_labels=[2], convert=[np.asarray])
@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("n_labels", [1, 2, 4])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_all_label_columns_constant(estimator, value, n_labels, convert):
    """With nothing to learn from, the model predicts what it saw."""
    model = estimator.fit(X, convert(np.full((len(X), n_labels), value)))
    assert np.isfinite(model.decision_function(X_NEW)).all()
    prediction = as_array(model.predict(X_NEW))
    np.testing.assert_array_equal(prediction, np.full((len(X_NEW), n_labels), value))


@pytest.mark.parametrize("value", [0, 1, -1, "only"])
def test_one_class_in_one_dimension(estimator, value):
    """A one-dimensional y of one class predicts this class."""
    model = estimator.fit(X, np.full(len(X), value))
    assert list(model.classes_) == [value]
    prediction = model.predict(X_NEW)
    assert prediction.shape == (len(X_NEW),)
    assert (prediction == value).all()


@pytest.mark.parametrize("make", [fixed_partition, BinaryRelevance])
def test_constant_label_column_in_an_ensemble(estimator, make):
    """An ensemble whose members see a single, constant label predicts it."""
    y = Y.copy()
    y[:, 1], y[:, 3] = 0, 1
    prediction = as_array(fit_ensemble(make, estimator, y).predict(X_NEW))
    assert (prediction[:, 1] == 0).all()
    assert (prediction[:, 3] == 1).all()


def test_rare_label_missing_from_a_fold(estimator):
    """Cross-validation survives a label that one training fold does not have."""
    y = with_constant_columns([0])
    y[:3, -1] = 1
    scorer = make_scorer(hamming_loss, greater_is_better=False)
    scores = cross_val_score(estimator, X, y, cv=KFold(3), scoring=scorer, error_score="raise")
    assert (scores > -0.5).all()


@pytest.mark.slow
@pytest.mark.parametrize("files", [[], ["__init__.py"], ["__init__.py", "base.py"]])
def test_without_the_host_the_error_says_what_to_type(tmp_path, files):
    """As after ``pip uninstall scikit-multilearn`` where scikit-multilearn-ng is installed, too."""
    (tmp_path / "skmultilearn").mkdir()
    for name in files or ["nothing.txt"]:
        (tmp_path / "skmultilearn" / name).touch()
    hide = "import sys; sys.modules['skmultilearn'] = None; " if not files else ""
    code = f"import sys; sys.path.insert(0, sys.argv[1]); {hide}import skml_odm"
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path], cwd=tmp_path, capture_output=True, text=True
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: scikit-multilearn is not there, or only in part"), last
    assert "pip install --force-reinstall --no-deps scikit-multilearn-ng" in last
