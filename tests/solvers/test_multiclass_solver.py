"""mcODM's blocks, their derivatives, and its two solvers, against independent solutions."""

import itertools

import numpy as np
import pytest
from class_problems import majorant_by_quadratic_program, objective, random_classes
from problems import solve_quadratic_program
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from skml_odm.features import kernels
from skml_odm.features.operators import KernelOperator
from skml_odm.problems._class_smoothing import extrapolate, smooth_step
from skml_odm.problems._classes import solve_block
from skml_odm.problems.classes import ClassProblem, Curvature
from skml_odm.solvers import multiclass_newton, multiclass_spaces
from skml_odm.solvers.multiclass import Point, descend
from skml_odm.solvers.multiclass_newton import SmoothFunction, newton, suits_descent
from skml_odm.solvers.multiclass_spaces import (
    ClassBlocks,
    FunctionSpace,
    WeightSpace,
    explicit_features,
)


def random_block(rng):
    """Arguments of ``solve_block``, of all sizes."""
    k = int(rng.integers(2, 9))
    label = int(rng.integers(k))
    theta = rng.choice([0.0, rng.uniform(0.0, 0.9)])
    return {
        "centre": rng.normal(size=k) * 2.0 ** rng.uniform(-1, 3),
        "label": label,
        "rival": int(rng.choice([j for j in range(k) if j != label])),
        "level": rng.normal(),
        "kappa": 2.0 ** rng.uniform(-3, 4),
        "weight": 2.0 ** rng.uniform(-4, 6),
        "lower": 1.0 - theta,
        "upper": 1.0 + theta,
        "mu": rng.choice([0.0, rng.uniform(0.01, 1.0), 1.0]),
        "moving": bool(rng.integers(2)),
    }


def block_value(f, block):
    """The proximal objective at scores f, by definition."""
    y = block["label"]
    rival = f[block["rival"]] if block["moving"] else block["level"]
    lack = max(block["lower"] - f[y] + np.delete(f, y).max(), 0.0)
    excess = max(f[y] - rival - block["upper"], 0.0)
    near = np.sum((f - block["centre"]) ** 2) / (2 * block["kappa"])
    return near + 0.5 * block["weight"] * (lack**2 + block["mu"] * excess**2)


def block_by_quadratic_program(block):
    """The proximal objective's minimum by Clarabel: variables f, ξ, ε."""
    centre, y = block["centre"], block["label"]
    k = len(centre)
    rows, bounds = [], []
    for j in range(k):
        if j != y:
            row = np.zeros(k + 2)
            row[[y, j, k]] = -1.0, 1.0, -1.0
            rows.append(row)
            bounds.append(-block["lower"])
    row = np.zeros(k + 2)
    row[[y, k + 1]] = 1.0, -1.0
    if block["moving"]:
        row[block["rival"]] = -1.0
    rows.append(row)
    bounds.append(block["upper"] + (0.0 if block["moving"] else block["level"]))
    c = block["weight"]
    square = np.r_[np.full(k, 1 / block["kappa"]), c, c * block["mu"]]
    linear = np.r_[-centre / block["kappa"], 0.0, 0.0]
    value = solve_quadratic_program(
        square, linear, sparse.csc_matrix(np.array(rows)), np.array(bounds)
    )
    return value + centre @ centre / (2 * block["kappa"])


def test_blocks_are_optimal():
    """1000 blocks of both kinds: the value of an independent solver, all four cases met."""
    rng = np.random.default_rng(0)
    cases = set()
    for _ in range(1000):
        block = random_block(rng)
        A, beta = solve_block(**block)
        value = block_value(block["centre"] + block["kappa"] * A, block)
        expected = block_by_quadratic_program(block)
        assert value == pytest.approx(expected, rel=1e-7, abs=1e-7)
        cases.add((block["moving"], bool(beta > 0), bool(A[block["label"]] + beta > 1e-12)))
    assert len(cases) == 8


def block_by_enumeration(block):
    """Scores of a block: the one active set whose equations have a solution with the right signs.

    Unknown are ζ of the set S and, if the excess is positive, β.
    """
    centre, y, r, kappa, c = (block[n] for n in ("centre", "label", "rival", "kappa", "weight"))
    over, moving = c * block["mu"], block["moving"]
    others = [j for j in range(len(centre)) if j != y]
    sets = itertools.chain.from_iterable(
        itertools.combinations(others, n) for n in range(len(others) + 1)
    )
    for S, positive in itertools.product(list(sets), (False, True)):
        n = len(S)
        # the scores as an affine function of (ζ_S, β)
        by = np.zeros((len(centre), n + 1))
        by[y, :n] = kappa
        by[y, n] = -kappa
        for column, j in enumerate(S):
            by[j, column] = -kappa
        if moving:
            by[r, n] += kappa
        M, b = np.zeros((n + 1, n + 1)), np.zeros(n + 1)
        for row, j in enumerate(S):
            # Σζ/c = lower − f_y + f_j
            M[row] = by[y] - by[j]
            M[row, :n] += 1 / c
            b[row] = block["lower"] - centre[y] + centre[j]
        if positive and over > 0:
            rival, moves = (centre[r], by[r]) if moving else (block["level"], 0.0)
            M[n] = moves - by[y]
            M[n, n] += 1 / over
            b[n] = centre[y] - rival - block["upper"]
        else:
            M[n, n] = 1.0
        unknown = np.linalg.solve(M, b)
        f = centre + by @ unknown
        rival = f[r] if moving else block["level"]
        lack = block["lower"] - f[y] + max(f[j] for j in others)
        excess = f[y] - rival - block["upper"]
        fits = (unknown > -1e-12).all()
        fits &= abs(max(lack, 0.0) - unknown[:n].sum() / c) < 1e-9
        fits &= abs(over * max(excess, 0.0) - unknown[n]) < 1e-9 * (1 + over)
        if fits:
            return f
    raise AssertionError("no active set fits")


def test_blocks_fulfil_their_conditions():
    rng = np.random.default_rng(1)
    for _ in range(300):
        block = random_block(rng)
        block["centre"] = block["centre"][:4]
        k = len(block["centre"])
        block["label"] %= k
        block["rival"] = (block["label"] + 1 + block["rival"] % (k - 1)) % k
        A, _ = solve_block(**block)
        f = block["centre"] + block["kappa"] * A
        np.testing.assert_allclose(f, block_by_enumeration(block), atol=1e-9)


def algorithm_2(block, divide):
    """Paper 004's Algorithm 2, as printed or with its running sums divided before they are used."""
    A, c, y = block["kappa"], block["weight"], block["label"]
    B = block["centre"] + block["lower"]
    B[y] -= block["lower"]
    D, E = A + 1 / c, A + 1 / (c * block["mu"])
    F = block["level"] + block["upper"] - B[y]
    descending = [j for j in np.argsort(-B) if j != y]

    def find(total, count):
        i = 0
        while i < len(descending) and total / (i + count) < B[descending[i]]:
            total += B[descending[i]]
            i += 1
        return total / (i + count) if divide else total

    nu = find(A * B[y] / D, A / D)
    if nu <= B[y] + D * F / A:
        alpha, beta = np.minimum(0.0, (nu - B) / A), 0.0
        alpha[y] = (nu - B[y]) / D
    else:
        nu = find((A * E * B[y] + A * A * F) / (D * E - A * A), A * E / (D * E - A * A))
        alpha = np.minimum(0.0, (nu - B) / A)
        alpha[y] = (E * nu - A * F - E * B[y]) / (D * E - A * A)
        beta = (A * alpha[y] - F) / E
    alpha[y] -= beta
    return alpha, beta


def test_algorithm_2_of_the_paper():
    """With the sums divided it is our block with a fixed rival; as printed it is not."""
    rng = np.random.default_rng(2)
    as_printed = 0
    for _ in range(300):
        block = random_block(rng) | {"moving": False}
        block["mu"] = max(block["mu"], 0.1)
        A, beta = solve_block(**block)
        expected, expected_beta = algorithm_2(block, divide=True)
        np.testing.assert_allclose(A, expected, rtol=1e-10, atol=1e-10)
        assert beta == pytest.approx(expected_beta, rel=1e-10, abs=1e-10)
        as_printed += np.allclose(algorithm_2(block, divide=False)[0], A, rtol=1e-3, atol=1e-3)
    assert as_printed < 100


def random_rows(seed, m=40, k=4, moving=True):
    """Blocks and scores without features, for the pieces of Newton's method."""
    rng = np.random.default_rng(seed)
    label = rng.integers(k, size=m).astype(np.intc)
    weight = 2.0 ** rng.uniform(-2, 3, size=m)
    bounds = {"lower": 0.8, "upper": 1.2, "mu": 0.5}
    blocks = ClassProblem(label, weight, np.ones(m), k, moving=moving, **bounds)
    scores = 1.5 * rng.normal(size=(m, k))
    blocks.set_rivals(scores + 0.5 * rng.normal(size=(m, k)))
    return blocks, scores, rng


def stepped(seed, scores, smoothing):
    blocks = random_rows(seed)[0]
    smooth_step(blocks, scores, blocks.coefficients, smoothing)
    return blocks


@pytest.mark.parametrize("smoothing", [0.05, 1.0])
def test_derivatives(smoothing):
    """``Curvature`` and ``extrapolate`` against differences."""
    _, scores, rng = random_rows(3)
    blocks = stepped(3, scores, smoothing)
    m, k = scores.shape
    V = rng.normal(size=(m, k))
    h = 1e-6
    forward, backward = (stepped(3, scores + s * h * V, smoothing) for s in (1, -1))
    numeric = -(np.array(forward.coefficients) - np.array(backward.coefficients)) / (2 * h)
    H = Curvature(blocks, smoothing)
    np.testing.assert_allclose(H.product(V), numeric, atol=1e-6 * np.abs(numeric).max())
    for j, diagonal in enumerate(H.diagonals().T):
        expected = H.product(np.tile(np.eye(k)[j], (m, 1)))[:, j]
        np.testing.assert_allclose(diagonal, expected, rtol=1e-9, atol=1e-9)

    extrapolate(blocks, h * V, smoothing)
    np.testing.assert_allclose(blocks.coefficients, forward.coefficients, atol=1e-9)
    assert np.allclose(np.asarray(blocks.coefficients).sum(axis=1), 0.0, atol=1e-12)


def make_problem(space, y, weight, mu=0.5, n_classes=None, moving=True):
    k = n_classes or int(y.max()) + 1
    bounds = {"lower": 0.8, "upper": 1.2, "mu": mu}
    return ClassProblem(y, weight, space.diagonal(), k, moving=moving, **bounds)


def solve(X, y, weight, mu=0.5, solver=newton, intercept=1.0, seed=0, moving=True, **options):
    space = WeightSpace(X, intercept)
    problem = make_problem(space, y, weight, mu, moving=moving)
    defaults = {"tol": 1e-8, "max_iter": 20000, "max_outer_iter": 200}
    result = solver(space, problem, **(defaults | options), rng=np.random.RandomState(seed))
    return result, result.unknowns


@pytest.mark.parametrize("solver", [newton, descend])
@pytest.mark.parametrize("seed", range(3))
def test_majorant_is_at_its_minimum(solver, seed):
    """An independent solver finds nothing lower in the convex problem at the solution."""
    X, y, weight = random_classes(seed)
    result, W = solve(X, y, 0.5 * weight, solver=solver)
    X1 = np.hstack([X, np.ones((len(X), 1))])
    F = X1 @ W
    np.testing.assert_allclose(result.scores, F, atol=1e-10)
    value = objective(F, W, y, 0.5 * weight, 0.5)
    assert result.primal == pytest.approx(value, rel=1e-12)
    assert result.converged and result.difference <= 1e-8 * result.primal
    least = majorant_by_quadratic_program(X1, F, y, 0.5 * weight, 0.5)
    assert least == pytest.approx(value, rel=2e-8)


@pytest.mark.parametrize("scale", [1.0, 1000.0])
@pytest.mark.parametrize("max_iter", [2, 5, 9, 14])
def test_certificates_hold_wherever_newtons_method_ends(max_iter, scale):
    """The point that is kept need not be the last one."""
    for seed in range(6):
        X, y, weight = random_classes(seed, m=70, d=3)
        result, W = solve(X, y, scale * weight, mu=0.9, tol=1e-12, max_iter=max_iter)
        X1 = np.hstack([X, np.ones((len(X), 1))])
        F = X1 @ W
        assert result.primal == pytest.approx(objective(F, W, y, scale * weight, 0.9))
        least = majorant_by_quadratic_program(X1, F, y, scale * weight, 0.9)
        assert result.primal - result.difference <= least * (1 + 1e-7)


@pytest.mark.parametrize("tol", [0.3, 0.03])
@pytest.mark.parametrize("seed", range(4))
def test_rough_descent_certifies_itself(seed, tol):
    """Rows whose rival has just become another class do not keep descent from ending."""
    X, y, weight = random_classes(seed, m=120, k=6)
    result, W = solve(X, y, 10 * weight, mu=1.0, solver=descend, tol=tol)
    assert result.converged and result.difference <= tol * result.primal
    X1 = np.hstack([X, np.ones((len(X), 1))])
    least = majorant_by_quadratic_program(X1, X1 @ W, y, 10 * weight, 1.0)
    assert result.primal - result.difference <= least * (1 + 1e-8)


@pytest.mark.parametrize("mu", [0.0, 1.0])
@pytest.mark.parametrize("scale", [1.0, 100.0, 10_000.0])
def test_newtons_method_reaches_any_gap(mu, scale):
    """It neither creeps with too much smoothing, nor lets rounding or cycles end it."""
    rng = np.random.default_rng(0)
    for seed in range(40):
        m, d, k = rng.integers(66, 200), rng.integers(1, 9), rng.integers(2, 7)
        X, y, weight = random_classes(seed, m=int(m), d=int(d), k=int(k))
        result, _ = solve(X, y, scale / len(y) * weight, mu=mu, tol=1e-9, max_iter=300)
        assert result.converged, (seed, result.difference / result.primal)


@pytest.mark.parametrize("seed", range(2))
def test_both_solvers_agree_where_the_problem_is_convex(seed):
    X, y, weight = random_classes(seed)
    first, _ = solve(X, y, weight, mu=0.0, solver=newton)
    second, _ = solve(X, y, weight, mu=0.0, solver=descend)
    X1 = np.hstack([X, np.ones((len(X), 1))])
    least = majorant_by_quadratic_program(X1, first.scores, y, weight, 0.0)
    assert first.primal == pytest.approx(least, rel=2e-8)
    assert second.primal == pytest.approx(least, rel=2e-8)


@pytest.mark.parametrize("preconditioned", [False, True])
def test_conjugate_gradients_find_the_same_point(monkeypatch, preconditioned):
    X, y, weight = random_classes(5)
    direct, _ = solve(X, y, weight, mu=0.0, solver=descend)
    monkeypatch.setattr(multiclass_newton, "FEW_WEIGHTS", 0)
    if not preconditioned:
        monkeypatch.setattr(multiclass_spaces, "MOST_FEATURES", 0)
    for container in (np.asarray, sparse.csr_matrix):
        by_gradients, _ = solve(container(X), y, weight, mu=0.0)
        assert by_gradients.converged
        np.testing.assert_allclose(by_gradients.scores, direct.scores, atol=1e-3)


def after_a_smooth_step(container=np.asarray, scale=1.0):
    """A problem whose Newton equations are to be solved, for a smoothing of 0.5."""
    X, y, weight = random_classes(5)
    space = WeightSpace(container(X), 1.0)
    problem = make_problem(space, y, scale * weight)
    W = np.zeros((6, 4))
    space.sweep(problem, W, 0.0, np.random.RandomState(0))
    scores = space.scores(W)
    problem.set_rivals(scores)
    point = Point.at(space, problem, W, scores)
    return SmoothFunction(space, problem, scores, 0.5), point


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_class_blocks_are_the_blocks_of_newtons_equations(container):
    smooth, point = after_a_smooth_step(container)
    space, H = smooth.space, Curvature(smooth.problem, 0.5)
    precondition = ClassBlocks(space, H.diagonals())
    rng = np.random.RandomState(0)
    residual = rng.standard_normal(point.unknowns.shape)
    residual -= residual.mean(axis=1, keepdims=True)
    expected = np.empty_like(residual)
    for label, scale in enumerate(precondition.scales):
        # weights of one class only: what the equations make of them in that class
        W = np.zeros_like(residual)
        W[:, label] = rng.standard_normal(len(W))
        image = (W + space.combine(H.product(space.scores(W))))[:, label]
        L = np.tril(precondition.factors[label].astype(float))
        np.testing.assert_allclose(scale * L @ (L.T @ W[:, label]), image, rtol=1e-4, atol=1e-4)
        expected[:, label] = np.linalg.solve(scale * L @ L.T, residual[:, label])
    answer, scores = precondition(residual)
    assert np.vdot(answer, residual) > 0.0
    np.testing.assert_allclose(scores, space.scores(answer), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(answer.sum(axis=1), 0.0, atol=1e-5)
    expected -= expected.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(answer, expected, rtol=1e-3, atol=1e-5)


def test_class_blocks_in_double_precision_where_single_will_not_do(monkeypatch):
    smooth, _ = after_a_smooth_step()
    diagonals = Curvature(smooth.problem, 0.5).diagonals()
    factor = multiclass_spaces.cho_factor

    def watched(matrix, **options):
        if matrix.dtype == np.float32:
            raise np.linalg.LinAlgError
        return factor(matrix, **options)

    expected = ClassBlocks(smooth.space, diagonals).factors
    monkeypatch.setattr(multiclass_spaces, "cho_factor", watched)
    for found, single in zip(ClassBlocks(smooth.space, diagonals).factors, expected, strict=True):
        assert (found.dtype, single.dtype) == (np.float64, np.float32)
        np.testing.assert_allclose(np.tril(found), np.tril(single), atol=1e-5)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("entries", [10, 2**17])
def test_few_weights_have_a_direct_solution(container, entries, monkeypatch):
    monkeypatch.setattr(multiclass_spaces, "ENTRIES_PER_CALL", entries)
    smooth, point = after_a_smooth_step(container)
    space, problem = smooth.space, smooth.problem
    residual = space.combine(problem.coefficients) - point.unknowns
    direction, change = smooth.newton_direction(point.unknowns, point, 0.0)
    np.testing.assert_allclose(change, space.scores(direction), rtol=1e-12, atol=1e-12)
    image = direction + space.combine(Curvature(problem, 0.5).product(change))
    np.testing.assert_allclose(image, residual, rtol=1e-9, atol=1e-9)
    assert np.abs(residual).max() > 0.01


@pytest.mark.parametrize("gap_of_rows", [np.inf, 1e-2, 1e-4])
def test_directions_are_as_precise_as_the_certificate_needs(gap_of_rows, monkeypatch):
    """In the norm of the weights: the preconditioner's says little where curvature is large."""
    monkeypatch.setattr(multiclass_newton, "FEW_WEIGHTS", 0)
    smooth, point = after_a_smooth_step(scale=1e3)
    space, problem = smooth.space, smooth.problem
    residual = space.combine(problem.coefficients) - point.unknowns
    wanted = point._replace(gap_of_rows=gap_of_rows)
    direction, change = smooth.newton_direction(point.unknowns, wanted, 0.0)
    np.testing.assert_allclose(change, space.scores(direction), rtol=1e-9, atol=1e-9)
    left = residual - direction - space.combine(Curvature(problem, 0.5).product(change))
    assert 0.5 * np.sum(left**2) <= 0.3 * 1.1 * gap_of_rows


def test_explicit_features():
    X = np.random.default_rng(0).normal(size=(12, 3))
    K = X @ X.T
    features, back = explicit_features(KernelOperator(K, 0.0))
    assert features.shape == (12, 3)
    np.testing.assert_allclose(features @ features.T, K, atol=1e-12)
    W = np.random.default_rng(1).normal(size=(3, 2))
    np.testing.assert_allclose(K @ (back @ W), features @ W, atol=1e-12)


def test_kernels_find_the_same_point():
    X, y, weight = random_classes(5)
    direct, _ = solve(X, y, weight, mu=0.0)
    for solver in (newton, descend):
        space = FunctionSpace(KernelOperator(X @ X.T, 1.0))
        problem = make_problem(space, y, weight, mu=0.0)
        rng = np.random.RandomState(0)
        result = solver(space, problem, tol=1e-8, max_iter=5000, max_outer_iter=50, rng=rng)
        assert result.converged
        np.testing.assert_allclose(result.scores, direct.scores, atol=1e-3)
        predicted = X @ (X.T @ result.coefficients) + result.intercept
        np.testing.assert_allclose(predicted, result.scores, atol=1e-9)


@pytest.mark.parametrize("moving", [True, False])
def test_descent_never_raises_the_objective(moving):
    for seed in range(3):
        X, y, weight = random_classes(seed)
        result, _ = solve(X, y, 3 * weight, solver=descend, moving=moving, tol=1e-4)
        values = [primal for _, primal, _ in result.trace]
        assert len(values) > 1
        # the last step may be one that was taken back
        assert (np.diff(values[:-1]) <= 0).all()
        assert result.primal <= min(values[:-1]) * (1 + 1e-12)


def test_newton_ends_at_the_lowest_point_that_it_met(monkeypatch):
    """J may rise on the way; the result is the best point with its own value."""
    met = []

    def record(space, problem, V, scores):
        point = at(space, problem, V, scores)
        met.append(point.objective)
        return point

    at = Point.at
    monkeypatch.setattr(Point, "at", record)
    rises = 0
    for seed in range(3):
        met.clear()
        rng = np.random.default_rng(seed)
        y = np.arange(80, dtype=np.intc) % 3
        X = rng.normal(size=(80, 20)) + 2.0 * np.eye(20)[y]
        weight = np.full(80, 1e6)
        result, W = solve(X, y, weight, tol=1e-6, max_iter=20)
        assert result.primal == pytest.approx(min(met), rel=1e-12)
        assert result.primal == pytest.approx(objective(result.scores, W, y, weight, 0.5))
        rises += (np.diff(met) > 1e-3 * result.primal).sum()
    assert rises > 0


@pytest.mark.parametrize("solver", [newton, descend])
@pytest.mark.parametrize("container", ["float32", "csr", "csr32", "csr64", "read-only"])
def test_containers(solver, container):
    X, y, weight = random_classes(6)
    X = np.round(16 * X) / 16
    other = X.astype(np.float32) if container in ("float32", "csr32") else X
    if container.startswith("csr"):
        other = sparse.csr_matrix(other)
    if container == "csr64":
        other.indices = other.indices.astype(np.int64)
        other.indptr = other.indptr.astype(np.int64)
    if container == "read-only":
        other = X.copy()
        other.flags.writeable = False
    first, _ = solve(X, y, weight, solver=solver, tol=1e-6)
    second, _ = solve(other, y, weight, solver=solver, tol=1e-6)
    np.testing.assert_allclose(first.scores, second.scores, atol=1e-7)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("size", [1e19, 1e-25])
def test_norms_of_single_precision_rows(container, size, monkeypatch):
    """Squares that single precision does not know, block by block."""
    monkeypatch.setattr(kernels, "ENTRIES_PER_BLOCK", 10)
    X = (size * np.random.default_rng(0).normal(size=(7, 4))).astype(np.float32)
    expected = (X.astype(np.float64) ** 2).sum(axis=1)
    found = WeightSpace(container(X), False).diagonal()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_single_precision_rows_in_blocks(monkeypatch):
    X = np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)
    W, A = np.random.default_rng(1).normal(size=(5, 3)), np.arange(21.0).reshape(7, 3)
    monkeypatch.setattr(kernels, "ENTRIES_PER_BLOCK", 10)
    rows, exact = WeightSpace(X, True), WeightSpace(X.astype(np.float64), True)
    np.testing.assert_allclose(rows.scores(W), exact.scores(W), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(rows.combine(A), exact.combine(A), rtol=1e-12, atol=1e-12)


def test_the_first_step_of_the_paper_is_taken_back_if_it_raises_the_objective():
    X, y, _ = random_classes(17, m=120)
    weight = np.full(120, 2 * 200.0 / 120 / 0.64)
    space = WeightSpace(X, True)
    problem = make_problem(space, y, weight, moving=False)
    rng = np.random.RandomState(0)
    result = descend(space, problem, tol=1e-3, max_iter=2000, max_outer_iter=1, rng=rng)
    ((_, raised, _),) = result.trace
    assert result.primal < raised
    value = objective(result.scores, result.unknowns, y, weight, 0.5)
    assert result.primal == pytest.approx(value, rel=1e-12)


def test_rows_of_zeros():
    """Without an intercept they have the margin 0, whatever the weights."""
    X, y, weight = random_classes(7)
    X[:10] = 0.0
    for solver in (newton, descend):
        options = {"solver": solver, "intercept": 0.0, "tol": 1e-5}
        result, _ = solve(X, y, weight, **options)
        others, _ = solve(X[10:], y[10:], weight[10:], **options)
        lost = 0.5 * 0.8**2 * weight[:10].sum()
        assert result.primal == pytest.approx(others.primal + lost, rel=2e-5)
        assert result.converged


def test_kernel_solution_is_a_minimum():
    """No random change of the coefficients lowers the objective of a kernel problem."""
    X, y, weight = random_classes(8)
    K = rbf_kernel(X, gamma=0.2)
    space = FunctionSpace(KernelOperator(K, 1.0))
    problem = make_problem(space, y, weight)
    rng = np.random.RandomState(0)
    result = newton(space, problem, tol=1e-8, max_iter=500, max_outer_iter=500, rng=rng)

    def value(V):
        F = (K + 1) @ V
        return objective(F, np.zeros(1), y, weight, 0.5) + 0.5 * np.vdot(V, F)

    least = value(result.coefficients)
    assert result.primal == pytest.approx(least, rel=1e-10)
    for _ in range(50):
        step = rng.normal(size=(len(y), 4)) * 10.0 ** rng.uniform(-5, -1)
        assert value(result.coefficients + step) >= least * (1 - 1e-8)


@pytest.mark.parametrize(
    ("shape", "n_classes", "descent"),
    [
        ((10_000, 784), 10, False),
        ((800, 784), 10, True),
        ((800, 400), 3, False),
        ((300, 400), 3, True),
        ((50, 400), 3, False),
        ((100_000, 2000), 3, True),
        ((100_000, 1000), 100, True),
    ],
)
def test_which_problems_are_left_to_descent(shape, n_classes, descent):
    """Many weights with few rows or too many features; never the problems solved to rounding."""
    assert suits_descent(shape, n_classes) == descent
