"""PML-ODM: optimal margin distribution learning from candidate labels (paper 001)."""

import numpy as np
from sklearn.utils import check_array, check_random_state

from ..decisions.thresholds import make_threshold
from ..utils.validation import as_plain_numbers, check_choice, check_real, usual_errors
from .base import KernelLabelRanker
from .candidates import Neighbourhood, Prototypes, largest_is_one
from .disambiguation import Training, alternate, cross_fit, equal_weights

# Folds of cross-fitting.
N_FOLDS = 5

# A candidate with at least this confidence counts as a label when thresholds are fitted.
CREDIBLE = 0.5


class PMLODM(KernelLabelRanker):
    """Partial multi-label optimal margin distribution machine.

    Learns from *candidate* labels: some of the labels of a training row are wrong, and it is not
    known which; labels that are no candidates are certainly irrelevant. Candidates get confidences
    p_ik from 0 to 1. With γ = f_k(x_i) − f_l(x_i) the model minimises ::

        ½ Σ_k (‖w_k‖² + b_k²) + Σ_i c_i Σ_kl p_ikl (½ (1−θ−γ)₊² + ½ μ (γ−1−θ)₊²)

    to a certified relative duality gap of ``tol``. By default the pairs are those of a candidate k
    and a label l that is none, p_ikl = p_ik; in the paper's method, and with given confidences,
    they are all pairs with p_ikl = p_ik − p_il > 0. How confidences are found is a choice.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against the regulariser; positive. The weighted pairs of every row
        count C together; with ``confidence="paper"`` it is the paper's λ1, ``c_i = C / (m |Z_i|)``.
    confidence : {"cross-fitted", "neighbours", "paper"}, default="cross-fitted"
        "cross-fitted": 1 for the candidate with the row's highest score, falling to ¼ at a margin
        of 1 below it, by models that have not seen the row. "neighbours": the votes of a row and
        its nearest neighbours (Eq. 6), largest one 1. "paper": confidences and model in turns,
        the paper's Algorithm 1.
    prototype_weight : float, default=0.1
        λ2 of the paper as a multiple of C / m; only for ``confidence="paper"``.
    prototype : {"adaptive", "fixed"}, default="adaptive"
        Whether prototypes follow the model's predictions or stay the means of all rows with a
        candidate label; only for ``confidence="paper"``.
    confidence_solver : {"cut", "linprog"}, default="cut"
        Exact cuts, or HiGHS for every row; only for ``confidence="paper"``.
    max_outer_iter : int, default=10
        Turns of the paper's method at most.
    n_neighbors : int, default=10
        Nearest neighbours that vote; not for ``confidence="cross-fitted"``.
    theta : float, default=0.0
        Half-width θ of the interval of margins that cost nothing, in [0, 1].
    mu : float, default=0.7
        Weight μ of margins above the interval, in [0, 1].
    kernel : str or callable, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "cosine", "laplacian", "precomputed", or a function of
        two matrices that returns the kernel values between their rows.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly", "sigmoid" and "laplacian".
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant term of "poly" and "sigmoid".
    fit_intercept : bool, default=True
        Whether labels have a regularised intercept b_k. The paper's model has none.
    threshold : {"regression", "per-label", "zero"} or float, default="per-label"
        What to subtract from scores; fitted to the candidates with a confidence of at least 0.5,
        with ``confidence="paper"`` to all candidates.
    tol : float, default=1e-3
        Relative duality gap to reach, given the confidences.
    max_iter : int, default=2000
        Newton steps at most.
    random_state : int, RandomState instance or None, default=None
        Which rows are left out together by ``confidence="cross-fitted"``. None is a
        fixed choice: two fits with the same arguments give the same model.
    verbose : int, default=0
        Print a line with the gap for each iteration if positive.
    cache_size : float, default=2000.0
        Megabytes that the kernel matrix may take (8 m² bytes: 16 000 rows by default). A larger one
        is computed anew, a few rows at a time, whenever it is needed.

    Attributes
    ----------
    confidences_ : ndarray of shape (n_samples, n_labels)
        P; zero for labels that are no candidates. Every row with a candidate sums to at least 1,
        unless given confidences say otherwise.
    prototypes_ : ndarray of shape (n_labels, n_features)
        Of every label, the mean of the training rows weighted by confidence; with
        ``confidence="paper"`` those of the method. With a precomputed kernel they are known by
        their weights only, (n_labels, n_samples).
    objective_history_ : list of float
        The paper's objective (Eq. 7) after each turn; empty for other confidences.
    n_outer_iter_ : int
        Turns of the paper's method; 1 for other confidences.
    confidence_solver_ : str
        What solved the confidence steps: "cut", "linprog", "cut+linprog" where cuts failed for
        some rows in some turn, or "none".
    dual_coef_ : ndarray of shape (n_samples, n_labels)
        Coefficients A of the training rows; scores are K(x, X) A + b.
    intercept_ : ndarray of shape (n_labels,)
    coef_ : ndarray of shape (n_labels, n_features)
        Weights w; only with ``kernel="linear"``.
    X_fit_ : ndarray or CSR matrix
        The training rows; not with a linear or precomputed kernel.
    objective_ : float
        Value of the objective given the confidences.
    dual_gap_ : float
        Its relative duality gap, computed from the final coefficients.
    n_iter_ : int
        Newton steps of the last model.
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

    References
    ----------
    N. Cao, T. Zhang, H. Jin: Partial multi-label optimal margin distribution machine. IJCAI 2021.

    Examples
    --------
    >>> from skml_odm import PMLODM
    >>> from skml_odm.datasets import load_digit_attributes
    >>> X, y = load_digit_attributes(return_X_y=True)
    >>> model = PMLODM(C=10.0, random_state=0).fit(X[:300], y[:300])
    >>> model.predict(X[300:302]).shape
    (2, 7)
    >>> bool(model.confidences_.max() <= 1.0)
    True
    """

    solver = "newton"
    solvers = ("newton",)
    # a single label gets its complement here
    needs_pairs = False

    def __init__(
        self,
        C=1.0,
        confidence="cross-fitted",
        prototype_weight=0.1,
        prototype="adaptive",
        confidence_solver="cut",
        max_outer_iter=10,
        n_neighbors=10,
        theta=0.0,
        mu=0.7,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        threshold="per-label",
        tol=1e-3,
        max_iter=2000,
        random_state=None,
        verbose=0,
        cache_size=2000.0,
    ):
        self.C = C
        self.confidence = confidence
        self.prototype_weight = prototype_weight
        self.prototype = prototype
        self.confidence_solver = confidence_solver
        self.max_outer_iter = max_outer_iter
        self.n_neighbors = n_neighbors
        self.theta = theta
        self.mu = mu
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.cache_size = cache_size

    def fit(self, X, y, confidences=None):
        """Learn from rows X and their candidate labels y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows, or their kernel matrix if ``kernel="precomputed"``.
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Zeros and ones: the candidates. A one-dimensional y with two classes is a single label.
        confidences : array-like of shape (n_samples, n_labels), optional
            Confidences of the candidates, in [0, 1] and zero for other labels. If given, they are
            not learned, and the problem is convex.

        Returns
        -------
        self
        """
        self._given = confidences
        try:
            return self._fit(X, y)
        finally:
            del self._given

    def _check_parameters(self):
        check_choice("confidence", self.confidence, ("cross-fitted", "neighbours", "paper"))
        check_real("prototype_weight", self.prototype_weight, 0)
        check_choice("prototype", self.prototype, ("adaptive", "fixed"))
        check_choice("confidence_solver", self.confidence_solver, ("cut", "linprog"))
        check_real("max_outer_iter", self.max_outer_iter, 1, integer=True)
        check_real("n_neighbors", self.n_neighbors, 1, integer=True)
        check_real("theta", self.theta, 0, 1)
        check_real("mu", self.mu, 0, 1)

    def _solve(self, X, operator, indicator, sample_weight):
        train = Training(operator, self.theta, self.mu, self.tol, self.max_iter, self.verbose)
        precomputed = self.kernel == "precomputed"
        n_labels = indicator.shape[1]
        given = None if self._given is None else self._checked(self._given, indicator)
        if n_labels == 1:
            # One label alone has no pair: its complement takes the place of the second label.
            indicator = np.hstack([indicator, ~indicator])
            given = None if given is None else np.hstack([given, 1.0 - given])
        prototypes = Prototypes(X, indicator.shape[1], precomputed)
        self.objective_history_, self.n_outer_iter_, self.confidence_solver_ = [], 1, "none"
        if given is not None:
            found = given
        elif self.confidence == "paper":
            neighbourhood = Neighbourhood(X, self.n_neighbors, precomputed)
            found, result = self._alternate(train, neighbourhood, prototypes, indicator)
        else:
            found = self._confidences(train, X, indicator)
        if given is not None or self.confidence != "paper":
            certain = indicator if given is None else None
            result = train(found, equal_weights(found, self.C, certain), certain)
            prototypes.update(found)
        self.confidences_ = found[:, :n_labels]
        self.prototypes_ = prototypes.points[:n_labels]
        return result

    def _checked(self, confidences, indicator):
        """Given confidences as an array of their own."""
        with usual_errors("confidences"):
            confidences = check_array(
                as_plain_numbers(confidences, "confidences"),
                dtype=np.float64,
                input_name="confidences",
                copy=True,
            )
        if confidences.shape != indicator.shape:
            raise ValueError(
                f"confidences must have the shape of y, {indicator.shape}; got {confidences.shape}."
            )
        if confidences.min() < 0.0 or confidences.max() > 1.0:
            raise ValueError(
                f"confidences must be in [0, 1]; got values from {confidences.min():g} to "
                f"{confidences.max():g}."
            )
        if confidences[~indicator].any():
            row, label = np.argwhere(~indicator & (confidences > 0.0))[0]
            raise ValueError(
                f"confidences must be zero for labels that are no candidates; got "
                f"{confidences[row, label]:g} for label {label} of row {row}."
            )
        return confidences

    def _confidences(self, train, X, indicator):
        """Confidences from votes or from unseen scores."""
        if self.confidence == "neighbours":
            votes = Neighbourhood(X, self.n_neighbors, self.kernel == "precomputed")
            return largest_is_one(votes.smooth(indicator) * indicator)
        rng = check_random_state(self._seed)
        return cross_fit(train, indicator, self.C, N_FOLDS, rng)

    def _alternate(self, train, neighbourhood, prototypes, indicator):
        """The paper's method."""
        threshold = make_threshold(self.threshold)

        def cut(scores):
            return scores > threshold.fit(scores, indicator)(scores)

        outcome = alternate(
            train,
            neighbourhood,
            prototypes,
            indicator,
            self.C,
            self.prototype_weight,
            cut,
            fixed=self.prototype == "fixed",
            solver=self.confidence_solver,
            max_iter=self.max_outer_iter,
        )
        self.objective_history_ = outcome.history
        self.n_outer_iter_ = len(outcome.history)
        self.confidence_solver_ = outcome.solver
        return outcome.confidences, outcome.result

    def _labels_to_cut(self, indicator):
        if self.confidence == "paper" and self._given is None:
            return indicator
        return self.confidences_ >= CREDIBLE
