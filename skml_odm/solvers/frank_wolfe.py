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

from typing import NamedTuple

import numpy as np

from ..utils.numbers import TINY
from . import _frank_wolfe
from .iteration import Step, finish
from .result import Result, Trace, relative_gap

# Everything is computed anew after as many steps as there are scores, m·q, but at least this many:
# where scores are few, a thousand steps take as long as that.
MIN_STEPS = 1000


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
    certificate = point.start()
    n_iter, last = 0, False
    while not (certificate.gap <= tol or certificate.promise <= absolute or last):
        done = point.advance(min(max(MIN_STEPS, m * q), max_iter - n_iter), tol, absolute)
        n_iter += done
        certificate = point.refresh()
        trace.add(n_iter, certificate.value, certificate.difference)
        # without any step and not at the end: only rounding is left
        last = n_iter >= max_iter or done == 0
        if not last:
            last = yield Step(certificate.gap, 1 + 2 * done // (m * q))
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
        A and K A as of the last ``start`` or ``refresh``.
    """

    def __init__(self, operator, loss, pairwise):
        self.operator, self.loss = operator, loss
        self.diagonal = operator.diagonal() + operator.intercept
        self.pairs = group_pairs(loss)
        self.iterate = _frank_wolfe.Iterate(
            loss, self.pairs, self.diagonal, operator.intercept, pairwise
        )

    def start(self):
        """Go to the first point."""
        row = self.pairs.row
        theta = 2.0 * self.diagonal[row] + 1.0 / self.loss.weight[row]
        return self.place(np.array([np.argmin(theta)]), np.ones(1))

    def refresh(self):
        """Compute everything anew from the multipliers."""
        return self.place(*self.iterate.multipliers())

    def place(self, active, alpha):
        """Go to the point with these pairs and multipliers; their sum is made 1."""
        alpha = alpha / alpha.sum()
        active, alpha = active[alpha > 0.0], alpha[alpha > 0.0]
        row = self.pairs.row[active]
        self.coefficients = np.zeros(self.loss.shape)
        np.add.at(self.coefficients, (row, self.pairs.relevant[active]), alpha)
        np.subtract.at(self.coefficients, (row, self.pairs.irrelevant[active]), alpha)
        self.scores = self.product()
        regulariser = np.vdot(self.coefficients, self.scores)
        value = 0.5 * (regulariser + (alpha**2 / self.loss.weight[row]).sum())
        if not np.isfinite(value):
            raise FloatingPointError("the objective is not finite")
        self.iterate.restart(active, alpha, self.scores, value)
        # at the optimum A / 2W solves Rank-LSVM's problem
        size = 1.0 / (2.0 * value)
        rank_lsvm = self.loss.evaluate(size * self.scores)[0] + 0.5 * size**2 * regulariser
        return Certificate(value, self.iterate.vertex()[1], rank_lsvm)

    def product(self):
        """K A; at the start one column of K says it all."""
        rows = np.flatnonzero(self.coefficients.any(axis=1))
        if len(rows) > 1:
            return self.operator.product(self.coefficients)
        column = self.operator.column(rows[0]) + self.operator.intercept
        return np.outer(column, self.coefficients[rows[0]])

    def advance(self, n, tol, absolute):
        """Do up to n steps, fewer where the point is good enough; return how many."""
        if self.operator.matrix is not None:
            return self.iterate.run(self.operator.matrix, n, tol, absolute)
        for done in range(n):
            rows = self.iterate.next_rows(tol, absolute)
            if rows is None:
                return done
            columns = {row: self.operator.column(row) for row in rows}
            if not self.iterate.move(*(columns[row] for row in rows)):
                return done
        return n


class GroupedPairs(NamedTuple):
    """All label pairs, sorted by their two labels (k, l)."""

    row: np.ndarray
    relevant: np.ndarray
    irrelevant: np.ndarray
    first: np.ndarray
    """Where the group q·k + l begins; one more entry for the end."""


def group_pairs(loss):
    """The pairs with a weight above zero."""
    q = loss.shape[1]
    usable = loss.n_pairs > 0
    parts = []
    for k in range(q):
        rows = np.flatnonzero(loss.relevant[:, k] & usable)
        label, place = np.nonzero(loss.irrelevant[rows].T)
        parts.append(np.array([rows[place], np.full(len(place), k), label], dtype=np.intc))
    row, relevant, irrelevant = np.concatenate(parts, axis=1)
    sizes = np.bincount(q * relevant + irrelevant, minlength=q * q)
    return GroupedPairs(row, relevant, irrelevant, np.append(0, np.cumsum(sizes)))
