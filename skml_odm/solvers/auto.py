"""Whatever reaches the tolerance soonest: block coordinate descent and Newton's method take turns.

Descent is unbeatable while it is fast, Newton's method where kernels are wide and C is large; which
of the two a problem is, is hard to see beforehand. Descent goes first. When it promises to take
long, Newton's method gets its turn, and if that is not done either, they alternate with growing
shares of the work: at worst a small multiple of the better one's work is spent.
"""

import math
from typing import Any

from .bcd import PANEL_ROWS, bcd_epochs
from .iteration import conclude
from .newton import newton_steps

# Descent that needs more epochs than this makes way for Newton's method.
PATIENCE = 20

# Products K V of Newton's first turn; a typical problem takes less.
FIRST_TURN = 300

EXACT = 1e-20
MAX_EXTRA = 5


def auto(operator, loss, *, tol, max_iter, random_state=None, verbose=0):
    """Solve the problem to a relative duality gap of ``tol``.

    Parameters and result as in ``bcd`` and ``newton``; ``max_iter`` bounds the sum of epochs and
    Newton steps.
    """
    if loss.shape[0] <= PANEL_ROWS:
        return _to_rounding(operator, loss, tol, max_iter, verbose)
    descent = bcd_epochs(operator, loss, tol=tol, random_state=random_state, verbose=verbose)
    second_order: Any = None
    gaps: list[float] = []
    n_steps = share = 0
    try:
        while len(gaps) + n_steps < max_iter:
            # descent's turn: until it looks slow, or as much work as Newton's method has had
            others, spent = n_steps, 0
            while len(gaps) + n_steps < max_iter and (not _slow(gaps, tol) or spent < share):
                step = next(descent)
                gaps.append(step.gap)
                spent += step.n_products
            share = max(FIRST_TURN, 2 * spent)
            if second_order is None and len(gaps) < max_iter:
                second_order = newton_steps(operator, loss, tol=tol, verbose=verbose)
            others, spent = len(gaps), 0
            while len(gaps) + n_steps < max_iter and spent < share:
                spent += next(second_order).n_products
                n_steps += 1
    except StopIteration as end:
        result = end.value
        result.n_iter += others
    else:
        candidates = [conclude(solver) for solver in (descent, second_order) if solver]
        result = min(candidates, key=lambda candidate: candidate.gap)
        result.n_iter = max_iter
    return result


def _to_rounding(operator, loss, tol, max_iter, verbose):
    """Solve a problem so small that an exact solution costs next to nothing.

    Newton's method converges in a step or two once it is close; rounding may keep it from the last
    digits, so it gets only a few steps after ``tol`` is reached.
    """
    steps = newton_steps(operator, loss, tol=min(tol, EXACT), verbose=verbose)
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


def _slow(gaps, tol):
    """Whether descent would need more than PATIENCE epochs at the rate of its last three."""
    if len(gaps) < 4:
        return False
    if gaps[-1] == 0.0:
        return False
    rate = (gaps[-1] / gaps[-4]) ** (1 / 3)
    return rate >= 1.0 or math.log(tol / gaps[-1]) < PATIENCE * math.log(rate)
