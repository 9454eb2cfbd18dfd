"""Newton's method on the weights of mcODM.

Where a problem has far more rows than weights, only few rows have two rivals that tie: the
objective J is all but smooth, and minimising it over W directly beats any method that goes from row
to row. One step:

1. *Rivals* are set by the present scores: Q, the convex majorant of :mod:`.multiclass`, touches J.
2. The loss of each row is made smooth: min_z loss(z) + ‖z − f + σA‖²/2σ, the blocks of the dual
   descent with σ in place of κ. Centred at the coefficients A of the last step, this is the method
   of multipliers for the constraint z = f, and σ need not tend to zero; see
   :mod:`.multiclass_smoothing`. The coefficients A' of the minimisers give the gradient W − XᵀA'.
3. The Newton direction Δ has the equations (I + Σ_i x_i x_iᵀ ⊗ H_i) Δ = XᵀA' − W; see
   :mod:`.multiclass_directions`.
4. The first of the steps 1, ½, ¼, … that lowers J itself is taken, or a shorter one that lowers it
   further. Where none does, or close to the end none but short ones, J is too rough, and the smooth
   function decides, as it always does in steep problems; the lowest point so far is kept.
5. Coefficients follow to first order, A' − H XΔ, and are put back into their cone. By the Newton
   equation Xᵀ(A' − H XΔ) = W + Δ, so after a full step they miss W by nothing but that correction.
   This makes the certificate

       J(W) − dual(A) = ½‖W − XᵀA‖² + Σ_i (what row i adds),

   whose first term is large for other dual points, good a few steps earlier.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..problems._class_smoothing import extrapolate, smooth_loss
from .multiclass import EXACT, ROUNDING, SMALL, MultiClassResult, certificate
from .multiclass_directions import newton_direction
from .multiclass_smoothing import Smoothing
from .result import Trace, relative_gap

# Relative gap below which a point is close to the end.
FINISH_GAP = 1e-3
# Rows that block coordinate descent visits before, per weight, to find a first point; in epochs.
WARM_VISITS = 60
FEWEST_EPOCHS, MOST_EPOCHS = 2, 30
# Shortest steps along a direction: if J decides, and if the smooth function does. The latter falls
# in any Newton direction, but with large C it may turn very soon.
SHORTEST = 2.0**-12
SHORTEST_SMOOTH = 2.0**-30
# Shorter steps call for more smoothing: far from the end, and close to it.
SHORT, SHORT_NEAR = 0.2, 0.5
# What is a change of a function's value by no more than rounding, relative to it.
NOISE = 1e-13
# Newton steps in a row without any gain, far from the end and close to it: those after which σ does
# not fall any more, for it may have gone in cycles, and those after which the method gives up.
CYCLE, CYCLE_NEAR = 15, 6
PATIENCE, PATIENCE_NEAR = 100, 30
# What the certificate may miss for want of precision of a direction, in units of what its rows add.
MISSING = 0.3


def newton(rows, blocks, *, tol, max_iter, max_outer_iter, rng, verbose=0, begun=False):
    """Minimise J over the weights.

    Parameters
    ----------
    rows : LinearRows or KernelRows
    blocks : Blocks
        With moving rivals; changed in place.
    tol : float
        Relative duality gap of the convex majorant at the solution.
    max_iter : int
        Newton steps at most.
    max_outer_iter : int
        Newton steps with rivals at most: each has a majorant of its own.
    rng : RandomState
        Order of the rows in the epochs before.
    verbose : int
        Print a line per step if positive.
    begun : bool
        Whether ``rows`` and ``blocks`` have a point that may be good already.

    Returns
    -------
    MultiClassResult
        With a kernel its coefficients are those of the weights; otherwise the weights are
        ``rows.weights``, and the coefficients A the dual point, whose XᵀA they are up to the gap.
    """
    trace = Trace("newton", verbose)
    small = len(blocks.label) <= SMALL
    # of small problems everything is solved to rounding, so that the rows' order does not matter
    goal = min(EXACT, tol) if small else tol
    n_before = 0
    if not begun:
        mu, blocks.mu = blocks.mu, 0.0
        if small:
            n_before = minimise(rows, blocks, goal, max_iter, trace)[0]
        else:
            n_epochs = -(-WARM_VISITS * rows.weights.size // len(blocks.label))
            for _ in range(min(max(n_epochs, FEWEST_EPOCHS), MOST_EPOCHS)):
                rows.sweep(blocks, 0.0, rng)
        blocks.mu = mu
    limit = max(min(max_iter - n_before, max_outer_iter), 0 if begun else 1)
    binding = "max_iter" if max_iter - n_before <= max_outer_iter else "max_outer_iter"
    n_steps, scores, objective, gap = minimise(rows, blocks, goal, limit, trace, begun)
    # what predicts: coefficients that make the weights, where these are not explicit
    coefficients = rows.weights if rows.is_kernel else np.asarray(blocks.coefficients)
    total = rows.weights.sum(axis=0) if rows.is_kernel else rows.weights[-1]
    return MultiClassResult(
        coefficients=coefficients,
        intercept=rows.intercept * total,
        scores=scores,
        primal=objective,
        difference=gap,
        n_iter=n_before + n_steps,
        converged=relative_gap(objective, gap) <= tol,
        trace=trace.entries,
        n_outer=n_steps,
        limit=binding if n_steps >= limit else "",
    )


def minimise(rows, blocks, goal, max_iter, trace, begun=False):
    """Newton steps from ``rows.weights`` on, until the relative gap is at most ``goal``.

    Before the first step the gap is worth a look only where the point is a solution of another
    problem (``begun``). Returns the number of steps, the scores, the objective and the duality gap.
    """
    W = rows.weights
    scores = rows.scores(W)
    smoothing, idle, least = Smoothing(blocks), 0, np.inf
    best: Any = None
    of_rows = np.inf
    for step in range(max_iter + 1):
        blocks.set_rivals(scores, at_once=True)
        objective = blocks.certify(scores)[0] + 0.5 * rows.inner(W, W, scores)
        if not np.isfinite(objective):
            raise FloatingPointError("the objective is not finite")
        if step or begun:
            gap, of_rows = certificate(rows, blocks, W, scores)
            trace.add(step, objective, gap)
            smoothing.look(objective, gap)
            point = Point.of(blocks, W, objective, gap)
            if best is not None and objective >= best.objective and gap < best.gap:
                # better certified than the best, but higher: its dual point may serve the best
                point = best.certified_by(rows, blocks)
            gains = best is None or point.gains(best, 0.01 * goal, 0.7)
            idle = 0 if gains or gap < 0.7 * least else idle + 1
            least = min(least, gap)
            if best is None or point.gains(best, 0.0, 1.0):
                best = point
        near = best is not None and best.gap <= FINISH_GAP * best.objective
        if best is not None:
            done = best.gap <= goal * best.objective or step >= max_iter
            if done or idle > (PATIENCE_NEAR if near else PATIENCE):
                break
        centre = smoothing.step(blocks, scores)
        used = smoothing.value
        residual = rows.combine(np.asarray(blocks.coefficients)) - W
        enough = 0.02 * goal * objective
        missing = max(enough, MISSING * of_rows)
        direction, change = newton_direction(rows, blocks, used, residual, near, enough, missing)
        search = Search(rows, blocks, W, direction, scores, change)
        length = 0.0 if smoothing.steep else search.along(search.objective, SHORTEST)
        if length == 0.0 or (near and length < SHORT_NEAR):
            # J is too rough to tell a good step, and the best point is kept
            length = search.along(partial(search.smooth, centre, used), SHORTEST_SMOOTH)
        if length < 1.0 or idle <= (CYCLE_NEAR if near else CYCLE):
            smoothing.adapt(length, SHORT_NEAR if near else SHORT)
        W, scores = search.at(length)
        # the whole step, even if W does not take it: what they miss of W is then small
        extrapolate(blocks, change, used)
    rows.weights = W = best.weights
    scores = rows.scores(W)
    # rivals first: the best point's β are those of its own
    blocks.over = np.zeros_like(best.over)
    blocks.set_rivals(scores, at_once=True)
    blocks.coefficients, blocks.over = best.coefficients, best.over
    objective = blocks.certify(scores)[0] + 0.5 * rows.inner(W, W, scores)
    return step, scores, objective, certificate(rows, blocks, W, scores)[0]


class Search:
    """Points along a direction."""

    def __init__(self, rows, blocks, W, direction, scores, change):
        self.rows = rows
        self.blocks = blocks
        self.start = W, scores
        self.move = direction, change

    def at(self, length):
        (W, scores), (direction, change) = self.start, self.move
        return W + length * direction, scores + length * change

    def objective(self, W, scores):
        return self.blocks.certify(scores)[0] + 0.5 * self.rows.inner(W, W, scores)

    def smooth(self, centre, smoothing, W, scores):
        loss = smooth_loss(self.blocks, scores, centre, smoothing)
        return loss + 0.5 * self.rows.inner(W, W, scores)

    def along(self, value, shortest):
        """The best of the steps 1, ½, ¼, … up to the first that is worse than the one before.

        Or 0 if none of them lowers the value. A full step need not, up to rounding: where weights
        are at their best, and coefficients are not, no value can tell.
        """
        start = value(*self.start)
        noise = NOISE * abs(start)
        least, best, length = start + noise, 0.0, 1.0
        while length >= shortest:
            found = value(*self.at(length))
            if found < least:
                least, best = found - noise, length
            elif best > 0.0:
                break
            else:
                least = start
            length *= 0.5
        return best


class Point(NamedTuple):
    """A primal and a dual point with their values."""

    weights: np.ndarray
    coefficients: np.ndarray
    over: np.ndarray
    objective: float
    gap: float

    @classmethod
    def of(cls, blocks, W, objective, gap):
        return cls(W, np.array(blocks.coefficients), np.array(blocks.over), objective, gap)

    def certified_by(self, rows, blocks):
        """The same weights with the coefficients that ``blocks`` has, as far as they go with it."""
        kept = np.array(blocks.coefficients), np.array(blocks.over), np.array(blocks.rival)
        scores = rows.scores(self.weights)
        blocks.set_rivals(scores, at_once=True)
        gap, _ = certificate(rows, blocks, self.weights, scores)
        point = Point.of(blocks, self.weights, self.objective, gap)
        blocks.coefficients, blocks.over, blocks.rival = kept
        return point

    def gains(self, other, share, factor):
        """Whether it is lower, or as low and better certified."""
        return self.objective < (1 - share) * other.objective or (
            self.objective <= (1 + ROUNDING) * other.objective and self.gap < factor * other.gap
        )
