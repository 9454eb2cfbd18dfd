"""Exhaustive codes of linear SVMs with C by cross-validation, for hundreds of dichotomies."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import pairwise_distances_argmin
from sklearn.model_selection import KFold

from .crammer_singer import with_constant
from .exhaustive_code import code_book
from .squared_hinge import SquaredHinges

# Dichotomies solved side by side; each needs two matrices of features × features, of all rows and
# of a fold.
AT_ONCE = 128


class ExhaustiveCodeCV(ClassifierMixin, BaseEstimator):
    """``GridSearchCV(ExhaustiveCode(LinearSVC()), {"estimator__C": Cs})``, along the path of C.

    Every dichotomy is solved on all rows for the smallest C, and from there on the rows of each
    fold for larger and larger C.

    Parameters
    ----------
    Cs : sequence of float
        Candidates for C, increasing.
    cv : int, default=5
        Number of folds, of rows in random order.
    tol : float, default=1e-3
        Relative duality gap of every dichotomy.
    random_state : int or RandomState, optional
        The order of the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
    code_book_ : ndarray of shape (k, n)
    scores_ : ndarray of shape (folds, candidates)
        Accuracies.
    C_ : float
        The first candidate with the highest mean.
    weights_ : ndarray of shape (n, d + 1)
        Of all rows; its last column are the intercepts.
    """

    def __init__(self, Cs=(1.0,), cv=5, tol=1e-3, random_state=None):
        self.Cs = Cs
        self.cv = cv
        self.tol = tol
        self.random_state = random_state

    def fit(self, X, y):
        """Choose C, and learn all dichotomies of the classes y from dense rows X."""
        X = with_constant(X)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.code_book_ = code_book(len(self.classes_))
        # a feature that is always zero has no weight
        used = np.flatnonzero(X.any(axis=0))
        rows = np.ascontiguousarray(X[:, used])
        signs = np.ascontiguousarray(self.code_book_[codes].T)
        weights = ridge(rows, self.code_book_, codes, self.Cs[0])
        folds = list(KFold(self.cv, shuffle=True, random_state=self.random_state).split(X))
        tested = [np.empty((len(self.Cs), len(test), len(signs))) for _, test in folds]
        parts = [slice(i, i + AT_ONCE) for i in range(0, len(signs), AT_ONCE)]
        for part in parts:
            problems = SquaredHinges(rows, signs[part], weights[part])
            weights[part] = problems.solve(self.Cs[0], self.tol).weights
            for (train, test), scores in zip(folds, tested, strict=True):
                of_fold = problems.of_rows(train)
                for C, each in zip(self.Cs, scores, strict=True):
                    each[:, part] = rows[test] @ of_fold.solve(C, self.tol).weights.T
        self.scores_ = np.array(
            [
                [np.mean(self._nearest(each) == codes[test]) for each in scores]
                for (_, test), scores in zip(folds, tested, strict=True)
            ]
        )
        chosen = int(np.argmax(self.scores_.mean(axis=0)))
        self.C_ = self.Cs[chosen]
        for part in parts if chosen else ():
            problems = SquaredHinges(rows, signs[part], weights[part])
            for C in self.Cs[1 : chosen + 1]:
                weights[part] = problems.solve(C, self.tol).weights
        self.weights_ = np.zeros((len(signs), X.shape[1]))
        self.weights_[:, used] = weights
        return self

    def predict(self, X):
        """The class whose code word is nearest to the scores."""
        return self.classes_[self._nearest(with_constant(X) @ self.weights_.T)]

    def _nearest(self, scores):
        return pairwise_distances_argmin(scores, self.code_book_)


def ridge(X, code_book, codes, C):
    """Weights of all dichotomies with squares instead of squared hinges: where to begin."""
    hessian = 2.0 * C * X.T @ X
    hessian[np.diag_indices_from(hessian)] += 1.0
    sums = X.T @ np.eye(len(code_book))[codes]
    return cho_solve(cho_factor(hessian), 2.0 * C * sums @ code_book).T
