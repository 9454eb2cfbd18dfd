"""Fit times of CSRL and CSRL+R on tf-idf rows against OneVsRest(LinearSVC) and OneVsRest(SVC).

All in one run on one thread, best of several repeats, C = 1/β = 1. Ours end with a certified gap;
the others' tolerance is the loosest of 0.3, 0.1, … with which their objective is within as much of
its optimum.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from skml_odm import CSRL

from .rank import geometric_mean
from .timing import best_time
from .yahoo import FULL, REDUCED, prepare, split

GAP = 1e-3
TOLERANCES = (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5)
EXACT = 1e-8


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=5, help="repeats of all fits (default 5)")


def run(arguments):
    print(f"fits at relative gap {GAP:g}, 800 rows, one thread, best of {arguments.repeats}")
    header = ("data set", "labels", "CSRL ms", "epochs", "LinearSVC", "SVC", "CSRL+R")
    print("{:15} {:>6} {:>8} {:>7} {:>10} {:>8} {:>8}   (times CSRL's)".format(*header))
    ratios = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name in (*REDUCED, *FULL):
            parts = split(*prepare(name), 0)
            X, y = parts.X_train, parts.y_train.astype(int)
            model = CSRL(kernel="linear", threshold="zero", tol=GAP, random_state=0)
            ours = best_time(lambda m=model, X=X, y=y: m.fit(X, y), arguments.repeats)
            learner = CSRL(
                kernel="linear",
                covariance="learn",
                threshold="zero",
                tol=GAP,
                random_state=0,
            )
            learned = best_time(lambda m=learner, X=X, y=y: m.fit(X, y), arguments.repeats)
            theirs = []
            for machine, objective in (
                (LinearSVC(loss="hinge", max_iter=10**6), linear_objective),
                (SVC(kernel="linear"), kernel_objective),
            ):
                peer = loosest(machine, objective, X, y)
                repeats = arguments.repeats if isinstance(machine, LinearSVC) else 1
                theirs.append(best_time(lambda p=peer, X=X, y=y: p.fit(X, y), repeats))
            ratios.append([seconds / ours for seconds in theirs])
            print(
                f"{name:15} {y.shape[1]:6d} {ours * 1e3:8.1f} {model.n_iter_:7d} "
                f"{ratios[-1][0]:10.1f} {ratios[-1][1]:8.1f} {learned / ours:8.1f}",
                flush=True,
            )
    means = [geometric_mean(column) for column in zip(*ratios, strict=True)]
    print(f"geometric mean: LinearSVC {means[0]:.1f}, SVC {means[1]:.1f} (wanted: at least 1)")


def loosest(machine, objective, X, y):
    """OneVsRest of a machine with the loosest tolerance that brings it close to its optimum."""
    seen = np.flatnonzero((y.min(axis=0) == 0) & (y.max(axis=0) == 1))

    def fitted(tol):
        peer = OneVsRestClassifier(machine.set_params(tol=tol)).fit(X, y[:, seen])
        return sum(
            objective(e, X, 2.0 * y[:, k] - 1.0)
            for k, e in zip(seen, peer.estimators_, strict=True)
        )

    best = fitted(EXACT)
    tol = next((tol for tol in TOLERANCES if fitted(tol) <= best * (1 + GAP)), EXACT)
    return OneVsRestClassifier(machine.set_params(tol=tol))


def linear_objective(machine, X, sign):
    """LinearSVC's objective, intercept included."""
    square = np.sum(machine.coef_**2) + np.sum(machine.intercept_**2)
    return 0.5 * square + np.maximum(0.0, 1 - sign * machine.decision_function(X)).sum()


def kernel_objective(machine, X, sign):
    """SVC's objective."""
    weights = machine.coef_.toarray() if hasattr(machine.coef_, "toarray") else machine.coef_
    hinge = np.maximum(0.0, 1 - sign * machine.decision_function(X))
    return 0.5 * np.sum(weights**2) + hinge.sum()
