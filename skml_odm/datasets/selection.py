"""Parts of a data set: without some of its rows, labels or features."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from ..utils.validation import some_rows
from .dataset import DataSet


def swap_split(data):
    """The publishers' test part for training, and their training part for tests."""
    if data.split is None:
        raise ValueError(
            f"swap_split is for sets with a split of their publishers; {data.name!r} has none."
        )
    return _noted(data, "training and test part exchanged", split=data.split[::-1])


def labelled_rows(data):
    """Without the rows that have no label."""
    labelled = data.Y.any(axis=1)
    if labelled.all():
        return data
    number = np.cumsum(labelled) - 1
    return _noted(
        data,
        f"{(~labelled).sum()} rows without labels dropped",
        X=data.X[labelled],
        Y=data.Y[labelled],
        candidates=some_rows(data.candidates, labelled),
        known=some_rows(data.known, labelled),
        split=data.split and tuple(number[part[labelled[part]]] for part in data.split),
    )


def without_labels(data, names):
    """Without the labels of these names."""
    if not isinstance(names, list | tuple):
        raise ValueError(f"without_labels must be a list of label names; got {names!r}.")
    for name in names:
        if name not in data.label_names:
            raise ValueError(f"without_labels must have labels of {data.name!r}; got {name!r}.")
    kept = np.array([name not in names for name in data.label_names], dtype=bool)
    return _with_labels(data, kept, f"{(~kept).sum()} labels dropped")


def frequent_labels(data, fewest_rows):
    """Without the labels that fewer rows have."""
    kept = data.Y.sum(axis=0) >= fewest_rows
    return _with_labels(
        data, kept, f"{(~kept).sum()} labels of fewer than {fewest_rows} rows dropped"
    )


def frequent_features(data, fewest_rows):
    """Without the features that are zero in all but fewer rows."""
    used = data.X.getnnz(axis=0) if sparse.issparse(data.X) else np.count_nonzero(data.X, axis=0)
    kept = used >= fewest_rows
    if kept.all():
        return data
    return _noted(
        data,
        f"{(~kept).sum()} features of fewer than {fewest_rows} rows dropped",
        X=data.X[:, kept],
        feature_names=_named(data.feature_names, kept),
    )


def _with_labels(data, kept, note):
    if kept.all():
        return data
    return _noted(
        data,
        note,
        Y=data.Y[:, kept],
        label_names=_named(data.label_names, kept),
        candidates=some_rows(data.candidates, np.s_[:, kept]),
        known=some_rows(data.known, np.s_[:, kept]),
    )


def _named(names, kept):
    return tuple(name for name, keep in zip(names, kept, strict=True) if keep)


def _noted(data, note, **changes) -> DataSet:
    return replace(data, notes=(*data.notes, note), **changes)
