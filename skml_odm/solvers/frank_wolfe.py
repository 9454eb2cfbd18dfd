"""Frank-Wolfe's method for the dual of Rank-CVM (paper 003, Section 7), plain or pairwise.

    min_α  W(α) = ½ αᵀΘα,   α ≥ 0, Σα = 1,        Θ = HᵀH ∘ K + diag(1/c_i)

over all label pairs; H turns multipliers into coefficients A = Hα. Plain steps go towards the pair
of smallest derivative g and converge sublinearly. Pairwise steps move weight there from the active
pair of largest derivative and converge linearly.

Two lower bounds of the optimum W* are at hand, and the better one counts:

- (A, ξ = α/c, ρ = min g) is feasible for the primal problem min ½⟨A, KA⟩ − ρ + ½ Σ c ξ². Scaled as
  well as can be it has the value −(min g)²/4W. That is a little above the usual W − z, z = 2W −
  min g.
- Any coefficients A bound the optimal value J of Rank-LSVM by P(A), and W* = 1/4J.
"""

import numpy as np

from . import _frank_wolfe
from .iteration import Step, finish
from .result import TINY, Result, Trace, relative_gap

# One compiled call visits at most about this many label pairs, so that Ctrl-C is noticed soon.
PAIRS_PER_CALL = 50_000_000

# Scores are computed anew, and the better bound with them, after one step for each of their
# entries; then whenever the number of steps has grown by a half, or by four for each entry.
STEPS_PER_ENTRY = 4
GROWTH = 0.5


def frank_wolfe(operator, loss, *, tol, max_iter, pairwise=False, absolute=0.0, verbose=0):
    """Solve the problem to a relative gap of ``tol``.

    Parameters
    ----------
    operator, loss
        K, and the label pairs with their weights c; θ and μ of the loss must be zero.
    tol : float
        Relative gap to reach: (W − lower bound) / W.
    max_iter : int
        Frank-Wolfe steps at most.
    pairwise : bool
        Pairwise steps instead of plain ones.
    absolute : float
        Stop, too, when z = 2W − min g is at most this: the criterion of the paper, where it is
        1e-3.
    verbose : int
        Print a line now and then if positive.

    Returns
    -------
    Result
        ``primal`` is W(α), and ``dual`` the lower bound.
    """
    steps = frank_wolfe_steps(
        operator,
        loss,
        tol=tol,
        max_iter=max_iter,
        pairwise=pairwise,
        absolute=absolute,
        verbose=verbose,
    )
    return finish(steps, max_iter)


def frank_wolfe_steps(operator, loss, *, tol, max_iter, pairwise=False, absolute=0.0, verbose=0):
    """Many steps at a time; see :mod:`.iteration` for the protocol."""
    trace = Trace("pairwise" if pairwise else "frank-wolfe", verbose)
    m, q = loss.shape
    if not loss.n_pairs.any():
        zero = np.zeros((m, q))
        return Result(
            coefficients=zero,
            intercept=np.zeros(q),
            scores=zero.copy(),
            primal=0.0,
            difference=0.0,
            n_iter=1,
            converged=True,
            trace=trace.entries,
        )
    point = Point(operator, loss, pairwise)
    per_call = steps_per_call(loss)
    per_refresh = m * q
    certificate = point.refresh()
    n_iter = since = 0
    last = False
    while True:
        if certificate.gap <= tol or certificate.promise <= absolute or last:
            break
        n = min(per_call, per_refresh - since, max_iter - n_iter)
        done = point.advance(n, tol, absolute)
        n_iter += done
        since += done
        # fewer steps than asked for without an end in sight: rounding
        last = n_iter >= max_iter or done == 0
        certificate = point.estimate()
        promising = certificate.gap <= tol or certificate.promise <= absolute
        if promising or since >= per_refresh or last:
            certificate = point.refresh()
            since = 0
            per_refresh = min(STEPS_PER_ENTRY * m * q, max(m * q, int(GROWTH * n_iter)))
        trace.add(n_iter, certificate.value, certificate.difference)
        if not last:
            last = yield Step(certificate.gap, 1 + 2 * done // (m * q))
            if last and since:
                certificate = point.refresh()
    return Result(
        coefficients=point.coefficients,
        intercept=operator.intercept * point.coefficients.sum(axis=0),
        scores=point.scores,
        primal=certificate.value,
        difference=certificate.difference,
        n_iter=max(n_iter, 1),
        converged=certificate.gap <= tol,
        trace=trace.entries,
        # ρ = 2W at the optimum
        margin=2.0 * certificate.value,
    )


class Certificate:
    """W(α), how far above the optimum it may be, and what the linearisation promises (z)."""

    def __init__(self, value, slope, rank_lsvm=np.inf):
        self.value = value
        self.promise = 2.0 * value - slope
        lowest = max(slope, 0.0) ** 2 / (4.0 * max(value, TINY))
        lowest = max(lowest, 0.25 / rank_lsvm)
        self.difference = max(value - lowest, 0.0)
        self.gap = relative_gap(value, self.difference)


class Point:
    """A point of the simplex: starts at the pair of smallest Θ_ii (Eq. 55) and goes downhill.

    Attributes
    ----------
    coefficients, scores : ndarray of shape (m, q)
        A and K A as of the last ``refresh``.
    """

    def __init__(self, operator, loss, pairwise):
        self.operator, self.loss = operator, loss
        diagonal = operator.diagonal() + operator.intercept
        self.iterate = first_point(loss, diagonal, operator.intercept, pairwise)
        usable = np.flatnonzero(loss.n_pairs)
        theta = 2.0 * diagonal[usable] + 1.0 / loss.weight[usable]
        start = usable[np.argmin(theta)]
        up, down = loss.order[start, [0, loss.n_relevant[start]]]
        self.iterate.put(start, up, down, 1.0)

    def refresh(self):
        """Compute everything anew from the multipliers."""
        self.coefficients, squares = self.iterate.coefficients()
        self.scores = self.product()
        regulariser = np.vdot(self.coefficients, self.scores)
        value = 0.5 * (regulariser + squares)
        if not np.isfinite(value):
            raise FloatingPointError("the objective is not finite")
        self.iterate.restart(self.scores, value)
        # at the optimum A / 2W solves Rank-LSVM's problem
        size = 1.0 / (2.0 * value)
        rank_lsvm = self.loss.evaluate(size * self.scores)[0] + 0.5 * size**2 * regulariser
        return Certificate(value, self.iterate.vertex()[3], rank_lsvm)

    def product(self):
        """K A; at the start one column of K says it all."""
        rows = np.flatnonzero(self.coefficients.any(axis=1))
        if len(rows) > 1:
            return self.operator.product(self.coefficients)
        column = self.operator.column(rows[0]) + self.operator.intercept
        return np.outer(column, self.coefficients[rows[0]])

    def estimate(self):
        """What the recursions since the last refresh say."""
        return Certificate(self.iterate.value, self.iterate.vertex()[3])

    def advance(self, n, tol, absolute):
        """Do up to n steps; return how many."""
        if self.operator.matrix is not None:
            return self.iterate.run(self.operator.matrix, n, tol, absolute)
        for done in range(n):
            row, _, _, slope = self.iterate.vertex()
            now = Certificate(self.iterate.value, slope)
            if now.promise <= absolute or now.gap <= tol:
                return done
            away = self.iterate.away_row()
            column = self.operator.column(row)
            self.iterate.move(column, column if away < 0 else self.operator.column(away))
            if self.iterate.stalled:
                return done
        return n


def steps_per_call(loss):
    """How many steps one compiled call may do."""
    return max(1, PAIRS_PER_CALL // (loss.shape[0] + int(loss.n_pairs.sum())))


def first_point(loss, diagonal, shift, pairwise=False):
    """Where all multipliers are zero; the diagonal is that of K, ``shift`` included."""
    return _frank_wolfe.Iterate(
        by_labels(loss, np.flatnonzero(loss.n_pairs)),
        loss.order,
        loss.n_relevant,
        loss.weight,
        diagonal,
        float(shift),
        pairwise,
    )


def by_labels(loss, rows):
    """Some rows in an order that keeps those of the same labels together."""
    relevant = np.empty((len(rows), loss.shape[1]), dtype=bool)
    slots = np.arange(loss.shape[1]) < loss.n_relevant[rows, None]
    np.put_along_axis(relevant, loss.order[rows], slots, axis=1)
    return rows[np.lexsort(np.packbits(relevant, axis=1).T)].astype(np.intc)
