"""Rank-SVMz: the ranking support vector machine with a zero label (Xu 2012)."""

from functools import partial

import numpy as np
from sklearn.utils import check_random_state

from ..features.operators import ChunkedOperator, LinearOperator
from ..solvers.binary_svm import (
    LIBSVM_KERNELS,
    binary_svms,
    from_liblinear,
    from_libsvm,
    from_zero,
)
from ..utils.validation import one_of
from .base import KernelLabelRanker
from .shared_docs import estimator_docs


@estimator_docs()
class RankSVMz(KernelLabelRanker):
    """Ranking support vector machine with a zero label.

    Learns one score per label so that, on every training row, relevant labels stand at least 1
    above a zero label, whose score is 0, and irrelevant ones at least 1 below. With the relevant
    labels Y_i and the irrelevant labels N_i of row i it minimises ::

        ½ Σ_k ‖w_k‖² + C Σ_i ( Σ_{k∈Y_i} (1−f_k(x_i))₊ / |Y_i| + Σ_{l∈N_i} (1+f_l(x_i))₊ / |N_i| )

    to a certified relative duality gap of ``tol``. No two labels meet in a term, so this is one
    weighted binary support vector machine per label. A label is predicted where its score is
    positive.

    Parameters
    ----------
    {C}
    {kernel}
    fit_intercept : bool, default=...
        Whether labels have an intercept b_k. It is free, as in the paper; only solver "liblinear"
        (which "auto" takes for a linear kernel) adds ½ b_k² to the objective.
    {threshold}
    solver : {"auto", "libsvm", "liblinear"}, default=...
        What brings each label close to its optimum; coordinate steps in double precision finish
        the work. "libsvm" needs an intercept, "liblinear" a linear kernel. "auto" is "liblinear"
        for a linear kernel and "libsvm" for others; without an intercept, other kernels are left
        to the coordinate steps alone.
    {tol}
    max_iter : int, default=...
        Iterations per label at most, where a pass over the rows or as many coordinate steps as
        there are rows are one; a ``ConvergenceWarning`` says when they do not suffice.
    {last_parameters}

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples, n_labels)
        Signed coefficients A of the training rows; scores are K(x, X) A + b.
    intercept_ : ndarray of shape (n_labels,)
        b; zero without intercept.
    {coef_}
    {certificate}
    n_iter_ : int
        Iterations done, of the label that needed most.
    {n_support_}
    {threshold_}
    {labels}

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
    checks = KernelLabelRanker.checks | {"solver": one_of(*solvers)}
    needs_pairs = False
    takes_unknown = True

    def __init__(
        self,
        C=8.0,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        threshold="calibrated",
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
        self.threshold = threshold
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.cache_size = cache_size

    def _validate_params(self):
        super()._validate_params()
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

    def make_problem(self, prepared):
        return self.C * pair_weights(prepared.labels, prepared.sample_weight, prepared.known)

    def value_at_zero(self, prepared):
        return prepared.problem.sum()

    def minimise(self, prepared, *, random_state, **options):
        operator = prepared.operator
        is_linear = isinstance(operator, LinearOperator)
        by_libsvm = self.solver == "libsvm" or (
            self.solver == "auto" and not is_linear and self.fit_intercept
        )
        if by_libsvm:
            if isinstance(operator, ChunkedOperator) and self.kernel not in LIBSVM_KERNELS:
                raise self._no_room(prepared.rows)
            start = from_libsvm
        elif is_linear:
            start = partial(from_liblinear, random_state=check_random_state(random_state))
        else:
            start = from_zero
        return binary_svms(
            operator, prepared.labels, prepared.problem, start, balanced=by_libsvm, **options
        )


def pair_weights(indicator, sample_weight=None, known=None):
    """Weight of each label's comparison with the zero label: 1/|Y_i| or 1/|N_i| times the row's.

    Unknown labels have the weight 0.
    """
    n_relevant = indicator.sum(axis=1, keepdims=True)
    n_known = indicator.shape[1] if known is None else known.sum(axis=1, keepdims=True)
    weight = 1.0 / np.maximum(np.where(indicator, n_relevant, n_known - n_relevant), 1)
    if known is not None:
        weight *= known
    return weight if sample_weight is None else weight * sample_weight[:, None]
