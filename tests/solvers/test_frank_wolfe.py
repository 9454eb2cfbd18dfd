"""Frank-Wolfe's method: its vertices, its values, its optimum, each against something independent.

The explicit matrix Θ over all label pairs is what the solver never forms; here it is formed.
"""

import numpy as np
import pytest
from problems import full_matrix, pair_rows, random_indicator
from sklearn.metrics.pairwise import pairwise_kernels

from skml_odm.estimators.rank_cvm import lowest_vertex, scaled
from skml_odm.features.operators import KernelOperator, LinearOperator
from skml_odm.problems.pairs import PairLoss
from skml_odm.solvers.frank_wolfe import Point, frank_wolfe, group_pairs
from skml_odm.solvers.iteration import conclude
from skml_odm.solvers.newton import newton
from skml_odm.solvers.turns import solve_pairs as auto

KERNELS = ("linear", "rbf", "laplacian", "cosine")


def make_problem(seed, largest=40):
    """A problem of random size, labels, C, kernel and weights, with at least one label pair."""
    rng = np.random.default_rng(seed)
    m, q, d = rng.integers(3, largest), rng.integers(2, 7), rng.integers(2, 6)
    X = rng.normal(size=(m, d))
    if rng.random() < 0.3:
        X[rng.integers(m, size=m // 3)] = X[0]
    indicator = random_indicator(rng, m, q)
    indicator[0] = np.arange(q) < 1
    weight = rng.uniform(0.1, 2, size=m) * (rng.random(m) < 0.8) if rng.random() < 0.3 else None
    if weight is not None:
        weight[0] = 1.0
    loss = PairLoss(indicator, 2.0 ** rng.uniform(-2, 4), 0.0, 0.0, weight)
    intercept = bool(rng.random() < 0.5)
    kernel = KERNELS[seed % len(KERNELS)]
    if kernel == "linear":
        return LinearOperator(X, intercept), loss
    return KernelOperator(pairwise_kernels(X, metric=kernel), intercept), loss


def all_pairs(loss):
    """Every label pair as (row, relevant, irrelevant label)."""
    return [tuple(map(int, pair)) for pair in pair_rows(loss)]


def labels_of(point):
    """The solver's pairs, by position, as in ``all_pairs``."""
    pairs = point.pairs
    return list(
        zip(pairs.row.tolist(), pairs.relevant.tolist(), pairs.irrelevant.tolist(), strict=True)
    )


def multipliers(point, pairs):
    """α of all pairs."""
    active, values = point.iterate.multipliers()
    labels = labels_of(point)
    alpha = {labels[p]: value for p, value in zip(active, values, strict=True)}
    return np.array([alpha.get(pair, 0.0) for pair in pairs])


def explicit_theta(operator, loss):
    """Θ of Eq. 38, and H."""
    pairs = all_pairs(loss)
    rows = [i for i, _, _ in pairs]
    H = np.zeros((loss.shape[1], len(pairs)))
    for at, (_, k, label) in enumerate(pairs):
        H[k, at], H[label, at] = 1.0, -1.0
    K = full_matrix(operator)[np.ix_(rows, rows)]
    return (H.T @ H) * K + np.diag(1.0 / loss.weight[rows]), H


def check_state(point, theta, pairs):
    """Vertex and value of the recursions are those of the explicit gradient."""
    alpha = multipliers(point, pairs)
    assert alpha.min() >= 0.0
    assert alpha.sum() == pytest.approx(1.0)
    gradient = theta @ alpha
    vertex, slope = point.iterate.vertex()
    assert slope == pytest.approx(gradient.min(), rel=1e-8, abs=1e-10)
    at = pairs.index(labels_of(point)[vertex])
    assert gradient[at] == pytest.approx(gradient.min(), rel=1e-8, abs=1e-10)
    assert point.iterate.value == pytest.approx(0.5 * alpha @ theta @ alpha, rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_every_pair_is_in_the_group_of_its_labels(seed):
    _, loss = make_problem(seed, largest=90)
    pairs = group_pairs(loss)
    q = loss.shape[1]
    found = []
    for group in range(q * q):
        rows = pairs.row[pairs.first[group] : pairs.first[group + 1]]
        found += [(int(row), group // q, group % q) for row in rows]
    assert sorted(found) == sorted(all_pairs(loss))
    assert found == list(zip(*map(np.ndarray.tolist, pairs[:3]), strict=True))


@pytest.mark.parametrize("pairwise", [False, True])
@pytest.mark.parametrize("seed", range(24))
def test_vertices_and_values_are_those_of_the_explicit_matrix(seed, pairwise):
    """From a random point on, step by step: the best pair of all pairs, and W."""
    operator, loss = make_problem(seed)
    rng = np.random.default_rng(seed)
    theta, _ = explicit_theta(operator, loss)
    pairs = all_pairs(loss)
    point = Point(operator, loss, pairwise)
    active = rng.permutation(len(pairs))[: 1 + rng.integers(len(pairs))]
    point.place(active, rng.exponential(size=len(active)))
    check_state(point, theta, pairs)
    for n in [1] * 25 + [50, 200]:
        point.advance(n, 1e-9, 0.0)
        check_state(point, theta, pairs)


@pytest.mark.parametrize("pairwise", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_certificate_and_coefficients_are_those_of_the_explicit_matrix(seed, pairwise):
    operator, loss = make_problem(seed)
    theta, H = explicit_theta(operator, loss)
    point = Point(operator, loss, pairwise)
    point.start()
    point.advance(30, 0.0, 0.0)
    certificate = point.refresh()
    alpha = multipliers(point, all_pairs(loss))
    value, gradient = 0.5 * alpha @ theta @ alpha, theta @ alpha
    assert certificate.value == pytest.approx(value, rel=1e-12)
    assert certificate.promise == pytest.approx(2 * value - gradient.min(), rel=1e-6, abs=1e-12)
    optimum = 0.25 / newton(operator, loss, tol=1e-11, max_iter=200).primal
    assert value - certificate.difference <= optimum * (1 + 1e-9)
    # never worse than the paper's bound
    assert certificate.difference <= max(certificate.promise, 0.0) + 1e-12
    A = np.zeros(loss.shape)
    for at, (i, _, _) in enumerate(all_pairs(loss)):
        A[i] += alpha[at] * H[:, at]
    np.testing.assert_allclose(point.coefficients, A, atol=1e-14)
    np.testing.assert_allclose(point.scores, full_matrix(operator) @ A, atol=1e-12)


@pytest.mark.parametrize("seed", range(100, 132))
def test_optimum_is_that_of_newtons_method(seed):
    """Pairwise to 1e-6, plain steps to 1e-2; the value of Rank-LSVM is turned into W."""
    operator, loss = make_problem(seed, largest=60)
    optimum = 0.25 / newton(operator, loss, tol=1e-10, max_iter=200).primal
    pairwise = frank_wolfe(operator, loss, tol=1e-6, max_iter=200_000, pairwise=True)
    plain = frank_wolfe(operator, loss, tol=1e-2, max_iter=200_000)
    for result, tol in (pairwise, 1e-6), (plain, 1e-2):
        assert result.converged and result.gap <= tol
        assert optimum * (1 - 1e-9) <= result.primal <= optimum * (1 + 1.02 * tol)
        assert result.dual <= optimum * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(200, 220))
def test_rank_cvm_is_rank_lsvm_scaled(seed):
    """Same ranking of every label pair of every row; W* = 1/4J, ρ = 1/2J."""
    operator, loss = make_problem(seed)
    lsvm = newton(operator, loss, tol=1e-11, max_iter=200)
    direct = frank_wolfe(operator, loss, tol=1e-9, max_iter=500_000, pairwise=True)
    assert direct.primal == pytest.approx(0.25 / lsvm.primal, rel=1e-7)
    rho = 0.5 / lsvm.primal
    np.testing.assert_allclose(direct.scores, rho * lsvm.scores, atol=1e-3 * rho)
    by_scaling = scaled(lsvm, lowest_vertex(operator, loss), 1e-9)
    assert by_scaling.primal == pytest.approx(direct.primal, rel=1e-7)
    ours = by_scaling.scores[:, :, None] - by_scaling.scores[:, None, :]
    theirs = direct.scores[:, :, None] - direct.scores[:, None, :]
    clear = np.abs(ours) > 1e-2 * rho
    np.testing.assert_array_equal(np.sign(ours[clear]), np.sign(theirs[clear]))


@pytest.mark.parametrize("seed", range(300, 316))
def test_optimum_is_that_of_an_independent_solver(seed):
    """Clarabel on the dual over the simplex, to 1e-6 relative."""
    clarabel = pytest.importorskip("clarabel")
    from scipy import sparse

    operator, loss = make_problem(seed, largest=12)
    theta, _ = explicit_theta(operator, loss)
    n = len(theta)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(theta)),
        np.zeros(n),
        sparse.csc_matrix(np.vstack([np.ones((1, n)), -np.eye(n)])),
        np.append(1.0, np.zeros(n)),
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)],
        settings,
    ).solve()
    reference = solution.obj_val
    direct = frank_wolfe(operator, loss, tol=1e-8, max_iter=500_000, pairwise=True)
    assert direct.primal == pytest.approx(reference, rel=1e-6)
    for solve in (newton, auto):
        result = solve(operator, loss, tol=1e-9, max_iter=500)
        result = scaled(result, lowest_vertex(operator, loss), 1e-9)
        assert result.primal == pytest.approx(reference, rel=1e-6)


@pytest.mark.parametrize("pairwise", [False, True])
def test_the_papers_criterion(pairwise):
    """Steps end when |z| ≤ ε, and not before."""
    operator, loss = make_problem(1)
    result = frank_wolfe(
        operator, loss, tol=1e-12, max_iter=100_000, pairwise=pairwise, absolute=1e-3
    )
    theta, _ = explicit_theta(operator, loss)
    point = Point(operator, loss, pairwise)
    promises = [point.start().promise]
    while promises[-1] > 1e-3:
        point.advance(1, 1e-12, 1e-3)
        alpha = multipliers(point, all_pairs(loss))
        promises.append(alpha @ theta @ alpha - (theta @ alpha).min())
    assert result.n_iter == len(promises) - 1


@pytest.mark.parametrize("pairwise", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_steps_are_bounded_and_the_gap_stays_true(pairwise, seed):
    operator, loss = make_problem(seed)
    optimum = 0.25 / newton(operator, loss, tol=1e-10, max_iter=100).primal
    for max_iter in (1, 3, 40):
        result = frank_wolfe(operator, loss, tol=1e-12, max_iter=max_iter, pairwise=pairwise)
        assert result.n_iter == max_iter
        assert not result.converged
        assert result.dual <= optimum * (1 + 1e-9) and optimum <= result.primal * (1 + 1e-9)


@pytest.mark.parametrize("pairwise", [False, True])
def test_rounding_ends_the_steps(pairwise):
    """A tolerance that nothing can reach: the solver notices and says so."""
    operator, loss = make_problem(1, largest=8)
    result = frank_wolfe(operator, loss, tol=1e-300, max_iter=10**7, pairwise=pairwise)
    optimum = 0.25 / newton(operator, loss, tol=1e-12, max_iter=100).primal
    assert result.n_iter < 10**7 or not pairwise
    assert result.primal == pytest.approx(optimum, rel=1e-10 if pairwise else 1e-4)


def test_it_can_be_stopped_between_calls():
    from skml_odm.solvers.frank_wolfe import frank_wolfe_steps

    operator, loss = make_problem(1)
    steps = frank_wolfe_steps(operator, loss, tol=1e-12, max_iter=10**6)
    next(steps)
    result = conclude(steps)
    assert not result.converged
    np.testing.assert_allclose(result.scores, operator.product(result.coefficients), atol=1e-14)


@pytest.mark.parametrize("pairwise", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_results_do_not_depend_on_when_they_are_computed_anew(seed, pairwise, monkeypatch):
    """After other numbers of steps: the same steps, and no stale scores at exit."""
    operator, loss = make_problem(seed)
    options = {"tol": 1e-12, "max_iter": 10**5, "pairwise": pairwise, "absolute": 1e-3}
    usual = frank_wolfe(operator, loss, **options)
    monkeypatch.setattr("skml_odm.solvers.frank_wolfe.MIN_STEPS", 1)
    result = frank_wolfe(operator, loss, **options)
    assert result.n_iter == usual.n_iter
    np.testing.assert_allclose(result.scores, operator.product(result.coefficients), atol=1e-14)
    assert result.primal == pytest.approx(usual.primal, rel=1e-10)


def test_without_pairs_everything_is_zero():
    loss = PairLoss(np.ones((3, 2), dtype=bool), 1.0, 0.0, 0.0)
    result = frank_wolfe(KernelOperator(np.eye(3), True), loss, tol=1e-3, max_iter=5)
    assert result.primal == result.gap == 0.0
    assert result.converged
    assert not result.coefficients.any()


@pytest.mark.parametrize("pairwise", [False, True])
def test_one_pair_is_solved_at_once(pairwise):
    """A simplex of one point: W = K_ii + 1/2c."""
    loss = PairLoss(np.array([[True, False]]), 2.0, 0.0, 0.0)
    operator = KernelOperator(np.array([[3.0]]), False)
    result = frank_wolfe(operator, loss, tol=1e-9, max_iter=5, pairwise=pairwise)
    assert result.primal == pytest.approx(3.0 + 0.25)
    assert result.gap <= 1e-12
    np.testing.assert_allclose(result.coefficients, [[1.0, -1.0]])


@pytest.mark.parametrize("linear", [False, True])
def test_columns_and_diagonals(linear):
    from scipy import sparse

    X = np.random.default_rng(0).normal(size=(6, 3))
    K = X @ X.T
    operators = [KernelOperator(K, True)]
    if linear:
        operators = [LinearOperator(X, True), LinearOperator(sparse.csr_matrix(X), True)]
    for operator in operators:
        np.testing.assert_allclose(operator.column(2), K[:, 2])
        np.testing.assert_allclose(operator.diagonal(), K.diagonal())


@pytest.mark.parametrize("pairwise", [False, True])
def test_labels_may_take_part_in_no_pair(pairwise):
    """W* = 1/4J, with J from Newton's method, and no coefficients of labels that are left out."""
    rng = np.random.default_rng(0)
    operator = LinearOperator(rng.normal(size=(30, 3)), True)
    indicator, involved = rng.random((2, 30, 4)) < 0.6
    loss = PairLoss(indicator, 1.0, 0.0, 0.0, involved=involved)
    result = frank_wolfe(operator, loss, tol=1e-2, max_iter=20000, pairwise=pairwise)
    rank_lsvm = newton(operator, loss, tol=1e-8, max_iter=100).primal
    assert result.primal == pytest.approx(0.25 / rank_lsvm, rel=1e-2)
    assert not result.coefficients[~involved].any()
