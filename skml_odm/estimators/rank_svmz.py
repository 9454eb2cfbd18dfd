"""Rank-SVMz: the ranking support vector machine with a zero label (Xu 2012)."""

from functools import partial

import numpy as np
from sklearn.utils import check_random_state

from ..features.operators import ChunkedOperator, LinearOperator
from ..solvers.acceptance import accepted
from ..solvers.binary_svm import (
    LIBSVM_KERNELS,
    binary_svms,
    from_liblinear,
    from_libsvm,
    from_zero,
)
from .base import KernelLabelRanker


class RankSVMz(KernelLabelRanker):
    """Ranking support vector machine with a zero label.

    Learns one score per label so that, on every training row, relevant labels stand at least 1
    above a zero label, whose score is 0, and irrelevant ones at least 1 below. With the relevant
    labels Y_i and the irrelevant labels N_i of row i it minimises ::

        ½ Σ_k ‖w_k‖² + C Σ_i ( Σ_{k∈Y_i} (1−f_k(x_i))₊ / |Y_i| + Σ_{l∈N_i} (1+f_l(x_i))₊ / |N_i| )

    to a certified relative duality gap of ``tol``. No two labels meet in a term, so this is one
    weighted binary support vector machine per label. A label is predicted where its score is
    positive; there is no threshold to fit.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against the regulariser; positive.
    kernel : str or callable, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "cosine", "laplacian", "precomputed", or a function of
        two matrices that returns the kernel values between their rows. A matrix that is not
        positive semidefinite is replaced by its positive part, with a warning.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly", "sigmoid" and "laplacian": 1 / (n_features · X.var()),
        1 / n_features, or the number.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant term of "poly" and "sigmoid".
    fit_intercept : bool, default=True
        Whether labels have an intercept b_k. It is free, as in the paper; only solver "liblinear"
        (which "auto" takes for a linear kernel) adds ½ b_k² to the objective.
    solver : {"auto", "libsvm", "liblinear"}, default="auto"
        What brings each label close to its optimum; coordinate steps in double precision finish
        the work. "libsvm" needs an intercept, "liblinear" a linear kernel. "auto" is "liblinear"
        for a linear kernel and "libsvm" for others; without an intercept, other kernels are left
        to the coordinate steps alone.
    tol : float, default=1e-3
        Relative duality gap to reach.
    max_iter : int, default=10000
        Iterations per label at most, where a pass over the rows or as many coordinate steps as
        there are rows are one; a ``ConvergenceWarning`` says when they do not suffice.
    random_state : int, RandomState instance or None, default=None
        Order in which "liblinear" visits the rows. None is a fixed order:
        two fits with the same arguments give the same model.
    verbose : int, default=0
        Print a line with the gap for each label if positive.
    cache_size : float, default=2000.0
        Megabytes that the kernel matrix may take (8 m² bytes: 16 000 rows by default). A larger one
        is computed anew, a few rows at a time, whenever it is needed.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples, n_labels)
        Signed coefficients A of the training rows; scores are K(x, X) A + b.
    intercept_ : ndarray of shape (n_labels,)
        b; zero without intercept.
    coef_ : ndarray of shape (n_labels, n_features)
        Weights w; only with ``kernel="linear"``.
    X_fit_ : ndarray or CSR matrix
        The training rows; not with a linear or precomputed kernel.
    objective_ : float
        Value of the objective.
    dual_gap_ : float
        Relative duality gap, computed from the final coefficients: the optimum is at least
        ``objective_ * (1 - dual_gap_)``.
    n_iter_ : int
        Iterations done, of the label that needed most.
    n_support_ : int
        Training rows with a coefficient other than zero.
    threshold_ : object
        The threshold zero.
    classes_ : ndarray
        Label numbers, or the class values of a one-dimensional y.
    n_labels_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if X has string column names.

    Notes
    -----
    A row without relevant or without irrelevant labels takes part in learning: the zero label is
    always there to compare with. A label that all rows have, or none, gets the constant score 1 or
    −1 if the intercept is free. A single label is a binary support vector machine.

    References
    ----------
    J. Xu: An efficient multi-label support vector machine with a zero label. Expert Systems with
    Applications 39(5), 4796-4804, 2012.

    Examples
    --------
    >>> from skml_odm import RankSVMz
    >>> from skml_odm.datasets import load_digit_attributes
    >>> X, y = load_digit_attributes(return_X_y=True)
    >>> model = RankSVMz(C=10.0).fit(X[:500], y[:500])
    >>> model.predict(X[500:502]).shape
    (2, 7)
    >>> bool(model.dual_gap_ <= 1e-3)
    True
    """

    solvers = ("auto", "libsvm", "liblinear")
    needs_pairs = False
    threshold = "zero"

    def __init__(
        self,
        C=1.0,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        solver="auto",
        tol=1e-3,
        max_iter=10000,
        random_state=None,
        verbose=0,
        cache_size=2000.0,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.cache_size = cache_size

    def _check_parameters(self):
        is_linear = isinstance(self.kernel, str) and self.kernel == "linear"
        if self.solver == "liblinear" and not is_linear:
            raise ValueError(
                f"solver='liblinear' needs kernel='linear'; got kernel={self.kernel!r}. "
                f"Use solver='auto' or 'libsvm'."
            )
        if self.solver == "libsvm" and not self.fit_intercept:
            raise ValueError(
                "solver='libsvm' needs fit_intercept=True, for LIBSVM always has an intercept. "
                "Use solver='auto' for a model without."
            )

    def _solve(self, X, operator, indicator, sample_weight):
        is_linear = isinstance(operator, LinearOperator)
        by_libsvm = self.solver == "libsvm" or (
            self.solver == "auto" and not is_linear and self.fit_intercept
        )
        if by_libsvm:
            if isinstance(operator, ChunkedOperator) and self.kernel not in LIBSVM_KERNELS:
                raise self._no_room(len(indicator))
            start = from_libsvm
        elif is_linear:
            start = partial(from_liblinear, random_state=check_random_state(self._seed))
        else:
            start = from_zero
        cost = self.C * pair_weights(indicator, sample_weight)
        result = binary_svms(
            operator,
            indicator,
            cost,
            start,
            balanced=by_libsvm,
            tol=self.tol,
            max_iter=self.max_iter,
            verbose=self.verbose,
        )
        return accepted(result, operator, cost.sum(), tol=self.tol)


def pair_weights(indicator, sample_weight=None):
    """Weight of each label's comparison with the zero label: 1/|Y_i| or 1/|N_i| times the row's."""
    n_relevant = indicator.sum(axis=1, keepdims=True)
    n_others = indicator.shape[1] - n_relevant
    weight = 1.0 / np.where(indicator, n_relevant, n_others)
    return weight if sample_weight is None else weight * sample_weight[:, None]
