"""Newton's method on the unknowns of mcODM.

Where a problem has far more rows than weights, only few rows have two rivals that tie: the
objective J is all but smooth, and minimising it over W directly beats any method that goes from row
to row. One step:

1. *Rivals* are set by the present scores: Q, the convex majorant of J, touches J.
2. The loss of each row is made smooth: min_z loss(z) + ‖z − f + σA‖²/2σ, the blocks of the dual
   descent with σ = s/c in place of κ. Centred at the coefficients A of the last step, this is the
   method of multipliers for the constraint z = f, and σ need not tend to zero. The coefficients A'
   of the minimisers give the gradient W − XᵀA'.
3. The Newton direction Δ solves (I + Σ_i x_i x_iᵀ ⊗ H_i) Δ = XᵀA' − W, directly for few weights,
   otherwise by conjugate gradients.
4. The first of the steps 1, ½, ¼, … that lowers the smooth function is taken, or a shorter one that
   lowers it further. s is halved after full steps and doubled after short ones: the smaller it is,
   the faster A follows the scores, but the rougher is the function. J may rise on the way; the
   lowest point is kept. When steps lead nowhere the method goes back to it with s = 1.
5. Coefficients follow to first order, A' − H XΔ, and are put back into their cone. By the Newton
   equation Xᵀ(A' − H XΔ) = W + Δ, so after a full step they miss W by nothing but that correction.
   This makes the certificate sharp early.
"""

from typing import Any

import numpy as np

from ..problems._class_smoothing import extrapolate, smooth_step
from ..problems.classes import Curvature
from .conjugate_gradients import conjugate_gradients
from .directions import MAX_STEPS
from .multiclass import Point
from .multiclass_spaces import has_few_features
from .result import EXACT, EXACT_ROWS, ROUNDING, Trace

# Weights up to which Newton's equations are solved directly: conjugate gradients take longer.
FEW_WEIGHTS = 500
# Weights above which a problem with fewer rows per feature than this is left to dual descent.
MANY_WEIGHTS = 1500
ROWS_PER_FEATURE = 4
# Rows that block coordinate descent visits before, per weight, to find a first point.
WARM_VISITS = 60
# Share of the mean of c times that of ‖φ(x)‖² that is the best s where classes do not overlap.
# Where they do it is 1. The first s is between the two.
STIFF = 0.03
# Newton steps in a row without any gain after which s does not fall any more and the method goes
# back to the best point, with s = 1; each time it waits twice as long. After PATIENCE it gives up.
CYCLE = 8
PATIENCE = 100
# The relative residual that conjugate gradients are to reach; and what a residual may add to the
# duality gap, relative to what the rows add.
RESIDUAL = 0.1
MISSING = 0.3


def suits_descent(shape, n_classes):
    """Whether a linear problem with X of this shape is better left to dual descent."""
    m, d = shape
    many = d * n_classes > MANY_WEIGHTS and (
        m < ROWS_PER_FEATURE * d or not has_few_features(d, n_classes)
    )
    return m > EXACT_ROWS and (d > m or many)


def newton(space, problem, *, tol, max_iter, max_outer_iter, rng, verbose=0, start=None):
    """Minimise J.

    Parameters
    ----------
    space : WeightSpace or FunctionSpace
    problem : ClassProblem
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
    start : ndarray, optional
        Unknowns that may be good already, with the dual point that ``problem`` has.

    Returns
    -------
    MultiClassResult
    """
    trace = Trace("newton", verbose)
    n_rows = len(problem.label)
    # of small problems everything is solved to rounding, so that the rows' order does not matter
    goal = min(EXACT, tol) if n_rows <= EXACT_ROWS else tol
    n_before, V = 0, start
    if start is None:
        # with μ = 0 the problem is convex
        mu, problem.mu = problem.mu, 0.0
        V = np.zeros((space.shape[1], problem.k))
        if n_rows <= EXACT_ROWS:
            point, n_before = minimise(space, problem, V, goal=goal, max_iter=max_iter, trace=trace)
            V = point.unknowns
        else:
            for _ in range(int(np.clip(WARM_VISITS * V.size / n_rows, 2, 30))):
                space.sweep(problem, V, 0.0, rng)
        problem.mu = mu
    limit = min(max_iter - n_before, max_outer_iter)
    binding = "max_iter" if limit < max_outer_iter else "max_outer_iter"
    min_iter = 1 if start is None else 0
    point, n_steps = minimise(
        space, problem, V, goal=goal, min_iter=min_iter, max_iter=max(limit, min_iter), trace=trace
    )
    problem.dual = point.dual
    return point.result(
        space,
        tol=tol,
        trace=trace,
        n_iter=n_before + n_steps,
        n_outer=n_steps,
        limit=binding if n_steps >= limit else "",
    )


def minimise(space, problem, V, *, goal, min_iter=1, max_iter, trace):
    """Newton steps from V on, until the relative gap is at most ``goal``.

    Returns the point of the least objective, and the number of steps.
    """
    most = max(1.0, STIFF * float(np.mean(problem.diagonal) * np.mean(problem.weight)))
    first = np.sqrt(most)
    # another problem's solution is closer to the end
    s = first if min_iter else 0.5 * first
    scores = space.scores(V)
    wait = CYCLE
    best: Any = None
    n_idle = 0
    for n_steps in range(max_iter + 1):
        point = Point.at(space, problem, V, scores)
        found = point if best is None else best.improved_by(point, space, problem)
        if best is None or gains(found, best):
            n_idle = 0
        else:
            n_idle += 1
        best = found
        trace.add(n_steps, best.objective, best.gap)
        is_done = n_steps >= min_iter and best.gap <= goal * best.objective
        if is_done or n_idle > PATIENCE:
            break
        if n_idle == wait:
            wait *= 2
            # the smoothing may be wrong for these classes
            V, scores, point, problem.dual = best.unknowns, best.scores, best, best.dual
            s = 1.0
        if n_steps < max_iter:
            smooth = SmoothFunction(space, problem, scores, s)
            direction, change = smooth.newton_direction(V, point, 0.02 * goal * point.objective)
            length = smooth.search(V, scores, direction, change)
            V, scores = V + length * direction, scores + length * change
            # the whole step, even if V does not take it: what they miss of V is then small
            extrapolate(problem, change, s)
            if length == 1.0 and n_idle <= CYCLE:
                s *= 0.5
            elif length < 0.25:
                s = min(2.0 * s, 10.0 * most)
    return best, n_steps


def gains(point, other):
    """Whether it is clearly lower, as the gap would have it, or clearly better certified."""
    least = min(other.gap, other.objective)
    return point.objective < other.objective - 0.01 * least or point.gap < 0.7 * other.gap


class SmoothFunction:
    """½‖V‖² and the smooth losses around the coefficients that the problem has.

    The problem's coefficients become those of the smooth losses.
    """

    def __init__(self, space, problem, scores, smoothing):
        self.space, self.problem, self.smoothing = space, problem, smoothing
        self.centre = np.array(problem.coefficients)
        self.residual: Any = None
        self.loss = smooth_step(problem, scores, self.centre, smoothing)

    def value(self, V, scores):
        loss = smooth_step(self.problem, scores, self.centre, self.smoothing, keep=False)
        return loss + 0.5 * self.space.inner(V, V, scores)

    def newton_direction(self, V, point, enough):
        """Δ and its scores; the certificate may miss ``enough`` in any case."""
        space, curvature = self.space, Curvature(self.problem, self.smoothing)
        residual = self.residual = space.combine(self.problem.coefficients) - V
        if not space.is_kernel and V.size <= FEW_WEIGHTS:
            return space.solve(curvature, residual)
        missing = max(enough, MISSING * point.gap_of_rows)

        def is_enough(progress):
            # the norm of the preconditioner may be smaller than that of weights by far
            rest = progress.rest
            return (
                progress.square <= RESIDUAL**2 * progress.first_square
                and 0.5 * space.inner(rest, rest, progress.scores) <= missing
            )

        precondition = space.preconditioner(curvature.diagonals())
        solution = conjugate_gradients(
            space, curvature, residual, precondition, is_enough, 2 * MAX_STEPS
        )
        return solution.unknowns, solution.scores

    def search(self, V, scores, direction, change):
        """The best of the steps 1, ½, ¼, … up to the first that is worse than the one before.

        Or 0 if none lowers the value. A full step need not, up to rounding: where weights
        are at their best, and coefficients are not, no value can tell.
        """
        start = self.loss + 0.5 * self.space.inner(V, V, scores)
        noise = ROUNDING * abs(start)
        # twice what a full step gains if the function is quadratic; half of that is good enough
        promise = self.space.inner(self.residual, direction, change)
        if self.value(V + direction, scores + change) < start - max(noise, 0.25 * promise):
            return 1.0
        least, best, length = start + noise, 0.0, 1.0
        # with large C the function may turn very soon
        while length >= 2.0**-30:
            found = self.value(V + length * direction, scores + length * change)
            if found < least:
                least, best = found - noise, length
            elif best > 0.0:
                break
            else:
                least = start
            length *= 0.5
        return best
