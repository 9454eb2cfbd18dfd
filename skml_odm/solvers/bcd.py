"""Dual block coordinate descent, one block per instance (paper 000, Algorithm 1).

The instances are visited panel by panel. At a panel the scores K[panel, :] A come from one matrix
product; its blocks are then solved one after the other, in random order, with nothing but the
panel's own small Gram matrix. With many rows a panel is visited twice: the second visit needs no
product, and gains much of what another epoch would. An epoch so costs little more than one product
K A, and the iterates are those of plain block coordinate descent. Sparse features have no fast
products: there the rows are visited one by one, with explicit weights Xᵀ A.

Where K is in memory and large, a panel's changes are carried over to the scores of all rows at
once: the same work, and the duality gap can be looked at before an epoch is over.

A panel holds evenly spaced rows: a view of K, and a mixture of classes even where the data are
sorted by class. The spacing changes from epoch to epoch. With the same panels every time, the rows
of a panel stay behind the others together, which costs several times as many epochs.

The intercept b would slow the descent down if it were hidden in the kernel as K + 1, for it couples
all instances. It is a variable of its own, moved after each epoch, or each quarter of it where the
scores of all rows are known, by an approximate Newton step on

    b = Σ_i A_i(b).

The price is one more term, ½‖b − Σ_i A_i‖², in the duality gap.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ..operators import GROUP
from . import _block, _m3
from ._pair_rows import PairRows
from .iteration import Step, finish
from .landmarks import Landmarks
from .result import TINY, Result, Trace, relative_gap
from .row_ascent import PANEL_ROWS, LinearVisits

# Panels are made with one of this many spacings of rows, chosen anew for each epoch.
N_SPACINGS = 8

INTERCEPT_LANDMARKS = 64

# A block whose gap is below this share of what it may contribute to ``tol`` is left as it is.
NEGLIGIBLE = 0.03

# With fewer rows K stays in the cache, and products take less time than blocks: then neither second
# visits nor looks within an epoch pay.
LARGE = 512

# Where the scores of all rows are known, the intercept is moved after every part of an epoch, and
# the gap is looked at if ``tol`` is at least this share of the last one seen.
N_PARTS = 4
NEAR = 0.2


class ExactBlocks:
    """Solve every block exactly; ``n_visits`` times while its panel is at hand."""

    n_visits = 2

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
    n_visits = 1

    def __init__(self, loss):
        self.rows = loss.rows(slice(None))
        self.first = loss.first
        self.multipliers = np.repeat(np.minimum(1.0, loss.weight), loss.n_pairs)

    def sweep(self, gap, negligible, *panel):
        tol = max(1e-12, 0.01 * min(gap, 1.0))
        return _m3.sweep(*panel, *self.rows, self.first, self.multipliers, tol, self.max_updates)


def panels(m, rng, n_spacings=N_SPACINGS):
    """Slices of evenly spaced rows that together make up all m rows, in random order."""
    spacing = -(-m // PANEL_ROWS)
    spacing += rng.randint(n_spacings) if spacing > 1 else 0
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
        The block solver.
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
    by_rows = operator.by_rows and blocks is ExactBlocks
    sweep: Any = (RowSweep if by_rows else PanelSweep)(operator, loss, blocks, A, conjugate, b, met)
    intercept_step: Any = None
    # Σ conjugate − ½⟨A, K A⟩ − ⟨b, Σ_i A_i⟩, followed through the blocks' gains
    concave = 0.0
    gap, worth_a_look, last = 1.0, tol, False
    # what the last look at the true gap said
    seen = 1.0
    negligible = 0.0
    epoch = 0
    while not last:
        epoch += 1
        surplus, apart, found = 0.0, 0.0, None
        for part_surplus, gain in sweep(rng, gap, negligible):
            surplus += part_surplus
            concave += gain
            total = A.sum(axis=0)
            if sweep.knows_all and tol >= NEAR * seen:
                found = _certify(operator, loss, A, b, conjugate, sweep.product())
                if found.gap <= tol:
                    break
            if operator.intercept:
                if intercept_step is None:
                    intercept_step = InterceptStep(operator, loss)
                apart = 0.5 * np.sum((b - total) ** 2)
                change = intercept_step(sweep.scores, b - total)
                b -= change
                concave += np.vdot(change, total)
                found = None
        # The gap of each block when it was met, and that of the intercept: an estimate that runs
        # an epoch late and only decides when to compute the true one.
        surplus += apart
        dual = concave + np.vdot(b, total) - 0.5 * operator.intercept * np.vdot(total, total)
        if not np.isfinite(surplus):
            raise FloatingPointError("the dual value is not finite")
        previous, gap = gap, max(surplus, 0.0) / max(dual + surplus, 1e-300 * surplus, TINY)
        negligible = NEGLIGIBLE * tol * max(dual, 0.0) / m
        trace.add(epoch, dual + surplus, surplus)
        if sweep.knows_all:
            if found is None:
                found = _certify(operator, loss, A, b, conjugate, sweep.product())
            seen = found.gap
            promising = seen <= tol
        else:
            promising = gap * min(gap, previous) <= worth_a_look * previous
        if promising:
            # in the first epoch what is known is a product, computed panel by panel
            if found is None or epoch > 1:
                found = _certify(operator, loss, A, b, conjugate)
            if found.gap <= tol:
                break
            # the estimate was too small, or the prediction from it: look when it is smaller by that
            worth_a_look = min(0.9 * worth_a_look, tol * gap / found.gap)
        last = yield Step(gap, 2)
    else:
        found = _certify(operator, loss, A, b, conjugate)
    return Result(
        A,
        b,
        found.scores,
        found.primal,
        found.difference,
        epoch,
        found.gap <= tol,
        trace.entries,
    )


class PanelSweep:
    """Visit all rows, panel by panel.

    A, the rows' shares of the dual value, and the scores with which rows were met are kept up to
    date; b is what scores have beyond K A. Yields the gap of the rows as met and the dual gain:
    after every part if the scores of all rows are known then, else once.
    """

    def __init__(self, operator, loss, blocks, A, conjugate, b, met):
        self.operator, self.blocks = operator, blocks(loss)
        self.A, self.conjugate, self.b, self.met = A, conjugate, b, met
        self.knows_all = operator.matrix is not None and len(A) >= LARGE
        self.n_visits = self.blocks.n_visits if len(A) >= LARGE else 1
        self.current: Any = AllScores(operator, A) if self.knows_all else Followed(operator, A)
        self.started = False

    def __call__(self, rng, gap, negligible):
        surplus = gain = 0.0
        # the first panels have no history to mix
        n_spacings = N_SPACINGS if self.started or not self.knows_all else 1
        self.started = True
        all_panels = list(panels(len(self.A), rng, n_spacings))
        n_parts = N_PARTS if self.knows_all else 1
        for number, rows in enumerate(all_panels, 1):
            scores = self.current.scores(rows)
            scores += self.b[:, None]
            self.met[rows] = scores.T
            before = self.A[rows].copy()
            gram = self.operator.gram(rows)
            for visit in range(self.n_visits):
                start = self.A[rows].copy() if visit + 1 < self.n_visits else None
                panel_surplus, panel_gain = self.blocks.sweep(
                    gap,
                    negligible,
                    rng.permutation(len(before)),
                    rows.start,
                    rows.step,
                    gram,
                    scores,
                    self.A,
                    self.conjugate,
                )
                # the second visit meets what the first one has left
                surplus += 0.0 if visit else panel_surplus
                gain += panel_gain
                if start is not None:
                    scores += (self.A[rows] - start).T @ gram
            self.current.changed(rows, before)
            if number * n_parts // len(all_panels) > (number - 1) * n_parts // len(all_panels):
                yield surplus, gain
                surplus = gain = 0.0

    def scores(self):
        """Scores of all rows, as far as known."""
        return self.product() + self.b if self.knows_all else self.met

    def product(self):
        """K A without the intercept."""
        return self.current.product()


class Followed:
    """The scores of a panel (labels × rows) as the operator follows them."""

    def __init__(self, operator, A):
        self.follower = operator.follow(A)

    def scores(self, rows):
        return np.ascontiguousarray(self.follower.scores(rows).T)

    def changed(self, rows, before):
        self.follower.changed(rows, before)


class AllScores:
    """The scores of all rows, kept up to date with rows of a matrix in memory.

    That is the faster kind of product, few times many columns, and the scores of a whole epoch are
    there at its end.
    """

    def __init__(self, operator, A):
        self.matrix, self.A = operator.matrix, A
        m, q = A.shape
        self.values = np.zeros((-(-q // GROUP) * GROUP, m))

    def scores(self, rows):
        return self.values[: self.A.shape[1], rows].copy()

    def changed(self, rows, before):
        change = np.zeros((len(self.values), len(before)))
        change[: self.A.shape[1]] = (self.A[rows] - before).T
        self.values += change @ self.matrix[rows]

    def product(self):
        return np.array(self.values[: self.A.shape[1]].T, order="C")


class RowSweep:
    """The same for sparse features and exact blocks, row by row."""

    knows_all = False

    def __init__(self, operator, loss, blocks, A, conjugate, b, met):
        self.met = met
        self.rows = PairRows(A, conjugate, met, b, *blocks(loss).rows)
        self.visits = LinearVisits(operator.with_intercept(0.0), A, self.rows)
        self.surplus = np.zeros(len(A))

    def __call__(self, rng, gap, negligible):
        before, self.rows.negligible = self.rows.dual, negligible
        self.visits(rng.permutation(len(self.surplus)), self.surplus)
        yield self.surplus.sum(), self.rows.dual - before

    def scores(self):
        return self.met


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
        # the curvature settles: after 1, 2, 3, 4, 8, 16, … calls it is worth computing anew
        if self.n_calls <= 4 or self.n_calls & (self.n_calls - 1) == 0:
            self.modes = self.loss.curvature_modes(scores())
            self.response = self.landmarks.constant_response(self.modes.values)
        step = self.modes.split(residual) / (1.0 + self.response)
        return self.length * self.modes.join(step)


class Certificate(NamedTuple):
    """Scores, primal value and duality gap."""

    scores: np.ndarray
    primal: float
    difference: float

    @property
    def gap(self):
        return relative_gap(self.primal, self.difference)


def _certify(operator, loss, A, b, conjugate, product=None):
    """Scores, primal value and duality gap of the current coefficients.

    All of it is computed anew but K A without the intercept, where that is given; it is used up.
    """
    total = A.sum(axis=0)
    if product is None:
        product = operator.product(A)
        product -= operator.intercept * total
    square = np.vdot(A, product)
    dual = conjugate.sum() - 0.5 * (square + operator.intercept * np.vdot(total, total))
    product += b
    primal = loss.evaluate(product)[0] + 0.5 * (square + np.vdot(b, b))
    return Certificate(product, primal, primal - dual)
