"""mcODM: the multi-class optimal margin distribution machine (paper 004)."""

from typing import Any, cast

import numpy as np
from sklearn.utils import check_random_state

from ..features.kernels import for_original_kernel
from ..problems.classes import ClassProblem
from ..solvers.acceptance import accepted
from ..solvers.multiclass import descend
from ..solvers.multiclass_newton import suits_descent
from ..solvers.multiclass_spaces import FunctionSpace, WeightSpace, explicit_features
from ..utils.validation import check_choice, check_real
from .classifier import KernelClassifier

SOLVERS = ("auto", "newton", "descent")
SURROGATES = ("runner-up", "paper")
# Kernel matrices of at most this many rows are made features of, if these are few.
EXPLICIT = 500


class MCODM(KernelClassifier):
    """Multi-class optimal margin distribution machine.

    Learns one score per class so that the margins γ_i = f_y(x_i) − max_{l≠y} f_l(x_i) of the
    training rows lie close to 1, by minimising ::

        ½ Σ_l ‖w_l‖² + C/m Σ_i ((1−θ−γ_i)₊² + μ (γ_i−1−θ)₊²) / (1−θ)²

    with m the number of rows or, with sample weights, their sum. The objective is not convex. It is
    minimised through convex majorants that touch it, and never rises on the way; the certificate
    says that the last majorant cannot be lowered by more than a share ``tol``.

    Parameters
    ----------
    C : float, default=1024.0
        Weight of the loss against the regulariser; λ of the paper, which tries 2⁰, 2², …, 2²⁰. The
        loss is a mean over rows, so a given C means the same for few rows and for many.
    theta : float, default=0.2
        Half the width of the band of margins around 1 that cost nothing; in [0, 1).
    mu : float, default=0.5
        Weight of margins above the band against those below; in [0, 1]. With 0 the problem is
        convex: a squared-hinge multi-class support vector machine.
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
        Whether classes have an intercept, regularised like the other weights. The paper has none.
    solver : {"auto", "newton", "descent"}, default="auto"
        "newton" minimises over the weights directly; it needs the default surrogate. "descent" goes
        from row to row in the dual. "auto" is "newton", but "descent" for the paper's surrogate and
        for a linear kernel with more features than rows, or more than 1500 weights (classes times
        features) and fewer than four rows per feature, or more than 1500 features.
    surrogate : {"runner-up", "paper"}, default="runner-up"
        The convex problem that stands for the objective near a point. "paper" fixes the *score* of
        each row's best other class, as paper 004 does: no majorant, and where it comes to rest
        the objective can still be lowered. "runner-up" fixes which class that is.
    tol : float, default=1e-3
        Relative duality gap of the last convex problem.
    max_iter : int, default=2000
        Newton steps, or passes over the rows, at most; a ``ConvergenceWarning`` says when they do
        not suffice.
    max_outer_iter : int, default=500
        Convex problems at most; each Newton step has its own.
    random_state : int, RandomState instance or None, default=None
        Order in which rows are visited. None is a fixed order:
        two fits with the same arguments give the same model.
    verbose : int, default=0
        Print a line per convex problem if positive.
    cache_size : float, default=2000.0
        Megabytes that the kernel matrix may take (8 m² bytes: 16 000 rows by default). A larger one
        is computed anew, a few rows at a time, whenever it is needed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Weights; only with ``kernel="linear"``. For two classes their difference.
    intercept_ : ndarray of shape (n_classes,) or (1,)
    dual_coef_ : ndarray of shape (n_samples, n_classes) or (n_samples, 1)
        Coefficients V of the training rows: scores are K(x, X) V + b. With a linear kernel and
        Newton's method they are the dual point, and Xᵀ V is ``coef_`` only as far as the gap says.
    X_fit_ : ndarray or CSR matrix
        The training rows; not with a linear or precomputed kernel.
    objective_ : float
        Value of the objective.
    dual_gap_ : float
        Relative duality gap of the last convex problem, computed anew from the final point: no
        further step could lower the objective by a larger share.
    n_iter_ : int
        Newton steps, or passes over the rows.
    n_outer_iter_ : int
        Convex problems met.
    n_support_ : int
        Training rows with a coefficient other than zero.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if X has string column names.

    Notes
    -----
    With two classes the problem is convex, and ``MCODM(C)`` is :class:`~skml_odm.ODM` with 2 C.

    Different starts may end in different minima; ours is near the minimum for μ = 0, which is
    unique.

    References
    ----------
    T. Zhang, Z.-H. Zhou: Multi-class optimal margin distribution machine. ICML 2017, PMLR 70,
    4063-4071.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skml_odm import MCODM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MCODM(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> bool(model.dual_gap_ <= 1e-3)
    True
    """

    linear_precisions = (np.float64, np.float32)

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
        solver="auto",
        surrogate="runner-up",
        tol=1e-3,
        max_iter=2000,
        max_outer_iter=500,
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
        self.solver = solver
        self.surrogate = surrogate
        self.tol = tol
        self.max_iter = max_iter
        self.max_outer_iter = max_outer_iter
        self.random_state = random_state
        self.verbose = verbose
        self.cache_size = cache_size

    def fit(self, X, y, sample_weight=None):
        self.n_outer_iter_ = self._fit(X, y, sample_weight).n_outer
        return self

    fit.__doc__ = KernelClassifier.fit.__doc__

    def _check_parameters(self):
        check_choice("solver", self.solver, SOLVERS)
        check_choice("surrogate", self.surrogate, SURROGATES)
        check_real("max_outer_iter", self.max_outer_iter, 1, integer=True)
        if self.solver == "newton" and self.surrogate == "paper":
            raise ValueError(
                "solver='newton' needs surrogate='runner-up'; got surrogate='paper'. "
                "Use solver='auto' or 'descent'."
            )

    def _solve(self, X, codes, weight):
        k = len(self.classes_)
        moving = self.surrogate == "runner-up"
        linear = self.kernel == "linear"
        by_newton = self.solver == "newton" or (
            self.solver == "auto" and moving and not (linear and suits_descent(X.shape, k))
        )
        space: Any
        eigenvectors, back, weights = None, None, cast(Any, None)
        if linear:
            space = WeightSpace(X, self.fit_intercept)
        else:
            operator, eigenvectors = self._sharing.operator(self, X)
            if by_newton and len(codes) <= EXPLICIT and operator.matrix is not None:
                features, back = explicit_features(operator)
                space = WeightSpace(features, operator.intercept)
            else:
                space = FunctionSpace(operator)
        problem = ClassProblem(
            codes,
            2.0 * self.C / (1.0 - self.theta) ** 2 * weight,
            space.diagonal(),
            k,
            lower=1.0 - self.theta,
            upper=1.0 + self.theta,
            mu=self.mu,
            moving=moving,
        )
        options = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "max_outer_iter": self.max_outer_iter,
            "rng": check_random_state(self._seed),
            "verbose": self.verbose,
        }
        if by_newton:
            result = self._sharing.minimise_classes(self, space, problem, **options)
        else:
            result = descend(space, problem, **options)
        zero = np.zeros_like(result.unknowns)
        result = accepted(result, space, self.C, tol=self.tol, unknowns=zero)
        if back is not None:
            result.coefficients = back @ result.unknowns[:-1]
        result.coefficients = for_original_kernel(result.coefficients, eigenvectors)
        if linear:
            weights = result.unknowns[:-1]
        if k == 2:
            result.coefficients = np.diff(result.coefficients, axis=1)
            result.intercept = np.diff(result.intercept)
            weights = np.diff(weights, axis=1) if linear else None
        return result, weights
