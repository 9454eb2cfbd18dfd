"""Confidences of candidate labels given the scores: the linear program in every step of PML-ODM.

Row i has the candidate labels Z_i. With costs c ≥ 0 of labels and couplings a ≥ 0 of label pairs it
asks for

    min_p  Σ_{k∈Z_i} c_k p_k + Σ_{k∈Z_i} Σ_l a_kl (p_k − p_l)₊,    Σ_k p_k ≥ s_i,   0 ≤ p ≤ 1,

p_l = 0 for all other labels. In PML-ODM a_kl = w_i ℓ(f_ik − f_il), with the pair loss
ℓ(γ) = ½ (lower − γ)₊² + ½ μ (γ − upper)₊².

The solution is a cut: for s_i = 1 the sum of costs and cut couplings per label is least for some
set S of candidates, and p = 1/|S| on the largest such set. In general p lies between the indicator
vectors of two nested sets. Among several solutions this one does not depend on the order of the
labels. See ``_confidence.pyx``; HiGHS solves the rows where compiled code cannot prove its
solution.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ..utils.parallel import interruptible
from . import _confidence
from .result import TINY

# With up to this many candidates it is faster to look at all sets of them.
MOST_ENUMERATED = 9

# A compiled call does about this many elementary steps, so that Ctrl-C is noticed soon.
STEPS_PER_CALL = 50_000_000


class Confidences(NamedTuple):
    """Optimal confidences."""

    confidences: np.ndarray
    """P, of shape (m, q); zero for labels that are no candidates."""
    value: float
    """The sum of all rows' objectives."""
    solver: str
    """``"cut"``, ``"linprog"``, or ``"cut+linprog"`` where some rows needed HiGHS."""


class Instance(NamedTuple):
    """One row's program, pairs with other labels in the costs."""

    labels: np.ndarray
    """The candidates."""
    costs: np.ndarray
    """Of shape (n,)."""
    couplings: np.ndarray
    """Of shape (n, n)."""
    least: float

    def objective(self, confidences):
        """The objective of the candidates' confidences, by definition."""
        differences = np.maximum(confidences[:, None] - confidences[None, :], 0.0)
        return float(self.costs @ confidences + np.vdot(self.couplings, differences))


def confidences(
    scores, candidates, costs, weight, lower, upper, mu, least=1.0, solver="cut"
) -> Confidences:
    """Solve the program of PML-ODM, whose couplings come from scores.

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
    least : float or ndarray of shape (m,), default=1.0
        s ≥ 0. A row with fewer candidates is confident of all of them.
    solver : {"cut", "linprog"}, default="cut"

    Returns
    -------
    Confidences
    """
    program = ScoreProgram(scores, candidates, costs, weight, lower, upper, mu, least)
    return solve(program, solver)


def confidence_step(costs, couplings, candidates, least=1.0, solver="cut") -> Confidences:
    """Solve the program with any couplings a ≥ 0, of shape (m, q, q); see :func:`confidences`."""
    return solve(TableProgram(costs, couplings, candidates, least), solver)


def solve(program, solver):
    """Solve a program with compiled code, and with HiGHS the rows that this leaves open."""
    if solver not in ("cut", "linprog"):
        raise ValueError(f"solver must be 'cut' or 'linprog', not {solver!r}")
    shape = program.candidates.shape
    found, values = np.zeros(shape), np.zeros(shape[0])
    if solver == "cut":
        for rows in program.row_chunks():
            _confidence.solve(*program.compiled(rows), MOST_ENUMERATED, found[rows], values[rows])
        open_rows = np.flatnonzero(np.isnan(values))
        solver = "cut+linprog" if len(open_rows) else "cut"
    else:
        open_rows = np.flatnonzero(program.candidates.any(axis=1))
    for i in open_rows:
        instance = program.instance(i)
        (part,) = solve_by_highs([instance])
        found[i] = 0.0
        found[i, instance.labels] = part
        values[i] = instance.objective(part)
    return Confidences(found, float(values.sum()), solver)


def spread(values, shape):
    """Numbers as compiled code takes them, of this shape or broadcast to it."""
    return np.ascontiguousarray(np.broadcast_to(values, shape), dtype=np.float64)


class Program:
    """What programs with couplings of either kind share."""

    def __init__(self, candidates, costs, least):
        self.candidates = np.ascontiguousarray(candidates, dtype=bool)
        m, q = self.candidates.shape
        self.costs = spread(costs, (m, q))
        self.least = spread(least, m)
        if not (self.least >= 0.0).all():
            raise ValueError("the least sum of confidences must not be negative")

    def row_chunks(self):
        """Slices of rows for one compiled call each."""
        n = np.count_nonzero(self.candidates, axis=1).astype(np.float64)
        search = np.where(n <= MOST_ENUMERATED, 10.0 * 2.0**MOST_ENUMERATED, n**3)
        steps = np.cumsum(self.candidates.shape[1] * (n + 1.0) + search)
        chunk = steps // STEPS_PER_CALL
        edges = [0, *(np.flatnonzero(np.diff(chunk)) + 1), len(n)]
        return [slice(*ends) for ends in pairwise(edges)]

    def pairs(self, i, labels):
        """Couplings of some labels of a row with all its labels."""
        raise NotImplementedError

    def instance(self, i):
        """The program of a row, as :func:`linear_program` takes it."""
        inside = self.candidates[i]
        labels = np.flatnonzero(inside)
        pairs = self.pairs(i, labels)
        costs = self.costs[i, labels] + pairs[:, ~inside].sum(axis=1)
        couplings = pairs[:, inside]
        np.fill_diagonal(couplings, 0.0)
        if not (np.isfinite(costs).all() and np.isfinite(couplings).all()):
            raise FloatingPointError(f"costs or couplings of row {i} are not finite")
        if min(costs.min(initial=0.0), couplings.min(initial=0.0)) < 0.0:
            raise ValueError(f"costs or couplings of row {i} are negative")
        return Instance(labels, costs, couplings, min(self.least[i], len(labels)))


class ScoreProgram(Program):
    """Couplings are pair losses of scores."""

    def __init__(self, scores, candidates, costs, weight, lower, upper, mu, least):
        super().__init__(candidates, costs, least)
        m, q = self.candidates.shape
        self.scores = spread(scores, (m, q))
        self.weight = spread(weight, m)
        self.loss = float(lower), float(upper), float(mu)
        # compiled code takes the loss of what is no number for zero
        if not (np.isfinite(self.scores).all() and np.isfinite(self.weight).all()):
            raise FloatingPointError("the scores or the weights are not finite")

    def compiled(self, rows):
        return (
            self.scores[rows],
            None,
            self.candidates[rows].view(np.uint8),
            self.costs[rows],
            self.weight[rows],
            *self.loss,
            self.least[rows],
        )

    def pairs(self, i, labels):
        lower, upper, mu = self.loss
        margins = self.scores[i, labels, None] - self.scores[i]
        losses = np.maximum(lower - margins, 0.0) ** 2 + mu * np.maximum(margins - upper, 0.0) ** 2
        return 0.5 * self.weight[i] * losses


class TableProgram(Program):
    """Couplings are given."""

    def __init__(self, costs, couplings, candidates, least):
        super().__init__(candidates, costs, least)
        m, q = self.candidates.shape
        self.couplings = spread(couplings, (m, q, q))

    def compiled(self, rows):
        return (
            None,
            self.couplings[rows],
            self.candidates[rows].view(np.uint8),
            self.costs[rows],
            None,
            0.0,
            0.0,
            0.0,
            self.least[rows],
        )

    def pairs(self, i, labels):
        return self.couplings[i, labels]


def linear_program(instances):
    """The program of some rows with one variable d_kl ≥ p_k − p_l per coupling.

    Variables are the confidences of all rows, then d. Every row's costs are divided by the largest
    of them, which changes no row's solution: HiGHS has absolute tolerances.

    Returns
    -------
    dict
        Arguments of :func:`scipy.optimize.linprog`.
    list of int
        Where the rows' confidences end.
    """
    ends = np.cumsum([len(instance.labels) for instance in instances]).tolist()
    costs, coupling_costs, first, second = [], [], [], []
    for instance, end in zip(instances, ends, strict=True):
        unit = max(instance.costs.max(), instance.couplings.max(), TINY)
        k, other = np.nonzero(instance.couplings)
        costs.append(instance.costs / unit)
        coupling_costs.append(instance.couplings[k, other] / unit)
        first.append(k + end - len(instance.labels))
        second.append(other + end - len(instance.labels))
    ones = [np.ones(len(instance.labels)) for instance in instances]
    k, other = np.concatenate(first), np.concatenate(second)
    n, n_pairs = ends[-1], len(k)
    places = np.tile(np.arange(n_pairs), 2), np.concatenate([k, other])
    differences = sparse.csr_matrix((np.repeat([1.0, -1.0], n_pairs), places), (n_pairs, n))
    sums = sparse.block_diag([-one[None, :] for one in ones])
    least = [instance.least for instance in instances]
    arguments = {
        "c": np.concatenate(costs + coupling_costs),
        "A_ub": sparse.bmat([[differences, -sparse.eye(n_pairs)], [sums, None]], format="csr"),
        "b_ub": np.concatenate([np.zeros(n_pairs), -np.array(least)]),
        # differences of confidences are at most 1
        "bounds": (0.0, 1.0),
    }
    return arguments, ends


def solve_by_highs(instances):
    """The confidences of some rows' candidates from HiGHS, all rows in one linear program."""
    arguments, ends = linear_program(instances)
    solution = interruptible(
        linprog,
        **arguments,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if solution.status != 0:
        raise FloatingPointError(f"no confidences were found: {solution.message}")
    return np.split(np.clip(solution.x[: ends[-1]], 0.0, 1.0), ends[:-1])
