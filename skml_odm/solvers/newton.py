"""Newton's method in function space.

    min_A  P(A) = ½⟨A, K A⟩ + L(K A)

A is optimal exactly when A = G(K A), G = −∇L. With F = K A and the residual R = G(F) − A the Newton
direction solves (I + D K) X = R, D = ∇²L(F), by conjugate gradients (:mod:`.directions`).

The certificate costs one product with K. For any scores S, G = G(S) is dual feasible with the value
L(S) + ⟨G, S⟩ − ½⟨G, K G⟩. With S = F all that remains of the duality gap is ½⟨R, K R⟩: fine in the
end, but in stiff directions R is far from zero when A is already good. The proximal points
S = argmin ‖S − (F − κA)‖²/2κ + L(S) have multipliers G(S) = A + (S − F)/κ, close to A itself for a
large κ; they often prove ten times more. The better of both bounds is taken.
"""

import numpy as np

from .directions import directions
from .iteration import Step, finish
from .result import Result, Trace, relative_gap

# κ of the certificate, relative to the diagonal of K.
KAPPA = 10.0

# Proximal points are tried where the last step, or what is left by the other bound, is below so
# many times the tolerance: earlier they cost a product and prove nothing.
NEAR = 4.0

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

    ``scores`` is K times ``start`` where that is known, and ``direction`` may serve several
    problems of one operator. The scores of the result and its certificate are computed anew.
    """
    trace = Trace("newton", verbose)
    if direction is None:
        direction = directions(operator, zero_sums=getattr(loss, "zero_sums", False))
    A = np.zeros(loss.shape) if start is None else start.copy()
    if scores is not None:
        F = scores.copy()
    else:
        F = operator.product(A) if A.any() else np.zeros(loss.shape)
    is_fresh = scores is None
    iteration, previous, last = 0, np.inf, False
    while True:
        primal, R = residual(loss, A, F)
        KR = operator.product(R)
        # below zero it is rounding, and what is lost is at least as much
        difference = abs(0.5 * np.vdot(R, KR))
        enough = tol * primal
        is_near = last or min(previous - primal, difference) <= NEAR * enough
        if difference > enough and is_near and hasattr(loss, "proximal_points"):
            points = loss.proximal_points(F, A, KAPPA * direction.diagonal)
            other = primal - dual_value(operator, loss, points)
            # a bound above the value is rounding, and proves nothing
            if -1e-8 * primal <= other < difference:
                difference = max(other, 0.0)
        gap = relative_gap(primal, difference)
        if last or gap <= tol:
            if is_fresh:
                break
            F, is_fresh = operator.product(A), True
            continue
        trace.add(iteration, primal, difference)
        # accurate enough for fast convergence, but no more than the tolerance asks for
        forcing = min(0.1, max(gap**0.5, (0.1 * tol / gap) ** 0.5))
        X, KX, n_products = direction(loss.curvature(F), R, KR, forcing)
        t = 0.0 if X is None else step_length(loss, F, X, KX)
        if t == 0.0:
            # rounding leaves no direction to go, perhaps only that of updated scores
            last = is_fresh
            F, is_fresh = operator.product(A), True
            continue
        A += t * X
        F += t * KX
        previous, is_fresh = primal, False
        iteration += 1
        last = yield Step(gap, n_products)
    trace.add(iteration, primal, difference)
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


def dual_value(operator, loss, scores):
    """The dual value of the multipliers G(S) of some scores S."""
    value, G = loss.evaluate(scores)
    return value + np.vdot(G, scores) - 0.5 * np.vdot(G, operator.product(G))


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
