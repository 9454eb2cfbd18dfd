"""Cross-validation of several multi-label classifiers on the same folds."""

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from sklearn.base import clone
from sklearn.metrics import (
    f1_score,
    hamming_loss,
    label_ranking_average_precision_score,
    label_ranking_loss,
)
from sklearn.model_selection import KFold
from sklearn.svm import SVC
from sklearn.utils import check_array, check_consistent_length
from skmultilearn.adapt import MLkNN
from skmultilearn.problem_transform import BinaryRelevance

from ..metrics import one_error
from ..mlodm import MLODM
from ..validation import Target, as_plain_array, check_real
from .scores import as_dense, label_scores_of


@dataclass(frozen=True)
class FoldResult:
    """What one classifier achieved on the held-out rows of one fold (folds count from 1)."""

    classifier: str
    fold: int
    ranking_loss: float
    average_precision: float
    one_error: float
    hamming_loss: float
    micro_f1: float
    fit_seconds: float


def standard_classifiers(n_labels, random_state=None):
    """MLODM, and two classifiers of the host to compare it with.

    The support vector machines of ``BinaryRelevance`` have the same kernel. Their C is the weight
    of a row *and* label, MLODM's that of a row: n_labels times as much, so that a row weighs the
    same in both. All else is at the defaults.

    Parameters
    ----------
    n_labels : int
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    dict of str to estimator
    """
    machine = SVC()
    ours = MLODM(
        C=n_labels * machine.C,
        kernel=machine.kernel,
        gamma=machine.gamma,
        random_state=random_state,
    )
    return {
        "MLODM": ours,
        "MLkNN": MLkNN(),
        "BinaryRelevance(SVC)": BinaryRelevance(machine, require_dense=[True, True]),
    }


def compare(classifiers, X, y, *, folds=5, random_state=None, on_result=None):
    """Cross-validate multi-label classifiers on the same shuffled folds.

    Parameters
    ----------
    classifiers : dict of str to estimator
        Names and unfitted classifiers; they are cloned for each fold. See
        :func:`standard_classifiers`, and :func:`label_scores_of` for what can be ranked.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like or sparse matrix of shape (n_samples, n_labels)
        Zeros and ones, at least two labels.
    folds : int, default=5
    random_state : int, RandomState instance or None, default=None
        For the folds; give an int to get the same ones again.
    on_result : callable, optional
        Called with each result as soon as it is there. Whoever must not lose finished results to
        an interrupt or a failing classifier keeps them here.

    Returns
    -------
    list of FoldResult
        Fold by fold, the classifiers in their given order.

    Raises
    ------
    RuntimeError
        If a classifier fails, with its name and the fold; the cause is attached.
    """
    X = check_array(as_plain_array(X), accept_sparse="csr")
    y = Target(y).indicator.astype(np.int64)
    check_consistent_length(X, y)
    if y.shape[1] < 2:
        raise ValueError("y must have at least two labels to rank; got 1.")
    check_real("folds", folds, 2, X.shape[0], integer=True)

    results = []
    splits = KFold(folds, shuffle=True, random_state=random_state).split(y)
    for fold, (train, test) in enumerate(splits, start=1):
        for name, classifier in classifiers.items():
            try:
                measured = _evaluate(clone(classifier), X[train], y[train], X[test], y[test])
            except Exception as error:
                raise RuntimeError(f"{name} failed in fold {fold}: {error}") from error
            result = FoldResult(name, fold, **measured)
            results.append(result)
            if on_result is not None:
                on_result(result)
    return results


def _evaluate(estimator, X_train, y_train, X_test, y_test):
    start = perf_counter()
    estimator.fit(X_train, y_train)
    seconds = perf_counter() - start
    scores = label_scores_of(estimator, X_test)
    predicted = as_dense(estimator.predict(X_test))
    return {
        "ranking_loss": float(label_ranking_loss(y_test, scores)),
        "average_precision": float(label_ranking_average_precision_score(y_test, scores)),
        "one_error": one_error(y_test, scores),
        "hamming_loss": float(hamming_loss(y_test, predicted)),
        "micro_f1": float(f1_score(y_test, predicted, average="micro", zero_division=0)),
        "fit_seconds": seconds,
    }
