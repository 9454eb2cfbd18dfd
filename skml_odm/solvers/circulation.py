"""Minimum-cost circulations among labels: the linear program in every Frank-Wolfe step of Rank-SVM.

With scores F, row weights c, relevant labels Y_i and irrelevant labels N_i, the program is

    min_α  Σ_i Σ_{k∈Y_i, l∈N_i} g_ikl α_ikl,    g_ikl = f_ik − f_il − 1,
    0 ≤ α_ikl ≤ c_i,    Σ_i A_i = 0,

where A_ik = Σ_l α_ikl for relevant labels and A_il = −Σ_k α_ikl for irrelevant ones. A pair is an
arc l → k of a network whose nodes are the labels. The dual program is to find biases b,

    max_b  Σ_i c_i Σ_{k∈Y_i, l∈N_i} min(0, g_ikl + b_k − b_l).

A few Newton steps on this function, smoothed, bring the biases close to their optimum; then few
augmenting paths are left to the compiled network solver, which ends at the exact optimum.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ..utils.numbers import TINY
from ..utils.parallel import interruptible
from . import _circulation

# Primal and dual value may differ by this much, relative to all costs together; so may what flows
# into a label and out of it, relative to all capacities.
TOLERANCE = 1e-11

# Newton steps at most, and at most this many for each width once it shrinks.
MAX_NEWTON = 30
MAX_NEWTON_PER_WIDTH = 2

# Augmenting paths are cheaper than further Newton steps when there are this many arcs per label
# whose flow is uncertain.
FEW_ARCS = 30


class Circulation(NamedTuple):
    """An optimal flow and the biases that prove it."""

    coefficients: np.ndarray
    """A, of shape (m, q)."""
    linear: float
    """Σ α."""
    biases: np.ndarray
    """b, with mean zero; zero for a program without arcs."""
    value: float
    """Σ g α."""
    solver: str
    """``"network"`` or ``"highs"``."""


def circulation(scores, order, n_relevant, n_involved, weight, start=None):
    """Solve the program with the network solver, or with HiGHS where that one cannot prove itself.

    Parameters
    ----------
    scores : ndarray of shape (m, q)
        F.
    order : ndarray of shape (m, q), int32
        The labels of each row: relevant ones, irrelevant ones, and those without arcs.
    n_relevant, n_involved : ndarray of shape (m,), int32
        How many of them are relevant, and how many are relevant or irrelevant.
    weight : ndarray of shape (m,)
        c; rows with weight zero have no arcs.
    start : ndarray of shape (q,), optional
        Biases to start from, such as those of a similar program.

    Returns
    -------
    Circulation
    """
    program = Program(scores, order, n_relevant, n_involved, weight)
    if start is not None and not np.isfinite(start).all():
        raise FloatingPointError("the biases to start from are not finite")
    if program.n_arcs == 0:
        return program.result(np.zeros(program.shape), np.zeros(program.shape[1]), "network")
    coefficients, biases = solve_network(program, start)
    if program.is_optimal(coefficients, biases):
        return program.result(coefficients, biases, "network")
    return circulation_by_highs(scores, order, n_relevant, n_involved, weight)


def circulation_by_highs(scores, order, n_relevant, n_involved, weight):
    """Solve the program with HiGHS, one variable per pair; see :func:`circulation`."""
    program = Program(scores, order, n_relevant, n_involved, weight)
    m, q = program.shape
    if program.n_arcs == 0:
        return program.result(np.zeros((m, q)), np.zeros(q), "highs")
    row, relevant, irrelevant = program.arcs()
    n = program.n_arcs
    costs = program.scores[row, relevant] - program.scores[row, irrelevant] - 1.0
    ends = np.concatenate([relevant, irrelevant]), np.tile(np.arange(n), 2)
    balance = sparse.csr_matrix((np.repeat([1.0, -1.0], n), ends), shape=(q, n))
    # HiGHS has absolute tolerances: the largest cost and the largest capacity become 1
    cost_unit = max(np.abs(costs).max(), TINY)
    unit = program.weight.max()
    arguments = {
        "c": costs / cost_unit,
        "A_eq": balance,
        "b_eq": np.zeros(q),
        "bounds": np.column_stack([np.zeros(n), program.weight[row] / unit]),
        "options": {
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
        },
    }
    # the simplex method of older releases may give up at such tolerances
    for method in ("highs", "highs-ipm"):
        solution = interruptible(linprog, method=method, **arguments)
        if solution.status == 0:
            break
    else:
        raise FloatingPointError(f"no minimum-cost circulation was found: {solution.message}")
    flow = unit * solution.x
    coefficients = np.zeros((m, q))
    np.add.at(coefficients, (row, relevant), flow)
    np.subtract.at(coefficients, (row, irrelevant), flow)
    return program.result(coefficients, -cost_unit * solution.eqlin.marginals, "highs")


class Program:
    """A program as compiled code takes it, and the proof that it has been solved."""

    def __init__(self, scores, order, n_relevant, n_involved, weight):
        self.scores = np.ascontiguousarray(scores, dtype=np.float64)
        self.order = np.ascontiguousarray(order, dtype=np.int32)
        self.n_relevant = np.ascontiguousarray(n_relevant, dtype=np.int32)
        self.n_involved = np.ascontiguousarray(n_involved, dtype=np.int32)
        self.shape = self.scores.shape
        n_pairs = self.n_relevant.astype(np.int64) * (self.n_involved - self.n_relevant)
        self.weight = np.where(n_pairs > 0, weight, 0.0)
        self.n_arcs = int(n_pairs[self.weight > 0.0].sum())
        # bounds of the absolute costs
        largest = 1.0 + 2.0 * np.abs(self.scores).max(axis=1, initial=0.0)
        self.largest_cost = largest.max(initial=0.0, where=self.weight > 0.0)
        self.total_capacity = self.weight @ n_pairs
        self.total_cost = (self.weight * n_pairs) @ largest
        if not np.isfinite(self.total_cost):
            raise FloatingPointError("the scores or the weights are not finite")

    @property
    def compiled(self):
        """The arguments that describe the program to compiled code."""
        return self.scores, self.order, self.n_relevant, self.n_involved, self.weight

    def arcs(self):
        """Row, relevant and irrelevant label of every pair."""
        place = np.arange(self.shape[1])
        first = place < self.n_relevant[:, None]
        second = ~first & (place < self.n_involved[:, None])
        pairs = (first & (self.weight > 0.0)[:, None])[:, :, None] & second[:, None, :]
        row, k, other = np.nonzero(pairs)
        return row, self.order[row, k], self.order[row, other]

    def smoothed_dual(self, biases, width):
        """Dual value, arcs within ``width`` of zero; gradient and minus Hessian, both smoothed."""
        q = self.shape[1]
        excess, laplacian = np.empty(q), np.empty((q, q))
        value, n_near = _circulation.smoothed_dual(*self.compiled, biases, width, excess, laplacian)
        return value, n_near, excess, laplacian

    def value(self, coefficients):
        """Σ g α."""
        return float(np.vdot(coefficients, self.scores)) - linear(coefficients)

    def is_optimal(self, coefficients, biases):
        """Whether the flow is balanced and costs no more than the biases say that it must."""
        gap = self.value(coefficients) - self.smoothed_dual(biases, TINY)[0]
        balance = np.abs(coefficients.sum(axis=0)).max()
        # the dual value of biases that are not numbers would be zero
        return bool(
            np.isfinite(biases).all()
            and abs(gap) <= TOLERANCE * self.total_cost
            and balance <= TOLERANCE * self.total_capacity
        )

    def result(self, coefficients, biases, solver):
        biases = biases - biases.mean()
        value = self.value(coefficients)
        return Circulation(coefficients, linear(coefficients), biases, value, solver)


def linear(coefficients):
    """Σ α: every arc adds its flow to one label of a row and subtracts it from another."""
    return 0.5 * float(np.abs(coefficients).sum())


def solve_network(program, start):
    """Coefficients and biases from the compiled solver, not checked yet."""
    biases, width = approach(program, start)
    coefficients = np.empty(program.shape)
    for reach in (8.0 * width, 64.0 * width, np.inf):
        if _circulation.solve(*program.compiled, biases, reach, coefficients):
            break
    return coefficients, biases


def approach(program, start):
    """Biases near their optimum, and about how near, by Newton steps on the smoothed dual.

    The width of the smoothing follows the size of the steps, then shrinks until few arcs are
    within it.
    """
    q = program.shape[1]
    if start is None:
        biases, width = np.zeros(q), program.largest_cost / 8.0
    else:
        # optimal biases need not be further apart than the costs on a path through all labels
        furthest = q * program.largest_cost
        biases = np.clip(start - np.mean(start), -furthest, furthest)
        width = program.largest_cost / 512.0
    diagonal = np.diag_indices(q)
    shrinking, steps = False, 0
    for _ in range(MAX_NEWTON):
        _, n_near, excess, laplacian = program.smoothed_dual(biases, width)
        # The curvature is known no further than the width: the second term keeps the step below
        # twice that. The first one is for labels in balance that have no curvature.
        laplacian[diagonal] += (1e-9 * program.total_capacity + 0.5 * np.abs(excess)) / width
        step = np.linalg.solve(laplacian, excess)
        biases += step - step.mean()
        steps += 1
        is_short = np.abs(step).max() < 0.5 * width
        # labels that are relevant always or never pull their biases as far as the width lets them
        if not is_short and not shrinking and width < program.largest_cost:
            width *= 4.0
        elif is_short or steps == MAX_NEWTON_PER_WIDTH:
            if n_near <= FEW_ARCS * q:
                break
            width /= 4.0
            shrinking, steps = True, 0
    return biases, width
