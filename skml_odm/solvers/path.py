"""Many problems of one K, each solved from where its neighbours are.

The problems differ in C, θ and μ of a ``PairLoss``. Most of the work of a search along them is to
notice that there is nothing to do:

- Without its upper side (μ = 0) the loss is homogeneous: the solution for any θ is (1 − θ) times
  the one for θ = 0.
- Where no margin of that solution exceeds 1 + θ, it solves the problem for every μ; a dual bound of
  the one-sided problem is one for every μ, too.
- The optimal value is the smallest of many functions that are linear in μ, so it is concave in μ:
  the mean of two dual bounds is a bound half way between them, where the mean of the two solutions
  is often good enough. It also grows with μ: the bound for a smaller μ holds.
- Elsewhere solutions change smoothly: the best combination of those of a few neighbours, which is
  found without a product K V (:mod:`.reduced`), is close.
"""

from dataclasses import dataclass, replace
from itertools import combinations, count
from typing import Any, NamedTuple

import numpy as np

from .iteration import conclude
from .newton import KAPPA, directions, dual_point, dual_value, newton_steps
from .reduced import best_combination
from .result import Result, relative_gap
from .turns import EXACT_ROWS, solve_pairs

# Solutions in memory: at most so many bytes, but always a few.
MEMORY = 2**26
FEWEST = 4

# Newton's method may take so many products K V from a start; hardly a problem does.
MAX_PRODUCTS = 1000

# A path that begins at a large C is approached from smaller ones in steps of this factor, the first
# of which makes C K_ii at most 1, but for so many steps at most.
STRIDE = 4.0
MAX_STRIDES = 12

# Neighbours along a line that a start is combined from.
N_NEIGHBOURS = {"mu": 2, "theta": 2, "C": 6}

# Numbers of solutions, whatever path they are on.
SERIALS = count()


class Place(NamedTuple):
    """The parameters of a problem."""

    C: float
    theta: float
    mu: float


@dataclass
class OneSided:
    """The solution for μ = 0 and some θ < 1, and for all other problems that share it.

    Attributes
    ----------
    result : Result
        With the certificate of the one-sided problem.
    lower : float
        1 − θ.
    widest : float
        The largest margin.
    serial : int
        Tells solutions apart.
    """

    result: Result
    lower: float
    widest: float
    serial: int

    def solves(self, loss, tol):
        """Whether this is, but for its scale, a solution of a problem with the same C."""
        widest = self.widest * (loss.lower / self.lower)
        return self.result.gap <= tol and (loss.mu == 0.0 or widest <= loss.upper)

    def rescaled(self, lower, serial):
        """The solution for another θ."""
        scale = lower / self.lower
        result = replace(
            self.result,
            coefficients=scale * self.result.coefficients,
            intercept=scale * self.result.intercept,
            scores=scale * self.result.scores,
            primal=scale**2 * self.result.primal,
            difference=scale**2 * self.result.difference,
            trace=[],
        )
        return OneSided(result, lower, scale * self.widest, serial)


class PairPath:
    """Problems of one operator, in an order in which neighbours follow each other.

    Parameters
    ----------
    operator
        K.

    Attributes
    ----------
    serial : int
        Problems with the same number have had the very same solution.
    """

    def __init__(self, operator):
        self.operator = operator
        # oldest first
        self.solutions: dict[Place, Result] = {}
        # the places along every line in which only one parameter changes
        self.lines: dict[tuple, list[Place]] = {}
        self.one_sided: dict[float, OneSided] = {}
        # the last solution that may be one of the one-sided problem, until somebody asks
        self.unproven: Any = None
        self.direction: Any = None
        self.begun = False
        self.serial = -1

    def minimise(self, loss, *, tol, max_iter, random_state=None, verbose=0):
        """Solve a problem to a relative duality gap of ``tol``; as ``solve_pairs``."""
        options = {"tol": tol, "max_iter": max_iter, "random_state": random_state}
        if not self.begun and loss.shape[0] > EXACT_ROWS:
            self.begun = True
            for C in self._smaller(loss.C):
                easier = loss.with_parameters(C, 1.0 - loss.lower, loss.mu)
                self._solved(easier, verbose=0, **options)
        return self._solved(loss, verbose=verbose, **options)

    def _smaller(self, C):
        """Values of C to begin with, the smallest first."""
        size = max(1.0, C * self._direction().diagonal)
        n_steps = min(MAX_STRIDES, np.ceil(np.log(size) / np.log(STRIDE)))
        return [C / STRIDE**step for step in range(int(n_steps), 0, -1)]

    def _solved(self, loss, *, tol, max_iter, random_state, verbose):
        known = self._one_sided(loss, tol)
        if known is not None and known.solves(loss, tol):
            if known.lower != loss.lower:
                known = known.rescaled(loss.lower, next(SERIALS))
                if known.lower > 0.0:
                    self.one_sided[loss.C] = known
            self.serial = known.serial
            return replace(known.result)
        self.serial = next(SERIALS)
        between = self._between(loss, tol)
        if between is not None:
            return between
        options = {"tol": tol, "verbose": verbose}
        if loss.shape[0] > EXACT_ROWS:
            result = self._from_start(loss, self._start(loss), max_iter, options)
            if result is not None and result.converged:
                self._remember(loss, result, tol)
                # callers may turn their result into another problem's
                return replace(result)
        return solve_pairs(
            self.operator, loss, max_iter=max_iter, random_state=random_state, **options
        )

    def _from_start(self, loss, start, max_iter, options):
        """Newton's method from known coefficients and scores; None if it fails."""
        A, F = start
        self._direction().hard = False
        steps = newton_steps(
            self.operator, loss, start=A, scores=F, direction=self.direction, **options
        )
        spent = 0
        try:
            for _ in range(max_iter):
                spent += next(steps).n_products
                if spent > MAX_PRODUCTS:
                    break
            return conclude(steps)
        except StopIteration as end:
            return end.value
        except (FloatingPointError, np.linalg.LinAlgError):
            return None

    def _between(self, loss, tol):
        """A result made of known solutions for other μ, if their bounds prove it good enough."""
        place = Place(loss.C, 1.0 - loss.lower, loss.mu)
        known = sorted(self._before("mu", place), key=lambda other: other.mu)
        below = [other for other in known if other.mu < loss.mu][-1:]
        above = [other for other in known if other.mu > loss.mu][:1]
        if not below:
            return None
        share = 0.0
        if above:
            share = (loss.mu - below[0].mu) / (above[0].mu - below[0].mu)
        parts = [(1.0 - share, self.solutions[other]) for other in below]
        parts += [(share, self.solutions[other]) for other in above]
        A, F = _combined(parts)
        primal = loss.evaluate(F)[0] + 0.5 * np.vdot(A, F)
        difference = primal - sum(weight * part.dual for weight, part in parts)
        if relative_gap(primal, difference) > tol:
            return None
        return Result(
            coefficients=A,
            intercept=self.operator.intercept * A.sum(axis=0),
            scores=F,
            primal=primal,
            difference=difference,
            n_iter=1,
            converged=True,
        )

    def _direction(self):
        if self.direction is None:
            self.direction = directions(self.operator, rounded=True)
        return self.direction

    def _remember(self, loss, result, tol):
        place = Place(loss.C, 1.0 - loss.lower, loss.mu)
        if place not in self.solutions:
            for name in Place._fields:
                self.lines.setdefault(_line(name, place), []).append(place)
        self.solutions[place] = result
        most = max(FEWEST, MEMORY // (2 * result.coefficients.nbytes))
        while len(self.solutions) > most:
            oldest = next(iter(self.solutions))
            del self.solutions[oldest]
            for name in Place._fields:
                self.lines[_line(name, oldest)].remove(oldest)
        if loss.lower > 0.0 and loss.C not in self.one_sided:
            self.unproven = loss, result, self.serial

    def _one_sided(self, loss, tol):
        """What is known of the one-sided problem with the C of another."""
        if self.unproven is not None and self.unproven[0].C == loss.C:
            self._prove_one_sided(tol)
            self.unproven = None
        return self.one_sided.get(loss.C)

    def _prove_one_sided(self, tol):
        """Keep a solution that the one-sided problem proves, and that has no margin above the band.

        Bounds of a problem with μ > 0 may make use of the upper side.
        """
        loss, result, serial = self.unproven
        widest = loss.widest(result.scores)
        if widest > loss.upper:
            return
        one = loss.with_parameters(loss.C, 1.0 - loss.lower, 0.0)
        A, F = result.coefficients, result.scores
        value, R = one.evaluate(F)
        R -= A
        primal = value + 0.5 * np.vdot(A, F)
        difference = 0.5 * np.vdot(R, self.operator.product(R))
        if difference > tol * primal:
            kappa = KAPPA * self._direction().diagonal
            point = dual_point(one, one.proximal_points(F, A, kappa))
            difference = min(difference, primal - dual_value(self.operator, point))
        if relative_gap(primal, difference) <= tol:
            certified = replace(result, primal=primal, difference=difference)
            self.one_sided[loss.C] = OneSided(certified, loss.lower, widest, serial)
            # problems of other C follow those of the last
            while len(self.one_sided) > 2:
                del self.one_sided[next(iter(self.one_sided))]

    def _start(self, loss):
        """The best combination of known neighbours and its scores; None for zero."""
        neighbours = self._neighbours(Place(loss.C, 1.0 - loss.lower, loss.mu))
        if not neighbours:
            return None, None
        return best_combination(loss, [self.solutions[place] for place in neighbours])

    def _neighbours(self, place):
        """Solved places whose solutions may be close to the one at a place, the nearest first."""
        lines = {
            name: sorted(self._before(name, place), key=lambda other: _distance(name, other, place))
            for name in Place._fields
        }
        near = {name: line[0] for name, line in lines.items() if line}
        found = list(near.values())
        for one, two in combinations(near, 2):
            corner = near[one]._replace(**{two: getattr(near[two], two)})
            if corner in self.solutions:
                found.append(corner)
        for name, line in lines.items():
            found += line[1 : N_NEIGHBOURS[name]]
        return found or list(self.solutions)[-1:]

    def _before(self, name, place):
        """Solved places that differ from a place in one parameter only."""
        return [other for other in self.lines.get(_line(name, place), ()) if other != place]


def _combined(parts):
    """Coefficients and scores of a sum of (weight, solution)."""
    weight, solution = parts[0]
    A, F = weight * solution.coefficients, weight * solution.scores
    for weight, solution in parts[1:]:
        A += weight * solution.coefficients
        F += weight * solution.scores
    return A, F


def _distance(name, one, other):
    """How far two places are apart in a parameter."""
    if name == "C":
        return abs(np.log(one.C / other.C))
    return abs(getattr(one, name) - getattr(other, name))


def _line(name, place):
    """The line through a place along a parameter."""
    return (name, *(getattr(place, other) for other in Place._fields if other != name))
