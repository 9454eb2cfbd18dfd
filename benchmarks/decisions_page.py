"""docs/decisions.md: tables of the outcomes of ``python -m benchmarks decisions``."""

import numpy as np
from scipy.stats import rankdata

from skml_odm.metrics.labels import LABEL_MEASURES

from .papers.tables import bold, table
from .rivals import AT_DEFAULTS, RIVALS

SETS = (
    *("birds", "emotions", "enron", "flags", "genbase", "image", "medical"),
    *("plant-pseaac", "scene", "slashdot", "tmc2007-500", "yahoo-arts", "yeast"),
)
HEADINGS = {
    "hamming": "Hamming loss",
    "micro-f1": "micro-F1",
    "example-f1": "example-F1",
    "subset-accuracy": "subset accuracy",
    "macro-f1": "macro-F1",
    "ranking-loss": "ranking loss",
    "average-precision": "average precision",
    "brier": "Brier score",
    "log-loss": "log loss",
}
LOSSES = ("hamming", "ranking-loss", "brier", "log-loss")


class Figures:
    """Means over folds (and scalings): values[variant][data set][measure]."""

    def __init__(self, outcomes, part, scaling=None):
        folds: dict = {}
        for (of, name, scale, _, classifier), outcome in outcomes.items():
            if of == part and scaling in (None, scale):
                for kind in {"plain", "layer", "balanced"} & outcome.keys():
                    variant = classifier if kind == "plain" else f"{classifier} + {kind}"
                    folds.setdefault(variant, {}).setdefault(name, []).append(outcome[kind])
        self.values = {
            variant: {
                name: {m: np.mean([each[m] for each in found]) for m in found[0]}
                for name, found in of_sets.items()
            }
            for variant, of_sets in folds.items()
        }
        self.sets = [name for name in SETS if all(name in each for each in self.values.values())]

    def column(self, variant, measure):
        """A value per data set; NaN where there is none."""
        return np.array([self.values[variant][s].get(measure, np.nan) for s in self.sets])

    def ranks(self, variants, measure):
        """Average ranks over the data sets; NaN without values."""
        columns = np.array([self.column(variant, measure) for variant in variants])
        known = ~np.isnan(columns).any(axis=1)
        ranks = np.full(len(variants), np.nan)
        sign = 1.0 if measure in LOSSES else -1.0
        ranks[known] = rankdata(sign * columns[known].round(4), axis=0).mean(axis=1)
        return ranks

    def rank_table(self, variants, measures):
        """Average ranks, and which variant is the best in which measures."""
        columns = [self.ranks(variants, measure) for measure in measures]
        rows = [
            [variant, *(_best(c, i, "{:.2f}") for c in columns)]
            for i, variant in enumerate(variants)
        ]
        lines = table(["average rank", *(HEADINGS[m] for m in measures)], rows)
        return [*lines, self._winners(variants, measures, columns), ""]

    def _winners(self, variants, measures, columns):
        names: dict = {}
        for measure, column in zip(measures, columns, strict=True):
            names.setdefault(variants[np.nanargmin(column)], []).append(HEADINGS[measure])
        ahead = [f"{variant} in {', '.join(of)}" for variant, of in names.items()]
        return f"The best average ranks: {'; '.join(ahead)}."

    def mean_table(self, variants, measures):
        columns = [self._means(variants, measure) for measure in measures]
        rows = [
            [variant, *(_best(c, i, "{:.4f}", abs) for c in columns)]
            for i, variant in enumerate(variants)
        ]
        return table(["mean", *(HEADINGS[m] for m in measures)], rows)

    def _means(self, variants, measure):
        """Means over the data sets, with a sign that makes small ones good."""
        sign = 1.0 if measure in LOSSES else -1.0
        return sign * np.array([self.column(variant, measure).mean() for variant in variants])

    def change_table(self, classifiers, measures):
        rows = [
            [name, *(self._change(name, m, slice(None)) for m in measures)] for name in classifiers
        ]
        return table(["mean", *(HEADINGS[m] for m in measures)], rows)

    def details_table(self, classifiers, measure):
        rows = [
            [name, *(self._change(classifier, measure, i) for classifier in classifiers)]
            for i, name in enumerate(self.sets)
        ]
        return table(["set", *classifiers], rows)

    def _change(self, classifier, measure, part):
        """A value without and with the layer."""
        before, after = (
            np.mean(self.column(variant, measure)[part])
            for variant in (classifier, f"{classifier} + layer")
        )
        text = "–" if np.isnan(before) else f"{before:.4f}"
        return f"{text} → {after:.4f}"


def _best(column, i, form, shown=lambda value: value):
    if np.isnan(column[i]):
        return "–"
    return bold(form.format(shown(column[i])), column[i] <= np.nanmin(column) + 1e-9)


TITLE = """# What calibrated decisions are worth

`python -m benchmarks decisions` measures the decisions of [](thresholds.md) on 13 data sets (2000
rows at most): labels and probabilities of `MLODM` and of six other classifiers, as they are and
with a layer, `LabelDecisionCV`, around them. Two folds: half of the rows for training, half for the
test, then the other way round. Ranks are averages over the data sets; 1 is the best. LightGBM is
the gradient boosting, one machine per label; BOOMER (`mlrl-boomer` 0.12) learns rules for all
labels, from the features that vary: its rules sample features, and on genbase, where most are
constant, it learned nothing otherwise. BR is Binary Relevance, scikit-learn's
`OneVsRestClassifier`. Log loss takes probabilities below 0.001 for 0.001.
"""

DEFAULTS = """## Everything at its defaults

What you get without choosing anything. Each data set counts with two kinds of features: in [0,
1], and standardised (tf-idf for text).
"""

TUNED = """## Tuned

Everything is tuned on the training half in three folds: classifiers as they are by micro-F1 of
their labels, classifiers with the layer by ranking loss of their scores. `MLODM` searches the
grid of `PathSearchCV` without a grid, and as it is has the paper's threshold. With the layer, the
labels for a measure are those of `LabelDecisionCV(..., measure=...)` for that measure; ranking
loss, Brier score and log loss are those of the probabilities. The classifiers other than `MLODM`:
"""

WRAPPED = """## The layer around every classifier

The same classifiers, all with the layer: ranks among these seven. Extra trees gain the most: their
votes rank labels well, but few labels get more than half of them, which is what they predict.
"""

BALANCED = """How much of this is left if one decision serves all measures, the balanced rule of
`threshold="calibrated"`:
"""

GAINS = """## What the layer changes

Without → with the layer, means over the data sets:
"""

PUBLISHED_TEXT = """## The publishers' splits

A prototype of the layer was tried on these splits before (in brackets: Hamming loss, subset
accuracy, micro-F1, example-F1, macro-F1, where they were noted). Its `MLODM` had the parameters
of a larger search; this one searches 24 candidates, by ranking loss in three folds.
"""

DETAILS = """## Each data set

Without → with the layer, tuned:
"""

# what the prototype had, as far as it was noted, in the order of the columns
PROTOTYPE = {
    "scene": (0.0804, 0.657, 0.774, None, None),
    "medical": (0.0105, 0.654, 0.813, 0.820, None),
    "enron": (0.0444, None, 0.607, None, None),
    "emotions": (None, None, 0.722, 0.702, None),
    "yeast": (None, None, 0.681, None, 0.498),
}
PROTOTYPE_MEASURES = ("hamming", "subset-accuracy", "micro-f1", "example-f1", "macro-f1")


def page(outcomes):
    """The lines of docs/decisions.md."""
    defaults = Figures(outcomes, "defaults")
    figures = Figures(outcomes, "tuned")
    plain = list(RIVALS)
    layer = [f"{name} + layer" for name in plain]
    balanced = [f"{name} + balanced" for name in plain]
    compared = ["MLODM + layer", *plain]
    lines = [TITLE, DEFAULTS]
    lines += defaults.rank_table(list(AT_DEFAULTS), HEADINGS)
    lines += defaults.mean_table(list(AT_DEFAULTS), HEADINGS)
    lines += ["With features in [0, 1] alone:", ""]
    lines += Figures(outcomes, "defaults", "unit").rank_table(list(AT_DEFAULTS), HEADINGS)
    lines += [TUNED, *figures.rank_table(compared, HEADINGS)]
    lines += [WRAPPED, *figures.rank_table(layer, HEADINGS)]
    lines += [BALANCED, *figures.rank_table([balanced[0], *plain], LABEL_MEASURES)]
    lines += [GAINS, *figures.change_table(plain, HEADINGS)]
    lines += [PUBLISHED_TEXT, *published_table(Figures(outcomes, "published"))]
    lines += [DETAILS]
    for measure in ("hamming", "micro-f1", "log-loss"):
        lines += [f"### {HEADINGS[measure]}", "", *figures.details_table(plain, measure)]
    return lines


def published_table(figures):
    rows = []
    for i, name in enumerate(figures.sets):
        cells = []
        for measure, known in zip(PROTOTYPE_MEASURES, PROTOTYPE[name], strict=True):
            plain, layer = (
                figures.column(variant, measure)[i] for variant in ("MLODM", "MLODM + layer")
            )
            prototype = "" if known is None else f" ({known:.4f})"
            cells.append(f"{plain:.4f} → {layer:.4f}{prototype}")
        rows.append([name, *cells])
    return table(["set", *(HEADINGS[measure] for measure in PROTOTYPE_MEASURES)], rows)
