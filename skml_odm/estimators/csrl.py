"""CSRL and CSRL+R: calibrated separation ranking (paper 002)."""

import warnings

import numpy as np

from ..problems.covariance import LabelCovariance, LearnedCovariance, check_covariance
from ..problems.rows import SeparationLoss
from ..solvers.acceptance import accepted
from ..solvers.turns import solve_rows
from ..utils.validation import check_choice, check_real
from .base import KernelLabelRanker

# A decision value within TIED of zero tells little, where the loss asks for 1. At beta from 0.01 to
# 10, with either kernel, up to 42 % are on emotions, scene, yeast, birds and genbase; it is 72 % on
# medical where beta = 10 predicts 5.6 labels per row instead of 1.2, and 90 % on delicious.
TIED = 0.01
MOSTLY = 0.5


class CSRL(KernelLabelRanker):
    """Calibrated separation ranking, with label covariances if wanted.

    Learns a score s_l for every label and one more, s_0, for a dummy label, so that on every
    training row the lowest relevant label stands above the dummy by a margin of 1 and the highest
    irrelevant label below it by as much. It minimises ::

        ½β (Σ_l ‖w_l‖² + ‖w_0‖²)
            + Σ_i ( max_{k∈Y_i} (1 + s_0 − s_k)₊ + max_{l∈N_i} (1 + s_l − s_0)₊ )     at x_i

    to a certified relative duality gap of ``tol``. A label is predicted where its score is above
    the dummy's: no threshold is fitted. Only the worst label on either side of a row costs
    something, which favours label sets that are right as a whole.

    With ``covariance="learn"`` (CSRL+R) the regulariser becomes ½β tr(W R⁻¹ Wᵀ) + ½α ‖R − I‖² with
    a positive definite matrix R over the labels and the dummy, learned together with W.

    Parameters
    ----------
    beta : float, default=1.0
        Weight of the regulariser against the loss; positive.
    covariance : None, "learn" or array-like, default=None
        Covariance R of the label models: the identity, learned, or given as a positive
        semidefinite matrix of shape (n_labels + 1, n_labels + 1), the dummy last. A matrix of
        shape (n_labels, n_labels) leaves the dummy alone (1 on the diagonal, 0 beside it).
    alpha : float, default=10.0
        What keeps a learned covariance close to the identity; positive.
    dummy : {"adaptive", "zero"}, default="adaptive"
        Whether the dummy's score is learned or 0 everywhere. Without a dummy to learn, R has a
        row per label only.
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
    fit_intercept : bool, default=False
        Whether labels have an intercept. It is regularised: the kernel is in effect K + 1. The
        paper has none.
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
    covariance_ : ndarray
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
        ``objective_ * (1 - dual_gap_)``. For a learned
        covariance this is the gap of the saddle point problem over R and the coefficients.
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
    RankSVMz : averages over the labels on either side of a zero label instead of the worst.
    M3L : every label for itself, with covariances.

    Notes
    -----
    A row without relevant or without irrelevant labels takes part in learning with the side it
    has. A single label is a binary support vector machine.

    References
    ----------
    Y. Guo and D. Schuurmans: Adaptive large margin training for multilabel classification.
    AAAI 2011, 374-379.

    Examples
    --------
    >>> from skml_odm import CSRL
    >>> from skml_odm.datasets import load_digit_attributes
    >>> X, y = load_digit_attributes(return_X_y=True)
    >>> model = CSRL(beta=0.1, covariance="learn", random_state=0).fit(X[:500], y[:500])
    >>> model.predict(X[500:502]).shape
    (2, 7)
    >>> bool(model.dual_gap_ <= 1e-3)
    True
    """

    needs_pairs = False
    threshold = "zero"
    trade_off = "beta"
    ease = "raise beta"

    def __init__(
        self,
        beta=1.0,
        covariance=None,
        alpha=10.0,
        dummy="adaptive",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=False,
        tol=1e-3,
        max_iter=10000,
        random_state=None,
        verbose=0,
        cache_size=2000.0,
    ):
        self.beta = beta
        self.covariance = covariance
        self.alpha = alpha
        self.dummy = dummy
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
        check_real("alpha", self.alpha, 0, open_low=True)
        check_choice("dummy", self.dummy, ("adaptive", "zero"))
        if isinstance(self.covariance, str):
            check_choice("covariance", self.covariance, ("learn",), or_else="None or a matrix")

    def _solve(self, X, operator, indicator, sample_weight):
        covariance = self._covariance(indicator.shape[1])
        loss = SeparationLoss(indicator, self.beta, covariance, sample_weight)
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
        self._warn_if_tied(result.scores)
        return result

    def _warn_if_tied(self, decision):
        """Say so where the loss has told few labels from the dummy label.

        It only looks at the worst label on either side, so the others may stay where they are.
        """
        tied = np.mean(np.abs(decision) <= TIED) if decision.size else 0.0
        if tied > MOSTLY:
            warnings.warn(
                f"CSRL hardly tells labels from the dummy label: {tied:.0%} of the training rows' "
                f"decision values are within {TIED} of zero, where the loss asks for 1. Expect "
                f"many wrong labels. Lower beta={self.beta!r}, try another value of "
                f"dummy={self.dummy!r}, or use RankSVMz or MLODM.",
                UserWarning,
                stacklevel=4,
            )

    def _covariance(self, n_labels):
        dummy = self.dummy == "adaptive"
        if self.covariance is None:
            return LabelCovariance(n_labels, dummy)
        if isinstance(self.covariance, str):
            return LearnedCovariance(n_labels, dummy, self.alpha, self.beta)
        sizes = (n_labels + 1, n_labels) if dummy else (n_labels,)
        given = check_covariance(self.covariance, sizes)
        if dummy and len(given) == n_labels:
            given = np.pad(given, (0, 1))
            given[-1, -1] = 1.0
        return LabelCovariance(n_labels, dummy, given)
