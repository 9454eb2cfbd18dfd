"""The numbers of a study: every table, figure and test gets its means, ranks and texts here.

A classifier has *no result* on a data set if it failed or was too slow on one of the folds, even
if it finished others: a mean over the easier folds is not comparable. It then gets the worst rank
there. If folds are merely not there yet (an interrupted study), or a measure is missing, the data
set takes no part in ranks.
"""

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from .measures import MEASURES, PROCESSOR_SECONDS
from .outcome import DONE, Outcome
from .statistics import ALPHA, corrected_t_p_value, friedman, ranks_of, signed_rank_p_value

DIGITS = {"peak_megabytes": 1}  # decimals shown
USUAL_DIGITS = 4

WIN, TIE, LOSS = "win", "tie", "loss"


def format_number(measure, value):
    """A value of a measure in the digits that all outputs show."""
    return f"{value:.{DIGITS.get(measure, USUAL_DIGITS)}f}"


class Summary:
    """Means, ranks and paired comparisons of the outcomes of a study.

    Parameters
    ----------
    outcomes : iterable of Outcome
        One per data set, classifier and fold at most.

    Attributes
    ----------
    outcomes : list of Outcome
        Ordered by data set, classifier (both as they first appear) and fold, so that the order
        in which cells were finished does not matter otherwise.
    data, classifiers : list of str
    measures : list of str
        Those that some outcome has, in the order of ``MEASURES``.
    shown_measures : list of str
        The same without seconds on the wall where all results have processor seconds.
    """

    def __init__(self, outcomes: Iterable[Outcome]):
        outcomes = list(outcomes)
        if not outcomes:
            raise ValueError("outcomes must not be empty.")
        self.data = list(dict.fromkeys(outcome.data for outcome in outcomes))
        self.classifiers = list(dict.fromkeys(outcome.classifier for outcome in outcomes))
        self._cells: dict[tuple[str, str], list[Outcome]] = {
            (data, name): [] for data in self.data for name in self.classifiers
        }
        for outcome in sorted(outcomes, key=lambda outcome: outcome.fold):
            cell = self._cells[outcome.data, outcome.classifier]
            if cell and cell[-1].fold == outcome.fold:
                raise ValueError(
                    f"outcomes must have one result of {outcome.classifier} in fold "
                    f"{outcome.fold} of {outcome.data}; got several."
                )
            cell.append(outcome)
        self.outcomes = [outcome for cell in self._cells.values() for outcome in cell]
        present = {key for outcome in self.outcomes for key in outcome.measures}
        self.measures = [measure for measure in MEASURES if measure in present]
        done = [outcome for outcome in self.outcomes if outcome.status == DONE]
        hidden = {
            wall
            for processor, wall in PROCESSOR_SECONDS.items()
            if all(processor in outcome.measures for outcome in done)
        }
        self.shown_measures = [measure for measure in self.measures if measure not in hidden]
        self._values = {
            (measure, *key): _values_by_fold(cell, measure)
            for measure in self.measures
            for key, cell in self._cells.items()
        }

    def cell(self, data, classifier):
        """All outcomes of a classifier on a data set, by fold."""
        return self._cells[data, classifier]

    @cached_property
    def failures(self):
        """Outcomes without a result."""
        return [outcome for outcome in self.outcomes if outcome.status != DONE]

    def failure_lines(self):
        """Where results are missing, and why; folds with the same error share a line."""
        groups: dict[tuple[str, str, str, str], list[int]] = {}
        for outcome in self.failures:
            error = " ".join(outcome.error.split())
            key = outcome.data, outcome.classifier, outcome.status, error
            groups.setdefault(key, []).append(outcome.fold)
        return [
            f"{data}, {name}, {'fold' if len(folds) == 1 else 'folds'} {_runs(folds)}: {status}"
            + (f": {error}" if error else "")
            for (data, name, status, error), folds in groups.items()
        ]

    def failure(self, data, classifier):
        """The first outcome without a result of a classifier on a data set, or None."""
        return next((o for o in self.cell(data, classifier) if o.status != DONE), None)

    def values(self, measure, data, classifier):
        """The values of a measure by fold, where there are any."""
        return self._values[measure, data, classifier]

    def n_folds(self, measure, data):
        """How many folds have a value of some classifier."""
        return len({fold for name in self.classifiers for fold in self.values(measure, data, name)})

    def is_complete(self, measure, data, classifier):
        """Whether the classifier has a value in every fold in which some other has one."""
        n_values = len(self.values(measure, data, classifier))
        return (
            self.failure(data, classifier) is None
            and n_values > 0
            and n_values == self.n_folds(measure, data)
        )

    def mean(self, measure, data, classifier):
        """Mean over the folds that have a value; NaN if none has."""
        values = list(self.values(measure, data, classifier).values())
        return float(np.mean(values)) if values else np.nan

    def deviation(self, measure, data, classifier):
        """Standard deviation (n − 1) over folds; NaN with fewer than two."""
        values = list(self.values(measure, data, classifier).values())
        return float(np.std(values, ddof=1)) if len(values) > 1 else np.nan

    def text(self, measure, data, classifier):
        """Mean ± deviation in the digits shown, or why there is none."""
        mean = self.mean(measure, data, classifier)
        if np.isnan(mean):
            failure = self.failure(data, classifier)
            return "–" if failure is None else failure.status
        deviation = self.deviation(measure, data, classifier)
        text = format_number(measure, mean)
        if not np.isnan(deviation):
            text += f" ± {format_number(measure, deviation)}"
        return text

    def best(self, measure, data):
        """The classifiers with the best mean, to the digits shown.

        Empty as long as folds are missing, since then the means are not over the same rows. A
        classifier without a result takes no part.
        """
        if not self.is_comparable(measure, data):
            return set()
        shown = {
            name: float(format_number(measure, self.mean(measure, data, name)))
            for name in self.classifiers
            if self.is_complete(measure, data, name)
        }
        if not shown:
            return set()
        best = (max if MEASURES[measure][1] else min)(shown.values())
        return {name for name, value in shown.items() if value == best}

    def is_comparable(self, measure, data):
        """Whether every classifier has all folds or no result, and one of them has all."""
        complete = [self.is_complete(measure, data, name) for name in self.classifiers]
        failed = [self.failure(data, name) is not None for name in self.classifiers]
        return any(complete) and all(c or f for c, f in zip(complete, failed, strict=True))

    def ranked_data(self, measure):
        """The data sets that take part in ranks."""
        return [data for data in self.data if self.is_comparable(measure, data)]

    def means(self, measure):
        """Means of the data sets that take part in ranks; NaN where there is no result.

        Returns
        -------
        ndarray of shape (n_sets, n_classifiers)
        """
        rows = [
            [
                self.mean(measure, data, name) if self.is_complete(measure, data, name) else np.nan
                for name in self.classifiers
            ]
            for data in self.ranked_data(measure)
        ]
        return np.array(rows, dtype=float).reshape(-1, len(self.classifiers))

    def ranks(self, measure):
        """Ranks on the data sets that take part, one row each."""
        return ranks_of(self.means(measure), MEASURES[measure][1])

    def average_ranks(self, measure):
        """Average rank of each classifier; NaN if no data set takes part."""
        ranks = self.ranks(measure)
        return ranks.mean(axis=0) if len(ranks) else np.full(len(self.classifiers), np.nan)

    def friedman(self, measure):
        """Friedman's test of the ranks, or None with too few data sets."""
        return friedman(self.ranks(measure))

    def advantages(self, measure, data, control, other):
        """By how much the control is better in each fold that both have."""
        ours, theirs = (self.values(measure, data, name) for name in (control, other))
        sign = 1 if MEASURES[measure][1] else -1
        return [sign * (ours[fold] - theirs[fold]) for fold in ours if fold in theirs]

    def fold_p_value(self, measure, data, control, other):
        """Corrected resampled t-test over the common folds.

        None with too few of them, or if the outcomes do not tell the sizes of their parts.
        """
        ratio = self.test_to_train(data)
        if ratio is None:
            return None
        return corrected_t_p_value(self.advantages(measure, data, control, other), ratio)

    def test_to_train(self, data):
        """n_test / n_train of a data set, averaged over folds; None if unknown."""
        facts = [outcome.facts for outcome in self.outcomes if outcome.data == data]
        ratios = [each["n_test"] / each["n_train"] for each in facts if "n_train" in each]
        return float(np.mean(ratios)) if ratios else None

    def verdict_of_means(self, measure, data, control, other):
        """Whether the mean of the control wins, to the digits shown.

        A result wins against none. None if neither has a result, or if the data set takes no part
        in ranks.
        """
        if not self.is_comparable(measure, data):
            return None
        ours, theirs = (self.is_complete(measure, data, name) for name in (control, other))
        if not (ours and theirs):
            return WIN if ours else LOSS if theirs else None
        means = [
            float(format_number(measure, self.mean(measure, data, name)))
            for name in (control, other)
        ]
        if means[0] == means[1]:
            return TIE
        return WIN if (means[0] > means[1]) == MEASURES[measure][1] else LOSS

    def verdict_of_folds(self, measure, data, control, other):
        """Whether the control is significantly better; None if there is no test."""
        p_value = self.fold_p_value(measure, data, control, other)
        if p_value is None:
            return None
        if p_value >= ALPHA:
            return TIE
        return WIN if np.mean(self.advantages(measure, data, control, other)) > 0 else LOSS

    def record(self, measure, control, other, verdict):
        """Wins, ties and losses of the control over the data sets that have a verdict."""
        verdicts = [verdict(measure, data, control, other) for data in self.data]
        return tuple(verdicts.count(kind) for kind in (WIN, TIE, LOSS))

    def set_p_value(self, measure, control, other):
        """Wilcoxon's test over the data sets on which both have a result, and their number."""
        ours, theirs = (self.classifiers.index(name) for name in (control, other))
        differences = self.means(measure)[:, ours] - self.means(measure)[:, theirs]
        differences = differences[~np.isnan(differences)]
        return signed_rank_p_value(differences), len(differences)


def _values_by_fold(cell, measure):
    return {
        outcome.fold: outcome.measures[measure]
        for outcome in cell
        if outcome.status == DONE and np.isfinite(outcome.measures.get(measure, np.nan))
    }


def _runs(folds):
    """1, 2, 3, 7 as 1–3, 7."""
    runs: list[list[int]] = []
    for fold in folds:
        if runs and fold == runs[-1][1] + 1:
            runs[-1][1] = fold
        else:
            runs.append([fold, fold])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)
