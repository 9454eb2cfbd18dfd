"""Newton directions: approximate solutions X of (I + D K) X = R, and K X.

A direction is called with (curvature, R, K R, forcing) and returns X, K X and the number of
products with K that they took. R and K R stay as they are. Two ways lead there:

- in *function space*, for any operator, where the unknowns are the coefficients X themselves;
- in *weight space*, for linear kernels with few features.
"""

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from ..features.operators import LinearOperator
from ..features.sketch import Sketch
from .conjugate_gradients import conjugate_gradients
from .preconditioner import SketchPreconditioner
from .result import ROUNDING

# Features of the sketch of K.
RANK = 32

# Conjugate gradient steps at most, and for systems of order mq ≤ SMALL_SYSTEM, which can be
# factored instead.
MAX_STEPS = 250
MAX_STEPS_IF_SMALL = 60
SMALL_SYSTEM = 2000

# Added to K, relative to its diagonal, inside conjugate gradients: null vectors of K are invisible
# to its inner product and would grow unseen.
RIDGE = 1e-9

# Eigenvectors of d × d features are taken where they cost less than this many products with the
# rows: about the products that a fit in function space takes.
MOST_PREPARATION = 40.0


def directions(operator, zero_sums=False):
    """What finds Newton directions for an operator.

    ``zero_sums`` tells whether the rows of R and D sum to zero, as those of losses on label pairs
    do.
    """
    if has_few_features(operator):
        return FeatureDirection(operator)
    return Direction(operator, zero_sums)


def preparation(operator):
    """How many epochs over the rows the eigenvectors of the features take.

    Infinite unless the kernel is linear with fewer features than rows. An epoch over n entries
    takes as long as the eigenvectors where d³ is 300 n.
    """
    if not isinstance(operator, LinearOperator) or operator.X.shape[1] >= operator.X.shape[0]:
        return np.inf
    X = operator.X
    n_entries = X.nnz if sparse.issparse(X) else X.size
    return X.shape[1] ** 3 / (300.0 * max(n_entries, 1))


def has_few_features(operator):
    """Whether a kernel is linear with features so few that weight space is the better way."""
    return preparation(operator) <= MOST_PREPARATION


class Direction:
    """Newton directions in function space.

    Parameters
    ----------
    operator
        K.
    zero_sums : bool
        As in :func:`directions`.

    Attributes
    ----------
    diagonal : float
        The mean of the diagonal of K.
    is_hard : bool
        Whether conjugate gradients failed: small systems are factored from then on.
    """

    def __init__(self, operator, zero_sums=False):
        self.operator = operator
        self.is_hard = False
        self.zero_sums = zero_sums
        self.sketch = Sketch(operator, RANK)
        self.diagonal = operator.diagonal().mean() + operator.intercept

    def __call__(self, curvature, R, KR, forcing):
        """X, K X and the number of products they took; X is None where rounding forbids it."""
        is_small = R.size <= SMALL_SYSTEM
        if is_small and self.is_hard:
            X = factored_solution(self.operator, curvature, R)
            return X, None if X is None else self.operator.product(X), 1
        precondition = SketchPreconditioner(self.sketch, curvature.diagonal(), self.zero_sums)
        ridge = min(RIDGE * self.diagonal, 1e-4 / precondition.curvature)
        known = [KR + ridge * R]

        def product(V):
            result = self.operator.product(V)
            result += ridge * V
            return result

        def approximate(rest):
            # the first residual is R, whose product is known
            X = precondition(rest, known.pop() if known else product(rest))
            return X, product(X)

        found = conjugate_gradients(
            FunctionSpace(),
            curvature,
            R,
            approximate,
            lambda now: now.square <= forcing**2 * now.first_square,
            MAX_STEPS_IF_SMALL if is_small else MAX_STEPS,
        )
        self.is_hard = not found.is_solved
        scores = found.scores - ridge * found.unknowns
        return found.unknowns, scores, 2 * found.n_steps + 2


class FunctionSpace:
    """Unknowns are coefficients with the inner product of K."""

    @staticmethod
    def combine(U):
        return U

    @staticmethod
    def inner(V, W, scores_of_W):
        return np.vdot(V, scores_of_W)


def factored_solution(operator, curvature, R):
    """Solve (I + D K) X = R by a Cholesky factorisation of order mq.

    With D = H Hᵀ, row by row, X = R − H (I + Hᵀ K H)⁻¹ Hᵀ K R; None where rounding forbids it.
    """
    m, q = R.shape
    K = operator.product(np.eye(m))
    blocks = np.stack([curvature.product(np.tile(unit, (m, 1))) for unit in np.eye(q)], axis=2)
    values, vectors = np.linalg.eigh(blocks)
    half = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    stacked = half.transpose(0, 2, 1).reshape(m * q, q)
    matrix = stacked @ stacked.T
    matrix *= np.repeat(np.repeat(K, q, axis=0), q, axis=1)
    matrix[np.diag_indices(m * q)] += 1.0
    inner = np.einsum("ika,ik->ia", half, K @ R).ravel()
    try:
        inner = cho_solve(cho_factor(matrix, overwrite_a=True), inner).reshape(m, q)
    except np.linalg.LinAlgError:
        return None
    return R - np.einsum("ika,ia->ik", half, inner)


class FeatureDirection:
    """Newton directions in weight space, for a linear operator with few features.

    With features Φ (m × d, the intercept among them) K = Φ Φᵀ, and the system (I + D K) X = R
    becomes

        (I + Φᵀ D Φ) w = Φᵀ R,     K X = Φ w.

    D replaced by its average over the rows can be inverted together with ΦᵀΦ exactly: the number of
    conjugate gradient steps hardly depends on the number of rows, on C or on the kernel's width.

    Parameters
    ----------
    operator : LinearOperator
    """

    def __init__(self, operator):
        self.X = operator.X
        self.constant = operator.intercept**0.5
        m, d = self.X.shape
        gram = np.empty((d + 1, d + 1))
        square = self.X.T @ self.X
        gram[:d, :d] = square.toarray() if sparse.issparse(square) else square
        gram[d, :d] = gram[:d, d] = self.constant * np.asarray(self.X.sum(axis=0)).ravel()
        gram[d, d] = m * operator.intercept
        self.diagonal = np.trace(gram) / m
        values, self.vectors = np.linalg.eigh(gram)
        self.values = np.maximum(values, 0.0)[:, None]
        positive = self.values > ROUNDING * values[-1]
        self.inverse = np.divide(1.0, self.values, out=np.zeros_like(self.values), where=positive)

    def __call__(self, curvature, R, KR, forcing):
        """X, K X and the number of products they took."""
        space = WeightSpace(self, curvature.modes())
        flexibility = 1.0 / (1.0 + self.values * space.modes.values)

        def approximate(rest):
            steepest = flexibility * rest
            return steepest, space.spread(steepest)

        found = conjugate_gradients(
            space,
            curvature,
            space.combine(R),
            approximate,
            lambda now: now.square <= forcing**2 * now.first_square,
            MAX_STEPS,
        )
        # ΦᵀX is to be w: what (R − D K X) misses of it is taken away
        X = R - curvature.product(found.scores)
        X -= space.spread(self.inverse * (space.combine(X) - found.unknowns))
        return X, found.scores, found.n_steps + 2


class WeightSpace:
    """Unknowns are weights, in the eigenvectors of ΦᵀΦ and of the average Hessian."""

    def __init__(self, direction, modes):
        self.direction, self.modes = direction, modes

    def combine(self, U):
        """Φᵀ U."""
        vectors = self.direction.vectors
        weights = np.empty((len(vectors), U.shape[1]))
        weights[:-1] = self.direction.X.T @ U
        weights[-1] = self.direction.constant * U.sum(axis=0)
        return self.modes.split(vectors.T @ weights)

    def spread(self, W):
        """Φ W."""
        weights = self.direction.vectors @ self.modes.join(W)
        result = self.direction.X @ weights[:-1]
        result += self.direction.constant * weights[-1]
        return result

    @staticmethod
    def inner(V, W, scores_of_W):
        return np.vdot(V, W)
