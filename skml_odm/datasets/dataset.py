"""A multi-label data set in memory, whatever file it came from."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class DataSet:
    """Features, labels, and what is known about them.

    Attributes
    ----------
    name : str
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        Floats, not scaled; sparse where the file is.
    Y : ndarray of shape (n_rows, n_labels)
        Booleans; no for labels that are unknown.
    label_names, feature_names : sequence of str
    split : pair of ndarrays, optional
        Row numbers of the publishers' training and test part.
    candidates : ndarray of shape (n_rows, n_labels), optional
        Booleans: the labels that are all a learner may see of a partial-label set.
    known : ndarray of shape (n_rows, n_labels), optional
        Booleans: which labels are known. None if all are.
    notes : tuple of str
        What a reader had to do: values it filled in, attributes it took apart.
    """

    name: str
    X: np.ndarray | sparse.csr_matrix
    Y: np.ndarray
    label_names: Sequence[str]
    feature_names: Sequence[str]
    split: tuple[np.ndarray, np.ndarray] | None = None
    candidates: np.ndarray | None = None
    known: np.ndarray | None = None
    notes: tuple[str, ...] = field(default=())
