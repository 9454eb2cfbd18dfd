"""Rank-SVM's solvers against an independent QP solver, each other and their own certificates."""

import numpy as np
import pytest
from groups import first_fast
from problems import (
    full_matrix,
    pair_rows,
    random_indicator,
    random_problem,
    rank_svm_by_quadratic_program,
)
from sklearn.metrics.pairwise import rbf_kernel

from skml_odm.features.operators import KernelOperator, LinearOperator
from skml_odm.problems.hinge import HingeLoss, PairMultipliers
from skml_odm.solvers import circulation as circulation_module
from skml_odm.solvers.balanced_frank_wolfe import balanced_frank_wolfe
from skml_odm.solvers.certificates import pair_certificate
from skml_odm.solvers.multipliers import MultiplierSweep, multipliers
from skml_odm.solvers.sweeps import epochs
from skml_odm.solvers.turns import HINGE_SOLVERS, solve_hinge

N_PROBLEMS = 30


def rank_problem(seed, largest=36):
    """Sizes, labels and kernels of ``random_problem``; C from 2⁻⁴ to 2⁷; biases in two of three."""
    operator, loss = random_problem(seed, largest)
    rng = np.random.default_rng(seed)
    indicator = random_indicator(rng, *loss.shape)
    weight = rng.uniform(0, 2, size=len(indicator)) if seed % 4 == 0 else None
    loss = HingeLoss(indicator, 2.0 ** rng.uniform(-4, 7), weight)
    return operator.with_intercept(float(seed % 3 > 0)), loss


def primal_by_hand(operator, loss, result):
    """P(A, b) with every pair spelled out."""
    F = full_matrix(operator.with_intercept(0.0)) @ result.coefficients
    value = 0.5 * np.vdot(result.coefficients, F)
    F += result.intercept
    for i, k, label in pair_rows(loss):
        value += loss.weight[i] * max(0.0, 1.0 - F[i, k] + F[i, label])
    return value


def check_certificate(operator, loss, result):
    by_hand = primal_by_hand(operator, loss, result)
    assert result.primal == pytest.approx(by_hand, rel=1e-9, abs=1e-12)
    assert result.difference >= -1e-9 * by_hand
    scores = operator.with_intercept(0.0).product(result.coefficients) + result.intercept
    np.testing.assert_allclose(result.scores, scores, atol=1e-8 * (1 + np.abs(scores).max()))
    if not operator.intercept:
        assert not result.intercept.any()
    elif loss.n_pairs.any():
        assert result.lp_solver == "network"


@pytest.mark.parametrize("seed", first_fast(range(N_PROBLEMS), 12))
def test_optimum_is_that_of_a_quadratic_program(seed):
    operator, loss = rank_problem(seed)
    optimum = rank_svm_by_quadratic_program(operator, loss) if loss.n_pairs.any() else 0.0
    for name, solve in HINGE_SOLVERS.items():
        result = solve(operator, loss, tol=1e-8, max_iter=300)
        check_certificate(operator, loss, result)
        assert result.dual <= optimum * (1 + 1e-8) + 1e-9, name
        assert result.primal >= optimum * (1 - 1e-8) - 1e-9, name
        if name in ("auto", "newton"):
            # rounding may end Newton's method just before, which depends on the BLAS
            assert result.gap <= 5e-8, name
            assert result.primal == pytest.approx(optimum, rel=1e-6, abs=1e-9)
            assert result.dual == pytest.approx(optimum, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kernel", first_fast(["linear", "rbf"], 1))
def test_optimum_on_a_part_of_emotions(data_folder, kernel):
    with np.load(data_folder / "emotions.npz") as file:
        X, indicator = file["X"][:200].astype(float), file["Y"][:200].astype(bool)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    if kernel == "rbf":
        operator, C = KernelOperator(rbf_kernel(X, gamma=0.5), True), 2.0
    else:
        operator, C = LinearOperator(X, True), 0.5
    loss = HingeLoss(indicator, C)
    optimum = rank_svm_by_quadratic_program(operator, loss, precision=1e-8)
    result = solve_hinge(operator, loss, tol=1e-7, max_iter=3000, random_state=0)
    assert result.dual == pytest.approx(optimum, rel=1e-6)
    assert result.primal == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("intercept", [True, False])
def test_auto_reaches_the_tolerance_for_any_C(C, intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    loss = HingeLoss(random_indicator(rng, 90, 5), C)
    for operator in (
        KernelOperator(rbf_kernel(X, gamma=0.2), intercept),
        LinearOperator(X, intercept),
    ):
        result = solve_hinge(operator, loss, tol=1e-4, max_iter=3000, random_state=0)
        assert result.gap <= 1e-4
        check_certificate(operator, loss, result)


def test_auto_hands_over_where_coordinate_steps_are_slow():
    """A linear kernel with a large C: coordinate steps alone do not get there."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 6))
    operator, loss = LinearOperator(X, True), HingeLoss(random_indicator(rng, 120, 4), 1e3)
    slow = multipliers(operator, loss, tol=1e-5, max_iter=400, random_state=0)
    result = solve_hinge(operator, loss, tol=1e-5, max_iter=400, random_state=0)
    assert slow.gap > 1e-5 >= result.gap
    assert slow.dual <= result.primal * (1 + 1e-9)
    assert result.dual <= slow.primal * (1 + 1e-9)


def test_the_budget_ends_every_solver_with_a_true_gap():
    operator, loss = rank_problem(7, largest=100)
    for solve in HINGE_SOLVERS.values():
        result = solve(operator, loss, tol=1e-12, max_iter=1)
        assert not result.converged
        check_certificate(operator, loss, result)


def one_sided_problem():
    """Label 0 is never relevant, label 1 always, and 2 only together with 3."""
    rng = np.random.default_rng(0)
    indicator = rng.random((40, 6)) < 0.4
    indicator[:, 0], indicator[:, 1] = False, True
    indicator[:, 3] |= indicator[:, 2]
    X = rng.normal(size=(40, 3))
    return KernelOperator(rbf_kernel(X), True), HingeLoss(indicator, 2.0)


def test_pairs_that_no_circulation_uses_stay_zero():
    operator, loss = one_sided_problem()
    component = PairMultipliers(loss, True).component
    assert (component == component[0]).sum() == 1
    assert (component == component[1]).sum() == 1
    result = solve_hinge(operator, loss, tol=1e-9, max_iter=1000)
    np.testing.assert_allclose(result.coefficients[:, :2], 0.0, atol=1e-9)
    assert result.primal == pytest.approx(rank_svm_by_quadratic_program(operator, loss), rel=1e-7)


def test_balanced_multipliers_stay_in_their_boxes():
    operator, loss = rank_problem(11, largest=80)
    operator = operator.with_intercept(1.0)
    state = PairMultipliers(loss, True)
    steps = epochs(MultiplierSweep(operator, state), tol=1e-9, random_state=0)
    for _ in range(10):
        next(steps)
    before = state.values.copy()
    values, A = state.balance()
    np.testing.assert_array_equal(state.values, before)
    bounds = np.repeat(loss.weight, loss.n_pairs)
    assert values.min() >= 0.0
    assert (values <= bounds).all()
    by_hand = np.zeros(loss.shape)
    for value, (i, k, label) in zip(values, pair_rows(loss), strict=True):
        by_hand[i, k] += value
        by_hand[i, label] -= value
    np.testing.assert_allclose(A, by_hand, atol=1e-12)
    assert np.abs(A.sum(axis=0)).max() <= 1e-10 * values.sum()


def test_a_failed_balance_proves_nothing(monkeypatch):
    """Unbalanced multipliers are not feasible: their value must not pass for a dual value."""
    operator, loss = rank_problem(11, largest=80)
    operator = operator.with_intercept(1.0)
    state = PairMultipliers(loss, True)
    next(epochs(MultiplierSweep(operator, state), tol=1e-9, random_state=0))
    monkeypatch.setattr(state, "balance", lambda: (state.values, state.coefficients()))
    result = pair_certificate(operator, state)
    assert result.dual == 0.0


def test_highs_takes_over_and_is_reported(monkeypatch):
    operator, loss = rank_problem(1)
    expected = solve_hinge(operator, loss, tol=1e-6, max_iter=500)

    def wrong(program, start):
        return np.zeros(program.shape), np.zeros(program.shape[1])

    monkeypatch.setattr(circulation_module, "solve_network", wrong)
    for solve in (solve_hinge, balanced_frank_wolfe):
        result = solve(operator, loss, tol=1e-2, max_iter=20)
        assert result.lp_solver == "highs"
        assert result.dual <= expected.primal * (1 + 1e-9)


def test_problems_without_pairs_are_solved_at_once():
    X = np.random.default_rng(0).normal(size=(70, 3))
    for indicator in (np.zeros((70, 3), bool), np.ones((70, 3), bool)):
        for solve in HINGE_SOLVERS.values():
            result = solve(LinearOperator(X, True), HingeLoss(indicator, 1.0), tol=1e-3, max_iter=9)
            assert result.primal == result.gap == 0.0
            assert not result.coefficients.any()


@pytest.mark.parametrize("factor", [0.2, 1.0, 7.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_problem_begins_where_its_neighbour_ended(seed, factor):
    """Feasible, at once done if it is the same problem, and with the same optimum in any case."""
    operator, loss = rank_problem(seed)
    ended = PairMultipliers(loss, operator.intercept > 0.0)
    before = solve_hinge(operator, loss, tol=1e-9, max_iter=2000, random_state=0, state=ended)
    given = ended.values.copy()
    n_pairs = loss.n_relevant * (loss.shape[1] - loss.n_relevant)
    other = HingeLoss(loss.relevant, factor * loss.C, loss.weight * n_pairs / loss.C)
    state = PairMultipliers(other, operator.intercept > 0.0)
    assert ended.can_start(state)
    state.start_from(ended)
    np.testing.assert_array_equal(ended.values, given)
    bounds = np.repeat(other.weight, other.n_pairs)
    assert np.all((state.values >= 0.0) & (state.values <= bounds))
    if factor == 1.0:
        assert pair_certificate(operator, state).dual == pytest.approx(before.dual, rel=1e-6)
    ended.biases[0] = np.nan
    assert not ended.can_start(state)
    warm = solve_hinge(operator, other, tol=1e-8, max_iter=2000, random_state=0, state=state)
    cold = solve_hinge(operator, other, tol=1e-8, max_iter=2000, random_state=0)
    assert warm.primal == pytest.approx(cold.primal, rel=1e-6, abs=1e-12)
    check_certificate(operator, other, warm)


@pytest.mark.parametrize("rows", [30, 100])
@pytest.mark.parametrize("C", [1e8, 1e12])
def test_hard_margins(rows, C):
    """All solvers find the hard margin, whose value does not depend on C."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 10))
    indicator = X @ rng.normal(size=(10, 4)) > 0
    operator = KernelOperator(rbf_kernel(X, gamma=0.1), True)
    reference = multipliers(
        operator, HingeLoss(indicator, 1e4), tol=1e-3, max_iter=5000, random_state=0
    )
    result = solve_hinge(operator, HingeLoss(indicator, C), tol=1e-3, max_iter=5000, random_state=0)
    assert result.converged
    assert result.primal == pytest.approx(reference.primal, rel=2e-3)
