"""Thresholds, calibrations and rules leave unknown cells out."""

import numpy as np
import pytest
from scipy.special import expit

from skml_odm.decisions.calibration import (
    ContextCalibration,
    IsotonicCalibration,
    PerLabelCalibration,
)
from skml_odm.decisions.decision import LabelDecision
from skml_odm.decisions.guarantee import GuaranteedCut
from skml_odm.decisions.rules import CommonCut, CutPerLabel, TrueNumber
from skml_odm.decisions.thresholds import PerLabelThreshold, RegressionThreshold, optimal_cuts
from skml_odm.metrics.labels import example_f1, micro_f1


def random_cells(seed, n=60, q=4):
    """Scores, labels, weights, which cells are known; a label without any known cell."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, q))
    known = rng.random((n, q)) < 0.6
    known[:, -1] = False
    known[:, 0] |= ~known.any(axis=1)
    scores = np.round(3.0 * (truth + rng.normal(size=(n, q))), 1)
    weight = rng.integers(0, 3, size=n).astype(float)
    return scores, (truth > 0.3) & known, weight, known


@pytest.mark.parametrize("seed", range(5))
def test_thresholds(seed):
    scores, indicator, weight, known = random_cells(seed)
    cuts = optimal_cuts(scores, indicator, known=known)
    for i in range(len(scores)):
        alone = optimal_cuts(scores[i : i + 1, known[i]], indicator[i : i + 1, known[i]])
        assert cuts[i] == alone[0]
    found = PerLabelThreshold().fit(scores, indicator, weight, known=known).values_
    for k in range(scores.shape[1] - 1):
        rows = known[:, k]
        alone = PerLabelThreshold().fit(
            scores[rows, k : k + 1], indicator[rows, k : k + 1], weight[rows]
        )
        assert found[k] == alone.values_[0]
    assert np.isfinite(found).all()
    regression = RegressionThreshold().fit(scores, indicator, weight, known=known)
    centred = cuts - regression(scores)[:, 0]
    assert abs(weight @ centred) < 1e-8 * weight.sum()


@pytest.mark.parametrize("seed", range(5))
def test_calibrations(seed):
    scores, indicator, weight, known = random_cells(seed)
    isotonic = IsotonicCalibration().fit(scores, indicator, weight, known).log_odds(scores)
    platt = PerLabelCalibration().fit(scores, indicator, weight, known)
    for k in range(scores.shape[1] - 1):
        rows = known[:, k]
        part = scores[rows, k : k + 1], indicator[rows, k : k + 1], weight[rows]
        alone = IsotonicCalibration().fit(*part).log_odds(scores[:, k : k + 1])
        np.testing.assert_array_equal(isotonic[:, k], alone[:, 0])
        alone = PerLabelCalibration().fit(*part)
        np.testing.assert_allclose(platt.coef_[:, k], alone.coef_[:, 0], rtol=1e-3)
    context = ContextCalibration().fit(scores, indicator, weight, known)
    residual = weight @ (known * (indicator - expit(context.log_odds(scores))))
    # the common intercept is nearly free
    assert abs(residual.sum()) < 1e-3
    assert np.isfinite(context.log_odds(scores)).all()


@pytest.mark.parametrize("seed", range(5))
def test_rules(seed):
    values, indicator, weight, known = random_cells(seed)
    cells = np.broadcast_to(weight[:, None], values.shape)[known]
    column = values[known][:, None], indicator[known][:, None], cells
    for rule in (CommonCut, TrueNumber):
        assert rule().fit(values, indicator, weight, known).value == rule().fit(*column).value
    searched = CommonCut(micro_f1).fit(values, indicator, np.ones(len(values)), known).value
    assert searched == CommonCut(micro_f1).fit(*column[:2], np.ones(len(cells))).value
    own = CutPerLabel().fit(values, indicator, weight, known).value
    other = np.where(known, values, 1e3 * np.random.default_rng(seed).normal(size=values.shape))
    np.testing.assert_array_equal(own, CutPerLabel().fit(other, indicator, weight, known).value)
    for measure in ("recall", "precision"):
        cut, again = (
            GuaranteedCut(measure, 0.6).fit(each, indicator, weight, known)
            for each in (values, other)
        )
        assert cut.value == again.value
        chosen = (values > cut.cut(values)) & known
        right = (chosen & indicator).sum(axis=1)
        number = (indicator if measure == "recall" else chosen).sum(axis=1)
        share = np.where(number > 0, right / np.maximum(number, 1), 1.0)
        assert np.average(share, weights=weight) >= 0.6


@pytest.mark.parametrize("measure", ["balanced", "hamming", "example-f1", "macro-f1", example_f1])
@pytest.mark.parametrize("calibration", ["context", None])
def test_decisions(measure, calibration):
    """Known cells are predicted about as well as without unknown ones."""
    scores, indicator, weight, known = random_cells(0, n=400)
    decision = LabelDecision(measure, calibration).fit(scores, indicator, weight, known=known)
    predicted = decision.decide(scores)[:, :-1] > 0
    assert example_f1(np.where(known, indicator, np.nan)[:, :-1], predicted) > 0.55
