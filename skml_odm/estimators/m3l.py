"""M3L: max-margin multi-label classification with a prior on label correlations."""

import numpy as np

from ..problems.covariance import LabelCovariance, check_covariance, label_correlations
from ..problems.rows import BinaryLoss
from ..utils.validation import check_choice
from .base import RowLossRanker
from .shared_docs import estimator_docs


@estimator_docs()
class M3L(RowLossRanker):
    """Max-margin multi-label classification with label covariances.

    One hinge loss per label, as in binary relevance with support vector machines, but the labels'
    models are tied by a covariance matrix R. With z_il = ±1 it minimises ::

        ½ tr(W R⁻¹ Wᵀ) + C Σ_i Σ_l (1 − z_il f_l(x_i))₊

    to a certified relative duality gap of ``tol``. A label is predicted where its score is
    positive.

    Parameters
    ----------
    {C}
    covariance : "correlation", None or array-like, default=...
        R: the correlations of the labels in the training rows, the identity (independent support
        vector machines), or a positive semidefinite matrix of shape (n_labels, n_labels).
    {kernel}
    {fit_intercept}
    {threshold}
    {tol}
    {max_epochs}
    {last_parameters}

    Attributes
    ----------
    covariance_ : ndarray of shape (n_labels, n_labels)
        R.
    {model}
    {certificate}
    {n_iter_}
    {n_support_}
    {threshold_}
    {labels}

    See Also
    --------
    CSRL : only the worst label on either side of a row costs something; learns covariances.

    References
    ----------
    B. Hariharan, L. Zelnik-Manor, S. V. N. Vishwanathan and M. Varma: Large scale max-margin
    multi-label classification with priors. ICML 2010, 423-430.

    Examples
    --------
    {example}
    """

    def __init__(
        self,
        C=1.0,
        covariance="correlation",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        threshold="calibrated",
        tol=1e-3,
        max_iter=10000,
        random_state=None,
        verbose=0,
        cache_size=2000.0,
    ):
        self.C = C
        self.covariance = covariance
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
            check_choice(
                "covariance", self.covariance, ("correlation",), or_else="None or a matrix"
            )

    def make_problem(self, prepared):
        m, n_labels = prepared.labels.shape
        given = self.covariance
        if isinstance(given, str):
            given = label_correlations(prepared.labels, prepared.sample_weight, prepared.known)
        elif given is not None:
            given = check_covariance(given, (n_labels,))
        # C Σ loss + ½ tr(…) with the weights of the loss as upper bounds of the multipliers
        weight = np.full(m, float(self.C))
        if prepared.sample_weight is not None:
            weight *= prepared.sample_weight
        covariance = LabelCovariance(n_labels, False, given)
        return BinaryLoss(prepared.labels, 1.0, covariance, weight, prepared.known)
