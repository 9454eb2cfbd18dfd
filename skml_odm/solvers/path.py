"""Many problems of one K, each solved from where its neighbours are.

The problems differ in C, θ and μ of a ``PairLoss``. Three facts make a search along them cheap:

- Where no margin of a solution exceeds 1 + θ, it solves the problem for every μ.
- There, the problem is homogeneous: the solution for another θ is the same one times
  (1 − θ) / (1 − θ').
- Elsewhere solutions change smoothly: linear extrapolation in μ and θ, or in log C, is close.

All these starts are linear combinations of known solutions, and so are their scores: which one has
the smallest primal value is known without a product K V.
"""

from typing import NamedTuple

import numpy as np

from .auto import EXACT_ROWS, auto
from .iteration import conclude
from .newton import Direction, newton_steps

# Solutions in memory: at most so many bytes, but always a few.
MEMORY = 2**26
FEWEST = 4

# Newton's method may take so many products K V from a start; a problem from scratch rarely does.
MAX_PRODUCTS = 300


class Place(NamedTuple):
    """The parameters of a problem."""

    C: float
    theta: float
    mu: float


class PairPath:
    """Problems of one operator, in an order in which neighbours follow each other.

    Parameters
    ----------
    operator
        K.
    """

    def __init__(self, operator):
        self.operator = operator
        # coefficients and scores, oldest first
        self.solutions: dict[Place, tuple] = {}
        # the last two places along every line in which only one parameter changes
        self.lines: dict[tuple, list[Place]] = {}
        self.direction = None

    def minimise(self, loss, *, tol, max_iter, random_state=None, verbose=0):
        """Solve a problem to a relative duality gap of ``tol``; as ``auto``."""
        options = {"tol": tol, "verbose": verbose}
        start, result = self._start(loss), None
        if start is not None:
            result = self._from_start(loss, *start, max_iter, options)
        if result is None or not result.converged:
            scratch = auto(
                self.operator, loss, max_iter=max_iter, random_state=random_state, **options
            )
            if result is None or scratch.gap <= result.gap:
                result = scratch
        self._remember(loss, result)
        return result

    def _from_start(self, loss, start, scores, max_iter, options):
        if self.direction is None:
            self.direction = Direction(self.operator)
        self.direction.hard = False
        steps = newton_steps(
            self.operator, loss, start=start, scores=scores, direction=self.direction, **options
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

    def _remember(self, loss, result):
        if loss.shape[0] <= EXACT_ROWS or not result.converged:
            return
        place = Place(loss.C, 1.0 - loss.lower, loss.mu)
        self.solutions.pop(place, None)
        self.solutions[place] = (result.coefficients, result.scores)
        for name in Place._fields:
            line = self.lines.setdefault(_line(name, place), [])
            line.append(place)
            del line[:-2]
        most = max(FEWEST, MEMORY // (2 * result.coefficients.nbytes))
        while len(self.solutions) > most:
            del self.solutions[next(iter(self.solutions))]

    def _start(self, loss):
        """The best of the known starts, with scores if these are exact; or None."""
        best, lowest = None, np.inf
        for weights in self._combinations(Place(loss.C, 1.0 - loss.lower, loss.mu)):
            known = [(weight, *self.solutions[place]) for weight, place in weights]
            A = sum(weight * A for weight, A, _ in known)
            F = sum(weight * F for weight, _, F in known)
            value = 0.5 * np.vdot(A, F) + loss.evaluate(F)[0]
            if value < lowest:
                best, lowest = (A, F if len(weights) == 1 and weights[0][0] == 1.0 else None), value
        return best

    def _combinations(self, place):
        """Lists of (weight, place) whose sum may be close to the solution at a place."""
        before = {name: self._before(name, place) for name in Place._fields}
        for name in ("mu", "C"):
            if before[name]:
                yield [(1.0, before[name][-1])]
        if before["theta"] and before["theta"][-1].theta < 1.0:
            other = before["theta"][-1]
            scale = (1.0 - place.theta) / (1.0 - other.theta)
            yield [(scale, other)]
            if before["mu"]:
                corner = other._replace(mu=before["mu"][-1].mu)
                if corner in self.solutions:
                    yield [(scale, other), (1.0, before["mu"][-1]), (-scale, corner)]
        if len(before["C"]) == 2:
            second, first = before["C"]
            reach = np.log(place.C / first.C) / np.log(first.C / second.C)
            yield [(1.0 + reach, first), (-reach, second)]
        if self.solutions and not any(before.values()):
            yield [(1.0, next(reversed(self.solutions)))]

    def _before(self, name, place):
        """The last solved places that differ from a place in one parameter only."""
        line = self.lines.get(_line(name, place), ())
        return [other for other in line if other in self.solutions and other != place]


def _line(name, place):
    """The line through a place along a parameter."""
    return (name, *(getattr(place, other) for other in Place._fields if other != name))
