"""Our results next to Table 3 of paper 002, for SVMs, M3L, CSRL and CSRL+R: docs/papers/002.md.

800 random rows for training, five repeats, β = 1, α = 10, a linear kernel and tf-idf features, as
in the paper, on the yahoo sets we have. LinearSVC is also tuned, on the training rows alone.
"""

import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from skml_odm import CSRL, M3L, RankSVM

from .yahoo import FULL, REDUCED, TRAINING_ROWS, prepare, split

PAGE = Path(__file__).parents[1] / "docs" / "papers" / "002.md"
N_REPEATS = 5
MEASURES = ("exact match", "macro-F1", "micro-F1")
COMPARED = ("SVM", "RankSVM", "M3L", "CSRL", "CSRL+R")
OTHERS = ("SVM, no intercept", "SVM, tuned C", "SVM, tuned C, no intercept", "CSRL, tuned β")
GRID = [2.0**k for k in range(-2, 7, 2)]
# Table 3: exact match, macro-F1, micro-F1 in per cent
PAPER = {
    "SVM": (
        (0, 0, 0.1, 3.8, 0, 0, 13.8, 0, 0, 2.2),
        (5.5, 4.0, 8.1, 12.5, 0, 6.6, 16.0, 5.4, 8.2, 8.7),
        (34.5, 31.6, 39.2, 53.2, 0, 43.9, 67.4, 34.4, 46.7, 48.3),
    ),
    "RankSVM": (
        (3.4, 0.3, 1.9, 3.6, 1.1, 0.3, 10.7, 0.6, 3.8, 1.1),
        (10.2, 6.1, 23.9, 23.2, 13.8, 13.7, 16.0, 11.2, 15.9, 11.4),
        (42.1, 33.7, 52.4, 61.1, 39.2, 50.7, 61.0, 40.3, 53.7, 45.9),
    ),
    "M3L": (
        (2.6, 12.1, 13.2, 4.7, 7.4, 0.0, 13.9, 8.4, 16.5, 2.2),
        (9.6, 6.8, 26.0, 13.0, 19.5, 6.6, 16.5, 14.2, 26.7, 8.7),
        (42.1, 36.5, 54.9, 53.6, 47.7, 44.0, 67.5, 47.1, 62.7, 48.3),
    ),
    "CSRL": (
        (8.0, 12.4, 17.9, 16.3, 17.1, 11.4, 16.2, 10.8, 17.9, 2.2),
        (41.4, 40.7, 49.5, 57.5, 55.3, 45.2, 47.8, 46.4, 49.5, 37.2),
        (52.3, 50.0, 64.1, 68.3, 61.7, 60.1, 68.7, 56.9, 66.1, 50.7),
    ),
    "CSRL+R": (
        (8.2, 13.5, 18.0, 17.3, 17.9, 11.6, 16.4, 11.2, 18.1, 2.2),
        (41.5, 40.7, 49.2, 57.4, 55.3, 45.1, 47.9, 46.3, 49.3, 37.3),
        (52.3, 50.2, 64.0, 68.3, 61.8, 60.2, 68.8, 57.0, 66.1, 50.8),
    ),
}
# Table 1, in seconds
SECONDS = {
    "CSRL": (1195.0, 1592.2, 718.8, 1020.0, 1196.2, 1369.0, 1097.0, 703.6, 796.8, 1197.7),
    "CSRL+R": (701.9, 687.6, 544.3, 497.4, 686.9, 1082.8, 660.3, 416.2, 505.4, 546.4),
}


def models(seed):
    """All classifiers, made anew."""

    def machine(**options):
        return OneVsRestClassifier(LinearSVC(loss="hinge", random_state=seed, **options))

    def tuned(model, name):
        return GridSearchCV(model, {name: GRID}, scoring="f1_micro", cv=3)

    common = {"kernel": "linear", "random_state": seed}
    return {
        "SVM": machine(),
        "RankSVM": RankSVM(**common),
        "M3L": M3L(**common),
        "CSRL": CSRL(**common),
        "CSRL+R": CSRL(covariance="learn", **common),
        "SVM, no intercept": machine(fit_intercept=False),
        "SVM, tuned C": tuned(machine(), "estimator__C"),
        "SVM, tuned C, no intercept": tuned(machine(fit_intercept=False), "estimator__C"),
        "CSRL, tuned β": GridSearchCV(
            CSRL(**common), {"beta": [1 / C for C in GRID]}, scoring="f1_micro", cv=3
        ),
    }


def run(arguments):
    results, shapes = {}, {}
    for name in (*REDUCED, *FULL):
        X, Y = prepare(name)
        shapes[name] = (*X.shape, Y.shape[1])
        for seed in range(N_REPEATS):
            parts = split(X, Y, seed)
            for method, model in models(seed).items():
                results.setdefault((name, method), []).append(measure(model, parts))
        for method in (*COMPARED, *OTHERS):
            means = np.mean(results[name, method], axis=0)
            print(
                f"{name:14} {method:28}", " ".join(f"{value:7.2f}" for value in means), flush=True
            )
    PAGE.write_text(page(results, shapes))
    print(f"wrote {PAGE}")


def measure(model, parts):
    """Exact match, macro-F1, micro-F1 in per cent, and the seconds of the fit."""
    y_train = parts.y_train.astype(int)
    with warnings.catch_warnings():
        # LIBLINEAR stops at its 1000 iterations where C is large; a label may lack in a fold
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="Label not")
        start = time.perf_counter()
        model.fit(parts.X_train, y_train)
        seconds = time.perf_counter() - start
    predicted = np.asarray(model.predict(parts.X_test))
    scores = [100 * accuracy_score(parts.y_test, predicted)]
    for average in ("macro", "micro"):
        scores.append(100 * f1_score(parts.y_test, predicted, average=average, zero_division=0))
    return (*scores, seconds)


def paper_column(name):
    """Which column of the paper's tables belongs to a set."""
    return REDUCED.index(name.removeprefix("full-"))


def page(results, shapes):
    """The page docs/papers/002.md."""
    lines = [
        "# Paper 002: CSRL and CSRL+R, our results next to the paper's",
        "",
        "Written by `python -m benchmarks papers 002`. The paper's preprocessing (without the",
        "largest label, labels with fewer than 200 rows, rows without labels, features in fewer",
        f"than 5 rows; tf-idf), {TRAINING_ROWS} random training rows, {N_REPEATS} repeats, β = 1,",
        "α = 10, linear kernel, models certified to a relative gap of 10⁻³. Mean ± standard",
        "deviation over the repeats, in per cent; the paper's figure in brackets. Ten sets have",
        "reduced features and 5000 of the rows; the last two have all features and rows. Neither",
        "gives the paper's numbers of labels and rows, so its figures are no target, only company.",
        "",
        "| data set | rows | features | labels |",
        "|---|---|---|---|",
        *(f"| {name} | {m} | {d} | {q} |" for name, (m, d, q) in shapes.items()),
        "",
    ]
    for k, measure_name in enumerate(MEASURES):
        lines += [f"## {measure_name[0].upper() + measure_name[1:]}", ""]
        lines += ["| data set | " + " | ".join(COMPARED) + " |", "|---" * 6 + "|"]
        for name in shapes:
            means = {m: np.mean(results[name, m], axis=0)[k] for m in COMPARED}
            best = max(means.values())
            cells = []
            for method in COMPARED:
                bold = "**" if means[method] >= best - 0.05 else ""
                spread = np.std(results[name, method], axis=0, ddof=1)[k]
                paper = PAPER[method][k][paper_column(name)]
                cells.append(f"{bold}{means[method]:.1f}{bold} ± {spread:.1f} ({paper:.1f})")
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    lines += [
        "## What tuning and the intercept are worth",
        "",
        'The same splits. SVM is `LinearSVC(loss="hinge")`, one per label; C and β are chosen',
        "by 3-fold cross-validation on the training rows for micro-F1. Means over all sets.",
        "",
        "| method | " + " | ".join(MEASURES) + " | fit seconds |",
        "|---|---|---|---|---|",
    ]
    for method in (*COMPARED, *OTHERS):
        means = np.mean([np.mean(results[name, method], axis=0) for name in shapes], axis=0)
        cells = " | ".join(f"{value:.1f}" for value in means[:3])
        lines.append(f"| {method} | {cells} | {means[3]:.2f} |")
    lines += [
        "",
        "## Training time",
        "",
        "Seconds per fit on one core of our machine, and the paper's Table 1 in brackets.",
        "",
        "| data set | CSRL | CSRL+R |",
        "|---|---|---|",
    ]
    for name in shapes:
        cells = []
        for method, paper in SECONDS.items():
            seconds = np.mean(results[name, method], axis=0)[3]
            cells.append(f"{seconds:.3f} ({paper[paper_column(name)]:.0f})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", NOTES])


NOTES = """\
## What the figures say

- The order of the paper holds: CSRL is ahead of SVM, RankSVM and M3L on every set and in every
  measure.
- Most of its advantage over SVM in F1 is calibration at C = 1: an SVM with a tuned C comes within
  1 point of macro-F1 and 2 of micro-F1 of the untuned CSRL, at fifty times the fit time. In exact
  match it stays 4.6 points behind. Tuning β gains CSRL another 0.8 points of micro-F1.
- Learned covariances do not help here: CSRL+R is ahead of CSRL in macro-F1 on six sets, in micro-F1
  on three, in exact match on none, and loses 2.6 points there, where the paper has small gains.
  The saddle value is certified, so this is what the model does.
- The paper's exact-match figures are far below ours at similar F1; see the errata.
"""
