"""Decisions from scores of rows that the model has not seen: calibration, then a rule."""

import numpy as np
from scipy.special import expit

from ..utils.validation import check_choice
from .calibration import CALIBRATIONS
from .guarantee import GuaranteedCut, check_guarantee
from .rules import RULES, CommonCut


def check_measure(name, value):
    """Raise unless ``value`` names a rule or is a function."""
    if not callable(value):
        check_choice(name, value, tuple(RULES), or_else="a function of (y_true, y_pred)")


def check_calibration(name, value):
    """Raise unless ``value`` is None or names a calibration."""
    if value is not None:
        check_choice(name, value, tuple(CALIBRATIONS), or_else="None")


class LabelDecision:
    """Probabilities and labels from scores, fitted to scores of rows that the model has not seen.

    Parameters
    ----------
    measure : str or callable
        A key of :data:`~skml_odm.decisions.rules.RULES`, or a function of labels and predictions
        (both boolean, rows × labels), larger for better ones.
    calibration : str or None
        A key of :data:`~skml_odm.decisions.calibration.CALIBRATIONS`. None cuts raw scores.
    guarantee : dict, optional
        See :class:`~skml_odm.decisions.guarantee.GuaranteedCut`; takes the place of the measure.

    Attributes
    ----------
    calibration_ : object
        None without calibration.
    rule_ : object
        ``rule_.cut(values)`` is what the log-odds of a label's probability, or its raw score, must
        exceed to be predicted.
    """

    # rankings are those of the scores, which are known before a decision is fitted
    keeps_order = True
    needs_unseen_scores = True

    def __init__(self, measure="balanced", calibration="context", guarantee=None):
        self.measure, self.calibration, self.guarantee = measure, calibration, guarantee

    def fit(self, scores, indicator, sample_weight=None, margin=1.0):
        self.calibration_ = None
        if self.calibration is not None:
            calibration = CALIBRATIONS[self.calibration]()
            self.calibration_ = calibration.fit(scores, indicator, sample_weight)
        return self.fit_rule(scores, indicator, sample_weight)

    def fit_rule(self, scores, indicator, sample_weight=None):
        """Fit the rule alone, with the calibration that there is."""
        weight = np.ones(len(scores)) if sample_weight is None else sample_weight
        self.rule_ = self._make_rule().fit(self.values(scores), indicator, weight)
        return self

    def _make_rule(self):
        if self.guarantee is not None:
            check_guarantee("guarantee", self.guarantee)
            return GuaranteedCut(*next(iter(self.guarantee.items())))
        if callable(self.measure):
            return CommonCut(self.measure)
        of_probabilities, of_scores = RULES[self.measure]
        return (of_scores if self.calibration_ is None else of_probabilities)()

    def values(self, scores):
        """Log-odds of the calibrated probabilities, or the raw scores."""
        return scores if self.calibration_ is None else self.calibration_.log_odds(scores)

    def decide(self, scores, rounding=None):
        """Values minus cuts: a label is predicted where they are positive."""
        values = self.values(scores)
        return values - self.rule_.cut(values)

    def probabilities(self, scores):
        """Calibrated probabilities of all labels."""
        return expit(self.values(scores))
