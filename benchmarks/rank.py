"""Fit times of the ranking SVMs: against OneVsRest(SVC), the paper's recursion, and each other.

All in one run on one thread, best of several repeats, kernel matrix included. γ and C are those of
paper 003's Table 2; enron is not in the paper and has those chosen for MLODM.
"""

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from skml_odm import RankSVM

from .data import load_as_in_paper
from .mlodm import best_time, chosen_parameters
from .rank_data import PARAMETERS

AGAINST_SVC = ("emotions", "scene", "yeast", "medical", "enron")
GAP = 1e-3


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=5, help="repeats of our fits (default 5)")


def run(arguments):
    with threadpool_limits(1):
        compare_with_svc(arguments.repeats)


def rank_svm_parameters(name):
    """γ and C for a data set."""
    if name in PARAMETERS:
        return PARAMETERS[name]["RankSVM"]
    chosen = chosen_parameters(name)
    return {key: chosen[key] for key in ("gamma", "C")}


def compare_with_svc(repeats):
    print(f"RankSVM at relative gap {GAP:g} and OneVsRest(SVC), same kernel and C")
    print(f"{'data set':10} {'rows':>6} {'labels':>6} {'ms':>8} {'gap':>9} {'SVC / RankSVM':>14}")
    ratios = []
    for name in AGAINST_SVC:
        split = load_as_in_paper(name)
        X, y = split.X_train, split.y_train.astype(int)
        parameters = rank_svm_parameters(name)
        model = RankSVM(**parameters, tol=GAP, random_state=0)
        ours = best_time(lambda m=model, X=X, y=y: m.fit(X, y), repeats)
        seen = (y.min(axis=0) == 0) & (y.max(axis=0) == 1)
        svc = OneVsRestClassifier(SVC(**parameters))
        theirs = best_time(lambda s=svc, X=X, y=y[:, seen]: s.fit(X, y), 2)
        ratios.append(theirs / ours)
        print(
            f"{name:10} {len(y):6d} {y.shape[1]:6d} {ours * 1e3:8.1f} {model.dual_gap_:9.1e} "
            f"{ratios[-1]:14.1f}",
            flush=True,
        )
    print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.1f} (wanted 3)")
