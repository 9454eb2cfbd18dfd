"""Confidences of candidate labels given the scores: the linear program in every step of PML-ODM.

Row i has the candidate labels Z_i. With costs c ≥ 0 and the pair loss
ℓ(γ) = ½ (lower − γ)₊² + ½ μ (γ − upper)₊² it asks for

    min_p  Σ_{k∈Z_i} c_k p_k + w_i Σ_{k∈Z_i} Σ_l ℓ(f_ik − f_il) (p_k − p_l)₊,
    Σ_k p_k ≥ 1,   0 ≤ p ≤ 1,   p_l = 0 for all other labels.

The solution is a cut: the sum of costs and cut couplings per label is least for some set S of
candidates, and p = 1/|S| on the largest such set. See ``_confidence.pyx``; HiGHS solves the rows
where compiled code cannot prove its solution.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ..problems.pairs import chunks
from ..utils.numbers import TINY, WORK_PER_CALL
from ..utils.parallel import interruptible
from ._confidence import RowSolver


class Confidences(NamedTuple):
    """Optimal confidences."""

    confidences: np.ndarray
    """P, of shape (m, q); zero for labels that are no candidates."""
    value: float
    """The sum of all rows' objectives."""
    solver: str
    """``"cut"``, ``"linprog"``, or ``"cut+linprog"`` where some rows needed HiGHS."""


class RowProgram(NamedTuple):
    """One row's program, with the pairs with other labels in the costs."""

    labels: np.ndarray
    """The candidates."""
    costs: np.ndarray
    """Of shape (n,)."""
    couplings: np.ndarray
    """Of shape (n, n)."""

    def objective(self, confidences):
        """The objective of the candidates' confidences, by definition."""
        differences = np.maximum(confidences[:, None] - confidences[None, :], 0.0)
        return float(self.costs @ confidences + np.vdot(self.couplings, differences))


def confidences(scores, candidates, costs, weight, lower, upper, mu, solver="cut") -> Confidences:
    """Solve the programs of all rows.

    Parameters
    ----------
    scores : ndarray of shape (m, q)
        F.
    candidates : ndarray of shape (m, q), bool
    costs : ndarray of shape (m, q)
        Costs of candidates besides the pair losses; those of other labels do not matter.
    weight : ndarray of shape (m,)
        w ≥ 0.
    lower, upper, mu : float
        The pair loss.
    solver : {"cut", "linprog"}, default="cut"

    Returns
    -------
    Confidences
    """
    if solver not in ("cut", "linprog"):
        raise ValueError(f"solver must be 'cut' or 'linprog', not {solver!r}")
    programs = Programs(scores, candidates, costs, weight, lower, upper, mu)
    shape = programs.candidates.shape
    found, values = np.zeros(shape), np.zeros(shape[0])
    if solver == "cut":
        programs.cut(found, values)
        open_rows = np.flatnonzero(np.isnan(values))
        solver = "cut+linprog" if len(open_rows) else "cut"
    else:
        open_rows = np.flatnonzero(programs.candidates.any(axis=1))
    for i in open_rows:
        program = programs.row(i)
        (part,) = solve_by_highs([program])
        found[i] = 0.0
        found[i, program.labels] = part
        values[i] = program.objective(part)
    return Confidences(found, float(values.sum()), solver)


class Programs:
    """The programs of all rows; parameters as in :func:`confidences`."""

    def __init__(self, scores, candidates, costs, weight, lower, upper, mu):
        self.candidates = np.ascontiguousarray(candidates, dtype=bool)
        m, q = self.candidates.shape
        self.scores, self.costs, self.weight = (
            np.ascontiguousarray(np.broadcast_to(values, shape), dtype=np.float64)
            for values, shape in ((scores, (m, q)), (costs, (m, q)), (weight, m))
        )
        self.loss = float(lower), float(upper), float(mu)
        # compiled code takes the loss of what is no number for zero
        if not (np.isfinite(self.scores).all() and np.isfinite(self.weight).all()):
            raise FloatingPointError("the scores or the weights are not finite")

    def cut(self, found, values):
        """Write confidences and objectives of all rows, NaN for those without a proof."""
        n = self.candidates.sum(axis=1)
        solver = RowSolver(n.max(initial=0))
        for rows in chunks(np.cumsum(n * self.candidates.shape[1] + n**3), WORK_PER_CALL):
            solver.solve_rows(
                self.scores[rows],
                self.candidates[rows].view(np.uint8),
                self.costs[rows],
                self.weight[rows],
                *self.loss,
                found[rows],
                values[rows],
            )

    def row(self, i):
        """The program of one row."""
        inside = self.candidates[i]
        labels = np.flatnonzero(inside)
        lower, upper, mu = self.loss
        margins = self.scores[i, labels, None] - self.scores[i]
        losses = np.maximum(lower - margins, 0.0) ** 2 + mu * np.maximum(margins - upper, 0.0) ** 2
        pairs = 0.5 * self.weight[i] * losses
        costs = self.costs[i, labels] + pairs[:, ~inside].sum(axis=1)
        couplings = pairs[:, inside]
        np.fill_diagonal(couplings, 0.0)
        if not (np.isfinite(costs).all() and np.isfinite(couplings).all()):
            raise FloatingPointError(f"costs or couplings of row {i} are not finite")
        if min(costs.min(initial=0.0), couplings.min(initial=0.0)) < 0.0:
            raise ValueError(f"costs or couplings of row {i} are negative")
        return RowProgram(labels, costs, couplings)


def solve_by_highs(programs):
    """The confidences of some rows' candidates from HiGHS, all rows in one linear program.

    A row has the variables p, and d_kl ≥ p_k − p_l for every coupling. Its costs are divided by the
    largest of them, which does not change its solution: HiGHS has absolute tolerances.
    """
    costs, constraints, limits = [], [], []
    for program in programs:
        k, other = np.nonzero(program.couplings)
        row_costs = np.concatenate([program.costs, program.couplings[k, other]])
        costs.append(row_costs / max(row_costs.max(), TINY))
        unit = sparse.eye(len(program.labels), format="csr")
        sums = sparse.csr_matrix(-np.ones((1, len(program.labels))))
        constraints.append(
            sparse.bmat([[unit[k] - unit[other], -sparse.eye(len(k))], [sums, None]])
        )
        limits.append(np.append(np.zeros(len(k)), -1.0))
    solution = interruptible(
        linprog,
        np.concatenate(costs),
        A_ub=sparse.block_diag(constraints, format="csr"),
        b_ub=np.concatenate(limits),
        bounds=(0.0, 1.0),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if solution.status != 0:
        raise FloatingPointError(f"no confidences were found: {solution.message}")
    ends = np.cumsum([len(part) for part in costs])
    parts = np.split(np.clip(solution.x, 0.0, 1.0), ends[:-1])
    return [part[: len(program.labels)] for part, program in zip(parts, programs, strict=True)]
