"""Candidate labels from labels, and labels that are hidden: what studies do to training rows."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from ..utils.types import Matrix, NDArray
from ..utils.validation import SHARE, Target, check_real, check_seed


def add_candidate_noise(Y, n_noisy, random_state=None):
    """Add irrelevant labels to each row, as in the experiments of paper 001.

    ``n_noisy`` labels, drawn without replacement from those that the row does not have, become
    candidates next to the labels it has; a row that lacks fewer gets all.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        Zeros and ones.
    n_noisy : int
        Labels to add to each row.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    ndarray, sparse matrix of the class of Y, or DataFrame
        Zeros and ones; a new object.

    Examples
    --------
    >>> add_candidate_noise([[1, 0, 0], [0, 1, 1]], 5, random_state=0)
    array([[1, 1, 1],
           [1, 1, 1]])
    """
    check_real("n_noisy", n_noisy, 0, integer=True)
    check_seed("random_state", random_state)
    target = Target(Y)
    if target.container == "column":
        raise ValueError("Y must have a column per label; got a one-dimensional Y.")
    if target.known is not None:
        raise ValueError("Y must have no unknown labels (NaN): hide labels after adding noise.")
    indicator = target.indicator
    # present labels come last in a random order of the row's labels
    order = check_random_state(random_state).random_sample(indicator.shape)
    order[indicator] = 2.0
    chosen = np.argsort(order, axis=1)[:, :n_noisy]
    noisy = indicator.copy()
    np.put_along_axis(noisy, chosen, True, axis=1)
    if sparse.issparse(Y):
        return type(Y)(sparse.csr_matrix(noisy.astype(Y.dtype)))
    if hasattr(Y, "columns"):
        return type(Y)(noisy.astype(int), index=Y.index, columns=Y.columns)
    return noisy.astype(np.asarray(Y).dtype)


def hide_labels(Y: Matrix, share: float, random_state: Any = None) -> NDArray:
    """Make a share of the labels unknown.

    Every cell (row × label) is hidden with the same probability, whatever the others are.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        Zeros and ones, and NaN for labels that are unknown already.
    share : float
        Probability of being hidden, from 0 to 1.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    ndarray of shape (n_samples, n_labels)
        Zeros and ones, and NaN for unknown labels.

    Examples
    --------
    >>> hide_labels([[1, 0, 0], [0, 1, 1]], 0.5, random_state=0)
    array([[ 1.,  0.,  0.],
           [ 0., nan,  1.]])
    """
    SHARE("share", share)
    check_seed("random_state", random_state)
    target = Target(Y)
    hidden = check_random_state(random_state).random_sample(target.indicator.shape) < share
    return np.where(hidden, np.nan, target.labels)
