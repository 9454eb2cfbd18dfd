"""Rank-SVM by the proximal point method, with Newton's method inside.

For the problem see :mod:`.pair_multipliers`. Around given multipliers α⁰ and biases b the dual with
−Σ w (α − α⁰)² / 2c − ⟨b, t⟩ − ½ρ‖t‖² added, t = Σ_i A_i, belongs to a smooth primal problem with
the kernel K + ρ and a hinge loss rounded off over the width w (``_proximal_hinge``): what Newton's
method in function space is made for. Its solution gives the next α⁰, and b ← b + ρ t. Each round
brings all that is wrong down by a factor which falls with w and 1/ρ.
"""

import numpy as np

from ..problems import _proximal_hinge
from ..problems.pairs import Modes
from .directions import directions
from .iteration import Step, finish
from .newton import step_length
from .pair_multipliers import PairMultipliers, best_primal, certify
from .result import Trace

# ρ, relative to the diagonal of K, and the biases that it must allow.
RHO = 100.0
REACH = 100.0

# Width of the smoothing at first: at zero scores all pairs are then half way between their bounds.
FIRST_WIDTH = 2.0

# The width is halved after rounds of at most FEW Newton steps and doubled after MANY.
FEW = 2
MANY = 6

# A round ends when what Newton's method can still gain is below this share of how far, in the
# proximal term, the round has come.
SHARE = 0.1
MAX_STEPS = 30

# Rounds without progress at most.
MAX_IDLE = 10


def proximal_newton(operator, loss, *, tol, max_iter, verbose=0):
    """Solve the problem to a relative duality gap of ``tol`` in at most ``max_iter`` Newton steps.

    Parameters and result as in ``multipliers``.
    """
    state = PairMultipliers(loss, operator.intercept > 0.0)
    return finish(proximal_steps(operator, state, tol=tol, verbose=verbose), max_iter)


def proximal_steps(operator, state, *, tol, verbose=0):
    """Newton steps one at a time, from ``state`` on; see :mod:`.iteration` for the protocol."""
    trace = Trace("proximal newton", verbose)
    rho = state.penalty(operator, RHO, REACH)
    operator = operator.with_intercept(rho)
    direction = directions(operator)
    A = state.coefficients()
    F = operator.product(A)
    width, iteration, idle, last = FIRST_WIDTH, 0, 0, False
    best = certify(operator, state)
    dual = best.dual
    while best.gap > tol and not last:
        smooth = ProximalHinge(state, width)
        steps, last = yield from newton_round(operator, direction, smooth, A, F, best, tol)
        iteration += steps
        smooth.evaluate(F)
        state.values[:] = smooth.multipliers
        # In stiff directions the multipliers are far from A, which is then the better primal
        # point; otherwise theirs has zeros where multipliers are zero.
        sides = certify(operator, state), best_primal(operator, state, A.copy())
        dual = max(dual, sides[0].dual)
        for side in sides:
            side.difference = side.primal - dual
        result = sides[0] if sides[0].gap <= tol else min(sides, key=lambda side: side.primal)
        # no gap is above 1, however far the primal value has to fall until the dual is positive
        falls = result.gap < 0.9 * best.gap or result.primal < 0.9 * best.primal
        idle = 0 if falls else idle + 1
        if (result.gap, result.primal) < (best.gap, best.primal):
            best = result
        # rounding, not the width, is what is left
        last = last or idle == MAX_IDLE
        trace.add(iteration, result.primal, result.difference)
        if state.balanced:
            # The biases of this round become the centre of the next. A gives them up by a small
            # change of all its rows, which hardly moves the other part of the scores.
            total = A.sum(axis=0)
            state.biases += rho * total
            A -= total / len(A)
            F = operator.product(A)
        width *= 0.5 if steps <= FEW else 2.0 if steps >= MANY else 1.0
    best.n_iter, best.converged, best.trace = max(iteration, 1), best.gap <= tol, trace.entries
    return best


def newton_round(operator, direction, smooth, A, F, best, tol):
    """Newton steps on a smoothed problem, one at a time; A and F = K A move along.

    Returns how many they were, and whether that was the last the caller wants.
    """
    steps, last = 0, False
    while steps < MAX_STEPS and not last:
        _, R = smooth.evaluate(F)
        R -= A
        KR = operator.product(R)
        left = 0.5 * np.vdot(R, KR)
        target = SHARE * max(smooth.distance(), tol * best.primal * SHARE)
        if left <= target and steps > 0:
            break
        forcing = min(0.3, max(0.01, (target / left) ** 0.5)) if left > 0.0 else 0.3
        X, KX, n_products = direction(smooth.curvature(F), R, KR, forcing)
        t = 0.0 if X is None else step_length(smooth, F, X, KX)
        if t == 0.0:
            # rounding leaves no direction to go
            break
        X *= t
        KX *= t
        A += X
        F += KX
        steps += 1
        last = yield Step(best.gap, n_products)
    return steps, last


class ProximalHinge:
    """The smoothed loss around the multipliers and biases of a state.

    Attributes
    ----------
    multipliers : ndarray
        Those of the scores that were evaluated last.
    """

    def __init__(self, state, width):
        self.biases = state.biases.copy()
        self.rows = state.rows
        self.component = state.component
        self.centre = state.values.copy()
        self.width = width
        self.bounds = np.repeat(state.loss.weight, state.loss.n_pairs)
        self.multipliers = np.empty_like(self.centre)

    def evaluate(self, scores):
        """Return the loss and its gradient coefficients."""
        gradient = np.empty_like(scores)
        value = _proximal_hinge.evaluate(
            scores + self.biases,
            *self.rows,
            self.component,
            self.centre,
            self.width,
            gradient,
            self.multipliers,
        )
        return value, gradient

    def distance(self):
        """Σ w (α − α⁰)² / 2c for the scores that were evaluated last."""
        moved = self.multipliers - self.centre
        return 0.5 * self.width * np.sum(moved * moved / self.bounds)

    def curvature(self, scores):
        """The Hessian at ``scores``."""
        active = np.zeros(len(self.centre), dtype=np.uint8)
        _proximal_hinge.curvatures(
            scores + self.biases, *self.rows, self.component, self.centre, self.width, active
        )
        return HingeCurvature(self.rows, active, self.width)


class HingeCurvature:
    """The Hessian of the smoothed loss: c / w on the active pairs."""

    def __init__(self, rows, active, width):
        self.arguments = (*rows, active, width)
        m, q = rows[0].shape
        self.total, self.entries = np.zeros((q, q)), np.empty((m, q))
        _proximal_hinge.add_hessian(*self.arguments, self.total, self.entries)
        self.total /= m

    def product(self, V):
        """D V."""
        result = np.empty_like(V)
        _proximal_hinge.hessian_product(V, *self.arguments, result)
        return result

    def diagonal(self):
        """The diagonal of D (m × q)."""
        return self.entries

    def modes(self):
        """The modes of D, averaged over the rows."""
        return Modes.of(self.total)
