"""How good the default grid of PathSearchCV is: its regret against a large grid, with MLODM.

For each data set (training part, features in [0, 1], at most 1500 rows) the candidate of smallest
ranking loss in five shuffled folds is chosen from the default grid, and from a large one with both
kernels (576 candidates). Printed are both ranking losses, by how much the first is larger, and by
how many points the micro-F1 of the chosen candidate lies below the best one of the large grid. The
threshold is paper 000's, which is faster to fit than calibrated decisions.

``--test-parts``: ranking loss and micro-F1 on the publishers' test parts, of MLODM at its defaults
and after the search.
"""

import warnings

import numpy as np
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import KFold

from skml_odm import MLODM, PathSearchCV
from skml_odm.features.kernels import make_kernel
from skml_odm.metrics import ranking_loss, ranking_loss_scorer
from skml_odm.metrics.labels import micro_f1
from skml_odm.study.evaluation import scaled

from .data import load, load_raw
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
    parser.add_argument("--test-parts", action="store_true")


def run(arguments):
    warnings.simplefilter("ignore")
    (show_test_parts if arguments.test_parts else show_regrets)(arguments.sets)


def show_regrets(sets):
    print("| set | kernel | seconds | loss | large grid | regret, % | F1 regret, points |")
    print("|---" * 7 + "|")
    for name in sets:
        X, y = training_part(name)
        scale = make_kernel("rbf", "scale", 1, 0.0, X).gamma
        large = [
            {"kernel": ["rbf"], "gamma": scale * GAMMAS, **LOSSES},
            {**LOSSES, "kernel": ["linear"], "C": scale * LOSSES["C"]},
        ]
        search = PathSearchCV(MLODM())
        duration = seconds(lambda s=search, X=X, y=y: s.fit(X, y))
        ours, theirs = (means(grid, X, y) for grid in (search.param_grid_, large))
        chosen = ours[:, ours[0].argmax()]
        best = np.maximum(ours.max(axis=1), theirs.max(axis=1))
        print(
            f"| {name} | {search.best_params_['kernel']} | {duration:.1f} | {-chosen[0]:.4f} "
            f"| {-theirs[0].max():.4f} | {100 * (chosen[0] / best[0] - 1):.1f} "
            f"| {100 * (best[1] - chosen[1]):.1f} |",
            flush=True,
        )


def show_test_parts(sets):
    print("| set | MLODM() | PathSearchCV(MLODM()) |")
    print("|---" * 3 + "|")
    for name in sets:
        if load_raw(name)[2] is None:
            continue
        split = load(name)
        cells = [name]
        for model in (MLODM(), PathSearchCV(MLODM())):
            model.fit(split.X_train, split.y_train.astype(int))
            loss = ranking_loss(split.y_test, model.decision_function(split.X_test))
            labels = np.asarray(model.predict(split.X_test)) == 1
            cells.append(f"{loss:.4f}, {micro_f1(split.y_test, labels):.2f}")
        print("| " + " | ".join(cells) + " |", flush=True)


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
    search = PathSearchCV(MLODM(threshold="regression"), grid, FOLDS, SCORERS, refit=False).fit(
        X, y
    )
    return np.array([search.cv_results_[f"mean_test_{name}"] for name in SCORERS])
