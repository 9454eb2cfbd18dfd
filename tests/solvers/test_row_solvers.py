"""Row problems of CSRL and M3L, and the solvers built on them, against a generic QP solver."""

import numpy as np
import pytest
from groups import first_fast
from problems import (
    SEMIDEFINITE,
    full_matrix,
    random_indicator,
    row_loss_by_quadratic_program,
    solve_quadratic_program,
)
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn.metrics.pairwise import pairwise_kernels

from skml_odm.features.operators import KernelOperator, LinearOperator
from skml_odm.problems._separation import project_rows
from skml_odm.problems.covariance import LabelCovariance, LearnedCovariance, label_correlations
from skml_odm.problems.rows import BinaryLoss, SeparationLoss
from skml_odm.solvers.certificates import row_certificate
from skml_odm.solvers.iteration import finish
from skml_odm.solvers.proximal import RowRounds, proximal_steps
from skml_odm.solvers.result import EXACT_ROWS
from skml_odm.solvers.row_ascent import row_ascent
from skml_odm.solvers.turns import solve_rows

COVARIANCES = ["identity", "given", "singular", "learned"]


def random_covariance(rng, kind, q, dummy, beta):
    size = q + dummy
    if kind == "identity":
        return LabelCovariance(q, dummy)
    if kind == "learned":
        return LearnedCovariance(q, dummy, 2.0 ** rng.uniform(-4, 4), beta)
    factor = rng.normal(size=(size if kind == "given" else max(1, size // 2), size))
    return LabelCovariance(q, dummy, factor.T @ factor)


def random_row_problem(seed, kind, loss=SeparationLoss, most=14):
    """An operator and a loss of random size, labels, weights, kernel, β and covariance.

    Every other one has unknown labels.
    """
    rng = np.random.default_rng(seed)
    m, q, d = rng.integers(1, most), rng.integers(1, 7), rng.integers(1, 6)
    X = rng.normal(size=(m, d))
    if rng.random() < 0.2:
        X[rng.integers(m)] = 0.0
    beta = 2.0 ** rng.uniform(-4, 4)
    dummy = bool(rng.random() < 0.5) if loss is SeparationLoss else False
    covariance = random_covariance(rng, kind, q, dummy, beta)
    weight = rng.uniform(0, 2, size=m) if rng.random() < 0.5 else None
    indicator = random_indicator(rng, m, q)
    known = np.random.default_rng(seed).random((m, q)) < 0.7 if seed % 2 else None
    problem = loss(indicator, beta, covariance, weight, known)
    intercept = bool(rng.random() < 0.5)
    kernel = SEMIDEFINITE[seed % len(SEMIDEFINITE)]
    if kernel == "linear":
        X = sparse.csr_matrix(X) if rng.random() < 0.5 else X
        return LinearOperator(X, intercept), problem
    return KernelOperator(pairwise_kernels(X, metric=kernel), intercept), problem


def reference(operator, problem):
    """The optimal value for the covariance that the problem has now."""
    return row_loss_by_quadratic_program(
        full_matrix(operator),
        problem.sign,
        problem.beta,
        problem.between_labels,
        problem.weight,
        isinstance(problem, SeparationLoss),
    ) + problem.covariance.penalty(problem.matrix)


# ---- a row ---------------------------------------------------------------------------------


def row_value(problem, i, a, products, kappa, start):
    """The dual value as a function of row i, relative to that of its start."""
    change = a - start
    theta = problem.between_labels / problem.beta
    value = problem.sign[i] @ change - change @ theta @ products
    return value - 0.5 * kappa * change @ theta @ change


def optimal_row(problem, i, products, kappa, start):
    """The largest value of the row by Clarabel."""
    sign, weight = problem.sign[i], problem.weight[i]
    theta = problem.between_labels / problem.beta
    # in m = sign · a ≥ 0
    square = kappa * theta * np.outer(sign, sign)
    linear = -(np.abs(sign) - sign * (theta @ products) + square @ (sign * start))
    q = len(sign)
    sides = np.array([sign > 0, sign < 0], float)
    matrix = np.vstack([sides, -np.eye(q)])
    bounds = np.concatenate([[weight, weight], np.zeros(q)])
    constant = -sign @ start + start @ theta @ products - 0.5 * kappa * start @ theta @ start
    return constant - solve_quadratic_program(square, linear, matrix, bounds, 1e-9)


@pytest.mark.parametrize("kind", ["identity", "given", "singular"])
def test_rows_equal_a_quadratic_program(kind):
    """400 rows of each kind, from a random feasible start, in one visit."""
    rng = np.random.default_rng(0)
    for trial in range(400):
        q, beta = rng.integers(1, 9), 2.0 ** rng.uniform(-4, 4)
        indicator = rng.random((1, q)) < rng.random()
        covariance = random_covariance(rng, kind, q, bool(trial % 2), beta)
        known = rng.random((1, q)) < 0.7 if trial % 3 == 0 else None
        weight = rng.uniform(0.1, 3, size=1)
        problem = SeparationLoss(indicator, beta, covariance, weight, known)
        start = problem.coefficients[0]
        for side in problem.sides:
            shares = rng.dirichlet(np.ones(q)) * (rng.random(q) < 0.6) * side[0]
            start += problem.sign[0] * problem.weight[0] * shares / max(shares.sum(), 1.0)
        start, kappa = start.copy(), rng.uniform(0, 3) * (rng.random() < 0.95)
        # what other rows contribute, and the row itself
        products = rng.normal(size=q) * 3 + kappa * start
        problem.rows.visit_row(0, products, kappa)
        found = problem.coefficients[0]
        multipliers = problem.sign[0] * found
        assert (multipliers >= 0).all()
        for side in problem.sides:
            assert multipliers[side[0]].sum() <= problem.weight[0] * (1 + 1e-12)
        best = optimal_row(problem, 0, products, kappa, start)
        value = row_value(problem, 0, found, products, kappa, start)
        assert value == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert problem.rows.dual == pytest.approx(value, rel=1e-9, abs=1e-9)


def test_a_learning_row_climbs_and_keeps_the_covariance():
    """A visit raises φ by what it reports, and Θ is that of the new coefficients."""
    for seed in range(40):
        operator, problem = random_row_problem(seed, "learned")
        K, A = full_matrix(operator), problem.coefficients
        value = problem.rows.dual
        for i in np.random.default_rng(seed).integers(len(A), size=3 * len(A)):
            problem.rows.visit_row(i, (K @ A)[i], K[i, i])
            gram = A.T @ K @ A
            now = problem.dual_value(np.abs(A).sum(), gram)
            assert now >= value - 1e-12 * max(1.0, abs(value))
            assert now == pytest.approx(problem.rows.dual, rel=1e-9, abs=1e-9)
            theta = problem.covariance.between_labels(problem.covariance.matrix(gram))
            np.testing.assert_allclose(problem.between_labels, theta, rtol=1e-8, atol=1e-10)
            value = now


# ---- whole problems ------------------------------------------------------------------------


# M3L learns no covariance
PROBLEMS = [(SeparationLoss, kind) for kind in COVARIANCES]
PROBLEMS += [(BinaryLoss, kind) for kind in COVARIANCES if kind != "learned"]


@pytest.mark.parametrize(("loss", "kind"), PROBLEMS)
def test_optimum_equals_a_quadratic_program(loss, kind):
    """10 problems of each kind and loss: dual value to 1e-6, a true certificate."""
    for seed in range(10):
        operator, problem = random_row_problem(seed, kind, loss)
        result = solve_rows(operator, problem, tol=1e-8, max_iter=10**4, random_state=0)
        assert result.converged
        twin = problem.copy()
        twin.between_labels[:] = problem.covariance.between_labels(result.covariance)
        twin.matrix = result.covariance
        best = reference(operator, twin)
        assert result.dual == pytest.approx(best, rel=1e-6, abs=1e-9)
        assert result.primal >= best * (1 - 1e-7) - 1e-9
        scores = full_matrix(operator) @ result.coefficients
        np.testing.assert_allclose(result.scores, scores, atol=1e-9 * max(1, np.abs(scores).max()))


@pytest.mark.parametrize("kind", COVARIANCES)
def test_ascent_and_newton_agree(kind):
    for seed in range(20, 32):
        values = []
        for solve in (
            lambda o, p: row_ascent(o, p, tol=1e-5, max_iter=20000, random_state=0),
            lambda o, p: finish(proximal_steps(RowRounds(o, p), tol=1e-5), 300),
        ):
            operator, problem = random_row_problem(seed, kind, most=60)
            result = solve(operator, problem)
            assert result.converged
            values.append(result)
        ours, theirs = values
        assert max(ours.dual, theirs.dual) <= min(ours.primal, theirs.primal) * (1 + 1e-9)


@pytest.mark.parametrize("dummy", [True, False])
def test_the_saddle_value_never_falls(dummy):
    """Every epoch that learns covariances raises the value of min_R max_A at its coefficients."""
    rng = np.random.default_rng(5)
    X, indicator = rng.normal(size=(90, 6)), random_indicator(rng, 90, 5)
    for alpha in (1e-3, 1.0, 100.0):
        problem = SeparationLoss(indicator, 0.5, LearnedCovariance(5, dummy, alpha, 0.5))
        operator = KernelOperator(pairwise_kernels(X, metric="rbf"), False)
        result = row_ascent(operator, problem, tol=1e-6, max_iter=5000, random_state=0)
        values = np.array([primal - difference for _, primal, difference in result.trace])
        assert (np.diff(values) >= -1e-10 * values[-1]).all()
        assert result.converged
        # neither player gains anything by moving alone
        best = problem.covariance.matrix(
            problem.coefficients.T @ operator.product(problem.coefficients)
        )
        np.testing.assert_allclose(result.covariance, best, rtol=1e-12)
        assert result.primal - result.dual <= 1e-6 * result.primal


def test_the_learned_covariance_is_optimal():
    """Its closed form beats all its neighbours, and is positive definite."""
    rng = np.random.default_rng(1)
    A, factor = rng.normal(size=(12, 4)), rng.normal(size=(12, 12))
    gram = A.T @ (factor @ factor.T) @ A
    covariance = LearnedCovariance(4, True, 3.0, 0.7)

    def value(flat):
        R = flat.reshape(5, 5)
        theta = covariance.between_labels(R)
        return covariance.penalty(R) - 0.5 * np.vdot(gram, theta) / 0.7

    best = covariance.matrix(gram)
    slopes = approx_fprime(best.ravel(), value, 1e-6)
    np.testing.assert_allclose(slopes, 0.0, atol=1e-4 * np.abs(gram).max())
    assert np.linalg.eigvalsh(best)[0] >= 1.0 - 1e-12


def test_large_problems_take_turns():
    """Slow ascent makes way for Newton's method; the result carries both certificates."""
    rng = np.random.default_rng(0)
    m = 2 * EXACT_ROWS
    X = rng.normal(size=(m, 3)) * [1.0, 10.0, 0.1]
    problem = SeparationLoss(random_indicator(rng, m, 4), 1e-3, LabelCovariance(4, True))
    ascent = row_ascent(LinearOperator(X, False), problem.copy(), tol=1e-3, max_iter=400)
    assert not ascent.converged
    result = solve_rows(LinearOperator(X, False), problem, tol=1e-3, max_iter=5000, random_state=0)
    assert result.converged
    assert ascent.dual <= result.primal


# ---- pieces --------------------------------------------------------------------------------


def test_projection():
    rng = np.random.default_rng(3)
    for _ in range(50):
        q = rng.integers(1, 9)
        sign = np.where(rng.random((1, q)) < 0.5, 1.0, -1.0)
        weight = rng.uniform(0.1, 2, size=1)
        values = rng.normal(size=(1, q)) * 2
        projected, held = values.copy(), np.empty((1, 2))
        project_rows(sign, weight, projected, held)
        for k, side in enumerate((sign > 0, sign < 0)):
            total = projected[side].sum()
            assert total <= weight[0] * (1 + 1e-12)
            # values − projection is constant on the support and not above that elsewhere
            distance = (values - projected)[side]
            level = distance[projected[side] > 0]
            if level.size:
                np.testing.assert_allclose(level, level[0], atol=1e-12)
                assert (distance <= level[0] + 1e-12).all()
                assert level[0] >= -1e-12
                assert held[0, k] == (total >= weight[0] * (1 - 1e-12))


@pytest.mark.parametrize("loss", [SeparationLoss, BinaryLoss])
def test_smoothed_loss_has_these_derivatives(loss):
    rng = np.random.default_rng(2)
    problem = random_row_problem(3, "given", loss)[1]
    half = np.linalg.cholesky(problem.between_labels / problem.beta)
    smooth = problem.smoothed(0.7, half)
    F, V = rng.normal(size=(2, *problem.coefficients.shape))
    eps = 1e-6
    gradient = smooth.evaluate(F)[1]
    curvature = smooth.curvature(F)
    up, gradient_up = smooth.evaluate(F + eps * V)
    down, gradient_down = smooth.evaluate(F - eps * V)
    assert -np.vdot(gradient, V) == pytest.approx((up - down) / (2 * eps), rel=1e-5)
    expected = (gradient_down - gradient_up) / (2 * eps)
    np.testing.assert_allclose(curvature.product(V), expected, rtol=1e-4, atol=1e-5)
    total = sum(
        np.vdot(
            np.eye(len(V))[i][:, None] * unit, curvature.product(np.eye(len(V))[i][:, None] * unit)
        )
        for i in range(len(V))
        for unit in np.eye(V.shape[1])
    )
    assert curvature.modes().values.sum() * len(V) == pytest.approx(total)


def test_label_correlations():
    rng = np.random.default_rng(0)
    y = rng.random((50, 4)) < 0.4
    np.testing.assert_allclose(label_correlations(y), np.corrcoef(y.T), atol=1e-12)
    repeats = rng.integers(0, 3, size=50)
    weighted = label_correlations(y, repeats.astype(float))
    np.testing.assert_allclose(weighted, label_correlations(np.repeat(y, repeats, axis=0)))
    y[:, 2] = True
    expected = np.eye(4)[2]
    np.testing.assert_array_equal(label_correlations(y)[2], expected)


@pytest.mark.parametrize("loss", [SeparationLoss, BinaryLoss])
@pytest.mark.parametrize("kind", COVARIANCES)
@pytest.mark.parametrize("seed", first_fast(range(3), 1))
def test_a_problem_begins_where_its_neighbour_ended(seed, kind, loss):
    """Multipliers within their bounds, the dual value that belongs to them, the same optimum."""
    if kind == "learned" and loss is BinaryLoss:
        kind = "identity"
    operator, ended = random_row_problem(seed, kind, loss, most=40)
    result = solve_rows(operator, ended, tol=1e-9, max_iter=5000, random_state=0)
    same = ended.copy()
    same.coefficients[:] = 0.0
    same.start_from(ended)
    # the multipliers are the dual solution; the result's coefficients may be a better primal one
    dual = row_certificate(operator, same).dual
    assert dual == pytest.approx(result.dual, rel=1e-6, abs=1e-12)
    rng = np.random.default_rng(seed)
    beta, wider = 2.0 ** rng.uniform(-3, 3), 2.0 ** rng.uniform(-3, 3)
    beta *= ended.beta
    covariance = ended.covariance
    if kind == "learned":
        n_labels = ended.indicator.shape[1]
        covariance = LearnedCovariance(n_labels, covariance.dummy, covariance.alpha, beta)
    weight, known = wider * ended.weight, ended.involved
    begun, cold = (loss(ended.indicator, beta, covariance, weight, known) for _ in range(2))
    assert ended.can_start(begun)
    begun.start_from(ended)
    row_certificate(operator, begun)
    ended.coefficients[0] = np.nan
    assert not ended.can_start(begun)
    multipliers = begun.sign * begun.coefficients
    projected = multipliers.copy()
    begun.project(projected)
    np.testing.assert_allclose(projected, multipliers, atol=1e-12 * (1.0 + multipliers.max()))
    gram = begun.coefficients.T @ operator.product(begun.coefficients)
    dual = begun.dual_value(np.abs(multipliers).sum(), gram)
    assert begun.rows.dual == pytest.approx(dual, rel=1e-9, abs=1e-9)
    found, expected = (
        solve_rows(operator, problem, tol=1e-8, max_iter=5000, random_state=0)
        for problem in (begun, cold)
    )
    assert found.primal == pytest.approx(expected.primal, rel=1e-6, abs=1e-9)
