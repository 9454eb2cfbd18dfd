"""Error-correcting codes with all dichotomies of few classes, which scikit-learn does not have."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import pairwise_distances_argmin


class ExhaustiveCode(ClassifierMixin, BaseEstimator):
    """scikit-learn's OutputCodeClassifier, with every dichotomy once instead of random ones.

    Of three classes, three random columns give two of them the same code word in one of three
    cases.

    Parameters
    ----------
    estimator : classifier of two classes, with ``decision_function``
    """

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y):
        """Learn all dichotomies of the classes y."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.code_book_ = code_book(len(self.classes_))
        self.estimators_ = [
            clone(self.estimator).fit(X, column[codes] > 0.0) for column in self.code_book_.T
        ]
        return self

    def predict(self, X):
        """The class whose code word is nearest to the scores."""
        scores = np.column_stack([each.decision_function(X) for each in self.estimators_])
        return self.classes_[pairwise_distances_argmin(scores, self.code_book_)]


def code_book(k):
    """Every dichotomy of k classes once, as a column of signs."""
    # the first class is on the positive side: a dichotomy and its opposite are the same
    others = np.arange(2 ** (k - 1) - 1) >> np.arange(k - 1)[:, None] & 1
    return 2.0 * np.vstack([np.ones(others.shape[1], dtype=int), others]) - 1.0
