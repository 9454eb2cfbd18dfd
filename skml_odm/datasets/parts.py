"""What readers have in common: a file's content, and how one or two of them become a data set."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import sparse

from .dataset import DataSet
from .files import file_error

MISSING = "missing values: "  # how the note on them begins
N_NAMED = 10  # features that a note names


@dataclass
class Part:
    """One file: what a DataSet has, but with NaN where a number is missing.

    Nominal values that are missing have no column set; ``missing`` counts them by attribute.
    """

    path: Path | str
    X: np.ndarray | sparse.csr_matrix
    Y: np.ndarray
    label_names: Sequence[str]
    feature_names: Sequence[str]
    split: tuple[np.ndarray, np.ndarray] | None = None
    candidates: np.ndarray | None = None
    known: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    missing: dict[str, int] = field(default_factory=dict)


def labels_of(columns):
    """Y, and which labels are known (None for all), from a pair of columns for every label."""
    Y, known = (np.column_stack(each) for each in zip(*columns, strict=True))
    return Y, None if known.all() else known


class Numbered(Sequence):
    """Names for labels or features that have none, each made when it is asked for.

    Parameters
    ----------
    noun : str
    n : int
    """

    def __init__(self, noun, n):
        self.noun = noun
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        numbers = range(self.n)[index]
        if isinstance(numbers, range):
            return tuple(f"{self.noun}{number}" for number in numbers)
        return f"{self.noun}{numbers}"

    def __eq__(self, other):
        if isinstance(other, Numbered):
            return (self.noun, self.n) == (other.noun, other.n)
        return isinstance(other, tuple) and self.n == len(other) and tuple(self) == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self):
        return f"Numbered({self.noun!r}, {self.n})"


def label_positions(path, names, labels):
    """Columns of the labels: a list of names, or how many of the last columns."""
    is_number = isinstance(labels, int) and not isinstance(labels, bool)
    is_list = isinstance(labels, list | tuple) and all(isinstance(name, str) for name in labels)
    if not (is_number or is_list or isinstance(labels, str)):
        raise file_error(
            path,
            "option labels must be a list of names, or how many of the last columns are labels; "
            f"got {labels!r}",
        )
    if is_number:
        if not 0 < labels < len(names):
            raise file_error(
                path,
                f"option labels must be less than the number of columns, {len(names)}, and more "
                f"than 0; got {labels}",
            )
        return list(range(len(names) - labels, len(names)))
    labels = [labels] if isinstance(labels, str) else list(labels)
    position = {name: i for i, name in enumerate(names)}
    for name in labels:
        if name not in position:
            raise file_error(path, f"label {name!r} is not among the {len(names)} columns")
    if len(set(labels)) < len(labels):
        raise file_error(path, "option labels names a label twice")
    if not labels or len(labels) == len(names):
        raise file_error(path, "there must be at least one label and one feature")
    return [position[name] for name in labels]


def as_data_set(name, parts):
    """A part as a data set, or two parts as training and test part of one."""
    first = parts[0]
    if len(parts) == 2:
        for part in parts:
            if part.split is not None or part.candidates is not None:
                raise file_error(
                    part.path, "has a split or candidates of its own; a plain file is expected"
                )
        _check_same("label", parts, first.label_names, parts[1].label_names)
        _check_same("feature", parts, first.feature_names, parts[1].feature_names)
        ends = np.cumsum([0] + [len(part.Y) for part in parts])
        split = (np.arange(ends[1]), np.arange(ends[1], ends[2]))
    else:
        split = first.split
    X = _stack([part.X for part in parts])
    X, missing = _fill(X, first.feature_names, slice(None) if split is None else split[0])
    for part in parts:
        for attribute, count in part.missing.items():
            missing[attribute] = missing.get(attribute, 0) + count
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    if missing:
        where = "all rows" if split is None else "the training rows"
        notes += (
            f"{MISSING}{sum(missing.values())} ({_listed(missing)}); numbers became the mean of "
            f"{where}, nominal values have no column set",
        )
    known = None
    if any(part.known is not None for part in parts):
        known = np.vstack([_known(part) for part in parts])
    return DataSet(
        name=name,
        X=X,
        Y=np.vstack([part.Y for part in parts]),
        label_names=first.label_names,
        feature_names=first.feature_names,
        split=split,
        candidates=first.candidates,
        known=known,
        notes=notes,
    )


def _known(part):
    return np.ones(part.Y.shape, dtype=bool) if part.known is None else part.known


def _check_same(noun, parts, expected, got):
    if expected == got:
        return
    for here, there, part, other in (
        (got, expected, parts[1], parts[0]),
        (expected, got, parts[0], parts[1]),
    ):
        known = set(there)
        extra = [name for name in here if name not in known]
        if extra:
            more = f" and {len(extra) - 1} more" if len(extra) > 1 else ""
            raise file_error(
                part.path,
                f"{noun} {extra[0]!r}{more} is not in {other.path}; "
                f"training and test part need the same {noun}s",
            )
    wrong = next(i for i, pair in enumerate(zip(expected, got, strict=False)) if len(set(pair)) > 1)
    raise file_error(
        parts[1].path,
        f"{noun} {wrong + 1} is {got[wrong]!r} but {expected[wrong]!r} in {parts[0].path}; "
        f"training and test part need the same {noun}s in the same order",
    )


def _stack(matrices):
    if len(matrices) == 1:
        return matrices[0]
    if any(map(sparse.issparse, matrices)):
        return sparse.csr_matrix(sparse.vstack(matrices))
    return np.vstack(matrices)


def _fill(X, names, rows):
    """Put the mean of these rows in place of NaN; how many there were of each feature."""
    values = X.data if sparse.issparse(X) else X
    if not np.isnan(values).any():
        return X, {}
    if sparse.issparse(X):
        unknown = X.copy()
        unknown.data = np.isnan(X.data).astype(np.float64)
        known = X.copy()
        known.data = np.nan_to_num(X.data, nan=0.0)
        n_known = X[rows].shape[0] - np.asarray(unknown[rows].sum(axis=0)).ravel()
        counts = np.asarray(unknown.sum(axis=0)).ravel()
        mean = np.asarray(known[rows].sum(axis=0)).ravel() / np.maximum(n_known, 1)
        X = X.copy()
        X.data = np.where(np.isnan(X.data), mean[X.indices], X.data)
    else:
        counts = np.isnan(X).sum(axis=0)
        n_known = (~np.isnan(X[rows])).sum(axis=0)
        mean = np.nansum(X[rows], axis=0) / np.maximum(n_known, 1)
        X = np.where(np.isnan(X), mean, X)
    return X, {names[j]: int(counts[j]) for j in np.flatnonzero(counts)}


def _listed(counts):
    most = sorted(counts.items(), key=lambda item: -item[1])
    text = ", ".join(f"{name} {count}" for name, count in most[:N_NAMED])
    return text + (f", {len(most) - N_NAMED} more features" if len(most) > N_NAMED else "")
