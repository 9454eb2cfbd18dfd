"""The real data sets: found through SKML_ODM_DATA, scaled as the papers scale them."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from skml_odm.datasets import load_data
from skml_odm.study.evaluation import scaled

FOLDER = Path(os.environ.get("SKML_ODM_DATA", Path(__file__).parents[2] / "shared" / "data"))


class Split(NamedTuple):
    """Training and test part of a data set; labels are boolean."""

    X_train: object
    y_train: np.ndarray
    X_test: object
    y_test: np.ndarray


def load(name, swap=False, labelled_only=False):
    """Load a data set with its publishers' split, every feature in [0, 1] on the training part.

    Parameters
    ----------
    name : str
    swap : bool
        Exchange training and test part.
    labelled_only : bool
        Drop rows without labels.

    Returns
    -------
    Split
    """
    X, Y, train, test = load_raw(name)
    if swap:
        train, test = test, train
    if labelled_only:
        train, test = (rows[Y[rows].any(axis=1)] for rows in (train, test))
    return scaled_split(X, Y, Y, train, test)


def scaled_split(X, Y_train, Y_test, train, test):
    """These rows for training and test, every feature in [0, 1] on the training part."""
    X_train, X_test = scaled(X[train], X[test], "unit")
    return Split(X_train, Y_train[train], X_test, Y_test[test])


def random_split(m, share, seed):
    """Row numbers of a random training and test part, the first with this share of the rows."""
    return np.split(np.random.RandomState(seed).permutation(m), [round(share * m)])


def load_raw(name):
    """Features as they are, boolean labels, and the publishers' training and test rows or None."""
    data = load_data(FOLDER / f"{name}.npz")
    return data.X, data.Y, *(data.split or (None, None))


def load_candidates(name, seed=0):
    """A set with real candidate labels: a random split, candidates in the training part only."""
    data = load_data(FOLDER / f"{name}.npz")
    return scaled_split(data.X, data.candidates, data.Y, *random_split(len(data.Y), 0.8, seed))


def load_as_in_paper(name):
    """A data set of paper 000 with the rows the paper says it used.

    birds comes without the rows that have no label. medical has its two parts exchanged, as in the
    paper; ``"medical-333"`` is the published split.
    """
    if name == "medical-333":
        return load("medical")
    return load(name, swap=name == "medical", labelled_only=name == "birds")
