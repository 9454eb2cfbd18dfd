"""A few features that make up most of K, and a bound on the rest: K ≤ Φ Φᵀ + λ I.

Wide kernels and intercepts give K a few huge eigenvalues. The largest of all belongs to the
constant c that a rounded operator has as its intercept: √c is the first feature of every row.
Nyström's method finds the others, from a random subspace that is turned towards the largest
eigenvalues of what remains by powers of it; λ is a bound by Lanczos' method. What remains need not
be semidefinite.
"""

import numpy as np
from scipy.linalg import eigh_tridiagonal

# Powers that are taken to find features, and steps of Lanczos' method.
N_POWERS = 2
N_STEPS = 12

# What the bound is raised by, for Lanczos' method may miss a little.
MISSED = 1.05

# λ is at least this share of the largest eigenvalue beside the constant: else those who subtract
# what belongs to it are left with rounding only.
SHARE = 1.0 / 400.0

# Ritz values below this share of the largest are left out.
SMALLEST = 1e-3


class Sketch:
    """Features Φ and the bound λ.

    Parameters
    ----------
    operator : RoundedOperator
    rank : int
        Features beside the constant, at most.

    Attributes
    ----------
    constant : float
        √c.
    features : ndarray of shape (at most 1 + rank, m), float32
        Φᵀ; the constant comes first.
    rest : float
        λ.
    """

    def __init__(self, operator, rank):
        rng = np.random.RandomState(0)
        m = operator.shape[0]
        self.constant = operator.intercept**0.5

        def centred(V):
            return operator.product_in_parts(V.astype(np.float32))[0].astype(float)

        Q = rng.normal(size=(m, min(rank, m)))
        for _ in range(N_POWERS):
            Q = np.linalg.qr(centred(Q))[0]
        image = centred(Q)
        values, vectors = np.linalg.eigh(Q.T @ image)
        kept = values > SMALLEST * max(values[-1], np.finfo(float).tiny)
        others = (image @ vectors[:, kept]) / np.sqrt(values[kept])
        self.features = np.empty((1 + others.shape[1], m), dtype=np.float32)
        self.features[0], self.features[1:] = self.constant, others.T
        rest = bound(lambda v: centred(v) - others @ (others.T @ v), rng.normal(size=(m, 1)))
        self.rest = max(rest, SHARE * values[-1])


def bound(product, v):
    """A bound on the largest eigenvalue of a symmetric matrix, by Lanczos' method; at least 0."""
    diagonal: list[float] = []
    beside: list[float] = []
    before = np.zeros_like(v)
    v = v / np.linalg.norm(v)
    for _ in range(min(N_STEPS, len(v))):
        image = product(v)
        if beside:
            image -= beside[-1] * before
        diagonal.append(np.vdot(v, image))
        image -= diagonal[-1] * v
        beside.append(float(np.linalg.norm(image)))
        if beside[-1] == 0.0:
            break
        before, v = v, image / beside[-1]
    values, vectors = eigh_tridiagonal(diagonal, beside[:-1])
    # an eigenvalue is as close to the Ritz value as the Ritz vector's residual is long
    return max(MISSED * (values[-1] + beside[-1] * abs(vectors[-1, -1])), 0.0)
