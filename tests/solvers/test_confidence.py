"""Confidences of candidate labels against HiGHS, and against a search through all sets."""

from itertools import combinations

import numpy as np
import pytest

from skml_odm.solvers import confidence as module
from skml_odm.solvers._confidence import RowSolver
from skml_odm.solvers.confidence import Programs, RowProgram, confidences, solve_by_highs


def some(rng, shape):
    """Most entries zero, so that labels fall into groups."""
    return rng.random(shape) < 2.0 / shape[-1]


KINDS = {
    "generic": lambda rng, shape: rng.random(shape) * 2.0 ** rng.uniform(-4, 2),
    "few couplings": lambda rng, shape: rng.random(shape) * some(rng, shape),
    "integers": lambda rng, shape: rng.integers(0, 3, shape).astype(float),
    "ties": lambda rng, shape: rng.integers(0, 2, shape) * some(rng, shape).astype(float),
    "huge": lambda rng, shape: 1e9 * rng.random(shape),
    "tiny": lambda rng, shape: 1e-9 * rng.random(shape),
    "mixed": lambda rng, shape: 10.0 ** rng.uniform(-4, 4, shape) * some(rng, shape),
    "zero costs": lambda rng, shape: rng.random(shape) * (len(shape) == 3) * some(rng, shape),
    "zero couplings": lambda rng, shape: rng.random(shape) * (len(shape) == 2),
}


def random_programs(kind, seed, m=8):
    """Programs with any couplings, not only those of scores."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 26) if seed % 8 == 7 else rng.integers(1, 9))
    costs, couplings = KINDS[kind](rng, (m, n)), KINDS[kind](rng, (m, n, n))
    couplings[:, range(n), range(n)] = 0.0
    return [RowProgram(np.arange(n), *row) for row in zip(costs, couplings, strict=True)]


def solved(program):
    """The confidences and the objective of one program, by a cut."""
    found, value = RowSolver(len(program.costs)).solve(program.costs, program.couplings)
    assert np.isfinite(value), "no proof"
    assert value == pytest.approx(program.objective(found), rel=1e-12)
    # equal confidences on a set of labels
    assert found.sum() == pytest.approx(1.0, rel=1e-14)
    assert len(np.unique(found[found > 0.0])) == 1
    return found, value


def random_scores(seed, m=30, q=12):
    rng = np.random.default_rng(seed)
    candidates = rng.random((m, q)) < rng.uniform(0.1, 1.0)
    weight = rng.random(m) * 2.0 ** rng.uniform(-6, 2)
    loss = rng.uniform(0, 1), rng.uniform(1, 2), rng.uniform(0, 1)
    scores, costs = rng.normal(size=(m, q)) * 2.0 ** rng.uniform(-2, 3), rng.random((m, q))
    return scores, candidates, costs, weight, *loss


def unit_of(program):
    return max(program.costs.max(), program.couplings.max())


def check(solution, programs):
    """The confidences are feasible and have the value that is reported."""
    found = solution.confidences
    rows = np.flatnonzero(programs.candidates.any(axis=1))
    assert (found >= 0.0).all() and (found <= 1.0).all()
    assert not found[~programs.candidates].any()
    np.testing.assert_allclose(found[rows].sum(axis=1), 1.0, rtol=1e-14, atol=0.0)
    value = sum(programs.row(i).objective(found[i, programs.row(i).labels]) for i in rows)
    assert solution.value == pytest.approx(value, rel=1e-12)


def largest_best_set(program):
    """The largest set with the least cost per label, by looking at all of them."""
    n = len(program.labels)
    ratios = {}
    for size in range(1, n + 1):
        for inside in combinations(range(n), size):
            outside = [k for k in range(n) if k not in inside]
            cut = program.costs[list(inside)].sum()
            cut += program.couplings[np.ix_(inside, outside)].sum()
            ratios[inside] = cut / size
    least = min(ratios.values())
    return max((s for s in ratios if ratios[s] <= least + 1e-12), key=len)


@pytest.mark.parametrize("kind", KINDS)
def test_equals_highs(kind):
    for seed in range(32):
        programs = random_programs(kind, seed)
        for program, expected in zip(programs, solve_by_highs(programs), strict=True):
            _, value = solved(program)
            assert abs(value - program.objective(expected)) <= 1e-9 * unit_of(program)


@pytest.mark.parametrize("seed", range(8))
def test_scores_equal_highs(seed):
    data = random_scores(seed)
    found, expected = confidences(*data), confidences(*data, solver="linprog")
    assert (found.solver, expected.solver) == ("cut", "linprog")
    check(found, Programs(*data))
    assert found.value == pytest.approx(expected.value, rel=1e-9)
    assert not expected.confidences[~data[1]].any()


@pytest.mark.parametrize("seed", range(8))
def test_scores_make_couplings(seed):
    scores, candidates, costs, weight, lower, upper, mu = random_scores(seed)
    margins = scores[:, :, None] - scores[:, None, :]
    losses = np.maximum(lower - margins, 0.0) ** 2 + mu * np.maximum(margins - upper, 0.0) ** 2
    couplings = 0.5 * weight[:, None, None] * losses
    couplings[:, range(12), range(12)] = 0.0
    found = confidences(scores, candidates, costs, weight, lower, upper, mu)
    total = 0.0
    for i in np.flatnonzero(candidates.any(axis=1)):
        labels, others = np.flatnonzero(candidates[i]), np.flatnonzero(~candidates[i])
        row_costs = costs[i, labels] + couplings[i][np.ix_(labels, others)].sum(axis=1)
        program = RowProgram(labels, row_costs, couplings[i][np.ix_(labels, labels)])
        expected, value = solved(program)
        np.testing.assert_allclose(found.confidences[i, labels], expected, rtol=1e-13)
        total += value
    assert found.value == pytest.approx(total, rel=1e-13)


@pytest.mark.parametrize("kind", ["generic", "integers", "ties", "zero costs", "zero couplings"])
def test_is_the_largest_of_the_best_sets(kind):
    for seed in range(6):
        for program in random_programs(kind, seed, m=4):
            expected = np.zeros(len(program.labels))
            inside = largest_best_set(program)
            expected[list(inside)] = 1.0 / len(inside)
            np.testing.assert_allclose(solved(program)[0], expected, atol=1e-14)


def test_largest_of_several_sets():
    """All unions of the pairs {0, 1}, {2, 3}, {4, 5} cost 1 per label; label 6 costs more."""
    couplings = np.zeros((7, 7))
    for k in (0, 2, 4):
        couplings[k, k + 1] = couplings[k + 1, k] = 3.0
    costs = np.array([1.0, 1.0, 0.5, 1.5, 2.0, 0.0, 1.1])
    found, value = solved(RowProgram(np.arange(7), costs, couplings))
    np.testing.assert_allclose(found, np.array([1, 1, 1, 1, 1, 1, 0]) / 6)
    assert value == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("kind", ["integers", "ties", "zero costs"])
def test_order_of_labels_does_not_matter(kind):
    for seed in range(30):
        for program in random_programs(kind, seed):
            order = np.random.default_rng(seed).permutation(len(program.labels))
            permuted = program.couplings[np.ix_(order, order)]
            other, _ = solved(RowProgram(program.labels, program.costs[order], permuted))
            np.testing.assert_allclose(other, solved(program)[0][order], atol=1e-13)


def test_many_candidates():
    rng = np.random.default_rng(0)
    m, q = 4, 120
    candidates = np.ones((m, q), dtype=bool)
    for scale in (0.3, 1.0, 3.0):
        data = rng.normal(size=(m, q)) * scale, candidates, rng.random((m, q)), 1.0 / q, 0.8, 1.2
        found = confidences(*data, 0.5)
        assert found.solver == "cut"
        check(found, Programs(*data, 0.5))


def test_sixteen_decades():
    """The flow is not spoilt by that of higher levels."""
    rng = np.random.default_rng(0)
    m, n = 300, 14
    costs = 10.0 ** rng.uniform(-8, 8, (m, n))
    couplings = 10.0 ** rng.uniform(-8, 8, (m, n, n)) * (rng.random((m, n, n)) < 0.2)
    for row in zip(costs, couplings, strict=True):
        solved(RowProgram(np.arange(n), *row))


def test_rounding_of_the_smallest_numbers():
    rng = np.random.default_rng(0)
    costs, couplings = rng.random((300, 4)) * 1e-310, rng.random((300, 4, 4)) * 1e-312
    couplings[:, range(4), range(4)] = 0.0
    for row_costs, row_couplings in zip(costs, couplings, strict=True):
        found, _ = solved(RowProgram(np.arange(4), row_costs, row_couplings))
        expected, _ = solved(RowProgram(np.arange(4), 1e300 * row_costs, 1e300 * row_couplings))
        np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("solver", ["cut", "linprog"])
def test_few_candidates(solver):
    """None and one, where the solution is known."""
    candidates = np.array([[0, 0, 0], [0, 1, 0]], dtype=bool)
    found = confidences(np.zeros((2, 3)), candidates, 1.0, 2.0, 1.0, 1.0, 0.0, solver)
    np.testing.assert_allclose(found.confidences, candidates.astype(float), atol=1e-9)
    # a pair with a label that is no candidate costs 2·½
    assert found.value == pytest.approx(1.0 + 2.0)


@pytest.mark.parametrize("solver", ["cut", "linprog"])
def test_nothing_to_do(solver):
    for m, q in ((0, 3), (4, 0), (4, 3)):
        found = confidences(np.ones((m, q)), np.zeros((m, q)), 1.0, 1.0, 1.0, 1.0, 0.0, solver)
        assert found.value == 0.0
        np.testing.assert_array_equal(found.confidences, np.zeros((m, q)))


@pytest.mark.parametrize("wrong", [[3], [0, 7, 8], range(30)])
def test_highs_takes_over(monkeypatch, wrong):
    data = random_scores(3)
    data[1][:, 0] = True
    expected = confidences(*data)
    wrong = np.array(wrong)

    class Unproved(RowSolver):
        def solve_rows(self, *arguments):
            super().solve_rows(*arguments)
            found, values = arguments[-2:]
            found[wrong], values[wrong] = 7.0, np.nan

    calls = []
    monkeypatch.setattr(module, "RowSolver", Unproved)
    monkeypatch.setattr(
        module, "solve_by_highs", lambda rows: calls.append(len(rows)) or solve_by_highs(rows)
    )
    found = confidences(*data)
    assert (expected.solver, found.solver) == ("cut", "cut+linprog")
    assert calls == [1] * len(wrong)
    assert found.value == pytest.approx(expected.value, rel=1e-9)
    kept = np.setdiff1d(np.arange(30), wrong)
    np.testing.assert_array_equal(found.confidences[kept], expected.confidences[kept])


def test_sums_beyond_floating_point():
    """Couplings are finite, their sums are not: compiled code proves nothing, HiGHS can do it."""
    couplings = np.full((4, 4), 1e308)
    np.fill_diagonal(couplings, 0.0)
    program = RowProgram(np.arange(4), np.ones(4), couplings)
    assert np.isnan(RowSolver(4).solve(program.costs, program.couplings)[1])
    np.testing.assert_allclose(solve_by_highs([program])[0], 0.25)


def test_compiled_calls_are_short(monkeypatch):
    data = random_scores(4, m=200)
    expected = confidences(*data)
    calls = []

    class Counted(RowSolver):
        def solve_rows(self, *arguments):
            calls.append(len(arguments[-1]))
            super().solve_rows(*arguments)

    monkeypatch.setattr(module, "RowSolver", Counted)
    monkeypatch.setattr(module, "WORK_PER_CALL", 5_000)
    found = confidences(*data)
    assert sum(calls) == 200
    assert len(calls) > 10
    np.testing.assert_array_equal(found.confidences, expected.confidences)
    assert found.value == expected.value


@pytest.mark.parametrize("solver", ["cut", "linprog"])
def test_wrong_numbers(solver):
    scores, candidates, costs, *rest = random_scores(5)
    i, k = np.argwhere(candidates)[0]
    for bad, error in (
        (np.nan, FloatingPointError),
        (np.inf, FloatingPointError),
        (-9e9, ValueError),
    ):
        worse = costs.copy()
        worse[i, k] = bad
        with pytest.raises(error, match=f"row {i}"):
            confidences(scores, candidates, worse, *rest, solver=solver)
    worse = scores.copy()
    worse[i, k] = np.nan
    with pytest.raises(FloatingPointError, match="not finite"):
        confidences(worse, candidates, costs, *rest, solver=solver)
    with pytest.raises(ValueError, match="are negative"):
        confidences(scores, candidates, costs, -9e9 * np.ones(30), *rest[1:], solver=solver)
    with pytest.raises(ValueError, match="shape"):
        confidences(scores[:, 1:], candidates, costs, *rest, solver=solver)


def test_costs_of_other_labels_do_not_matter():
    scores, candidates, costs, *rest = random_scores(6)
    found = confidences(scores, candidates, np.where(candidates, costs, np.nan), *rest)
    expected = confidences(scores, candidates, costs, *rest)
    assert found.value == expected.value


def test_unknown_solver():
    with pytest.raises(ValueError, match="solver"):
        confidences(*random_scores(0), solver="simplex")


def test_inputs_stay_unchanged():
    data = random_scores(7)
    program = random_programs("generic", 7)[0]
    for array in (*data[:4], *program):
        array.setflags(write=False)
    for solver in ("cut", "linprog"):
        confidences(*data, solver=solver)
    solved(program)
