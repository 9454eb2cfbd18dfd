"""mcODM by block coordinate descent: convex majorants one after the other, each in the dual.

The problem and its majorants are those of :mod:`..problems.classes`. Each row has one block. The
method needs the rows, or panels of a kernel matrix, and nothing else. For linear problems with few
weights, :mod:`.multiclass_newton` is faster.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .result import EXACT, EXACT_ROWS, Result, Trace, relative_gap

# Relative gap at which the first convex problem is left; it gets smaller by this factor each time.
ROUGH = 0.2
# A block is left as it is for a while where its gap is below this share of the average.
NEGLIGIBLE = 0.1


@dataclass(kw_only=True)
class MultiClassResult(Result):
    """A result that also has the unknowns, and counts the convex problems.

    Attributes
    ----------
    unknowns : ndarray
        Weights, or coefficients of the rows: see :mod:`.multiclass_spaces`.
    n_outer : int
        How many convex problems were met.
    """

    unknowns: np.ndarray
    n_outer: int = 1


class Point(NamedTuple):
    """Unknowns V with their certificate: J(V), the duality gap, and the dual point behind it."""

    unknowns: np.ndarray
    scores: np.ndarray
    objective: float
    gap: float
    gap_of_rows: float
    """The rest of the gap is ½‖V − Φ* A‖²."""
    dual: Any

    @classmethod
    def at(cls, space, problem, V, scores):
        """The point V; the problem gets its rivals."""
        problem.set_rivals(scores)
        loss, gap_of_rows = problem.certify(scores)
        objective = loss + 0.5 * space.inner(V, V, scores)
        if not np.isfinite(objective):
            raise FloatingPointError("the objective is not finite")
        missing = V - space.combine(problem.coefficients)
        scores_of_missing = space.scores(missing) if space.is_kernel else None
        gap = gap_of_rows + 0.5 * space.inner(missing, missing, scores_of_missing)
        return cls(V, scores, objective, gap, gap_of_rows, problem.dual)

    def improved_by(self, point, space, problem):
        """The lower one of two points, or the one that is as low and better certified.

        If the other point is higher, its dual point, which ``problem`` has, may serve this one.
        """
        if point.objective > self.objective:
            kept = problem.dual
            point = Point.at(space, problem, self.unknowns, self.scores)
            problem.dual = kept
        return point if point.objective < self.objective or point.gap < self.gap else self

    def result(self, space, *, tol, trace, **options):
        """With a kernel the result's coefficients are V; else they are the dual point."""
        V = self.unknowns
        total = V.sum(axis=0) if space.is_kernel else V[-1]
        return MultiClassResult(
            coefficients=V if space.is_kernel else self.dual[0],
            intercept=space.intercept * total,
            unknowns=V,
            scores=self.scores,
            primal=self.objective,
            difference=self.gap,
            converged=relative_gap(self.objective, self.gap) <= tol,
            trace=trace.entries,
            **options,
        )


def descend(space, problem, *, tol, max_iter, max_outer_iter, rng, verbose=0):
    """Solve one convex problem after the other by block coordinate descent.

    The first problem has μ = 0: it is convex without further ado, and where it ends the rivals are
    what they are for good reasons. Its successors are solved ever more precisely. A step that does
    not lower the objective is solved more precisely before it is given up.

    Parameters
    ----------
    space : WeightSpace or FunctionSpace
    problem : ClassProblem
        Changed in place.
    tol : float
        Relative duality gap of the last convex problem.
    max_iter : int
        Epochs at most.
    max_outer_iter : int
        Convex problems at most, the first not counted.
    rng : RandomState
        Order of the rows.
    verbose : int
        Print a line per convex problem if positive.

    Returns
    -------
    MultiClassResult
    """
    epochs = Epochs(space, problem, max_iter, rng)
    trace = Trace("descent", verbose)
    goal = EXACT if epochs.small else 0.5 * tol
    target = goal if epochs.small else max(goal, ROUGH)
    mu, problem.mu = problem.mu, 0.0
    V, scores = epochs.run(target)[:2]
    problem.mu = mu
    n_outer = 0
    point = Point.at(space, problem, V, scores)
    while n_outer < max_outer_iter and not epochs.are_over:
        if point.gap <= (goal if epochs.small else tol) * point.objective:
            break
        n_outer += 1
        target = max(ROUGH * target, goal)
        V, scores, objective, gap = epochs.run(target)
        while objective > point.objective and target > 0.01 * tol and not epochs.are_over:
            target *= ROUGH
            V, scores, objective, gap = epochs.run(target)
        trace.add(n_outer, objective, gap)
        if objective >= point.objective:
            break
        point = Point.at(space, problem, V, scores)
    limit = "max_iter" if epochs.are_over else ""
    if not limit and n_outer == max_outer_iter:
        limit = "max_outer_iter"
    return point.result(
        space, tol=tol, trace=trace, n_iter=epochs.n_iter, n_outer=n_outer + 1, limit=limit
    )


class Epochs:
    """Epochs of block coordinate descent, and how many there have been."""

    def __init__(self, space, problem, max_iter, rng):
        self.space, self.problem, self.max_iter, self.rng = space, problem, max_iter, rng
        self.n_iter = 0
        self.small = len(problem.label) <= EXACT_ROWS

    @property
    def are_over(self):
        return self.n_iter >= self.max_iter

    def run(self, target):
        """Epochs until the relative gap of the convex problem is at most ``target``.

        Returns the unknowns, their scores, the objective and the gap.
        """
        space, problem = self.space, self.problem
        V = space.combine(problem.coefficients)
        problem.wake()
        negligible, worth_a_look, best, idle = 0.0, np.inf, np.inf, 0
        while True:
            surplus, n_visited = space.sweep(problem, V, negligible, self.rng)
            self.n_iter += 1
            negligible = 0.0 if self.small else NEGLIGIBLE * surplus / len(problem.label)
            if surplus > worth_a_look and n_visited and not self.are_over:
                continue
            scores = space.scores(V)
            loss, gap = problem.certify(scores)
            objective = loss + 0.5 * space.inner(V, V, scores)
            if not np.isfinite(objective):
                raise FloatingPointError("the objective is not finite")
            idle = idle + 1 if gap >= 0.5 * best else 0
            best = min(best, gap)
            # what is left of a small problem may be rounding
            if gap <= target * objective or self.are_over or (self.small and idle > 100):
                return V, scores, objective, gap
            # the gap as the blocks were met is about that of the epoch before
            worth_a_look = max(1.5 * target * objective, 0.5 * surplus)
