"""Our results next to Table 2 of paper 000: docs/papers/000.md.

Parameters are chosen by 5-fold cross-validation on the training part only, in the whole grid of the
paper; the test part is used once, at the end. Finished fits are kept in a file for each data set:
what was stopped goes on from there.
"""

import json
import time
from pathlib import Path

from sklearn.metrics import (
    hamming_loss,
    label_ranking_average_precision_score,
    label_ranking_loss,
)

from skml_odm import MLODM
from skml_odm.metrics import one_error

from .data import load_as_in_paper
from .mlodm import CHOSEN
from .search import GRID, path_search

PAGE = Path(__file__).parents[1] / "docs" / "papers" / "000.md"
MEASURES = ("ranking loss", "Hamming loss", "one-error", "average precision")
# where chosen.json lists the data sets whose whole grid was searched
WHOLE = "whole grid"
# Table 2 of paper 000, column mlODM, in per cent, in the order of MEASURES
PAPER = {
    "emotions": (15.31, 19.50, 25.74, 81.56),
    "scene": (6.76, 9.78, 20.15, 88.13),
    "yeast": (15.83, 19.08, 22.54, 77.07),
    "birds": (15.42, 7.80, 42.44, 62.04),
    "genbase": (0.18, 0.06, 0.00, 99.64),
    "medical": (2.18, 1.44, 16.07, 87.64),
    "enron": (7.62, 4.85, 26.42, 69.17),
}


def run(arguments):
    chosen = json.loads(CHOSEN.read_text()) if CHOSEN.exists() else {}
    rows = []
    for name in (*PAPER, "medical-333"):
        split = load_as_in_paper(name)
        if not arguments.chosen and name in (arguments.sets or (name,)):
            start = time.perf_counter()
            search = path_search(
                GRID, arguments.jobs, refit=False, checkpoint=kept(name, arguments.keep)
            )
            search.fit(split.X_train, split.y_train.astype(int))
            chosen[name] = {key: float(value) for key, value in search.best_params_.items()}
            chosen[WHOLE] = sorted({*chosen.get(WHOLE, []), name})
            print(
                f"{name}: {chosen[name]}, {-100 * search.best_score_:.2f} in cross-validation, "
                f"{time.perf_counter() - start:.0f} s",
                flush=True,
            )
            CHOSEN.write_text(json.dumps(chosen, indent=2) + "\n")
        rows.append((name, chosen[name], measure(split, chosen[name])))
        print(name, " ".join(f"{value:.2f}" for value in rows[-1][2]), flush=True)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(rows, chosen.get(WHOLE, [])))
    print(f"wrote {PAGE}")


def kept(name, folder):
    """Where finished fits of a data set are kept."""
    if folder is None:
        return None
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder) / f"{name}.db"


def measure(split, parameters):
    """The four measures of the paper on the test part, in per cent."""
    model = MLODM(**parameters, tol=1e-6, random_state=0).fit(split.X_train, split.y_train)
    scores = model.label_scores(split.X_test)
    return (
        100 * label_ranking_loss(split.y_test, scores),
        100 * hamming_loss(split.y_test, model.predict(split.X_test)),
        100 * one_error(split.y_test, scores),
        100 * label_ranking_average_precision_score(split.y_test, scores),
    )


def page(rows, whole):
    """The page docs/papers/000.md; ``whole`` lists the sets with a search in the whole grid."""
    in_parts = [name for name, _, _ in rows if name not in whole]
    lines = [
        "# Paper 000: mlODM, our results next to the paper's",
        "",
        "Written by `python -m benchmarks papers 000`. All values in per cent; ranking loss,",
        "Hamming loss and one-error are better when small, average precision when large. Ours is",
        "`MLODM` with its default intercept and threshold, fitted on the training part of the",
        "publishers' split (features scaled to [0, 1] on that part). C, γ, θ and μ are chosen by",
        "5-fold cross-validation of the ranking loss on the training part, in the paper's whole",
        "grid of 13 · 13 · 9 · 9 candidates (`PathSearchCV`); of equally good ones the first,",
        "which has the smallest C. The test part is used once.",
        "",
    ]
    if in_parts:
        lines += [
            f"Not so for {', '.join(in_parts)}: there an earlier search went through the grid in",
            "parts, C and γ first, then θ and μ, then C and γ around their best.",
            "",
        ]
    for column, name in enumerate(MEASURES):
        better = (lambda a, b: a >= b) if name == "average precision" else (lambda a, b: a <= b)
        lines += [
            f"## {name.capitalize()}",
            "",
            "| data set | ours | paper | |",
            "|---|---|---|---|",
        ]
        wins = 0
        for data_set, _, ours in rows:
            value = round(ours[column], 2)
            if data_set not in PAPER:
                lines.append(f"| {data_set} | {value:.2f} | | |")
                continue
            reference = PAPER[data_set][column]
            good = better(value, reference)
            wins += good
            mark = "at least as good" if good else ""
            lines.append(f"| {data_set} | {value:.2f} | {reference:.2f} | {mark} |")
        lines += ["", f"At least as good on {wins} of {len(PAPER)} data sets.", ""]
    lines += ["## Chosen parameters", "", "| data set | C | γ | θ | μ |", "|---|---|---|---|---|"]
    for data_set, p, _ in rows:
        lines.append(f"| {data_set} | {p['C']:g} | {p['gamma']:g} | {p['theta']:g} | {p['mu']:g} |")
    lines += [
        "",
        "## Notes",
        "",
        "- birds: rows without labels are dropped as in the paper; 179 training rows remain here,",
        "  175 in the paper.",
        "- medical: the published split has 333 training rows, the paper reports 645; the two",
        "  parts are exchanged to compare. medical-333 is the published split.",
        "- genbase is nearly solved: 157 of 199 test rows repeat a training row, and a few label",
        "  pairs decide the ranking loss.",
        "- The paper repeats randomised algorithms five times; mlODM's problem is convex, its",
        "  solution unique, and the figures here carry a certificate instead.",
        "",
    ]
    return "\n".join(lines)
