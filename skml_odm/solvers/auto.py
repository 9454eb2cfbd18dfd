"""Whatever reaches the tolerance soonest: block coordinate descent and Newton's method take turns.

Descent is unbeatable while it is fast, Newton's method where kernels are wide and C is large; which
of the two a problem is, is hard to see beforehand. Descent goes first. When it promises to take
long, Newton's method gets its turn, and if that is not done either, they alternate with growing
shares of the work: at worst a small multiple of the better one's work is spent.
"""

import itertools
import math

import numpy as np

from .bcd import bcd_epochs
from .directions import has_few_features, preparation
from .iteration import conclude
from .newton import newton_steps

# Descent that needs more epochs than this, at the rate of its last ones, makes way for Newton's
# method. Sparse features make Newton's products slower, not descent; where features are few,
# Newton's method takes few products, once it is prepared.
FEATURE_PATIENCE = 20
PATIENCE = 40
WINDOW = 5
SPARSE_PATIENCE = 150
SPARSE_WINDOW = 8
STUCK = 0.98

# Products K V of Newton's first turn; a typical problem takes less.
FIRST_TURN = 300

# Problems of so few rows are solved to rounding: to this relative gap, or for so many steps after
# ``tol`` is reached.
EXACT_ROWS = 64
EXACT = 1e-20
MAX_EXTRA = 5


def auto(operator, loss, *, tol, max_iter, random_state=None, verbose=0):
    """Solve the problem to a relative duality gap of ``tol``.

    Parameters and result as in ``bcd`` and ``newton``; ``max_iter`` bounds the sum of epochs and
    Newton steps.
    """
    if loss.shape[0] <= EXACT_ROWS:
        return newton_to_rounding(operator, loss, tol=tol, max_iter=max_iter, verbose=verbose)
    descent = Runner(
        bcd_epochs(operator, loss, tol=tol, random_state=random_state, verbose=verbose), max_iter
    )
    second_order = Runner(newton_steps(operator, loss, tol=tol, verbose=verbose), max_iter)
    if has_few_features(operator):
        limits = FEATURE_PATIENCE + preparation(operator), WINDOW
    else:
        limits = (SPARSE_PATIENCE, SPARSE_WINDOW) if operator.by_rows else (PATIENCE, WINDOW)
    return take_turns(descent, second_order, lambda runner: _slow(runner.gaps, tol, *limits), tol)


def take_turns(descent, second_order, is_slow, tol, together=True):
    """Run two solvers of one problem until one of them is done, and return the better result.

    Parameters
    ----------
    descent, second_order : Runner
        The first has its turn until ``is_slow`` says so, or for as much work as the other has had.
    is_slow : callable
        Takes the first runner.
    tol : float
    together : bool
        Whether both may be at work. If not, the first ends when it is slow.
    """
    share = 0
    while descent.running or second_order.running:
        spent = 0
        while descent.running and (spent < share or not is_slow(descent)):
            spent += descent.advance(second_order)
        if descent.running and not together:
            descent.stop()
        share = max(FIRST_TURN, 2 * spent)
        spent = 0
        while second_order.running and not descent.converged and spent < share:
            spent += second_order.advance(descent)
        if descent.converged or second_order.converged:
            break
    return _best_of(descent, second_order, tol)


class Runner:
    """A solver that takes turns with another one.

    Attributes
    ----------
    gaps : list of float
        What it reported after each of its iterations.
    costs : list of float
        What these cost, in products K V.
    running, converged : bool
    """

    def __init__(self, steps, max_iter):
        self.steps = steps
        self.max_iter = max_iter
        self.gaps = []
        self.costs = []
        self.running = True
        self.result = self.error = None

    @property
    def converged(self):
        return self.result is not None and self.result.converged

    def advance(self, other):
        """Do an iteration and return what it cost; the end of the common budget stops both."""
        if len(self.gaps) + len(other.gaps) >= self.max_iter:
            self.running = other.running = False
            return 0
        try:
            step = next(self.steps)
        except StopIteration as end:
            self.result = end.value
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            self.error = error
        else:
            self.gaps.append(step.gap)
            self.costs.append(step.n_products)
            return step.n_products
        self.running = False
        return 0

    def stop(self):
        """Forget all that was done, to free its memory."""
        self.steps.close()
        self.running = False

    def finish(self):
        """The result so far, or None if there is none."""
        if self.result is None and self.error is None and self.gaps:
            try:
                self.result = conclude(self.steps)
            except (FloatingPointError, np.linalg.LinAlgError) as error:
                self.error = error
        return self.result


def _best_of(descent, second_order, tol):
    """The coefficients of the one with the smaller primal value, under the larger dual value."""
    runners = (descent, second_order)
    if not any(runner.converged for runner in runners):
        for runner in runners:
            runner.finish()
    results = [runner.result for runner in runners if runner.result is not None]
    if not results:
        raise descent.error or second_order.error
    best = min(results, key=lambda result: result.primal)
    best.difference = best.primal - max(result.dual for result in results)
    best.converged = best.gap <= tol
    best.n_iter = sum(
        len(runner.gaps) if runner.result is None else runner.result.n_iter for runner in runners
    )
    return best


def newton_to_rounding(operator, loss, *, tol, max_iter, start=None, verbose=0):
    """Solve a problem so small that an exact solution costs next to nothing.

    Newton's method converges in a step or two once it is close; rounding may keep it from the last
    digits, so it gets only a few steps after ``tol`` is reached.
    """
    steps = newton_steps(operator, loss, tol=min(tol, EXACT), start=start, verbose=verbose)
    extra = 0
    try:
        for _ in range(max_iter):
            extra += next(steps).gap <= tol
            if extra == MAX_EXTRA:
                break
    except StopIteration as end:
        result = end.value
    else:
        result = conclude(steps)
    result.converged = result.gap <= tol
    return result


def _slow(gaps, tol, patience, window):
    """Whether descent would need more epochs than its patience, at the rate of a window.

    A gap that two epochs have hardly moved from 1, its value at zero, tells as much already;
    kernels so narrow that descent is fast have a gap above 1 at first.
    """
    if len(gaps) == 2:
        return STUCK <= gaps[1] <= gaps[0] <= 1.0
    # an intercept that overshoots makes gaps go up and down
    lowest = list(itertools.accumulate(gaps, min))
    return len(gaps) >= window and epochs_left(lowest[-window:], tol) > patience


def epochs_left(gaps, tol):
    """How many more epochs ``tol`` takes at the average rate of the given gaps."""
    if gaps[-1] <= tol:
        return 0.0
    if gaps[-1] >= gaps[0]:
        return math.inf
    rate = math.log(gaps[-1] / gaps[0]) / (len(gaps) - 1)
    return math.log(tol / gaps[-1]) / rate
