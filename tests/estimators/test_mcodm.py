"""MCODM: the paper's objective, its certificate, two classes, the host's ensembles, odd data."""

import tracemalloc
import warnings

import numpy as np
import pytest
from class_problems import random_classes
from host_data import X_NEW, as_array
from host_data import X as ROWS
from host_data import Y as LABELS
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, minmax_scale
from skmultilearn.ensemble import RakelD
from skmultilearn.problem_transform import BinaryRelevance, ClassifierChain, LabelPowerset

from skml_odm import MCODM, ODM

WINE = minmax_scale(load_wine().data), load_wine().target
IRIS = load_iris(return_X_y=True)


def margins(scores, y):
    """Score of the row's class minus the best other."""
    own = scores[np.arange(len(y)), y]
    others = np.where(np.arange(scores.shape[1]) == y[:, None], -np.inf, scores)
    return own - others.max(axis=1)


def paper_objective(coef, intercept, X, y, C, theta, mu, sample_weight=None):
    """Eq. 1 of paper 004; the intercept is one more weight."""
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    gamma = margins(X @ coef.T + intercept, y)
    xi = np.maximum(1 - theta - gamma, 0.0)
    epsilon = np.maximum(gamma - 1 - theta, 0.0)
    loss = (weight * (xi**2 + mu * epsilon**2)).sum() / (1 - theta) ** 2
    return 0.5 * (coef**2).sum() + 0.5 * (intercept**2).sum() + C / weight.sum() * loss


def dual_value(model, X, y, C, theta, mu):
    """The value of the dual point ``dual_coef_`` in the dual of the convex problem at the solution.

    β is the least that leaves ζ ≥ 0; this is asserted.
    """
    A = model.dual_coef_
    m, k = A.shape
    c = 2 * C / m / (1 - theta) ** 2
    scores = X @ model.coef_.T + model.intercept_
    rival = np.where(np.arange(k) == y[:, None], -np.inf, scores).argmax(axis=1)
    beta = np.maximum(A[np.arange(m), rival], 0.0)
    a = A[np.arange(m), y] + beta
    others = A.copy()
    others[np.arange(m), y] = others[np.arange(m), rival] = 0.0
    np.testing.assert_allclose(A.sum(axis=1), 0.0, atol=1e-9 * np.abs(A).max())
    assert (others <= 0.0).all() and (a >= -1e-12).all()
    weights = np.vstack([X.T @ A, A.sum(axis=0) * model.fit_intercept])
    rows = (1 - theta) * a - (1 + theta) * beta - a**2 / (2 * c) - beta**2 / (2 * c * mu)
    return rows.sum() - 0.5 * (weights**2).sum()


@pytest.mark.parametrize("solver", ["newton", "descent"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("theta, mu", [(0.0, 1.0), (0.2, 0.5), (0.8, 0.2)])
def test_objective_and_certificate(solver, fit_intercept, theta, mu):
    """Primal and dual value from the public attributes alone."""
    X, y = WINE
    C = 40.0
    model = MCODM(C, theta, mu, fit_intercept=fit_intercept, solver=solver, random_state=0)
    model.fit(X, y)
    value = paper_objective(model.coef_, model.intercept_, X, y, C, theta, mu)
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    dual = dual_value(model, X, y, C, theta, mu)
    assert -1e-12 <= 1 - dual / value <= model.dual_gap_ + 1e-12
    assert model.dual_gap_ <= 1e-3
    if not fit_intercept:
        np.testing.assert_array_equal(model.intercept_, 0.0)


def test_nothing_near_is_lower():
    """A general minimiser, started at the solution, gains no more than the gap allows."""
    X, y = WINE
    model = MCODM(C=100.0, tol=1e-7, random_state=0).fit(X, y)

    def value(w):
        W = w.reshape(3, -1)
        return paper_objective(W[:, :-1], W[:, -1], X, y, 100.0, 0.2, 0.5)

    start = np.hstack([model.coef_, model.intercept_[:, None]]).ravel()
    rng = np.random.default_rng(0)
    for scale in (0.0, 1e-4, 1e-2):
        found = minimize(value, start + scale * rng.normal(size=start.size), method="Powell",
                         options={"maxiter": 2})  # fmt: skip
        assert found.fun >= model.objective_ * (1 - 1e-6)


def test_sample_weights_are_repetitions():
    X, y, _ = random_classes(0, m=200)
    weight = np.random.default_rng(0).integers(0, 4, size=200)
    options = {"C": 200.0, "tol": 1e-9, "random_state": 0, "mu": 0.0}
    weighted = MCODM(**options).fit(X, y, sample_weight=weight)
    repeated = MCODM(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)
    assert (weighted.dual_coef_[weight == 0] == 0).all()


def test_two_classes_are_the_binary_machine():
    """MCODM(C) is ODM(2C); its objective is half as large."""
    X, y, _ = random_classes(1, k=2)
    for kernel in ("linear", "rbf"):
        options = {"kernel": kernel, "tol": 1e-9, "theta": 0.3, "mu": 0.7, "random_state": 0}
        several = MCODM(C=50.0, **options).fit(X, y)
        binary = ODM(C=100.0, **options).fit(X, y)
        assert several.objective_ == pytest.approx(0.5 * binary.objective_, rel=1e-7)
        np.testing.assert_allclose(
            several.decision_function(X), binary.decision_function(X), atol=1e-3
        )
    assert several.decision_function(X).shape == (len(X),)


@pytest.mark.filterwarnings("ignore:MCODM stopped after")
def test_the_paper_stops_where_the_objective_still_falls():
    """Fixed scores of the rival: the resting point is no minimum, not even with two classes."""
    for k, seed in ((2, 1), (4, 2)):
        X, y, _ = random_classes(seed, k=k)
        options = {"C": 50.0, "tol": 1e-6, "solver": "descent", "max_iter": 20000}
        ours = MCODM(**options, random_state=0).fit(X, y)
        theirs = MCODM(**options, surrogate="paper", random_state=0).fit(X, y)
        assert theirs.objective_ > 1.005 * ours.objective_


def test_kernels_agree_with_explicit_features():
    X, y = WINE
    options = {"C": 50.0, "tol": 1e-8, "mu": 0.0, "random_state": 0}
    linear = MCODM(**options).fit(X, y).decision_function(X)
    by_function = MCODM(kernel=lambda A, B: A @ B.T, **options).fit(X, y)
    given = MCODM(kernel="precomputed", **options).fit(X @ X.T, y)
    np.testing.assert_allclose(by_function.decision_function(X), linear, atol=1e-3)
    np.testing.assert_allclose(given.decision_function(X @ X.T), linear, atol=1e-3)
    assert not hasattr(by_function, "coef_") and not hasattr(given, "X_fit_")
    assert given.fit(X[:100] @ X[:100].T, y[:100], np.arange(100) % 2).dual_coef_.shape == (100, 1)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "cosine", "laplacian"])
def test_kernels(kernel):
    X, y = WINE
    model = MCODM(C=50.0, kernel=kernel, random_state=0).fit(X[::2], y[::2])
    assert model.dual_gap_ <= 1e-3
    assert model.score(X[1::2], y[1::2]) > 0.9
    refitted = model.set_params(kernel="linear").fit(X, y)
    assert not hasattr(refitted, "X_fit_")


@pytest.mark.parametrize(
    "names", [["a", "b", "c"], [-3, 0, 7], [2, 1, 0], [1.0, 2.0, 3.0]], ids=str
)
def test_any_labels(names):
    X, y = IRIS
    named = np.array(names)[y]
    model = MCODM(random_state=0).fit(X, named)
    assert set(model.predict(X)) == set(names)
    assert model.score(X, named) > 0.95
    assert model.decision_function(X).shape == (150, 3)


def test_sparse_and_single_precision():
    X, y = WINE
    X = np.round(256 * X) / 256
    expected = MCODM(C=40.0, random_state=0).fit(X, y).decision_function(X)
    for other in (sparse.csr_matrix(X), sparse.coo_array(X), X.astype(np.float32), X.tolist()):
        model = MCODM(C=40.0, random_state=0).fit(other, y)
        np.testing.assert_allclose(model.decision_function(other), expected, atol=1e-5)


def test_more_features_than_rows():
    rng = np.random.default_rng(0)
    X = sparse.random(150, 2000, density=0.02, format="csr", random_state=0)
    y = rng.integers(5, size=150)
    model = MCODM(random_state=0).fit(X, y)
    assert model.dual_gap_ <= 1e-3 and model.n_iter_ > model.n_outer_iter_
    assert model.score(X, y) == 1.0
    np.testing.assert_allclose(X.T @ model.dual_coef_, model.coef_.T, atol=1e-9)


ODD = {
    "one row per class": (np.eye(4), np.arange(4)),
    "two rows": (np.array([[0.0], [1.0]]), np.array([0, 1])),
    "duplicates": (np.ones((70, 2)), np.arange(70) % 3),
    "constant feature": (np.hstack([IRIS[0], np.ones((150, 1))]), IRIS[1]),
    "only zeros": (np.zeros((66, 3)), np.arange(66) % 2),
    "some zeros": (np.vstack([IRIS[0], np.zeros((10, 4))]), np.append(IRIS[1], np.arange(10) % 3)),
    "one feature": (IRIS[0][:, :1], IRIS[1]),
    "many classes": (np.random.default_rng(0).random((120, 3)), np.arange(120) % 40),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_odd_data(name, kernel):
    X, y = ODD[name]
    for C in (1e-6, 1.0, 1e6):
        model = MCODM(C, kernel=kernel, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()
        assert model.dual_gap_ <= 1e-3 or C == 1e6
        if kernel == "linear" and len(model.classes_) > 2:
            value = paper_objective(model.coef_, model.intercept_, X, y, C, 0.2, 0.5)
            assert model.objective_ == pytest.approx(value, rel=1e-8)


def test_unfinished():
    X, y = WINE
    for solver in ("newton", "descent"):
        model = MCODM(C=1e4, solver=solver, max_iter=1, random_state=0)
        with pytest.warns(ConvergenceWarning, match="max_iter=1"):
            model.fit(X, y)
        assert model.dual_gap_ > 1e-3


def the_warning(model, X, y):
    with pytest.warns(ConvergenceWarning, match="MCODM stopped after") as record:
        model.fit(X, y)
    (warning,) = record
    return str(warning.message)


@pytest.mark.parametrize("solver", ["newton", "descent"])
def test_the_limit_that_was_met_is_named(solver):
    message = the_warning(MCODM(C=100.0, solver=solver, max_outer_iter=1, random_state=0), *WINE)
    assert "(max_outer_iter=1)" in message and "Raise max_outer_iter or tol" in message
    assert "max_iter=" not in message


def test_more_iterations_are_not_advised_where_they_would_not_help():
    """The paper's surrogate stops when its steps raise the objective."""
    X, y, _ = random_classes(2)
    model = MCODM(C=50.0, tol=1e-6, surrogate="paper", random_state=0, max_iter=20000)
    message = the_warning(model, X, y)
    assert model.n_iter_ < 20000
    assert "without further progress" in message and "Raise tol," in message
    assert "max_iter" not in message and "max_outer_iter" not in message


@pytest.mark.parametrize("solver", ["auto", "newton"])
@pytest.mark.parametrize("seed, theta, mu, most", [(27, 0.2, 0.0, 5.115), (24, 0.8, 0.5, 1607.0)])
def test_large_trade_off(solver, seed, theta, mu, most):
    """The smooth function wants steps below 2⁻¹²; its smoothing goes in cycles."""
    rng = np.random.RandomState(seed)
    y = np.arange(80) % 3
    X = rng.randn(80, 20)
    X[:, :3] += 2 * np.eye(3)[y]
    model = MCODM(2.0**20, theta, mu, solver=solver, random_state=0).fit(X, y)
    assert model.dual_gap_ <= 1e-3 and model.objective_ <= most
    value = paper_objective(model.coef_, model.intercept_, X, y, 2.0**20, theta, mu)
    assert model.objective_ == pytest.approx(value, rel=1e-8)


@pytest.mark.filterwarnings("ignore:MCODM stopped after")
@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_dense_rows_are_not_copied(precision):
    """Neither by fit nor by predict; what a linear kernel does not need is not computed."""
    X = np.random.default_rng(0).normal(size=(20000, 400)).astype(precision)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    model = MCODM(solver="descent", max_iter=5, random_state=0)
    for work in (lambda: model.fit(X, y), lambda: model.predict(X)):
        tracemalloc.start()
        work()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.5 * X.nbytes


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"C": 0}, r"C must be a number in \(0, inf\); got 0"),
        ({"theta": 1}, r"theta must be a number in \[0, 1\); got 1"),
        ({"mu": 1.5}, r"mu must be a number in \[0, 1\]; got 1.5"),
        ({"solver": "sgd"}, "solver must be one of 'auto', 'newton', 'descent'; got 'sgd'"),
        ({"surrogate": 1}, "surrogate must be one of 'runner-up', 'paper'; got 1"),
        ({"solver": "newton", "surrogate": "paper"}, "needs surrogate='runner-up'"),
        ({"max_outer_iter": 0}, "max_outer_iter must be an integer"),
        ({"kernel": "rfb"}, "kernel must be one of"),
        ({"fit_intercept": 1}, "fit_intercept must be True or False; got 1"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        MCODM(**parameters).fit(*IRIS)


def test_wrong_data():
    X, y = IRIS
    with pytest.raises(ValueError, match="at least two classes in rows of positive weight"):
        MCODM().fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(ValueError, match="square kernel matrix"):
        MCODM(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="double precision"):
        MCODM(C=1e300).fit(1e150 * X, y)


def test_what_is_to_blame_is_named():
    X, y = IRIS
    with pytest.raises(ValueError, match=r"theta=0.999999999 and.* lower C or theta\.$"):
        MCODM(theta=0.999999999).fit(X, y)
    with pytest.raises(ValueError, match=r"gamma=1e\+50 and.* lower C or gamma\.$"):
        MCODM(kernel="poly", gamma=1e50).fit(X, y)
    with pytest.raises(ValueError, match=r"^X and gamma=1e\+20 must.* lower gamma\.$") as caught:
        MCODM(kernel="rbf", gamma=1e20).fit(X, y)
    assert "C=" not in str(caught.value)
    with pytest.raises(ValueError, match=r"whole kernel matrix, 0\.18 MB"):
        MCODM(kernel="sigmoid", cache_size=0.1).fit(X, y)


@pytest.mark.parametrize("machine", [MCODM, ODM])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_fit_that_fails_leaves_no_model(machine, kernel, monkeypatch):
    """And none with the classes or the kernel of one fit and the weights of another."""
    X, y = IRIS[0][:100], IRIS[1][:100]
    model = machine(kernel=kernel, random_state=0).fit(X, y)
    failures = {
        "two classes": lambda: model.fit(X, np.full(100, 7)),
        "theta": lambda: model.set_params(theta=1.0).fit(X, y + 5),
        "within double precision": lambda: model.fit(X, y + 5),
    }

    def overflow(*arguments, **options):
        raise FloatingPointError("too large")

    for message, fail in failures.items():
        model.set_params(theta=0.2).fit(X, y)
        with monkeypatch.context() as patch, pytest.raises(ValueError, match=message):
            patch.setattr(machine, "minimise", overflow)
            fail()
        for ask in (model.predict, model.decision_function):
            with pytest.raises(NotFittedError):
                ask(X)
    np.testing.assert_array_equal(model.set_params(theta=0.2).fit(X, y).predict(X), y)


def test_classes_that_are_none():
    X, y = IRIS
    for wrong in (y + 0.5, (y + 0.5).astype(object), np.array([{}] * len(y))):
        with pytest.raises(ValueError, match="Unknown label type"):
            MCODM().fit(X, wrong)
    names = np.array(["a", "b", "c"], dtype=object)
    assert set(MCODM(random_state=0).fit(X, names[y]).predict(X)) == set(names)


def test_model_selection():
    X, y = WINE
    search = GridSearchCV(
        make_pipeline(MinMaxScaler(), MCODM(random_state=0)), {"mcodm__C": [0.1, 100.0]}, cv=3
    )
    assert search.fit(X, y).best_params_ == {"mcodm__C": 100.0}
    assert clone(search.best_estimator_).fit(X, y).score(X, y) > 0.97


HOSTS = {
    "BinaryRelevance": lambda c: BinaryRelevance(c, require_dense=[True, True]),
    "BinaryRelevance, sparse": lambda c: BinaryRelevance(c, require_dense=[False, True]),
    "ClassifierChain": lambda c: ClassifierChain(c, require_dense=[True, True]),
    "LabelPowerset": lambda c: LabelPowerset(c, require_dense=[True, True]),
    "RakelD": lambda c: RakelD(c, base_classifier_require_dense=[True, True], labelset_size=2),
}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_inside_the_host(host, kernel):
    ensemble = HOSTS[host](MCODM(C=100.0, kernel=kernel, random_state=0))
    predicted = as_array(ensemble.fit(ROWS, LABELS).predict(ROWS))
    assert predicted.shape == LABELS.shape
    assert (predicted == LABELS).mean() > 0.85
    assert as_array(ensemble.predict(sparse.csr_matrix(X_NEW))).shape == (len(X_NEW), 4)


def test_label_powerset_is_mcodm_on_label_sets():
    codes = np.unique(LABELS, axis=0, return_inverse=True)[1].ravel()
    alone = MCODM(C=10.0, random_state=0).fit(ROWS, codes).predict(X_NEW)
    sets = np.unique(LABELS, axis=0)
    host = HOSTS["LabelPowerset"](MCODM(C=10.0, random_state=0)).fit(ROWS, LABELS)
    np.testing.assert_array_equal(as_array(host.predict(X_NEW)), sets[alone])
