"""The proximal point method with Newton's method inside, for losses with corners.

Such a loss is a largest sum over bounded multipliers m. With −½ w Σ (m − m⁰)² / c subtracted from
that sum, c the bounds and m⁰ given multipliers, it becomes smooth over a width w: what Newton's
method in function space is made for. The multipliers of the solution are the next m⁰. Each round
brings all that is wrong down by a factor which falls with w.

What differs between problems is the small part that ``HingeRounds`` and ``RowRounds`` do.
"""

import numpy as np

from ..problems.hinge import PairMultipliers
from ..utils.numbers import EPSILON
from .certificates import pair_certificate, pair_primal, row_certificate, row_result
from .directions import directions
from .iteration import Step, finish
from .newton import step_length
from .result import Trace

# Width of the smoothing at first: at zero scores all pairs are then half way between their bounds.
FIRST_WIDTH = 2.0

# The width becomes smaller after rounds of fewer Newton steps, and larger after rounds of more.
FEW_STEPS = 4
MOST_STEPS = 30

# A round ends when what Newton's method can still gain is below this share of how far, in the
# proximal term, the round has come.
ROUND_SHARE = 0.1

# Rounds at most that bring neither the gap nor the primal value down by a tenth.
MAX_IDLE = 30

# ρ of a problem with biases, relative to the diagonal of K.
RHO = 100.0


def proximal_steps(rounds, *, tol, verbose=0):
    """Newton steps one at a time; see :mod:`.iteration` for the protocol.

    Parameters
    ----------
    rounds : HingeRounds or RowRounds
    tol : float
        Relative duality gap to reach.
    verbose : int
        Print a line per round if positive.
    """
    trace = Trace("proximal newton", verbose)
    operator = rounds.operator
    direction = directions(operator, zero_sums=rounds.zero_sums)
    best = rounds.certificate()
    dual = best.dual
    A = rounds.coefficients()
    F = operator.product(A)
    width, iteration, idle, last = FIRST_WIDTH, 0, 0, False
    while best.gap > tol and not last:
        smooth = rounds.smoothed(width)
        steps, last = yield from newton_round(operator, direction, smooth, A, F, best, tol)
        iteration += steps
        smooth.evaluate(F)
        # In stiff directions the multipliers are far from A, which is then the better primal
        # point; otherwise theirs has zeros where multipliers are zero.
        by_coefficients = rounds.primal(A, F)
        rounds.move(smooth.multipliers)
        by_multipliers = rounds.certificate()
        dual = max(dual, by_multipliers.dual)
        for result in (by_multipliers, by_coefficients):
            # a primal value below the dual one is rounding, and proves nothing
            if result.primal >= dual:
                result.difference = result.primal - dual
        result = by_multipliers
        if result.gap > tol and by_coefficients.primal < result.primal:
            result = by_coefficients
        # no gap is above 1, however far the primal value has to fall until the dual is positive
        falls = result.gap < 0.9 * best.gap or result.primal < 0.9 * best.primal
        idle = 0 if falls else idle + 1
        if (result.gap, result.primal) < (best.gap, best.primal):
            best = result
        # rounding, not the width, is what is left
        last = last or idle == MAX_IDLE
        trace.add(iteration, result.primal, result.difference)
        if rounds.recentre(A):
            F = operator.product(A)
        width *= min(2.0, max(0.5, steps / FEW_STEPS))
    best.n_iter, best.converged, best.trace = max(iteration, 1), best.gap <= tol, trace.entries
    return best


def newton_round(operator, direction, smooth, A, F, best, tol):
    """Newton steps on a smoothed problem, one at a time; A and F = K A move along.

    Returns how many they were, and whether that was the last the caller wants.
    """
    steps, last = 0, False
    # of ⟨R, K R⟩, relative to ‖R‖². Where no more is left, as with equal rows, K R is zero but for
    # rounding, and a step along R would be as long as the line search allows.
    rounding = EPSILON * (direction.diagonal - operator.intercept)
    while steps < MOST_STEPS and not last:
        _, R = smooth.evaluate(F)
        R -= A
        KR = operator.product(R)
        left = 0.5 * np.vdot(R, KR)
        target = ROUND_SHARE * max(smooth.distance(), tol * best.primal * ROUND_SHARE)
        if left <= rounding * np.vdot(R, R) or (left <= target and steps > 0):
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


class HingeRounds:
    """Rank-SVM: the biases are the multipliers of Σ_i A_i = 0, and move like the others.

    With −⟨b, t⟩ − ½ρ‖t‖², t = Σ_i A_i, added to the dual, the kernel of a round is K + ρ, and
    b ← b + ρ t after it.
    """

    zero_sums = True

    def __init__(self, operator, state):
        self.state, self.given = state, operator
        self.rho = state.penalty(RHO * operator.diagonal().mean())
        self.operator = operator.with_intercept(self.rho)

    def coefficients(self):
        return self.state.coefficients()

    def smoothed(self, width):
        return self.state.smoothed(width)

    def primal(self, A, F):
        """A Result for the coefficients of a round."""
        return pair_primal(self.given, self.state, A.copy())

    def move(self, multipliers):
        """Take over the multipliers of a round."""
        self.state.values[:] = multipliers

    def certificate(self):
        """A Result for the present multipliers."""
        return pair_certificate(self.given, self.state)

    def recentre(self, A):
        """Begin another round: change A where it is due, and tell whether it was."""
        if self.state.balanced:
            # A gives up the biases by a small change of all its rows, which hardly moves the other
            # part of the scores.
            total = A.sum(axis=0)
            self.state.biases += self.rho * total
            A -= total / len(A)
        return self.state.balanced


class RowRounds:
    """Losses on rows, in the coordinates Ã = A L; a learned covariance is fixed during a round."""

    zero_sums = False

    def __init__(self, operator, problem):
        self.operator, self.problem = operator, problem
        self.half = problem.half()

    def coefficients(self):
        self.half = self.problem.half()
        return self.problem.coefficients @ self.half

    def smoothed(self, width):
        return self.problem.smoothed(width, self.half)

    def primal(self, A, F):
        """A Result for the coefficients of a round."""
        values = self.problem.values_of(A, self.operator.product(A), self.half)
        return row_result(self.operator, self.problem, values)

    def move(self, multipliers):
        """Take over the multipliers of a round."""
        self.problem.move(self.problem.sign * multipliers, self.operator.product)

    def certificate(self):
        """A Result for the present multipliers."""
        return row_certificate(self.operator, self.problem)

    def recentre(self, A):
        """Begin another round: change A where it is due, and tell whether it was."""
        is_learned = self.problem.covariance.is_learned
        if is_learned:
            before, self.half = self.half, self.problem.half()
            A[:] = np.linalg.solve(before.T, A.T).T @ self.half
        return is_learned


def proximal_newton(operator, loss, *, tol, max_iter, verbose=0):
    """Solve a problem with a ``HingeLoss`` in at most ``max_iter`` Newton steps.

    Parameters and result as in ``multipliers``.
    """
    state = PairMultipliers(loss, operator.intercept > 0.0)
    return finish(proximal_steps(HingeRounds(operator, state), tol=tol, verbose=verbose), max_iter)
