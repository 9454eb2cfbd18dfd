"""The tables of docs/unknown.md: outcomes of ``python -m benchmarks unknown``."""

import numpy as np

from .papers.tables import bold, table

SETS = ("birds", "emotions", "enron", "flags", "genbase", "medical", "scene", "yeast")
SHARES = (0.1, 0.3, 0.5, 0.7)
METHODS = ("MLODM", "unknown = irrelevant", "BR", "SMiLE")
MEASURES = {"ranking-loss": ("Ranking loss", 1.0), "micro-f1": ("Micro-F1", -1.0)}

HEADING = "## What is it worth?\n"
TITLE = """`python -m benchmarks unknown` hides a share of the training cells (rows × labels) of
eight data sets at random, and measures four methods on rows whose labels are all known. There are
1500 rows at most, half of them for training; all figures are means over five random choices of rows
and hidden cells. Everything is at its defaults, and features are in [0, 1].

- **MLODM** knows which labels are unknown.
- **unknown = irrelevant** is MLODM with zeros in the place of the unknown labels.
- **BR** is a support vector machine (`SVC`) per label, fitted to the rows in which it is known.
- **SMiLE** is `skmultilearn.missing.SMiLE` of scikit-multilearn. It cannot be told what is
  unknown: every zero may be a missing label.
"""
COUNTS = """On how many of the eight data sets `MLODM` is ahead of each of the others, by ranking
loss and by micro-F1:
"""


class Figures:
    """Means over the seeds: values[measure][data set, share, method]."""

    def __init__(self, outcomes):
        found: dict = {}
        self.failures: dict = {}
        for (name, share, _, method), outcome in outcomes.items():
            if "error" in outcome:
                self.failures.setdefault((method, outcome["error"]), []).append(name)
                continue
            for measure in MEASURES:
                values = found.setdefault((measure, name, share, method), [])
                values.append(outcome[measure])
        self.values = {key: float(np.mean(values)) for key, values in found.items()}

    def row(self, measure, name, share):
        """A value per method; NaN where there is none."""
        return np.array([self.values.get((measure, name, s, m), np.nan) for s, m in share])

    def ahead(self, measure, share, other):
        """On how many data sets MLODM is better than another method."""
        sign = MEASURES[measure][1]
        rows = [self.row(measure, s, [(share, "MLODM"), (share, other)]) for s in SETS]
        # what a method cannot do at all it does not do better
        return sum(not sign * theirs <= sign * ours for ours, theirs in rows)


def tables(outcomes):
    """Lines of the page after its heading."""
    figures = Figures(outcomes)
    lines = [TITLE, COUNTS]
    rows = [
        [f"{share:.0%} hidden", *(_both(figures, share, other) for other in METHODS[1:])]
        for share in SHARES
    ]
    lines += table(["", *METHODS[1:]], rows)
    for (method, error), names in sorted(figures.failures.items()):
        sets = ", ".join(sorted(set(names)))
        text = f"{method} failed in {len(names)} runs, on {sets}: “{error}”."
        lines += [f"{text} Its figures there are means over the other runs.", ""]
    for measure, (heading, sign) in MEASURES.items():
        lines += [f"### {heading}", ""]
        for share in SHARES:
            lines += [f"{share:.0%} of the training cells hidden:", ""]
            lines += _details(figures, measure, sign, share)
    return lines


def _both(figures, share, other):
    return " and ".join(str(figures.ahead(measure, share, other)) for measure in MEASURES)


def _details(figures, measure, sign, share):
    columns = [(share, method) for method in METHODS]
    rows = []
    for name in SETS:
        values = figures.row(measure, name, columns)
        best = np.nanmin(sign * values.round(4))
        cells = [
            "–" if np.isnan(v) else bold(f"{v:.4f}", sign * round(v, 4) == best) for v in values
        ]
        complete = figures.row(measure, name, [(0.0, "MLODM")])[0]
        rows.append([name, *cells, f"{complete:.4f}"])
    return table(["set", *METHODS, "MLODM, nothing hidden"], rows)
