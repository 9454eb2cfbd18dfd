"""Rank-CVM: the multi-label core vector machine (paper 003)."""

import math
from collections.abc import Collection
from dataclasses import replace
from typing import ClassVar

import numpy as np

from ..solvers.acceptance import rounding_of_values
from ..solvers.frank_wolfe import frank_wolfe
from .rank_lsvm import RankLSVM


class RankCVM(RankLSVM):
    """Multi-label core vector machine.

    Learns one score per label and the margin ρ by which relevant labels are to stand above
    irrelevant ones. With γ = f_k(x_i) − f_l(x_i) for a relevant label k and an irrelevant label l
    of row i it minimises ::

        ½ Σ_k (‖w_k‖² + b_k²) − ρ + Σ_i C / (|Y_i||N_i|) Σ_kl ½ (ρ−γ)₊²

    The solution is that of :class:`RankLSVM` times ρ = 1/2J, J the optimal value there; that is how
    the default solver finds it. The dual problem, min W(α) = ½ αᵀΘα over the unit simplex, has the
    optimal value 1/4J, minus that of the primal problem.

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
    solver : {"auto", "newton", "frank-wolfe", "pairwise"}, default="auto"
        "auto" and "newton" solve Rank-LSVM's problem and scale the solution. "frank-wolfe" is the
        paper's algorithm: thousands of cheap steps, far from the optimum for long. "pairwise" takes
        Frank-Wolfe steps that converge linearly.
    tol : float, default=1e-3
        Relative duality gap to reach.
    max_iter : int, default=2000
        Epochs and Newton steps ("auto", "newton") at most. For "frank-wolfe" and "pairwise" an
        epoch is as many steps as there are label pairs, as in the paper. A ``ConvergenceWarning``
        says when they do not suffice.
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
        W(α) of a point α of the simplex.
    dual_gap_ : float
        Relative duality gap: the optimum of W is at least ``objective_ * (1 - dual_gap_)``.
    n_iter_ : int
        Epochs or Newton steps done.
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
    RankLSVM : the same rankings, with the margin fixed to 1.

    Notes
    -----
    A row without a relevant or without an irrelevant label has no label pair: it takes no part in
    learning scores, but does in fitting thresholds. A single label competes with its complement,
    which gives the binary core vector machine.

    Labels are ranked as by RankLSVM with the same parameters, and all thresholds but a number scale
    with ρ: the predicted labels are the same, too.

    References
    ----------
    J. Xu: Fast multi-label core vector machine. Pattern Recognition 46, 885-898, 2013.

    Examples
    --------
    >>> from skml_odm import RankCVM
    >>> from skml_odm.datasets import load_digit_attributes
    >>> X, y = load_digit_attributes(return_X_y=True)
    >>> model = RankCVM(C=10.0, random_state=0).fit(X[:500], y[:500])
    >>> model.predict(X[500:502]).shape
    (2, 7)
    >>> bool(model.dual_gap_ <= 1e-3)
    True
    """

    solvers: ClassVar[Collection[str]] = ("auto", "newton", "frank-wolfe", "pairwise")

    def _solve(self, X, operator, indicator, sample_weight):
        loss = self._loss(indicator, sample_weight)
        if self.solver in ("auto", "newton"):
            result = self._minimise(operator, loss)
            return scaled(result, lowest_vertex(operator, loss), self.tol)
        n_pairs = max(1, int(loss.n_pairs.sum()))
        result = frank_wolfe(
            operator,
            loss,
            tol=self.tol,
            max_iter=int(self.max_iter) * n_pairs,
            pairwise=self.solver == "pairwise",
            verbose=self.verbose,
        )
        result.n_iter = math.ceil(result.n_iter / n_pairs)
        if result.primal > 0.0:
            # in the units of Rank-LSVM, whose value is J = 1/4W
            coefficients = result.coefficients / result.margin
            rounding = rounding_of_values(coefficients, operator, loss.at_zero)
            result.rounding = 4.0 * result.primal * rounding
            result.converged = result.gap <= self.tol
        return result


def lowest_vertex(operator, loss):
    """The smallest W(α) with all weight on one label pair; infinite if there is none."""
    usable = loss.n_pairs > 0
    diagonal = operator.diagonal()[usable] + operator.intercept
    return np.min(diagonal + 0.5 / loss.weight[usable], initial=np.inf)


def scaled(result, vertex, tol):
    """Rank-CVM's result from Rank-LSVM's, whose values enclose J: W* = 1/4J.

    The dual value of Rank-LSVM is that of a point of the simplex, scaled; should it say less than
    the best vertex does, W of that vertex is the objective.
    """
    if result.primal <= 0.0:
        return result
    objective = vertex if result.dual <= 0.0 else min(vertex, 0.25 / result.dual)
    difference = objective - 0.25 / result.primal
    rho = 0.5 / result.primal
    new = replace(
        result,
        coefficients=rho * result.coefficients,
        intercept=rho * result.intercept,
        scores=rho * result.scores,
        primal=objective,
        difference=difference,
        margin=rho,
    )
    new.converged = new.gap <= tol
    return new
