"""Rank-SVM: the multi-label ranking support vector machine (paper 003, Section 5)."""

from typing import Any

from ..problems.hinge import HingeLoss, PairMultipliers
from ..solvers.acceptance import accepted
from ..solvers.turns import HINGE_SOLVERS, RANDOMISED
from .base import KernelLabelRanker


class RankSVM(KernelLabelRanker):
    """Multi-label ranking support vector machine.

    Learns one score per label so that, on every training row, relevant labels stand above
    irrelevant ones by a margin of at least 1. With γ = f_k(x_i) − f_l(x_i) for a relevant label k
    and an irrelevant label l of row i it minimises ::

        ½ Σ_k ‖w_k‖² + Σ_i C / (|Y_i||N_i|) Σ_kl (1−γ)₊

    over weights w and unregularised biases b, to a certified relative duality gap of ``tol``.
    Scores become labels by a threshold.

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
        Whether labels have a bias b_k. It is not regularised, which gives the dual problem one
        balance equation per label.
    threshold : {"regression", "per-label", "zero"} or float, default="regression"
        What to subtract from scores: a linear function of the row's scores fitted to the cuts of
        smallest Hamming loss, a number per label that misclassifies the fewest training rows, 0,
        or the number.
    solver : {"auto", "multipliers", "newton", "frank-wolfe"}, default="auto"
        "multipliers" is the method of multipliers with coordinate steps over label pairs, "newton"
        the proximal point method with Newton's method inside, "frank-wolfe" the paper's method
        with a linear program per iteration; "auto" starts with "multipliers" and goes on with
        "newton" where that would take long. All have the same optimum.
    tol : float, default=1e-3
        Relative duality gap to reach.
    max_iter : int, default=2000
        Epochs ("multipliers"), Newton steps ("newton"), both together ("auto") or iterations
        ("frank-wolfe") at most; a ``ConvergenceWarning`` says when they do not suffice.
    random_state : int, RandomState instance or None, default=None
        Order in which "auto" and "multipliers" visit the rows. None is a fixed order:
        two fits with the same arguments give the same model.
    verbose : int, default=0
        Print a line with the gap for each iteration if positive.
    cache_size : float, default=2000.0
        Megabytes that the kernel matrix may take (8 m² bytes: 16 000 rows by default). A larger one
        is computed anew, a few rows at a time, whenever it is needed.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples, n_labels)
        Coefficients A of the training rows; scores are K(x, X) A + b.
    intercept_ : ndarray of shape (n_labels,)
        b, with mean zero: only differences of biases matter. Zero without intercept.
    coef_ : ndarray of shape (n_labels, n_features)
        Weights w; only with ``kernel="linear"``.
    X_fit_ : ndarray or CSR matrix
        The training rows; not with a linear or precomputed kernel.
    objective_ : float
        Value of the objective.
    dual_gap_ : float
        Relative duality gap, computed from the final coefficients: the optimum is at least
        ``objective_ * (1 - dual_gap_)``.
    lp_solver_ : {"network", "highs", "none"}
        What found the biases, a minimum-cost circulation among the labels: the compiled network
        solver, HiGHS where that one could not prove its result, or nothing without intercept.
    n_iter_ : int
        Iterations done.
    n_support_ : int
        Training rows with a coefficient other than zero; Newton steps may leave some of the size of
        rounding.
    threshold_ : object
        The fitted threshold; call it with scores.
    classes_ : ndarray
        Label numbers, or the class values of a one-dimensional y.
    n_labels_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if X has string column names.

    Notes
    -----
    A row without a relevant or without an irrelevant label has no label pair: it takes no part in
    learning scores, but does in fitting thresholds. A single label has no pair either; its
    complement then takes the place of the second label, which gives a binary support vector
    machine.

    References
    ----------
    A. Elisseeff, J. Weston: A kernel method for multi-labelled classification. NIPS 14, 2001.

    J. Xu: Fast multi-label core vector machine. Pattern Recognition 46, 885-898, 2013.

    Examples
    --------
    >>> from skml_odm import RankSVM
    >>> from skml_odm.datasets import load_digit_attributes
    >>> X, y = load_digit_attributes(return_X_y=True)
    >>> model = RankSVM(C=10.0, random_state=0).fit(X[:500], y[:500])
    >>> model.predict(X[500:502]).shape
    (2, 7)
    >>> bool(model.dual_gap_ <= 1e-3)
    True
    """

    solvers = HINGE_SOLVERS

    def __init__(
        self,
        C=1.0,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        threshold="regression",
        solver="auto",
        tol=1e-3,
        max_iter=2000,
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

    def _solve(self, X, operator, indicator, sample_weight):
        loss = HingeLoss(indicator, self.C, sample_weight)
        options: dict[str, Any] = {"random_state": self._seed} if self.solver in RANDOMISED else {}
        if self.solver == "auto":
            state = PairMultipliers(loss, operator.intercept > 0.0)
            options["state"] = self._sharing.begun(operator, state)
        result = HINGE_SOLVERS[self.solver](
            operator,
            loss,
            tol=self.tol,
            max_iter=self.max_iter,
            verbose=self.verbose,
            **options,
        )
        self.lp_solver_ = result.lp_solver
        return accepted(result, operator, loss.at_zero, tol=self.tol)
