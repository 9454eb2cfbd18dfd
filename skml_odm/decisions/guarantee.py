"""Cuts with a promise: conformal risk control (Angelopoulos et al., ICLR 2024).

Let L_i(t) in [0, 1] be the loss of row i if the labels with values above t are predicted, and
let no L_i rise where t falls (recall), or where it rises (precision). If the n calibration rows
and a new one are exchangeable, and the values come from a function that saw none of them, then
the cut t that predicts most (or least) with ::

    (Σ_i L_i(t) + 1) / (n + 1) ≤ α

has an expected loss of at most α on the new row. There is always such a cut, for predicting all
labels (or none) costs nothing. A row of weight s counts s / max s, in the sum and in n.
"""

import numpy as np

from ..utils.validation import check_real
from .known import without_unknown

GUARANTEES = ("recall", "precision")


def check_guarantee(name, value):
    """Raise unless ``value`` is None or a dict with one of the guarantees."""
    if value is None:
        return
    if not (isinstance(value, dict) and len(value) == 1 and next(iter(value)) in GUARANTEES):
        raise ValueError(
            f"{name} must be None or a dict with one of {', '.join(map(repr, GUARANTEES))} and the "
            f"share to keep, as in {{'recall': 0.9}}; got {value!r}."
        )
    for measure, share in value.items():
        check_real(f"{name}[{measure!r}]", share, 0, 1, open_low=True, open_high=True)


class GuaranteedCut:
    """One cut for all labels whose expected recall or precision is at least a given share.

    Recall and precision are means over rows. A row without labels has recall 1, one for which
    nothing is predicted has precision 1. Precision is not monotone in the cut: a row's loss at t
    is taken to be the greatest that it has at t or above, which is never less than its own.

    Parameters
    ----------
    measure : {"recall", "precision"}
    share : float
    """

    def __init__(self, measure, share):
        self.measure, self.share = measure, share

    def fit(self, values, indicator, weight, known=None):
        counted = weight > 0
        values, indicator, weight = values[counted], indicator[counted], weight[counted]
        n, q = values.shape
        if known is not None:
            known = known[counted]
            values = without_unknown(values, known, axis=1)
        order = np.argsort(-values, axis=1, kind="stable")
        ranked = np.take_along_axis(values, order, axis=1)
        found = np.cumsum(np.take_along_axis(indicator, order, axis=1), axis=1)
        number = np.arange(1, q + 1)
        if known is not None:
            number = np.maximum(np.cumsum(np.take_along_axis(known, order, axis=1), axis=1), 1)
        # the loss of a row once its labels down to the j-th are predicted
        if self.measure == "recall":
            n_relevant = found[:, -1:]
            loss = np.where(n_relevant > 0, 1.0 - found / np.maximum(n_relevant, 1), 0.0)
            before = (n_relevant[:, 0] > 0).astype(float)
        else:
            loss = 1.0 - found / number
            before = np.zeros(n)
        # predicting some of equal values is not possible: all of them or none
        last = np.diff(ranked, axis=1, append=-np.inf) != 0.0
        if self.measure == "precision":
            loss = np.maximum.accumulate(np.where(last, loss, 0.0), axis=1)
        steps = _differences(np.column_stack([before, np.where(last, loss, np.nan)]))
        share = weight / weight.max()
        places = np.argsort(-ranked, axis=None, kind="stable")
        cuts = ranked.ravel()[places]
        total = share @ before + np.cumsum((share[:, None] * steps).ravel()[places])
        allowed = (1.0 - self.share) * (share.sum() + 1.0) - 1.0 + 1e-9
        distinct = np.flatnonzero(np.diff(cuts, append=-np.inf) != 0.0)
        fits = total[distinct] <= allowed
        if self.measure == "recall":
            # the highest cut below which nothing more is needed
            first = np.flatnonzero(fits)
            if share @ before <= allowed:
                self.value = np.inf
            else:
                self.value = -np.inf if not len(first) else _below(cuts, distinct, first[0])
        else:
            usable = np.flatnonzero(np.logical_and.accumulate(fits))
            self.value = np.inf if not len(usable) else _below(cuts, distinct, usable[-1])
        return self

    def cut(self, values):
        # finite, so that decisions rank labels even where all are predicted, or none
        if self.value == np.inf:
            return values.max(axis=1, keepdims=True)
        if self.value == -np.inf:
            return values.min(axis=1, keepdims=True) - 1.0
        return self.value


def _differences(loss):
    """Changes from each known loss of a row to its next; zero at unknown ones (NaN)."""
    known = ~np.isnan(loss)
    places = np.maximum.accumulate(np.where(known, np.arange(loss.shape[1]), 0), axis=1)
    filled = np.take_along_axis(loss, places, axis=1)
    return np.diff(filled, axis=1)


def _below(cuts, distinct, j):
    """A cut half way between the j-th distinct value and the next lower one."""
    value = cuts[distinct[j]]
    if j + 1 == len(distinct):
        return float(value - 1.0)
    return float(0.5 * (value + cuts[distinct[j + 1]]))
