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
from ..problems import _block
from ..problems._pair_rows import PairRows
from ..problems.contract import BlockLoss, check
from . import _m3
from .iteration import finish
from .result import Result
from .row_ascent import LinearVisits
from .sweeps import Epoch, PanelVisits, epochs

INTERCEPT_LANDMARKS = 64


class ExactBlocks:
    """Solve every block exactly."""

    def __init__(self, loss):
        self.rows = loss.rows(slice(None))

    def sweep(self, gap, negligible, *panel):
        return _block.sweep(negligible, *panel, *self.rows)


class MultiplicativeBlocks:
    """Improve every block by multiplicative updates (paper 000, Algorithm 2).

    Keeps one multiplier per label pair. The paper starts every one of them at 1; here they start
    at the row's weight where that is less, for they can hardly become larger.
    """

    max_updates = 100

    def __init__(self, loss):
        self.rows = loss.rows(slice(None))
        self.first = loss.first
        self.multipliers = np.repeat(np.minimum(1.0, loss.weight), loss.n_pairs)

    def sweep(self, gap, negligible, *panel):
        tol = max(1e-12, 0.01 * min(gap, 1.0))
        return _m3.sweep(*panel, *self.rows, self.first, self.multipliers, tol, self.max_updates)


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
        by_rows = operator.by_rows and blocks is ExactBlocks
        self.visits: Any = BlocksByRow(self) if by_rows else BlocksByPanel(self, blocks(loss))
        self.step = InterceptStep(operator, loss) if operator.intercept else None
        # Σ conjugate − ½⟨A, K A⟩ − ⟨b, Σ_i A_i⟩, followed through the blocks' gains
        self.concave = 0.0

    def __call__(self, rng, gap, negligible):
        surplus, gain = self.visits(rng, gap, negligible)
        self.concave += gain
        total = self.A.sum(axis=0)
        intercept = self.operator.intercept
        dual = self.concave + np.vdot(self.b, total) - 0.5 * intercept * np.vdot(total, total)
        if self.step is not None:
            residual = self.b - total
            surplus += 0.5 * np.vdot(residual, residual)
            if np.isfinite(surplus):
                change = self.step(self.met, residual)
                self.b -= change
                self.concave += np.vdot(change, total)
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
    """Visit all rows once, panel by panel: their gap when they were met, and the dual gain."""

    n_products = 2

    def __init__(self, sweep, blocks):
        self.sweep, self.blocks = sweep, blocks
        self.visits = PanelVisits(sweep.operator, sweep.A)

    def __call__(self, rng, gap, negligible):
        sweep, surplus, gain = self.sweep, 0.0, 0.0
        for panel in self.visits(rng):
            scores = panel.scores + sweep.b
            sweep.met[panel.rows] = scores
            panel_surplus, panel_gain = self.blocks.sweep(
                gap,
                negligible,
                panel.order,
                panel.rows.start,
                panel.rows.step,
                panel.gram,
                np.ascontiguousarray(scores.T),
                sweep.A,
                sweep.conjugate,
            )
            surplus += panel_surplus
            gain += panel_gain
        return surplus, gain


class BlocksByRow:
    """The same for sparse features and exact blocks, row by row."""

    n_products = 2

    def __init__(self, sweep):
        loss = sweep.loss.rows(slice(None))
        self.rows = PairRows(sweep.A, sweep.conjugate, sweep.met, sweep.b, *loss)
        self.visits = LinearVisits(sweep.operator.with_intercept(0.0), sweep.A, self.rows)
        self.surplus = np.zeros(sweep.n_rows)

    def __call__(self, rng, gap, negligible):
        before, self.rows.negligible = self.rows.dual, negligible
        self.visits(rng.permutation(len(self.surplus)), self.surplus)
        return self.surplus.sum(), self.rows.dual - before


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
            self.modes = self.loss.curvature_modes(scores)
            self.response = self.landmarks.constant_response(self.modes.values)
        step = self.modes.split(residual) / (1.0 + self.response)
        return self.length * self.modes.join(step)
