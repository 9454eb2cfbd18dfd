"""The classifiers that docs/decisions.md compares, at their defaults and with grids to search."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from skmultilearn.adapt import MLkNN

from skml_odm import MLODM, PathSearchCV
from skml_odm.features.kernels import make_kernel
from skml_odm.search.default_grid import default_grid
from skml_odm.study.measures import LabelScorer


class Rival(NamedTuple):
    """A classifier to compare.

    ``make()`` is one at its defaults, ``grid(X, y)`` what is searched. ``search`` is the class of
    the search. Not all take sparse rows.
    """

    make: Callable[[], Any]
    grid: Callable[[Any, Any], Any]
    search: Any = GridSearchCV
    dense: bool = False


def boomer():
    from mlrl.boosting import BoomerClassifier

    # its rules sample features: with many constant ones, as in genbase, it would find none
    return make_pipeline(VarianceThreshold(), BoomerClassifier(random_state=1))


def gradient_boosting():
    from lightgbm import LGBMClassifier

    return OneVsRestClassifier(LGBMClassifier(n_jobs=1, random_state=0, verbose=-1))


def support_vectors_grid(X, y):
    scale = make_kernel("rbf", "scale", 1, 0.0, X).gamma
    C = [1.0, 10.0]
    return [
        {"estimator__C": C, "estimator__gamma": [scale / 4, scale, scale * 4]},
        {"estimator__C": [0.1, 1.0], "estimator__kernel": ["linear"]},
    ]


# Binary Relevance is scikit-learn's OneVsRestClassifier here: the host's has no way with a label
# that no training row has.
RIVALS = {
    "MLODM": Rival(
        lambda: MLODM(threshold="regression"),
        lambda X, y: default_grid(MLODM(), X, y),
        PathSearchCV,
    ),
    "BR(SVC)": Rival(lambda: OneVsRestClassifier(SVC()), support_vectors_grid),
    "BR(logistic)": Rival(
        lambda: OneVsRestClassifier(LogisticRegression(max_iter=1000)),
        lambda X, y: {"estimator__C": [0.1, 1.0, 10.0, 100.0]},
    ),
    "MLkNN": Rival(MLkNN, lambda X, y: {"k": [5, 10, 20], "s": [0.1, 1.0]}),
    "extra trees": Rival(
        lambda: ExtraTreesClassifier(200, random_state=0),
        lambda X, y: {"min_samples_leaf": [1, 3], "max_features": ["sqrt", 0.2]},
    ),
    "gradient boosting": Rival(
        gradient_boosting,
        lambda X, y: {"estimator__learning_rate": [0.05, 0.1], "estimator__num_leaves": [7, 31]},
    ),
    "BOOMER": Rival(boomer, lambda X, y: {"boomerclassifier__shrinkage": [0.1, 0.3]}, dense=True),
}

# One more at its defaults: a random forest; extra trees have scikit-learn's number of trees there.
AT_DEFAULTS = {
    "MLODM": Rival(MLODM, RIVALS["MLODM"].grid),
    **{name: RIVALS[name] for name in ("BR(SVC)", "BR(logistic)", "MLkNN", "BOOMER")},
    "extra trees": Rival(lambda: ExtraTreesClassifier(random_state=0), dict),
    "random forest": Rival(lambda: RandomForestClassifier(random_state=0), dict),
}


def tuned(rival, X, y, folds):
    """The best candidates for labels, by micro-F1, and for scores, by ranking loss."""
    scoring = {name: LabelScorer(name) for name in ("micro_f1", "ranking_loss")}
    search = rival.search(rival.make(), rival.grid(X, y), cv=folds, scoring=scoring, refit=False)
    found = search.fit(X, y).cv_results_
    best = (np.argmax(found[f"mean_test_{name}"]) for name in scoring)
    return [rival.make().set_params(**found["params"][i]) for i in best]
