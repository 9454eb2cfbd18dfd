"""A few features that make up most of K, and a bound on the rest: K ≤ Φ Φᵀ + λ I.

Wide kernels and intercepts give K a few huge eigenvalues, narrow kernels a flat spectrum. Nyström's
method finds features of the huge ones, from a random subspace that is turned towards them by
products with K; λ is an upper bound of what remains, by Lanczos' method.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal

from ..utils.numbers import TINY

# Products with K that turn a random subspace, and steps of Lanczos' method.
N_POWERS = 2
N_STEPS = 8

# Smaller eigenvalues, relative to the largest, are left to the bound: their features are rounding.
SMALLEST = 1e-8


class Sketch:
    """Features Φ and the bound λ.

    Parameters
    ----------
    operator
        K.
    rank : int
        Features at most.

    Attributes
    ----------
    features : ndarray of shape (m, at most rank)
        Φ.
    rest : float
        λ.
    """

    def __init__(self, operator: Any, rank: int) -> None:
        rng = np.random.RandomState(0)
        m = operator.shape[0]
        subspace = rng.normal(size=(m, min(rank, m)))
        for _ in range(N_POWERS):
            subspace = np.linalg.qr(operator.product(subspace))[0]
        image = operator.product(subspace)
        values, vectors = np.linalg.eigh(subspace.T @ image)
        kept = values > SMALLEST * max(values[-1], TINY)
        self.features = (image @ vectors[:, kept]) / np.sqrt(values[kept])

        def remaining(v: np.ndarray) -> np.ndarray:
            return operator.product(v) - self.features @ (self.features.T @ v)

        # differences of products with K have the digits for no smaller λ
        least = 1e-5 * max(values[-1], TINY)
        self.rest = max(upper_bound(remaining, rng.normal(size=(m, 1))), least)


def upper_bound(product: Callable[[np.ndarray], np.ndarray], v: np.ndarray) -> float:
    """A bound on the largest eigenvalue of a symmetric matrix, by Lanczos' method; at least 0."""
    diagonal: list[float] = []
    beside: list[float] = []
    before = np.zeros_like(v)
    v = v / np.linalg.norm(v)
    for _ in range(min(N_STEPS, len(v))):
        image = product(v)
        if beside:
            image -= beside[-1] * before
        diagonal.append(float(np.vdot(v, image)))
        image -= diagonal[-1] * v
        beside.append(float(np.linalg.norm(image)))
        if beside[-1] == 0.0:
            break
        before, v = v, image / beside[-1]
    values = eigh_tridiagonal(diagonal, beside[:-1], eigvals_only=True)
    # Lanczos' values are below the largest eigenvalue, and hardly ever so with the last residual. A
    # bound that is too small would make the preconditioner indefinite.
    return max(float(values[-1] + beside[-1]), 0.0)
