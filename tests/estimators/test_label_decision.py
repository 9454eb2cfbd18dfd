"""Cross-validated decisions around any classifier."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import hamming_loss, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedKFold,
    cross_val_predict,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from skmultilearn.problem_transform import BinaryRelevance

from skml_odm import CSRL, MLODM, LabelDecisionCV, PathSearchCV
from skml_odm.decisions.decision import LabelDecision
from skml_odm.decisions.rules import RULES
from skml_odm.metrics.labels import LABEL_MEASURES, example_f1, hamming, micro_f1


@pytest.fixture(scope="module")
def data():
    X, y = make_multilabel_classification(
        n_samples=160, n_features=8, n_classes=5, n_labels=2, random_state=3
    )
    return X / X.max(), y


def logistic():
    return OneVsRestClassifier(LogisticRegression())


WRAPPED = {
    "ours": MLODM(),
    "one versus rest": logistic(),
    "list of probabilities": ExtraTreesClassifier(10, random_state=0),
    "neighbours": KNeighborsClassifier(),
    "host": BinaryRelevance(GaussianNB(), require_dense=[True, True]),
    "pipeline": make_pipeline(StandardScaler(), logistic()),
    "search": GridSearchCV(MLODM(), {"C": [1.0, 8.0]}, cv=2),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_any_classifier_that_scores_labels(data, name):
    X, y = data
    model = LabelDecisionCV(WRAPPED[name], cv=3).fit(X[:110], y[:110])
    predicted = model.predict(X[110:])
    assert predicted.shape == (50, 5)
    probabilities = model.predict_proba(X[110:])
    assert probabilities.shape == (50, 5)
    assert 0.0 <= probabilities.min() <= probabilities.max() <= 1.0
    np.testing.assert_array_equal(predicted, model.decision_function(X[110:]) > 0)
    assert hamming(y[110:] == 1, predicted == 1) < np.mean(y)
    # the host's have none
    assert getattr(model, "n_features_in_", 8) == 8
    assert model.ranking_scores(X[110:]).shape == (50, 5)


@pytest.mark.parametrize("calibration", ["context", "per-label", "isotonic", None])
@pytest.mark.parametrize("measure", [*RULES, micro_f1])
def test_decision_is_fitted_to_held_out_scores(data, measure, calibration):
    X, y = data
    folds = KFold(4)
    model = LabelDecisionCV(logistic(), measure, calibration, cv=folds).fit(X, y)
    scores = cross_val_predict(logistic(), X, y, cv=folds, method="decision_function")
    decision = LabelDecision(measure, calibration).fit(scores, y == 1)
    whole = logistic().fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), decision.decide(whole.decision_function(X)), atol=1e-9
    )


def test_measures_are_those_of_other_folds(data):
    X, y = data
    folds = list(KFold(4).split(X))
    model = LabelDecisionCV(logistic(), cv=folds).fit(X, y)
    scores = cross_val_predict(logistic(), X, y, cv=folds, method="decision_function")
    predicted = np.zeros(y.shape, dtype=bool)
    for train, test in folds:
        decision = LabelDecision("micro-f1").fit(scores[train], y[train] == 1)
        predicted[test] = decision.decide(scores[test]) > 0
    found = model.measures_["micro-f1"]
    assert found["micro-f1"] == pytest.approx(micro_f1(y == 1, predicted))
    assert found["hamming"] == pytest.approx(hamming(y == 1, predicted))
    assert found["cardinality"] == pytest.approx(predicted.sum(axis=1).mean())
    plain = cross_val_predict(logistic(), X, y, cv=folds)
    assert model.measures_["estimator"]["hamming"] == pytest.approx(hamming_loss(y, plain))
    assert set(model.measures_) == {"estimator", *RULES}


def test_each_measure_is_served_by_its_decision():
    X, y = make_multilabel_classification(
        n_samples=500, n_features=8, n_classes=5, n_labels=2, random_state=3
    )
    values = LabelDecisionCV(logistic()).fit(X, y).measures_
    assert values["micro-f1"]["micro-f1"] >= values["hamming"]["micro-f1"]
    assert values["example-f1"]["example-f1"] >= values["hamming"]["example-f1"]
    assert values["hamming"]["hamming"] <= values["micro-f1"]["hamming"]
    assert values["cardinality"]["cardinality"] == pytest.approx(y.sum(axis=1).mean(), rel=0.1)


def test_own_measure_is_shown_too(data):
    X, y = data
    model = LabelDecisionCV(logistic(), measure=example_f1).fit(X, y)
    values = model.measures_
    assert values["chosen"]["example-f1"] >= values["hamming"]["example-f1"] - 0.02
    assert model.decision_.rule_.gain is example_f1


def test_containers_of_predictions(data):
    X, y = data
    model = LabelDecisionCV(MLODM(), cv=2).fit(sparse.csr_matrix(X), sparse.csr_matrix(y))
    assert sparse.issparse(model.predict(sparse.csr_matrix(X)))
    assert sparse.issparse(model.predict_proba(X))
    names = np.where(y[:, 0], "yes", "no")
    model = LabelDecisionCV(MLODM(), cv=2).fit(X, names)
    assert set(model.predict(X)) == {"yes", "no"}
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X))


def test_rows_may_be_anything_the_estimator_takes(data):
    _, y = data
    texts = [f"word{i % 5} word{i % 7} word{i % 3}" for i in range(len(y))]
    model = LabelDecisionCV(make_pipeline(TfidfVectorizer(), logistic()), cv=2).fit(texts, y)
    assert model.predict(texts[:3]).shape == (3, 5)
    frame = pd.DataFrame(data[0], columns=[f"f{i}" for i in range(8)])
    model = LabelDecisionCV(MLODM(), cv=2).fit(frame, pd.DataFrame(y))
    assert list(model.feature_names_in_) == list(frame.columns)


def test_frozen_estimator_is_only_calibrated(data):
    X, y = data
    inner = MLODM().fit(X[:80], y[:80])
    model = LabelDecisionCV(FrozenEstimator(inner), guarantee={"recall": 0.8}).fit(X[80:], y[80:])
    decision = LabelDecision("hamming", "context", {"recall": 0.8})
    parts = np.empty(len(X) - 80)
    for i, (_, test) in enumerate(KFold(5, shuffle=True, random_state=0).split(parts)):
        parts[test] = i
    decision.fit(inner.label_scores(X[80:]), y[80:] == 1, parts=parts)
    assert model.decision_.rule_.value == pytest.approx(decision.rule_.value, rel=1e-6)
    predicted = model.predict(X[80:])
    recall = (predicted * y[80:]).sum(axis=1) / np.maximum(y[80:].sum(axis=1), 1)
    assert np.mean(np.where(y[80:].any(axis=1), recall, 1.0)) >= 0.8


def test_weights_and_groups(data):
    X, y = data
    weight = np.r_[np.ones(100), np.zeros(60)]
    model = LabelDecisionCV(logistic_with_weights(), cv=2).fit(X, y, sample_weight=weight)
    ones = LabelDecisionCV(logistic_with_weights(), cv=2).fit(X, y, sample_weight=np.ones(160))
    plain = LabelDecisionCV(logistic_with_weights(), cv=2).fit(X, y)
    np.testing.assert_allclose(ones.decision_function(X), plain.decision_function(X), atol=1e-8)
    assert np.abs(model.decision_function(X) - plain.decision_function(X)).max() > 1e-3
    groups = np.repeat(np.arange(16), 10)
    one = LabelDecisionCV(logistic(), cv=GroupKFold(4)).fit(X, y, groups=groups)
    other = LabelDecisionCV(logistic(), cv=GroupKFold(4).split(X, y, groups)).fit(X, y)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


def logistic_with_weights():
    return MLODM(kernel="linear")


def test_works_in_searches(data):
    X, y = data
    grid = {"estimator__C": [0.1, 10.0], "measure": ["hamming", "micro-f1"]}
    scorer = make_scorer(lambda y, predicted: micro_f1(y == 1, predicted == 1))
    found = [
        search(LabelDecisionCV(MLODM(), cv=2), grid, cv=2, scoring=scorer).fit(X, y)
        for search in (GridSearchCV, PathSearchCV)
    ]
    assert found[0].best_params_ == found[1].best_params_
    np.testing.assert_allclose(*(s.cv_results_["mean_test_score"] for s in found), atol=1e-12)
    assert clone(found[0].best_estimator_).get_params()["measure"] in ("hamming", "micro-f1")


def test_labels_that_are_constant_or_alone(data):
    X, y = data
    constant = y.copy()
    constant[:, 0], constant[:, 1] = 0, 1
    model = LabelDecisionCV(MLODM(), "macro-f1", cv=3).fit(X, constant)
    assert not model.predict(X)[:, 0].any()
    assert model.predict_proba(X)[:, 0].max() == 0.0
    single = LabelDecisionCV(MLODM(), "micro-f1", cv=3).fit(X, y[:, :1])
    assert single.predict(X).shape == (160, 1)


def test_five_rows(data):
    X, y = data
    model = LabelDecisionCV(MLODM()).fit(X[:5], y[:5])
    assert model.predict(X).shape == y.shape
    assert np.isfinite(model.decision_function(X)).all()


def test_two_fits_are_the_same(data):
    X, y = data
    one, other = (LabelDecisionCV(logistic()).fit(X, y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_probabilities_only_where_there_are_some():
    assert hasattr(LabelDecisionCV(MLODM()), "predict_proba")
    assert not hasattr(LabelDecisionCV(MLODM(), calibration=None), "predict_proba")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"measure": "f1"}, "measure must be one of 'balanced', 'hamming'"),
        ({"calibration": "platt"}, "calibration must be one of 'context'"),
        ({"cv": 1}, "cv must be an integer in"),
        ({"guarantee": {"recall": 2}}, r"guarantee\['recall'\] must be a number in \(0, 1\)"),
        ({"random_state": -1}, "random_state must be"),
        ({"estimator": BinaryRelevance(SVC()), "cv": []}, "cv must give at least one fold"),
    ],
)
def test_wrong_parameters(data, parameters, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        LabelDecisionCV(**{"estimator": MLODM(), **parameters}).fit(X, y)


# ---- threshold="calibrated" ----------------------------------------------------------------------


def test_unseen_scores_are_those_of_other_rows(data, monkeypatch):
    from skml_odm.estimators import unseen

    monkeypatch.setattr(unseen, "ROUGH", 1e-9)
    X, y = data
    for model in (MLODM(C=8.0, tol=1e-9), CSRL(tol=1e-7)):
        prepared = model.prepare(X, y)
        result = model.solve(prepared)
        found = model.unseen_scores(prepared, result)
        for fold in unseen.folds_of(len(X)):
            rest = np.setdiff1d(np.arange(len(X)), fold)
            # the same kernel as with all rows
            alone = clone(model).set_params(gamma=prepared.kernel.gamma).fit(X[rest], y[rest])
            np.testing.assert_allclose(found[fold], alone.label_scores(X[fold]), atol=2e-3)


def test_calibrated_labels_are_better_than_the_papers():
    X, y = make_multilabel_classification(
        n_samples=600,
        n_features=40,
        n_classes=10,
        n_labels=1,
        allow_unlabeled=False,
        random_state=3,
    )
    X = X / X.max()
    values = {}
    for threshold in ("regression", "calibrated"):
        predicted = MLODM(threshold=threshold).fit(X[:300], y[:300]).predict(X[300:])
        values[threshold] = {
            name: measure(y[300:] == 1, predicted == 1) for name, measure in LABEL_MEASURES.items()
        }
    better, papers = values["calibrated"], values["regression"]
    assert better.pop("hamming") < papers["hamming"]
    for name, value in better.items():
        assert value > papers[name] + 0.03, name


def test_calibrated_search_is_grid_search(data):
    X, y = data
    grid = {"C": [0.5, 2.0, 8.0], "threshold": ["calibrated", "regression"]}
    found = [
        search(MLODM(), grid, cv=2).fit(X, y).cv_results_["mean_test_score"]
        for search in (GridSearchCV, PathSearchCV)
    ]
    np.testing.assert_allclose(*found, atol=0.021)


def test_ranking_does_not_wait_for_probabilities(data, monkeypatch):
    """A search by a ranking measure fits no decision."""
    from skml_odm.estimators import base
    from skml_odm.metrics import ranking_loss_scorer

    calls = []
    plain = base.unseen_scores
    monkeypatch.setattr(base, "unseen_scores", lambda *a: calls.append(1) or plain(*a))
    X, y = data
    search = PathSearchCV(
        MLODM(threshold="calibrated"), {"C": [1.0, 8.0]}, cv=2, scoring=ranking_loss_scorer
    )
    search.fit(X, y)
    # the best estimator's alone
    assert len(calls) == 1


def test_predict_proba_of_our_estimators(data):
    X, y = data
    assert not hasattr(MLODM(threshold="regression"), "predict_proba")
    model = MLODM(threshold="calibrated").fit(X, sparse.csr_matrix(y))
    assert sparse.issparse(model.predict_proba(X))
    single = MLODM(threshold="calibrated").fit(X, y[:, 0])
    assert single.predict_proba(X).shape == (160, 2)


def test_guarantees_are_for_labels_without_a_row_too(data):
    X, y = data
    inner = FrozenEstimator(MLODM().fit(X, y))
    few = np.flatnonzero(y[:, 0] == 0)[:30]
    model = LabelDecisionCV(inner, calibration=None, guarantee={"recall": 0.95}).fit(X[few], y[few])
    assert model.predict(X)[:, 0].any()
    probable = LabelDecisionCV(inner).fit(X[few], y[few])
    assert probable.predict_proba(X)[:, 0].max() > 0.0


def test_rows_that_are_held_out_repeatedly_count_once(data):
    X, y = data
    cv = RepeatedKFold(n_splits=3, n_repeats=4, random_state=0)
    model = LabelDecisionCV(logistic(), cv=cv).fit(X, y)
    total = np.zeros(y.shape)
    for train, test in cv.split(X):
        total[test] += logistic().fit(X[train], y[train]).decision_function(X[test])
    expected = LabelDecision("hamming").fit(total / 4, y == 1)
    np.testing.assert_allclose(
        model.predict_proba(X), expected.probabilities(model.estimator_.decision_function(X))
    )


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_a_label_with_a_single_row(data, container):
    """Its fold has training rows of one class, which support vector machines refuse."""
    X, y = data
    y = y.copy()
    y[:, 0], y[:, 1] = 0, 1
    y[7, 0], y[9, 1] = 1, 0
    host = BinaryRelevance(SVC(), require_dense=[True, True])
    model = LabelDecisionCV(host, measure="micro-f1").fit(X, container(y))
    predicted = model.predict(X)
    predicted = predicted.toarray() if sparse.issparse(predicted) else predicted
    assert (predicted[:, 1] == 1).all()
    assert np.isfinite(model.label_scores(X)).all()


def test_rows_of_weight_zero_are_not_measured(data):
    X, y = data
    weight = np.ones(len(X))
    weight[:20] = 0.0
    other = y.copy()
    other[:20] = 1 - other[:20]
    values = [LabelDecisionCV(MLODM()).fit(X, Y, weight).measures_ for Y in (y, other)]
    assert values[0] == values[1]


def test_probabilities_need_the_threshold_of_the_fit(data):
    X, y = data
    model = MLODM(threshold="zero").fit(X, y).set_params(threshold="calibrated")
    with pytest.raises(NotFittedError, match="threshold was set to 'calibrated' after fit"):
        model.predict_proba(X)


def test_a_measure_returns_a_number(data):
    X, y = data
    with pytest.raises(ValueError, match="measure must return a number; got an array of shape"):
        LabelDecisionCV(MLODM(), measure=lambda y, p: (y == p).mean(axis=0)).fit(X, y)
