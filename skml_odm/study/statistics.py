"""Statistical tests for comparisons of classifiers.

Over data sets, after Demšar, "Statistical comparisons of classifiers over multiple data sets",
JMLR 7, 2006: average ranks, Friedman's test in the form of Iman and Davenport, critical differences
of Nemenyi (all pairs) and of Bonferroni and Dunn (all against a control), Wilcoxon's signed ranks.
Over the folds of one data set: the corrected resampled t-test of Nadeau and Bengio, "Inference for
the generalization error", Machine Learning 52, 2003.

Rows of a matrix are data sets, columns classifiers. Nothing here knows what a measure is called.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

ALPHA = 0.05  # every statement of significance is made at this level

MINIMUM_SETS = 3  # for Friedman's test; with fewer no p-value means much
MINIMUM_PAIRS = 6  # of Wilcoxon's test: five differences cannot give p < 0.05
MINIMUM_FOLDS = 3  # of the t-test over folds


class Friedman(NamedTuple):
    """Friedman's chi-square, and F of Iman and Davenport, with their p-values."""

    chi_square: float
    chi_square_p: float
    f: float
    f_p: float


def ranks_of(values, more_is_better):
    """Ranks in each row: 1 for the best, equal values share the mean of their ranks.

    A missing value (NaN) is worse than any other; several missing ones are equal.

    Parameters
    ----------
    values : array-like of shape (n_sets, n_classifiers)
    more_is_better : bool

    Returns
    -------
    ndarray of shape (n_sets, n_classifiers)
    """
    losses = -np.asarray(values, dtype=float) if more_is_better else np.asarray(values, dtype=float)
    # means of equal values in another order differ by rounding
    losses = np.where(np.isnan(losses), np.inf, np.round(losses, 12))
    return stats.rankdata(losses, axis=1)


def friedman(ranks):
    """Test whether all classifiers have the same expected rank.

    Both statistics are those of Demšar, without a correction for ties, which makes them smaller.

    Parameters
    ----------
    ranks : ndarray of shape (n_sets, n_classifiers)

    Returns
    -------
    Friedman or None
        None with fewer than ``MINIMUM_SETS`` data sets or fewer than two classifiers.
    """
    n_sets, n_classifiers = ranks.shape
    if n_sets < MINIMUM_SETS or n_classifiers < 2:
        return None
    means = ranks.mean(axis=0)
    spread = np.sum(means**2) - n_classifiers * (n_classifiers + 1) ** 2 / 4
    chi_square = max(12 * n_sets / (n_classifiers * (n_classifiers + 1)) * spread, 0.0)
    freedom = n_classifiers - 1
    rest = n_sets * freedom - chi_square
    # no rest: all data sets agree on the order
    f = (n_sets - 1) * chi_square / rest if rest > 1e-9 * n_sets * freedom else np.inf
    return Friedman(
        float(chi_square),
        float(stats.chi2.sf(chi_square, freedom)),
        float(f),
        float(stats.f.sf(f, freedom, freedom * (n_sets - 1))),
    )


def nemenyi_difference(n_sets, n_classifiers, alpha=ALPHA):
    """Difference of average ranks that is significant between any two classifiers."""
    quantile = stats.studentized_range.ppf(1 - alpha, n_classifiers, np.inf) / np.sqrt(2)
    return float(quantile * _rank_error(n_sets, n_classifiers))


def bonferroni_dunn_difference(n_sets, n_classifiers, alpha=ALPHA):
    """Difference of average ranks that is significant between a control and any other."""
    quantile = stats.norm.ppf(1 - alpha / (2 * (n_classifiers - 1)))
    return float(quantile * _rank_error(n_sets, n_classifiers))


def nemenyi_p_values(average_ranks, n_sets):
    """p-values of all pairs by the distribution of the studentized range, ones on the diagonal."""
    n_classifiers = len(average_ranks)
    pairs = np.triu_indices(n_classifiers, 1)
    differences = np.abs(np.subtract.outer(average_ranks, average_ranks))[pairs]
    scaled = differences / _rank_error(n_sets, n_classifiers) * np.sqrt(2)
    p_values = np.eye(n_classifiers)
    p_values[pairs] = stats.studentized_range.sf(scaled, n_classifiers, np.inf)
    return np.maximum(p_values, p_values.T)


def signed_rank_p_value(differences):
    """p-value of Wilcoxon's signed-rank test, two-sided; None if there are too few differences.

    Ranks of zero differences are split between both sides, as Demšar does.
    """
    if len(differences) < MINIMUM_PAIRS:
        return None
    differences = np.round(differences, 12)
    if not differences.any():
        return 1.0
    return float(stats.wilcoxon(differences, zero_method="zsplit").pvalue)


def corrected_t_p_value(differences, test_to_train):
    """p-value of the corrected resampled t-test, two-sided; None if there are too few folds.

    Folds share training rows, so their differences are not independent, and the plain variance
    s² / J of a mean over J folds is too small. Nadeau and Bengio put (1 / J + n_test / n_train) s²
    in its place.

    Parameters
    ----------
    differences : array-like of shape (n_folds,)
        Of one measure of two classifiers on the same folds.
    test_to_train : float
        n_test / n_train: 1/9 in ten folds, 1 in two.

    Returns
    -------
    float or None
    """
    differences = np.asarray(differences, dtype=float)
    n_folds = len(differences)
    if n_folds < MINIMUM_FOLDS:
        return None
    mean, deviation = differences.mean(), differences.std(ddof=1)
    if deviation <= 1e-12 * np.abs(differences).max():
        # always the same difference, or none at all
        return 1.0 if abs(mean) < 1e-12 else 0.0
    t = mean / (deviation * np.sqrt(1 / n_folds + test_to_train))
    return float(2 * stats.t.sf(abs(t), n_folds - 1))


def holm(p_values):
    """p-values adjusted for their number by Holm's step-down method."""
    p_values = np.asarray(p_values, dtype=float)
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _rank_error(n_sets, n_classifiers):
    """Standard error of a difference of two average ranks if all are equally good."""
    return np.sqrt(n_classifiers * (n_classifiers + 1) / (6 * n_sets))
