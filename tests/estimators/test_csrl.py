"""CSRL and CSRL+R: objective and certificate by hand, special cases, parameters, odd data."""

import warnings
from functools import partial

import numpy as np
import pytest
from groups import first_fast
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC
from small_data import ODD, random_data

import skml_odm
from skml_odm.datasets import load_digit_attributes

# the learning problem alone, with a decision that is the score
CSRL = partial(skml_odm.CSRL, threshold="zero")

VARIANTS = [
    {},
    {"dummy": "zero"},
    {"covariance": "learn", "alpha": 2.0},
    {"covariance": "learn", "alpha": 0.5, "dummy": "zero"},
    {"covariance": np.diag([1.0, 2.0, 0.5, 1.5])},
]


def variant_name(variant):
    return "-".join(str(v) if np.ndim(v) == 0 else "given" for v in variant.values()) or "plain"


def label_contrast(model):
    """Γ: scores are those of labels minus the dummy's, or those of labels."""
    identity = np.eye(model.n_labels_)
    return identity if model.dummy == "zero" else np.c_[identity, -np.ones(len(identity))]


def objective_by_hand(model, X, y, weight=1.0):
    """½β tr(V Θ⁻¹ Vᵀ) + ½α‖R − I‖² + Σ loss, every row spelled out."""
    V = np.c_[model.coef_, model.intercept_]
    contrast = label_contrast(model)
    theta = contrast @ model.covariance_ @ contrast.T
    value = 0.5 * model.beta * np.trace(V.T @ np.linalg.solve(theta, V))
    if isinstance(model.covariance, str):
        distance = model.covariance_ - np.eye(len(model.covariance_))
        value += 0.5 * model.alpha * np.sum(distance**2)
    for row, labels, w in zip(model.decision_function(X), y, weight * np.ones(len(y)), strict=True):
        value += w * max([0.0, *(1 - row[labels == 1])])
        value += w * max([0.0, *(1 + row[labels == 0])])
    return value


@pytest.mark.parametrize("variant", VARIANTS, ids=variant_name)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("m", first_fast([40, 120], 1))
def test_objective_by_definition(variant, fit_intercept, m):
    X, y = random_data(m=m)
    weight = np.random.default_rng(0).uniform(0, 2, size=m)
    options = {"kernel": "linear", "fit_intercept": fit_intercept, "random_state": 0, **variant}
    model = CSRL(beta=0.5, tol=1e-6, **options).fit(X, y, sample_weight=weight)
    assert model.objective_ == pytest.approx(objective_by_hand(model, X, y, weight), rel=1e-9)
    assert 0 <= model.dual_gap_ <= 1e-6
    # no other weights do better than the certificate allows
    rng = np.random.default_rng(1)
    best = model.objective_
    for size in (1e-3, 1e-2, 0.1):
        model.coef_ += size * rng.normal(size=model.coef_.shape)
        assert objective_by_hand(model, X, y, weight) >= best * (1 - 1e-6)


@pytest.mark.parametrize("variant", VARIANTS, ids=variant_name)
def test_kernel_and_linear_agree(variant):
    """A precomputed X Xᵀ takes the other way through all solvers."""
    X, y = random_data(m=120)
    options = {"beta": 0.5, "tol": 1e-8, "random_state": 0, **variant}
    linear = CSRL(kernel="linear", **options).fit(sparse.csr_matrix(X), y)
    kernel = CSRL(kernel="precomputed", **options).fit(X @ X.T, y)
    dense = CSRL(kernel="linear", **options).fit(X, y)
    for other in (kernel, dense):
        assert other.objective_ == pytest.approx(linear.objective_, rel=1e-7)
        np.testing.assert_allclose(other.covariance_, linear.covariance_, atol=1e-3)
    expected = linear.decision_function(X)
    np.testing.assert_allclose(kernel.decision_function(X @ X.T), expected, atol=5e-3)
    np.testing.assert_allclose(dense.decision_function(X), expected, atol=5e-3)


def test_a_single_label_is_a_binary_machine():
    """Without a dummy the hinge loss with C = 1/β; the learned dummy halves the norm's price."""
    X, y = random_data(q=1, m=100)
    for dummy, C in (("zero", 2.0), ("adaptive", 4.0)):
        model = CSRL(beta=0.5, dummy=dummy, kernel="linear", tol=1e-8).fit(X, y)
        machine = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=10**6)
        machine.fit(X, y[:, 0])
        np.testing.assert_allclose(model.coef_, machine.coef_, atol=1e-3)


def test_covariances_that_are_the_same():
    X, y = random_data(m=100)
    options = {"beta": 0.3, "gamma": 0.3, "tol": 1e-8, "random_state": 0}
    plain = CSRL(**options).fit(X, y)
    np.testing.assert_array_equal(plain.covariance_, np.eye(4))
    for covariance in (np.eye(4), np.eye(3).tolist()):
        model = CSRL(covariance=covariance, **options).fit(X, y)
        assert model.objective_ == pytest.approx(plain.objective_, rel=1e-7)
        np.testing.assert_array_equal(model.covariance_, np.eye(4))
    # a large α keeps the learned matrix at the identity
    rigid = CSRL(covariance="learn", alpha=1e9, **options).fit(X, y)
    assert rigid.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    free = CSRL(covariance="learn", alpha=0.1, **options).fit(X, y)
    assert free.objective_ < plain.objective_
    # what was learned is the prior for which the same scores are optimal
    given = CSRL(covariance=free.covariance_, **options).fit(X, y)
    penalty = 0.05 * np.sum((free.covariance_ - np.eye(4)) ** 2)
    assert given.objective_ + penalty == pytest.approx(free.objective_, rel=1e-6)
    np.testing.assert_allclose(given.decision_function(X), free.decision_function(X), atol=5e-3)


def test_learned_covariance_follows_from_the_coefficients():
    X, y = random_data(m=100)
    model = CSRL(beta=0.5, covariance="learn", alpha=2.0, kernel="linear", tol=1e-9).fit(X, y)
    contrast = label_contrast(model)
    theta = contrast @ model.covariance_ @ contrast.T
    A = 0.5 * np.linalg.solve(theta, model.dual_coef_.T).T
    gram = contrast.T @ A.T @ X @ X.T @ A @ contrast
    expected = np.eye(4) + gram / (2 * 2.0 * 0.5)
    np.testing.assert_allclose(model.covariance_, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"beta": 0.0}, r"beta must be a number in \(0, inf\); got 0.0"),
        ({"beta": "1"}, "beta must be"),
        ({"alpha": -1.0}, "alpha must be"),
        ({"dummy": "none"}, "dummy must be one of 'adaptive', 'zero'; got 'none'"),
        ({"covariance": "learned"}, "covariance must be one of 'learn', or None or a matrix"),
        (
            {"covariance": 3.0},
            r"covariance must be a matrix of shape \(4, 4\) or \(3, 3\).*got 3.0",
        ),
        ({"covariance": np.eye(5)}, r"covariance must .*got shape \(5, 5\)"),
        ({"covariance": np.eye(4), "dummy": "zero"}, r"shape \(3, 3\) for these labels"),
        ({"covariance": -np.eye(4)}, "positive semidefinite; got an eigenvalue of -1"),
        ({"covariance": np.triu(np.ones((4, 4)))}, "covariance must be symmetric"),
        ({"covariance": np.full((4, 4), np.nan)}, "covariance must hold finite numbers"),
    ],
)
def test_invalid_parameters(parameters, message):
    X, y = random_data(m=20)
    with pytest.raises(ValueError, match=message):
        CSRL(**parameters).fit(X, y)


def test_the_given_covariance_is_not_changed():
    X, y = random_data(m=30)
    covariance = 2.0 * np.eye(4)
    covariance.flags.writeable = False
    model = CSRL(covariance=covariance).fit(X, y)
    assert model.covariance is covariance
    assert model.covariance_ is not covariance


def many_labels(m=60, d=8, q=120, seed=0):
    """Unpredictable labels, at least one in each row; a third of them no row has."""
    rng = np.random.default_rng(seed)
    X = normalize(rng.random((m, d)))
    y = (rng.random((m, q)) < 0.05).astype(int)
    y[:, ::3] = 0
    y[np.arange(m), 1 + 3 * rng.integers(0, q // 3, size=m)] = 1
    return X, y, normalize(rng.random((50, d)))


@pytest.mark.parametrize("kernel", first_fast(["rbf", "linear"], 1))
def test_labels_that_the_loss_does_not_tell_from_the_dummy_label(kernel):
    X, y, new = many_labels()
    with pytest.warns(UserWarning, match=r"hardly tells labels.*beta.*dummy='adaptive'.*RankSVMz"):
        model = CSRL(kernel=kernel, beta=10.0).fit(X, y)
    assert not model.predict(new)[:, ::3].any()


def test_no_warning_where_labels_are_told_apart():
    X, y = load_digit_attributes(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CSRL().fit(X[:200], y[:200])


@pytest.mark.parametrize("variant", first_fast(VARIANTS[3::-1], 2), ids=variant_name)
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_odd_data(name, kernel, variant):
    X, y = ODD[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # rows that say nothing about labels, or contradict each other
        warnings.filterwarnings("ignore", "CSRL hardly tells labels from the dummy label")
        model = CSRL(kernel=kernel, **variant).fit(X, y)
    decision = model.decision_function(X)
    assert decision.shape == y.shape
    assert np.isfinite(decision).all()
    np.testing.assert_array_equal(model.predict(X), decision > 0)
    assert 0 <= model.dual_gap_ <= 1e-3


@pytest.mark.parametrize("variant", VARIANTS, ids=variant_name)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_stopping_early_is_told_and_the_gap_stays_true(variant, kernel):
    X, y = random_data(m=120)
    options = {"beta": 0.1, "kernel": kernel, "random_state": 0, **variant}
    best = CSRL(tol=1e-8, **options).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="CSRL stopped after 1 .*raise beta") as record:
        model = CSRL(tol=1e-9, max_iter=1, **options).fit(X, y)
    assert record[0].filename == __file__
    assert model.n_iter_ == 1
    assert model.objective_ * (1 - model.dual_gap_) <= best.objective_
    assert best.objective_ * (1 - 1e-8) <= model.objective_


def test_what_double_precision_cannot_hold():
    X, y = random_data(m=30)
    with pytest.raises(ValueError, match=r"X, beta=0.3 and sample_weight must keep.*raise beta"):
        CSRL(kernel="linear", gamma=1.0).fit(1e170 * X, y)


def test_verbose(capsys):
    X, y = random_data(m=100)
    CSRL(beta=1e-3, kernel="linear", verbose=1, tol=1e-5, random_state=0).fit(X, y)
    printed = capsys.readouterr().out
    assert "[row ascent]    1  primal" in printed
    assert "[proximal newton]" in printed


def test_equal_seeds_give_equal_models():
    X, y = random_data(m=100)
    one, two = (CSRL(random_state=3).fit(X, y).dual_coef_ for _ in range(2))
    np.testing.assert_array_equal(one, two)
