"""ODM: the published binary objective against independent solvers, and its relatives."""

import numpy as np
import pytest
from class_problems import random_classes
from host_data import X_NEW, as_array
from host_data import X as ROWS
from host_data import Y as LABELS
from problems import solve_quadratic_program
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC
from skmultilearn.problem_transform import BinaryRelevance

from skml_odm import MCODM, MLODM, ODM


def two_classes(seed=0, m=90):
    X, y, weight = random_classes(seed, m=m, k=2)
    return X, y, weight


def values(model, K, y, sample_weight=None):
    """Primal and dual value by the definitions, from the coefficients alone."""
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    c = 2 * model.C * weight / weight.sum() / (1 - model.theta) ** 2
    sign = 2.0 * y - 1.0
    A, b = model.dual_coef_[:, 0], model.intercept_[0]
    # b is a variable of its own, which descent need not leave at the sum of A
    norm = 0.5 * (A @ K @ A + b**2)
    gamma = sign * (K @ A + b)
    K = K + float(model.fit_intercept)
    lower, upper, mu = 1 - model.theta, 1 + model.theta, model.mu
    xi, epsilon = np.maximum(lower - gamma, 0.0), np.maximum(gamma - upper, 0.0)
    primal = norm + 0.5 * (c * (xi**2 + mu * epsilon**2)).sum()
    # the dual point of the scores: α − β are the derivatives of the loss
    alpha, beta = c * xi, c * mu * epsilon
    D = sign * (alpha - beta)
    squares = alpha**2 / (2 * c) + np.divide(beta**2, 2 * c * mu, where=c * mu > 0, out=0 * c)
    return primal, (lower * alpha - upper * beta - squares).sum() - 0.5 * D @ K @ D


def optimum(X, y, C, theta, mu, fit_intercept):
    """The least value by Clarabel: weights, ξ, ε."""
    features = np.hstack([X, np.ones((len(y), 1))]) if fit_intercept else X
    signed = (2.0 * y - 1.0)[:, None] * features
    m, n = features.shape
    c = 2 * C / m / (1 - theta) ** 2
    eye, zero = np.eye(m), np.zeros((m, m))
    matrix = np.block([[-signed, -eye, zero], [signed, zero, -eye]])
    bounds = np.r_[np.full(m, theta - 1), np.full(m, 1 + theta)]
    square = np.r_[np.ones(n), np.full(m, c), np.full(m, c * mu)]
    return solve_quadratic_program(square, np.zeros(len(square)), sparse.csc_matrix(matrix), bounds)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("theta, mu", [(0.0, 1.0), (0.2, 0.5), (0.8, 0.2), (0.4, 0.0)])
def test_optimum_and_certificate(theta, mu, fit_intercept):
    X, y, _ = two_classes()
    model = ODM(30.0, theta, mu, fit_intercept=fit_intercept, tol=1e-7, random_state=0).fit(X, y)
    least = optimum(X, y, 30.0, theta, mu, fit_intercept)
    assert model.objective_ == pytest.approx(least, rel=1e-6)
    primal, dual = values(model, X @ X.T, y)
    assert model.objective_ == pytest.approx(primal, rel=1e-6)
    assert dual <= least * (1 + 1e-8) and dual >= primal * (1 - 1e-5)
    assert model.dual_gap_ <= 1e-7
    np.testing.assert_allclose(X.T @ model.dual_coef_, model.coef_.T, atol=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_band_and_upper_side_it_is_the_squared_hinge_machine(fit_intercept):
    X, y, weight = two_classes(1)
    options = {"theta": 0.0, "mu": 0.0, "fit_intercept": fit_intercept, "tol": 1e-10}
    model = ODM(C=20.0, **options).fit(X, y, weight)
    machine = LinearSVC(
        C=20.0 / weight.sum(), fit_intercept=fit_intercept, tol=1e-10, max_iter=10**6
    )
    machine.fit(X, y, weight)
    np.testing.assert_allclose(model.coef_, machine.coef_, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, machine.intercept_, atol=1e-4)


def test_it_is_mlodm_with_one_label():
    """f is the difference of the label's score and its complement's."""
    X, y, _ = two_classes(2)
    model = ODM(C=30.0, theta=0.2, mu=0.5, kernel="rbf", tol=1e-10).fit(X, y)
    pair = MLODM(30.0 / len(y) / 0.8**2, 0.2, 0.5, kernel="rbf", tol=1e-10)
    pair.fit(X, np.column_stack([y, 1 - y]))
    scores = pair.label_scores(X)
    np.testing.assert_allclose(model.decision_function(X), scores[:, 0] - scores[:, 1], atol=1e-4)
    assert model.objective_ == pytest.approx(2 * pair.objective_, rel=1e-8)


def test_kernel_certificate_with_weights():
    X, y, weight = two_classes(3)
    model = ODM(C=100.0, kernel="rbf", gamma=0.1, tol=1e-8).fit(X, y, weight)
    primal, dual = values(model, rbf_kernel(X, gamma=0.1), y, weight)
    assert model.objective_ == pytest.approx(primal, rel=1e-10)
    # the dual point of these scores is not the solver's
    assert primal * (1 - 1e-4) <= dual <= primal


@pytest.mark.parametrize("kind", [ODM, MCODM])
def test_rows_without_weight_of_a_kernel_matrix(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    weight = np.where(np.arange(20) < 5, 0.0, 1.0)
    with_them = kind(kernel="precomputed").fit(X @ X.T, y, sample_weight=weight)
    without = kind(kernel="precomputed").fit(X[5:] @ X[5:].T, y[5:])
    largest = np.abs(without.dual_coef_).max()
    np.testing.assert_allclose(with_them.dual_coef_[5:], without.dual_coef_, atol=1e-9 * largest)


def test_classes():
    X, y, _ = two_classes(4)
    names = np.array(["no", "yes"])
    model = ODM(random_state=0).fit(X, names[y])
    assert list(model.classes_) == ["no", "yes"]
    np.testing.assert_array_equal(model.predict(X) == "yes", model.decision_function(X) > 0)
    assert model.score(X, names[y]) > 0.9
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        ODM().fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="at least two classes"):
        ODM().fit(X, np.ones(len(X)))


def test_unfinished():
    X, y, _ = two_classes(5)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        ODM(C=1e5, max_iter=1, tol=1e-9).fit(X, y)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"C": -1.0}, "C must be a number"),
        ({"theta": 1.0}, r"theta must be a number in \[0, 1\); got 1.0"),
        ({"mu": -0.1}, "mu must be a number"),
        ({"tol": 0}, "tol must be a number"),
    ],
)
def test_wrong_parameters(parameters, message):
    X, y, _ = two_classes()
    with pytest.raises(ValueError, match=message):
        ODM(**parameters).fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_inside_binary_relevance(kernel):
    """One machine per label: what the host predicts is what each machine does."""
    host = BinaryRelevance(ODM(C=100.0, kernel=kernel, random_state=0), require_dense=[True, True])
    predicted = as_array(host.fit(ROWS, LABELS).predict(X_NEW))
    for j in range(LABELS.shape[1]):
        alone = ODM(C=100.0, kernel=kernel, random_state=0).fit(ROWS, LABELS[:, j])
        np.testing.assert_array_equal(predicted[:, j], alone.predict(X_NEW))
