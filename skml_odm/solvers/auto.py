"""Whatever reaches the tolerance soonest: block coordinate descent, or Newton's method after it."""

import math

from .bcd import PANEL_ROWS, bcd
from .newton import newton

# Newton's method takes about as long as this many epochs.
PATIENCE = 20

EXACT = 1e-20


def auto(operator, loss, *, tol, max_iter, random_state=None, verbose=0):
    """Start with ``bcd``; hand over to ``newton`` when it would take long.

    Parameters and result as in both of them; ``max_iter`` bounds the sum of epochs and steps.
    """

    def slow(gaps):
        if len(gaps) < 4:
            return False
        rate = (gaps[-1] / gaps[-4]) ** (1 / 3) if gaps[-1] > 0 else 0.0
        return rate >= 1.0 or math.log(tol / gaps[-1]) < PATIENCE * math.log(max(rate, 1e-300))

    if loss.shape[0] <= PANEL_ROWS:
        # so small that an exact solution costs next to nothing
        result = newton(operator, loss, tol=min(tol, EXACT), max_iter=max_iter, verbose=verbose)
        result.converged = result.gap <= tol
        return result
    first = bcd(
        operator,
        loss,
        tol=tol,
        max_iter=max_iter,
        random_state=random_state,
        give_up=slow,
        verbose=verbose,
    )
    if first.converged or first.n_iter == max_iter:
        return first
    start = first.coefficients if first.gap < 0.1 else None
    second = newton(
        operator, loss, tol=tol, max_iter=max_iter - first.n_iter, start=start, verbose=verbose
    )
    second.n_iter += first.n_iter
    second.trace = first.trace + second.trace
    return second
