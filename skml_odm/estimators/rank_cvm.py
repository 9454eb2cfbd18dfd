"""Rank-CVM: the multi-label core vector machine (paper 003)."""

import math
from dataclasses import replace

import numpy as np

from ..solvers.acceptance import rounding_of_values
from ..solvers.frank_wolfe import frank_wolfe
from ..utils.validation import one_of
from .rank_lsvm import RankLSVM
from .shared_docs import estimator_docs


@estimator_docs()
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
    {C}
    {kernel}
    {fit_intercept}
    {threshold}
    {zero_label}
    solver : {"auto", "newton", "frank-wolfe", "pairwise"}, default=...
        "auto" and "newton" solve Rank-LSVM's problem and scale the solution. "frank-wolfe" is the
        paper's algorithm: thousands of cheap steps, far from the optimum for long. "pairwise" takes
        Frank-Wolfe steps that converge linearly. Only "auto" and "newton" learn a zero label.
    {tol}
    max_iter : int, default=...
        Epochs and Newton steps ("auto", "newton") at most. For "frank-wolfe" and "pairwise" an
        epoch is as many steps as there are label pairs, as in the paper. A ``ConvergenceWarning``
        says when they do not suffice.
    {last_parameters}

    Attributes
    ----------
    {model}
    {zero_label_}
    objective_ : float
        W(α) of a point α of the simplex.
    dual_gap_ : float
        Relative duality gap: the optimum of W is at least ``objective_ * (1 - dual_gap_)``.
    n_iter_ : int
        Epochs or Newton steps done.
    {n_support_}
    {threshold_}
    {labels}

    See Also
    --------
    RankLSVM : the same rankings, with the margin fixed to 1.

    Notes
    -----
    {zero_label_pairs}
    A single label competes with its complement, which gives the binary core vector machine.

    Labels are ranked as by RankLSVM with the same parameters, and all thresholds but a number scale
    with ρ: the predicted labels are the same, too.

    References
    ----------
    J. Xu: Fast multi-label core vector machine. Pattern Recognition 46, 885-898, 2013.

    Examples
    --------
    {example}
    """

    solvers = ("auto", "newton", "frank-wolfe", "pairwise")
    checks = RankLSVM.checks | {"solver": one_of(*solvers)}

    def minimise(self, prepared, **options):
        if self.solver in ("auto", "newton"):
            return super().minimise(prepared, **options)
        del options["random_state"]
        n_pairs = max(1, int(prepared.problem.n_pairs.sum()))
        options["max_iter"] = int(self.max_iter) * n_pairs
        by_pairs = self.solver == "pairwise"
        result = frank_wolfe(prepared.operator, prepared.problem, pairwise=by_pairs, **options)
        result.n_iter = math.ceil(result.n_iter / n_pairs)
        return result

    def accept(self, prepared, result):
        operator, loss = prepared.operator, prepared.problem
        if self.solver in ("auto", "newton"):
            result = super().accept(prepared, result)
            return scaled(result, lowest_vertex(operator, loss), self.tol)
        if result.primal > 0.0:
            # in the units of Rank-LSVM, whose value is J = 1/4W
            coefficients = result.coefficients / result.margin
            rounding = rounding_of_values(coefficients, operator, loss.at_zero)
            result.rounding = 4.0 * result.primal * rounding
            result.converged = result.gap <= self.tol
        return prepared.own(result)


def lowest_vertex(operator, loss):
    """The smallest W(α) with all weight on one label pair; infinite if there is none."""
    weight = loss.weight
    if loss.zero_weight is not None:
        weight = np.maximum(weight, loss.zero_weight.max(axis=1))
    usable = weight > 0.0
    diagonal = operator.diagonal()[usable] + operator.intercept
    return np.min(diagonal + 0.5 / weight[usable], initial=np.inf)


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
