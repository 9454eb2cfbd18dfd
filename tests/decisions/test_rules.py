"""Rules against brute force over cuts, label sets and numbers of labels."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit, logit

from skml_odm.decisions.rules import (
    RULES,
    AtLeastOne,
    CommonCut,
    CutPerLabel,
    FixedCut,
    MostLikelyLabels,
    TrueNumber,
    best_f1_cuts,
)
from skml_odm.metrics.labels import example_f1, hamming, macro_f1, micro_f1, subset_accuracy

SEEDS = range(8)


def random_values(seed, n=15, q=4):
    """Values on a coarse grid, so that ties are common; a row without labels, one with all."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-6, 7, size=(n, q)) / 2.0
    indicator = rng.random((n, q)) < expit(values)
    indicator[0], indicator[1] = False, True
    return rng, values, indicator, np.ones(n)


def best_by_grid(values, indicator, measure):
    """The best value of a measure for any common cut."""
    return max(measure(indicator, values > cut) for cut in np.arange(-4.25, 4.5, 0.5))


@pytest.mark.parametrize("seed", SEEDS)
def test_no_common_cut_has_a_better_micro_f1(seed):
    _, values, indicator, weight = random_values(seed)
    rule = CommonCut().fit(values, indicator, weight)
    found = micro_f1(indicator, values > rule.cut(values))
    assert found == pytest.approx(best_by_grid(values, indicator, micro_f1), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_searched_cut_is_the_best(seed):
    """With few values every cut between those of relevant labels is tried."""
    _, values, indicator, weight = random_values(seed)
    rule = CommonCut(example_f1).fit(values, indicator, weight)
    found = example_f1(indicator, values > rule.cut(values))
    assert found == pytest.approx(best_by_grid(values, indicator, example_f1), abs=0.02)


@pytest.mark.parametrize("seed", SEEDS)
def test_cuts_per_label_have_the_best_f1(seed):
    _, values, indicator, weight = random_values(seed)
    cuts = best_f1_cuts(values, indicator, np.broadcast_to(weight[:, None], values.shape))
    for k in range(values.shape[1]):
        column = values[:, [k]], indicator[:, [k]]
        found = micro_f1(column[1], column[0] > cuts[k])
        assert found == pytest.approx(best_by_grid(*column, micro_f1), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_weights_are_repetitions(seed):
    rng, values, indicator, _ = random_values(seed)
    times = rng.integers(0, 3, size=len(values))
    repeated = np.repeat(values, times, axis=0), np.repeat(indicator, times, axis=0)
    for name, (make, _) in RULES.items():
        if name == "macro-f1":
            continue
        one = make().fit(values, indicator, times.astype(float))
        other = make().fit(*repeated, np.ones(len(repeated[0])))
        if hasattr(one, "rule"):
            # rows with a weight count once where measures are searched
            one, other = one.rule, other.rule
        np.testing.assert_allclose(one.cut(values), other.cut(values), err_msg=name)


def test_rare_labels_have_the_common_cut():
    _, values, indicator, weight = random_values(3, n=400)
    indicator[:, 0] = False
    common = CommonCut().fit(values, indicator, weight).value
    cuts = CutPerLabel().fit(values, indicator, weight).value
    assert cuts[0] == common
    assert np.abs(cuts[1:] - common).max() > 0


def test_macro_f1_gains_by_cuts_of_their_own():
    rng = np.random.default_rng(0)
    shift = np.array([0.0, 2.0, -2.0])
    truth = rng.normal(size=(500, 3))
    values, indicator = truth + shift, truth + 0.3 * rng.normal(size=(500, 3)) > 0
    weight = np.ones(500)
    own, common = (
        macro_f1(indicator, values > rule.fit(values, indicator, weight).cut(values))
        for rule in (CutPerLabel(), CommonCut())
    )
    assert own > common + 0.05


@pytest.mark.parametrize("seed", SEEDS)
def test_most_likely_labels_have_the_best_expected_f1(seed):
    """Against all subsets, with the estimate of the docstring."""
    rng = np.random.default_rng(seed)
    p = np.round(rng.uniform(0.02, 0.98, size=(6, 5)), 3) ** rng.integers(1, 4)
    values = logit(p)
    chosen = values > MostLikelyLabels().fit(values, None, None).cut(values)
    for row, found in zip(p, chosen, strict=True):
        expected = {
            subset: 2 * row[list(subset)].sum() / (len(subset) + row.sum())
            for bits in product([0, 1], repeat=5)
            if any(bits)
            for subset in [tuple(np.flatnonzero(bits))]
        }
        expected[()] = np.prod(1 - row)
        best = max(expected.values())
        assert expected[tuple(np.flatnonzero(found))] == pytest.approx(best, abs=1e-9)


def test_true_number_predicts_as_many_labels_as_there_are():
    rng = np.random.default_rng(1)
    values, indicator = rng.normal(size=(50, 6)), rng.random((50, 6)) < 0.2
    rule = TrueNumber().fit(values, indicator, np.ones(50))
    assert (values > rule.cut(values)).sum() == indicator.sum()
    none = TrueNumber().fit(values, np.zeros_like(indicator), np.ones(50))
    assert not (values > none.cut(values)).any()


def test_true_number_with_ties():
    values = np.array([[2.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    for n_labels, n_predicted in ((1, 1), (2, 1), (3, 4), (5, 4), (6, 6)):
        indicator = (np.arange(6) < n_labels).reshape(2, 3)
        cut = TrueNumber().fit(values, indicator, np.ones(2)).cut(values)
        assert (values > cut).sum() == n_predicted


def test_at_least_one_only_where_it_pays():
    values = np.array([[-1.0, -2.0], [-3.0, -0.5], [1.0, -1.0]])
    right = np.array([[True, False], [False, True], [True, False]])
    rule = AtLeastOne(FixedCut(), subset_accuracy).fit(values, right, np.ones(3))
    np.testing.assert_array_equal(values > rule.cut(values), right)
    nothing = np.array([[False, False], [False, False], [True, False]])
    rule = AtLeastOne(FixedCut(), subset_accuracy).fit(values, nothing, np.ones(3))
    np.testing.assert_array_equal(values > rule.cut(values), nothing)


def test_balanced_adds_likely_labels_where_it_pays():
    values = logit(np.array([[0.6, 0.7, 0.1], [0.2, 0.4, 0.39], [0.2, 0.34, 0.3], [0.5, 0.5, 0.1]]))
    plain = values > 0.0
    more = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 1, 0]], dtype=bool)
    for labels in (plain, more):
        rule = RULES["balanced"][0]().fit(values, labels, np.ones(4))
        np.testing.assert_array_equal(values > rule.cut(values), labels)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("labels", ["none", "all"])
def test_constant_labels_leave_a_finite_rule(name, labels):
    _, values, indicator, weight = random_values(6)
    indicator[:] = labels == "all"
    for make in RULES[name]:
        cut = make().fit(values, indicator, weight).cut(values)
        assert np.isfinite(cut).all()
        if labels == "none" and name not in ("hamming", "example-f1"):
            assert hamming(indicator, values > cut) <= hamming(indicator, values > 0)
