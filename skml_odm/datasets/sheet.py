"""The data sheet of a set: its figures, and what a reader of a study should be warned of."""

import re
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .alignment import row_alignment
from .label_columns import column_alignment
from .parts import MISSING
from .row_hashes import row_hashes

N_NAMED = 5  # labels that a warning names


@dataclass(frozen=True)
class DataSheet:
    """Figures and warnings about a data set.

    Attributes
    ----------
    name : str
    facts : dict of str to str, int or float
        Headings and figures, in the order to be shown.
    warnings : tuple of str
        One line each.
    """

    name: str
    facts: dict[str, str | int | float]
    warnings: tuple[str, ...]


def data_sheet(data, folds=None):
    """Describe a data set and look for what is wrong with it.

    Parameters
    ----------
    data : DataSet
    folds : list of (train, test) pairs of row numbers, optional
        Default is the publishers' split, if there is one.

    Returns
    -------
    DataSheet

    Examples
    --------
    >>> from skml_odm.datasets import data_sheet, load_data
    >>> sheet = data_sheet(load_data("digits"))
    >>> sheet.facts["rows"], sheet.facts["labels"], round(sheet.facts["cardinality"], 2)
    (1797, 7, 2.9)
    >>> sheet.facts["row alignment"], sheet.warnings
    ('sound', ('3 of 64 features are constant',))
    """
    if folds is None:
        folds = [data.split] if data.split is not None else []
    facts: dict[str, str | int | float] = {}
    warnings: list[str] = list(data.notes)
    label_sets, hashes = row_hashes(sparse.csr_matrix(data.Y)), row_hashes(data.X)
    _describe_labels(data, label_sets, facts, warnings)
    _describe_features(data, hashes, label_sets, facts, warnings)
    _describe_folds(data, hashes, folds, facts, warnings)
    alignment = row_alignment(data.X, data.Y)
    state = "shifted" if alignment.shifted else "sound" if alignment.decided else "undecided"
    facts["row alignment"] = state
    if alignment.shifted:
        warnings.insert(0, alignment.warning)
    columns = column_alignment(data.X, data.Y)
    facts["label columns"] = "consistent" if columns is None else "shifted"
    if columns is not None:
        warnings.insert(0, columns.warning)
    return DataSheet(data.name, facts, tuple(warnings))


def _describe_labels(data, label_sets, facts, warnings):
    m, q = data.Y.shape
    per_row, per_label = data.Y.sum(axis=1), data.Y.sum(axis=0)
    _, set_counts = np.unique(label_sets, return_counts=True)
    imbalance = per_label.max(initial=0) / per_label[per_label > 0]
    facts["rows"] = m
    facts["features"] = data.X.shape[1]
    facts["zeros among features"] = float(1 - _count_nonzero(data.X) / (m * data.X.shape[1]))
    facts["labels"] = q
    facts["cardinality"] = float(per_row.mean())
    facts["density"] = float(per_row.mean() / q)
    facts["distinct label sets"] = len(set_counts)
    facts["share of the most frequent label set"] = float(set_counts.max() / m)
    # IRLbl of Charte et al. 2015: rows of the most frequent label per row of this one
    facts["imbalance (mean IRLbl)"] = float(imbalance.mean()) if len(imbalance) else 0.0
    facts["imbalance (max IRLbl)"] = float(imbalance.max(initial=0.0))
    facts["rows without labels"] = int((per_row == 0).sum())
    facts["rows with all labels"] = int((per_row == q).sum())
    facts["labels without rows"] = int((per_label == 0).sum())
    facts["labels of all rows"] = int((per_label == m).sum())
    for heading, what in (
        ("rows without labels", "have no label"),
        ("rows with all labels", "have all labels"),
    ):
        if facts[heading]:
            warnings.append(f"{facts[heading]} of {m} rows {what}")
    if facts["labels without rows"]:
        warnings.append(f"labels that no row has: {_named(data, per_label == 0)}")
    if facts["labels of all rows"]:
        warnings.append(f"labels that every row has: {_named(data, per_label == m)}")
    if data.known is not None:
        n_unknown, n_rows = int((~data.known).sum()), int((~data.known.any(axis=1)).sum())
        facts["unknown labels"] = n_unknown
        facts["rows in which no label is known"] = n_rows
        warnings.append(
            f"{n_unknown} of {m * q} labels are unknown; where labels are counted, these are not"
        )
    if data.candidates is not None:
        facts["candidates per row"] = float(data.candidates.sum(axis=1).mean())
        lost = int((data.Y & ~data.candidates).any(axis=1).sum())
        facts["rows with a label that is no candidate"] = lost
        if lost:
            warnings.append(f"{lost} of {m} rows have a label that is no candidate")


def _describe_features(data, hashes, label_sets, facts, warnings):
    m, d = data.X.shape
    constant = int(_constant_features(data.X).sum())
    _, number, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    pairs = np.unique(np.column_stack([number.astype(np.uint64), label_sets]), axis=0)
    n_sets = np.bincount(pairs[:, 0].astype(np.intp), minlength=len(counts))
    contradicting = int(counts[n_sets > 1].sum())
    facts["constant features"] = constant
    facts["rows that repeat an earlier row's features"] = m - len(counts)
    facts["rows with the features but not the labels of another"] = contradicting
    facts["missing values"] = _missing_values(data.notes)
    if constant:
        warnings.append(f"{constant} of {d} features are constant")
    if m > len(counts):
        warnings.append(
            f"{m - len(counts)} of {m} rows repeat the features of an earlier row; "
            f"{contradicting} rows have the features but not the labels of another"
        )


def _describe_folds(data, hashes, folds, facts, warnings):
    if not folds:
        return
    untrained: dict[int, list[int]] = {}
    untested: dict[int, list[int]] = {}
    repeated = tested = 0
    for fold, (train, test) in enumerate(folds, 1):
        for missing, rows in ((untrained, train), (untested, test)):
            for label in np.flatnonzero(~data.Y[rows].any(axis=0)):
                missing.setdefault(int(label), []).append(fold)
        repeated += int(np.isin(hashes[test], hashes[train]).sum())
        tested += len(test)
    facts["labels missing from a training part"] = len(untrained)
    facts["labels missing from a test part"] = len(untested)
    facts["test rows with the features of a training row"] = repeated
    for missing, part in ((untrained, "training"), (untested, "test")):
        if missing:
            warnings.append(
                f"labels missing from a {part} part: {_with_folds(data, missing, len(folds))}"
            )
    if repeated:
        warnings.append(f"{repeated} of {tested} test rows have the features of a training row")


def _missing_values(notes):
    """How many values the reader had to fill in, as its note has it."""
    for note in notes:
        count = re.match(f"{MISSING}(\\d+)", note)
        if count:
            return int(count[1])
    return 0


def _constant_features(X):
    if sparse.issparse(X):
        low, high = (np.asarray(x.toarray()).ravel() for x in (X.min(axis=0), X.max(axis=0)))
        return low == high
    return X.min(axis=0) == X.max(axis=0)


def _count_nonzero(X):
    return X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)


def _named(data, chosen):
    return _shortened([data.label_names[j] for j in np.flatnonzero(chosen)])


def _with_folds(data, missing, n_folds):
    names = []
    for label, folds in missing.items():
        where = f" ({len(folds)} of {n_folds} folds)" if n_folds > 1 else ""
        names.append(data.label_names[label] + where)
    return _shortened(names)


def _shortened(names):
    more = f" and {len(names) - N_NAMED} more" if len(names) > N_NAMED else ""
    return ", ".join(names[:N_NAMED]) + more
