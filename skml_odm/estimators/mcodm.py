"""mcODM: the multi-class optimal margin distribution machine (paper 004)."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ..problems.classes import ClassProblem
from ..solvers.acceptance import accepted
from ..solvers.multiclass import descend
from ..solvers.multiclass_newton import newton, suits_descent
from ..solvers.multiclass_spaces import FunctionSpace, WeightSpace, explicit_features
from ..utils.validation import COUNT, one_of
from .classifier import KernelClassifier, shares
from .shared_docs import estimator_docs

SOLVERS = ("auto", "newton", "descent")
SURROGATES = ("runner-up", "paper")
# Kernel matrices of at most this many rows are made features of, if these are few.
EXPLICIT = 500


class ClassSetup(NamedTuple):
    """The problem, the space in which it is solved, and the way back to coefficients, if any."""

    space: Any
    problem: Any
    back: Any
    by_newton: bool


@estimator_docs()
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
    C : float, default=...
        Weight of the loss against the regulariser; λ of the paper, which tries 2⁰, 2², …, 2²⁰. The
        loss is a mean over rows, so a given C means the same for few rows and for many.
    theta : float, default=...
        Half the width of the band of margins around 1 that cost nothing; in [0, 1).
    mu : float, default=...
        Weight of margins above the band against those below; in [0, 1]. With 0 the problem is
        convex: a squared-hinge multi-class support vector machine.
    {kernel}
    fit_intercept : bool, default=...
        Whether classes have an intercept, regularised like the other weights. The paper has none.
    solver : {"auto", "newton", "descent"}, default=...
        "newton" minimises over the weights directly; it needs the default surrogate. "descent" goes
        from row to row in the dual. "auto" is "newton", but "descent" for the paper's surrogate and
        for a linear kernel with more features than rows, or more than 1500 weights (classes times
        features) and fewer than four rows per feature, or more than 1500 features.
    surrogate : {"runner-up", "paper"}, default=...
        The convex problem that stands for the objective near a point. "paper" fixes the *score* of
        each row's best other class, as paper 004 does: no majorant, and where it comes to rest
        the objective can still be lowered. "runner-up" fixes which class that is.
    tol : float, default=...
        Relative duality gap of the last convex problem.
    max_iter : int, default=...
        Newton steps, or passes over the rows, at most; a ``ConvergenceWarning`` says when they do
        not suffice.
    max_outer_iter : int, default=...
        Convex problems at most; each Newton step has its own.
    {last_parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Weights; only with ``kernel="linear"``. For two classes their difference.
    intercept_ : ndarray of shape (n_classes,) or (1,)
    dual_coef_ : ndarray of shape (n_samples, n_classes) or (n_samples, 1)
        Coefficients V of the training rows: scores are K(x, X) V + b. With a linear kernel and
        Newton's method they are the dual point, and Xᵀ V is ``coef_`` only as far as the gap says.
    {X_fit_}
    objective_ : float
        Value of the objective.
    dual_gap_ : float
        Relative duality gap of the last convex problem, computed anew from the final point: no
        further step could lower the objective by a larger share.
    n_iter_ : int
        Newton steps, or passes over the rows.
    n_outer_iter_ : int
        Convex problems met.
    {n_support_}
    {features}

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

    checks = KernelClassifier.checks | {
        "solver": one_of(*SOLVERS),
        "surrogate": one_of(*SURROGATES),
        "max_outer_iter": COUNT,
    }
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

    def _validate_params(self):
        super()._validate_params()
        if self.solver == "newton" and self.surrogate == "paper":
            raise ValueError(
                "solver='newton' needs surrogate='runner-up'; got surrogate='paper'. "
                "Use solver='auto' or 'descent'."
            )

    def make_operator(self, prepared, matrix=None):
        # a linear kernel has its features instead
        return (None, None) if self.kernel == "linear" else super().make_operator(prepared, matrix)

    def make_problem(self, prepared):
        X, operator, k = prepared.rows, prepared.operator, len(prepared.target.classes)
        moving, linear = self.surrogate == "runner-up", operator is None
        by_newton = self.solver == "newton" or (
            self.solver == "auto" and moving and not (linear and suits_descent(X.shape, k))
        )
        space: Any
        back = None
        if linear:
            space = WeightSpace(X, self.fit_intercept)
        elif by_newton and X.shape[0] <= EXPLICIT and operator.matrix is not None:
            features, back = explicit_features(operator)
            space = WeightSpace(features, operator.intercept)
        else:
            space = FunctionSpace(operator)
        problem = ClassProblem(
            prepared.labels,
            2.0 * self.C / (1.0 - self.theta) ** 2 * shares(prepared),
            space.diagonal(),
            k,
            lower=1.0 - self.theta,
            upper=1.0 + self.theta,
            mu=self.mu,
            moving=moving,
        )
        return ClassSetup(space, problem, back, by_newton)

    def solver_options(self):
        options = super().solver_options()
        options["rng"] = check_random_state(options.pop("random_state"))
        return {**options, "max_outer_iter": self.max_outer_iter}

    def minimise(self, prepared, **options):
        space, problem, _, by_newton = prepared.problem
        return (newton if by_newton else descend)(space, problem, **options)

    def accept(self, prepared, result):
        space, back = prepared.problem.space, prepared.problem.back
        zero = np.zeros_like(result.unknowns)
        result = accepted(result, space, self.C, tol=self.tol, unknowns=zero)
        if back is not None:
            result.coefficients = back @ result.unknowns[:-1]
        if len(prepared.target.classes) == 2:
            result.coefficients = np.diff(result.coefficients, axis=1)
            result.intercept = np.diff(result.intercept)
        return result

    def keep(self, prepared, result, **options):
        super().keep(prepared, result, **options)
        self.n_outer_iter_ = result.n_outer
        return self

    def _weights(self, prepared, result, coefficients):
        if self.kernel != "linear":
            return None
        weights = result.unknowns[:-1]
        return np.diff(weights, axis=1) if len(prepared.target.classes) == 2 else weights
