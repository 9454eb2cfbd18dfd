"""Label scores of any classifier."""

import importlib.metadata

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.datasets import make_multilabel_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from skmultilearn.adapt import MLkNN
from skmultilearn.problem_transform import BinaryRelevance, LabelPowerset

from skml_odm import MLODM
from skml_odm.decisions.scores import (
    SMOOTHING,
    NoScoresError,
    labels_of,
    unbounded_scores_of,
)
from skml_odm.study import label_scores_of


def host_is_current():
    try:
        importlib.metadata.version("scikit-multilearn-ng")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


needs_current_host = pytest.mark.skipif(
    not host_is_current(),
    reason="MLkNN of scikit-multilearn 0.2.0 fails on current scikit-learn",
)


@pytest.fixture(scope="module")
def data():
    X, y = make_multilabel_classification(
        n_samples=90, n_features=8, n_classes=4, n_labels=2, random_state=3
    )
    return X / X.max(), y


def binary_relevance(classifier, dense=True):
    return BinaryRelevance(classifier, require_dense=[dense, True])


@pytest.mark.parametrize("dense", [True, False])
def test_scores_of_binary_relevance_are_decision_values_of_its_machines(data, dense):
    X, y = data
    scores = label_scores_of(binary_relevance(SVC(C=2.0), dense).fit(X[:60], y[:60]), X[60:])
    expected = [SVC(C=2.0).fit(X[:60], column).decision_function(X[60:]) for column in y[:60].T]
    np.testing.assert_allclose(scores, np.transpose(expected), atol=1e-10)


def test_scores_of_binary_relevance_take_sparse_rows(data):
    X, y = data
    fitted = binary_relevance(SVC()).fit(X, y)
    np.testing.assert_allclose(
        label_scores_of(fitted, sparse.csr_matrix(X)), label_scores_of(fitted, X)
    )


def test_scores_of_binary_relevance_fall_back_on_probabilities(data):
    X, y = data
    scores = label_scores_of(binary_relevance(KNeighborsClassifier(7)).fit(X, y), X)
    expected = [KNeighborsClassifier(7).fit(X, column).predict_proba(X)[:, 1] for column in y.T]
    np.testing.assert_allclose(scores, np.transpose(expected))


@pytest.mark.parametrize(
    ("classifier", "absent", "present"),
    [(RidgeClassifier(), -1.0, 1.0), (DecisionTreeClassifier(random_state=0), 0.0, 1.0)],
)
def test_a_label_with_one_class_gets_a_constant_score(data, classifier, absent, present):
    X, y = data
    y = np.column_stack([np.zeros(len(y), dtype=int), y[:, 0], np.ones(len(y), dtype=int)])
    scores = label_scores_of(binary_relevance(classifier).fit(X, y), X)
    assert scores.shape == y.shape
    assert (scores[:, 0] == absent).all()
    assert (scores[:, 2] == present).all()
    # the label with two classes is not disturbed
    assert len(np.unique(scores[:, 1])) > 1
    assert scores[y[:, 1] == 1, 1].mean() > scores[y[:, 1] == 0, 1].mean()


def test_scores_of_binary_relevance_over_our_estimator(data):
    X, y = data
    ours = MLODM(random_state=0)
    scores = label_scores_of(BinaryRelevance(ours).fit(X, y), X)
    expected = [ours.fit(X, column[:, None]).label_scores(X)[:, 0] for column in y.T]
    np.testing.assert_allclose(scores, np.transpose(expected), atol=1e-6)


def test_raw_scores_go_before_thresholded_ones(data):
    X, y = data
    fitted = MLODM(threshold="per-label").fit(X, y)
    np.testing.assert_array_equal(label_scores_of(fitted, X), fitted.label_scores(X))
    assert not np.allclose(label_scores_of(fitted, X), fitted.decision_function(X))


def test_decision_function_goes_before_probabilities():
    class Both:
        def decision_function(self, X):
            return X - 1

        def predict_proba(self, X):
            raise AssertionError("decision_function comes first")

    X = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(label_scores_of(Both(), X), X - 1)


@needs_current_host
def test_scores_of_mlknn_are_its_probabilities(data):
    X, y = data
    fitted = MLkNN(k=5).fit(X, y)
    scores = label_scores_of(fitted, X)
    assert isinstance(scores, np.ndarray)
    np.testing.assert_array_equal(scores, fitted.predict_proba(X).toarray())


def test_other_missing_attributes_are_errors():
    class Broken:
        def predict_proba(self, X):
            return X.no_such_thing

    with pytest.raises(AttributeError, match="no_such_thing"):
        label_scores_of(Broken(), np.zeros((2, 2)))


def test_classifiers_without_scores_are_refused(data):
    X, y = data

    class LabelsOnly(BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.array([0, 1])
            return self

    with pytest.raises(TypeError, match=r"label_scores, decision_function.*LabelsOnly"):
        label_scores_of(LabelsOnly(), X)
    with pytest.raises(TypeError, match=r"decision_function or predict_proba.*LabelsOnly"):
        label_scores_of(binary_relevance(LabelsOnly()).fit(X, y), X)
    # the host's method is there, that of the machine inside is not
    with pytest.raises(NoScoresError, match="LabelPowerset"):
        label_scores_of(LabelPowerset(make_pipeline(LinearSVC())).fit(X, y), X)
    with pytest.raises(NoScoresError, match="LabelPowerset"):
        label_scores_of(LabelPowerset(LinearSVC()).fit(X, y), X)


@pytest.mark.parametrize(
    "classifier",
    [
        KNeighborsClassifier(),
        ExtraTreesClassifier(n_estimators=10, random_state=0),
        MultiOutputClassifier(LogisticRegression()),
        make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3, random_state=0)),
        DummyClassifier(strategy="prior"),
    ],
    ids=lambda classifier: type(classifier).__name__,
)
def test_probabilities_may_be_a_list_with_a_matrix_per_label(data, classifier):
    X, y = data
    fitted = classifier.fit(X[:60], y[:60])
    expected = [matrix[:, 1] for matrix in fitted.predict_proba(X[60:])]
    found = label_scores_of(fitted, X[60:], 4)
    np.testing.assert_array_equal(found, np.transpose(expected))


def test_a_list_of_probabilities_of_labels_with_one_class(data):
    X, y = data
    y = np.column_stack([np.zeros(len(y), dtype=int), y[:, 0], np.ones(len(y), dtype=int)])
    scores = label_scores_of(KNeighborsClassifier().fit(X, y), X, 3)
    assert (scores[:, 0] == 0).all()
    assert (scores[:, 2] == 1).all()
    assert len(np.unique(scores[:, 1])) > 2


@pytest.mark.parametrize("classifier", [SVC(), KNeighborsClassifier()])
def test_one_label_of_a_binary_classifier(data, classifier):
    X, y = data
    fitted = classifier.fit(X, y[:, 0])
    scores = label_scores_of(fitted, X, 1)
    assert scores.shape == (len(X), 1)
    assert scores[y[:, 0] == 1].mean() > scores[y[:, 0] == 0].mean()
    np.testing.assert_array_equal(labels_of(fitted, X, 1)[:, 0], fitted.predict(X))


def test_a_method_that_is_not_implemented_is_none():
    class Abstract:
        def decision_function(self, X):
            raise NotImplementedError

        def predict_proba(self, X):
            return X

    X = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(label_scores_of(Abstract(), X), X)


def test_unbounded_scores_are_log_odds_of_probabilities(data):
    X, y = data
    trees = ExtraTreesClassifier(10, random_state=0).fit(X, y)
    scores = unbounded_scores_of(trees, X, y.shape[1])
    np.testing.assert_allclose(
        expit(scores), (label_scores_of(trees, X) + SMOOTHING) / (1 + 2 * SMOOTHING)
    )
    bayes = BinaryRelevance(GaussianNB(), require_dense=[True, True]).fit(X, y)
    assert np.abs(unbounded_scores_of(bayes, X)).max() > 1.0
    machines = OneVsRestClassifier(SVC()).fit(X, y)
    np.testing.assert_array_equal(unbounded_scores_of(machines, X), label_scores_of(machines, X))
