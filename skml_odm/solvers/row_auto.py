"""Losses on rows by whatever reaches the tolerance soonest.

Ascent row by row is hard to beat where it is fast. Where it would take very long (wide kernels,
linear kernels with few features, a weak regulariser) the proximal Newton method starts from the
coefficients it has found, and the two take turns.
"""

from functools import partial

from .auto import Runner, epochs_left, take_turns
from .iteration import finish
from .row_ascent import row_ascent, row_ascent_epochs
from .row_newton import row_newton_steps

# Epochs whose average rate tells how many are still to come, and how many products K V they may
# cost.
WINDOW = 15
PATIENCE = 300

# Problems of so few rows are solved to this gap, or as far as rounding allows: equal problems then
# have equal solutions. Newton's method takes over after so many epochs.
EXACT_ROWS = 64
EXACT = 1e-15
EXACT_EPOCHS = 200


def row_auto(operator, problem, *, tol, max_iter, random_state=None, verbose=0):
    """Solve the problem to a relative duality gap of ``tol``.

    Parameters and result as in ``row_ascent``; ``max_iter`` bounds the sum of epochs and Newton
    steps.
    """
    if len(problem.coefficients) <= EXACT_ROWS:
        return _to_rounding(operator, problem, tol, max_iter, random_state, verbose)
    ascent = row_ascent_epochs(
        operator, problem, tol=tol, random_state=random_state, verbose=verbose
    )
    newton = _from_there(operator, problem, tol, verbose)
    return take_turns(
        Runner(ascent, max_iter), Runner(newton, max_iter), lambda runner: _slow(runner, tol), tol
    )


def _to_rounding(operator, problem, tol, max_iter, random_state, verbose):
    ascend = partial(row_ascent, operator, problem, random_state=random_state, verbose=verbose)
    exact = min(tol, EXACT)
    result = ascend(tol=exact, max_iter=min(max_iter, EXACT_EPOCHS))
    n_iter = result.n_iter
    if result.gap > exact and n_iter < max_iter:
        steps = row_newton_steps(operator, problem, tol=exact, verbose=verbose)
        result = finish(steps, max_iter - n_iter)
        n_iter += result.n_iter
    if result.gap > tol and n_iter < max_iter:
        result = ascend(tol=tol, max_iter=max_iter - n_iter)
        n_iter += result.n_iter
    result.n_iter, result.converged = n_iter, result.gap <= tol
    return result


def _from_there(operator, problem, tol, verbose):
    """Newton steps that begin where the problem is when the first of them is asked for."""
    return (yield from row_newton_steps(operator, problem.copy(), tol=tol, verbose=verbose))


def _slow(runner, tol):
    if len(runner.gaps) <= WINDOW:
        return False
    cost = sum(runner.costs[-WINDOW:]) / WINDOW
    return cost * epochs_left(runner.gaps[-WINDOW:], tol) > PATIENCE
