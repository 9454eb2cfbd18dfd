"""Rank-LSVM: ranking margins under a squared hinge loss."""

from ..utils.validation import one_of
from .base import PairLossRanker
from .shared_docs import estimator_docs


@estimator_docs()
class RankLSVM(PairLossRanker):
    """Ranking support vector machine with a squared hinge loss.

    Learns one score per label so that, on every training row, relevant labels stand above
    irrelevant ones by a margin of 1. With γ = f_k(x_i) − f_l(x_i) for a relevant label k and an
    irrelevant label l of row i it minimises ::

        ½ Σ_k (‖w_k‖² + b_k²) + Σ_i C / (|Y_i||N_i|) Σ_kl ½ (1−γ)₊²

    to a certified relative duality gap of ``tol``. Scores become labels by a threshold.

    Parameters
    ----------
    {C}
    {kernel}
    {fit_intercept}
    {threshold}
    {zero_label}
    solver : {"auto", "newton", "bcd"}, default=...
        "newton" is Newton's method in function space, "bcd" dual block coordinate descent with
        exact block steps; "auto" starts with "bcd" and lets it and "newton" take turns where that
        is slow. All have the same optimum.
    {tol}
    max_iter : int, default=...
        Epochs ("bcd"), Newton steps ("newton") or both together ("auto") at most; a
        ``ConvergenceWarning`` says when they do not suffice.
    {last_parameters}

    Attributes
    ----------
    {model}
    {certificate}
    {zero_label_}
    {fitted}

    See Also
    --------
    RankCVM : the same rankings, with the margin learned as well.
    MLODM : margins above 1 cost something, too; with ``theta=0, mu=0`` it is this estimator.

    Notes
    -----
    {zero_label_pairs}
    A single label competes with its complement, which gives the binary support vector machine with
    a squared hinge loss.

    References
    ----------
    J. Xu: Fast multi-label core vector machine. Pattern Recognition 46, 885-898, 2013.

    Examples
    --------
    {example}
    """

    solvers: tuple[str, ...] = ("auto", "newton", "bcd")
    checks = PairLossRanker.checks | {"solver": one_of(*solvers)}

    def __init__(
        self,
        C=8.0,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        threshold="calibrated",
        zero_label="auto",
        solver="auto",
        tol=1e-3,
        max_iter=2000,
        random_state=None,
        verbose=0,
        cache_size=2000.0,
    ):
        super().__init__(
            C=C,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            fit_intercept=fit_intercept,
            threshold=threshold,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            verbose=verbose,
            cache_size=cache_size,
        )
        self.zero_label = zero_label
