"""Tests of significance against published examples and independent computations."""

import itertools

import numpy as np
import pytest
from scipy import stats

from skml_odm.plotting import groups_within
from skml_odm.study.statistics import (
    bonferroni_dunn_difference,
    corrected_t_p_value,
    friedman,
    holm,
    nemenyi_difference,
    nemenyi_p_values,
    ranks_of,
    signed_rank_p_value,
)

# Demšar 2006, Table 6: AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 data sets. The paper ranks
# voting before rounding: the third value is a little larger than the fourth.
AUC = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def test_example_of_demsar():
    ranks = ranks_of(AUC, more_is_better=True)
    np.testing.assert_allclose(ranks.mean(axis=0), [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    test = friedman(ranks)
    assert round(test.chi_square, 2) == 9.28
    assert round(test.f, 2) == 3.69
    # the critical value of F(3, 39) at 0.05 is 2.85
    assert test.f_p < 0.05
    assert stats.f.sf(2.85, 3, 39) == pytest.approx(0.05, abs=5e-4)
    # Tables 5 (a) and (b) of the paper: 2.569 and 2.291, 2.394 and 2.128 standard errors
    error = np.sqrt(4 * 5 / (6 * 14))
    assert nemenyi_difference(14, 4) == pytest.approx(2.569 * error, rel=5e-4)
    assert nemenyi_difference(14, 4, alpha=0.1) == pytest.approx(2.291 * error, rel=5e-4)
    assert bonferroni_dunn_difference(14, 4) == pytest.approx(2.394 * error, rel=5e-4)
    assert bonferroni_dunn_difference(14, 4, alpha=0.1) == pytest.approx(2.128 * error, rel=5e-4)
    # Table 2 compares the first two: R+ = 93, R- = 12, z = -2.54
    p_value = signed_rank_p_value(AUC[:, 1] - AUC[:, 0])
    assert p_value == pytest.approx(2 * stats.norm.sf(2.54), rel=0.1)


def test_ranks_of_losses_with_ties_and_missing_values():
    values = [[0.1, 0.3, 0.1, 0.2], [np.nan, 0.3, np.nan, 0.2], [0.3, 0.1 + 0.2, 0.1, np.nan]]
    expected = [[1.5, 4, 1.5, 3], [3.5, 2, 3.5, 1], [2.5, 2.5, 1, 4]]
    np.testing.assert_array_equal(ranks_of(values, more_is_better=False), expected)


def test_friedman_without_ties_is_that_of_scipy():
    ranks = np.argsort(np.random.default_rng(0).normal(size=(9, 5)), axis=1).argsort(axis=1) + 1.0
    expected = stats.friedmanchisquare(*ranks.T)
    test = friedman(ranks)
    assert test.chi_square == pytest.approx(expected.statistic)
    assert test.chi_square_p == pytest.approx(expected.pvalue)


def test_friedman_when_all_data_sets_agree():
    test = friedman(np.tile([1.0, 2.0, 3.0], (6, 1)))
    assert test.f == np.inf and test.f_p == 0
    assert friedman(np.tile([1.5, 1.5], (6, 1))).f_p == 1


def test_friedman_needs_data_sets():
    assert friedman(np.array([[1.0, 2.0], [1.0, 2.0]])) is None
    assert friedman(np.ones((5, 1))) is None


def test_nemenyi_is_that_of_scikit_posthocs():
    posthocs = pytest.importorskip("scikit_posthocs")
    ranks = ranks_of(AUC, more_is_better=True)
    ours = nemenyi_p_values(ranks.mean(axis=0), len(ranks))
    np.testing.assert_allclose(ours, posthocs.posthoc_nemenyi_friedman(AUC), atol=1e-6)


def test_nemenyi_p_value_at_its_critical_difference():
    difference = nemenyi_difference(10, 3)
    p_values = nemenyi_p_values(np.array([1.0, 1.0 + difference, 2.9]), 10)
    assert p_values[0, 1] == p_values[1, 0] == pytest.approx(0.05, abs=1e-6)
    np.testing.assert_array_equal(np.diag(p_values), 1)


def test_groups_are_the_largest_runs():
    ranks = [4.0, 1.0, 1.9, 2.8, 7.0]
    assert groups_within(ranks, 1.0) == [(1.0, 1.9), (1.9, 2.8)]
    assert groups_within(ranks, 1.8) == [(1.0, 2.8), (2.8, 4.0)]
    assert groups_within(ranks, 0.5) == []
    assert groups_within([2.0, 2.0], 0.5) == [(2.0, 2.0)]


def test_signed_ranks_by_enumeration():
    differences = np.array([0.3, -0.1, 0.25, 0.4, 0.05, 0.6, -0.02])
    ranks = stats.rankdata(np.abs(differences))
    sums = [ranks[list(s)].sum() for n in range(8) for s in itertools.combinations(range(7), n)]
    lower = min(ranks[differences > 0].sum(), ranks[differences < 0].sum())
    expected = 2 * np.mean(np.array(sums) <= lower)
    assert signed_rank_p_value(differences) == pytest.approx(expected)


def test_signed_ranks_need_six_differences():
    # five that all agree have p = 2 / 32
    assert signed_rank_p_value(np.arange(1.0, 6.0)) is None
    assert signed_rank_p_value(np.arange(1.0, 7.0)) == pytest.approx(2 / 64)
    assert signed_rank_p_value(np.zeros(8)) == 1


def test_corrected_t_test():
    differences = np.array([0.01, 0.03, 0.02, 0.05, -0.01, 0.02, 0.04, 0.0, 0.03, 0.02])
    # without a test part it is the usual paired test
    usual = stats.ttest_1samp(differences, 0)
    assert corrected_t_p_value(differences, 0.0) == pytest.approx(usual.pvalue)
    # Nadeau and Bengio: the variance grows from 1/10 to 1/10 + 1/9
    t = usual.statistic * np.sqrt((1 / 10) / (1 / 10 + 1 / 9))
    assert corrected_t_p_value(differences, 1 / 9) == pytest.approx(2 * stats.t.sf(t, 9))


def test_corrected_t_test_keeps_its_level_where_the_usual_one_does_not():
    rng = np.random.default_rng(0)
    # ten folds with the correlation n_test / (n_test + n_train) that the correction assumes
    share = 1 / 9
    correlation = share / (1 + share)
    shared = np.sqrt(correlation) * rng.normal(size=(2000, 1))
    folds = shared + np.sqrt(1 - correlation) * rng.normal(size=(2000, 10))
    rejected = [np.mean([corrected_t_p_value(f, s) < 0.05 for f in folds]) for s in (share, 0.0)]
    assert rejected[0] < 0.07 < 0.12 < rejected[1]


def test_corrected_t_test_of_few_or_constant_differences():
    assert corrected_t_p_value([0.1, 0.2], 0.1) is None
    assert corrected_t_p_value([0.0] * 5, 0.1) == 1
    assert corrected_t_p_value([0.1] * 5, 0.1) == 0


def test_holm_step_down():
    np.testing.assert_allclose(holm([0.04, 0.01, 0.03, 0.9]), [0.09, 0.04, 0.09, 0.9])
    assert holm([0.6, 0.7]).max() == 1
    assert len(holm([])) == 0
