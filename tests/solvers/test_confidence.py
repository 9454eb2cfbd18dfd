"""Confidences of candidate labels against HiGHS, and against a search through all sets."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from skml_odm.solvers import _confidence
from skml_odm.solvers import confidence as module
from skml_odm.solvers.confidence import (
    ScoreProgram,
    TableProgram,
    confidence_step,
    confidences,
    solve_by_highs,
)


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
BOTH = pytest.mark.parametrize("most_enumerated", [0, 12])


def random_program(kind, seed, m=8):
    """Costs, couplings, candidates and the least sums: 1, the same for all, or one per row."""
    rng = np.random.default_rng(seed)
    q = int(rng.integers(10, 26) if seed % 8 == 7 else rng.integers(1, 9))
    candidates = rng.random((m, q)) < rng.uniform(0.4, 1.2)
    costs, couplings = KINDS[kind](rng, (m, q)), KINDS[kind](rng, (m, q, q))
    n = candidates.sum(axis=1)
    least = [1.0, rng.uniform(1.0, 3.0), 1 + rng.integers(0, np.maximum(n, 1)), 0.7 * n][seed % 4]
    return costs, couplings, candidates, least


def random_scores(seed, m=30, q=12):
    rng = np.random.default_rng(seed)
    candidates = rng.random((m, q)) < rng.uniform(0.1, 1.0)
    weight = rng.random(m) * 2.0 ** rng.uniform(-6, 2)
    loss = rng.uniform(0, 1), rng.uniform(1, 2), rng.uniform(0, 1)
    scores, costs = rng.normal(size=(m, q)) * 2.0 ** rng.uniform(-2, 3), rng.random((m, q))
    return scores, candidates, costs, weight, *loss


def instances_of(program):
    """The rows that have candidates, with their programs."""
    rows = np.flatnonzero(program.candidates.any(axis=1))
    return {i: program.instance(i) for i in rows}


def unit_of(instance):
    return max(instance.costs.max(), instance.couplings.max())


def check(solution, program):
    """The confidences are feasible and have the value that is reported."""
    found = solution.confidences
    assert (found >= 0.0).all() and (found <= 1.0).all()
    assert not found[~program.candidates].any()
    sums = np.minimum(program.least, program.candidates.sum(axis=1))
    np.testing.assert_allclose(found.sum(axis=1), sums, rtol=1e-14, atol=0.0)
    instances = instances_of(program)
    value = sum(one.objective(found[i, one.labels]) for i, one in instances.items())
    assert solution.value == pytest.approx(value, rel=1e-12)


def corners(instance):
    """Corners of the lower convex envelope of (|S|, h(S)) as sets, by looking at all of them."""
    n = len(instance.labels)
    best = {0: (0.0, ())}
    for size in range(1, n + 1):
        for inside in combinations(range(n), size):
            outside = [k for k in range(n) if k not in inside]
            cut = instance.costs[list(inside)].sum()
            cut += instance.couplings[np.ix_(inside, outside)].sum()
            best[size] = min(best.get(size, (np.inf, ())), (cut, inside))
    found = [0]
    while found[-1] < n:
        here = found[-1]
        slopes = {j: (best[j][0] - best[here][0]) / (j - here) for j in range(here + 1, n + 1)}
        least = min(slopes.values())
        found.append(max(j for j, slope in slopes.items() if slope <= least + 1e-12))
    return [best[size][1] for size in found]


@BOTH
@pytest.mark.parametrize("kind", KINDS)
def test_equals_highs(monkeypatch, kind, most_enumerated):
    monkeypatch.setattr(module, "MOST_ENUMERATED", most_enumerated)
    for seed in range(32):
        data = random_program(kind, seed)
        program = TableProgram(*data)
        found = confidence_step(*data)
        assert found.solver == "cut"
        check(found, program)
        instances = instances_of(program)
        if not instances:
            continue
        for (i, one), expected in zip(
            instances.items(), solve_by_highs(list(instances.values())), strict=True
        ):
            difference = one.objective(found.confidences[i, one.labels]) - one.objective(expected)
            assert abs(difference) <= 1e-9 * unit_of(one)


@pytest.mark.parametrize("seed", range(8))
def test_scores_equal_highs(seed):
    data = random_scores(seed)
    for least in (1.0, 2.3):
        found = confidences(*data, least)
        expected = confidences(*data, least, solver="linprog")
        assert (found.solver, expected.solver) == ("cut", "linprog")
        check(found, ScoreProgram(*data, least))
        assert found.value == pytest.approx(expected.value, rel=1e-9)
        assert not expected.confidences[~data[1]].any()


@pytest.mark.parametrize("seed", range(8))
def test_scores_make_couplings(seed):
    scores, candidates, costs, weight, lower, upper, mu = random_scores(seed)
    margins = scores[:, :, None] - scores[:, None, :]
    losses = np.maximum(lower - margins, 0.0) ** 2 + mu * np.maximum(margins - upper, 0.0) ** 2
    couplings = 0.5 * weight[:, None, None] * losses
    found = confidences(scores, candidates, costs, weight, lower, upper, mu, 1.5)
    expected = confidence_step(costs, couplings, candidates, 1.5)
    assert found.value == pytest.approx(expected.value, rel=1e-13)
    np.testing.assert_allclose(found.confidences, expected.confidences, rtol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_enumeration_equals_flow(monkeypatch, kind):
    """Not only in value: both choose the same one of several solutions."""
    for seed in range(100):
        data = random_program(kind, seed, m=20)
        if data[0].shape[1] > 12:
            continue
        results = []
        for most_enumerated in (0, 12):
            monkeypatch.setattr(module, "MOST_ENUMERATED", most_enumerated)
            results.append(confidence_step(*data))
            assert results[-1].solver == "cut"
        flow, enumeration = results
        np.testing.assert_allclose(flow.confidences, enumeration.confidences, rtol=1e-13)
        assert flow.value == pytest.approx(enumeration.value, rel=1e-13)


@BOTH
@pytest.mark.parametrize("kind", ["generic", "integers", "ties", "zero costs", "zero couplings"])
def test_lies_between_nested_corners(monkeypatch, kind, most_enumerated):
    monkeypatch.setattr(module, "MOST_ENUMERATED", most_enumerated)
    for seed in (0, 1, 2, 3, 4, 5):
        costs, couplings, candidates, _ = random_program(kind, seed, m=4)
        q = costs.shape[1]
        for least in (1.0, 1.5, 2.0, 0.6 * q):
            found = confidence_step(costs, couplings, candidates, least).confidences
            for i, one in instances_of(TableProgram(costs, couplings, candidates, least)).items():
                sets = corners(one)
                assert all(set(a) < set(b) for a, b in pairwise(sets))
                at = next(j for j, inside in enumerate(sets) if len(inside) >= one.least)
                inner, outer = np.zeros(len(one.labels)), np.zeros(len(one.labels))
                inner[list(sets[at - 1])], outer[list(sets[at])] = 1.0, 1.0
                part = (one.least - inner.sum()) / (outer - inner).sum()
                expected = inner + part * (outer - inner)
                np.testing.assert_allclose(found[i, one.labels], expected, atol=1e-14)


@BOTH
def test_largest_of_several_sets(monkeypatch, most_enumerated):
    """All unions of the pairs {0, 1}, {2, 3}, {4, 5} cost 1 per label; label 6 costs more."""
    monkeypatch.setattr(module, "MOST_ENUMERATED", most_enumerated)
    couplings = np.zeros((1, 7, 7))
    for k in (0, 2, 4):
        couplings[0, k, k + 1] = couplings[0, k + 1, k] = 3.0
    costs = np.array([[1.0, 1.0, 0.5, 1.5, 2.0, 0.0, 1.1]])
    found = confidence_step(costs, couplings, np.ones((1, 7), dtype=bool))
    np.testing.assert_allclose(found.confidences[0], np.array([1, 1, 1, 1, 1, 1, 0]) / 6)
    assert found.value == pytest.approx(1.0, rel=1e-14)
    found = confidence_step(costs, couplings, np.ones((1, 7), dtype=bool), 6.25)
    np.testing.assert_allclose(found.confidences[0], [1, 1, 1, 1, 1, 1, 0.25])
    assert found.value == pytest.approx(6.0 + 0.25 * 1.1, rel=1e-14)


@BOTH
@pytest.mark.parametrize("kind", ["integers", "ties", "zero costs"])
def test_order_of_labels_does_not_matter(monkeypatch, kind, most_enumerated):
    monkeypatch.setattr(module, "MOST_ENUMERATED", most_enumerated)
    for seed in range(30):
        costs, couplings, candidates, least = random_program(kind, seed)
        found = confidence_step(costs, couplings, candidates, least).confidences
        order = np.random.default_rng(seed).permutation(costs.shape[1])
        permuted = couplings[:, order][:, :, order]
        other = confidence_step(costs[:, order], permuted, candidates[:, order], least).confidences
        np.testing.assert_allclose(other, found[:, order], atol=1e-13)


def test_many_candidates():
    rng = np.random.default_rng(0)
    m, q = 4, 120
    candidates = np.ones((m, q), dtype=bool)
    for scale in (0.3, 1.0, 3.0):
        data = rng.normal(size=(m, q)) * scale, candidates, rng.random((m, q)), 1.0 / q, 0.8, 1.2
        for least in (1.0, 17.5, 119.0):
            found = confidences(*data, 0.5, least)
            assert found.solver == "cut"
            check(found, ScoreProgram(*data, 0.5, least))


def test_sixteen_decades():
    """The flow is not spoilt by that of higher levels."""
    rng = np.random.default_rng(0)
    m, q = 300, 14
    costs = 10.0 ** rng.uniform(-8, 8, (m, q))
    couplings = 10.0 ** rng.uniform(-8, 8, (m, q, q)) * (rng.random((m, q, q)) < 0.2)
    for least in (1.0, 4.5, 13.7):
        found = confidence_step(costs, couplings, np.ones((m, q), dtype=bool), least)
        assert found.solver == "cut"


@BOTH
def test_rounding_of_the_smallest_numbers(monkeypatch, most_enumerated):
    monkeypatch.setattr(module, "MOST_ENUMERATED", most_enumerated)
    rng = np.random.default_rng(0)
    costs, couplings = rng.random((300, 4)) * 1e-310, rng.random((300, 4, 4)) * 1e-312
    everything = np.ones((300, 4), dtype=bool)
    found = confidence_step(costs, couplings, everything, 1.5)
    expected = confidence_step(1e300 * costs, 1e300 * couplings, everything, 1.5)
    np.testing.assert_allclose(found.confidences, expected.confidences, rtol=1e-13)


@pytest.mark.parametrize("solver", ["cut", "linprog"])
def test_few_candidates(solver):
    """None, one, and fewer than asked for."""
    candidates = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1]], dtype=bool)
    found = confidences(
        np.zeros((4, 3)), candidates, 1.0, 2.0, 1.0, 1.0, 0.0, [1.0, 1.0, 5.0, 3.0], solver
    )
    np.testing.assert_allclose(found.confidences, candidates.astype(float), atol=1e-9)
    # a pair with a label that is no candidate costs 2·½
    assert found.value == pytest.approx((1.0 + 2.0) + 2 * (1.0 + 1.0) + 3 * 1.0)


@pytest.mark.parametrize("solver", ["cut", "linprog"])
def test_nothing_to_do(solver):
    for m, q in ((0, 3), (4, 0), (4, 3)):
        found = confidences(
            np.ones((m, q)), np.zeros((m, q)), 1.0, 1.0, 1.0, 1.0, 0.0, solver=solver
        )
        assert found.value == 0.0
        np.testing.assert_array_equal(found.confidences, np.zeros((m, q)))
    found = confidence_step(1.0, 1.0, np.ones((4, 3)), 0.0, solver)
    np.testing.assert_array_equal(found.confidences, np.zeros((4, 3)))


@pytest.mark.parametrize("wrong", [[3], [0, 7, 8], range(30)])
def test_highs_takes_over(monkeypatch, wrong):
    data = random_scores(3)
    data[1][:, 0] = True
    expected = confidences(*data)
    wrong = np.array(wrong)

    class Unproved:
        @staticmethod
        def solve(*arguments):
            _confidence.solve(*arguments)
            found, values = arguments[-2:]
            found[wrong], values[wrong] = 7.0, np.nan

    calls = []
    monkeypatch.setattr(module, "_confidence", Unproved)
    monkeypatch.setattr(
        module, "solve_by_highs", lambda rows: calls.append(len(rows)) or solve_by_highs(rows)
    )
    found = confidences(*data)
    assert (expected.solver, found.solver) == ("cut", "cut+linprog")
    assert calls == [1] * len(wrong)
    assert found.value == pytest.approx(expected.value, rel=1e-9)
    kept = np.setdiff1d(np.arange(30), wrong)
    np.testing.assert_array_equal(found.confidences[kept], expected.confidences[kept])


@BOTH
def test_sums_beyond_floating_point(monkeypatch, most_enumerated):
    """Costs and couplings are finite, their sums are not: compiled code proves nothing."""
    monkeypatch.setattr(module, "MOST_ENUMERATED", most_enumerated)
    couplings = np.full((2, 4, 4), 1e308)
    couplings[1] = 1.0
    found = confidence_step(1.0, couplings, np.ones((2, 4), dtype=bool))
    assert found.solver == "cut+linprog"
    np.testing.assert_allclose(found.confidences, 0.25)


def test_compiled_calls_are_short(monkeypatch):
    data = random_scores(4, m=200)
    expected = confidences(*data)
    calls = []

    class Counted:
        @staticmethod
        def solve(*arguments):
            calls.append(len(arguments[-1]))
            return _confidence.solve(*arguments)

    monkeypatch.setattr(module, "_confidence", Counted)
    monkeypatch.setattr(module, "STEPS_PER_CALL", 50_000)
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
    with pytest.raises(ValueError, match="row 0 are negative"):
        confidence_step(1.0, -1.0, np.ones((2, 3)), solver=solver)
    with pytest.raises(ValueError, match="least"):
        confidences(scores, candidates, costs, *rest, least=np.nan, solver=solver)
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
    table = random_program("generic", 7)
    for array in (*data[:4], *table[:3]):
        array.setflags(write=False)
    for solver in ("cut", "linprog"):
        confidences(*data, np.ones(30), solver)
        confidence_step(*table, solver=solver)
