"""Rank-SVM by whatever reaches the tolerance soonest.

Coordinate steps are hard to beat at loose tolerances. Where they would take very long (linear and
other wide kernels with a large C, tight tolerances) the proximal Newton method goes on from the
multipliers and biases they have found.
"""

from .auto import epochs_left
from .iteration import conclude, finish
from .multipliers import multiplier_epochs
from .pair_multipliers import PairMultipliers
from .proximal_newton import proximal_steps

# Epochs whose average rate tells how many are still to come, and how many those may be.
WINDOW = 15
PATIENCE = 300

# Problems of so few rows are solved to this gap, or as far as rounding allows.
EXACT_ROWS = 64
EXACT = 1e-13


def hinge_auto(operator, loss, *, tol, max_iter, random_state=None, state=None, verbose=0):
    """Solve the problem to a relative duality gap of ``tol``.

    Parameters and result as in ``multipliers``; ``max_iter`` bounds the sum of epochs and Newton
    steps. ``state`` has the multipliers and biases to start from, and those of the end.
    """
    if state is None:
        state = PairMultipliers(loss, operator.intercept > 0.0)
    small = loss.shape[0] <= EXACT_ROWS
    epochs = multiplier_epochs(operator, state, tol=tol, random_state=random_state, verbose=verbose)
    gaps: list[float] = []
    try:
        while not small and len(gaps) < max_iter and not _slow(gaps, tol):
            gaps.append(next(epochs).gap)
    except StopIteration as end:
        return end.value
    if len(gaps) == max_iter:
        return conclude(epochs)
    before = state.values.copy(), state.biases.copy()
    steps = proximal_steps(operator, state, tol=min(tol, EXACT) if small else tol, verbose=verbose)
    result = finish(steps, max_iter - len(gaps))
    result.n_iter += len(gaps)
    result.converged = result.gap <= tol
    if result.converged or result.n_iter >= max_iter:
        return result
    # rounding has stopped it: so large a C is for coordinate steps, however many
    state.values[:], state.biases[:] = before
    other = finish(epochs, max_iter - result.n_iter)
    best = min(result, other, key=lambda each: (each.gap, each.primal))
    best.n_iter = other.n_iter + result.n_iter - len(gaps)
    return best


def _slow(gaps, tol):
    """Whether coordinate steps would take too many epochs, at the rate of the last ones."""
    return len(gaps) > WINDOW and epochs_left(gaps[-WINDOW:], tol) > PATIENCE
