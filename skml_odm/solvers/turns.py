"""Two solvers of one problem take turns, and the tables of solvers by name.

Descent by sweeps over the rows is unbeatable where it is fast, methods of Newton's type where
kernels are wide and C is large; which of the two a problem is, is hard to see beforehand. Descent
goes first. When its own rate says that it needs too long, the other method gets its turn, and if
that is not done either, they alternate with growing shares of the work: at worst a small multiple
of the better one's work is spent. The better primal value under the better dual value is the
result.

Small problems are solved to rounding, so that equal problems have equal solutions.
"""

import itertools
import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np

from ..problems.contract import SmoothableLoss, SmoothLoss, check
from ..problems.hinge import PairMultipliers
from ._m3 import MultiplicativeBlocks
from .balanced_frank_wolfe import balanced_frank_wolfe
from .bcd import BlockSweep, bcd
from .directions import has_few_features, preparation
from .iteration import conclude, finish
from .multipliers import MultiplierSweep, multipliers
from .newton import newton, newton_steps
from .proximal import MOST_STEPS, HingeRounds, RowRounds, proximal_newton, proximal_steps
from .result import EXACT, EXACT_ROWS
from .row_ascent import RowSweep
from .sweeps import epochs

# The work of a method of Newton's type on a typical problem, in products K V: for a smooth loss,
# for one with few features once these are prepared, and for a loss with corners. A solver is slow
# when it needs more, at the rate of a window of steps.
SMOOTH_WORK = 60
FEATURE_WORK = 20
CORNER_WORK = 200
WINDOW = 15

# The least that a turn of the proximal method takes: it shows what it has gained in its last rounds
# only. Medical at C = 92, γ = 0.008 takes CSRL 6 seconds instead of 16 with it.
CORNER_TURN = 6000


def solve_pairs(operator, loss, *, tol, max_iter, random_state=None, verbose=0):
    """Solve a problem with a ``PairLoss`` to a relative duality gap of ``tol``.

    Parameters and result as in ``bcd`` and ``newton``; ``max_iter`` bounds the sum of epochs and
    Newton steps.
    """
    check(loss, SmoothLoss, "auto")
    options = {"tol": tol, "verbose": verbose}
    if loss.shape[0] <= EXACT_ROWS:
        # where rounding does not even leave a value, the others may have a result
        with suppress(FloatingPointError, np.linalg.LinAlgError):
            return newton_to_rounding(operator, loss, max_iter=max_iter, **options)
    sweep = BlockSweep(operator, loss)
    few = has_few_features(operator)
    return take_turns(
        epochs(sweep, random_state=random_state, **options),
        newton_steps(operator, loss, **options),
        work=FEATURE_WORK + preparation(operator) if few else SMOOTH_WORK,
        tol=tol,
        max_iter=max_iter,
    )


def solve_hinge(
    operator,
    loss,
    *,
    tol,
    max_iter,
    random_state=None,
    state: PairMultipliers | None = None,
    verbose=0,
):
    """Solve a problem with a ``HingeLoss`` to a relative duality gap of ``tol``.

    Parameters and result as in ``multipliers``; ``max_iter`` bounds the sum of epochs and Newton
    steps. ``state`` has the multipliers and biases to start from, and those of the end.
    """
    if state is None:
        state = PairMultipliers(loss, operator.intercept > 0.0)
    options = {"tol": tol, "max_iter": max_iter, "random_state": random_state, "verbose": verbose}
    return _solve_with_corners(operator, state, MultiplierSweep, HingeRounds, **options)


def solve_rows(operator, problem, *, tol, max_iter, random_state=None, verbose=0):
    """Solve a ``RowLoss`` to a relative duality gap of ``tol``.

    Parameters and result as in ``row_ascent``; ``max_iter`` bounds the sum of epochs and Newton
    steps.
    """
    options = {"tol": tol, "max_iter": max_iter, "random_state": random_state, "verbose": verbose}
    return _solve_with_corners(operator, problem, RowSweep, RowRounds, **options)


def _solve_with_corners(operator, problem, sweep, rounds, *, tol, max_iter, random_state, verbose):
    """Sweeps and proximal steps on a problem that keeps its multipliers."""

    def proximal(inner_tol):
        # begins where the sweeps are when it is first asked
        twin = problem.copy()
        result = yield from proximal_steps(rounds(operator, twin), tol=inner_tol, verbose=verbose)
        if result.gap <= tol:
            problem.start_from(twin)
        return result

    def descent():
        return epochs(sweep(operator, problem), tol=tol, random_state=random_state, verbose=verbose)

    check(problem, SmoothableLoss, "auto")
    if problem.shape[0] > EXACT_ROWS:
        return take_turns(
            descent(),
            proximal(tol),
            work=CORNER_WORK,
            turn=CORNER_TURN,
            tol=tol,
            max_iter=max_iter,
        )
    steps = proximal(min(tol, EXACT))
    result = _finish_at_rounding(steps, tol, max_iter, patience=MOST_STEPS)
    if result.gap > tol and result.n_iter < max_iter:
        # rounding has stopped it: multipliers so large are for sweeps, however many
        other = finish(descent(), max_iter - result.n_iter)
        n_iter = result.n_iter + other.n_iter
        result = min(result, other, key=lambda each: (each.gap, each.primal))
        result.n_iter = n_iter
    result.converged = result.gap <= tol
    return result


def newton_to_rounding(operator, loss, *, tol, max_iter, start=None, verbose=0):
    """Solve a problem so small that an exact solution costs next to nothing.

    Newton's method converges in a step or two once it is close.
    """
    steps = newton_steps(operator, loss, tol=0.0, start=start, verbose=verbose)
    result = _finish_at_rounding(steps, tol, max_iter, patience=1)
    result.converged = result.gap <= tol
    return result


def _finish_at_rounding(steps, tol, max_iter, *, patience):
    """Run a solver until ``patience`` steps no longer halve a gap of at most ``tol``."""
    lowest, idle = math.inf, 0
    try:
        for _ in range(max_iter):
            gap = next(steps).gap
            idle = 0 if gap < 0.5 * lowest else idle + 1
            lowest = min(gap, lowest)
            if idle >= patience and gap <= tol:
                break
    except StopIteration as end:
        return end.value
    return conclude(steps)


def take_turns(descent, newton, *, work, tol, max_iter, turn=0.0):
    """Run two solvers of one problem until one of them is done, and return the better result.

    Parameters
    ----------
    descent, newton : generator
        Their steps; see :mod:`.iteration`. A turn ends when the solver is slow and has had its
        share: nothing for the first turn of descent, then twice the work of the turn before.
    work : float
        What the second method typically takes, in products K V: a solver that needs more is slow.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Steps of both at most.
    turn : float
        What a turn of the second method takes at least, if that is more than ``work``.
    """
    runners = current, other = Runner(descent), Runner(newton)
    spent = share = 0.0
    for _ in range(max_iter):
        spent += current.advance()
        if current.converged or not (current.running or other.running):
            break
        is_over = spent >= share and is_slow(current.steps, work, tol)
        if other.running and (is_over or not current.running):
            if current is runners[0]:
                share = max(work, turn, 2.0 * spent)
            current, other, spent = other, current, 0.0
    return _best_of(runners, tol)


def is_slow(steps, work, tol):
    """Whether a solver would take more work than this, at the rate of its last steps.

    The fewer steps there have been, the clearer they must tell so.
    """
    # an intercept that overshoots makes gaps go up and down
    lowest = list(itertools.accumulate((step.gap for step in steps), min))[-WINDOW:]
    n_steps = len(lowest)
    if n_steps < 2 or lowest[-1] <= tol:
        return False
    if lowest[-1] >= lowest[0]:
        return True
    rate = math.log(lowest[0] / lowest[-1]) / (n_steps - 1)
    cost = sum(step.n_products for step in steps[-WINDOW:]) / n_steps
    products_left = cost * math.log(lowest[-1] / tol) / rate
    return products_left * n_steps > work * WINDOW


class Runner:
    """A solver that takes turns with another one.

    Attributes
    ----------
    steps : list of Step
        What it reported after each of its iterations.
    running, converged : bool
    result : Result or None
        None as long as it is running, or if it has failed.
    """

    def __init__(self, generator):
        self.generator = generator
        self.steps = []
        self.running = True
        self.result = self.error = None

    @property
    def converged(self):
        return self.result is not None and self.result.converged

    def advance(self):
        """Do an iteration and return what it cost."""
        step = self._resume(next)
        if step is None:
            return 0.0
        self.steps.append(step)
        return step.n_products

    def conclude(self):
        """Come to a result if there has been an iteration."""
        if self.running and self.steps:
            self.result = self._resume(conclude)

    def _resume(self, how):
        try:
            return how(self.generator)
        except StopIteration as end:
            self.result = end.value
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            self.error = error
        self.running = False
        return None


def _best_of(runners, tol):
    """The coefficients of the one with the smaller primal value, under the larger dual value."""
    if not any(runner.converged for runner in runners):
        for runner in runners:
            runner.conclude()
    results = [runner.result for runner in runners if runner.result is not None]
    if not results:
        raise runners[0].error or runners[1].error
    best = min(results, key=lambda result: result.primal)
    best.difference = best.primal - max(result.dual for result in results)
    best.converged = best.gap <= tol
    best.n_iter = sum(
        len(runner.steps) if runner.result is None else runner.result.n_iter for runner in runners
    )
    return best


PAIR_SOLVERS: dict[str, Callable] = {
    "auto": solve_pairs,
    "newton": newton,
    "bcd": bcd,
    "m3": partial(bcd, blocks=MultiplicativeBlocks),
}
HINGE_SOLVERS: dict[str, Callable] = {
    "auto": solve_hinge,
    "multipliers": multipliers,
    "newton": proximal_newton,
    "frank-wolfe": balanced_frank_wolfe,
}
# Solvers whose result depends on the order in which they visit the rows.
RANDOMISED = {"auto", "bcd", "m3", "multipliers"}


def minimise(solver, operator, loss, *, tol, max_iter, random_state, verbose, start=None):
    """Solve min ½⟨A, K A⟩ + L(K A) for a pair loss with the solver of that name; a ``Result``.

    Newton's method begins at the coefficients ``start`` if they are given.
    """
    options = {"random_state": random_state} if solver in RANDOMISED else {}
    if solver == "newton":
        check(loss, SmoothLoss, solver)
        options["start"] = start
    return PAIR_SOLVERS[solver](
        operator, loss, tol=tol, max_iter=max_iter, verbose=verbose, **options
    )
