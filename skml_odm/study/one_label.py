"""Classes as labels: classifiers of classes in a study."""

import numpy as np
from sklearn.base import BaseEstimator, clone

from .scores import as_dense


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
        counts = np.count_nonzero(y, axis=1)
        if len(wrong := np.flatnonzero(counts != 1)):
            raise ValueError(
                "y must have exactly one label in every row; "
                f"row {wrong[0]} has {counts[wrong[0]]}."
            )
        self.n_labels_ = y.shape[1]
        self.classifier_ = clone(self.classifier).fit(X, y.argmax(axis=1))
        return self

    def predict(self, X):
        """The label of each row (rows × labels)."""
        return np.eye(self.n_labels_, dtype=int)[self.classifier_.predict(X)]
