"""Problems of mcODM, their objective by definition, and their convex majorants solved elsewhere."""

import numpy as np
from problems import solve_quadratic_program
from scipy import sparse


def random_classes(seed, m=90, d=5, k=4):
    rng = np.random.default_rng(seed)
    centres = 1.5 * rng.normal(size=(k, d))
    y = np.concatenate([np.arange(k), rng.integers(k, size=m - k)])
    X = centres[y] + rng.normal(size=(m, d))
    X[rng.random((m, d)) < 0.2] = 0.0
    return X, y.astype(np.intc), rng.uniform(0.5, 2.0, size=m)


def objective(F, W, y, weight, mu, lower=0.8, upper=1.2):
    """J by definition."""
    total = 0.5 * np.vdot(W, W)
    for f, label, c in zip(F, y, weight, strict=True):
        margin = f[label] - np.delete(f, label).max()
        total += 0.5 * c * max(lower - margin, 0.0) ** 2
        total += 0.5 * c * mu * max(margin - upper, 0.0) ** 2
    return total


def majorant_by_quadratic_program(X1, F, y, weight, mu, lower=0.8, upper=1.2):
    """The least value of the convex majorant that touches J at the scores F, by Clarabel."""
    (m, d), k = X1.shape, F.shape[1]
    rival = np.where(np.arange(k) == y[:, None], -np.inf, F).argmax(axis=1)
    n = k * d
    rows, bounds = [], []
    for i in range(m):
        for j in range(k):
            if j != y[i]:
                row = np.zeros(n + 2 * m)
                row[y[i] * d : (y[i] + 1) * d] = -X1[i]
                row[j * d : (j + 1) * d] = X1[i]
                row[n + i] = -1.0
                rows.append(row)
                bounds.append(-lower)
        row = np.zeros(n + 2 * m)
        row[y[i] * d : (y[i] + 1) * d] = X1[i]
        row[rival[i] * d : (rival[i] + 1) * d] = -X1[i]
        row[n + m + i] = -1.0
        rows.append(row)
        bounds.append(upper)
    square = np.r_[np.ones(n), weight, mu * weight]
    matrix = sparse.csc_matrix(np.array(rows))
    return solve_quadratic_program(square, np.zeros(len(square)), matrix, np.array(bounds))
