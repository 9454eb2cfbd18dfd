"""PML-LRS: partial multi-label learning by low-rank and sparse decomposition (see paper 001)."""

from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..decisions.thresholds import check_plain_threshold, make_threshold
from ..utils.types import Matrix, NDArray, Self
from ..utils.validation import (
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    check_bool,
    check_verbose,
    forget,
    known_rows,
    some_rows,
)
from ..utils.warn import warn_user
from .base import LabelRanker
from .low_rank_sparse import low_rank_sparse
from .shared_docs import estimator_docs


@estimator_docs()
class PMLLRS(LabelRanker):
    """Partial multi-label learning by low-rank and sparse decomposition (PML-LRS).

    Every row has *candidate* labels, of which only some are right. The candidate matrix Y is split
    into the ground truth D, of low rank because labels depend on each other, and the noise Y − D,
    sparse because most candidates are right; a linear predictor of low rank is fitted to D at the
    same time. It minimises ::

        ½‖XW + 1bᵀ − D‖² + γ‖D‖_* + β‖Y − D‖₁ + η‖W‖_*

    over W, b and D, to a certified relative duality gap of ``tol``.

    Parameters
    ----------
    gamma : float, default=...
        γ, weight of the trace norm of the ground truth; not negative.
    beta : float, default=...
        β, weight of the absolute values of the noise; positive.
    eta : float, default=...
        η, weight of the trace norm of the predictor; positive.
    fit_intercept : bool, default=...
        Whether labels have a bias b_k, which is not regularised. The paper's model has none.
    threshold : {"regression", "per-label", "zero"} or float, default=...
        What to subtract from scores; see :mod:`skml_odm.decisions.thresholds`. Fitted thresholds
        take the candidates whose entry in D exceeds one half for the labels of the training rows.
    {tol}
    max_iter : int, default=...
        Iterations at most; a ``ConvergenceWarning`` says when they do not suffice.
    {verbose}

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        Weights Wᵀ.
    intercept_ : ndarray of shape (n_labels,)
        b; zero without intercept.
    ground_truth_ : ndarray of shape (n_samples, n_labels)
        D of the training rows; zeros for rows in which nothing is known.
    objective_ : float
        Value of the objective.
    dual_gap_ : float
        Relative duality gap: the optimum is at least ``objective_ * (1 - dual_gap_)``.
    {n_iter_}
    {threshold_}
    {labels}

    References
    ----------
    L. Sun, S. Feng, T. Wang, C. Lang, Y. Jin: Partial multi-label learning by low-rank and sparse
    decomposition. AAAI 33, 5016-5023, 2019.

    Examples
    --------
    >>> from skml_odm import PMLLRS
    >>> from skml_odm.datasets import add_candidate_noise, load_digit_attributes
    >>> X, y = load_digit_attributes(return_X_y=True)
    >>> model = PMLLRS().fit(X[:500], add_candidate_noise(y[:500], 1, random_state=0))
    >>> model.predict(X[500:502]).shape
    (2, 7)
    >>> bool(model.dual_gap_ <= 1e-3)
    True
    """

    takes_unknown = True
    checks: ClassVar = {
        "gamma": NOT_NEGATIVE,
        "beta": POSITIVE,
        "eta": POSITIVE,
        "fit_intercept": check_bool,
        "tol": POSITIVE,
        "max_iter": COUNT,
        "verbose": check_verbose,
        "threshold": check_plain_threshold,
    }

    def __init__(
        self,
        gamma=0.01,
        beta=0.1,
        eta=1.0,
        fit_intercept=True,
        threshold=0.5,
        tol=1e-3,
        max_iter=5000,
        verbose=0,
    ):
        self.gamma = gamma
        self.beta = beta
        self.eta = eta
        self.fit_intercept = fit_intercept
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def fit(self, X: Matrix, y: Matrix) -> Self:
        """Learn from rows X and their candidate labels y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Ones for candidates, zeros for other labels, NaN for labels of which nothing is known:
            Y − D leaves them out. A one-dimensional y with two classes is a single label.

        Returns
        -------
        self
        """
        forget(self)
        self._validate_params()
        threshold = make_threshold(self.threshold)
        X, target = self._validated_pair(X, y)
        used = known_rows(target)
        X, candidates, known = X[used], target.indicator[used], some_rows(target.known, used)
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                result = low_rank_sparse(
                    X,
                    candidates.astype(np.float64),
                    gamma=self.gamma,
                    beta=self.beta,
                    eta=self.eta,
                    fit_intercept=self.fit_intercept,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    known=known,
                    verbose=self.verbose,
                )
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            raise ValueError(
                "X must keep the problem within double precision; it does not "
                f"({error}). Scale the features to a common range."
            ) from error
        if not result.converged:
            warn_user(
                f"PMLLRS stopped after {result.n_iter} iterations (max_iter={self.max_iter}) at a "
                f"relative duality gap of {result.gap:.3g} > tol={self.tol:g}. Raise max_iter or "
                "tol, or scale the features to a common range.",
                ConvergenceWarning,
            )
        self.coef_ = np.ascontiguousarray(result.weights.T)
        self.intercept_ = result.intercept
        self.ground_truth_ = np.zeros(target.indicator.shape)
        self.ground_truth_[used] = result.ground_truth
        self.objective_ = result.primal
        self.dual_gap_ = float(result.gap)
        self.n_iter_ = result.n_iter
        self._remember(target)
        believed = candidates & (result.ground_truth > 0.5)
        scores = X @ self.coef_.T + self.intercept_
        self.threshold_ = threshold.fit(scores, believed, known=known)
        return self

    def label_scores(self, X: Matrix) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self._validated(X, reset=False) @ self.coef_.T + self.intercept_
