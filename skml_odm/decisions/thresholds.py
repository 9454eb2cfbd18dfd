"""Thresholds turn label scores into labels: a label is predicted where score − t(x) > 0.

A threshold is a small object with ``fit(scores, indicator, sample_weight, margin, known)``,
``__call__(scores)``, which returns t for each row (and label), ready to be subtracted, and
``decide(scores, rounding)``, which subtracts it. It is fitted to scores in units of the margin that
label pairs were to have; labels that are not ``known`` (boolean, rows × labels; None if all are)
are left out. ``keeps_order`` says that rankings are those of the scores.
:class:`~skml_odm.decisions.decision.LabelDecision` takes the place of a threshold, too; it is
fitted to scores of rows that the model has not seen.
"""

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np

from ..utils.validation import check_choice_or_number, some_rows
from .decision import LabelDecision
from .known import without_unknown

# How far beyond the outermost score a cut lies: half of the margin that pairs are trained to have.
HALF_MARGIN = 0.5

# Combinations of labels whose scores vary by less than this, relative to those that vary most, are
# dependent: what is left of them is rounding, single precision's included.
DEPENDENT = 1e-5

# Scores that are sorted at a time, so that memory stays small beside what a fit has taken before.
SCORES_PER_CALL = 2**12


def optimal_cuts(scores, indicator, weight=None, known=None):
    """For each row, the cut that misclassifies the least weight of its entries.

    Entries above the cut are called relevant. Cuts lie midway between neighbouring scores, or half
    a margin beyond the lowest or highest. Of several best cuts the one with most room is taken.

    Parameters
    ----------
    scores : ndarray of shape (n, q)
    indicator : ndarray of shape (n, q), bool
    weight : ndarray of shape (q,), optional
        Cost of misclassifying an entry.
    known : ndarray of shape (n, q), bool, optional
        Entries that count; all by default.

    Returns
    -------
    ndarray of shape (n,)
    """
    n, q = scores.shape
    cost = np.ones(q) if weight is None else weight
    step = max(1, SCORES_PER_CALL // q)
    parts = [slice(start, start + step) for start in range(0, n, step)]
    if known is None:
        return np.concatenate([_optimal_cuts(scores[p], indicator[p], cost) for p in parts])
    scores = without_unknown(scores, known, axis=1)
    cuts = [_optimal_cuts(scores[p], indicator[p], cost * known[p]) for p in parts]
    return np.concatenate(cuts)


def _optimal_cuts(scores, indicator, cost):
    n, q = scores.shape
    order = np.argsort(scores, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    relevant = np.take_along_axis(indicator, order, axis=1)
    cost = cost[order] if cost.ndim == 1 else np.take_along_axis(cost, order, axis=1)
    # errors[:, j]: relevant entries among the j lowest plus irrelevant ones among the others
    signed = np.where(relevant, cost, -cost)
    errors = np.zeros((n, q + 1))
    np.cumsum(signed, axis=1, out=errors[:, 1:])
    room = np.empty((n, q + 1))
    room[:, 1:-1] = np.diff(ranked, axis=1)
    room[:, [0, -1]] = 2 * HALF_MARGIN
    errors[room <= 0.0] = np.inf
    best = errors <= errors.min(axis=1, keepdims=True) + 1e-12 * cost.sum(axis=1, keepdims=True)
    chosen = np.where(best, room, -1.0).argmax(axis=1)
    padded = np.empty((n, q + 2))
    padded[:, 1:-1] = ranked
    padded[:, 0] = ranked[:, 0] - 2 * HALF_MARGIN
    padded[:, -1] = ranked[:, -1] + 2 * HALF_MARGIN
    rows = np.arange(n)
    return 0.5 * (padded[rows, chosen] + padded[rows, chosen + 1])


class Threshold:
    """Base of the thresholds, which are functions of scores."""

    __call__: Callable

    keeps_order = True
    # fitted to the scores of the training rows
    needs_unseen_scores = False

    def decide(self, scores, rounding=None):
        """Scores minus thresholds, 0 where that may be ``rounding`` (one number per row)."""
        decision = scores - self(scores)
        if rounding is not None:
            # the sign of what is rounding means nothing
            decision[np.abs(decision) <= rounding[:, None]] = 0.0
        return decision


class RegressionThreshold(Threshold):
    """t(x) = wᵀ f(x) + b, a linear model of each training row's best cut (Elisseeff and Weston).

    The target for a row is the cut with the smallest Hamming loss; the model is fitted by least
    squares on the row's label scores, of minimum norm where they are linearly dependent. They are
    for most losses: scores of a row sum to zero but for rounding, which must not be fitted.

    Attributes
    ----------
    coef_ : ndarray of shape (q,)
    intercept_ : float
    """

    def fit(self, scores, indicator, sample_weight=None, margin=1.0, known=None):
        weight = np.ones(len(scores)) if sample_weight is None else sample_weight
        scores = scores / margin
        cuts = optimal_cuts(scores, indicator, known=known)
        centre, level = (np.average(each, axis=0, weights=weight) for each in (scores, cuts))
        root = np.sqrt(weight)
        self.coef_ = np.linalg.lstsq(
            (scores - centre) * root[:, None], (cuts - level) * root, rcond=DEPENDENT
        )[0]
        self.intercept_ = float(margin * (level - centre @ self.coef_))
        return self

    def __call__(self, scores):
        return (scores @ self.coef_ + self.intercept_)[:, None]


class PerLabelThreshold(Threshold):
    """t_k for each label: the cut that misclassifies the fewest training rows (paper 001).

    Attributes
    ----------
    values_ : ndarray of shape (q,)
    """

    keeps_order = False

    def fit(self, scores, indicator, sample_weight=None, margin=1.0, known=None):
        if sample_weight is not None:
            counted = sample_weight > 0
            scores, indicator = scores[counted], indicator[counted]
            sample_weight, known = sample_weight[counted], some_rows(known, counted)
        known = None if known is None else known.T
        self.values_ = margin * optimal_cuts(scores.T / margin, indicator.T, sample_weight, known)
        return self

    def __call__(self, scores):
        return self.values_


class FixedThreshold(Threshold):
    """The same number for every row and label.

    Parameters
    ----------
    value : float
    """

    def __init__(self, value):
        self.value = value

    def fit(self, scores, indicator, sample_weight=None, margin=1.0, known=None):
        return self

    def __call__(self, scores):
        return self.value


class ThresholdWhenUsed:
    """A threshold that is fitted when it is first used: measures of rankings never use it.

    Parameters
    ----------
    name
        What ``make_threshold`` takes.
    fit : callable
        Returns the fitted threshold.
    """

    def __init__(self, name, fit):
        self.fit = fit
        self.keeps_order = make_threshold(name).keeps_order

    def __call__(self, scores):
        return self._fitted(scores)

    def decide(self, scores, rounding=None):
        return self._fitted.decide(scores, rounding)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._fitted, name)

    def __reduce__(self):
        # what fits it cannot be pickled: a copy is the fitted threshold itself
        return _itself, (self._fitted,)

    @cached_property
    def _fitted(self):
        return self.fit()


def _itself(threshold):
    return threshold


NAMED: dict[str, Callable] = {
    "regression": RegressionThreshold,
    "per-label": PerLabelThreshold,
    "zero": lambda: FixedThreshold(0.0),
    "calibrated": LabelDecision,
}


# the checks of an estimator's parameter, and of one that has no scores of unseen rows
check_threshold = partial(check_choice_or_number, allowed=tuple(NAMED))
check_plain_threshold = partial(
    check_choice_or_number, allowed=tuple(name for name in NAMED if name != "calibrated")
)


def make_threshold(threshold):
    """The threshold object for an estimator's parameter ``threshold``."""
    if isinstance(threshold, str) and threshold in NAMED:
        return NAMED[threshold]()
    check_threshold("threshold", threshold)
    return FixedThreshold(float(threshold))
