"""Rank-CVM as paper 003 writes it down: the recursions of Section 7.4 on explicit pairs, in NumPy.

The yardstick for ``solver="frank-wolfe"``: the same steps, with a gradient vector over all label
pairs. Whatever does not change is computed once, and no step allocates memory for it.

Eq. 53 has a sum over the q labels for every pair, Σ_k h_k h'_k. Two versions: ``paper`` computes
it anew in every step, as Sections 7.4 and 7.5 say ("recalculated", O((3q + 7) Σ|Y||N|) per step);
``tuned`` is ours and knows that only two terms of it can differ from zero.
"""

import time

import numpy as np


def fit_explicit_cvm(K, indicator, C, epsilon, version="paper", seconds=np.inf):
    """Frank-Wolfe steps until |z| ≤ ``epsilon`` or the time is over.

    Parameters
    ----------
    K : ndarray of shape (m, m)
        The kernel matrix; the regularised bias adds 1 to it.
    indicator : ndarray of shape (m, q), bool
    C, epsilon : float
    version : {"paper", "tuned"}
    seconds : float

    Returns
    -------
    beta : ndarray of shape (q, m)
        The coefficients.
    value : float
        W.
    n_iter : int
    spent : float
        Seconds.
    """
    begin = time.perf_counter()
    kernel = K + 1.0
    m, q = indicator.shape
    pairs = indicator[:, :, None] & ~indicator[:, None, :]
    row, up, down = np.nonzero(pairs)
    c = C / pairs.sum(axis=(1, 2))[row]
    n = len(row)
    # h[k] is +1 for the pairs whose relevant label is k and −1 for those whose irrelevant one is
    h = np.zeros((q, n))
    h[up, np.arange(n)], h[down, np.arange(n)] = 1.0, -1.0
    theta = 2.0 * kernel[row, row] + 1.0 / c
    at = int(np.argmin(theta))
    beta = np.zeros((q, m))
    beta[up[at], row[at]], beta[down[at], row[at]] = 1.0, -1.0
    column, signs = np.empty(n), np.empty(n)

    def theta_column(at):
        """Θ of one pair with all others (Eq. 53), into ``column``."""
        np.take(kernel[row[at]], row, out=column)
        if version == "paper":
            np.dot(h[:, at], h, out=signs)
        else:
            np.subtract(h[up[at]], h[down[at]], out=signs)
        np.multiply(column, signs, out=column)
        column[at] += 1.0 / c[at]

    theta_column(at)
    g = column.copy()
    value = 0.5 * theta[at]
    n_iter = 0
    while True:
        at = int(g.argmin())
        slope = g[at]
        if 2.0 * value - slope <= epsilon or time.perf_counter() - begin > seconds:
            return beta, value, n_iter, time.perf_counter() - begin
        curvature = theta[at] - 2.0 * slope + 2.0 * value
        step = min((2.0 * value - slope) / curvature, 1.0)
        value = (1.0 - step) ** 2 * value + step * (1.0 - step) * slope + 0.5 * step**2 * theta[at]
        beta *= 1.0 - step
        beta[up[at], row[at]] += step
        beta[down[at], row[at]] -= step
        theta_column(at)
        g *= 1.0 - step
        np.multiply(column, step, out=column)
        g += column
        n_iter += 1
