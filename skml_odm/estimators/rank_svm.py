"""Rank-SVM: the multi-label ranking support vector machine (paper 003, Section 5)."""

from ..problems.hinge import HingeLoss, PairMultipliers
from ..solvers.turns import HINGE_SOLVERS, RANDOMISED
from ..utils.validation import one_of
from .base import KernelLabelRanker
from .shared_docs import estimator_docs


@estimator_docs()
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
    {C}
    {kernel}
    fit_intercept : bool, default=...
        Whether labels have a bias b_k. It is not regularised, which gives the dual problem one
        balance equation per label.
    {threshold}
    solver : {"auto", "multipliers", "newton", "frank-wolfe"}, default=...
        "multipliers" is the method of multipliers with coordinate steps over label pairs, "newton"
        the proximal point method with Newton's method inside, "frank-wolfe" the paper's method
        with a linear program per iteration; "auto" starts with "multipliers" and goes on with
        "newton" where that would take long. All have the same optimum.
    {tol}
    max_iter : int, default=...
        Epochs ("multipliers"), Newton steps ("newton"), both together ("auto") or iterations
        ("frank-wolfe") at most; a ``ConvergenceWarning`` says when they do not suffice.
    {last_parameters}

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples, n_labels)
        Coefficients A of the training rows; scores are K(x, X) A + b.
    intercept_ : ndarray of shape (n_labels,)
        b, with mean zero: only differences of biases matter. Zero without intercept.
    {coef_}
    {certificate}
    lp_solver_ : {"network", "highs", "none"}
        What found the biases, a minimum-cost circulation among the labels: the compiled network
        solver, HiGHS where that one could not prove its result, or nothing without intercept.
    {n_iter_}
    n_support_ : int
        Training rows with a coefficient other than zero; Newton steps may leave some of the size of
        rounding.
    {threshold_}
    {labels}

    Notes
    -----
    {no_pairs}
    A single label has no pair either; its complement then takes the place of the second label,
    which gives a binary support vector machine.

    References
    ----------
    A. Elisseeff, J. Weston: A kernel method for multi-labelled classification. NIPS 14, 2001.

    J. Xu: Fast multi-label core vector machine. Pattern Recognition 46, 885-898, 2013.

    Examples
    --------
    {example}
    """

    takes_unknown = True
    solvers = tuple(HINGE_SOLVERS)
    checks = KernelLabelRanker.checks | {"solver": one_of(*solvers)}

    def make_problem(self, prepared):
        loss = HingeLoss(prepared.labels, self.C, prepared.sample_weight, prepared.known)
        return PairMultipliers(loss, bool(self.fit_intercept))

    def minimise(self, prepared, **options):
        state = prepared.problem
        if self.solver == "auto":
            options["state"] = state
        if self.solver not in RANDOMISED:
            del options["random_state"]
        return HINGE_SOLVERS[self.solver](prepared.operator, state.loss, **options)

    def value_at_zero(self, prepared):
        return prepared.problem.loss.at_zero

    def keep(self, prepared, result, **options):
        super().keep(prepared, result, **options)
        self.lp_solver_ = result.lp_solver
        return self
