"""Many problems of mcODM with the same rows, each begun where one like it has ended.

In V = W/lower and the margins g of V the objective of :mod:`.multiclass` is lower² times

    ½‖V‖² + Σ_i c_i [ ½(1 − g_i)₊² + ½μ(g_i − upper/lower)₊² ].

So C and θ matter by the weights c_i, all of which are multiples of C/(1 − θ)², and θ once more by
upper/lower, but only where margins exceed that. Problems of equal weights have all but equal
solutions, often the very same: those of θ = 0.6 and 4 C, or of θ = 0.2 and 16 C, are those of
θ = 0.8 and C wherever no margin is large. The nearest solution is looked at first, and if its
certificate will do it is the result.

Steps are taken from solutions of the same θ only, which differ in μ. Those of another θ where that
matters, or of other weights, are no better starts than a few epochs of descent are: what counts for
Newton's method is which rows have which multipliers. With separable classes and large C they are
worse, by twice as many steps and more.
"""

from contextlib import suppress
from typing import NamedTuple

import numpy as np

from .multiclass_newton import newton
from .result import EXACT_ROWS, PATH_MEMORY

# Weights, and ratios, within this factor of each other count as equal.
EQUAL = 1.1


class Place(NamedTuple):
    """Where a problem is among those of the same rows."""

    weight: float
    ratio: float
    mu: float

    @classmethod
    def of(cls, problem):
        return cls(float(np.sum(problem.weight)), problem.upper / problem.lower, problem.mu)

    def distance(self, other):
        """How different solutions may be, about."""
        return (
            2.0 * abs(np.log(self.weight / other.weight))
            + abs(np.log(self.ratio / other.ratio))
            + 2.0 * abs(self.mu - other.mu)
        )


class Solution(NamedTuple):
    """Unknowns, coefficients and multipliers β, all divided by ``lower``, and the rivals."""

    unknowns: np.ndarray
    coefficients: np.ndarray
    over: np.ndarray
    rival: np.ndarray
    level: np.ndarray

    @classmethod
    def of(cls, problem, result):
        coefficients, over, rival, level = problem.dual
        scale = problem.lower
        return cls(result.unknowns / scale, coefficients / scale, over / scale, rival, level)

    def put_into(self, problem):
        """Give a problem the dual point; returns the unknowns."""
        scale = problem.lower
        problem.dual = scale * self.coefficients, scale * self.over, self.rival, self.level
        return scale * self.unknowns


class MultiClassPath:
    """Problems of the same rows, kernel and classes, in any order.

    Attributes
    ----------
    solutions : dict of Place to Solution
        The last ones, oldest first.
    """

    def __init__(self):
        self.solutions: dict[Place, Solution] = {}

    def minimise(self, space, problem, **options):
        """Solve a problem as :func:`~.multiclass_newton.newton` does."""
        if len(problem.label) <= EXACT_ROWS:
            # these are solved to rounding, wherever they begin
            return newton(space, problem, **options)
        place, zero = Place.of(problem), problem.dual
        for nearest, most_steps in self._starts(place, options["max_iter"]):
            start = nearest.put_into(problem)
            # a start may lead nowhere
            with suppress(FloatingPointError, np.linalg.LinAlgError):
                result = newton(space, problem, start=start, **{**options, "max_iter": most_steps})
                if result.converged:
                    break
        else:
            problem.dual = zero
            result = newton(space, problem, **options)
        if result.converged:
            self._remember(place, Solution.of(problem, result))
        return result

    def _starts(self, place, most_steps):
        """Solutions to begin with, and the steps that may be taken from each."""
        alike = [
            other
            for other, known in self.solutions.items()
            if equal(other.weight, place.weight)
            # without the upper side there is nothing for β
            and (place.mu > 0.0 or not known.over.any())
        ]
        of_same_ratio = [other for other in alike if equal(other.ratio, place.ratio)]
        nearest = min(alike, key=place.distance, default=None)
        if nearest is not None and nearest not in of_same_ratio:
            yield self.solutions[nearest], 0
        if of_same_ratio:
            yield self.solutions[min(of_same_ratio, key=place.distance)], most_steps

    def _remember(self, place, known):
        self.solutions.pop(place, None)
        self.solutions[place] = known
        most = max(1, PATH_MEMORY // sum(part.nbytes for part in known))
        while len(self.solutions) > most:
            del self.solutions[next(iter(self.solutions))]


def equal(one, other):
    return 1.0 / EQUAL < one / other < EQUAL
