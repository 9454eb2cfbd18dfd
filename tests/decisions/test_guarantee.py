"""Conformal risk control: brute force over cuts, and whether the promise holds."""

import numpy as np
import pytest
from groups import first_fast

from skml_odm.decisions.decision import LabelDecision
from skml_odm.decisions.guarantee import GuaranteedCut, check_guarantee


def losses(measure, values, indicator, cut):
    """1 − recall or 1 − precision of every row, by their definitions."""
    predicted = values > cut
    both, n = (predicted & indicator).sum(axis=1), predicted.sum(axis=1)
    whole = indicator.sum(axis=1) if measure == "recall" else n
    return 1.0 - np.where(whole > 0, both / np.maximum(whole, 1), 1.0)


def draw(rng, n, q=5):
    truth = rng.normal(size=(n, q)) - 0.7
    return truth + 0.7 * rng.normal(size=(n, q)), truth > 0


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize("measure", ["recall", "precision"])
@pytest.mark.parametrize("seed", range(5))
def test_cut_against_brute_force(measure, seed, coarse):
    values, indicator = draw(np.random.default_rng(seed), 40)
    if coarse:
        values = np.round(values)
    share = 0.8
    cut = GuaranteedCut(measure, share).fit(values, indicator, np.ones(40)).value
    edges = np.unique(values)
    grid = np.r_[edges[0] - 1, 0.5 * (edges[1:] + edges[:-1]), edges[-1] + 1]
    table = np.array([losses(measure, values, indicator, t) for t in grid])
    if measure == "precision":
        # the greatest loss at this cut or above
        table = np.maximum.accumulate(table[::-1], axis=0)[::-1]
    fits = grid[(table.sum(axis=1) + 1) / 41 <= 1 - share + 1e-12]
    assert len(fits)
    best = fits.max() if measure == "recall" else fits.min()
    np.testing.assert_array_equal(values > cut, values > best)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("measure", "share"), [("recall", 0.9), ("precision", 0.7)])
def test_the_promise_holds(measure, share, weighted):
    """2000 draws of calibration rows, each with rows that nobody has seen."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(2000):
        values, indicator = draw(rng, 30)
        weight = rng.lognormal(size=30) if weighted else np.ones(30)
        cut = GuaranteedCut(measure, share).fit(values, indicator, weight).value
        found.append(1.0 - losses(measure, *draw(rng, 20), cut).mean())
    error = np.std(found) / np.sqrt(len(found))
    assert np.mean(found) >= share - 3 * error
    # and is not kept by predicting everything, or nothing
    if not weighted:
        assert np.mean(found) <= share + 0.08


@pytest.mark.parametrize("measure", first_fast(["recall", "precision"], 1))
def test_the_promise_holds_with_calibration(measure):
    """The calibration is fitted to the same rows, but never to those that it calibrates."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(300):
        scores, indicator = draw(rng, 20)
        decision = LabelDecision("hamming", "context", {measure: 0.9}).fit(scores, indicator)
        new, truth = draw(rng, 40)
        found.append(1.0 - losses(measure, decision.decide(new), truth, 0.0).mean())
    assert np.mean(found) >= 0.9 - 3 * np.std(found) / np.sqrt(len(found))


def test_too_few_rows_for_the_promise_predict_all_or_nothing():
    values, indicator = draw(np.random.default_rng(1), 4)
    for measure, everything in (("recall", True), ("precision", False)):
        cut = GuaranteedCut(measure, 0.9).fit(values, indicator, np.ones(4)).cut(values)
        assert np.isfinite(cut).all()
        assert ((values > cut) == everything).all()


def test_nothing_is_predicted_where_that_keeps_the_recall():
    values, indicator = draw(np.random.default_rng(2), 40)
    indicator[4:] = False
    cut = GuaranteedCut("recall", 0.5).fit(values, indicator, np.ones(40)).cut(values)
    assert not (values > cut).any()


@pytest.mark.parametrize(
    "value", ["recall", {}, {"recall": 0.5, "precision": 0.5}, {"f1": 0.5}, {"recall": 1.0}]
)
def test_wrong_guarantees(value):
    with pytest.raises(ValueError, match="guarantee"):
        check_guarantee("guarantee", value)
