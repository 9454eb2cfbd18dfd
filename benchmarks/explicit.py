"""mlODM as paper 000 writes it down: Algorithms 1 and 2 with explicit matrices H, in NumPy.

The yardstick for the structured solvers. Every instance's H⁺ and H⁻ are formed once; a block starts
from η = 1 and is updated until no factor λ differs from 1 by more than a thousandth.
"""

import time

import numpy as np

MAX_UPDATES = 200
FIXED_POINT = 1e-3


class ExplicitBlock:
    """The sub-problem of one instance (Eq. 24)."""

    def __init__(self, kappa, relevant, C, theta, mu):
        positive, negative = np.flatnonzero(relevant), np.flatnonzero(~relevant)
        up, down = (index.ravel() for index in np.meshgrid(positive, negative, indexing="ij"))
        n = len(up)
        # c[label, pair] is +1 for the pair's relevant label and −1 for its irrelevant one
        self.c = np.zeros((len(relevant), n))
        self.c[up, np.arange(n)], self.c[down, np.arange(n)] = 1.0, -1.0
        A = kappa * self.c.T @ self.c
        H = np.block([[A, -A], [-A, A]]) + n / C * np.diag(np.repeat([1.0, 1.0 / mu], n))
        self.plus, self.minus = np.maximum(H, 0.0), np.maximum(-H, 0.0)
        self.slack = np.repeat([theta - 1.0, theta + 1.0], n)

    def solve(self, other_scores):
        """The multipliers α − β for the scores that the other instances give this one."""
        margins = other_scores @ self.c
        v = np.concatenate([margins, -margins]) + self.slack
        eta = np.ones(len(v))
        for _ in range(MAX_UPDATES):
            # a multiplier that has become zero stays zero, whatever its factor
            a, b = np.maximum(self.plus @ eta, 1e-300), self.minus @ eta
            factor = (-v + np.sqrt(v * v + 4.0 * a * b)) / (2.0 * a)
            eta *= factor
            if np.all((np.abs(factor - 1.0) <= FIXED_POINT) | (eta <= 1e-12)):
                break
        return eta[: len(margins)] - eta[len(margins) :]


def fit_explicit(K, indicator, C, theta, mu, tol, seconds, certify):
    """Algorithm 1 until ``certify(A)`` is at most ``tol`` or the time is over.

    Returns the seconds it took (certificates not counted) and the gap reached.
    """
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    usable = np.flatnonzero(indicator.any(axis=1) & ~indicator.all(axis=1))
    blocks = {i: ExplicitBlock(K[i, i], indicator[i], C, theta, mu) for i in usable}
    A = np.zeros(indicator.shape)
    spent = time.perf_counter() - start
    gap = np.inf
    while gap > tol and spent < seconds:
        start = time.perf_counter()
        for i in rng.permutation(usable):
            other = K[i] @ A - K[i, i] * A[i]
            A[i] = blocks[i].c @ blocks[i].solve(other)
        spent += time.perf_counter() - start
        gap = certify(A)
    return spent, gap
