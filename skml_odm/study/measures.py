"""The measures of a study, with the conventions of the papers.

Ranking measures need scores, the others predicted labels. A row without a relevant or without an
irrelevant label cannot be ranked wrongly and counts with no error. Coverage is counted from zero
and not divided by the number of labels. F1 of a label that nobody has and nobody predicts is 0, of
a row without labels that gets none 1. Macro-AUC is the mean over the labels that some test rows
have and others do not.
"""

import numpy as np
from sklearn.metrics import roc_auc_score

from ..decisions.scores import label_scores_of, labels_of
from ..metrics import average_precision, coverage, one_error, ranking_loss
from ..metrics.labels import example_f1, hamming, macro_f1, micro_f1, subset_accuracy
from ..utils.validation import Target


def macro_auc(y_true, scores):
    """Area under the curve of each label, averaged; NaN if no label has both kinds of rows."""
    y_true = np.asarray(y_true)
    both = (y_true == 0).any(axis=0) & (y_true == 1).any(axis=0)
    if not both.any():
        return np.nan
    known = (y_true == 0) | (y_true == 1)
    labels = np.flatnonzero(both)
    return np.mean([roc_auc_score(y_true[known[:, k], k], scores[known[:, k], k]) for k in labels])


OF_SCORES = {
    "ranking_loss": ranking_loss,
    "average_precision": average_precision,
    "one_error": one_error,
    "coverage": coverage,
    "macro_auc": macro_auc,
}
OF_LABELS = {
    "hamming_loss": hamming,
    "micro_f1": micro_f1,
    "macro_f1": macro_f1,
    "example_f1": example_f1,
    "subset_accuracy": subset_accuracy,
}
OF_ACCURACY = (*OF_SCORES, *OF_LABELS)

# Processor seconds, and the seconds on the wall that older stores have alone. They depend on what
# else the machine was doing, so they are shown only where there is nothing better.
PROCESSOR_SECONDS = {
    "fit_processor_seconds": "fit_seconds",
    "predict_processor_seconds": "predict_seconds",
}
COSTS = (*PROCESSOR_SECONDS, *PROCESSOR_SECONDS.values(), "peak_megabytes")

# heading, and whether more is better
MEASURES = {
    "ranking_loss": ("ranking loss", False),
    "average_precision": ("average precision", True),
    "one_error": ("one-error", False),
    "coverage": ("coverage", False),
    "macro_auc": ("macro-AUC", True),
    "hamming_loss": ("Hamming loss", False),
    "micro_f1": ("micro-F1", True),
    "macro_f1": ("macro-F1", True),
    "example_f1": ("example-F1", True),
    "subset_accuracy": ("subset accuracy", True),
    "fit_processor_seconds": ("fit, processor seconds", False),
    "predict_processor_seconds": ("predict, processor seconds", False),
    "fit_seconds": ("fit seconds", False),
    "predict_seconds": ("predict seconds", False),
    "peak_megabytes": ("peak memory, MB", False),
}


def label_measures(y_true, scores, predicted):
    """All measures of accuracy.

    Parameters
    ----------
    y_true : ndarray of shape (n_rows, n_labels)
        Booleans, or numbers with NaN for unknown labels, which are left out.
    scores : ndarray of shape (n_rows, n_labels), or None
        Without scores there are no ranking measures.
    predicted : ndarray of shape (n_rows, n_labels)
        Zeros and ones.

    Returns
    -------
    dict of str to float
        Macro-AUC is missing where no label has both kinds of rows.
    """
    y_true, predicted = _truth(y_true), np.asarray(predicted).astype(bool)
    ranked = {} if scores is None else OF_SCORES
    values = {
        **{name: measure(y_true, scores) for name, measure in ranked.items()},
        **{name: measure(y_true, predicted) for name, measure in OF_LABELS.items()},
    }
    return {
        name: float(values[name]) for name in OF_ACCURACY if not np.isnan(values.get(name, np.nan))
    }


def _truth(y):
    """Booleans, or numbers with NaN for unknown labels."""
    return Target(np.asarray(y)).labels


class LabelScorer:
    """A scorer by one of the measures of accuracy, for any classifier; larger is better.

    Parameters
    ----------
    measure : str
    """

    def __init__(self, measure):
        self.measure = measure

    @property
    def highest(self):
        """What no classifier exceeds: shares end at 1, losses at 0."""
        return 1.0 if MEASURES[self.measure][1] else 0.0

    def __call__(self, estimator, X, y):
        y = _truth(y)
        if self.measure in OF_SCORES:
            value = OF_SCORES[self.measure](y, label_scores_of(estimator, X, y.shape[1]))
        else:
            predicted = labels_of(estimator, X, y.shape[1]).astype(bool)
            value = OF_LABELS[self.measure](y, predicted)
        return value if MEASURES[self.measure][1] else -value

    def __repr__(self):
        return f"LabelScorer({self.measure!r})"
