"""Rank-LSVM: ranking margins under a squared hinge loss."""

from collections.abc import Collection
from typing import ClassVar

from ..solvers.acceptance import accepted
from .base import KernelLabelRanker


class RankLSVM(KernelLabelRanker):
    """Ranking support vector machine with a squared hinge loss.

    Learns one score per label so that, on every training row, relevant labels stand above
    irrelevant ones by a margin of 1. With γ = f_k(x_i) − f_l(x_i) for a relevant label k and an
    irrelevant label l of row i it minimises ::

        ½ Σ_k (‖w_k‖² + b_k²) + Σ_i C / (|Y_i||N_i|) Σ_kl ½ (1−γ)₊²

    to a certified relative duality gap of ``tol``. Scores become labels by a threshold.

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
        Whether labels have an intercept b_k. It is regularised: the kernel is in effect K + 1.
    threshold : {"regression", "per-label", "zero"} or float, default="regression"
        What to subtract from scores: a linear function of the row's scores fitted to the cuts of
        smallest Hamming loss, a number per label that misclassifies the fewest training rows, 0,
        or the number.
    solver : {"auto", "newton", "bcd"}, default="auto"
        "newton" is Newton's method in function space, "bcd" dual block coordinate descent with
        exact block steps; "auto" starts with "bcd" and lets it and "newton" take turns where that
        is slow. All have the same optimum.
    tol : float, default=1e-3
        Relative duality gap to reach.
    max_iter : int, default=2000
        Epochs ("bcd"), Newton steps ("newton") or both together ("auto") at most; a
        ``ConvergenceWarning`` says when they do not suffice.
    random_state : int, RandomState instance or None, default=None
        Order in which "auto", "bcd" and "m3" visit the rows. None is a fixed order:
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
        Iterations done.
    n_support_ : int
        Training rows with a coefficient other than zero.
    threshold_ : object
        The fitted threshold; call it with scores.
    classes_ : ndarray
        Label numbers, or the class values of a one-dimensional y.
    n_labels_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if X has string column names.

    See Also
    --------
    RankCVM : the same rankings, with the margin learned as well.
    MLODM : margins above 1 cost something, too; with ``theta=0, mu=0`` it is this estimator.

    Notes
    -----
    A row without a relevant or without an irrelevant label has no label pair: it takes no part in
    learning scores, but does in fitting thresholds. A single label competes with its complement,
    which gives the binary support vector machine with a squared hinge loss.

    References
    ----------
    J. Xu: Fast multi-label core vector machine. Pattern Recognition 46, 885-898, 2013.

    Examples
    --------
    >>> from skml_odm import RankLSVM
    >>> from skml_odm.datasets import load_digit_attributes
    >>> X, y = load_digit_attributes(return_X_y=True)
    >>> model = RankLSVM(C=10.0, random_state=0).fit(X[:500], y[:500])
    >>> model.predict(X[500:502]).shape
    (2, 7)
    >>> bool(model.dual_gap_ <= 1e-3)
    True
    """

    solvers: ClassVar[Collection[str]] = ("auto", "newton", "bcd")

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
        return self._minimise(operator, self._loss(indicator, sample_weight))

    def _loss(self, indicator, sample_weight):
        return self._sharing.loss(indicator, self.C, 0.0, 0.0, sample_weight)

    def _minimise(self, operator, loss):
        result = self._sharing.minimise(
            self.solver,
            operator,
            loss,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self._seed,
            verbose=self.verbose,
        )
        return accepted(result, operator, loss.at_zero, tol=self.tol)
