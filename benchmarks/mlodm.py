"""MLODM's fit time at a gap of 1e-3 against OneVsRest(SVC), MLkNN and the paper's algorithm.

All in one run on one thread, best of several repeats. Each data set is fitted with the parameters
that ``python -m benchmarks papers 000`` chose by cross-validation on its training part
(benchmarks/chosen.json). OneVsRest(SVC) has the same kernel and C; the paper's algorithm solves
exactly the same problem, to the same gap.
"""

import json
import tracemalloc
from pathlib import Path

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC
from skmultilearn.adapt import MLkNN
from threadpoolctl import threadpool_limits

from skml_odm import MLODM
from skml_odm.features.kernels import gaussian_kernel
from skml_odm.problems.pairs import PairLoss

from .data import load_as_in_paper
from .explicit import fit_explicit
from .timing import best_time

CHOSEN = Path(__file__).with_name("chosen.json")
DATA_SETS = ("emotions", "scene", "yeast", "enron", "medical-333", "medical")
SMALL = ("emotions", "birds")
GAP = 1e-3


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=5, help="repeats of our fit (default 5)")


def chosen_parameters(name):
    """The parameters that cross-validation chose for a data set."""
    return json.loads(CHOSEN.read_text())[name]


def run(arguments):
    with threadpool_limits(1):
        compare_with_peers(arguments.repeats)
        compare_with_paper(arguments.repeats)


def compare_with_peers(repeats):
    print(f"fit at relative gap {GAP:g}, one thread, best of {repeats} (SVC: 2, MLkNN: 1)")
    header = (
        "data set",
        "rows",
        "labels",
        "MLODM ms",
        "gap",
        "SVC / MLODM",
        "MLkNN / MLODM",
        "memory",
    )
    print("{:10} {:>6} {:>6} {:>9} {:>9} {:>12} {:>14} {:>8}".format(*header))
    ratios = []
    for name in DATA_SETS:
        split = load_as_in_paper(name)
        X, y = split.X_train, split.y_train.astype(int)
        parameters = chosen_parameters(name)
        model = MLODM(**parameters, threshold="regression", tol=GAP, random_state=0)
        ours = best_time(lambda m=model, X=X, y=y: m.fit(X, y), repeats)
        svc = OneVsRestClassifier(SVC(C=parameters["C"], gamma=parameters["gamma"]))
        seen = (y.min(axis=0) == 0) & (y.max(axis=0) == 1)
        theirs = best_time(lambda s=svc, X=X, y=y[:, seen]: s.fit(X, y), 2)
        neighbours = best_time(lambda X=X, y=y: MLkNN(k=10).fit(X, y), 1)
        if name != "medical":
            # the same data once more, with its two parts exchanged: shown, but not counted twice
            ratios.append(theirs / ours)
        print(
            f"{name:10} {len(y):6d} {y.shape[1]:6d} {ours * 1e3:9.1f} {model.dual_gap_:9.1e} "
            f"{theirs / ours:12.1f} {neighbours / ours:14.1f} {peak_memory(model, X, y):8.2f}"
        )
    print(
        f"geometric mean of SVC / MLODM without the last: "
        f"{np.exp(np.mean(np.log(ratios))):.1f} (wanted 8), "
        f"smallest: {min(ratios):.1f} (wanted 2); memory in kernel matrices (wanted 1.5)"
    )


def peak_memory(model, X, y):
    """Peak of what a fit allocates, in kernel matrices of the training rows."""
    return peak_bytes(model, X, y) / (8 * len(y) ** 2)


def peak_bytes(model, X, y):
    """Peak of what a fit allocates."""
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def compare_with_paper(repeats):
    print(f"\nthe paper's Algorithms 1 + 2 with explicit H (NumPy), same problem, gap {GAP:g}")
    print(f"{'data set':10} {'paper s':>9} {'its gap':>9} {'MLODM ms':>9} {'ratio':>8}")
    for name in SMALL:
        split = load_as_in_paper(name)
        X, y = split.X_train, split.y_train
        parameters = chosen_parameters(name)
        model = MLODM(
            **parameters, threshold="regression", fit_intercept=False, tol=GAP, random_state=0
        )
        ours = best_time(lambda m=model, X=X, y=y: m.fit(X, y), repeats)
        K = gaussian_kernel(X, parameters["gamma"])
        C, theta, mu = (parameters[key] for key in ("C", "theta", "mu"))
        loss = PairLoss(y, C, theta, mu)
        lower_bound = model.objective_ * (1.0 - model.dual_gap_)

        def gap(A, K=K, loss=loss, lower_bound=lower_bound):
            F = K @ A
            primal = 0.5 * np.vdot(A, F) + loss.evaluate(F)[0]
            return (primal - lower_bound) / primal

        theirs, reached = fit_explicit(K, y, C, theta, mu, GAP, seconds=60.0, certify=gap)
        sign = "" if reached <= GAP else ">"
        print(
            f"{name:10} {theirs:9.2f} {reached:9.1e} {ours * 1e3:9.1f} "
            f"{sign + format(theirs / ours, '.0f'):>8}"
        )
    print("wanted: 100")
