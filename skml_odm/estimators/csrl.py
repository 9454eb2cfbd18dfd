"""CSRL and CSRL+R: calibrated separation ranking (paper 002)."""

import numpy as np

from ..decisions.thresholds import check_threshold
from ..problems.covariance import LabelCovariance, LearnedCovariance, check_covariance
from ..problems.rows import SeparationLoss
from ..utils.validation import POSITIVE, check_choice, one_of
from ..utils.warn import warn_user
from .base import RowLossRanker
from .kernel_model import KernelModel
from .shared_docs import estimator_docs

# A decision value within TIED of zero tells little, where the loss asks for 1. At beta from 0.01 to
# 10, with either kernel, up to 42 % are on emotions, scene, yeast, birds and genbase; it is 72 % on
# medical where beta = 10 predicts 5.6 labels per row instead of 1.2, and 90 % on delicious.
TIED = 0.01
MOSTLY = 0.5


@estimator_docs()
class CSRL(RowLossRanker):
    """Calibrated separation ranking, with label covariances if wanted.

    Learns a score s_l for every label and one more, s_0, for a dummy label, so that on every
    training row the lowest relevant label stands above the dummy by a margin of 1 and the highest
    irrelevant label below it by as much. It minimises ::

        ½β (Σ_l ‖w_l‖² + ‖w_0‖²)
            + Σ_i ( max_{k∈Y_i} (1 + s_0 − s_k)₊ + max_{l∈N_i} (1 + s_l − s_0)₊ )     at x_i

    to a certified relative duality gap of ``tol``. A label is predicted where its score is above
    the dummy's. Only the worst label on either side of a row costs
    something, which favours label sets that are right as a whole.

    With ``covariance="learn"`` (CSRL+R) the regulariser becomes ½β tr(W R⁻¹ Wᵀ) + ½α ‖R − I‖² with
    a positive definite matrix R over the labels and the dummy, learned together with W.

    Parameters
    ----------
    beta : float, default=...
        Weight of the regulariser against the loss; positive. Search this first: 1, ¼ and 1/16.
    covariance : None, "learn" or array-like, default=...
        Covariance R of the label models: the identity, learned, or given as a positive
        semidefinite matrix of shape (n_labels + 1, n_labels + 1), the dummy last. A matrix of
        shape (n_labels, n_labels) leaves the dummy alone (1 on the diagonal, 0 beside it).
    alpha : float, default=...
        What keeps a learned covariance close to the identity; positive.
    dummy : {"adaptive", "zero"}, default=...
        Whether the dummy's score is learned or 0 everywhere. Without a dummy to learn, R has a
        row per label only.
    {kernel}
    fit_intercept : bool, default=...
        Whether labels have an intercept. It is regularised: the kernel is in effect K + 1. The
        paper has none.
    {threshold}
    {tol}
    {max_epochs}
    {last_parameters}

    Attributes
    ----------
    covariance_ : ndarray
        R.
    {model}
    objective_ : float
        Value of the objective.
    dual_gap_ : float
        Relative duality gap, computed from the final coefficients: the optimum is at least
        ``objective_ * (1 - dual_gap_)``. For a learned covariance this is the gap of the saddle
        point problem over R and the coefficients.
    {n_iter_}
    {n_support_}
    {threshold_}
    {labels}

    See Also
    --------
    RankSVMz : averages over the labels on either side of a zero label instead of the worst.
    M3L : every label for itself, with covariances.

    Notes
    -----
    A row without relevant or without irrelevant labels takes part in learning with the side it
    has. A single label is a binary support vector machine.

    References
    ----------
    Y. Guo and D. Schuurmans: Adaptive large margin training for multilabel classification.
    AAAI 2011, 374-379.

    Examples
    --------
    >>> from skml_odm import CSRL
    >>> from skml_odm.datasets import load_digit_attributes
    >>> X, y = load_digit_attributes(return_X_y=True)
    >>> model = CSRL(beta=0.1, covariance="learn", random_state=0).fit(X[:500], y[:500])
    >>> model.predict(X[500:502]).shape
    (2, 7)
    >>> bool(model.dual_gap_ <= 1e-3)
    True
    """

    checks = KernelModel.checks | {
        "threshold": check_threshold,
        "beta": POSITIVE,
        "alpha": POSITIVE,
        "dummy": one_of("adaptive", "zero"),
    }
    trade_off = "beta"
    remedy = "raise beta"

    def __init__(
        self,
        beta=0.3,
        covariance=None,
        alpha=10.0,
        dummy="adaptive",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=False,
        threshold="calibrated",
        tol=1e-3,
        max_iter=10000,
        random_state=None,
        verbose=0,
        cache_size=2000.0,
    ):
        self.beta = beta
        self.covariance = covariance
        self.alpha = alpha
        self.dummy = dummy
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

    def _validate_params(self):
        super()._validate_params()
        if isinstance(self.covariance, str):
            check_choice("covariance", self.covariance, ("learn",), or_else="None or a matrix")

    def make_problem(self, prepared):
        covariance = self._covariance(prepared.labels.shape[1])
        return SeparationLoss(
            prepared.labels, self.beta, covariance, prepared.sample_weight, prepared.known
        )

    def keep(self, prepared, result, **options):
        self._warn_if_tied(result.scores)
        return super().keep(prepared, result, **options)

    def _warn_if_tied(self, decision):
        """Say so where the loss has told few labels from the dummy label.

        It only looks at the worst label on either side, so the others may stay where they are.
        """
        tied = np.mean(np.abs(decision) <= TIED) if decision.size else 0.0
        if tied > MOSTLY:
            warn_user(
                f"CSRL hardly tells labels from the dummy label: {tied:.0%} of the training rows' "
                f"decision values are within {TIED} of zero, where the loss asks for 1. Expect "
                f"many wrong labels. Lower beta={self.beta!r}, try another value of "
                f"dummy={self.dummy!r}, or use RankSVMz or MLODM."
            )

    def _covariance(self, n_labels):
        dummy = self.dummy == "adaptive"
        if self.covariance is None:
            return LabelCovariance(n_labels, dummy)
        if isinstance(self.covariance, str):
            return LearnedCovariance(n_labels, dummy, self.alpha, self.beta)
        sizes = (n_labels + 1, n_labels) if dummy else (n_labels,)
        given = check_covariance(self.covariance, sizes)
        if dummy and len(given) == n_labels:
            given = np.pad(given, (0, 1))
            given[-1, -1] = 1.0
        return LabelCovariance(n_labels, dummy, given)
