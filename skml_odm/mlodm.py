"""mlODM: the multi-label optimal margin distribution machine (paper 000)."""

from functools import partial

import numpy as np

from .base import KernelLabelRanker
from .losses import PairLoss
from .solvers.auto import auto
from .solvers.bcd import MultiplicativeBlocks, bcd
from .solvers.newton import newton
from .validation import check_choice, check_real

SOLVERS = {
    "auto": auto,
    "newton": newton,
    "bcd": bcd,
    "m3": partial(bcd, blocks=MultiplicativeBlocks),
}


class MLODM(KernelLabelRanker):
    """Multi-label optimal margin distribution machine."""

    def __init__(
        self,
        C=1.0,
        theta=0.3,
        mu=0.5,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        threshold="regression",
        solver="auto",
        tol=1e-3,
        max_iter=200,
        random_state=None,
        verbose=0,
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
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self):
        check_real("C", self.C, 0, open_low=True)
        check_real("theta", self.theta, 0, 1)
        check_real("mu", self.mu, 0, 1)
        check_choice("solver", self.solver, tuple(SOLVERS))
        check_real("tol", self.tol, 0, open_low=True)
        check_real("max_iter", self.max_iter, 1, integer=True)
        check_real("verbose", self.verbose, 0, np.inf)

    def _solve(self, operator, indicator, sample_weight):
        loss = PairLoss(indicator, self.C, self.theta, self.mu, sample_weight)
        solve = SOLVERS[self.solver]
        options = {} if self.solver == "newton" else {"random_state": self.random_state}
        return solve(
            operator,
            loss,
            tol=self.tol,
            max_iter=self.max_iter,
            verbose=self.verbose,
            **options,
        )
