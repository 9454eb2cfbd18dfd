"""Weights of cells (rows × labels), as rows in which some labels are unknown.

A row with the cell weights w counts as several rows, its layers. Each step between two of its
weights is a layer: it has the size of the step as its weight, and knows the labels whose weights
reach the upper end of it,

    L(f; w) = ∫₀^∞ L(f; {l : w_l ≥ t}) dt,

which is a sum over the different weights of the row. It is convex if L is. A row whose cells weigh
the same is a row of that weight, and a cell of weight 0 is unknown.
"""

import numpy as np

from .numbers import EPSILON


def layers(weights):
    """The layers of cell weights.

    Parameters
    ----------
    weights : ndarray of shape (m, q)
        Not negative.

    Returns
    -------
    row : ndarray of shape (n,)
        The row of each layer, ascending; none of rows without weight.
    known : ndarray of shape (n, q), bool
    weight : ndarray of shape (n,)
    """
    levels = np.sort(weights, axis=1)
    steps = np.diff(levels, axis=1, prepend=0.0)
    # 0.1 + 0.2 and 0.3 are one weight
    row, place = np.nonzero(steps > EPSILON * levels)
    return row, weights[row] >= levels[row, place, None], steps[row, place]
