"""Leaving out what is unknown where values are sorted and cut."""

import numpy as np


def without_unknown(values, known, axis):
    """Values in which each unknown one equals the largest known one along an axis.

    No cut lies between equal values: if they cost nothing the unknown ones change no cut. Where
    nothing is known all are 0.
    """
    largest = np.where(known, values, -np.inf).max(axis=axis, keepdims=True, initial=-np.inf)
    return np.where(known, values, np.where(np.isfinite(largest), largest, 0.0))


def known_cells(weight, known):
    """The weight of every cell, 0 where it is unknown, or of all cells of a row (n × 1)."""
    return weight[:, None] if known is None else weight[:, None] * known
