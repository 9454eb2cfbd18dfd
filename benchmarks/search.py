"""PathSearchCV against GridSearchCV: the whole grid of paper 000, a smaller one, and paper 004's.

One run, all searches with the same workers (two by default), each with one thread. GridSearchCV
over the whole grid would take hours: it gets a random hundredth of the candidates, and times are
compared per fit.
"""

import numpy as np
from joblib import parallel_config
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid
from threadpoolctl import threadpool_limits

from skml_odm import MCODM, MLODM, PathSearchCV
from skml_odm.metrics import ranking_loss_scorer

from .data import load_as_in_paper
from .linear import load_multiclass
from .timing import in_turns, seconds

POWERS = {"C": (2.0 ** np.arange(-2, 11)).tolist(), "gamma": (2.0 ** np.arange(-10, 3)).tolist()}
TENTHS = (np.arange(1, 10) / 10).tolist()
# paper 000: 13 · 13 · 9 · 9 candidates
GRID = {**POWERS, "theta": TENTHS, "mu": TENTHS}
# paper 004
CLASSES = {
    "C": (2.0 ** np.arange(0, 21, 2)).tolist(),
    "theta": [0.2, 0.4, 0.6, 0.8],
    "mu": [0.2, 0.4, 0.6, 0.8],
}
CLASS_SETS = ("vehicle", "dna", "satimage", "letter")
FOLDS = KFold(5, shuffle=True, random_state=0)
SHARE = 0.01
REPEATS = 3


def add_arguments(parser):
    parser.add_argument("--jobs", type=int, default=2, help="workers (default 2)")
    parser.add_argument(
        "--parts",
        nargs="*",
        default=["grid", "yeast", "classes", "dask"],
        help="grid, yeast, classes, dask",
    )


def run(arguments):
    # workers limit themselves; this is for what the searches do between
    with threadpool_limits(1):
        # the first search would wait for its workers to start, the others would not
        warm_up(arguments.jobs)
        if "grid" in arguments.parts:
            whole_grid(arguments.jobs)
        if "yeast" in arguments.parts:
            powers_of_yeast(arguments.jobs)
        if "classes" in arguments.parts:
            for name in CLASS_SETS:
                grid_of_classes(name, arguments.jobs)
        if "dask" in arguments.parts:
            dask_workers()


def path_search(grid, jobs, **options):
    """The search of paper 000's protocol."""
    return PathSearchCV(
        MLODM(random_state=0), grid, FOLDS, ranking_loss_scorer, n_jobs=jobs, **options
    )


def grid_search(grid, jobs):
    """What scikit-learn has in its place."""
    return GridSearchCV(
        MLODM(random_state=0), grid, cv=FOLDS, scoring=ranking_loss_scorer, n_jobs=jobs, refit=False
    )


def search_seconds(search, split):
    return seconds(lambda: search.fit(split.X_train, split.y_train.astype(int)))


def warm_up(jobs):
    split = load_as_in_paper("emotions")
    search_seconds(path_search({"C": [1.0], "gamma": [0.01, 0.1]}, jobs, refit=False), split)


def whole_grid(jobs):
    split = load_as_in_paper("emotions")
    candidates = list(ParameterGrid(GRID))
    search = path_search(GRID, jobs, refit=False)
    ours = search_seconds(search, split)
    n_fits = len(candidates) * search.n_splits_
    print(f"emotions, whole grid: {n_fits} fits in {ours / 60:.1f} minutes (wanted 10)", flush=True)
    chosen = np.random.default_rng(0).choice(len(candidates), round(SHARE * len(candidates)), False)
    some = [{name: [value] for name, value in candidates[index].items()} for index in chosen]
    other = grid_search(some, jobs)
    theirs = search_seconds(other, split)
    per_fit = theirs / (len(some) * search.n_splits_), ours / n_fits
    print(
        f"ms per fit: GridSearchCV on 1 % of it {1e3 * per_fit[0]:.2f}, PathSearchCV "
        f"{1e3 * per_fit[1]:.2f}: {per_fit[0] / per_fit[1]:.1f} times (wanted 15)",
        flush=True,
    )
    same = np.abs(
        search.cv_results_["mean_test_score"][chosen] - other.cv_results_["mean_test_score"]
    )
    print(f"ranking losses of these candidates differ by {same.max():.1e} at most (tol 1e-3)")


def powers_of_yeast(jobs):
    split = load_as_in_paper("yeast")
    ours, theirs = in_turns(
        REPEATS,
        lambda: search_seconds(path_search(POWERS, jobs, refit=False), split),
        lambda: search_seconds(grid_search(POWERS, jobs), split),
    )
    print(
        f"yeast, C x gamma, best of {REPEATS}: GridSearchCV {theirs:.1f} s, PathSearchCV "
        f"{ours:.1f} s: {theirs / ours:.1f} times (wanted 5)",
        flush=True,
    )


def grid_of_classes(name, jobs):
    X, y = load_multiclass(name)
    searches = {}

    def clock(search):
        searches[search] = search(
            MCODM(random_state=0), CLASSES, cv=FOLDS, n_jobs=jobs, refit=False
        )
        return seconds(lambda: searches[search].fit(X, y))

    # a minute of GridSearchCV is long enough for one run to tell
    repeats = REPEATS if name in ("vehicle", "satimage") else 1
    ours, theirs = in_turns(repeats, lambda: clock(PathSearchCV), lambda: clock(GridSearchCV))
    means = [search.cv_results_["mean_test_score"] for search in searches.values()]
    print(
        f"{name}, MCODM, the grid of paper 004, best of {repeats}: GridSearchCV {theirs:.1f} s, "
        f"PathSearchCV {ours:.1f} s: {theirs / ours:.1f} times; mean accuracies differ by "
        f"{np.mean(np.abs(np.subtract(*means))):.1e} on average, the best ones are "
        f"{means[0].max():.4f} and {means[1].max():.4f}",
        flush=True,
    )


def dask_workers():
    # minutes are long enough for one run to tell
    for name, words, grid, repeats in (
        ("yeast", "C x gamma", POWERS, REPEATS),
        ("emotions", "whole grid", GRID, 1),
    ):
        split = load_as_in_paper(name)
        no, one, two, profiled = in_turns(
            repeats,
            lambda g=grid, s=split: search_seconds(path_search(g, 1, refit=False), s),
            lambda g=grid, s=split: dask_seconds(1, g, s),
            lambda g=grid, s=split: dask_seconds(2, g, s),
            lambda g=grid, s=split: dask_seconds(2, g, s, profiler=True),
        )
        print(
            f"{name}, {words} on Dask, best of {repeats}: one worker {one:.1f} s, two {two:.1f} s: "
            f"{one / two:.2f} times (wanted 1.6); two with Dask's profiler {profiled:.1f} s, one "
            f"process without Dask {no:.1f} s: {no / two:.2f} times",
            flush=True,
        )


def dask_seconds(n_workers, grid, split, profiler=False):
    """A search on a cluster of its own, with Dask's profiler of all workers or without."""
    import dask
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        dask.config.set({"distributed.worker.profile.enabled": profiler}),
        LocalCluster(n_workers=n_workers, **options) as cluster,
        Client(cluster) as client,
    ):
        if n_workers == 1:
            # joblib would do without Dask: the worker is sent the whole search
            whole = path_search(grid, 1, refit=False)
            return client.submit(search_seconds, whole, split).result()
        with parallel_config(backend="dask"):
            warm_up(-1)
            return search_seconds(path_search(grid, -1, refit=False), split)
