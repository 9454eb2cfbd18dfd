"""Random learning problems, and an independent solver for small ones."""

import numpy as np
from scipy.optimize import minimize
from sklearn.metrics.pairwise import pairwise_kernels

from skml_odm.features.operators import KernelOperator, LinearOperator
from skml_odm.problems.pairs import PairLoss

SEMIDEFINITE = ("linear", "rbf", "poly", "cosine", "laplacian")


def random_indicator(rng, m, q):
    """Labels of any density, with rows that have none and rows that have all."""
    indicator = rng.random((m, q)) < rng.uniform(0.1, 0.9)
    indicator[rng.random(m) < 0.1] = False
    indicator[rng.random(m) < 0.05] = True
    return indicator


def random_problem(seed, largest=120):
    """An operator and a loss with random size, labels, C (2⁻² … 2¹⁰), θ, μ and kernel."""
    rng = np.random.default_rng(seed)
    m, q, d = rng.integers(2, largest), rng.integers(2, 9), rng.integers(1, 12)
    X = rng.normal(size=(m, d)) * 2.0 ** rng.uniform(-2, 2)
    if rng.random() < 0.3:
        X[rng.integers(m, size=m // 3)] = X[0]
    indicator = random_indicator(rng, m, q)
    loss = PairLoss(
        indicator,
        C=2.0 ** rng.uniform(-2, 10),
        theta=rng.choice([0.0, rng.uniform(0, 1), 0.9]),
        mu=rng.choice([0.0, rng.uniform(0, 1), 1.0]),
        sample_weight=rng.uniform(0, 2, size=m) if rng.random() < 0.3 else None,
    )
    intercept = bool(rng.random() < 0.5)
    kernel = SEMIDEFINITE[seed % len(SEMIDEFINITE)]
    if kernel == "linear":
        return LinearOperator(X, intercept), loss
    parameters = {
        "rbf": {"gamma": 2.0 ** rng.uniform(-6, 1) / d},
        "laplacian": {"gamma": 2.0 ** rng.uniform(-4, 1) / d},
        "poly": {"degree": int(rng.integers(1, 4)), "gamma": 1.0 / d, "coef0": rng.uniform(0, 1)},
    }.get(kernel, {})
    return KernelOperator(pairwise_kernels(X, metric=kernel, **parameters), intercept), loss


def full_matrix(operator):
    """K as the problem means it, with its intercept."""
    return operator.product(np.eye(operator.shape[0]))


def pair_rows(loss):
    """Every label pair as (row, relevant label, irrelevant label)."""
    for i in range(loss.shape[0]):
        if loss.weight[i] > 0:
            p = loss.n_relevant[i]
            for k in loss.order[i, :p]:
                for label in loss.order[i, p : loss.n_involved[i]]:
                    yield i, k, label


def confidence_pairs(confidences, weight):
    """Every label pair as in ``pair_rows``, the more credible label first, and their weights."""
    difference = confidences[:, :, None] - confidences[:, None, :]
    pairs = np.argwhere((difference > 0) & (weight[:, None, None] > 0))
    return pairs.tolist(), [weight[i] * difference[i, k, label] for i, k, label in pairs]


def primal_value(operator, loss, A, b=None):
    """P(A, b) by definition: every pair spelled out."""
    K = full_matrix(operator)
    if b is not None and operator.intercept:
        K = K - 1.0
    F = K @ A
    value = 0.5 * np.vdot(A, F)
    if b is not None and operator.intercept:
        F = F + b
        value += 0.5 * b @ b
    for i, k, label in pair_rows(loss):
        margin = F[i, k] - F[i, label]
        value += 0.5 * loss.weight[i] * max(loss.lower - margin, 0.0) ** 2
        value += 0.5 * loss.weight[i] * loss.mu * max(margin - loss.upper, 0.0) ** 2
    return value


def features_of(K):
    """Φ with K = Φ Φᵀ."""
    values, vectors = np.linalg.eigh(K)
    keep = values > 1e-12 * values[-1]
    return vectors[:, keep] * np.sqrt(values[keep])


def margin_rows(features, pairs, q):
    """The margin of every pair as a linear function of the weights, label by label."""
    r = features.shape[1]
    margins = np.zeros((len(pairs), r * q))
    for row, (i, k, label) in enumerate(pairs):
        margins[row, k * r : (k + 1) * r] = features[i]
        margins[row, label * r : (label + 1) * r] = -features[i]
    return margins


def optimum_by_quadratic_program(operator, loss, pairs=None, weight=None):
    """Optimal value from Clarabel, on the primal with one slack variable per pair and side.

    Variables: weights in the range of K, then ξ, then ε. Pairs and their weights are the loss's own
    unless given.
    """
    from scipy import sparse

    if pairs is None:
        pairs = list(pair_rows(loss))
        weight = [loss.weight[i] for i, _, _ in pairs]
    margins = margin_rows(features_of(full_matrix(operator)), pairs, loss.shape[1])
    n, n_weights = margins.shape
    two_sided = loss.mu > 0
    weight = np.array(weight)
    n_slack = n * (1 + two_sided)
    cost = np.concatenate([np.ones(n_weights), weight, loss.mu * weight])[: n_weights + n_slack]
    # margin + ξ ≥ lower and −margin + ε ≥ −upper, as b − A x ≥ 0
    constraints = np.vstack([-margins, margins][: 1 + two_sided])
    bounds = np.concatenate([np.full(n, -loss.lower), np.full(n, loss.upper)])[:n_slack]
    matrix = sparse.hstack([sparse.csc_matrix(constraints), -sparse.eye(n_slack)], format="csc")
    return solve_quadratic_program(cost, np.zeros(len(cost)), matrix, bounds)


def rank_svm_by_quadratic_program(operator, loss, precision=1e-10):
    """Rank-SVM's optimal value from Clarabel.

    Variables: weights in the range of K, biases if the problem has them, one slack ξ per pair.
    """
    from scipy import sparse

    q = loss.shape[1]
    pairs = list(pair_rows(loss))
    features = features_of(full_matrix(operator.with_intercept(0.0)))
    margins = margin_rows(features, pairs, q)
    if operator.intercept:
        margins = np.hstack([margins, margin_rows(np.ones((loss.shape[0], 1)), pairs, q)])
    n, n_free = margins.shape
    square = np.zeros(n_free + n)
    square[: features.shape[1] * q] = 1.0
    weight = np.array([loss.weight[i] for i, _, _ in pairs])
    # margin + ξ ≥ 1 and ξ ≥ 0, as b − A x ≥ 0
    slack = sparse.eye(n)
    matrix = sparse.vstack(
        [
            sparse.hstack([sparse.csc_matrix(-margins), -slack]),
            sparse.hstack([sparse.csc_matrix((n, n_free)), -slack]),
        ],
        format="csc",
    )
    bounds = np.concatenate([np.full(n, -1.0), np.zeros(n)])
    linear = np.concatenate([np.zeros(n_free), weight])
    return solve_quadratic_program(square, linear, matrix, bounds, precision)


def solve_quadratic_program(square, linear, matrix, bounds, precision=1e-10):
    """min ½ xᵀ square x + linear · x subject to matrix x ≤ bounds, by Clarabel.

    A one-dimensional ``square`` is the diagonal of a matrix.
    """
    import clarabel
    from scipy import sparse

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = precision
    square = np.diag(square) if square.ndim == 1 else np.triu(square)
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(square),
        linear,
        sparse.csc_matrix(matrix),
        bounds,
        [clarabel.NonnegativeConeT(len(bounds))],
        settings,
    )
    solution = solver.solve()
    assert str(solution.status) == "Solved", solution.status
    return solution.obj_val


def row_loss_by_quadratic_program(K, sign, beta, theta, weight, sums):
    """Largest Σ|a| − tr(AᵀK A Θ)/2β, by Clarabel, with all multipliers spelled out.

    ``sign`` is 1 for relevant, −1 for irrelevant and 0 for unknown labels. With ``sums`` the
    multipliers of a row's relevant labels sum to at most its weight, and those of its irrelevant
    ones as well; without, each is at most the weight.
    """
    m, q = sign.shape
    sides = sign > 0, sign < 0
    sign = sign.ravel()
    square = np.kron(K, theta) * np.outer(sign, sign) / beta
    bounded, bounds = np.eye(m * q), np.repeat(weight, q)
    if sums:
        bounded = np.zeros((2 * m, m * q))
        for i in range(m):
            bounded[2 * i, i * q : (i + 1) * q] = sides[0][i]
            bounded[2 * i + 1, i * q : (i + 1) * q] = sides[1][i]
        bounds = np.repeat(weight, 2)
    matrix = np.vstack([bounded, -np.eye(m * q)])
    bounds = np.concatenate([bounds, np.zeros(m * q)])
    return -solve_quadratic_program(square, -np.abs(sign), matrix, bounds, 1e-9)


def by_minimisation(X, y, C, theta, mu):
    """Optimal weights from L-BFGS on the primal: no kernel, no dual, no code of the package."""
    X = np.hstack([X, np.ones((len(X), 1))])
    shape = X.shape[1], y.shape[1]

    def function(parameters):
        W = parameters.reshape(shape)
        F = X @ W
        value, slope = 0.5 * np.vdot(W, W), np.zeros_like(F)
        for i, row in enumerate(y):
            relevant, others = np.flatnonzero(row), np.flatnonzero(row == 0)
            for k in relevant:
                for j in others:
                    c = C / (len(relevant) * len(others))
                    margin = F[i, k] - F[i, j]
                    low, high = max(1 - theta - margin, 0.0), max(margin - 1 - theta, 0.0)
                    value += 0.5 * c * (low**2 + mu * high**2)
                    slope[i, k] += c * (mu * high - low)
                    slope[i, j] -= c * (mu * high - low)
        return value, (W + X.T @ slope).ravel()

    options = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9}
    start = np.zeros(shape[0] * shape[1])
    found = minimize(function, start, jac=True, method="L-BFGS-B", options=options)
    return found.fun, found.x.reshape(shape)
