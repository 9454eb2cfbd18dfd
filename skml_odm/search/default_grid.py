"""A grid, a scorer and folds for users who give none.

Few candidates, around the scale of the data. The factors were chosen by cross-validation on one
half of the data sets and confirmed on the other: ``python -m benchmarks default_grid``, tables in
docs/parameter_search.md.
"""

from inspect import signature

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array

from ..estimators.base import LabelRanker, PairLossRanker, RowLossRanker
from ..estimators.classifier import KernelClassifier
from ..estimators.csrl import CSRL
from ..estimators.kernel_model import KernelModel
from ..features.kernels import PARAMETERS, make_kernel
from ..metrics import ranking_loss_scorer
from ..utils.validation import Target, as_plain_numbers
from .candidates import model_of

# weights of the loss where kernel values are about 1; CSRL and M3L, which are slow with large ones,
# leave out the last
WEIGHTS = (1.0, 4.0, 16.0, 64.0)
# multiples of the estimator's gamma
GAMMAS = (0.125, 0.5, 2.0)
# of MLODM: a one-sided loss, and the default
MUS = (0.0, 0.7)

# Text has many columns, and a small share of its entries is not zero.
MANY_COLUMNS = 100
FEW_ENTRIES = 0.1


def default_grid(estimator, X, y=None, sample_weight=None):
    """A grid of 24 candidates at most, for estimators of this package with a kernel.

    ``kernel``
        The user's, if it is not the default. Otherwise "linear" for sparse rows of many columns,
        such as text, and for more rows than a kernel matrix has room for; "rbf" for all others.
    ``C``, or ``beta`` of ``CSRL``
        Three or four weights of the loss, relative to the size of the kernel values.
    ``gamma``
        Three multiples of the estimator's, if the kernel has one. The default, ``"scale"``, is
        computed from all rows.
    ``mu``
        Two values, for ``MLODM``.

    Parameters
    ----------
    estimator : estimator
        One with a kernel, or a ``Pipeline`` that ends with one; its other steps are fitted once.
    X, y
        What the search will be fitted to.
    sample_weight : array-like of shape (n_samples,) or (n_samples, n_labels), optional

    Returns
    -------
    dict
        Lists of values by parameter name.
    """
    model, prefix = model_of(estimator)
    if not isinstance(model, KernelModel):
        raise ValueError(
            "param_grid must be given, except for estimators of skml_odm with a kernel; got "
            f"param_grid=None for {type(model).__name__}."
        )
    if prefix and len(estimator.steps) > 1:
        X = clone(estimator[:-1]).fit_transform(X, y)
    X = check_array(as_plain_numbers(X), accept_sparse="csr", dtype=np.float64)
    if np.ndim(sample_weight) == 2:
        # the weight of all layers of a row together
        sample_weight = np.max(sample_weight, axis=1)
    grid, size = _kernel_grid(model, X, sample_weight)
    if isinstance(model, KernelClassifier):
        # its loss is a mean over rows
        size /= X.shape[0]
    weights = WEIGHTS[:-1] if isinstance(model, RowLossRanker) else WEIGHTS
    if model.trade_off == "C":
        grid["C"] = [_rounded(weight / size) for weight in weights]
    else:
        # of the regulariser against the loss
        grid[model.trade_off] = [_rounded(size / weight) for weight in weights]
    if isinstance(model, PairLossRanker) and "mu" in model.get_params():
        grid["mu"] = list(MUS)
    return {f"{prefix}{name}": values for name, values in grid.items()}


def _kernel_grid(model, X, sample_weight):
    """The kernel and its parameters, and the size of its values."""
    kernel = model.kernel
    grid: dict[str, list] = {}
    if kernel == signature(type(model)).parameters["kernel"].default:
        kernel = "linear" if _is_like_text(X) or not model.has_room(X) else "rbf"
        grid["kernel"] = [kernel]
    size = 1.0
    if kernel == "precomputed":
        size = np.abs(X.diagonal()).mean() or 1.0
    elif kernel == "linear":
        size = 1.0 / _gamma("scale", X, sample_weight)
    elif isinstance(kernel, str) and "gamma" in PARAMETERS.get(kernel, ()):
        gamma = _gamma(model.gamma, X, sample_weight)
        grid["gamma"] = [_rounded(factor * gamma) for factor in GAMMAS]
    return grid, size


def default_scorer(estimator, y):
    """Ranking loss for multi-label estimators; None for those that have another measure.

    These are classifiers, a single label, which has no ranking, and ``CSRL``, which does not rank
    the labels on one side of its dummy.
    """
    model, _ = model_of(estimator)
    if not isinstance(model, LabelRanker) or isinstance(model, CSRL):
        return None
    return ranking_loss_scorer if Target(y).indicator.shape[1] > 1 else None


def shuffled(splitter, random_state):
    """Folds of the same kind and number, shuffled: rows of many data files are in order."""
    seed = 0 if random_state is None else random_state
    return type(splitter)(splitter.n_splits, shuffle=True, random_state=seed)


def _is_like_text(X):
    if X.shape[1] < MANY_COLUMNS:
        return False
    n_entries = X.count_nonzero() if hasattr(X, "count_nonzero") else np.count_nonzero(X)
    return n_entries <= FEW_ENTRIES * X.shape[0] * X.shape[1]


def _gamma(gamma, X, sample_weight):
    """γ as a number, as a fit to all rows would have it."""
    return make_kernel("rbf", gamma, 1, 0.0, X, sample_weight).gamma


def _rounded(value):
    """Two digits, so that parameters can be read."""
    return float(f"{value:.2g}")
