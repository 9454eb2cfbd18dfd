"""Crammer and Singer's machine, solved to a certified gap whatever C is.

LIBLINEAR's solver, which scikit-learn has, goes from row to row and stops after 100 000 passes
wherever it is: where classes overlap and C is large, minutes later and far from the optimum.
"""

import itertools
import warnings
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

# The first smoothing in units of the rows' mean squared length; what it is divided by after a
# proximal step of at most so many Newton steps.
FIRST = 1.0
FALLS = {1: 10.0, 3: 3.0, 8: 1.5}
# A proximal step ends when the squared gradient is below this share of σ‖S − S̄‖².
INNER = 0.5
# Line searches: share of the first slope that may be left, and points to try at most.
SLOPE = 0.5
MOST_POINTS = 60


class CrammerSinger(ClassifierMixin, BaseEstimator):
    """scikit-learn's ``LinearSVC(multi_class="crammer_singer")``, by Newton's method.

    With a constant feature in X, E_il = [l = y_i] and Δ = 1 − E it solves ::

        primal   min_W  ½‖W‖² + C Σ_i max_l (Δ_il + f_il − f_iy),   F = X W
        dual     max_S  ⟨S, Δ⟩ − ½‖Xᵀ(S − C E)‖²,   rows of S in C times the simplex

    by proximal steps on S with ever less smoothing σ. Each minimises over W ::

        ½‖W‖² − C⟨E, F⟩ + Σ_i max_s ⟨s, Δ_i + f_i⟩ − σ/2 ‖s − s̄_i‖²

    by Newton's method. The maximiser is the projection of s̄ + (Δ + f)/σ, the Hessian
    I + Σ_i x_i x_iᵀ ⊗ P_i / σ, where P_i subtracts the mean over the classes with s > 0. At W and S

        primal − dual = ½‖W + Xᵀ(S − C E)‖² + Σ_il s_il (max_j (Δ_ij + f_ij) − Δ_il − f_il).

    Made for few weights (features times classes): their Hessian is factored.

    Parameters
    ----------
    C : float, default=1.0
        Weight of a row's loss.
    tol : float, default=1e-3
        Relative duality gap.
    max_iter : int, default=1000
        Newton steps at most.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
    weights_ : ndarray of shape (d + 1, k)
        W; its last row are the intercepts.
    objective_ : float
    dual_gap_ : float
        Relative to the objective.
    n_iter_ : int
        Newton steps.
    """

    def __init__(self, C=1.0, tol=1e-3, max_iter=1000):
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X, y):
        """Learn from dense rows X and their classes y."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        X = with_constant(X)
        own = np.eye(len(self.classes_))[codes]
        smoothing = FIRST * np.mean(np.einsum("ij,ij->i", X, X))
        smooth = Smooth(X, own, self.C, smoothing, self.C * own)
        point = smooth.at(np.zeros((X.shape[1], own.shape[1])), np.zeros(own.shape))
        n_inner = 0
        for step in range(self.max_iter + 1):
            objective, of_weights, of_rows = smooth.certificate(point)
            gap = of_weights + of_rows
            if gap <= self.tol * objective or step == self.max_iter:
                break
            if smooth.solved(point):
                smooth, n_inner = smooth.following(point, n_inner), 0
                point = smooth.at(point.W, point.scores)
            point = smooth.newton_step(point)
            n_inner += 1
        self.weights_ = point.W
        self.objective_ = objective
        self.dual_gap_ = gap / objective
        self.n_iter_ = step
        if self.dual_gap_ > self.tol:
            warnings.warn(
                f"CrammerSinger ended at a relative gap of {self.dual_gap_:.1e} after {step} "
                f"Newton steps, above tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def predict(self, X):
        """The class with the highest score."""
        check_is_fitted(self)
        return self.classes_[np.argmax(with_constant(X) @ self.weights_, axis=1)]


def with_constant(X):
    """Dense rows with a last feature of ones."""
    X = np.asarray(X, dtype=np.float64)
    return np.hstack([X, np.ones((len(X), 1))])


class Point(NamedTuple):
    """Weights, their scores, the multipliers S and the gradient of the smooth function there."""

    W: np.ndarray
    scores: np.ndarray
    multipliers: np.ndarray
    gradient: np.ndarray


class Smooth(NamedTuple):
    """The smooth function of one proximal step.

    Attributes
    ----------
    X : ndarray of shape (m, d)
    own : ndarray of shape (m, k)
        E.
    C : float
    smoothing : float
        σ.
    centre : ndarray of shape (m, k)
        S̄.
    """

    X: np.ndarray
    own: np.ndarray
    C: float
    smoothing: float
    centre: np.ndarray

    def solved(self, point):
        """Whether the gradient is small against what the multipliers moved."""
        moved = point.multipliers - self.centre
        squared = np.vdot(point.gradient, point.gradient)
        return squared <= INNER * self.smoothing * np.vdot(moved, moved)

    def following(self, point, n_steps):
        """The function of the next proximal step, after one of so many Newton steps."""
        fall = next((fall for most, fall in FALLS.items() if n_steps <= most), 1.0)
        return self._replace(smoothing=self.smoothing / fall, centre=point.multipliers)

    def at(self, W, scores):
        S = self.multipliers(scores)
        return Point(W, scores, S, W + self.X.T @ (S - self.C * self.own))

    def multipliers(self, scores):
        return project(self.centre + (scores + 1.0 - self.own) / self.smoothing, self.C)

    def certificate(self, point):
        """The objective, and the two parts of the duality gap: of weights and of rows."""
        losses = point.scores + 1.0 - self.own
        worst = losses.max(axis=1, keepdims=True)
        objective = 0.5 * np.vdot(point.W, point.W)
        objective += self.C * (worst.sum() - np.vdot(self.own, point.scores))
        of_rows = np.vdot(point.multipliers, worst - losses)
        return objective, 0.5 * np.vdot(point.gradient, point.gradient), of_rows

    def newton_step(self, point):
        """The point after a Newton step, or less of it where the function rises again before."""
        direction = -self.inverse_hessian(point)
        change = self.X @ direction
        squared, linear = np.vdot(direction, direction), np.vdot(direction, point.W)

        def slope(length):
            S = self.multipliers(point.scores + length * change)
            return linear + length * squared + np.vdot(S - self.C * self.own, change)

        length = step_length(slope, np.vdot(direction, point.gradient))
        return self.at(point.W + length * direction, point.scores + length * change)

    def inverse_hessian(self, point):
        """The inverse Hessian times the gradient."""
        d, k = point.W.shape
        supported = point.multipliers > 0.0
        counts = supported.sum(axis=1)
        mixed = counts > 1
        supported = supported[mixed]
        scaled = self.X[mixed] / np.sqrt(self.smoothing * counts[mixed])[:, None]
        H = np.zeros((k, d, k, d))
        for p, q in itertools.combinations(range(k), 2):
            both = scaled[supported[:, p] & supported[:, q]]
            block = both.T @ both
            H[p, :, q] = H[q, :, p] = -block
            # rows of P_i add up to zero
            H[p, :, p] += block
            H[q, :, q] += block
        H = H.reshape(k * d, k * d)
        H[np.diag_indices(k * d)] += 1.0
        factor = cho_factor(H, overwrite_a=True, check_finite=False)
        return cho_solve(factor, point.gradient.T.ravel()).reshape(k, d).T


def step_length(slope, first):
    """1 if a convex function falls that far, else about where its slope is zero.

    By false position, the slope at the end that stays being halved so that it does not stay for
    long. Where few rows bend the function, a Newton step leads far beyond the others' bends, and
    trying shorter ones until the value falls leaves most of the gain.
    """
    enough = -SLOPE * first
    low, high, length = (0.0, first), (1.0, slope(1.0)), 1.0
    if high[1] <= enough:
        return length
    for _ in range(MOST_POINTS):
        width = high[0] - low[0]
        guess = low[0] - low[1] * width / (high[1] - low[1])
        length = min(max(guess, low[0] + 0.02 * width), high[0] - 0.1 * width)
        found = slope(length)
        if abs(found) <= enough:
            break
        if found > 0.0:
            low, high = (low[0], 0.5 * low[1]), (length, found)
        else:
            low, high = (length, found), (high[0], 0.5 * high[1])
    return length


def project(V, total):
    """The nearest points of ``total`` times the simplex to the rows of V."""
    ordered = -np.sort(-V, axis=1)
    means = (np.cumsum(ordered, axis=1) - total) / np.arange(1, V.shape[1] + 1)
    n_positive = np.sum(ordered > means, axis=1)
    return np.maximum(V - means[np.arange(len(V)), n_positive - 1][:, None], 0.0)
