"""Our results next to Table 2 of paper 000.

Parameters that the study has found are written to benchmarks/chosen.json, where other measurements
find them.
"""

import json

from ..mlodm import CHOSEN
from .tables import at_least_as_good, table, title

METHOD = "MLODM"
MEASURES = ("ranking_loss", "hamming_loss", "one_error", "average_precision")
INTRODUCTION = """\
# Paper 000: mlODM, our results next to the paper's

Written by `python -m benchmarks papers 000` from the study `benchmarks/papers/000.toml`. All values
in per cent; ranking loss, Hamming loss and one-error are better when small, average precision when
large. Ours is `MLODM` with its default intercept and threshold, fitted on the training part of the
publishers' split (features scaled to [0, 1] on that part). C, γ, θ and μ are chosen by 5-fold
cross-validation of the ranking loss on the training part, in the paper's whole grid of
13 · 13 · 9 · 9 candidates (`PathSearchCV`); of equally good ones the first, which has the smallest
C. The search is certified to relative gaps of 10⁻³, the last fit to 10⁻⁶. The test part is used
once.
"""
NOTES = """\
## Notes

- birds: rows without labels are dropped as in the paper; 179 training rows remain here,
  175 in the paper.
- medical: the published split has 333 training rows, the paper reports 645; the two
  parts are exchanged to compare. medical-333 is the published split.
- genbase is nearly solved: 157 of 199 test rows repeat a training row, and a few label
  pairs decide the ranking loss.
- Many candidates are nearly equally good in cross-validation, so other folds choose others. An
  earlier search over the same grid, whose folds were shuffled with seed 0 instead of 1, led to
  ranking losses of 15.09 on emotions, 12.23 on birds, 0.38 on genbase, 1.99 on medical and 2.54 on
  medical-333. The same search as here by an earlier `PathSearchCV`, which found other solutions
  within the same gaps, led to 15.20 on emotions, 12.63 on birds and 0.38 on genbase; a search
  through the grid in parts to 6.47 on scene, 16.08 on yeast and 7.03 on enron.
- The paper repeats randomised algorithms five times; mlODM's problem is convex, its
  solution unique, and the figures here carry a certificate instead.
"""


def remember(results):
    """Write the parameters that the study has found to benchmarks/chosen.json."""
    chosen = json.loads(CHOSEN.read_text())
    chosen |= {name: outcome.parameters for name, outcome in _known(results).items()}
    CHOSEN.write_text(json.dumps(chosen, indent=2) + "\n")


def page(results, figures):
    """The page docs/papers/000.md, of the data sets that are done."""
    known, lines = _known(results), [INTRODUCTION]
    for measure in MEASURES:
        lines += [title(measure), "", *_compared(measure, known, figures)]
    lines += ["## Chosen parameters", ""]
    rows = [
        [name, *(f"{outcome.parameters[key]:g}" for key in ("C", "gamma", "theta", "mu"))]
        for name, outcome in known.items()
    ]
    lines += [*table(["data set", "C", "γ", "θ", "μ"], rows), NOTES]
    return "\n".join(lines)


def _known(results):
    """The outcome of every data set that is done; a published split has one."""
    return {
        data.name: outcome
        for data in results.studies["000"].data
        for outcome in results.outcomes(data.name, METHOD)
    }


def _compared(measure, known, figures):
    """The table of a measure and a line below it."""
    rows, wins = [], 0
    for name, outcome in known.items():
        ours = round(100 * outcome.measures[measure], 2)
        if name not in figures:
            rows.append([name, f"{ours:.2f}", "", ""])
            continue
        paper = figures[name][measure]
        good = at_least_as_good(measure, ours, paper)
        wins += good
        rows.append([name, f"{ours:.2f}", f"{paper:.2f}", "at least as good" if good else ""])
    below = f"At least as good on {wins} of {len(figures)} data sets."
    return [*table(["data set", "ours", "paper", ""], rows), below, ""]
