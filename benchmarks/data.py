"""The real data sets: found through SKML_ODM_DATA, scaled as the papers scale them."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler

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
    scaler = (MaxAbsScaler() if sparse.issparse(X) else MinMaxScaler()).fit(X[train])
    return Split(
        scaler.transform(X[train]), Y_train[train], scaler.transform(X[test]), Y_test[test]
    )


def random_split(m, share, seed):
    """Row numbers of a random training and test part, the first with this share of the rows."""
    return np.split(np.random.RandomState(seed).permutation(m), [round(share * m)])


def load_raw(name):
    """Features as they are, boolean labels, and the publishers' training and test rows or None."""
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; set SKML_ODM_DATA to the folder that has it.")
    with np.load(path, allow_pickle=False) as file:
        X, Y = _matrix(file, "X"), _matrix(file, "Y")
        split = [file.get(key) for key in ("train_idx", "test_idx")]
    Y = (Y.toarray() if sparse.issparse(Y) else Y).astype(bool)
    return X, Y, *split


def load_candidates(name, seed=0):
    """A set with real candidate labels: a random split, candidates in the training part only."""
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as file:
        X, Y, Z = (_matrix(file, key) for key in ("X", "Y", "Y_partial"))
    return scaled_split(X, Z > 0, Y > 0, *random_split(len(Y), 0.8, seed))


def load_as_in_paper(name):
    """A data set of paper 000 with the rows the paper says it used.

    birds comes without the rows that have no label. medical has its two parts exchanged, as in the
    paper; ``"medical-333"`` is the published split.
    """
    if name == "medical-333":
        return load("medical")
    return load(name, swap=name == "medical", labelled_only=name == "birds")


def _matrix(file, key):
    """A dense array, or a CSR matrix stored in parts."""
    if key in file:
        return file[key].astype(np.float64)
    parts = tuple(file[f"{key}_{part}"] for part in ("data", "indices", "indptr"))
    return sparse.csr_matrix(parts, shape=tuple(file[f"{key}_shape"])).astype(np.float64)
