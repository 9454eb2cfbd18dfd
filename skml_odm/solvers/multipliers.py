"""Rank-SVM by the method of multipliers, with coordinate steps over the label pairs.

For the problem see :mod:`.pair_multipliers`. Adding −⟨b, t⟩ − ½ρ‖t‖², t = Σ_i A_i, to the dual
leaves nothing of its constraints but the boxes: every multiplier can be moved to its own optimum,
with the kernel K + ρ and scores shifted by b, panel by panel as in :mod:`.bcd`. After each epoch
b ← b + ρ t.
"""

import numpy as np
from sklearn.utils import check_random_state

from ..problems import _hinge
from .bcd import panels
from .iteration import Step, finish
from .pair_multipliers import PairMultipliers, certify
from .result import TINY, Trace

# ρ, relative to the diagonal of K, and the biases that it must allow.
RHO = 0.1
REACH = 10.0

# Passes over a block's pairs at most, and the change, relative to the bound, that ends them sooner.
MAX_PASSES = 2
PASS_PRECISION = 1e-3


def multipliers(operator, loss, *, tol, max_iter, random_state=None, verbose=0):
    """Solve the problem to a relative duality gap of ``tol``.

    Parameters
    ----------
    operator
        K; an intercept other than zero asks for biases.
    loss : HingeLoss
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Epochs at most.
    random_state : int, RandomState or None
        Panels of each epoch, and the order within them.
    verbose : int
        Print a line per epoch if positive.

    Returns
    -------
    Result
    """
    state = PairMultipliers(loss, operator.intercept > 0.0)
    epochs = multiplier_epochs(operator, state, tol=tol, random_state=random_state, verbose=verbose)
    return finish(epochs, max_iter)


def multiplier_epochs(operator, state, *, tol, random_state=None, verbose=0):
    """Epochs one at a time, from ``state`` on; see :mod:`.iteration` for the protocol."""
    rng = check_random_state(random_state)
    trace = Trace("multipliers", verbose)
    m = operator.shape[0]
    A, b = state.coefficients(), state.biases
    total = A.sum(axis=0)
    rho = state.penalty(operator, RHO, REACH)
    current = operator.follow(A)
    gap, worth_a_look, last, epoch = 1.0, tol, False, 0
    while not last:
        epoch += 1
        surplus = 0.0
        for rows in panels(m, rng):
            scores = current.scores(rows)
            scores += b + rho * total
            before = A[rows].copy()
            surplus += _hinge.sweep(
                MAX_PASSES,
                PASS_PRECISION,
                rng.permutation(len(before)),
                rows.start,
                rows.step,
                operator.gram(rows) + rho,
                np.ascontiguousarray(scores.T),
                A,
                *state.rows,
                state.component,
                state.values,
            )
            total += (A[rows] - before).sum(axis=0)
            current.changed(rows, before)
        if state.balanced:
            b += rho * total
        if not np.isfinite(surplus):
            raise FloatingPointError("the dual value is not finite")
        # Half of Σ α is about the optimum: an estimate of the gap that only decides when to
        # compute the true one.
        size = max(0.25 * np.abs(A).sum(), TINY)
        previous, gap = gap, abs(surplus) / size
        trace.add(epoch, size, abs(surplus))
        if gap * min(gap, previous) <= worth_a_look * previous:
            result = certify(operator, state)
            if result.gap <= tol:
                break
            worth_a_look *= min(0.9, max(0.3, tol * gap / (result.gap * worth_a_look)))
        last = yield Step(gap, 2)
    else:
        result = certify(operator, state)
    result.n_iter, result.converged, result.trace = epoch, result.gap <= tol, trace.entries
    return result
