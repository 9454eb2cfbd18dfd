"""Classes as labels: classifiers of classes in a study."""

import numpy as np
from sklearn.base import BaseEstimator, clone

from ..decisions.scores import as_dense

# how names of the classifier's parameters begin
INSIDE = "classifier__"


class OneLabel(BaseEstimator):
    """What the host's LabelPowerset does, for data with exactly one label in every row.

    LabelPowerset goes through all rows in Python; on large sets that takes as long as the fit.

    Parameters
    ----------
    classifier : estimator
        Learns the numbers of the labels.

    Attributes
    ----------
    classifier_ : estimator
        The fitted classifier.
    n_labels_ : int

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from skml_odm.study import OneLabel
    >>> OneLabel(SVC()).fit([[0.0], [1.0]], [[1, 0], [0, 1]]).predict([[2.0]])
    array([[0, 1]])
    """

    def __init__(self, classifier=None):
        self.classifier = classifier

    def fit(self, X, y):
        """Learn from rows X and their labels y (rows × labels)."""
        y = as_dense(y)
        self.n_labels_ = y.shape[1]
        self.classifier_ = clone(self.classifier).fit(X, classes_of(y))
        return self

    def predict(self, X):
        """The label of each row (rows × labels)."""
        return np.eye(self.n_labels_, dtype=int)[self.classifier_.predict(X)]


class OfClasses:
    """A scorer of labels, for the classifier inside a ``OneLabel``.

    Parameters
    ----------
    scorer : callable
        Of estimators that predict labels.
    n_labels : int
    """

    def __init__(self, scorer, n_labels):
        self.scorer = scorer
        self.n_labels = n_labels

    def __call__(self, estimator, X, y):
        around = OneLabel(estimator)
        around.classifier_, around.n_labels_ = estimator, self.n_labels
        return self.scorer(around, X, np.eye(self.n_labels, dtype=int)[y])


def classes_of(y):
    """The number of the label of each row."""
    counts = np.count_nonzero(y, axis=1)
    if len(wrong := np.flatnonzero(counts != 1)):
        raise ValueError(
            f"y must have exactly one label in every row; row {wrong[0]} has {counts[wrong[0]]}."
        )
    return y.argmax(axis=1)
