"""Minimum-cost circulations against HiGHS, and against the conditions that make them optimal."""

import numpy as np
import pytest
from groups import first_fast
from problems import random_indicator

from skml_odm.problems.pairs import PairLoss
from skml_odm.solvers import _circulation
from skml_odm.solvers import circulation as module
from skml_odm.solvers.circulation import circulation, circulation_by_highs

KINDS = {
    "generic": lambda rng, shape: rng.normal(size=shape) * 2.0 ** rng.uniform(-3, 3),
    "integers": lambda rng, shape: rng.integers(-2, 3, size=shape).astype(float),
    "all tied": lambda rng, shape: np.zeros(shape),
    "huge": lambda rng, shape: 1e9 * rng.normal(size=shape),
    "tiny": lambda rng, shape: 1e-9 * rng.normal(size=shape),
    "mixed": lambda rng, shape: rng.normal(size=shape) * 10.0 ** rng.uniform(-6, 6, size=shape),
    "shifted": lambda rng, shape: rng.normal(size=shape) + 10.0 * rng.normal(size=shape[1]),
}


def random_program(kind, seed, largest=40):
    """Scores and the four arguments that describe the pairs; in some, labels are unknown."""
    rng = np.random.default_rng(seed)
    m, q = rng.integers(1, largest), 2 if seed % 7 == 0 else rng.integers(2, 9)
    indicator = random_indicator(rng, m, q)
    if seed % 5 == 1:
        # a label that everybody has and one that nobody has: their arcs carry no flow
        indicator[:, 0], indicator[:, -1] = True, False
    sample_weight = [None, rng.uniform(0, 2, size=m), 10.0 ** rng.uniform(-9, 6, size=m)][seed % 3]
    if sample_weight is not None:
        sample_weight[rng.random(m) < 0.2] = 0.0
    C = 2.0 ** rng.uniform(-3, 10)
    known = rng.random((m, q)) < 0.7 if seed % 4 == 3 else None
    loss = PairLoss(indicator, C=C, theta=0.0, mu=0.0, sample_weight=sample_weight, involved=known)
    return KINDS[kind](rng, (m, q)), loss.order, loss.n_relevant, loss.n_involved, loss.weight


def random_start(seed, q):
    rng = np.random.default_rng([seed, q])
    return rng.normal(size=q) * 10.0 ** rng.uniform(-3, 3)


def dual_value(biases, scores, order, n_relevant, n_involved, weight):
    """Σ_i c_i Σ_kl min(0, g_ikl + b_k − b_l), by definition."""
    value = 0.0
    rows = zip(scores + biases, order, n_relevant, n_involved, weight, strict=True)
    for f, labels, p, n, c in rows:
        margins = f[labels[:p], None] - f[None, labels[p:n]]
        value += c * np.minimum(0.0, margins - 1.0).sum()
    return value


def total_scale(scores, order, n_relevant, n_involved, weight):
    """All capacities together, and the largest that all costs together can be."""
    capacity = weight * n_relevant * (n_involved - n_relevant)
    return capacity.sum(), capacity @ (1.0 + 2.0 * np.abs(scores).max(axis=1))


def excess_over_capacity(coefficients, order, n_relevant, n_involved, weight):
    """By how much rows of A miss being sums of pair variables 0 ≤ α_kl ≤ c, at worst.

    Such variables exist if and only if both sides have the same sum, and any j relevant labels
    together have no more than Σ_l min(−A_l, j c) (Gale and Ryser).
    """
    worst = 0.0
    for A, labels, p, n, c in zip(coefficients, order, n_relevant, n_involved, weight, strict=True):
        relevant, irrelevant = np.sort(A[labels[:p]])[::-1], -A[labels[p:n]]
        assert not A[labels[n:]].any()
        worst = max(worst, -relevant.min(initial=0.0), -irrelevant.min(initial=0.0))
        worst = max(worst, abs(relevant.sum() - irrelevant.sum()))
        for j in range(1, p + 1):
            possible = np.minimum(irrelevant, j * c).sum()
            worst = max(worst, relevant[:j].sum() - possible)
    return worst


def check(solution, program):
    """The solution is feasible, and its biases prove that it is optimal."""
    scores, order, n_relevant, n_involved, weight = program
    capacity, cost = total_scale(*program)
    A = solution.coefficients
    assert np.abs(A.sum(axis=0)).max(initial=0.0) <= 1e-12 * capacity
    assert excess_over_capacity(A, order, n_relevant, n_involved, weight) <= 1e-12 * capacity
    assert not A[weight == 0.0].any()
    relevant_sum = sum(A[i, order[i, :p]].sum() for i, p in enumerate(n_relevant))
    assert abs(solution.linear - relevant_sum) <= 1e-12 * capacity
    assert abs(solution.value - (np.vdot(A, scores) - solution.linear)) <= 1e-12 * cost
    assert abs(solution.value - dual_value(solution.biases, *program)) <= 1e-11 * cost
    assert np.isfinite(solution.biases).all()
    assert abs(solution.biases.mean()) <= 1e-12 * (1.0 + np.abs(scores).max())


@pytest.mark.parametrize("kind", KINDS)
def test_equals_highs(kind):
    for seed in range(80):
        program = random_program(kind, seed)
        expected = circulation_by_highs(*program)
        start = random_start(seed, program[0].shape[1]) if seed % 2 else None
        found = circulation(*program, start=start)
        assert (found.solver, expected.solver) == ("network", "highs")
        check(found, program)
        _, cost = total_scale(*program)
        assert abs(found.value - expected.value) <= 1e-9 * cost


@pytest.mark.parametrize("kind", ["generic", "integers", "all tied", "shifted"])
def test_highs_proves_its_solution(kind):
    for seed in range(0, 60, 4):
        # equal weights: HiGHS keeps its absolute tolerance, not the smallest capacities
        program = random_program(kind, seed)
        found = circulation_by_highs(*program)
        capacity, cost = total_scale(*program)
        assert np.abs(found.coefficients.sum(axis=0)).max() <= 1e-9 * capacity
        assert abs(found.value - dual_value(found.biases, *program)) <= 1e-8 * cost


@pytest.mark.parametrize("kind", first_fast(KINDS, 3))
def test_larger_programs_prove_their_solution(kind):
    for seed in range(3):
        program = random_program(kind, 1000 + seed, largest=2000)
        start = None
        for _ in range(3):
            found = circulation(*program, start=start)
            assert found.solver == "network"
            check(found, program)
            start = found.biases


@pytest.mark.parametrize("kind", KINDS)
def test_start_does_not_change_the_optimum(kind):
    program = random_program(kind, 11)
    _, cost = total_scale(*program)
    cold = circulation(*program)
    for start in (cold.biases, cold.biases + 7.0, -cold.biases, 1e6 * np.ones(len(cold.biases))):
        kept = start.copy()
        warm = circulation(*program, start=start)
        check(warm, program)
        assert abs(warm.value - cold.value) <= 1e-12 * cost
        np.testing.assert_array_equal(start, kept)


def test_two_labels_by_hand():
    """Arcs 1 → 0 with costs −3 and 1, arcs 0 → 1 with costs −1 and 2.5, capacity 1 each.

    Both negative arcs close a circle; the next cheapest circle costs 1 + 2.5.
    """
    scores = np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 0.0], [0.0, 3.5]])
    indicator = np.array([[True, False], [True, False], [False, True], [False, True]])
    loss = PairLoss(indicator, C=1.0, theta=0.0, mu=0.0)
    found = circulation(scores, loss.order, loss.n_relevant, loss.n_involved, loss.weight)
    assert (found.value, found.linear) == (-4.0, 2.0)
    np.testing.assert_array_equal(found.coefficients, [[1, -1], [0, 0], [-1, 1], [0, 0]])


def test_flow_needs_a_way_back():
    """A label that is always relevant has arcs into it only."""
    indicator = np.array([[True, False], [True, False]])
    loss = PairLoss(indicator, C=5.0, theta=0.0, mu=0.0)
    program = (
        np.array([[-3.0, 4.0], [0.0, 0.0]]),
        loss.order,
        loss.n_relevant,
        loss.n_involved,
        loss.weight,
    )
    found = circulation(*program)
    assert (found.value, found.linear) == (0.0, 0.0)
    assert not found.coefficients.any()
    check(found, program)


@pytest.mark.parametrize("solve", [circulation, circulation_by_highs])
@pytest.mark.parametrize("m, q", [(0, 3), (4, 3), (4, 1)])
def test_no_arcs(solve, m, q):
    indicator = np.zeros((m, q), dtype=bool)
    indicator[: m // 2] = True
    loss = PairLoss(indicator, C=1.0, theta=0.0, mu=0.0)
    found = solve(np.ones((m, q)), loss.order, loss.n_relevant, loss.n_involved, loss.weight)
    assert (found.value, found.linear) == (0.0, 0.0)
    np.testing.assert_array_equal(found.coefficients, np.zeros((m, q)))
    np.testing.assert_array_equal(found.biases, np.zeros(q))


def test_all_weights_zero():
    scores, order, n_relevant, n_involved, weight = random_program("generic", 3)
    found = circulation(scores, order, n_relevant, n_involved, np.zeros_like(weight))
    assert found.value == 0.0
    assert not found.coefficients.any()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("solve", [circulation, circulation_by_highs])
def test_scores_must_be_finite(solve, bad):
    scores, *rest = random_program("generic", 3)
    scores[0, 0] = bad
    with pytest.raises(FloatingPointError, match="not finite"):
        solve(scores, *rest)


def test_start_must_be_finite():
    program = random_program("generic", 3)
    with pytest.raises(FloatingPointError, match="not finite"):
        circulation(*program, start=np.full(program[0].shape[1], np.nan))


def failing(scores, order, n_relevant, n_involved, weight, biases, width, coefficients):
    coefficients[:] = 0.0
    return False


def wrong_biases(scores, order, n_relevant, n_involved, weight, biases, width, coefficients):
    solved = _circulation.solve(
        scores, order, n_relevant, n_involved, weight, biases, width, coefficients
    )
    biases[0] += 1.0
    return solved


def unbalanced(scores, order, n_relevant, n_involved, weight, biases, width, coefficients):
    solved = _circulation.solve(
        scores, order, n_relevant, n_involved, weight, biases, width, coefficients
    )
    coefficients[np.flatnonzero(weight)[0], 0] += 1e-6 * weight.max()
    return solved


def no_numbers(scores, order, n_relevant, n_involved, weight, biases, width, coefficients):
    biases[:] = np.nan
    coefficients[:] = 0.0
    return True


@pytest.mark.parametrize("solve", [failing, wrong_biases, unbalanced, no_numbers])
def test_highs_takes_over(monkeypatch, solve):
    program = random_program("generic", 12)
    expected = circulation(*program)

    class Compiled:
        smoothed_dual = staticmethod(_circulation.smoothed_dual)

    Compiled.solve = staticmethod(solve)
    monkeypatch.setattr(module, "_circulation", Compiled)
    found = circulation(*program)
    assert (expected.solver, found.solver) == ("network", "highs")
    assert found.value == pytest.approx(expected.value, rel=1e-9)


def test_newton_steps_are_not_needed(monkeypatch):
    """From poor biases and with any width the augmenting paths reach the same optimum."""
    for seed in range(60):
        program = random_program(list(KINDS)[seed % len(KINDS)], seed)
        start = random_start(seed, program[0].shape[1])
        for width in (1e-12, 1e-3, 1e3):
            poor = start.copy(), width
            monkeypatch.setattr(module, "approach", lambda *_, poor=poor: poor)
            found = circulation(*program)
            assert found.solver == "network"
            check(found, program)


def test_inputs_stay_unchanged():
    program = random_program("generic", 4)
    start = np.ones(program[0].shape[1])
    for array in (*program, start):
        array.setflags(write=False)
    circulation(*program, start=start)
    circulation_by_highs(*program)
