"""Measures of predicted labels.

F1 of a label that nobody has and nobody predicts is 0, as in scikit-learn; of a row without labels
that gets none it is 1.
"""

from collections.abc import Callable

import numpy as np

from ..utils.types import NDArray


def hamming(y_true: NDArray, predicted: NDArray) -> float:
    """Share of the cells (rows × labels) that are wrong."""
    return float(np.mean(y_true != predicted))


def subset_accuracy(y_true: NDArray, predicted: NDArray) -> float:
    """Share of the rows whose labels are all right."""
    return float(np.mean((y_true == predicted).all(axis=1)))


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
    both = np.sum(y_true & predicted, axis=axis)
    sizes = np.sum(y_true, axis=axis) + np.sum(predicted, axis=axis)
    return float(np.mean(np.where(sizes > 0, 2.0 * both / np.maximum(sizes, 1), of_nothing)))


LABEL_MEASURES: dict[str, Callable[[NDArray, NDArray], float]] = {
    "hamming": hamming,
    "subset-accuracy": subset_accuracy,
    "micro-f1": micro_f1,
    "macro-f1": macro_f1,
    "example-f1": example_f1,
}
