"""Measures of predicted labels.

F1 of a label that nobody has and nobody predicts is 0, as in scikit-learn; of a row without labels
that gets none it is 1.
"""

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
