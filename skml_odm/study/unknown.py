"""A classifier that cannot take unknown labels, in a study where some are."""

from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from ..decisions.scores import label_scores_of
from ..utils.validation import Target


class UnknownIsIrrelevant(BaseEstimator):
    """A multi-label classifier that takes unknown labels (NaN) for irrelevant ones.

    Parameters
    ----------
    estimator : multi-label classifier

    Attributes
    ----------
    estimator_ : estimator
        Fitted to labels with zeros in the place of NaN.
    n_labels_ : int

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> model = UnknownIsIrrelevant(KNeighborsClassifier(1))
    >>> model.fit([[0.0], [1.0]], [[1, float("nan")], [0, 1]]).predict([[2.0]])
    array([[0, 1]])
    """

    def __init__(self, estimator=None):
        self.estimator = estimator

    def fit(self, X, y):
        """Learn from rows X and their labels y (rows × labels)."""
        labels = Target(y).indicator.astype(int)
        self.n_labels_ = labels.shape[1]
        labels = sparse.csr_matrix(labels) if sparse.issparse(y) else labels
        self.estimator_ = clone(self.estimator).fit(X, labels)
        return self

    def predict(self, X):
        """The labels of each row, as the estimator returns them."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def label_scores(self, X):
        """The scores of all labels, from whichever method of the estimator has them."""
        check_is_fitted(self)
        return label_scores_of(self.estimator_, X, self.n_labels_)
