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
from skml_odm.problems._class_smoothing import (
    apply_curvature,
    curvature,
    curvature_diagonal,
    extrapolate,
    smooth_step,
)
from skml_odm.problems._classes import Blocks, solve_block
from skml_odm.solvers import multiclass_directions
from skml_odm.solvers.multiclass import KernelRows, LinearRows, descend, make_blocks
from skml_odm.solvers.multiclass_newton import newton


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
    blocks = Blocks(label, weight, np.ones(m), k, 0.8, 1.2, 0.5, moving)
    scores = 1.5 * rng.normal(size=(m, k))
    blocks.set_rivals(scores + 0.5 * rng.normal(size=(m, k)), at_once=True)
    return blocks, scores, rng


def stepped(seed, scores, smoothing):
    blocks = random_rows(seed)[0]
    smooth_step(blocks, scores, smoothing)
    return blocks


@pytest.mark.parametrize("smoothing", [0.05, 1.0])
def test_derivatives(smoothing):
    """``curvature``, ``apply_curvature`` and ``extrapolate`` against differences."""
    _, scores, rng = random_rows(3)
    blocks = stepped(3, scores, smoothing)
    m, k = scores.shape
    V = rng.normal(size=(m, k))
    h = 1e-6
    forward, backward = (stepped(3, scores + s * h * V, smoothing) for s in (1, -1))
    numeric = -(np.array(forward.coefficients) - np.array(backward.coefficients)) / (2 * h)
    applied = np.empty((m, k))
    apply_curvature(blocks, V, smoothing, applied)
    np.testing.assert_allclose(applied, numeric, atol=1e-6 * np.abs(numeric).max())

    row, pair, value = np.empty(1000, np.intp), np.empty(1000, np.intp), np.empty(1000)
    H, start = np.zeros((m, k, k)), 0
    while start < m:
        start, n = curvature(blocks, smoothing, start, row, pair, value)
        for i, p, v in zip(row[:n], pair[:n], value[:n], strict=True):
            difference = np.eye(k)[p // k] - np.eye(k)[p % k]
            H[i] += v * np.outer(difference, difference)
    np.testing.assert_allclose(np.einsum("ipq,iq->ip", H, V), applied, atol=1e-10)
    diagonal = np.empty((m, k), dtype=np.float32)
    curvature_diagonal(blocks, smoothing, diagonal)
    np.testing.assert_allclose(diagonal, np.einsum("ipp->ip", H), rtol=1e-6, atol=1e-6)

    extrapolate(blocks, h * V, smoothing)
    np.testing.assert_allclose(blocks.coefficients, forward.coefficients, atol=1e-9)
    assert np.allclose(np.asarray(blocks.coefficients).sum(axis=1), 0.0, atol=1e-12)


def solve(X, y, weight, mu=0.5, solver=newton, intercept=1.0, seed=0, moving=True, **options):
    rows = LinearRows(X, intercept, y.max() + 1)
    blocks = make_blocks(rows, y, weight, 0.8, 1.2, mu, y.max() + 1, moving)
    defaults = {"tol": 1e-8, "max_iter": 20000, "max_outer_iter": 200}
    result = solver(rows, blocks, **(defaults | options), rng=np.random.RandomState(seed))
    return result, rows


@pytest.mark.parametrize("solver", [newton, descend])
@pytest.mark.parametrize("seed", range(3))
def test_majorant_is_at_its_minimum(solver, seed):
    """An independent solver finds nothing lower in the convex problem at the solution."""
    X, y, weight = random_classes(seed)
    result, rows = solve(X, y, 0.5 * weight, solver=solver)
    X1 = np.hstack([X, np.ones((len(X), 1))])
    F = X1 @ rows.weights
    np.testing.assert_allclose(result.scores, F, atol=1e-10)
    value = objective(F, rows.weights, y, 0.5 * weight, 0.5)
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
        result, rows = solve(X, y, scale * weight, mu=0.9, tol=1e-12, max_iter=max_iter)
        X1 = np.hstack([X, np.ones((len(X), 1))])
        F = X1 @ rows.weights
        assert result.primal == pytest.approx(objective(F, rows.weights, y, scale * weight, 0.9))
        least = majorant_by_quadratic_program(X1, F, y, scale * weight, 0.9)
        assert result.primal - result.difference <= least * (1 + 1e-7)


@pytest.mark.parametrize("tol", [0.3, 0.03])
@pytest.mark.parametrize("seed", range(4))
def test_rough_descent_certifies_itself(seed, tol):
    """Rows whose rival has just become another class do not keep descent from ending."""
    X, y, weight = random_classes(seed, m=120, k=6)
    result, rows = solve(X, y, 10 * weight, mu=1.0, solver=descend, tol=tol)
    assert result.converged and result.difference <= tol * result.primal
    X1 = np.hstack([X, np.ones((len(X), 1))])
    least = majorant_by_quadratic_program(X1, X1 @ rows.weights, y, 10 * weight, 1.0)
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


@pytest.mark.parametrize("limits", [{"MOST_FEATURES": 0}, {"MOST_SINGLE": 0.0}, {}])
def test_conjugate_gradients_find_the_same_point(monkeypatch, limits):
    """Without a preconditioner, with one in double and in single precision."""
    X, y, weight = random_classes(5)
    direct, _ = solve(X, y, weight, mu=0.0)
    for name, value in {"DIRECT": 0, **limits}.items():
        monkeypatch.setattr(multiclass_directions, name, value)
    for container in (np.asarray, sparse.csr_matrix):
        by_gradients, _ = solve(container(X), y, weight, mu=0.0)
        assert by_gradients.converged
        np.testing.assert_allclose(by_gradients.scores, direct.scores, atol=1e-3)


def after_a_smooth_step(container=np.asarray, scale=1.0):
    """Rows and blocks whose Newton equations are to be solved, for a smoothing of 0.5."""
    X, y, weight = random_classes(5)
    rows = LinearRows(container(X), 1.0, 4)
    blocks = make_blocks(rows, y, scale * weight, 0.8, 1.2, 0.5, 4, True)
    rows.sweep(blocks, 0.0, np.random.RandomState(0))
    scores = rows.scores(rows.weights)
    blocks.set_rivals(scores, at_once=True)
    smooth_step(blocks, scores, 0.5)
    return rows, blocks


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("few", [0, 32])
def test_direct_solutions_fulfil_newtons_equations(monkeypatch, few, container):
    """Set up row by row, or pair of classes by pair."""
    monkeypatch.setattr(multiclass_directions, "FEW_FEATURES", few)
    # a few rows at a time
    monkeypatch.setattr(multiclass_directions, "TRIPLES", 40)
    rows, blocks = after_a_smooth_step(container)
    residual = np.random.default_rng(1).normal(size=rows.weights.shape)
    solution = multiclass_directions.direct_solution(rows, blocks, 0.5, residual)
    bent = np.empty((len(blocks.label), 4))
    apply_curvature(blocks, rows.scores(solution), 0.5, bent)
    np.testing.assert_allclose(solution + rows.combine(bent), residual, rtol=1e-9, atol=1e-9)


def test_class_blocks_are_the_blocks_of_newtons_equations():
    rows, blocks = after_a_smooth_step()
    rng = np.random.RandomState(0)
    bends = np.empty((len(blocks.label), 4), dtype=np.float32)
    curvature_diagonal(blocks, 0.5, bends)
    precondition = multiclass_directions.ClassBlocks(rows, bends, np.float32)
    bent = np.empty((len(blocks.label), 4))
    residual = rng.standard_normal(rows.weights.shape)
    residual -= residual.mean(axis=1, keepdims=True)
    expected = np.empty_like(residual)
    for label in range(4):
        # weights of one class only: what the equations make of them in that class
        W = np.zeros_like(rows.weights)
        W[:, label] = rng.standard_normal(len(W))
        apply_curvature(blocks, rows.scores(W), 0.5, bent)
        image = (W + rows.combine(bent))[:, label]
        L = np.tril(precondition.factors[label].astype(float))
        np.testing.assert_allclose(L @ (L.T @ W[:, label]), image, rtol=1e-4, atol=1e-4)
        expected[:, label] = np.linalg.solve(L @ L.T, residual[:, label])
    answer = precondition(residual)
    assert np.vdot(answer, residual) > 0.0
    np.testing.assert_allclose(answer.sum(axis=1), 0.0, atol=1e-5)
    expected -= expected.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(answer, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("intercept", [0.0, 1.0])
@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_rows_in_single_precision(intercept, precision):
    """Features that are zero everywhere are left out; weights have them all the same."""
    X, _, _ = random_classes(5)
    X = np.insert(X, [0, 2], 0.0, axis=1).astype(precision)
    rows = LinearRows(X, intercept, 4)
    single = rows.single
    assert single.n_used == np.any(X, axis=0).sum() + (intercept > 0.0)
    rng = np.random.RandomState(0)
    A = rng.standard_normal((len(X), 4))
    W = rows.combine(A)
    np.testing.assert_allclose(single.combine(A), W, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(single.scores(W), rows.scores(W), rtol=1e-4, atol=1e-3)
    assert not single.combine(A)[[0, 3]].any()
    chosen = single.dense(np.array([3, 1]), np.float64)
    np.testing.assert_allclose(chosen, rows.dense(np.array([3, 1]), float)[:, single.used], 1e-6)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_what_has_no_copy_in_single_precision(container):
    X, _, _ = random_classes(5)
    for scale in (1.0, 1e-10, 1e10):
        rows = LinearRows(container(scale * X), 0.0, 4)
        assert (rows.single is rows) == (scale != 1.0 or sparse.issparse(rows.X))


def system_in(precision, monkeypatch, scale=1.0):
    """Newton's equations that are solved by conjugate gradients, and their residual."""
    monkeypatch.setattr(multiclass_directions, "DIRECT", 0)
    monkeypatch.setattr(multiclass_directions, "MOST_SINGLE", 1e10 if precision == "single" else 0)
    rows, blocks = after_a_smooth_step(scale=scale)
    residual = rows.combine(np.asarray(blocks.coefficients)) - rows.weights
    return rows, blocks, residual


@pytest.mark.parametrize("precision", ["single", "double"])
def test_directions_are_as_precise_as_the_certificate_needs(precision, monkeypatch):
    """In the norm of the weights: the preconditioner's says little where curvature is large."""
    rows, blocks, residual = system_in(precision, monkeypatch, 1e3)
    bent = np.empty((len(blocks.label), 4))
    left = []
    for missing in (np.inf, 1e-2, 1e-4):
        direction, change = multiclass_directions.newton_direction(
            rows, blocks, 0.5, residual, False, 0.0, missing
        )
        np.testing.assert_allclose(change, rows.scores(direction), rtol=1e-9, atol=1e-9)
        apply_curvature(blocks, change, 0.5, bent)
        left.append(0.5 * np.sum((residual - direction - rows.combine(bent)) ** 2))
        assert left[-1] <= 1.1 * missing
    assert left[0] > 1e-2


@pytest.mark.parametrize("trouble", ["steps", "factors"])
def test_double_precision_where_single_will_not_do(trouble, monkeypatch):
    rows, blocks, residual = system_in("single", monkeypatch)
    arguments = rows, blocks, 0.5, residual, True, 0.0, 1e-9
    expected, _ = multiclass_directions.newton_direction(*arguments)
    used = []

    class Watched(multiclass_directions.ClassBlocks):
        def __init__(self, rows, bends, precision):
            used.append(precision)
            if trouble == "factors" and precision == np.float32:
                raise np.linalg.LinAlgError
            super().__init__(rows, bends, precision)

    monkeypatch.setattr(multiclass_directions, "ClassBlocks", Watched)
    if trouble == "steps":
        monkeypatch.setattr(multiclass_directions, "SINGLE_STEPS", 1)
    direction, _ = multiclass_directions.newton_direction(*arguments)
    assert used == [np.float32, np.float64]
    np.testing.assert_allclose(direction, expected, atol=1e-3)


def test_kernels_find_the_same_point():
    X, y, weight = random_classes(5)
    direct, _ = solve(X, y, weight, mu=0.0)
    for solver in (newton, descend):
        rows = KernelRows(KernelOperator(X @ X.T, 1.0), 4)
        blocks = make_blocks(rows, y, weight, 0.8, 1.2, 0.0, 4, True)
        rng = np.random.RandomState(0)
        result = solver(rows, blocks, tol=1e-8, max_iter=5000, max_outer_iter=50, rng=rng)
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


def test_newton_never_raises_the_objective():
    X, y, weight = random_classes(4)
    result, _ = solve(X, y, 3 * weight, tol=1e-3)
    values = [primal for _, primal, _ in result.trace]
    assert len(values) > 2 and (np.diff(values) <= 0).all()


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
    found = LinearRows(container(X), False, 3).diagonal()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_single_precision_rows_in_blocks(monkeypatch):
    X = np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)
    W, A = np.random.default_rng(1).normal(size=(5, 3)), np.arange(21.0).reshape(7, 3)
    monkeypatch.setattr(kernels, "ENTRIES_PER_BLOCK", 10)
    rows, exact = LinearRows(X, True, 3), LinearRows(X.astype(np.float64), True, 3)
    np.testing.assert_allclose(rows.scores(W), exact.scores(W), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(rows.combine(A), exact.combine(A), rtol=1e-12, atol=1e-12)


def test_the_first_step_of_the_paper_is_taken_back_if_it_raises_the_objective():
    X, y, _ = random_classes(17, m=120)
    weight = np.full(120, 2 * 200.0 / 120 / 0.64)
    rows = LinearRows(X, True, 4)
    blocks = make_blocks(rows, y, weight, 0.8, 1.2, 0.5, 4, False)
    rng = np.random.RandomState(0)
    result = descend(rows, blocks, tol=1e-3, max_iter=2000, max_outer_iter=1, rng=rng)
    ((_, raised, _),) = result.trace
    assert result.primal < raised
    value = objective(result.scores, rows.weights, y, weight, 0.5)
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
    rows = KernelRows(KernelOperator(K, 1.0), 4)
    blocks = make_blocks(rows, y, weight, 0.8, 1.2, 0.5, 4, True)
    rng = np.random.RandomState(0)
    result = newton(rows, blocks, tol=1e-8, max_iter=500, max_outer_iter=500, rng=rng)

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
    assert multiclass_directions.suits_descent(shape, n_classes) == descent
