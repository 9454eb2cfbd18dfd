"""Decisions from scores of rows that the model has not seen: calibration, then a rule."""

import numpy as np
from scipy.special import expit

from ..utils.validation import check_choice, some_rows
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


# Parts of the rows that are calibrated by the others where there are no folds.
FEW_PARTS = 5


class LabelDecision:
    """Probabilities and labels from scores, fitted to scores of rows that the model has not seen.

    Parameters
    ----------
    measure : str or callable
        A key of :data:`~skml_odm.decisions.rules.RULES`, or a function of labels and predictions
        (both boolean, rows × labels), larger for better ones. If labels are unknown, it gets
        numbers with NaN in their place.
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

    def fit(self, scores, indicator, sample_weight=None, margin=1.0, known=None, parts=None):
        """Fit calibration and rule; labels that are not ``known`` are left out.

        ``parts`` has the fold of each row. A guarantee needs values that do not depend on the
        labels of their row: those of each fold are then calibrated by the other folds.
        """
        self.calibration_ = self._calibrate(scores, indicator, sample_weight, known)
        if self.guarantee is None or self.calibration is None:
            return self.fit_rule(self.values(scores), indicator, sample_weight, known)
        if parts is None or (parts == parts[0]).all():
            parts = np.arange(len(scores)) % FEW_PARTS
        values = np.empty_like(scores)
        weight = np.ones(len(scores)) if sample_weight is None else sample_weight
        for part in np.unique(parts):
            new = parts == part
            # a single row, or one with all the weight, has nothing else to be calibrated by
            others = ~new if weight[~new].any() else new
            calibration = self._calibrate(
                scores[others], indicator[others], weight[others], some_rows(known, others)
            )
            values[new] = calibration.log_odds(scores[new])
        return self.fit_rule(values, indicator, sample_weight, known)

    def _calibrate(self, scores, indicator, sample_weight, known):
        """The fitted calibration, None without."""
        if self.calibration is None:
            return None
        return CALIBRATIONS[self.calibration]().fit(scores, indicator, sample_weight, known)

    def fit_rule(self, values, indicator, sample_weight=None, known=None):
        """Fit the rule alone, to values of the calibration that there is."""
        weight = np.ones(len(values)) if sample_weight is None else sample_weight
        self.rule_ = self._make_rule().fit(values, indicator, weight, known)
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
