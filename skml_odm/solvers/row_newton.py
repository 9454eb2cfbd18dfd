"""The problems of ``row_ascent`` by the proximal point method, with Newton's method inside.

With Θ/β = L Lᵀ, coefficients Ã = A L and F̃ = K Ã the scores are D = F̃ Lᵀ, and the quadratic term
is ½⟨Ã, F̃⟩: a problem for Newton's method in function space. The loss is smoothed around the present
multipliers m⁰: with −½ Σ w (m − m⁰)² / c added to the dual, c the row's weight, the multipliers of
scores with residuals r are the projection of m⁰ + c r / w onto their bounds. Each round's solution
is the next m⁰, and brings all that is wrong down by a factor which falls with w.

A covariance that is learned is fixed during a round. After it, the multipliers move from the old to
the new ones as far as the dual value of the whole problem rises, and the covariance follows.
"""

import numpy as np
from scipy.optimize import minimize_scalar

from ..problems.pairs import Modes
from .directions import directions
from .proximal_newton import FEW, FIRST_WIDTH, MANY, newton_round
from .result import TINY, Trace

# Rounds that bring the gap down by less than a tenth at most, and once it is so small that rounding
# shows.
MAX_IDLE = 30
MAX_IDLE_AT_END = 5
END = 1e-9


def row_newton_steps(operator, problem, *, tol, verbose=0):
    """Newton steps one at a time, from the problem's coefficients on; see :mod:`.iteration`."""
    trace = Trace("proximal newton", verbose)
    direction = directions(operator, zero_sums=False)
    best = problem.certify(operator)
    dual = best.dual
    half = _half(problem)
    A = problem.coefficients @ half
    F = operator.product(A)
    width, iteration, idle, last = FIRST_WIDTH, 0, 0, False
    while best.gap > tol and not last:
        smooth = SmoothRows(problem, half, width)
        steps, last = yield from newton_round(operator, direction, smooth, A, F, best, tol)
        iteration += steps
        smooth.evaluate(F)
        # In stiff directions the multipliers are far from A, which is then the better primal point.
        results = [problem.value_of(operator, A, half)]
        _move(operator, problem, problem.sign * smooth.multipliers)
        results.insert(0, problem.certify(operator))
        dual = max(dual, results[0].dual)
        for result in results:
            # a primal value below the dual one is rounding, and proves nothing
            if result.primal >= dual:
                result.difference = result.primal - dual
        result = results[0] if results[0].gap <= tol else min(results, key=lambda r: r.primal)
        idle = 0 if result.gap < 0.9 * best.gap else idle + 1
        if result.gap < best.gap:
            best = result
        # rounding, not the width, is what is left
        last = last or idle == (MAX_IDLE if best.gap > END else MAX_IDLE_AT_END)
        trace.add(iteration, result.primal, result.difference)
        if problem.covariance.is_learned:
            before, half = half, _half(problem)
            A = np.linalg.solve(before.T, A.T).T @ half
            F = operator.product(A)
        width *= 0.5 if steps <= FEW else 2.0 if steps >= MANY else 1.0
    best.n_iter, best.converged, best.trace = max(iteration, 1), best.gap <= tol, trace.entries
    return best


def _half(problem):
    """L with L Lᵀ = Θ/β, square and, where Θ is, invertible."""
    values, vectors = np.linalg.eigh(problem.between_labels / problem.beta)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _move(operator, problem, following):
    """Take over new coefficients; with a learned covariance, as far as the dual value rises."""
    A = problem.coefficients
    if problem.covariance.is_learned:
        step = following - A
        products, change = operator.product(A), operator.product(step)
        gram, cross, square = A.T @ products, A.T @ change, step.T @ change
        total, growth = np.abs(A).sum(), np.abs(following).sum() - np.abs(A).sum()

        def fall(t):
            return -problem.dual_value(
                total + t * growth, gram + t * (cross + cross.T) + t * t * square
            )

        found = minimize_scalar(fall, bounds=(0.0, 1.0), method="bounded")
        t = min((0.0, found.x, 1.0), key=fall)
        following = following if t == 1.0 else A + t * step
    A[:] = following


class SmoothRows:
    """The smoothed loss around a problem's coefficients, in the coordinates F̃.

    Attributes
    ----------
    multipliers : ndarray of shape (m, q)
        Those of the scores that were evaluated last.
    """

    def __init__(self, problem, half, width):
        self.problem, self.half = problem, half
        self.centre = np.abs(problem.coefficients)
        self.reach = problem.weight[:, None] / width

    def evaluate(self, scores):
        """Return the loss and its gradient coefficients."""
        residuals, self.multipliers, _, _ = self._at(scores)
        value = np.vdot(self.multipliers, residuals) - self.distance()
        return value, (self.problem.sign * self.multipliers) @ self.half

    def distance(self):
        """½ Σ w (m − m⁰)² / c for the scores that were evaluated last."""
        moved = self.multipliers - self.centre
        return 0.5 * np.sum(moved * moved / np.maximum(self.reach, TINY))

    def curvature(self, scores):
        """The Hessian at ``scores``."""
        _, _, free, held = self._at(scores)
        return SmoothCurvature(free * self.reach, held, self.problem.sides, self.half)

    def _at(self, scores):
        """Residuals, multipliers, which of these are free, and which of their sums are held."""
        residuals = 1.0 - self.problem.sign * (scores @ self.half.T)
        multipliers = self.centre + self.reach * residuals
        return residuals, multipliers, *self.problem.project(multipliers)


class SmoothCurvature:
    """The Hessian of the smoothed loss: c/w on free labels, less their mean where a sum is held."""

    def __init__(self, free, held, sides, half):
        self.free, self.half = free, half
        self.sides = []
        for side, is_held in zip(sides, held.T, strict=True):
            among = free * side * is_held[:, None]
            total = among.sum(axis=1, keepdims=True)
            self.sides.append(among / np.sqrt(np.maximum(total, TINY)))

    def product(self, V):
        """D V."""
        U = V @ self.half.T
        result = self.free * U
        for side in self.sides:
            result -= side * np.sum(side * U, axis=1, keepdims=True)
        return result @ self.half

    def diagonal(self):
        """The diagonal of D (m × q)."""
        result = self.free @ self.half**2
        for side in self.sides:
            result -= (side @ self.half) ** 2
        return np.maximum(result, 0.0)

    def modes(self):
        """The modes of D, averaged over the rows."""
        total = np.diag(self.free.sum(axis=0))
        for side in self.sides:
            total -= side.T @ side
        return Modes.of(self.half.T @ total @ self.half / len(self.free))
