"""Linear training: MCODM against LIBLINEAR, then the fit times of MLODM at scale.

MCODM and LIBLINEAR's Crammer-Singer solver (-s 4) solve different problems, so each is timed until
it is within the same relative distance of the lowest primal value known for its own: LIBLINEAR with
the largest ε, MCODM with the largest tol of a list that gets there. Both weigh every row's loss by
1 (LIBLINEAR -c 1; MCODM's C is m(1−θ)²/2), both have a regularised bias, features are in [0, 1],
data are prepared beforehand in the form that suits each: CSR for LIBLINEAR, which takes no other;
dense for MCODM, but mnist10k as CSR. One thread, times of the processor, best of several fits for
those that take less than a second.

Parts: liblinear as above; svc, MLODM against OneVsRest(LinearSVC); rows and labels, how fit times
grow with them; text, a large sparse problem (``scale``).
"""

import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

from skml_odm import MCODM

from . import scale
from .data import FOLDER
from .rank import geometric_mean

PARTS = ("liblinear", "svc", "rows", "labels", "text")
DATA_SETS = ("letter", "satimage", "shuttle", "connect-4", "mnist10k", "dna")
THETA, MU = 0.2, 0.5
EPSILONS = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
FINEST_EPSILON = 3e-4
TOLERANCES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003)
FINEST_TOLERANCE = 3e-4
DISTANCES = (1e-2, 1e-3)
AS_CSR = ("mnist10k",)


def add_arguments(parser):
    parser.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS, help="what to run")
    parser.add_argument("--repeats", type=int, default=3, help="repeats of short fits (default 3)")
    parser.add_argument("--sets", nargs="+", default=DATA_SETS, help="data sets of liblinear")


def run(arguments):
    repeats = arguments.repeats
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if "liblinear" in arguments.parts:
            compare_with_liblinear(arguments.sets, repeats)
        if "svc" in arguments.parts:
            scale.compare_with_linear_svc(repeats)
        if "rows" in arguments.parts:
            scale.grow_rows(repeats)
        if "labels" in arguments.parts:
            scale.grow_labels(repeats)
        if "text" in arguments.parts:
            scale.text(10**5, 10**5, 100)


def load_multiclass(name):
    """All rows of a data set, features in [0, 1], and class numbers."""
    with np.load(FOLDER / "multiclass" / f"{name}.npz", allow_pickle=False) as file:
        X = np.ascontiguousarray(MinMaxScaler().fit_transform(file["X"].astype(np.float64)))
        y = np.unique(file["y"], return_inverse=True)[1]
    return X, y


def compare_with_liblinear(names, repeats):
    print("seconds until the primal value is within a relative distance of the lowest known")
    header = ("data set", "rows", "d", "k", "distance", "LIBLINEAR", "ε", "MCODM", "tol", "ratio")
    print("{:10} {:>6} {:>4} {:>3} {:>9} {:>10} {:>7} {:>8} {:>7} {:>6}".format(*header))
    ratios = {distance: [] for distance in DISTANCES}
    for name in names:
        X, y = load_multiclass(name)
        theirs, ours = liblinear_runs(X, y, repeats), mcodm_runs(name, X, y, repeats)
        for distance in DISTANCES:
            epsilon, slow = first_within(*theirs, distance)
            tol, fast = first_within(*ours, distance)
            ratios[distance].append(slow / fast)
            print(
                f"{name:10} {len(y):6d} {X.shape[1]:4d} {y.max() + 1:3d} {distance:9g} "
                f"{slow:10.3f} {epsilon:7g} {fast:8.3f} {tol:7g} {slow / fast:6.2f}",
                flush=True,
            )
    for distance, found in ratios.items():
        print(
            f"distance {distance:g}: geometric mean of the ratio {geometric_mean(found):.2f} "
            f"(wanted 1), least {min(found):.2f} (wanted 0.5)"
        )


def runs_until_close(settings, solve, lowest):
    """(setting, seconds, value) from rough to fine, until one is as close as will be asked for."""
    runs = []
    for setting in settings:
        runs.append((setting, *solve(setting)))
        if runs[-1][2] <= (1 + min(DISTANCES)) * lowest:
            break
    lowest = min(lowest, *(value for _, _, value in runs))
    return runs, lowest


def first_within(runs, lowest, distance):
    """Setting and seconds of the first run close enough to the lowest value known."""
    for setting, seconds, value in runs:
        if value <= (1 + distance) * lowest:
            return setting, seconds
    raise RuntimeError(f"no run comes within {distance:g} of the lowest value")


def liblinear_runs(X, y, repeats):
    """Runs of LIBLINEAR, and the lowest primal value known."""
    from liblinear.liblinearutil import parameter, problem, train

    rows = sparse.csr_matrix(X)
    data = problem(y.astype(float), rows, bias=1)

    def solve(epsilon, repeats=repeats):
        options = parameter(f"-s 4 -c 1 -B 1 -e {epsilon} -q")
        seconds, model = timed(lambda: train(data, options), repeats)
        k, d = model.nr_class, X.shape[1]
        W = np.empty((d + 1, k))
        # classes are in the order in which LIBLINEAR met them
        W[:, np.array(model.get_labels())] = np.array(model.w[: k * (d + 1)]).reshape(d + 1, k)
        scores = rows @ W[:-1] + W[-1]
        own = scores[np.arange(len(y)), y].copy()
        scores[np.arange(len(y)), y] = -np.inf
        loss = np.maximum(1 - own + scores.max(axis=1), 0.0).sum()
        return seconds, 0.5 * np.vdot(W, W) + loss

    return runs_until_close(EPSILONS, solve, solve(FINEST_EPSILON, 1)[1])


def mcodm_runs(name, X, y, repeats):
    """Runs of MCODM, and the lowest objective known."""
    if name in AS_CSR:
        X = sparse.csr_matrix(X)
    C = 0.5 * len(y) * (1 - THETA) ** 2

    def solve(tol, repeats=repeats, seed=0):
        model = MCODM(C, THETA, MU, tol=tol, max_iter=5000, random_state=seed)
        seconds, _ = timed(lambda: model.fit(X, y), repeats)
        return seconds, model.objective_

    # another order of the rows may lead to a lower minimum
    lowest = min(solve(FINEST_TOLERANCE, 1, seed)[1] for seed in range(2))
    return runs_until_close(TOLERANCES, solve, lowest)


def timed(work, repeats):
    """Shortest time of several calls, of one if that takes more than a second; its result."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
        if best > 1.0:
            break
    return best, result
