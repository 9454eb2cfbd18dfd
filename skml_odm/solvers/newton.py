"""Newton's method in function space.

    min_A  P(A) = ½⟨A, K A⟩ + L(K A)

A is optimal exactly when A = G(K A), G = −∇L. With F = K A and the residual R = G(F) − A the Newton
direction solves (I + D K) X = R, D = ∇²L(F). Conjugate gradients need one product K V per step.

The certificate costs one more. For any scores S, G = G(S) is dual feasible with the value
L(S) + ⟨G, S⟩ − ½⟨G, K G⟩. With S = F all that remains of the duality gap is ½⟨R, K R⟩: fine in the
end, but in stiff directions R is far from zero when A is already good. The proximal points
S = argmin ‖S − (F − κA)‖²/2κ + L(S) have multipliers G(S) = A + (S − F)/κ, close to A itself for a
large κ; they often prove ten times more. The better of both is taken.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..features.lean_operator import LeanOperator
from ..features.operators import RoundedOperator
from .directions import MAX_CG, RELAXED, Directions
from .features import FeatureDirection, has_few_features
from .iteration import Step, finish
from .lean import LeanDirection
from .preconditioners import LabelPreconditioner, LandmarkPreconditioner
from .result import Result, Trace, relative_gap

# Conjugate gradient steps at most for systems of order mq ≤ MAX_DENSE, which can be factored
# instead.
MAX_CG_IF_SMALL = 60
MAX_DENSE = 2000

# Conjugate gradients go on while a step gains more than this share of the average gain.
SHARE = 0.5

MAX_LANDMARKS = 256

# K is rounded to single precision only if its largest entry is below this and above its inverse.
MOST_ROUNDED = 1e30

# Added to K, relative to its diagonal, inside conjugate gradients only.
RIDGE = 1e-9

# κ of the certificate, relative to the diagonal of K.
KAPPA = 10.0

# The certificate is made with κ when the last step's relative decrease was below so many times tol.
CLOSE = 3.0

# That of a given start is made with κ when its gap without is below so many times tol.
PROMISING = 5.0

# A step from a gap below so many times tol is expected to be the last.
SOON = 300.0

MAX_LINE_SEARCH = 40


def newton(operator, loss, *, tol, max_iter, start=None, verbose=0):
    """Solve the problem to a relative duality gap of ``tol``.

    Parameters
    ----------
    operator, loss
        K and L.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Newton steps at most.
    start : ndarray of shape (m, q), optional
        Coefficients to start from; zero otherwise.
    verbose : int
        Print a line per step if positive.

    Returns
    -------
    Result
    """
    return finish(newton_steps(operator, loss, tol=tol, start=start, verbose=verbose), max_iter)


def newton_steps(operator, loss, *, tol, start=None, scores=None, direction=None, verbose=0):
    """Newton steps one at a time; see :mod:`.iteration` for the protocol.

    ``scores`` is K times ``start`` where that is known, if only roughly, and ``direction`` may
    serve several problems of one operator, and may work in single precision. Whatever scores were
    good enough for the steps, those of the result and its certificate are computed anew.
    """
    trace = Trace("newton", verbose)
    direction = directions(operator) if direction is None else direction
    rounded = direction.operator is not operator
    A = np.zeros(loss.shape) if start is None else start.copy()
    if scores is None:
        F = np.zeros(loss.shape) if start is None else operator.product(A)
    else:
        F = scores.copy()
    kappa = KAPPA * direction.diagonal
    iteration = 0
    previous = np.inf
    fresh, exact, last = scores is None, False, False
    # whether single precision has failed
    exacting = False
    # whether the next point is expected to be good enough, and the dual point that says so
    soon, point = False, None
    while True:
        if soon and not (exact or last):
            # a product for both, and only one, with K itself
            foreseen = point is None
            if foreseen:
                point = dual_point(
                    loss, loss.proximal_points(F, A, kappa) if direction.proximal else F
                )
            del F
            F, primal, difference = certificate(operator, loss, A, point)
            fresh, soon, point = True, False, None
            gap = relative_gap(primal, difference)
            if gap <= tol:
                trace.add(iteration, primal, difference)
                break
            # what single precision has seen is not there
            exact = not foreseen
        if exact and not fresh:
            F, fresh = operator.product(A), True
        # steps may do with less than K itself; results may not
        K = operator if exact else direction.operator
        primal, R = residual(loss, A, F)
        KR = K.product(R)
        difference = 0.5 * np.vdot(R, KR)
        if not direction.takes_product:
            KR = None
        # the last step's decrease tells how far there is to go: look closer near the end only
        if iteration == 0 and start is not None:
            close = difference <= PROMISING * tol * primal
        else:
            close = last or previous - primal <= CLOSE * tol * primal
        if difference > tol * primal and close and hasattr(loss, "proximal_points"):
            proximal = dual_point(loss, loss.proximal_points(F, A, kappa))
            other = primal - dual_value(K, proximal)
            if other < difference:
                difference, point = other, proximal
                direction.proximal = True
            del proximal
        if K is not operator:
            # rounding may take the bound beyond the value, and proves nothing
            difference = max(difference, 0.0)
        gap = relative_gap(primal, difference)
        ends = last or gap <= tol
        if ends and not (fresh and K is operator):
            soon, exact = rounded and not exact, exact or last or not rounded
            if point is None and soon:
                point = dual_point(loss, F)
            continue
        trace.add(iteration, primal, difference)
        if ends:
            break
        # accurate enough for fast convergence, but no more than the tolerance asks for
        forcing = min(0.3, max(gap**0.5, (0.1 * tol / gap) ** 0.5))
        point = None
        X, KX, n_products = direction(loss.curvature(F), R, KR, forcing)
        del R, KR
        if exact and rounded and X is not None:
            KX = operator.product(X)
        t = 0.0 if X is None else step_length(loss, F, X, KX)
        if t == 0.0:
            # rounding leaves no direction to go, perhaps only that of scores and products
            last, exact, exacting = exact or not rounded, True, True
            continue
        X *= t
        KX *= t
        A += X
        F += KX
        expected = gap <= SOON * tol
        soon = expected and rounded and not exacting
        previous, fresh, exact = primal, False, exacting or (expected and not rounded)
        del X, KX
        iteration += 1
        last = yield Step(gap, n_products)
    return Result(
        coefficients=A,
        intercept=operator.intercept * A.sum(axis=0),
        scores=F,
        primal=primal,
        difference=difference,
        n_iter=max(iteration, 1),
        converged=gap <= tol,
        trace=trace.entries,
    )


def residual(loss, A, F):
    """The primal value ½⟨A, F⟩ + L(F), and R = G(F) − A."""
    value, R = loss.evaluate(F)
    R -= A
    return value + 0.5 * np.vdot(A, F), R


class DualPoint(NamedTuple):
    """Multipliers G = G(S) of some scores S, and L(S) + ⟨G, S⟩."""

    linear: float
    multipliers: np.ndarray


def dual_point(loss, S):
    """The dual feasible point that some scores give."""
    value, G = loss.evaluate(S)
    return DualPoint(value + np.vdot(G, S), G)


def dual_value(operator, point):
    """The dual value of a point."""
    G = point.multipliers
    return point.linear - 0.5 * np.vdot(G, operator.product(G))


def certificate(operator, loss, A, point):
    """Scores and primal value of A, and its distance to the dual value of a point."""
    F, square = operator.product_and_square(A, point.multipliers)
    primal = loss.evaluate(F)[0] + 0.5 * np.vdot(A, F)
    return F, primal, primal - (point.linear - 0.5 * square)


def directions(operator, label_blocks=True, rounded=False):
    """What finds Newton directions for an operator; ``label_blocks`` as in ``Direction``.

    ``rounded`` asks for products in single precision, where K is in memory.
    """
    if has_few_features(operator):
        return FeatureDirection(operator)
    if isinstance(operator, LeanOperator):
        return LeanDirection(operator.rounded)
    if rounded and operator.matrix is not None:
        # no entry of K is larger than the largest on its diagonal
        largest = operator.diagonal().max()
        if 1.0 / MOST_ROUNDED < largest < MOST_ROUNDED:
            return Direction(RoundedOperator.of(operator), label_blocks)
    return Direction(operator, label_blocks)


class Direction(Directions):
    """Newton directions for one operator: approximate solutions of (I + D K) X = R.

    Parameters
    ----------
    operator
        K.
    label_blocks : bool
        Whether rows of R and D sum to zero, so that label blocks may serve as preconditioner.
    """

    takes_product = True

    def __init__(self, operator, label_blocks=True):
        self.operator = operator
        self.label_blocks = label_blocks
        most = min(MAX_LANDMARKS, max(100, operator.shape[0] // 3))
        # who takes the room for a rounded matrix has many systems to solve
        keep = isinstance(operator, RoundedOperator)
        self.landmarks = LandmarkPreconditioner(operator, most, keep)
        self.diagonal = self.landmarks.landmarks.diagonal
        # products that the hardest system seen through landmarks took
        self.effort = 0

    def __call__(self, curvature, R, KR, forcing):
        """X, K X and the number of products they took; X is None where rounding forbids it.

        Conjugate gradients, or a dense factorisation once the system proved too hard for them.
        R and K R are used up.
        """
        n_products = 1
        if not self.hard:
            precondition = self.preconditioner(curvature)
            # Null vectors of K are invisible to the inner product and would grow unseen.
            ridge = min(RIDGE * self.diagonal, 1e-4 / precondition.curvature)
            system = System(self.operator, curvature, ridge)
            X, KX, n_products, failed = _conjugate_gradients(system, R, KR, precondition, forcing)
            if not precondition.sharp and self.label_blocks:
                # the next system may have label blocks; this one has had its share of work
                failed = failed and n_products <= self.effort
                self.effort = max(self.effort, n_products)
            self.hard = failed
        if self.hard:
            X = _dense_solution(self.operator, curvature, R)
            KX = None if X is None else self.operator.product(X)
        return X, KX, n_products

    def preconditioner(self, curvature):
        """Label blocks where they are cheap, landmarks otherwise."""
        if self.label_blocks:
            blocks = LabelPreconditioner(self.operator, curvature.diagonal())
            if blocks.worthwhile(self.effort) and blocks.factor():
                return blocks
        self.landmarks.update(curvature.modes())
        return self.landmarks


@dataclass
class System:
    """Newton's system (I + D K) X = R, with a little added to the diagonal of K."""

    operator: Any
    curvature: Any
    ridge: float

    def product(self, V):
        """(K + ridge) V."""
        result = self.operator.product(V)
        result += self.ridge * V
        return result


def _conjugate_gradients(system, R, KR, precondition, forcing):
    """Solve (I + D K) X = R by preconditioned conjugate gradients; K R is known.

    Returns X, K X, the number of products it took, and whether the system was so hard that a dense
    factorisation is the better way.

    This is the method for the symmetric system (K⁻¹ + D) Y = R in Y = K X, whose preconditioner is
    K · precondition; K⁻¹ never appears because Y's preimage X is carried along.
    """
    small = R.size <= MAX_DENSE
    # the dense way will still need R
    r = R.copy() if small else R
    X, KX, scratch = np.zeros_like(R), np.zeros_like(R), np.empty_like(R)
    KR += system.ridge * R
    P, KP = precondition(r, system, KR)
    square = np.vdot(r, KP)
    target = (RELAXED * forcing) ** 2 * square
    gained = 0.0
    done = False
    for step in range(1, (MAX_CG_IF_SMALL if small else MAX_CG) + 1):
        Q = system.curvature.product(KP)
        Q += P
        bend = np.vdot(KP, Q)
        if bend <= 0.0:
            break
        length = square / bend
        gain = length * square
        gained += gain
        X += np.multiply(P, length, out=scratch)
        KX += np.multiply(KP, length, out=scratch)
        if done:
            break
        Q *= length
        r -= Q
        Z, KZ = precondition(r, system)
        old, square = square, np.vdot(r, KZ)
        # Seen through an average, stiff directions fill the residual, and soft ones may still hold
        # most of the decrease: go on while a step gains more than its share. The product that told
        # so is good for a last step.
        done = square <= target and (precondition.sharp or step * gain <= SHARE * gained)
        P *= square / old
        P += Z
        KP *= square / old
        KP += KZ
    KX -= system.ridge * X
    return X, KX, step + 2, small and square > target


def _dense_solution(operator, curvature, R):
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


def step_length(loss, F, X, KX):
    """Find t with a small derivative of t ↦ P(A + tX), which is convex.

    The derivative ⟨X, F + tKX⟩ − ⟨G(F + tKX), KX⟩ is increasing and piecewise linear; a safeguarded
    secant brings it down to a tenth of its first value.
    """
    linear, square = np.vdot(X, F), np.vdot(X, KX)

    def derivative(t):
        return linear + t * square - np.vdot(loss.evaluate(F + t * KX)[1], KX)

    low, low_slope, high, high_slope = 0.0, derivative(0.0), None, None
    if low_slope >= 0.0:
        return 0.0
    wanted = -0.1 * low_slope
    t = 1.0
    for _ in range(MAX_LINE_SEARCH):
        slope = derivative(t)
        if abs(slope) <= wanted:
            break
        if slope < 0.0:
            low, low_slope = t, slope
        else:
            high, high_slope = t, slope
        if high is None:
            t *= 2.0
        else:
            t = low + (high - low) * min(0.9, max(0.1, low_slope / (low_slope - high_slope)))
    return t
