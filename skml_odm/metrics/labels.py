"""Measures of predicted labels.

F1 of a label that nobody has and nobody predicts is 0, as in scikit-learn; of a row without labels
that gets none it is 1. Labels are booleans, or numbers with NaN in the place of unknown ones: these
cells are left out, and so are rows with nothing known.
"""

from collections.abc import Callable

import numpy as np

from ..utils.types import NDArray


def hamming(y_true: NDArray, predicted: NDArray) -> float:
    """Share of the cells (rows × labels) that are wrong."""
    known = _known(y_true)
    wrong = y_true != predicted
    return float(np.mean(wrong if known is None else wrong[known]))


def subset_accuracy(y_true: NDArray, predicted: NDArray) -> float:
    """Share of the rows whose labels are all right."""
    known = _known(y_true)
    right = y_true == predicted
    if known is not None:
        right = (right | ~known)[known.any(axis=1)]
    return float(np.mean(right.all(axis=1)))


def micro_f1(y_true: NDArray, predicted: NDArray) -> float:
    """F1 of all cells together."""
    return _f1(y_true, predicted, axis=None, of_nothing=0.0)


def macro_f1(y_true: NDArray, predicted: NDArray) -> float:
    """Mean F1 of the labels."""
    return _f1(y_true, predicted, axis=0, of_nothing=0.0)


def example_f1(y_true: NDArray, predicted: NDArray) -> float:
    """Mean F1 of the rows."""
    return _f1(y_true, predicted, axis=1, of_nothing=1.0)


def _f1(y_true: NDArray, predicted: NDArray, *, axis: int | None, of_nothing: float) -> float:
    known = _known(y_true)
    if known is not None:
        counted = known.any(axis=1)
        predicted = (predicted & known)[counted]
        y_true = (y_true == 1)[counted]
    both = np.sum(y_true & predicted, axis=axis)
    sizes = np.sum(y_true, axis=axis) + np.sum(predicted, axis=axis)
    return float(np.mean(np.where(sizes > 0, 2.0 * both / np.maximum(sizes, 1), of_nothing)))


def _known(y_true: NDArray) -> NDArray | None:
    """Which cells are known; None if y_true cannot hold NaN."""
    return ~np.isnan(y_true) if y_true.dtype.kind == "f" else None


LABEL_MEASURES: dict[str, Callable[[NDArray, NDArray], float]] = {
    "hamming": hamming,
    "subset-accuracy": subset_accuracy,
    "micro-f1": micro_f1,
    "macro-f1": macro_f1,
    "example-f1": example_f1,
}
