"""Weights of cells (rows × labels), as rows in which some labels are unknown.

A row with the weights 3, 3, 1, 0 counts as two rows, its layers: one of weight 1 with the first
three labels known, and one of weight 2 with the first two. With L(f; S) the loss of a row whose
labels S are known, the loss for cell weights w is

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
