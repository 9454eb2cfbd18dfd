"""Files in the svmlight or libsvm format with several labels per row, read by scikit-learn."""

import io
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file, load_svmlight_files

from .files import MAX_GIGABYTES, check_file, check_size, file_error
from .parts import Numbered, Part

EXPECTED = "label,label,… number:value number:value … with rising numbers is expected"


def read_svmlight(paths, *, max_gigabytes=MAX_GIGABYTES):
    """Read svmlight files; together they settle how many features and which labels there are.

    Parameters
    ----------
    paths : list of Path
    max_gigabytes : float

    Returns
    -------
    list of Part
    """
    for path in paths:
        check_file(path)
    try:
        loaded = load_svmlight_files([str(path) for path in paths], multilabel=True)
    except (ValueError, OverflowError) as error:
        raise _first_bad_line(paths, error) from None
    matrices, label_sets = loaded[::2], loaded[1::2]
    labels = sorted({label for sets in label_sets for row in sets for label in row})
    column = {label: j for j, label in enumerate(labels)}
    parts = []
    for path, X, sets in zip(paths, matrices, label_sets, strict=True):
        if X.shape[0] == 0:
            raise file_error(path, "has no rows")
        if not (np.isfinite(X.data).all() and np.isfinite(labels).all()):
            raise _first_bad_line([path], "value")
        # every learner has a number for each column at least
        check_size(path, f"{X.shape[1]} features", 8 * X.shape[1], max_gigabytes)
        check_size(
            path, f"{len(sets)} rows × {len(labels)} labels", len(sets) * len(labels), max_gigabytes
        )
        if not labels:
            raise file_error(path, f"has no labels; {EXPECTED}")
        Y = np.zeros((len(sets), len(labels)), dtype=bool)
        for i, row in enumerate(sets):
            Y[i, [column[label] for label in row]] = True
        names = tuple(f"{label:g}" for label in labels)
        X = sparse.csr_matrix(X, dtype=np.float64)
        parts.append(Part(path, X, Y, names, Numbered("feature", X.shape[1])))
    return parts


def _first_bad_line(paths, error):
    """The error of the first line that cannot be read alone."""
    for path in paths:
        for number, line in enumerate(Path(path).read_bytes().split(b"\n"), 1):
            try:
                X, sets = load_svmlight_file(io.BytesIO(line), multilabel=True)
                reason = None if np.isfinite(X.data).all() else "a value is not finite"
                if not np.isfinite(sum(sets, ())).all():
                    reason = "a label is not finite"
            except (ValueError, OverflowError) as failure:
                reason = str(failure)
            if reason is not None:
                return file_error(path, f"{reason}; {EXPECTED}", number)
    return file_error(paths[0], f"{error}; {EXPECTED}")
