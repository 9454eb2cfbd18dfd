"""Descent by sweeps over the rows: the loop that all such methods have in common.

A sweep improves one row's coefficients after the other. What a row's problem still had to gain when
it was met adds up to an estimate of the duality gap: it runs an epoch late, but costs nothing, and
tells when to compute the true one.
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ..utils.numbers import TINY
from .iteration import Step
from .result import Trace

# Rows of a kernel matrix that are handled with one product.
PANEL_ROWS = 96

# A row whose gap is below this share of what it may contribute to ``tol`` is left as it is.
NEGLIGIBLE = 0.03


class Epoch(NamedTuple):
    """What a sweep over all rows reports."""

    surplus: float
    """Sum of the rows' gaps when they were met."""
    dual: float
    """The dual value, as far as it is known."""
    n_products: float
    """How many products K V the sweep cost, about."""


def epochs(sweep, *, tol, random_state=None, verbose=0):
    """Epochs one at a time; see :mod:`.iteration` for the protocol.

    Parameters
    ----------
    sweep : object
        Called with a random number generator, the estimated relative gap so far and the gap below
        which a row may be left alone, it visits all rows and returns an ``Epoch``.
        ``certificate()`` is a Result, all computed anew, and ``name`` appears in printed traces.
    tol : float
        Relative duality gap to reach.
    random_state : int, RandomState or None
        Order of the rows.
    verbose : int
        Print a line per epoch if positive.
    """
    rng = check_random_state(random_state)
    trace = Trace(sweep.name, verbose)
    gap, worth_a_look, negligible, last = 1.0, tol, 0.0, False
    n_epochs = 0
    while not last:
        n_epochs += 1
        surplus, dual, n_products = sweep(rng, gap, negligible)
        if not (np.isfinite(surplus) and np.isfinite(dual)):
            raise FloatingPointError("the dual value is not finite")
        previous, gap = gap, max(surplus, 0.0) / max(dual + surplus, 1e-300 * surplus, TINY)
        negligible = NEGLIGIBLE * tol * max(dual, 0.0) / sweep.n_rows
        trace.add(n_epochs, dual + surplus, surplus)
        # the rate of the last epoch tells how far the rows have come since they were met
        if gap * min(gap, previous) <= worth_a_look * previous:
            result = sweep.certificate()
            if result.gap <= tol:
                break
            # the estimate was too small, or the prediction from it: look when it is smaller by that
            worth_a_look *= min(0.9, max(0.3, tol * gap / (result.gap * worth_a_look)))
        last = yield Step(gap, n_products)
    else:
        result = sweep.certificate()
    result.n_iter, result.converged, result.trace = n_epochs, result.gap <= tol, trace.entries
    return result


class Panel(NamedTuple):
    """Some rows of a kernel matrix that are visited with the help of one product."""

    rows: slice
    order: np.ndarray
    """In which to visit them."""
    gram: np.ndarray
    """K among them, without the intercept."""
    scores: np.ndarray
    """Their scores K A, without the intercept."""
    before: np.ndarray
    """Their coefficients before the visit."""


def panels(m, rng):
    """Slices of evenly spaced rows that together make up all m rows, in random order.

    Evenly spaced rows are a view of K, and a mixture of classes even where the data are sorted by
    class. The spacing changes from epoch to epoch. With the same panels every time, the rows of a
    panel stay behind the others together, which costs several times as many epochs.
    """
    spacing = max(1, -(-m // PANEL_ROWS))
    spacing += rng.randint(spacing)
    for start in rng.permutation(min(spacing, m)):
        yield slice(int(start), None, spacing)


class PanelVisits:
    """All rows of an operator, panel by panel, while their coefficients A change."""

    def __init__(self, operator, A):
        self.operator, self.A = operator, A
        self.current = operator.follow(A)

    def __call__(self, rng):
        """Panels one after the other; A may be changed at the rows of each before the next."""
        for rows in panels(len(self.A), rng):
            before = self.A[rows].copy()
            yield Panel(
                rows=rows,
                order=rng.permutation(len(before)),
                gram=self.operator.gram(rows),
                scores=self.current.scores(rows),
                before=before,
            )
            self.current.changed(rows, before)
