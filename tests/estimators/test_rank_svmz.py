"""RankSVMz: its separate machines, its optimum, its certificate, odd data and weights."""

import warnings
from functools import partial

import numpy as np
import pytest
from problems import random_indicator
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC
from small_data import ODD, random_data

import skml_odm
from skml_odm.estimators.rank_svmz import pair_weights
from skml_odm.solvers.binary_svm import BLOCK, best_intercept

# the learning problem alone, with a decision that is the score
RankSVMz = partial(skml_odm.RankSVMz, threshold="zero")

# every way to solve: kernel, solver, intercept
WAYS = [
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "rbf", "gamma": 0.3, "fit_intercept": False},
    {"kernel": "linear"},
    {"kernel": "linear", "fit_intercept": False},
    {"kernel": "linear", "solver": "libsvm"},
]


def way_name(way):
    return "-".join(map(str, way.values()))


def costs(y, C, sample_weight=None):
    """C / |Y_i| for relevant, C / |N_i| for irrelevant labels, row by row."""
    cost = np.empty(y.shape)
    for i, row in enumerate(y):
        for k, relevant in enumerate(row):
            cost[i, k] = C / (row == relevant).sum()
            if sample_weight is not None:
                cost[i, k] *= sample_weight[i]
    return cost


def has_regularised_intercept(model):
    return model.fit_intercept and model.kernel == "linear" and model.solver != "libsvm"


def values_by_hand(model, X, y, sample_weight=None):
    """Primal and dual value of a fitted model from its public attributes; asserts feasibility."""
    K = X @ X.T if model.kernel == "linear" else rbf_kernel(X, gamma=0.3)
    A, b = model.dual_coef_, model.intercept_
    signs = 2.0 * y - 1.0
    cost = costs(y, model.C, sample_weight)
    norms = 0.5 * np.vdot(A, K @ A)
    if has_regularised_intercept(model):
        np.testing.assert_allclose(b, A.sum(axis=0), atol=1e-9)
        norms += 0.5 * b @ b
    elif model.fit_intercept:
        np.testing.assert_allclose(A.sum(axis=0), 0.0, atol=1e-12 * cost.sum())
    else:
        np.testing.assert_array_equal(b, 0.0)
    assert (signs * A >= 0.0).all()
    assert (signs * A <= cost * (1 + 1e-15)).all()
    hinge = np.maximum(1 - signs * (K @ A + b), 0.0)
    return norms + np.vdot(cost, hinge), np.abs(A).sum() - norms


# ---- the separation ------------------------------------------------------------------------


def test_equals_separate_machines():
    X, y = random_data(m=80)
    K, cost = rbf_kernel(X, gamma=0.3), costs(y, 2.0)
    model = RankSVMz(C=2.0, gamma=0.3, tol=1e-10).fit(X, y)
    scores = model.label_scores(X)
    for k in range(3):
        machine = SVC(C=1.0, kernel="precomputed", tol=1e-7)
        machine.fit(K, y[:, k], sample_weight=cost[:, k].copy())
        np.testing.assert_allclose(scores[:, k], machine.decision_function(K), atol=1e-4)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_equals_separate_linear_machines(fit_intercept):
    X, y = random_data(m=80)
    cost = costs(y, 0.5)
    options = {"fit_intercept": fit_intercept}
    model = RankSVMz(C=0.5, kernel="linear", tol=1e-10, random_state=0, **options).fit(X, y)
    for k in range(3):
        machine = LinearSVC(C=1.0, loss="hinge", tol=1e-9, max_iter=10**6, **options)
        machine.fit(X, y[:, k], sample_weight=cost[:, k].copy())
        np.testing.assert_allclose(model.coef_[k], machine.coef_[0], atol=1e-4)
        np.testing.assert_allclose(model.intercept_[k], machine.intercept_, atol=1e-4)


@pytest.mark.parametrize("way", WAYS, ids=way_name)
def test_a_single_label_is_a_binary_machine(way):
    """The label counts once, every row with weight 1."""
    X, y = random_data(q=1, m=80)
    model = RankSVMz(C=2.0, tol=1e-10, **way).fit(X, y)
    primal, _ = values_by_hand(model, X, y)
    assert model.objective_ == pytest.approx(primal, rel=1e-12)
    assert model.dual_coef_.shape == (80, 1)
    both = RankSVMz(C=2.0, tol=1e-10, **way).fit(X, np.hstack([y, 1 - y]))
    assert both.objective_ == pytest.approx(2 * model.objective_, rel=1e-8)
    if way.get("fit_intercept", True) and way["kernel"] == "rbf":
        machine = SVC(C=2.0, gamma=0.3, tol=1e-7).fit(X, y[:, 0])
        expected = machine.decision_function(X)
        np.testing.assert_allclose(model.label_scores(X)[:, 0], expected, atol=1e-4)


def test_pair_weights():
    y = np.array([[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]], bool)
    expected = [[0.5] * 4, [0.5] * 4, [0.25] * 4]
    np.testing.assert_allclose(pair_weights(y, np.array([1.0, 2.0, 1.0])), expected)


# ---- the optimum ---------------------------------------------------------------------------


def optimum_by_quadratic_program(features, sign, cost, intercept):
    """Optimal value of one weighted machine from Clarabel, in the primal with slack variables."""
    import clarabel

    (m, r), b = features.shape, intercept == "free"
    design = np.hstack([features, np.ones((m, 1))])[:, : r + b]
    quadratic = np.concatenate([np.ones(r), np.zeros(b + m)])
    linear = np.concatenate([np.zeros(r + b), cost])
    # sign · score + slack ≥ 1 and slack ≥ 0
    margins = sparse.hstack([sparse.csc_matrix(-sign[:, None] * design), -sparse.eye(m)])
    slacks = sparse.hstack([sparse.csc_matrix((m, r + b)), -sparse.eye(m)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solution = clarabel.DefaultSolver(
        sparse.diags(quadratic, format="csc"),
        linear,
        sparse.vstack([margins, slacks], format="csc"),
        np.concatenate([-np.ones(m), np.zeros(m)]),
        [clarabel.NonnegativeConeT(2 * m)],
        settings,
    ).solve()
    assert str(solution.status) in ("Solved", "AlmostSolved"), solution.status
    return solution.obj_val


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("way", WAYS, ids=way_name)
def test_optimum_is_that_of_an_independent_solver(seed, way):
    rng = np.random.default_rng(seed)
    m, q, d = rng.integers(5, 110), rng.integers(2, 6), rng.integers(1, 8)
    X = rng.normal(size=(m, d)) * 2.0 ** rng.uniform(-2, 1)
    if seed == 3:
        X[rng.integers(m, size=m // 3)] = X[0]
    y = random_indicator(rng, m, q).astype(int)
    weight = rng.uniform(0, 2, size=m) if seed % 2 else None
    C = 2.0 ** rng.uniform(-2, 6)
    model = RankSVMz(C=C, tol=1e-8, random_state=0, **way).fit(X, y, sample_weight=weight)
    intercept = "free" if way.get("fit_intercept", True) else "none"
    K = X @ X.T if way["kernel"] == "linear" else rbf_kernel(X, gamma=0.3)
    if has_regularised_intercept(model):
        K, intercept = K + 1.0, "none"
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-12 * values[-1]
    features = vectors[:, kept] * np.sqrt(values[kept])
    cost = costs(y, C, weight)
    optimum = sum(
        optimum_by_quadratic_program(features, 2.0 * y[:, k] - 1.0, cost[:, k], intercept)
        for k in range(q)
    )
    primal, dual = values_by_hand(model, X, y, weight)
    assert model.dual_gap_ <= 1e-8
    assert primal == pytest.approx(optimum, rel=1e-6)
    assert dual == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("way", WAYS, ids=way_name)
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_certificate_by_hand(way, tol):
    X, y = random_data(m=120)
    model = RankSVMz(C=5.0, tol=tol, random_state=0, **way).fit(X, y)
    primal, dual = values_by_hand(model, X, y)
    assert model.objective_ == pytest.approx(primal, rel=1e-12)
    assert model.dual_gap_ == pytest.approx((primal - dual) / primal, abs=1e-10)
    assert 0.0 <= model.dual_gap_ <= tol


@pytest.mark.parametrize("way", WAYS, ids=way_name)
def test_stopping_early_is_told_and_the_gap_stays_true(way):
    X, y = random_data(m=120)
    optimum = RankSVMz(C=100.0, tol=1e-9, **way).fit(X, y).objective_
    with pytest.warns(ConvergenceWarning, match="max_iter=1.*gap.*tol=1e-09") as record:
        model = RankSVMz(C=100.0, tol=1e-9, max_iter=1, random_state=0, **way).fit(X, y)
    assert [warning.filename for warning in record] == [__file__]
    assert model.n_iter_ == 1
    assert model.objective_ * (1 - model.dual_gap_) <= optimum * (1 + 1e-8)
    assert optimum <= model.objective_ * (1 + 1e-8)


@pytest.mark.parametrize("C", [1e-8, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_extreme_C(C, kernel):
    X, y = random_data(m=90)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RankSVMz(C=C, kernel=kernel, gamma=0.3, random_state=0).fit(X, y)
    assert model.dual_gap_ <= 1e-3
    assert model.objective_ == pytest.approx(values_by_hand(model, X, y)[0], rel=1e-9)


@pytest.mark.parametrize("way", WAYS[2:], ids=way_name)
def test_linear_problems_larger_than_a_block(way):
    X, y = random_data(m=BLOCK + 300, q=2)
    for convert in (np.asarray, sparse.csr_matrix):
        model = RankSVMz(C=0.01, tol=1e-7, random_state=0, **way).fit(convert(X), y)
        primal, dual = values_by_hand(model, X, y)
        assert (primal - dual) / primal <= 1e-7


def test_best_intercept_minimises_the_hinge_loss():
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores, cost = rng.normal(size=15), rng.uniform(size=15)
        sign = np.where(np.arange(15) % 3, 1.0, -1.0)
        candidates = np.append(sign - scores, best_intercept(scores, sign, cost))
        hinge = np.maximum(1 - sign * (scores + candidates[:, None]), 0.0) @ cost
        assert hinge[-1] <= hinge.min() * (1 + 1e-12)


def test_best_intercept_is_the_middle_of_an_interval():
    sign = np.array([1.0, -1.0, 1.0, -1.0])
    assert best_intercept(np.array([3.0, 1.0, 3.0, 1.0]), sign, np.ones(4)) == -2.0


# ---- attributes and parameters -------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS[2:], ids=way_name)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_linear_weights_belong_to_the_coefficients(way, convert):
    X, y = random_data(m=100)
    model = RankSVMz(random_state=0, **way).fit(convert(X), y)
    np.testing.assert_allclose(model.coef_, model.dual_coef_.T @ X, atol=1e-12)
    expected = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(convert(X)), expected, atol=1e-12)


@pytest.mark.parametrize("make", [int, np.random.RandomState])
def test_same_seed_same_result(make):
    X, y = random_data(m=200)
    one, other = (RankSVMz(kernel="linear", random_state=make(7)).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    assert one.n_iter_ == other.n_iter_


def test_the_global_generator_is_left_alone():
    X, y = random_data()
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    RankSVMz().fit(X, y)
    RankSVMz(kernel="linear", random_state=0).fit(X, y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "liblinear"}, "liblinear.*needs kernel='linear'; got kernel='rbf'"),
        ({"solver": "liblinear", "kernel": np.dot}, "liblinear.*needs kernel='linear'"),
        ({"solver": "libsvm", "fit_intercept": False}, "LIBSVM always has an intercept"),
        ({"solver": "newton"}, "solver must be one of 'auto', 'libsvm', 'liblinear'"),
        ({"C": 0.0}, "C must be"),
        ({"tol": -1.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"kernel": "nonsense"}, "kernel must be"),
        ({"fit_intercept": "yes"}, "fit_intercept must be"),
        ({"random_state": "x"}, "random_state must be"),
    ],
)
def test_invalid_parameters(parameters, message):
    X, y = random_data()
    with pytest.raises(ValueError, match=message):
        RankSVMz(**parameters).fit(X, y)


def test_verbose_prints_the_gap_of_every_label(capsys):
    X, y = random_data()
    RankSVMz(verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all("gap" in line for line in lines)


# ---- sample weights and odd data -----------------------------------------------------------


@pytest.mark.parametrize("way", WAYS, ids=way_name)
@pytest.mark.parametrize("m", [30, 80])
def test_integer_weights_are_repeated_rows(way, m):
    X, y = random_data(m=m)
    weight = np.random.default_rng(0).integers(0, 4, size=m)
    options = {"tol": 1e-11, "C": 0.5, "random_state": 0, **way}
    weighted = RankSVMz(**options).fit(X, y, sample_weight=weight)
    repeated = RankSVMz(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
    np.testing.assert_allclose(weighted.label_scores(X), repeated.label_scores(X), atol=1e-4)
    assert not weighted.dual_coef_[weight == 0].any()


@pytest.mark.parametrize("way", WAYS, ids=way_name)
def test_weights_may_leave_one_class(way):
    """All rows with the label have weight 0: as if nobody had it."""
    X, y = random_data()
    weight = np.where(y[:, 0] == 1, 0.0, 1.0)
    model = RankSVMz(**way).fit(sparse.csr_matrix(X), y, sample_weight=weight)
    removed = RankSVMz(**way).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(model.label_scores(X), removed.label_scores(X), atol=1e-6)
    if way.get("fit_intercept", True):
        assert not model.predict(X)[weight > 0, 0].any()


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("way", WAYS, ids=way_name)
def test_odd_data(name, way):
    """Shapes, types, finite numbers and a certificate, and no warning."""
    X, y = ODD[name]
    if way["kernel"] == "linear":
        X = sparse.csr_matrix(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RankSVMz(random_state=0, **way).fit(X, y)
        decision, predicted = model.decision_function(X), model.predict(X)
    assert decision.shape == predicted.shape == y.shape
    assert np.isfinite(decision).all()
    np.testing.assert_array_equal(predicted, decision > 0)
    assert model.n_iter_ >= 1
    assert 0 <= model.dual_gap_ <= 1e-3
    primal, dual = values_by_hand(model, ODD[name][0], y)
    assert model.objective_ == pytest.approx(primal, rel=1e-9, abs=1e-12)
    assert primal - dual <= 1.001e-3 * primal + 1e-12


@pytest.mark.parametrize("way", [WAYS[0], WAYS[4]], ids=way_name)
@pytest.mark.parametrize(("name", "score"), [("nobody", -1.0), ("everybody", 1.0)])
def test_a_label_nobody_or_everybody_has_is_constant(way, name, score):
    X, y = ODD[f"a label {name} has"]
    model = RankSVMz(**way).fit(X, y)
    np.testing.assert_array_equal(model.label_scores(X)[:, 1], score)
    assert not model.dual_coef_[:, 1].any()


def test_a_label_nobody_has_is_learned_without_intercept():
    """A constant score is not available then, so features must make do."""
    X, y = ODD["one label nobody has"]
    model = RankSVMz(fit_intercept=False, C=100.0, gamma=0.3).fit(X, y)
    assert model.objective_ > 0.0
    assert (model.label_scores(X) < -0.99).all()


def test_rows_without_or_with_all_labels_take_part():
    X, y = random_data()
    model = RankSVMz(C=0.1).fit(X, y)
    assert model.dual_coef_[:2].any(axis=1).all()


@pytest.mark.parametrize("values", [["cat", "dog"], [0, 1], [-1, 1]])
def test_one_dimensional_labels(values):
    X, y = random_data(q=1)
    target = np.array(values)[y[:, 0]]
    model = RankSVMz().fit(X, target)
    np.testing.assert_array_equal(model.predict(X) == values[1], model.decision_function(X) > 0)
    assert (model.predict(X) == target).mean() > 0.8


@pytest.mark.parametrize("way", WAYS, ids=way_name)
def test_inputs_stay_unchanged(way):
    X, y = random_data()
    weight = np.arange(40.0)
    for array in (X, y, weight):
        array.setflags(write=False)
    sparse_X = sparse.csr_matrix(X)
    sparse_X.data.setflags(write=False)
    for features in (X, sparse_X):
        RankSVMz(random_state=0, **way).fit(features, y, sample_weight=weight).predict(features)


def test_precomputed_kernel():
    X, y = random_data(m=70)
    K = rbf_kernel(X, gamma=0.3)
    K.setflags(write=False)
    for fit_intercept in (False, True):
        model = RankSVMz(kernel="precomputed", fit_intercept=fit_intercept).fit(K, y)
        expected = RankSVMz(gamma=0.3, fit_intercept=fit_intercept).fit(X, y)
        np.testing.assert_allclose(model.decision_function(K), expected.decision_function(X))


@pytest.mark.parametrize("seed", range(110, 118))
def test_the_certificate_is_that_of_the_model(seed):
    """Duplicates, a wide kernel and a large C: nearly flat directions, along which sums drift."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(20, 120))
    X = rng.normal(size=(m, 1))
    X[: m // 2] = X[m // 2 : 2 * (m // 2)]
    Y = (X @ rng.normal(size=(1, 3)) + rng.normal(size=(m, 3)) > 1.5).astype(int)
    C, K = 10.0 ** rng.uniform(2, 5), rbf_kernel(X, gamma=0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RankSVMz(C=C, gamma=0.05, tol=1e-6).fit(X, Y)
    A, F = model.dual_coef_, model.label_scores(X)
    assert np.abs(A.sum(axis=0)).max() <= 1e-9 * np.abs(A).sum()
    cost = C * pair_weights(Y > 0)
    lack = np.maximum(0.0, 1.0 - np.where(Y > 0, F, -F))
    by_hand = 0.5 * np.vdot(A, K @ A) + np.vdot(cost, lack)
    assert model.objective_ == pytest.approx(by_hand, rel=1e-9)
    dual = np.abs(A).sum() - 0.5 * np.vdot(A, K @ A)
    assert by_hand - dual <= (model.dual_gap_ + 1e-9) * by_hand


def test_a_whole_degree_may_be_a_float():
    """Also where K does not fit into memory, and LIBSVM computes it."""
    X, y = random_data()
    small = RankSVMz(kernel="poly", degree=2.0, coef0=1.0, cache_size=0.001, tol=1e-6).fit(X, y)
    usual = RankSVMz(kernel="poly", degree=2, coef0=1.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(small.label_scores(X), usual.label_scores(X), atol=1e-3)
