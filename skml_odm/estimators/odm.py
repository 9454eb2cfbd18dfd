"""ODM: the optimal margin distribution machine for two classes (Zhang and Zhou)."""

import numpy as np
from sklearn.utils.multiclass import type_of_target

from ..features.kernels import for_original_kernel
from ..features.operators import LinearOperator
from ..problems.pairs import PairLoss
from ..solvers.acceptance import accepted
from .classifier import KernelClassifier


class ODM(KernelClassifier):
    """Optimal margin distribution machine for two classes.

    Learns a score f whose margins γ_i = ±f(x_i), with the sign of the row's class, lie close to 1,
    by minimising ::

        ½ ‖w‖² + C/m Σ_i ((1−θ−γ_i)₊² + μ (γ_i−1−θ)₊²) / (1−θ)²

    to a certified relative duality gap of ``tol``; m is the number of rows or, with sample weights,
    their sum. The problem is convex and smooth.

    Parameters
    ----------
    C : float, default=1024.0
        Weight of the loss against the regulariser; λ of the papers. The loss is a mean over rows,
        so a given C means the same for few rows and for many.
    theta : float, default=0.2
        Half the width of the band of margins around 1 that cost nothing; in [0, 1).
    mu : float, default=0.5
        Weight of margins above the band against those below; in [0, 1]. With θ = μ = 0 this is the
        support vector machine with squared hinge loss.
    kernel : str or callable, default="linear"
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
        Whether f has an intercept, regularised like the other weights. The papers have none.
    tol : float, default=1e-3
        Relative duality gap to reach.
    max_iter : int, default=2000
        Iterations at most; a ``ConvergenceWarning`` says when they do not suffice.
    random_state : int, RandomState instance or None, default=None
        Order in which rows are visited. None is a fixed order:
        two fits with the same arguments give the same model.
    verbose : int, default=0
        Print a line per iteration if positive.
    cache_size : float, default=2000.0
        Megabytes that the kernel matrix may take (8 m² bytes: 16 000 rows by default). A larger one
        is computed anew, a few rows at a time, whenever it is needed.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The score is to be positive for the second.
    coef_ : ndarray of shape (1, n_features)
        Weights w; only with ``kernel="linear"``.
    intercept_ : ndarray of shape (1,)
    dual_coef_ : ndarray of shape (n_samples, 1)
        Signed coefficients of the training rows.
    X_fit_ : ndarray or CSR matrix
        The training rows; not with a linear or precomputed kernel.
    objective_ : float
        Value of the objective.
    dual_gap_ : float
        Relative duality gap, computed from the final coefficients: the optimum is at least
        ``objective_ * (1 - dual_gap_)``.
    n_iter_ : int
    n_support_ : int
        Training rows with a coefficient other than zero.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if X has string column names.

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

    def fit(self, X, y, sample_weight=None):
        self._fit(X, y, sample_weight)
        return self

    fit.__doc__ = KernelClassifier.fit.__doc__

    def _check_classes(self, y):
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}. y must have two classes; got {len(self.classes_)}. "
                "MCODM takes more."
            )

    def _solve(self, X, codes, weight):
        operator, eigenvectors = self._sharing.operator(self, X)
        # The score is the difference of two labels' scores, of which each row has one. Their
        # weights are ±w/2, whose squares add up to ½‖w‖²: everything is half as large.
        labels = np.column_stack([codes == 0, codes == 1])
        loss = PairLoss(labels, self.C / (1.0 - self.theta) ** 2, self.theta, self.mu, weight)
        result = self._sharing.minimise(
            "auto",
            operator,
            loss,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self._seed,
            verbose=self.verbose,
        )
        result = accepted(result, operator, loss.at_zero, tol=self.tol)
        result.primal *= 2.0
        result.difference *= 2.0
        result.coefficients = np.diff(result.coefficients, axis=1)
        result.intercept = np.diff(result.intercept)
        result.coefficients = for_original_kernel(result.coefficients, eigenvectors)
        is_linear = isinstance(operator, LinearOperator)
        return result, operator.weights(result.coefficients) if is_linear else None
