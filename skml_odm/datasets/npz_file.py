"""NumPy's npz files with the keys X, Y and what else is known; y and classes of one-label data."""

import zipfile
import zlib

import numpy as np
from scipy import sparse

from .files import check_file, file_error
from .parts import Part, numbered

PARTS = ("data", "indices", "indptr", "shape")


def read_npz(paths):
    """Read npz files.

    Returns
    -------
    list of Part
    """
    return [_read_part(path) for path in paths]


def _read_part(path):
    check_file(path)
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = dict(file.items())
    except (ValueError, OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        if "pickle" in str(error) and zipfile.is_zipfile(path):
            what = "holds Python objects, which may run code; arrays of numbers are expected"
            raise file_error(path, what) from None
        raise file_error(path, "is not a complete npz file of NumPy") from None
    X = _matrix(path, arrays, "X")
    if X is None:
        raise file_error(path, f"has no X (nor X_data, …); it has {', '.join(arrays) or 'nothing'}")
    Y, label_names = _labels(path, arrays)
    m = X.shape[0]
    if m == 0 or 0 in (X.shape[1], Y.shape[1]):
        raise file_error(path, f"X of shape {X.shape} and Y of shape {Y.shape} leave nothing")
    if len(Y) != m:
        raise file_error(path, f"X has {m} rows but Y has {len(Y)}")
    wrong = ~np.isfinite(X.data if sparse.issparse(X) else X)
    if wrong.any():
        row, column, value = _first(X, wrong)
        what = f"X has {value} in row {row}, column {column}; finite numbers are expected"
        raise file_error(path, what)
    return Part(
        path=path,
        X=X,
        Y=Y,
        label_names=_names(path, arrays, "label_names", label_names, Y.shape[1], "label"),
        feature_names=_names(path, arrays, "feature_names", None, X.shape[1], "feature"),
        split=_split(path, arrays, m),
        candidates=_candidates(path, arrays, Y),
    )


def _matrix(path, arrays, key):
    """A dense array or a CSR matrix of floats, or None."""
    try:
        if key in arrays:
            matrix = np.asarray(arrays[key], dtype=np.float64)
        elif any(f"{key}_{part}" in arrays for part in PARTS):
            data, indices, indptr, shape = (arrays[f"{key}_{part}"] for part in PARTS)
            matrix = sparse.csr_matrix((data, indices, indptr), shape=tuple(map(int, shape)))
            matrix.check_format(full_check=True)
            matrix = matrix.astype(np.float64)
            matrix.sum_duplicates()
        else:
            return None
    except KeyError as error:
        raise file_error(path, f"has no {error.args[0]}, a part of sparse {key}") from None
    except (ValueError, TypeError) as error:
        raise file_error(path, f"{key} is not a matrix of numbers ({error})") from None
    if matrix.ndim != 2:
        raise file_error(path, f"{key} must have two dimensions; got shape {matrix.shape}")
    return matrix


def _labels(path, arrays):
    """Labels as booleans, and names if they are classes."""
    Y = _matrix(path, arrays, "Y")
    if Y is not None:
        return _booleans(path, Y, "Y"), None
    if "y" not in arrays:
        raise file_error(path, "has neither Y (nor Y_data, …) nor y")
    y = arrays["y"]
    if y.ndim != 1 or y.size == 0:
        raise file_error(path, f"y must have one dimension and values; got shape {y.shape}")
    if "classes" not in arrays:
        classes, codes = np.unique(y, return_inverse=True)
    else:
        classes, codes = arrays["classes"], y
        if codes.dtype.kind not in "iu" or codes.min() < 0 or codes.max() >= len(classes):
            raise file_error(path, f"y must hold the numbers 0 to {len(classes) - 1} of classes")
    return codes[:, None] == np.arange(len(classes)), tuple(map(str, classes))


def _booleans(path, matrix, key):
    values = matrix.data if sparse.issparse(matrix) else matrix
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        row, column, value = _first(matrix, wrong)
        what = f"{key} has {value:g} in row {row}, label {column}; 0 or 1 is expected"
        raise file_error(path, what)
    return matrix.astype(bool).toarray() if sparse.issparse(matrix) else matrix != 0


def _first(matrix, chosen):
    """Row, column and value of the first entry that is chosen, among those stored if sparse."""
    k = int(np.flatnonzero(chosen)[0])
    if sparse.issparse(matrix):
        row = int(np.searchsorted(matrix.indptr, k, side="right")) - 1
        return row, int(matrix.indices[k]), matrix.data[k]
    row, column = divmod(k, matrix.shape[1])
    return row, column, matrix[row, column]


def _names(path, arrays, key, default, n, noun):
    if key not in arrays:
        return default if default is not None else numbered(noun, n)
    if arrays[key].shape != (n,):
        raise file_error(path, f"{key} must have {n} names; got shape {arrays[key].shape}")
    return tuple(map(str, arrays[key]))


def _split(path, arrays, m):
    keys = [key for key in ("train_idx", "test_idx") if key in arrays]
    if not keys:
        return None
    if len(keys) == 1:
        raise file_error(path, f"has {keys[0]} alone; train_idx and test_idx are expected")
    train, test = (arrays[key] for key in keys)
    for key, rows in zip(keys, (train, test), strict=True):
        fits = rows.ndim == 1 and rows.dtype.kind in "iu" and rows.size > 0
        if not fits or rows.min() < 0 or rows.max() >= m:
            raise file_error(path, f"{key} must hold row numbers from 0 to {m - 1}")
    both = np.intersect1d(train, test)
    if len(both):
        raise file_error(path, f"row {both[0]} is in train_idx and in test_idx")
    return train.astype(np.intp), test.astype(np.intp)


def _candidates(path, arrays, Y):
    Z = _matrix(path, arrays, "Y_partial")
    if Z is None:
        return None
    if Z.shape != Y.shape:
        raise file_error(path, f"Y_partial has shape {Z.shape} but Y {Y.shape}")
    return _booleans(path, Z, "Y_partial")
