"""Many problems of one K, each solved from where its neighbours are.

The problems differ in C, θ and μ of a ``PairLoss`` or a ``ZeroLabelLoss``. Most of the work of a
search along them is to notice that there is nothing to do:

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
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from .directions import directions
from .iteration import conclude
from .newton import KAPPA, dual_value, newton_steps
from .reduced import best_combination
from .result import EXACT_ROWS, PATH_MEMORY, Result, relative_gap
from .turns import solve_pairs

# Newton's method may take so many products K V from a start; hardly a problem does.
MAX_PRODUCTS = 2000

# A path that begins at a large C is approached from smaller ones, each four times the one before;
# at the first of them C K_ii is at most 1.
STRIDE = 4.0
MAX_STRIDES = 12

# Neighbours that a start is combined from; so many solutions are kept in any case.
N_NEIGHBOURS = 8


class Place(NamedTuple):
    """The parameters of a problem."""

    C: float
    theta: float
    mu: float

    @classmethod
    def of(cls, loss):
        return cls(loss.C, 1.0 - loss.lower, loss.mu)

    def distance(self, other):
        """How different solutions may be, about; four times C counts like μ = 1 instead of 0."""
        difference = abs(self.theta - other.theta) + abs(self.mu - other.mu)
        return difference + abs(np.log(self.C / other.C)) / np.log(STRIDE)


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
    solutions : dict of Place to Result
        Known solutions, oldest first.
    serial : int
        Problems with the same number have had the very same solution, on whatever path.
    """

    serials = count()

    def __init__(self, operator):
        self.operator = operator
        self.solutions: dict[Place, Result] = {}
        self.one_sided: dict[float, OneSided] = {}
        # the last solution that may be one of the one-sided problem, until somebody asks
        self.unproven: Any = None
        self.direction: Any = None
        self.serial = -1

    def minimise(self, loss, *, tol, max_iter, random_state=None, verbose=0):
        """Solve a problem to a relative duality gap of ``tol``; as ``solve_pairs``."""
        options = {"tol": tol, "max_iter": max_iter, "random_state": random_state}
        if loss.shape[0] <= EXACT_ROWS:
            # wherever they start, these are solved to rounding
            self.serial = next(self.serials)
            return solve_pairs(self.operator, loss, verbose=verbose, **options)
        if self.direction is None:
            self.direction = directions(self.operator, zero_sums=True)
            for C in self._smaller(loss.C):
                easier = loss.with_parameters(C, 1.0 - loss.lower, loss.mu)
                self._solved(easier, verbose=0, **options)
        return self._solved(loss, verbose=verbose, **options)

    def _smaller(self, C):
        """Values of C to begin with, the smallest first."""
        size = max(1.0, C * self.direction.diagonal)
        n_steps = min(MAX_STRIDES, np.ceil(np.log(size) / np.log(STRIDE)))
        return [C / STRIDE**step for step in range(int(n_steps), 0, -1)]

    def _solved(self, loss, *, tol, max_iter, random_state, verbose):
        known = self._one_sided(loss, tol)
        if known is not None and known.solves(loss, tol):
            if known.lower != loss.lower:
                known = known.rescaled(loss.lower, next(self.serials))
                if known.lower > 0.0:
                    self.one_sided[loss.C] = known
            self.serial = known.serial
            return replace(known.result)
        self.serial = next(self.serials)
        result = self._between(loss, tol)
        if result is not None:
            return result
        result = self._from_neighbours(loss, tol, max_iter, verbose)
        if result is not None and result.converged:
            self._remember(loss, result)
            # callers may turn their result into another problem's
            return replace(result)
        options = {"tol": tol, "max_iter": max_iter, "random_state": random_state}
        return solve_pairs(self.operator, loss, verbose=verbose, **options)

    def _from_neighbours(self, loss, tol, max_iter, verbose):
        """Newton's method from the best combination of known neighbours; None if it fails."""
        A = F = None
        if self.solutions:
            place = Place.of(loss)
            nearest = sorted(self.solutions, key=place.distance)[:N_NEIGHBOURS]
            A, F = best_combination(loss, [self.solutions[other] for other in nearest])
        steps = newton_steps(
            self.operator,
            loss,
            tol=tol,
            start=A,
            scores=F,
            direction=self.direction,
            verbose=verbose,
        )
        n_products = 0
        try:
            for _ in range(max_iter):
                n_products += next(steps).n_products
                if n_products > MAX_PRODUCTS:
                    break
            return conclude(steps)
        except StopIteration as end:
            return end.value
        except (FloatingPointError, np.linalg.LinAlgError):
            return None

    def _between(self, loss, tol):
        """A result made of known solutions for other μ, if their bounds prove it good enough."""
        place = Place.of(loss)
        line = sorted(other for other in self.solutions if other[:2] == place[:2])
        below = [other for other in line if other.mu < loss.mu][-1:]
        above = [other for other in line if other.mu > loss.mu][:1]
        if not below:
            return None
        share = (loss.mu - below[0].mu) / (above[0].mu - below[0].mu) if above else 0.0
        A, F, dual = np.zeros(loss.shape), np.zeros(loss.shape), 0.0
        for weight, other in zip((1.0 - share, share), below + above, strict=False):
            part = self.solutions[other]
            A += weight * part.coefficients
            F += weight * part.scores
            dual += weight * part.dual
        primal = loss.evaluate(F)[0] + 0.5 * np.vdot(A, F)
        if relative_gap(primal, primal - dual) > tol:
            return None
        return Result(
            coefficients=A,
            intercept=self.operator.intercept * A.sum(axis=0),
            scores=F,
            primal=primal,
            difference=primal - dual,
            n_iter=1,
            converged=True,
        )

    def _remember(self, loss, result):
        self.solutions[Place.of(loss)] = result
        most = max(N_NEIGHBOURS, PATH_MEMORY // (2 * result.coefficients.nbytes))
        while len(self.solutions) > most:
            del self.solutions[next(iter(self.solutions))]
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
            points = one.proximal_points(F, A, KAPPA * self.direction.diagonal)
            difference = min(difference, primal - dual_value(self.operator, one, points))
        if relative_gap(primal, difference) <= tol:
            certified = replace(result, primal=primal, difference=difference)
            self.one_sided[loss.C] = OneSided(certified, loss.lower, widest, serial)
            # problems of other C follow those of the last
            while len(self.one_sided) > 2:
                del self.one_sided[next(iter(self.one_sided))]
