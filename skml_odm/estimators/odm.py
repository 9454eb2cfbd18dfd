"""ODM: the optimal margin distribution machine for two classes (Zhang and Zhou)."""

import numpy as np
from sklearn.utils.multiclass import type_of_target

from ..problems.pairs import PairLoss
from ..solvers.turns import minimise
from .classifier import KernelClassifier, shares
from .shared_docs import estimator_docs


@estimator_docs()
class ODM(KernelClassifier):
    """Optimal margin distribution machine for two classes.

    Learns a score f whose margins γ_i = ±f(x_i), with the sign of the row's class, lie close to 1,
    by minimising ::

        ½ ‖w‖² + C/m Σ_i ((1−θ−γ_i)₊² + μ (γ_i−1−θ)₊²) / (1−θ)²

    to a certified relative duality gap of ``tol``; m is the number of rows or, with sample weights,
    their sum. The problem is convex and smooth.

    Parameters
    ----------
    C : float, default=...
        Weight of the loss against the regulariser; λ of the papers. The loss is a mean over rows,
        so a given C means the same for few rows and for many.
    theta : float, default=...
        Half the width of the band of margins around 1 that cost nothing; in [0, 1).
    mu : float, default=...
        Weight of margins above the band against those below; in [0, 1]. With θ = μ = 0 this is the
        support vector machine with squared hinge loss.
    {kernel}
    fit_intercept : bool, default=...
        Whether f has an intercept, regularised like the other weights. The papers have none.
    {tol}
    max_iter : int, default=...
        Iterations at most; a ``ConvergenceWarning`` says when they do not suffice.
    {last_parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The score is to be positive for the second.
    coef_ : ndarray of shape (1, n_features)
        Weights w; only with ``kernel="linear"``.
    intercept_ : ndarray of shape (1,)
    dual_coef_ : ndarray of shape (n_samples, 1)
        Signed coefficients of the training rows.
    {X_fit_}
    {certificate}
    {n_iter_}
    {n_support_}
    {features}

    References
    ----------
    T. Zhang, Z.-H. Zhou: Optimal margin distribution machine. IEEE Transactions on Knowledge and
    Data Engineering 32(6), 1143-1156, 2020; arXiv:1604.03348.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from skml_odm import ODM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ODM().fit(minmax_scale(X), y)
    >>> bool(model.score(minmax_scale(X), y) > 0.95)
    True
    >>> bool(model.dual_gap_ <= 1e-3)
    True
    """

    def __init__(
        self,
        C=1024.0,
        theta=0.2,
        mu=0.5,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
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
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.cache_size = cache_size

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @property
    def loss_parameters(self) -> tuple[float, float, float]:
        """C, θ and μ of the loss on label pairs."""
        return self.C / (1.0 - self.theta) ** 2, self.theta, self.mu

    def make_problem(self, prepared):
        # The score is the difference of two labels' scores, of which each row has one. Their
        # weights are ±w/2, whose squares add up to ½‖w‖²: everything is half as large.
        labels = np.column_stack([prepared.labels == 0, prepared.labels == 1])
        return PairLoss(labels, *self.loss_parameters, sample_weight=shares(prepared))

    def minimise(self, prepared, **options):
        return minimise("auto", prepared.operator, prepared.problem, **options)

    def accept(self, prepared, result):
        result = super().accept(prepared, result)
        result.primal *= 2.0
        result.difference *= 2.0
        result.coefficients = np.diff(result.coefficients, axis=1)
        result.intercept = np.diff(result.intercept)
        return result

    def _check_classes(self, classes, y):
        if len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}. y must have two classes; got {len(classes)}. "
                "MCODM takes more."
            )
