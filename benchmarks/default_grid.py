"""How good the default grid of PathSearchCV is: its regret against a large grid, with MLODM.

For each data set (training part, features in [0, 1], at most 1500 rows) the candidate of smallest
ranking loss in five shuffled folds is chosen from the default grid, and from a large one with both
kernels (576 candidates). Printed are both ranking losses, by how much the first is larger, and by
how many points the micro-F1 of the chosen candidate lies below the best one of the large grid; with
MLODM's own parameters as a comparison.
"""

import warnings

import numpy as np
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import KFold

from skml_odm import MLODM, PathSearchCV
from skml_odm.features.kernels import make_kernel
from skml_odm.metrics import ranking_loss_scorer
from skml_odm.study.evaluation import scaled

from .data import load_raw
from .timing import seconds

# the factors of the default grid were chosen on these
CHOSE = ("emotions", "yeast", "birds", "plant-pseaac", "medical", "slashdot")
# and confirmed on these
CONFIRMED = ("scene", "flags", "image", "genbase", "enron", "yahoo-arts")
MOST_ROWS = 1500
LOSSES = {
    "C": 4.0 ** np.arange(-2, 6),
    "theta": [0.0, 0.3, 0.6],
    "mu": [0.0, 0.3, 0.7],
}
GAMMAS = 2.0 ** np.arange(-4, 3)
SCORERS = {
    "loss": ranking_loss_scorer,
    "F1": make_scorer(f1_score, average="micro", zero_division=1.0),
}
FOLDS = KFold(5, shuffle=True, random_state=0)


def add_arguments(parser):
    parser.add_argument("--sets", nargs="*", default=[*CHOSE, *CONFIRMED])


def run(arguments):
    warnings.simplefilter("ignore")
    print(
        "| set | kernel | seconds | loss | large grid | regret, % | F1 regret, points | no search |"
    )
    print("|---" * 8 + "|")
    for name in arguments.sets:
        X, y = training_part(name)
        scale = make_kernel("rbf", "scale", 1, 0.0, X).gamma
        large = [
            {"kernel": ["rbf"], "gamma": scale * GAMMAS, **LOSSES},
            {**LOSSES, "kernel": ["linear"], "C": scale * LOSSES["C"]},
        ]
        search = PathSearchCV(MLODM())
        duration = seconds(lambda s=search, X=X, y=y: s.fit(X, y))
        ours, theirs, plain = (
            means(grid, X, y) for grid in (search.param_grid_, large, {"C": [1.0]})
        )
        chosen = ours[:, ours[0].argmax()]
        best = np.maximum(ours.max(axis=1), theirs.max(axis=1))
        print(
            f"| {name} | {search.best_params_['kernel']} | {duration:.1f} | {-chosen[0]:.4f} "
            f"| {-theirs[0].max():.4f} | {100 * (chosen[0] / best[0] - 1):.1f} "
            f"| {100 * (best[1] - chosen[1]):.1f} | {-plain[0, 0]:.4f} |",
            flush=True,
        )


def training_part(name):
    X, Y, rows, _ = load_raw(name)
    shuffled = np.random.RandomState(0).permutation
    rows = shuffled(len(Y))[:1000] if rows is None else np.sort(rows)
    if len(rows) > MOST_ROWS:
        rows = shuffled(rows)[:MOST_ROWS]
    rows = np.sort(rows)
    return scaled(X[rows], X[rows], "unit")[0], Y[rows].astype(int)


def means(grid, X, y):
    """Mean scores of all candidates, a row per scorer."""
    search = PathSearchCV(MLODM(), grid, FOLDS, SCORERS, refit=False).fit(X, y)
    return np.array([search.cv_results_[f"mean_test_{name}"] for name in SCORERS])
