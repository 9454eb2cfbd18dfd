"""Rules: which labels to predict, given values of all labels, for a measure of the predictions.

Values are log-odds of calibrated probabilities, or raw scores. A rule is fitted to the values of
rows that the model has not seen, without those that are not ``known`` (None if all are), and
``cut(values)`` is what a label's value must exceed: a number, one per label, or one per row, ready
to be subtracted.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import expit, logit

from ..metrics.labels import example_f1, hamming, subset_accuracy
from ..utils.validation import some_rows, with_unknown
from .known import known_cells, without_unknown

# A label's own cut for macro-F1 counts as much as that of all labels when so many rows have it.
ROWS_FOR_OWN_CUT = 5.0

# Log-odds of 0.35: the "balanced" rule adds no label that is less probable. With a lower bound
# MLODM at its defaults would lose its lead in Hamming loss, with a higher one F1: the table is in
# docs/thresholds.md.
LIKELY = logit(0.35)

# Cuts that a search tries: quantiles of the values of relevant labels.
N_CUTS = 100


class FixedCut:
    """One cut that no data is needed for; log-odds of 0 are a probability of ½."""

    def __init__(self, value=0.0):
        self.value = value

    def fit(self, values, indicator, weight, known=None):
        return self

    def cut(self, values):
        return self.value


class CommonCut:
    """One cut for all labels.

    Parameters
    ----------
    gain : callable, optional
        Function of (labels, predictions) that the cut is to maximise. None is micro-F1, for which
        every cut is tried.
    """

    def __init__(self, gain=None):
        self.gain = gain

    def fit(self, values, indicator, weight, known=None):
        if self.gain is None:
            columns = (each[:, None] for each in flattened(values, indicator, weight, known))
            self.value = float(best_f1_cuts(*columns)[0])
        else:
            counted = weight > 0
            known = some_rows(known, counted)
            self.value = self._searched(values[counted], indicator[counted], known)
        return self

    def _searched(self, values, indicator, known):
        labels = with_unknown(indicator, known)
        relevant = values[indicator]
        if not len(relevant):
            return np.max(values, initial=0.0)
        cuts = np.unique(np.quantile(relevant, np.linspace(0.0, 1.0, N_CUTS)))
        # half way to the next one, and below all
        cuts = np.concatenate([[cuts[0] - 1.0], 0.5 * (cuts[1:] + cuts[:-1]), cuts[-1:]])
        gains = [self.gain(labels, values > cut) for cut in cuts]
        if np.ndim(gains) > 1:
            raise ValueError(
                f"measure must return a number; got an array of shape {np.shape(gains[0])}."
            )
        return float(cuts[np.argmax(gains)])

    def cut(self, values):
        return self.value


class CutPerLabel:
    """A cut of F1 for each label, shrunk towards the best common one where few rows have it."""

    def fit(self, values, indicator, weight, known=None):
        common = CommonCut().fit(values, indicator, weight, known).value
        cells = np.broadcast_to(known_cells(weight, known), values.shape)
        values = values if known is None else without_unknown(values, known, axis=0)
        own = best_f1_cuts(values, indicator, cells)
        n_relevant = weight @ indicator
        share = n_relevant / (n_relevant + ROWS_FOR_OWN_CUT)
        self.value = common + share * (np.where(n_relevant > 0, own, common) - common)
        return self

    def cut(self, values):
        return self.value


class AtLeastOne:
    """Another rule; rows for which it predicts nothing get their best label if that pays.

    It pays if the measure of the rows that the rule is fitted to is better with it. A single label
    is left alone.

    Parameters
    ----------
    rule
    gain : callable
        Function of (labels, predictions), larger for better ones.
    least : float
        Only labels with a larger value than this are added.
    """

    def __init__(self, rule, gain, least=-np.inf):
        self.rule, self.gain, self.least = rule, gain, least

    def fit(self, values, indicator, weight, known=None):
        self.rule.fit(values, indicator, weight, known)
        counted = weight > 0
        values = values[counted]
        labels = with_unknown(indicator[counted], some_rows(known, counted))
        cut = self.rule.cut(values)
        with_one = self._below_best(values, cut)
        self.always = values.shape[1] > 1 and bool(
            self.gain(labels, values > with_one) > self.gain(labels, values > cut)
        )
        return self

    def cut(self, values):
        cut = self.rule.cut(values)
        return self._below_best(values, cut) if self.always else cut

    def _below_best(self, values, cut):
        best = values.max(axis=1, keepdims=True)
        lower = np.minimum(cut, np.nextafter(best, -np.inf))
        return np.where(best > self.least, lower, cut)


class MostLikelyLabels:
    """The k most probable labels of a row, or none: the number with the best expected F1.

    F1 of the k labels with the highest probabilities p is estimated by 2 Σ_top p / (k + Σ p), that
    of none by the probability that the row has no label, Π (1 − p).
    """

    def fit(self, values, indicator, weight, known=None):
        return self

    def cut(self, values):
        n, q = values.shape
        falling = -np.sort(-values, axis=1)
        p = expit(falling)
        expected = 2.0 * np.cumsum(p, axis=1) / (np.arange(1, q + 1) + p.sum(axis=1)[:, None])
        number = expected.argmax(axis=1) + 1
        none = np.exp(-np.logaddexp(0.0, falling).sum(axis=1))
        number[none >= expected.max(axis=1)] = 0
        padded = np.column_stack([falling[:, :1] + 2.0, falling, falling[:, -1:] - 2.0])
        rows = np.arange(n)
        return (0.5 * (padded[rows, number] + padded[rows, number + 1]))[:, None]


class TrueNumber:
    """The cut that predicts as many labels as there are, or as nearly as ties allow."""

    def fit(self, values, indicator, weight, known=None):
        values, _, cells = flattened(values, indicator, weight, known)
        order = np.argsort(-values, kind="stable")
        cells, ranked = cells[order], values[order]
        padded = np.concatenate([[ranked[0] + 2.0], ranked, [ranked[-1] - 2.0]])
        missing = np.abs(np.concatenate([[0.0], np.cumsum(cells)]) - (weight @ indicator).sum())
        # no cut between equal values
        missing[padded[:-1] == padded[1:]] = np.inf
        number = missing.argmin()
        self.value = float(0.5 * (padded[number] + padded[number + 1]))
        return self

    def cut(self, values):
        return self.value


def flattened(values, indicator, weight, known):
    """Values, labels and weights of all known cells, as vectors."""
    cells = np.broadcast_to(weight[:, None], values.shape)
    if known is None:
        return tuple(each.ravel() for each in (values, indicator, cells))
    return tuple(each[known] for each in (values, indicator, cells))


def best_f1_cuts(values, indicator, weight):
    """For each column, the cut with the best F1 of the entries above it.

    Cuts lie half way between neighbouring values, or below the lowest. Of several best ones the
    highest is taken. Without a relevant entry it is above all.
    """
    order = np.argsort(-values, axis=0, kind="stable")
    ranked, relevant, cost = (
        np.take_along_axis(each, order, axis=0) for each in (values, indicator, weight)
    )
    found = np.cumsum(cost * relevant, axis=0)
    f1 = 2.0 * found / np.maximum(np.cumsum(cost, axis=0) + found[-1], 1e-300)
    # no cut between equal values
    lower = np.vstack([ranked[1:], ranked[-1:] - 2.0])
    f1[lower == ranked] = -1.0
    best = f1.argmax(axis=0)
    columns = np.arange(values.shape[1])
    cuts = 0.5 * (ranked[best, columns] + lower[best, columns])
    return np.where(found[-1] > 0.0, cuts, ranked[0])


def accuracy(y_true, predicted):
    """Share of the cells that are right."""
    return 1.0 - hamming(y_true, predicted)


# The rule for a measure: of probabilities, and of raw scores.
RULES: dict[str, tuple[Callable, Callable]] = {
    "balanced": (
        lambda: AtLeastOne(FixedCut(), subset_accuracy, least=LIKELY),
        lambda: AtLeastOne(CommonCut(), subset_accuracy),
    ),
    "hamming": (lambda: AtLeastOne(FixedCut(), accuracy), lambda: CommonCut(accuracy)),
    "subset-accuracy": (
        lambda: AtLeastOne(FixedCut(), subset_accuracy),
        lambda: AtLeastOne(CommonCut(subset_accuracy), subset_accuracy),
    ),
    "micro-f1": (CommonCut, CommonCut),
    "macro-f1": (CutPerLabel, CutPerLabel),
    "example-f1": (MostLikelyLabels, lambda: CommonCut(example_f1)),
    "cardinality": (TrueNumber, TrueNumber),
}
