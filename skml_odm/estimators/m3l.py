"""M3L: max-margin multi-label classification with a prior on label correlations."""

import numpy as np

from ..problems.covariance import LabelCovariance, check_covariance, label_correlations
from ..problems.rows import BinaryLoss
from ..solvers.acceptance import accepted
from ..solvers.turns import solve_rows
from ..utils.validation import check_choice
from .base import KernelLabelRanker


class M3L(KernelLabelRanker):
    """Max-margin multi-label classification with label covariances.

    One hinge loss per label, as in binary relevance with support vector machines, but the labels'
    models are tied by a covariance matrix R. With z_il = ±1 it minimises ::

        ½ tr(W R⁻¹ Wᵀ) + C Σ_i Σ_l (1 − z_il f_l(x_i))₊

    to a certified relative duality gap of ``tol``. A label is predicted where its score is
    positive.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against the regulariser; positive.
    covariance : "correlation", None or array-like, default="correlation"
        R: the correlations of the labels in the training rows, the identity (independent support
        vector machines), or a positive semidefinite matrix of shape (n_labels, n_labels).
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
        Whether labels have an intercept. It is regularised: the kernel is in effect K + 1.
    tol : float, default=1e-3
        Relative duality gap to reach.
    max_iter : int, default=10000
        Epochs and Newton steps at most; a ``ConvergenceWarning`` says when they do not suffice.
    random_state : int, RandomState instance or None, default=None
        Order in which rows are visited. None is a fixed order:
        two fits with the same arguments give the same model.
    verbose : int, default=0
        Print a line with the gap for each epoch and Newton round if positive.
    cache_size : float, default=2000.0
        Megabytes that the kernel matrix may take (8 m² bytes: 16 000 rows by default). A larger one
        is computed anew, a few rows at a time, whenever it is needed.

    Attributes
    ----------
    covariance_ : ndarray of shape (n_labels, n_labels)
        R.
    dual_coef_ : ndarray of shape (n_samples, n_labels)
        Coefficients of the training rows; scores are K(x, X) times them, plus the intercepts.
    intercept_ : ndarray of shape (n_labels,)
        Zero without intercept.
    coef_ : ndarray of shape (n_labels, n_features)
        Weights; only with ``kernel="linear"``.
    X_fit_ : ndarray or CSR matrix
        The training rows; not with a linear or precomputed kernel.
    objective_ : float
        Value of the objective.
    dual_gap_ : float
        Relative duality gap, computed from the final coefficients: the optimum is at least
        ``objective_ * (1 - dual_gap_)``.
    n_iter_ : int
        Epochs and Newton steps done.
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

    See Also
    --------
    CSRL : only the worst label on either side of a row costs something; learns covariances.

    References
    ----------
    B. Hariharan, L. Zelnik-Manor, S. V. N. Vishwanathan and M. Varma: Large scale max-margin
    multi-label classification with priors. ICML 2010, 423-430.

    Examples
    --------
    >>> from skml_odm import M3L
    >>> from skml_odm.datasets import load_digit_attributes
    >>> X, y = load_digit_attributes(return_X_y=True)
    >>> model = M3L(C=10.0, random_state=0).fit(X[:500], y[:500])
    >>> model.predict(X[500:502]).shape
    (2, 7)
    >>> bool(model.dual_gap_ <= 1e-3)
    True
    """

    needs_pairs = False
    threshold = "zero"

    def __init__(
        self,
        C=1.0,
        covariance="correlation",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        tol=1e-3,
        max_iter=10000,
        random_state=None,
        verbose=0,
        cache_size=2000.0,
    ):
        self.C = C
        self.covariance = covariance
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.cache_size = cache_size

    def _check_parameters(self):
        if isinstance(self.covariance, str):
            check_choice(
                "covariance", self.covariance, ("correlation",), or_else="None or a matrix"
            )

    def _solve(self, X, operator, indicator, sample_weight):
        n_labels = indicator.shape[1]
        given = self.covariance
        if isinstance(given, str):
            given = label_correlations(indicator, sample_weight)
        elif given is not None:
            given = check_covariance(given, (n_labels,))
        # C Σ loss + ½ tr(…) with the weights of the loss as upper bounds of the multipliers
        weight = np.full(len(indicator), float(self.C))
        if sample_weight is not None:
            weight *= sample_weight
        loss = BinaryLoss(indicator, 1.0, LabelCovariance(n_labels, False, given), weight)
        result = solve_rows(
            operator,
            self._sharing.begun(operator, loss),
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self._seed,
            verbose=self.verbose,
        )
        result = accepted(
            result, operator, loss.at_zero, tol=self.tol, covariance=loss.covariance_at_zero
        )
        self.covariance_ = result.covariance
        return result
