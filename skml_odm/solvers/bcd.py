"""Dual block coordinate descent, one block per instance (paper 000, Algorithm 1).

The instances are visited panel by panel. At a panel the scores K[panel, :] A come from one matrix
product; its blocks are then solved one after the other, in random order, with nothing but the
panel's own small Gram matrix. An epoch so costs as much as one product K A, and the iterates are
those of plain block coordinate descent. Sparse features have no fast products: there the
rows are visited one by one, with explicit weights Xᵀ A.

The intercept b would slow the descent down if it were hidden in the kernel as K + 1, for it couples
all instances. It is a variable of its own, moved after each epoch by an approximate Newton step on

    b = Σ_i A_i(b).

The price is one more term, ½‖b − Σ_i A_i‖², in the duality gap.
"""

from typing import Any

import numpy as np

from ..features.landmarks import Landmarks
from ..problems._pair_rows import ExactBlocks
from ..problems.contract import BlockLoss, check
from ._row_ascent import sweep_panel
from .iteration import finish
from .result import Result
from .row_ascent import LinearVisits
from .sweeps import Epoch, PanelVisits, epochs

INTERCEPT_LANDMARKS = 64


def bcd(
    operator,
    loss,
    *,
    tol,
    max_iter,
    random_state=None,
    blocks=ExactBlocks,
    verbose=0,
):
    """Solve the problem to a relative duality gap of ``tol``.

    Parameters
    ----------
    operator, loss
        K and L.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Epochs at most.
    random_state : int, RandomState or None
        Panels of each epoch, and the order within them.
    blocks : class
        The block solver.
    verbose : int
        Print a line per epoch if positive.

    Returns
    -------
    Result
    """
    sweep = BlockSweep(operator, loss, blocks)
    return finish(epochs(sweep, tol=tol, random_state=random_state, verbose=verbose), max_iter)


class BlockSweep:
    """Visit the blocks of all rows once, then move the intercept."""

    name = "bcd"

    def __init__(self, operator, loss, blocks=ExactBlocks):
        check(loss, BlockLoss, "bcd")
        self.operator, self.loss = operator, loss
        self.n_rows, q = loss.shape
        self.A, self.b = np.zeros(loss.shape), np.zeros(q)
        # each row's share of the dual value, and the scores with which it was met
        self.conjugate, self.met = np.zeros(self.n_rows), np.zeros(loss.shape)
        # follow the dual value Σ conjugate − ½⟨A, K A⟩ − ⟨b, Σ_i A_i⟩
        self.blocks = blocks(loss, self.A, biases=self.b, conjugate=self.conjugate, met=self.met)
        kind = BlocksByRow if operator.by_rows else BlocksByPanel
        self.visits: Any = kind(operator, self.A, self.blocks)
        self.surplus = np.zeros(self.n_rows)
        self.step = InterceptStep(operator, loss) if operator.intercept else None

    def __call__(self, rng, gap, negligible):
        self.blocks.gap, self.blocks.negligible = gap, negligible
        self.visits(rng, self.surplus)
        surplus = self.surplus.sum()
        total = self.A.sum(axis=0)
        intercept = self.operator.intercept
        dual = self.blocks.dual + np.vdot(self.b, total) - 0.5 * intercept * np.vdot(total, total)
        if self.step is not None:
            residual = self.b - total
            surplus += 0.5 * np.vdot(residual, residual)
            if np.isfinite(surplus):
                change = self.step(self.met, residual)
                self.b -= change
                self.blocks.dual += np.vdot(change, total)
        return Epoch(surplus, dual, self.visits.n_products)

    def certificate(self):
        A, b = self.A, self.b
        scores = self.operator.product(A)
        total = A.sum(axis=0)
        dual = self.conjugate.sum() - 0.5 * np.vdot(A, scores)
        if self.operator.intercept:
            # the product has the intercept Σ_i A_i; the descent has moved on to b
            scores += b - total
        quadratic = 0.5 * (np.vdot(A, scores) + np.vdot(b, b - total))
        primal = self.loss.evaluate(scores)[0] + quadratic
        return Result(
            coefficients=A,
            intercept=b,
            scores=scores,
            primal=primal,
            difference=primal - dual,
            n_iter=0,
            converged=False,
        )


class BlocksByPanel:
    """Visit all rows once, panel by panel; ``blocks`` changes the coefficients A."""

    n_products = 2

    def __init__(self, operator, A, blocks):
        self.blocks, self.visits = blocks, PanelVisits(operator, A)
        self.numbers = np.arange(len(A))

    def __call__(self, rng, surplus):
        for panel in self.visits(rng):
            sweep_panel(
                self.blocks,
                panel.gram,
                panel.scores,
                self.numbers[panel.rows],
                panel.order,
                surplus,
            )


class BlocksByRow:
    """The same for sparse features, row by row."""

    n_products = 1

    def __init__(self, operator, A, blocks):
        self.visits = LinearVisits(operator.with_intercept(0.0), A, blocks)

    def __call__(self, rng, surplus):
        self.visits(rng.permutation(len(surplus)), surplus)


class InterceptStep:
    """An approximate Newton step on b = Σ_i A_i(b), the optimality condition of the intercept.

    A common shift of all scores by b changes Σ_i A_i by about −1ᵀ(D⁻¹ + K)⁻¹1 b, D the average
    Hessian of the loss. That is an estimate: steps become shorter while they overshoot.
    """

    def __init__(self, operator, loss):
        self.loss = loss
        self.n_calls = 0
        self.landmarks = Landmarks(operator, INTERCEPT_LANDMARKS, intercept=0.0)
        self.length = 1.0
        self.last = np.zeros(loss.shape[1])

    def __call__(self, scores, residual):
        if np.vdot(residual, self.last) >= 0.0:
            self.length = min(1.0, 1.5 * self.length)
        elif np.vdot(residual, residual) > np.vdot(self.last, self.last):
            self.length *= 0.5
        self.last = residual
        self.n_calls += 1
        # the curvature settles: after 1, 2, 3, 4, 8, 16, … epochs it is worth computing anew
        if self.n_calls <= 4 or self.n_calls & (self.n_calls - 1) == 0:
            self.modes = self.loss.curvature(scores).modes()
            self.response = self.landmarks.constant_response(self.modes.values)
        step = self.modes.split(residual) / (1.0 + self.response)
        return self.length * self.modes.join(step)
