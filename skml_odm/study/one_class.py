"""A classifier for labels that a training part may lack."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted


def _has(method):
    return lambda self: hasattr(self.estimator, method)


class OneClassAllowed(ClassifierMixin, BaseEstimator):
    """A classifier that also works where too few training rows have one of the classes.

    Support vector machines and others refuse to train with a single class, which a rare label
    leaves in many a fold; calibration refuses to with few rows of a class. This one then answers
    with the shares of the classes.

    Parameters
    ----------
    estimator : classifier
        Used where every class has enough rows.
    fewest : int, default=1
        How many are enough.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> OneClassAllowed(SVC()).fit([[0.0], [1.0]], [0, 0]).predict([[2.0]])
    array([0])
    """

    def __init__(self, estimator, fewest=1):
        self.estimator = estimator
        self.fewest = fewest

    def fit(self, X, y):
        """Fit the estimator, or only count classes."""
        self.classes_, counts = np.unique(y, return_counts=True)
        learns = len(counts) > 1 and counts.min() >= self.fewest
        self.estimator_ = clone(self.estimator) if learns else DummyClassifier(strategy="prior")
        self.estimator_.fit(X, y)
        return self

    def predict(self, X):
        """The class of each row."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X):
        """The probability of each class."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X):
        """The estimator's; otherwise from −1, no row has the last class, to 1, all have it."""
        check_is_fitted(self)
        if not isinstance(self.estimator_, DummyClassifier):
            return self.estimator_.decision_function(X)
        share = self.estimator_.predict_proba(X)[:, -1] if self.classes_[-1] else 0.0
        return np.full(X.shape[0], 2.0 * share - 1.0)
