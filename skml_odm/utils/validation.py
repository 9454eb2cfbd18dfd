"""Checks of what users pass in; every message names the argument, the value and what is allowed."""

import numbers
import sys
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, validate_data

# as Python's float, which compares with whole numbers of any size
LARGEST = sys.float_info.max


def check_real(name, value, low, high=np.inf, *, open_low=False, open_high=False, integer=False):
    """Raise unless ``value`` is a finite number in [low, high], or without an open end of it."""
    kind: Any = numbers.Integral if integer else numbers.Real
    number = np.nan
    if isinstance(value, kind) and not isinstance(value, bool | np.bool_):
        # single precision does not compare with LARGEST, and a fraction may not fit a float
        number = float(value) if isinstance(value, np.floating) else value
    fits = (
        (low < number if open_low else low <= number)
        and number <= min(high, LARGEST)
        and not (open_high and number == high)
        and number > -np.inf
    )
    if not fits:
        if low == -np.inf and high == np.inf:
            raise ValueError(f"{name} must be a finite number; got {_shown(value)}.")
        noun = "an integer" if integer else "a number"
        left = "(" if open_low else "["
        right = "]" if np.isfinite(high) and not open_high else ")"
        raise ValueError(
            f"{name} must be {noun} in {left}{low:g}, {high:g}{right}; got {_shown(value)}."
        )


def _shown(value):
    """A value in a message; Python does not even print the longest integers."""
    if isinstance(value, int) and abs(value) > LARGEST:
        return f"an integer of {value.bit_length()} bits"
    return repr(value)


def check_choice(name, value, allowed, or_else=""):
    """Raise unless ``value`` is one of the allowed strings; the message may offer more."""
    if not (isinstance(value, str) and value in allowed):
        names = ", ".join(map(repr, allowed)) + (f", or {or_else}" if or_else else "")
        raise ValueError(f"{name} must be one of {names}; got {value!r}.")


def check_choice_or_number(name, value, allowed):
    """Raise unless ``value`` is one of the allowed strings or a finite number."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        check_real(name, value, -np.inf)
    else:
        check_choice(name, value, allowed, or_else="a number")


def check_bool(name, value):
    """Raise unless ``value`` is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}.")


def check_auto_or_bool(name, value):
    """Raise unless ``value`` is "auto", True or False."""
    if not (isinstance(value, bool | np.bool_) or (isinstance(value, str) and value == "auto")):
        raise ValueError(f"{name} must be 'auto', True or False; got {value!r}.")


def check_verbose(name, value):
    """Raise unless ``value`` can be the ``verbose`` of an estimator: a number, True or False."""
    check_real(name, int(value) if isinstance(value, bool | np.bool_) else value, 0)


def check_seed(name, value):
    """Raise unless ``value`` can be the ``random_state`` of an estimator."""
    if isinstance(value, numbers.Integral):
        # making a generator to find out would cost more than many a fit's iteration
        fits = 0 <= int(value) < 2**32
    else:
        fits = value is None or value is np.random or isinstance(value, np.random.RandomState)
    if not fits:
        raise ValueError(
            f"{name} must be an integer in [0, 2**32), a RandomState or None; got {value!r}."
        )


# checks of parameters: they take the name and the value
POSITIVE = partial(check_real, low=0, open_low=True)
NOT_NEGATIVE = partial(check_real, low=0)
SHARE = partial(check_real, low=0, high=1)
COUNT = partial(check_real, low=1, integer=True)


def one_of(*allowed, or_else=""):
    """The check of a parameter that is one of some strings; see ``check_choice``."""
    return partial(check_choice, allowed=allowed, or_else=or_else)


def check_parameters(estimator):
    """Raise unless all parameters pass the ``checks`` that the class of an estimator lists."""
    for name, check in estimator.checks.items():
        check(name, getattr(estimator, name))


def as_plain_array(values, name="X"):
    """Values in a container that scikit-learn takes for what it is.

    An ``np.matrix`` becomes an array: scikit-learn rejects it, and the host's users still pass it.
    So does a masked array that masks nothing; scikit-learn would use what is behind a mask.
    """
    rows = values if isinstance(values, list | tuple) else [values]
    if any(map(np.ma.is_masked, rows)):
        raise ValueError(
            f"{name} must not have masked values; got a masked array that has some. Fill them in, "
            "or leave the rows out."
        )
    return np.asarray(values) if isinstance(values, np.matrix | np.ma.MaskedArray) else values


def as_plain_labels(y):
    """Labels in a container that scikit-learn takes; those behind a mask become NaN."""
    if np.ma.is_masked(y) and y.ndim == 2:
        return np.ma.filled(y.astype(np.float64), np.nan)
    return as_plain_array(y, "y")


def as_plain_numbers(values, name="X"):
    """The same for numbers: NumPy would turn dates and times into some."""
    types = getattr(values, "dtypes", [getattr(values, "dtype", None)])
    for each in types if np.ndim(types) else [types]:
        if getattr(each, "kind", None) in ("m", "M"):
            raise ValueError(f"{name} must hold numbers; got dates or times ({each}).")
    return as_plain_array(values, name)


@contextmanager
def usual_errors(name):
    """Turn what Python and NumPy say of odd numbers into a ValueError that names the argument."""
    try:
        yield
    except OverflowError as error:
        raise ValueError(
            f"{name} must hold numbers within double precision; got a larger one."
        ) from error
    except TypeError as error:
        if "complex" not in str(error):
            raise
        raise ValueError(f"Complex data not supported: {name} must hold real numbers.") from error


def numbers_of_objects(y):
    """An array of objects that are all numbers, or missing, as an array of numbers.

    Missing ones (None, NaN, NA of pandas) become NaN. Any other array is returned as it is.
    """
    if getattr(getattr(y, "dtype", None), "kind", None) != "O" or sparse.issparse(y):
        return y
    plain = np.array(np.asarray(y).tolist())
    if plain.dtype.kind == "O":
        present = [np.nan if is_missing(value) else value for value in plain.flat]
        plain = np.array(present).reshape(plain.shape)
    return plain if plain.dtype.kind in "biuf" else y


def is_missing(value):
    """Whether a value is None, NaN, or NA of pandas, which equals nothing, not even itself."""
    equal = value == value
    return value is None or not (isinstance(equal, bool | np.bool_) and equal)


def validated_weights(sample_weight, X, *, per_cell=False):
    """One weight per row of X, not negative; None for None.

    With ``per_cell`` there may be one for every label of a row.
    """
    if sample_weight is None:
        return None
    weight = as_plain_numbers(sample_weight, "sample_weight")
    shape = np.asarray(weight).shape
    if len(shape) > 1 + per_cell:
        cells = " or per row and label" if per_cell else ""
        raise ValueError(f"sample_weight must have one entry per row{cells}; got shape {shape}.")
    options = {"dtype": np.float64, "ensure_non_negative": True}
    with usual_errors("sample_weight"):
        if len(shape) == 2:
            weight = check_array(weight, input_name="sample_weight", **options)
            check_consistent_length(X, weight)
        else:
            weight = _check_sample_weight(weight, X, **options)
    # newer releases of scikit-learn look for this themselves
    if not weight.any():
        raise ValueError("sample_weight must have an entry above zero; all are zero.")
    return weight


def canonical(matrix):
    """A sparse matrix with sorted indices and every entry stored once; the input is not changed."""
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def forget(estimator):
    """Drop what an earlier fit has left: one that fails must not leave half of a model."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
    for name in ("_kernel", "_known"):
        vars(estimator).pop(name, None)


def validated_rows(estimator, X, *, reset, **options):
    """Rows as ``validate_data`` of scikit-learn gives them, sparse ones in canonical form."""
    with usual_errors("X"):
        X = validate_data(estimator, as_plain_numbers(X), reset=reset, **options)
    return canonical(X) if sparse.issparse(X) else X


def column_names(y):
    """The names of a DataFrame's columns if all are strings, None otherwise."""
    names = list(getattr(y, "columns", ()))
    if not names or not all(isinstance(name, str) for name in names):
        return None
    return np.array(names, dtype=object)


def refuse_label_sets(y):
    """Raise if y lists the labels that each row has, where zeros and ones are wanted."""
    of_objects = getattr(y, "ndim", 0) == 1 and y.dtype == object
    if not (of_objects or isinstance(y, list | tuple)):
        return
    rows = [row for row in y if isinstance(row, list | tuple | set | frozenset | np.ndarray)]
    odd = [row for row in rows if isinstance(row, set | frozenset) or _has_words(row)]
    if odd or len({len(row) for row in rows}) > 1:
        raise ValueError(
            "y must be a matrix with a column of zeros and ones per label; got label sets, such as "
            f"{(odd or rows)[0]!r}. MultiLabelBinarizer of sklearn.preprocessing makes a matrix of "
            "them."
        )


def _has_words(row):
    return isinstance(row, list | tuple) and any(isinstance(value, str) for value in row)


class Target:
    """A validated target: the labels as booleans, and the container predictions go back into.

    Here, and nowhere else, NaN in y becomes what the package takes for unknown.

    Attributes
    ----------
    indicator : ndarray of shape (m, q), bool
        Which labels are relevant; unknown ones are not.
    known : ndarray of shape (m, q), bool, or None
        Which labels are known; None if all are.
    classes : ndarray
        Label numbers 0 … q−1 of a two-dimensional target, class values of a one-dimensional one.
    container : {"sparse", "dense", "column"}
        What ``predict`` returns: a CSR matrix, an array, or a one-dimensional array.
    label_names : ndarray of shape (q,) or None
        Names of the columns of a DataFrame if all are strings.
    """

    def __init__(self, y):
        if y is None:
            raise ValueError("fit requires y to be passed, but the target y is None.")
        self.label_names = column_names(y)
        if not (type(y) is np.ndarray and y.ndim == 2 and y.size and y.dtype.kind in "biu"):
            # which for plain arrays of whole numbers would take longer than a small fit's iteration
            refuse_label_sets(y)
            y = check_array(
                as_plain_labels(y),
                accept_sparse="csr",
                dtype=None,
                ensure_all_finite="allow-nan",
                ensure_2d=False,
                input_name="y",
            )
            y = numbers_of_objects(y)
        self.known = None
        if y.ndim == 1:
            self._from_column(y)
        else:
            self._from_matrix(y)

    def _from_column(self, y):
        refuse_missing(y, "Leave the rows out, or pass a matrix with a single column.")
        check_classification_targets(y)
        if type_of_target(y) == "multiclass":
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass. "
                "y must be a matrix with a column of zeros and ones per label, or one-dimensional "
                f"with at most two classes; got {len(np.unique(y))} classes."
            )
        self.classes, codes = np.unique(y, return_inverse=True)
        # of a single class, all rows are as relevant as its truth value says
        positive = codes == 1 if len(self.classes) == 2 else np.full(len(y), bool(self.classes[0]))
        self.indicator = positive[:, None]
        self.container = "column"

    def _from_matrix(self, y):
        self.container = "dense"
        if sparse.issparse(y):
            self.container = "sparse"
            y = canonical(y)
        values = y.data if sparse.issparse(y) else y
        if values.dtype.kind not in "biuf":
            odd = next((v for v in values.flat if not isinstance(v, numbers.Real)), values.dtype)
            raise ValueError(f"y must hold only 0 and 1; got {odd!r}.")
        odd = values[(values != 0) & (values != 1)]
        wrong = odd[~np.isnan(odd)]
        if wrong.size:
            raise ValueError(
                "y must hold only 0 and 1 (label absent, present), or NaN (unknown); got "
                f"{wrong[0]!r}."
            )
        y = y.toarray() if sparse.issparse(y) else y
        self.indicator = np.ascontiguousarray(y != 0)
        if odd.size:
            self.known = np.ascontiguousarray(~np.isnan(y))
            self.indicator &= self.known
        self.classes = np.arange(y.shape[1])

    @property
    def labels(self):
        """The labels as measures take them: booleans, or numbers with NaN for unknown ones."""
        return with_unknown(self.indicator, self.known)

    def layered(self, rows, known):
        """The target of layers of the rows; see :mod:`~skml_odm.utils.cell_weights`."""
        target = copy(self)
        target.indicator, target.known = self.indicator[rows] & known, known
        return target

    def __len__(self):
        return len(self.indicator)


def with_unknown(indicator, known):
    """Labels as measures take them: booleans, or numbers with NaN for unknown ones."""
    return indicator if known is None else np.where(known, indicator, np.nan)


def refuse_missing(y, remedy):
    """Raise if a one-dimensional y has missing values, and say what to do about them."""
    y = np.asarray(y)
    if y.ndim and y.dtype.kind in "fO" and any(map(is_missing, y.flat)):
        raise ValueError(f"Input y contains NaN: every row must have a class. {remedy}")


def weights_of_known(target, sample_weight):
    """Sample weights that are 0 where a row of the target has no known label; None for ones.

    Weights of cells are 0 where the label is unknown.
    """
    if sample_weight is not None and sample_weight.ndim == 2:
        return _cells_of_known(target, sample_weight)
    if target.known is None or target.known.any(axis=1).all():
        return sample_weight
    weight = target.known.any(axis=1) * (1.0 if sample_weight is None else sample_weight)
    if not weight.any():
        raise ValueError(
            "y must have a known label in a row of positive weight; all are unknown (NaN)."
        )
    return weight


def _cells_of_known(target, weights):
    shape = target.indicator.shape
    if weights.shape != shape:
        raise ValueError(
            f"sample_weight must have one entry per row or per cell of y, shape {shape[:1]} or "
            f"{shape}; got {weights.shape}."
        )
    if target.known is not None:
        weights = weights * target.known
    if not weights.any():
        raise ValueError("sample_weight must be above zero for a known label; it is not.")
    return weights


def known_rows(target):
    """Rows of a target that have a known label, as an index."""
    weight = weights_of_known(target, None)
    return slice(None) if weight is None else weight > 0.0


def some_rows(values, rows):
    """Some rows of an array; None for None."""
    return None if values is None else values[rows]


def decode(positive, classes, container):
    """Put predicted labels (n × q booleans) into the container of the training target."""
    if container == "sparse":
        return sparse.csr_matrix(positive.astype(np.int64))
    if container == "dense":
        return positive.astype(np.int64)
    if len(classes) == 1:
        return np.full(len(positive), classes[0])
    return classes[positive[:, 0].astype(np.intp)]


def as_probabilities(probabilities, classes, container):
    """Put probabilities of labels (n × q) into the container of the training target."""
    if container == "sparse":
        return sparse.csr_matrix(probabilities)
    if container == "dense":
        return probabilities
    if len(classes) == 1:
        return np.ones((len(probabilities), 1))
    return np.hstack([1.0 - probabilities, probabilities])
