"""PML-ODM: optimal margin distribution learning from candidate labels (paper 001)."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state

from ..decisions.thresholds import make_threshold
from ..utils.types import ArrayLike, Matrix, Self
from ..utils.validation import (
    COUNT,
    NOT_NEGATIVE,
    SHARE,
    as_plain_numbers,
    one_of,
    some_rows,
    usual_errors,
)
from .base import KernelLabelRanker
from .candidates import Neighbourhood, Prototypes, largest_is_one
from .disambiguation import (
    Training,
    alternate,
    cross_fit,
    equal_weights,
    scores_without_folds,
)
from .shared_docs import estimator_docs
from .unseen import folds_of

# Folds of cross-fitting.
N_FOLDS = 5

# A candidate with at least this confidence counts as a label when thresholds are fitted.
CREDIBLE = 0.5


@dataclass
class CandidateLabels:
    """Candidate labels, and what a solver finds out about them.

    Attributes
    ----------
    indicator : ndarray of shape (m, q), bool
        The candidates, the complement of a single label included.
    known : ndarray of shape (m, q), bool, or None
        Which labels are known to be candidates or not; None if all are.
    given : ndarray of shape (m, q), optional
        Their confidences if these are not to be learned.
    confidences, prototypes, history, solver
        What is found; see the attributes of ``PMLODM``.
    train, weight, certain
        How the model was trained for these confidences; see ``ConfidenceLoss``.
    """

    indicator: Any
    known: Any = None
    given: Any = None
    confidences: Any = None
    prototypes: Any = None
    history: list = field(default_factory=list)
    n_turns: int = 1
    solver: str = "none"
    train: Any = None
    weight: Any = None
    certain: Any = None


@estimator_docs()
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
    C : float, default=...
        Weight of the loss against the regulariser; positive. The weighted pairs of every row
        count C together; with ``confidence="paper"`` it is the paper's λ1, ``c_i = C / (m |Z_i|)``.
    confidence : {"cross-fitted", "neighbours", "paper"}, default=...
        "cross-fitted": 1 for the candidate with the row's highest score, falling to ¼ at a margin
        of 1 below it, by models that have not seen the row. "neighbours": the votes of a row and
        its nearest neighbours (Eq. 6), largest one 1. "paper": confidences and model in turns,
        the paper's Algorithm 1.
    prototype_weight : float, default=...
        λ2 of the paper as a multiple of C / m; only for ``confidence="paper"``.
    prototype : {"adaptive", "fixed"}, default=...
        Whether prototypes follow the model's predictions or stay the means of all rows with a
        candidate label; only for ``confidence="paper"``.
    confidence_solver : {"cut", "linprog"}, default=...
        Exact cuts, or HiGHS for every row; only for ``confidence="paper"``.
    max_outer_iter : int, default=...
        Turns of the paper's method at most.
    n_neighbors : int, default=...
        Nearest neighbours that vote; not for ``confidence="cross-fitted"``.
    {theta}
    {kernel}
    fit_intercept : bool, default=...
        Whether labels have a regularised intercept b_k. The paper's model has none.
    threshold : {"regression", "per-label", "zero", "calibrated"} or float, default=...
        What to subtract from scores, as for ``MLODM``; fitted to the candidates with a confidence
        of at least 0.5, with ``confidence="paper"`` to all candidates.
    tol : float, default=...
        Relative duality gap to reach, given the confidences.
    max_iter : int, default=...
        Newton steps at most.
    random_state : int, RandomState instance or None, default=...
        Which rows are left out together by ``confidence="cross-fitted"``. None is a
        fixed choice: two fits with the same arguments give the same model.
    {verbose}
    {cache_size}

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
    {model}
    objective_ : float
        Value of the objective given the confidences.
    dual_gap_ : float
        Its relative duality gap, computed from the final coefficients.
    n_iter_ : int
        Newton steps of the last model.
    {n_support_}
    {threshold_}
    {labels}

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

    takes_unknown = True
    checks = KernelLabelRanker.checks | {
        "confidence": one_of("cross-fitted", "neighbours", "paper"),
        "prototype_weight": NOT_NEGATIVE,
        "prototype": one_of("adaptive", "fixed"),
        "confidence_solver": one_of("cut", "linprog"),
        "max_outer_iter": COUNT,
        "n_neighbors": COUNT,
        "theta": SHARE,
        "mu": SHARE,
    }

    def __init__(
        self,
        C=8.0,
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
        threshold="calibrated",
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

    def fit(self, X: Matrix, y: Matrix, confidences: ArrayLike | None = None) -> Self:
        """Learn from rows X and their candidate labels y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows, or their kernel matrix if ``kernel="precomputed"``.
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Zeros and ones: the candidates. NaN is a label of which nothing is known: it is neither
            a candidate nor irrelevant, and in no pair of its row. The paper's method cannot take
            it. A one-dimensional y with two classes is a single label.
        confidences : array-like of shape (n_samples, n_labels), optional
            Confidences of the candidates, in [0, 1] and zero for other labels. If given, they are
            not learned, and the problem is convex.

        Returns
        -------
        self
        """
        prepared = self.prepare(X, y)
        if confidences is not None:
            given = self._checked(confidences, prepared.target.indicator)
            alone = given.shape[1] == 1
            prepared.problem.given = np.hstack([given, 1.0 - given]) if alone else given
        return self.keep(prepared, self.solve(prepared))

    def make_problem(self, prepared):
        return CandidateLabels(prepared.labels, prepared.known)

    def minimise(self, prepared, *, random_state, **options):
        problem, X, precomputed = prepared.problem, prepared.rows, self.kernel == "precomputed"
        indicator, known, found = problem.indicator, problem.known, problem.given
        train = Training(prepared.operator, self.theta, self.mu, known=known, **options)
        problem.train = train
        prototypes = Prototypes(X, indicator.shape[1], precomputed)
        if found is None and self.confidence == "paper":
            if known is not None:
                raise ValueError(
                    "y must have no unknown labels (NaN) for confidence='paper', which takes every "
                    "label that is no candidate for irrelevant. Use 'cross-fitted' or 'neighbours'."
                )
            neighbourhood = Neighbourhood(X, self.n_neighbors, precomputed)
            outcome = self._alternate(train, neighbourhood, prototypes, indicator)
            problem.history, problem.n_turns = outcome.history, len(outcome.history)
            found, result, problem.solver = outcome.confidences, outcome.result, outcome.solver
            problem.weight = outcome.weight
        else:
            certain = None
            if found is None:
                rng = check_random_state(random_state)
                found, certain = self._confidences(train, X, indicator, rng), indicator
            problem.certain = certain
            problem.weight = equal_weights(found, self.C, certain, known)
            result = train(found, problem.weight, certain)
            prototypes.update(found)
        problem.confidences, problem.prototypes = found, prototypes.points
        return result

    def accept(self, prepared, result):
        # training has compared it with the zero model
        return prepared.own(result)

    def unseen_scores(self, prepared, result):
        # confidences stay as they are: only the model is trained anew
        problem, start = prepared.problem, result.coefficients
        if len(start) == 1:
            return result.scores
        if prepared.n_scores is not None:
            start = np.hstack([start, -start])
        scores = scores_without_folds(
            problem.train,
            problem.confidences,
            problem.weight,
            problem.certain,
            start,
            folds_of(len(start)),
        )
        return scores[:, : prepared.n_scores]

    def keep(self, prepared, result, **options):
        problem = prepared.problem
        self.confidences_ = problem.confidences[:, : prepared.n_scores]
        self.prototypes_ = problem.prototypes[: prepared.n_scores]
        self.objective_history_ = problem.history
        self.n_outer_iter_ = problem.n_turns
        self.confidence_solver_ = problem.solver
        return super().keep(prepared, result, **options)

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

    def _confidences(self, train, X, indicator, rng):
        """Confidences from votes or from unseen scores."""
        if self.confidence == "neighbours":
            known, precomputed = train.known, self.kernel == "precomputed"
            used: Any = slice(None)
            if known is not None:
                used = np.flatnonzero(known.any(axis=1))
                X = self.rows_at(X, used)
            neighbourhood = Neighbourhood(X, self.n_neighbors, precomputed)
            votes = np.zeros(indicator.shape)
            votes[used] = neighbourhood.smooth(indicator[used], some_rows(known, used))
            return largest_is_one(votes * indicator)
        return cross_fit(train, indicator, self.C, N_FOLDS, rng)

    def _alternate(self, train, neighbourhood, prototypes, indicator):
        """The paper's method."""
        # while confidences change nobody needs probabilities
        name = "per-label" if self.threshold == "calibrated" else self.threshold
        threshold = make_threshold(name)

        def cut(scores):
            return scores > threshold.fit(scores, indicator)(scores)

        return alternate(
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

    def _labels_to_cut(self, prepared):
        if self.confidence == "paper" and prepared.problem.given is None:
            return prepared.target.indicator
        return prepared.problem.confidences[:, : prepared.n_scores] >= CREDIBLE
