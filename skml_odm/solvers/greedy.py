"""Greedy coordinate ascent for one-sided squared losses: the shortest way to a rough solution.

    max_α  Σα − ½ αᵀΘα,   α ≥ 0,        Θ = HᵀH ∘ K + diag(1/c_i)

over all label pairs is the dual of Rank-LSVM. One step gives the pair of smallest derivative g of
½ αᵀΘα, found as in :mod:`.frank_wolfe`, (1 − g)/Θ_ii more. Where a large gap will do, that touches
fewer rows of K than block coordinate descent does, and it takes fewer steps than Frank-Wolfe's
method, which shrinks with each of them all that it has done.

Until the steps have been almost everywhere α is too small. So the dual value is that of its best
multiple, (Σα)² / 2αᵀΘα, and the primal value that of a good multiple of the scores.
"""

import math
from dataclasses import replace

import numpy as np

from ..problems.pairs import PairLoss
from .frank_wolfe import first_point, steps_per_call
from .result import Result, Trace, relative_gap

# Relative gaps from here on are reached by greedy steps, if at all, within so many steps for each
# row; after the fewer ones it can be told whether they will be.
LOOSE = 0.08
MOST_STEPS = 5.0
TELLING = 1.0
# Steps for each row until the first look at the gap, if that is to fall from 1 to 0; the fewest and
# the most between looks.
FIRST_LOOK = 2.7
SHORTEST, LONGEST = 0.1, 1.0
# Two multiples of the scores are tried, this far apart.
STRETCH = 1.1
# Steps go a little beyond what is best for a single pair.
RELAXATION = 1.3


def suits_greedy(operator, loss, tol):
    """Whether greedy steps are worth a try."""
    if tol < LOOSE or not isinstance(loss, PairLoss) or operator.matrix is None:
        return False
    one_sided = loss.mu == 0.0 and loss.lower == 1.0
    return one_sided and operator.matrix.dtype == np.float64 and loss.n_pairs.any()


def greedy(operator, loss, *, tol, max_iter, verbose=0):
    """Solve the problem to a relative duality gap of ``tol``, or return None if that takes long.

    Parameters
    ----------
    operator, loss
        K, with its matrix, and the label pairs with their weights c; θ and μ must be zero.
    tol : float
    max_iter : int
        As many steps as there are rows count as one iteration.
    verbose : int
        Print a line per look at the gap if positive.

    Returns
    -------
    Result or None
    """
    trace = Trace("greedy", verbose)
    m = loss.shape[0]
    iterate = first_point(loss, operator.diagonal() + operator.intercept, operator.intercept)
    multiple = Multiple(loss)
    most = min(MOST_STEPS, max_iter) * m
    n_steps, gap, n = 0, 1.0, max(FIRST_LOOK * (1.0 - tol), SHORTEST) * m
    while n_steps + n <= most:
        n = climb(iterate, operator, loss, int(n) + 1)
        n_steps += n
        dual = iterate.total**2 / (4.0 * iterate.value)
        primal = multiple.primal(iterate)
        trace.add(n_steps, primal, primal - dual)
        before, gap = gap, relative_gap(primal, primal - dual)
        if gap <= tol:
            result = conclude(operator, loss, iterate, multiple.factor * iterate.total, tol)
            return replace(result, n_iter=math.ceil(n_steps / m), trace=trace.entries)
        left = n * math.log(gap / tol) / math.log(before / gap) if gap < before else np.inf
        # the gap falls slowly at first
        left = 0.5 * left if n == n_steps else left
        if iterate.stalled or (n_steps >= TELLING * m and n_steps + left > most):
            break
        n = min(max(left, SHORTEST * m), LONGEST * m)
    return None


def climb(iterate, operator, loss, n):
    """Do up to n steps; return how many."""
    per_call = steps_per_call(loss)
    done = 0
    while done < n and not iterate.stalled:
        done += iterate.climb(operator.matrix, min(per_call, n - done), RELAXATION)
    return done


class Multiple:
    """A multiple of the scores, near the one of smallest primal value.

    Attributes
    ----------
    factor : float
        The multiple. The next time it will be about as large in proportion to the best multiple of
        the dual variables, (Σα) / αᵀΘα.
    """

    def __init__(self, loss):
        self.loss = loss
        self.factor, self.ratio = 1.0, 1.0

    def primal(self, iterate):
        """The primal value of a multiple of the iterate's scores."""
        scores = iterate.current_scores()
        regulariser = 2.0 * iterate.value - iterate.squares
        usual = 0.5 * iterate.total / iterate.value
        found, slopes = [], []
        for factor in (self.ratio * usual, STRETCH * self.ratio * usual):
            loss, gradient = self.loss.evaluate(factor * scores)
            found.append((loss + 0.5 * factor**2 * regulariser, factor))
            slopes.append(factor * regulariser - np.vdot(gradient, scores))
        primal, self.factor = min(found)
        # where the derivative, which rises with the factor, would be zero if it were affine
        change = slopes[0] / (slopes[0] - slopes[1]) if slopes[0] < slopes[1] else 0.0
        self.ratio *= min(max(1.0 + (STRETCH - 1.0) * change, 0.5), 2.0)
        return primal


def conclude(operator, loss, iterate, size, tol):
    """The result, everything computed anew; its scores are ``size`` times those of Σα = 1."""
    A, squares = iterate.coefficients()
    scores = operator.product(A)
    regulariser = np.vdot(A, scores)
    dual = 0.5 / (regulariser + squares)
    A *= size
    scores *= size
    primal = loss.evaluate(scores)[0] + 0.5 * size**2 * regulariser
    converged = relative_gap(primal, primal - dual) <= tol
    b = operator.intercept * A.sum(axis=0)
    return Result(
        coefficients=A,
        intercept=b,
        scores=scores,
        primal=primal,
        difference=primal - dual,
        n_iter=1,
        converged=converged,
    )
