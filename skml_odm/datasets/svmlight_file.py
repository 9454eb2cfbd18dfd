"""Files in the svmlight or libsvm format with several labels per row, read by scikit-learn."""

import io
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file, load_svmlight_files

from .files import check_file, file_error
from .parts import Part, numbered

EXPECTED = "label,label,… number:value number:value … with rising numbers is expected"


def read_svmlight(paths):
    """Read svmlight files; together they settle how many features and which labels there are.

    Returns
    -------
    list of Part
    """
    for path in paths:
        check_file(path)
    try:
        loaded = load_svmlight_files([str(path) for path in paths], multilabel=True)
    except ValueError as error:
        raise _first_bad_line(paths, error) from None
    matrices, label_sets = loaded[::2], loaded[1::2]
    labels = sorted({label for sets in label_sets for row in sets for label in row})
    column = {label: j for j, label in enumerate(labels)}
    parts = []
    for path, X, sets in zip(paths, matrices, label_sets, strict=True):
        if X.shape[0] == 0:
            raise file_error(path, "has no rows")
        if not np.isfinite(X.data).all():
            raise _first_bad_line([path], "value")
        if not labels:
            raise file_error(path, f"has no labels; {EXPECTED}")
        Y = np.zeros((len(sets), len(labels)), dtype=bool)
        for i, row in enumerate(sets):
            Y[i, [column[label] for label in row]] = True
        names = tuple(f"{label:g}" for label in labels)
        X = sparse.csr_matrix(X, dtype=np.float64)
        parts.append(Part(path, X, Y, names, numbered("feature", X.shape[1])))
    return parts


def _first_bad_line(paths, error):
    """The error of the first line that cannot be read alone."""
    for path in paths:
        for number, line in enumerate(Path(path).read_bytes().split(b"\n"), 1):
            try:
                X, _ = load_svmlight_file(io.BytesIO(line), multilabel=True)
                reason = None if np.isfinite(X.data).all() else "a value is not finite"
            except ValueError as failure:
                reason = str(failure)
            if reason is not None:
                return file_error(path, f"{reason}; {EXPECTED}", number)
    return file_error(paths[0], f"{error}; {EXPECTED}")
