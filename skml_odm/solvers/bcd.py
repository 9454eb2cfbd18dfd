"""Dual block coordinate descent, one block per instance (paper 000, Algorithm 1).

The instances are visited panel by panel. At a panel the scores K[panel, :] A come from one matrix
product; its blocks are then solved one after the other, in random order, with nothing but the
panel's own small Gram matrix. An epoch so costs as much as one product K A, and the iterates are
those of plain block coordinate descent. Sparse features have no fast products: there the
rows are visited one by one, with explicit weights Xᵀ A.

A panel holds evenly spaced rows: a view of K, and a mixture of classes even where the data are
sorted by class. The spacing changes from epoch to epoch. With the same panels every time, the rows
of a panel stay behind the others together, which costs several times as many epochs.

The intercept b would slow the descent down if it were hidden in the kernel as K + 1, for it couples
all instances. It is a variable of its own, moved after each epoch by an approximate Newton step on

    b = Σ_i A_i(b).

The price is one more term, ½‖b − Σ_i A_i‖², in the duality gap.
"""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..features.landmarks import Landmarks
from ..problems._pair_rows import ExactBlocks
from ._row_ascent import sweep_panel
from .iteration import Step, finish
from .result import TINY, Result, Trace, relative_gap
from .row_ascent import PANEL_ROWS, LinearVisits

# Panels are made with one of this many spacings of rows, chosen anew for each epoch.
N_SPACINGS = 8

INTERCEPT_LANDMARKS = 64

# A block whose gap is below this share of what it may contribute to ``tol`` is left as it is.
NEGLIGIBLE = 0.03


def panels(m, rng):
    """Slices of evenly spaced rows that together make up all m rows, in random order."""
    spacing = -(-m // PANEL_ROWS)
    spacing += rng.randint(N_SPACINGS) if spacing > 1 else 0
    for start in rng.permutation(min(spacing, m)):
        yield slice(int(start), None, spacing)


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
        The block solver: ``ExactBlocks`` or ``MultiplicativeBlocks``.
    verbose : int
        Print a line per epoch if positive.

    Returns
    -------
    Result
    """
    epochs = bcd_epochs(
        operator, loss, tol=tol, random_state=random_state, blocks=blocks, verbose=verbose
    )
    return finish(epochs, max_iter)


def bcd_epochs(operator, loss, *, tol, random_state=None, blocks=ExactBlocks, verbose=0):
    """Epochs one at a time; see :mod:`.iteration` for the protocol."""
    rng = check_random_state(random_state)
    trace = Trace("bcd", verbose)
    m, q = loss.shape
    A, b, conjugate = np.zeros((m, q)), np.zeros(q), np.zeros(m)
    met = np.zeros((m, q))
    problem = blocks(loss, A, biases=b, conjugate=conjugate, met=met)
    sweep: Any = (RowSweep if operator.by_rows else PanelSweep)(operator, A, problem)
    intercept_step: Any = InterceptStep(operator, loss) if operator.intercept else None
    # the blocks follow the dual value Σ conjugate − ½⟨A, K A⟩ − ⟨b, Σ_i A_i⟩
    rows_surplus = np.zeros(m)
    gap, worth_a_look, last = 1.0, tol, False
    epoch = 0
    while not last:
        epoch += 1
        problem.gap = gap
        sweep(rng, rows_surplus)
        surplus = rows_surplus.sum()
        # The gap of each block when it was met, and that of the intercept: an estimate that runs
        # an epoch late and only decides when to compute the true one.
        total = A.sum(axis=0)
        if operator.intercept:
            surplus += 0.5 * np.sum((b - total) ** 2)
        dual = problem.dual + np.vdot(b, total) - 0.5 * operator.intercept * np.vdot(total, total)
        if not np.isfinite(surplus):
            raise FloatingPointError("the dual value is not finite")
        previous, gap = gap, max(surplus, 0.0) / max(dual + surplus, 1e-300 * surplus, TINY)
        problem.negligible = NEGLIGIBLE * tol * max(dual, 0.0) / m
        trace.add(epoch, dual + surplus, surplus)
        if operator.intercept:
            change = intercept_step(met, b - total)
            b -= change
            problem.dual += np.vdot(change, total)
        if gap * min(gap, previous) <= worth_a_look * previous:
            scores, primal, difference = _certify(operator, loss, A, b, conjugate)
            true = relative_gap(primal, difference)
            if true <= tol:
                break
            # the estimate was too small, or the prediction from it: look when it is smaller by that
            worth_a_look = min(0.9 * worth_a_look, tol * gap / true)
        last = yield Step(gap, 2)
    else:
        scores, primal, difference = _certify(operator, loss, A, b, conjugate)
    return Result(
        coefficients=A,
        intercept=b,
        scores=scores,
        primal=primal,
        difference=difference,
        n_iter=epoch,
        converged=relative_gap(primal, difference) <= tol,
        trace=trace.entries,
    )


class PanelSweep:
    """Visit all rows once, panel by panel; ``blocks`` changes the coefficients A."""

    def __init__(self, operator, A, blocks):
        self.operator, self.A, self.blocks = operator, A, blocks
        self.current = operator.follow(A)
        self.numbers = np.arange(len(A))

    def __call__(self, rng, surplus):
        for rows in panels(len(self.A), rng):
            before = self.A[rows].copy()
            gram, scores = self.operator.gram(rows), self.current.scores(rows)
            order = rng.permutation(len(before))
            sweep_panel(self.blocks, gram, scores, self.numbers[rows], order, surplus)
            self.current.changed(rows, before)


class RowSweep:
    """The same for sparse features, row by row."""

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


def _certify(operator, loss, A, b, conjugate):
    """Scores, primal value and duality gap of the current coefficients, all computed anew."""
    scores = operator.product(A)
    total = A.sum(axis=0)
    dual = conjugate.sum() - 0.5 * np.vdot(A, scores)
    if operator.intercept:
        # the product has the intercept Σ_i A_i; the descent has moved on to b
        scores += b - total
    primal = loss.evaluate(scores)[0] + 0.5 * (np.vdot(A, scores) + np.vdot(b, b - total))
    return scores, primal, primal - dual
