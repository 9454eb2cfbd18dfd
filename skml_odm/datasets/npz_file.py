"""NumPy's npz files with the keys X, Y and what else is known; y and classes of one-label data."""

import math
import zipfile

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from .files import MAX_GIGABYTES, DataFileError, check_file, check_size, file_error
from .parts import Numbered, Part

PARTS = ("data", "indices", "indptr", "shape")
# The third version is for records of fields with names, which are not numbers.
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_npz(paths, *, max_gigabytes=MAX_GIGABYTES):
    """Read npz files.

    Parameters
    ----------
    paths : list of Path
    max_gigabytes : float

    Returns
    -------
    list of Part
    """
    return [_read_part(path, max_gigabytes) for path in paths]


def _read_part(path, max_gigabytes):
    check_file(path)
    arrays = _arrays(path, max_gigabytes)
    _check_shapes(path, arrays, max_gigabytes)
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


def _arrays(path, max_gigabytes):
    """The arrays of a file by name."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            n_bytes = sum(member.file_size for member in members)
            check_size(path, "its content", n_bytes, max_gigabytes)
            return {
                member.filename.removesuffix(".npy"): _array(path, archive, member)
                for member in members
            }
    except DataFileError:
        raise
    except Exception:
        # damaged bytes make the libraries raise almost anything
        raise file_error(path, "is not a complete npz file of NumPy") from None


def _array(path, archive, member):
    """One array; its header is looked at first."""
    with archive.open(member) as stream:
        read_header = HEADERS[npy.read_magic(stream)]
        shape, _, dtype = read_header(stream)
        if dtype.hasobject:
            what = "holds Python objects, which may run code; arrays of numbers are expected"
            raise file_error(path, what)
        if math.prod(shape) * dtype.itemsize > member.file_size:
            raise file_error(path, "is not a complete npz file of NumPy")
    with archive.open(member) as stream:
        return npy.read_array(stream, allow_pickle=False)


def _check_shapes(path, arrays, max_gigabytes):
    """Raise if X or Y would be too large, whatever their entries are."""
    rows, columns = _shape(arrays, "X")
    is_dense = "X" in arrays
    # every learner has a number for each column at least, and sparse rows have their ends
    n_bytes = 8 * (rows * columns if is_dense else rows + columns)
    check_size(path, f"X of shape ({rows}, {columns})", n_bytes, max_gigabytes)
    for key in ("Y", "Y_partial"):
        rows, columns = _shape(arrays, key)
        check_size(path, f"{key} of shape ({rows}, {columns})", rows * columns, max_gigabytes)
    if "y" in arrays and "Y" not in arrays:
        n_classes = arrays["classes"].size if "classes" in arrays else len(np.unique(arrays["y"]))
        what = f"{arrays['y'].size} rows × {n_classes} classes"
        check_size(path, what, arrays["y"].size * n_classes, max_gigabytes)


def _shape(arrays, key):
    """Rows and columns of a matrix as the file has them; zeros where it is none."""
    shape = arrays[key].shape if key in arrays else arrays.get(f"{key}_shape", np.zeros(0)).tolist()
    try:
        rows, columns = (int(size) for size in shape)
    except (TypeError, ValueError, OverflowError):
        return 0, 0
    return max(rows, 0), max(columns, 0)


def _matrix(path, arrays, key):
    """A dense array or a CSR matrix of floats, or None."""
    try:
        if key in arrays:
            _check_numbers(arrays[key])
            matrix = np.asarray(arrays[key], dtype=np.float64)
        elif any(f"{key}_{part}" in arrays for part in PARTS):
            data, indices, indptr, shape = (arrays[f"{key}_{part}"] for part in PARTS)
            for part in (data, indices, indptr, shape):
                _check_numbers(part)
            matrix = sparse.csr_matrix((data, indices, indptr), shape=tuple(map(int, shape)))
            matrix.check_format(full_check=True)
            matrix = matrix.astype(np.float64)
            matrix.sum_duplicates()
        else:
            return None
    except KeyError as error:
        raise file_error(path, f"has no {error.args[0]}, a part of sparse {key}") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise file_error(path, f"{key} is not a matrix of numbers ({error})") from None
    if matrix.ndim != 2:
        raise file_error(path, f"{key} must have two dimensions; got shape {matrix.shape}")
    return matrix


def _check_numbers(array):
    """NumPy would turn dates, texts and complex numbers into some."""
    if array.dtype.kind not in "biuf":
        raise ValueError(f"it holds {array.dtype}")


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
        if classes.ndim != 1:
            what = f"classes must have one dimension; got shape {classes.shape}"
            raise file_error(path, what)
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
        return default if default is not None else Numbered(noun, n)
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
