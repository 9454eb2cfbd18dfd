"""A zero label: what MLODM, RankLSVM and RankCVM learn with one, and when they do."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from small_data import ODD, THRESHOLDS, check_fit, random_data
from small_searches import CV, assert_same

from skml_odm import MLODM, PathSearchCV, RankCVM, RankLSVM
from skml_odm.features.operators import KernelOperator
from skml_odm.metrics import average_precision_scorer
from skml_odm.problems.pairs import PairLoss
from skml_odm.solvers.turns import solve_pairs

METHODS = [MLODM, RankLSVM, RankCVM]


def complete_data(**options):
    """Data whose rows all have relevant and irrelevant labels."""
    X, y = random_data(**options)
    y[:, 0], y[:, -1] = 1, 0
    return X, y


def losses(scores, y, weight, C, theta, mu):
    """The loss of scores of the labels and label 0, and its slope, every pair spelled out."""
    q = y.shape[1]
    value, slope = 0.0, np.zeros_like(scores)
    for i, row in enumerate(y):
        relevant, irrelevant = np.flatnonzero(row), np.flatnonzero(row == 0)
        n, s = len(relevant), len(irrelevant)
        pairs = [(k, other, n * s) for k in relevant for other in irrelevant]
        pairs += [(k, q, 2 * n) for k in relevant] + [(q, other, 2 * s) for other in irrelevant]
        for k, other, share in pairs:
            c, margin = C * weight[i] / share, scores[i, k] - scores[i, other]
            low, high = max(1 - theta - margin, 0.0), max(margin - 1 - theta, 0.0)
            value += 0.5 * c * (low**2 + mu * high**2)
            slope[i, k] += c * (mu * high - low)
            slope[i, other] -= c * (mu * high - low)
    return value, slope


@pytest.mark.parametrize("solver", ["auto", "newton", "bcd"])
@pytest.mark.parametrize("m", [25, 70])
@pytest.mark.parametrize("method", [MLODM, RankLSVM])
def test_linear_optimum_is_that_of_a_general_minimiser(method, m, solver):
    """L-BFGS on the weights of the labels and label 0: no kernel, no dual, nothing of ours."""
    X, y = random_data(m=m)
    weight = np.random.default_rng(1).uniform(0, 2, size=m)
    wide = np.hstack([X, np.ones((m, 1))])
    parameters = {"theta": 0.3, "mu": 0.5} if method is MLODM else {}
    theta_mu = parameters or {"theta": 0.0, "mu": 0.0}

    def function(flat):
        W = flat.reshape(5, 4)
        value, slope = losses(wide @ W, y, weight, 0.5, **theta_mu)
        return 0.5 * flat @ flat + value, (W + wide.T @ slope).ravel()

    found = minimize(function, np.zeros(20), jac=True, options={"gtol": 1e-9})
    W = found.x.reshape(5, 4)
    W = W[:, :-1] - W[:, -1:]
    options = {"C": 0.5, "kernel": "linear", "tol": 1e-9, "max_iter": 3000}
    model = method(solver=solver, **options, **parameters)
    model.fit(X, y, sample_weight=weight)
    assert model.zero_label_
    assert model.objective_ == pytest.approx(found.fun, rel=1e-8)
    np.testing.assert_allclose(model.coef_, W[:-1].T, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, W[-1], atol=1e-4)
    np.testing.assert_allclose(model.label_scores(X), wide @ W, atol=1e-3)


def value_by_hand(model, K, y):
    """½⟨A, K A⟩ + ½‖b‖² + L(K A + b) of a model that has the differences to label 0."""
    with_zero = np.vstack([model.dual_coef_, model.intercept_])
    zero = -with_zero.sum(axis=1, keepdims=True) / (with_zero.shape[1] + 1)
    *A, b = np.hstack([with_zero + zero, zero])
    F = K @ A
    value = 0.5 * np.vdot(A, F) + 0.5 * b @ b
    F += b
    loss, _ = losses(F, y, np.ones(len(y)), model.C, model.theta, model.mu)
    return value + loss


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("tol", [1e-1, 1e-4])
@pytest.mark.parametrize("solver", ["auto", "newton", "bcd"])
@pytest.mark.parametrize("method", [MLODM, RankLSVM])
def test_objective_is_that_of_the_attributes(method, solver, tol, fit_intercept):
    """And the gap encloses the optimum."""
    X, y = random_data(m=90)
    options = {"C": 2.0, "gamma": 0.3, "fit_intercept": fit_intercept}
    model = method(solver=solver, tol=tol, **options).fit(X, y)
    by_hand = value_by_hand(model, rbf_kernel(X, gamma=0.3), y)
    assert model.objective_ == pytest.approx(by_hand, rel=1e-9)
    best = method(tol=1e-9, **options).fit(X, y).objective_
    assert 0.0 <= model.dual_gap_ <= tol
    assert model.objective_ * (1 - model.dual_gap_) <= best * (1 + 1e-8)
    assert best <= model.objective_ * (1 + 1e-8)


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("m", [40, 100])
def test_rank_cvm_is_rank_lsvm_scaled(threshold, m):
    X, y = random_data(m=m)
    options = {"C": 0.5, "threshold": threshold, "tol": 1e-8}
    lsvm, model = RankLSVM(**options).fit(X, y), RankCVM(**options).fit(X, y)
    rho = 0.5 / lsvm.objective_
    assert model.zero_label_
    assert model.objective_ == pytest.approx(0.25 / lsvm.objective_)
    assert model.dual_gap_ <= 1e-8
    np.testing.assert_allclose(model.dual_coef_, rho * lsvm.dual_coef_)
    np.testing.assert_allclose(model.label_scores(X), rho * lsvm.label_scores(X))
    np.testing.assert_array_equal(model.predict(X), lsvm.predict(X))


def test_rank_cvm_looks_for_its_lowest_vertex_among_all_pairs():
    """With next to no C the objective is that of one pair: K_ii + 1/2c."""
    X, y = random_data(m=100)
    K = rbf_kernel(X, gamma=0.3)
    n_relevant = y.sum(axis=1)
    fewest = np.minimum(n_relevant, 3 - n_relevant)
    largest_weight = 1e-12 / np.where(fewest == 0, 2 * 3, 2)
    best = (K.diagonal() + 1 + 0.5 / largest_weight).min()
    model = RankCVM(C=1e-12, gamma=0.3, max_iter=1, tol=0.5).fit(X, y)
    assert model.objective_ <= best * (1 + 1e-9)


# ---- when there is one --------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("row", [0, 1])
def test_auto_looks_for_rows_with_no_label_or_all(method, row):
    X, y = complete_data()
    assert not method().fit(X, y).zero_label_
    y[5] = row
    assert method().fit(X, y).zero_label_
    assert not method(zero_label=False).fit(X, y).zero_label_
    # a row of weight zero is no row
    weight = np.ones(len(y))
    weight[5] = 0.0
    model = method().fit(X, y, sample_weight=weight)
    assert not model.zero_label_
    without = method().fit(np.delete(X, 5, axis=0), np.delete(y, 5, axis=0))
    np.testing.assert_allclose(model.intercept_, without.intercept_, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_it_can_be_asked_for(method):
    X, y = complete_data()
    model = method(zero_label=True).fit(X, y)
    assert model.zero_label_
    assert not np.allclose(model.label_scores(X), method().fit(X, y).label_scores(X), atol=1e-2)


@pytest.mark.parametrize(
    ("method", "solver"),
    [(MLODM, "m3"), (RankCVM, "frank-wolfe"), (RankCVM, "pairwise")],
)
def test_auto_obeys_the_solver_and_true_does_not_fit_every_solver(method, solver):
    X, y = random_data()
    options = {"solver": solver, "tol": 1e-2}
    model = method(**options).fit(X, y)
    assert not model.zero_label_
    plain = method(zero_label=False, **options).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, plain.dual_coef_)
    with pytest.raises(ValueError, match=f"solver.*zero_label=True.*{solver}"):
        method(zero_label=True, **options).fit(X, y)


@pytest.mark.parametrize("value", ["yes", None, 1, 0.0])
def test_other_values_are_refused(value):
    X, y = random_data()
    with pytest.raises(ValueError, match=r"zero_label must be 'auto', True or False; got"):
        MLODM(zero_label=value).fit(X, y)


def test_false_is_the_loss_on_label_pairs_alone():
    """To the last digit."""
    X, y = random_data(m=90)
    model = MLODM(C=1.0, zero_label=False, gamma=0.3).fit(X, y)
    operator = KernelOperator(rbf_kernel(X, gamma=0.3), True)
    loss = PairLoss(y == 1, 1.0, 0.0, 0.7)
    result = solve_pairs(operator, loss, tol=1e-3, max_iter=2000, random_state=0)
    np.testing.assert_allclose(model.dual_coef_, result.coefficients, atol=1e-13)
    assert not model.dual_coef_[:2].any()


@pytest.mark.parametrize("value", ["auto", True, False])
def test_a_single_label_has_its_complement(value):
    X, y = random_data(q=1)
    model, plain = MLODM(zero_label=value).fit(X, y), MLODM(zero_label=False).fit(X, y)
    assert not model.zero_label_
    np.testing.assert_array_equal(model.dual_coef_, plain.dual_coef_)


# ---- what it is good for ------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, 1])
def test_rows_without_pairs_are_learned(value):
    """Half of the rows have no label, or all: where they are is known by the sign of the scores."""
    X, y = random_data(m=200, q=4)
    far = X[:, 0] > 0
    y[far] = value
    model = MLODM(threshold="zero", C=10.0).fit(X[:100], y[:100])
    right = (model.predict(X[100:])[far[100:]] == value).mean()
    plain = MLODM(threshold="zero", C=10.0, zero_label=False).fit(X[:100], y[:100])
    assert right > 0.9
    assert right > (plain.predict(X[100:])[far[100:]] == value).mean() + 0.2


@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("method", METHODS)
def test_if_all_rows_are_equal_so_are_predictions(method, value):
    X, y = random_data()
    for threshold in THRESHOLDS:
        model = method(threshold=threshold).fit(X, np.full_like(y, value))
        assert (model.label_scores(X) > 0).all() == bool(value)
        np.testing.assert_array_equal(model.predict(X), np.full_like(y, value))


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("method", METHODS)
def test_odd_data(name, kernel, method):
    check_fit(method(kernel=kernel, zero_label=True, max_iter=200), *ODD[name])


@pytest.mark.parametrize("m", [30, 80])
def test_integer_weights_are_repeated_rows(m):
    X, y = random_data(m=m)
    weight = np.random.default_rng(0).integers(0, 4, size=m)
    options = {"gamma": 0.3, "tol": 1e-10}
    weighted = MLODM(**options).fit(X, y, sample_weight=weight)
    repeated = MLODM(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)
    np.testing.assert_allclose(weighted.label_scores(X), repeated.label_scores(X), atol=1e-4)


@pytest.mark.filterwarnings("ignore:The kernel matrix is not positive")
@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid"])
def test_kernels_and_containers(kernel):
    X, y = random_data(m=90)
    options = {"kernel": kernel, "solver": "newton"}
    model = MLODM(**options).fit(sparse.csr_matrix(X), sparse.csr_matrix(y))
    dense = MLODM(**options).fit(X, y)
    assert model.zero_label_ and dense.zero_label_
    np.testing.assert_allclose(model.label_scores(X), dense.label_scores(X), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X).toarray(), dense.predict(X))


def test_a_precomputed_kernel():
    X, y = random_data(m=90)
    K = rbf_kernel(X, gamma=0.3)
    scores = MLODM(kernel="precomputed").fit(K, y).label_scores(K)
    np.testing.assert_allclose(scores, MLODM(gamma=0.3).fit(X, y).label_scores(X), atol=1e-9)


# ---- starts and searches ------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(("first", "second"), [(True, True), (False, True), (True, False)])
def test_a_fit_may_start_from_one_with_or_without_a_zero_label(first, second, kernel):
    X, y = random_data(m=120)
    options = {"solver": "newton", "kernel": kernel, "tol": 1e-6}
    before = MLODM(zero_label=first, **options)
    start = before.solve(before.prepare(X, y))
    model = MLODM(zero_label=second, C=1.1, **options)
    cold = model.solve(model.prepare(X, y))
    warm = model.solve(model.prepare(X, y), start=start)
    assert warm.converged
    assert warm.primal == pytest.approx(cold.primal, rel=2e-6)
    if first and second:
        assert warm.n_iter < cold.n_iter


GRIDS = [
    (MLODM, {"C": [0.5, 4.0, 16.0], "theta": [0.0, 0.3], "mu": [0.0, 0.5, 1.0]}),
    (MLODM, {"C": [0.1, 0.4], "zero_label": [False, "auto"], "solver": ["auto", "m3"]}),
    (RankCVM, {"C": [1.0, 8.0], "zero_label": [False, True]}),
    (RankLSVM, {"C": [1.0, 8.0], "zero_label": [False, True], "kernel": ["linear", "rbf"]}),
]


@pytest.mark.parametrize(("method", "grid"), GRIDS)
def test_a_path_search_finds_what_a_grid_search_finds(method, grid):
    """Candidates with and without a zero label share the kernel, but no solution."""
    X, y = random_data(m=150, q=4)
    estimator = method(tol=1e-9)
    searches = [
        search(clone(estimator), grid, cv=CV, scoring=average_precision_scorer, refit=False)
        for search in (PathSearchCV, GridSearchCV)
    ]
    assert_same(*(search.fit(X, y) for search in searches), tolerance=1e-4)
