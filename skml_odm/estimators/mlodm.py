"""mlODM: the multi-label optimal margin distribution machine (paper 000)."""

from ..solvers.turns import PAIR_SOLVERS
from ..utils.validation import SHARE, one_of
from .base import PairLossRanker
from .shared_docs import estimator_docs


@estimator_docs()
class MLODM(PairLossRanker):
    """Multi-label optimal margin distribution machine.

    Learns one score per label so that, on every training row, relevant labels stand above
    irrelevant ones by a margin close to 1. With γ = f_k(x_i) − f_l(x_i) for a relevant label k and
    an irrelevant label l of row i it minimises ::

        ½ Σ_k (‖w_k‖² + b_k²) + Σ_i C / (|Y_i||N_i|) Σ_kl ½ (1−θ−γ)₊² + ½ μ (γ−1−θ)₊²

    to a certified relative duality gap of ``tol``. Scores become labels by a threshold.

    Parameters
    ----------
    {C}
    {theta}
    {kernel}
    fit_intercept : bool, default=...
        Whether labels have an intercept b_k. It is regularised: the kernel is in effect K + 1.
        The paper's model has none.
    {threshold}
    {zero_label}
    solver : {"auto", "newton", "bcd", "m3"}, default=...
        "newton" is Newton's method in function space, "bcd" dual block coordinate descent with
        exact block steps, "m3" the paper's algorithm with multiplicative updates; "auto" starts
        with "bcd" and lets it and "newton" take turns where that is slow. All have the same
        optimum; "m3" learns no zero label.
    {tol}
    max_iter : int, default=...
        Epochs ("bcd", "m3"), Newton steps ("newton") or both together ("auto") at most; a
        ``ConvergenceWarning`` says when they do not suffice.
    {last_parameters}

    Attributes
    ----------
    {model}
    {certificate}
    {zero_label_}
    {fitted}

    Notes
    -----
    {zero_label_pairs}
    A single label has no pair either; its complement then takes the place of the second label,
    which gives the binary optimal margin distribution machine.

    ``C`` and ``gamma`` matter most and are worth a search; scale the features first. ``theta`` and
    ``mu`` matter little: over the data sets of the paper all values have a cross-validated ranking
    loss within 2 % of the defaults' (table in docs/mlodm.md). The defaults of ``C``, ``gamma`` and
    ``threshold`` were chosen for the labels they give (docs/thresholds.md).

    References
    ----------
    Z.-H. Tan, P. Tan, Y. Jiang, Z.-H. Zhou: Multi-label optimal margin distribution machine.
    Machine Learning 109, 623-642, 2020.

    J. Fürnkranz, E. Hüllermeier, E. Loza Mencía, K. Brinker: Multilabel classification via
    calibrated label ranking. Machine Learning 73, 133-153, 2008. (The zero label.)

    Examples
    --------
    {example}
    """

    solvers = tuple(PAIR_SOLVERS)
    checks = PairLossRanker.checks | {"theta": SHARE, "mu": SHARE, "solver": one_of(*solvers)}

    def __init__(
        self,
        C=8.0,
        theta=0.0,
        mu=0.7,
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
        self.C = C
        self.theta = theta
        self.mu = mu
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.threshold = threshold
        self.zero_label = zero_label
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.cache_size = cache_size
