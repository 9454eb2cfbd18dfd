"""Fit times of the ranking SVMs: against OneVsRest(SVC), the paper's recursion, and each other.

All in one run on one thread, best of several repeats. Times include the kernel matrix unless the
heading says that it is given. γ and C are those of paper 003's Table 2; enron is not in the paper
and has those chosen for MLODM.
"""

import time

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from skml_odm import RankCVM, RankSVM
from skml_odm.estimators.rank_cvm import lowest_vertex, scaled
from skml_odm.features.kernels import gaussian_kernel
from skml_odm.features.operators import KernelOperator
from skml_odm.problems.pairs import PairLoss
from skml_odm.solvers.frank_wolfe import frank_wolfe, frank_wolfe_steps
from skml_odm.solvers.iteration import conclude
from skml_odm.solvers.turns import solve_pairs as auto

from .data import load_as_in_paper
from .explicit_cvm import fit_explicit_cvm
from .mlodm import chosen_parameters
from .rank_data import PARAMETERS, load_for_rank
from .timing import best_time, in_turns, seconds

DATA_SETS = ("emotions", "scene", "yeast", "medical", "enron")
# where Frank-Wolfe steps reach a small gap within a minute
SMALL_GAP = ("emotions", "scene", "yeast")
GAP = 1e-3
# |z| at which paper 003 stops
EPSILON = 1e-3
# at most this long for the recursion in NumPy, and for Frank-Wolfe steps to a small gap
SECONDS = 60.0
LONG_ENOUGH = 5.0
# factor for the number of repeats where a fit takes milliseconds
SHORT_REPEATS = 5


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=5, help="repeats of our fits (default 5)")


def run(arguments):
    with threadpool_limits(1):
        compare_with_svc(arguments.repeats)
        compare_with_recursion(arguments.repeats)
        compare_with_auto(arguments.repeats)
        compare_with_rank_svm(arguments.repeats)


def rank_parameters(name, method):
    """γ and C for a data set."""
    if name in PARAMETERS:
        return PARAMETERS[name][method]
    chosen = chosen_parameters(name)
    return {key: chosen[key] for key in ("gamma", "C")}


def compare_with_svc(repeats):
    print(f"RankSVM at relative gap {GAP:g} and OneVsRest(SVC), same kernel and C")
    print(f"{'data set':10} {'rows':>6} {'labels':>6} {'ms':>8} {'gap':>9} {'SVC / RankSVM':>14}")
    ratios = []
    for name in DATA_SETS:
        split = load_as_in_paper(name)
        X, y = split.X_train, split.y_train.astype(int)
        parameters = rank_parameters(name, "RankSVM")
        model = RankSVM(**parameters, threshold="regression", tol=GAP, random_state=0)
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
    print(f"geometric mean {geometric_mean(ratios):.1f} (wanted 3)")


def compare_with_recursion(repeats):
    print(f"\nRankCVM's Frank-Wolfe steps until |z| ≤ {EPSILON:g}, kernel matrix given, and the")
    print("recursion on explicit pairs in NumPy: the paper's, which recalculates the elements of Θ")
    print("as sums over labels in every step, and one that we tuned to leave out all zero terms")
    header = ("data set", "steps", "ms", "µs / step", "paper's / ours", "tuned / ours")
    print("{:10} {:>7} {:>8} {:>10} {:>15} {:>13}".format(*header))
    all_ratios = []
    for name in DATA_SETS:
        K, y, C = rank_cvm_problem(name)
        n_steps = frank_wolfe_until(K, y, C).n_iter
        ours = best_time(lambda K=K, y=y, C=C: frank_wolfe_until(K, y, C), repeats)
        times = [recursion_time(K, y, C, version, repeats) for version in ("paper", "tuned")]
        ratios = [spent / ours for spent in times]
        all_ratios.append(ratios)
        told = [f"{'>' * (t > SECONDS)}{r:.1f}" for t, r in zip(times, ratios, strict=True)]
        print(
            f"{name:10} {n_steps:7d} {ours * 1e3:8.2f} {ours / n_steps * 1e6:10.2f} "
            f"{told[0]:>15} {told[1]:>13}",
            flush=True,
        )
    paper, tuned = (geometric_mean(each) for each in zip(*all_ratios, strict=True))
    print(f"geometric mean {paper:.1f} (the paper's recursion), {tuned:.1f} (tuned)")


def rank_cvm_problem(name):
    """Kernel matrix, relevant labels and C for a data set."""
    split = load_for_rank(name)
    parameters = rank_parameters(name, "RankCVM")
    return gaussian_kernel(split.X_train, parameters["gamma"]), split.y_train, parameters["C"]


def frank_wolfe_until(K, indicator, C):
    """Our steps to the paper's stop."""
    loss = PairLoss(indicator, C, 0.0, 0.0)
    operator = KernelOperator(K, True)
    return frank_wolfe(operator, loss, tol=1e-12, max_iter=10**7, absolute=EPSILON)


def recursion_time(K, indicator, C, version, repeats):
    """Seconds that a version of the recursion takes; above ``SECONDS``: at least."""
    times = []
    # as often as ours, but where two runs are long enough to tell, or one
    while len(times) < 2 or (len(times) < repeats and sum(times) < LONG_ENOUGH):
        times.append(fit_explicit_cvm(K, indicator, C, EPSILON, version, SECONDS)[3])
        if times[-1] > SECONDS:
            break
    return min(times)


def compare_with_auto(repeats):
    print("\nRankCVM's steps and its default solver, auto, at the same relative gap, kernel matrix")
    print(f"given, no thresholds: at the gap that |z| ≤ {EPSILON:g} amounts to, and at {GAP:g}")
    header = ("data set", "gap", "steps", "Frank-Wolfe ms", "W / W* - 1", "auto ms", "W / W* - 1")
    print("{:10} {:>7} {:>8} {:>15} {:>11} {:>8} {:>11} {:>7}".format(*header, "ratio"))
    at_crude, at_gap = [], []
    for name in DATA_SETS:
        K, y, C = rank_cvm_problem(name)
        optimum = auto_until(K, y, C, 1e-8).primal
        steps = frank_wolfe_until(K, y, C)
        # fits of a few milliseconds, in turns: a busy moment slows down both
        spent = in_turns(
            SHORT_REPEATS * repeats,
            lambda K=K, y=y, C=C: seconds(lambda: frank_wolfe_until(K, y, C)),
            lambda K=K, y=y, C=C, tol=steps.gap: seconds(lambda: auto_until(K, y, C, tol)),
        )
        result = auto_until(K, y, C, steps.gap)
        at_crude.append(print_against_auto(name, steps.gap, steps, result, spent, optimum))
        if name in SMALL_GAP:
            steps, long = frank_wolfe_for(K, y, C, GAP, SECONDS)
            result = auto_until(K, y, C, GAP)
            short = best_time(lambda K=K, y=y, C=C: auto_until(K, y, C, GAP), repeats)
            at_gap.append(print_against_auto(name, GAP, steps, result, (long, short), optimum))
    print(
        f"geometric mean {geometric_mean(at_crude):.1f} at |z| ≤ {EPSILON:g} (least "
        f"{min(at_crude):.2f}), {geometric_mean(at_gap):.1f} at {GAP:g}"
    )


def print_against_auto(name, tol, steps, result, spent, optimum):
    """Print a line about steps and auto at the same gap; how many times as long steps take."""
    ratio = spent[0] / spent[1]
    least = "" if steps.gap <= tol else ">"
    print(
        f"{name:10} {tol:7.1e} {steps.n_iter:8d} {f'{least}{spent[0] * 1e3:.1f}':>15} "
        f"{steps.primal / optimum - 1:11.1e} {spent[1] * 1e3:8.1f} "
        f"{result.primal / optimum - 1:11.1e} {f'{least}{ratio:.1f}':>7}",
        flush=True,
    )
    return ratio


def frank_wolfe_for(K, indicator, C, tol, seconds):
    """Our steps until the gap or the time is reached; the result and the time they took."""
    begin = time.perf_counter()
    loss = PairLoss(indicator, C, 0.0, 0.0)
    steps = frank_wolfe_steps(KernelOperator(K, True), loss, tol=tol, max_iter=10**9)
    try:
        while time.perf_counter() - begin < seconds:
            next(steps)
        result = conclude(steps)
    except StopIteration as end:
        result = end.value
    return result, time.perf_counter() - begin


def auto_until(K, indicator, C, tol):
    """What RankCVM's default solver does with a kernel matrix."""
    loss = PairLoss(indicator, C, 0.0, 0.0)
    operator = KernelOperator(K, True)
    result = auto(operator, loss, tol=tol, max_iter=2000, random_state=0)
    return scaled(result, lowest_vertex(operator, loss), tol)


def compare_with_rank_svm(repeats):
    print(f"\ntraining time of RankSVM and RankCVM, each with its parameters, gap {GAP:g}")
    print(f"{'data set':14} {'rows':>6} {'RankSVM ms':>11} {'RankCVM ms':>11} {'ratio':>7}")
    ratios = []
    for name, parameters in PARAMETERS.items():
        split = load_for_rank(name)
        X, y = split.X_train, split.y_train.astype(int)
        svm, cvm = (
            method(**parameters[method.__name__], tol=GAP, random_state=0)
            for method in (RankSVM, RankCVM)
        )
        slow = best_time(lambda m=svm, X=X, y=y: m.fit(X, y), min(repeats, 2))
        fast = best_time(lambda m=cvm, X=X, y=y: m.fit(X, y), repeats)
        ratios.append(slow / fast)
        print(
            f"{name:14} {len(y):6d} {slow * 1e3:11.1f} {fast * 1e3:11.1f} {ratios[-1]:7.1f}",
            flush=True,
        )
    print(f"geometric mean {geometric_mean(ratios):.1f} (the paper: 13.7)")


def geometric_mean(ratios):
    return np.exp(np.mean(np.log(ratios)))
