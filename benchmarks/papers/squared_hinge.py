"""Linear SVMs of many dichotomies of the same rows, for ever larger C."""

import warnings

import numpy as np
from scipy.linalg.blas import dsymv, dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs
from sklearn.exceptions import ConvergenceWarning

from .crammer_singer import step_length

# Newton steps at most, for one C.
MOST_STEPS = 500
# Rows that may come and go before a Hessian is factored anew.
FEW_ROWS = 60
# What may be left of a linear system's right side.
RESIDUAL = 0.1


class SquaredHinges:
    """The problem of scikit-learn's ``LinearSVC``, of many columns of signs, by Newton's method.

    For signs y it is ::

        primal   min_w  ½‖w‖² + C Σ_i ξ_i²,    ξ_i = max(0, 1 − y_i ⟨w, x_i⟩)
        dual     max_α  Σ_i α_i − ½‖Σ_i α_i y_i x_i‖² − Σ_i α_i² / 4C,    α ≥ 0

    At α = 2C ξ the duality gap is half the squared length of the gradient. The Hessian,
    I + 2C Σ x_i x_iᵀ over the rows with ξ_i > 0, hardly changes from step to step, nor from C to C.

    Parameters
    ----------
    X : ndarray of shape (m, d)
    signs : ndarray of shape (n, m)
        1 or -1, one row for each problem.
    weights : ndarray of shape (n, d)
        Where to begin.

    Attributes
    ----------
    weights : ndarray of shape (n, d)
    objectives, gaps : ndarray of shape (n,)
        Of the last C; gaps relative to objectives.
    n_steps : int
        Newton steps so far, of all problems together.
    """

    def __init__(self, X, signs, weights):
        self.X = X
        self.signs = signs
        self.weights = np.array(weights)
        self.scores = self.weights @ X.T
        self.curvatures = [Curvature(X) for _ in signs]
        self.objectives = np.zeros(len(signs))
        self.gaps = np.zeros(len(signs))
        self.n_steps = 0

    def solve(self, C, tol=1e-3):
        """Go on from the present weights until every relative gap is at most tol."""
        live = np.arange(len(self.signs))
        for step in range(MOST_STEPS + 1):
            W = self.weights[live]
            slacks = np.maximum(0.0, 1.0 - self.signs[live] * self.scores[live])
            gradients = W - 2.0 * C * (self.signs[live] * slacks) @ self.X
            objectives = 0.5 * squares(W) + C * squares(slacks)
            gaps = 0.5 * squares(gradients) / objectives
            self.objectives[live], self.gaps[live] = objectives, gaps
            ahead = gaps > tol
            live, slacks, gradients = live[ahead], slacks[ahead], gradients[ahead]
            if not len(live) or step == MOST_STEPS:
                break
            self._newton_steps(live, slacks, gradients, C)
        if len(live):
            warnings.warn(
                f"{len(live)} problems ended at relative gaps of up to {self.gaps.max():.1e} after "
                f"{MOST_STEPS} Newton steps with C={C:g}, above tol={tol:g}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def of_rows(self, rows):
        """The same problems on some of the rows, from the present weights on."""
        part = SquaredHinges(self.X[rows], self.signs[:, rows], self.weights)
        part.curvatures = [curvature.of_rows(rows, part.X) for curvature in self.curvatures]
        return part

    def _newton_steps(self, live, slacks, gradients, C):
        directions = np.array(
            [
                self.curvatures[j].solve(slack > 0.0, C, -gradient)
                for j, slack, gradient in zip(live, slacks, gradients, strict=True)
            ]
        )
        changes = directions @ self.X.T
        firsts = np.einsum("ij,ij->i", directions, gradients)
        for j, direction, change, first in zip(live, directions, changes, firsts, strict=True):
            length = step_length(self._slope(j, direction, change, C), first)
            self.weights[j] += length * direction
            self.scores[j] += length * change
        self.n_steps += len(live)

    def _slope(self, j, direction, change, C):
        """The derivative of problem j's objective along a direction, as a function of the step."""
        linear, squared = direction @ self.weights[j], direction @ direction
        margins, gains = 1.0 - self.signs[j] * self.scores[j], self.signs[j] * change

        def slope(length):
            slacks = np.maximum(0.0, margins - length * gains)
            return linear + length * squared - 2.0 * C * (slacks @ gains)

        return slope


class Curvature:
    """The Hessian of one problem, factored for some rows; other rows are told by difference."""

    def __init__(self, X):
        self.X = X
        self.gram = np.zeros((X.shape[1], X.shape[1]), order="F")
        self.active = np.zeros(len(X), dtype=bool)
        self.C = 0.0
        self.factor = None

    def of_rows(self, rows, X):
        """That of some of the rows, whose features are X; not factored yet."""
        part = Curvature(X)
        part.gram, part.active = self.gram.copy(order="F"), self.active[rows]
        others = self.active.copy()
        others[rows] = False
        part.gram = added(part.gram, self.X[others], -1.0)
        return part

    def solve(self, active, C, right):
        """x with (I + 2C Σ x_i x_iᵀ) x = right, the sum over active rows."""
        right = right / (2.0 * C)
        new, old = self.X[active & ~self.active], self.X[self.active & ~active]
        n_changed = len(new) + len(old)
        if self.C == C and n_changed <= FEW_ROWS:
            x = self._by_difference(np.vstack([new, old]), len(new), right)
            if x is not None:
                return x
        if n_changed < np.count_nonzero(active):
            self.gram = added(added(self.gram, new, 1.0), old, -1.0)
        else:
            self.gram = added(np.zeros_like(self.gram), self.X[active], 1.0)
        self.active, self.C = active, C
        hessian = self.gram.copy(order="F")
        hessian[np.diag_indices_from(hessian)] += 0.5 / C
        self.factor, failed = dpotrf(hessian, overwrite_a=True, clean=False)
        if failed:
            raise np.linalg.LinAlgError(f"Hessian of C={C:g} is not positive definite in rounding")
        return dpotrs(self.factor, right)[0]

    def _by_difference(self, rows, n_added, right):
        """Woodbury's formula; None where rounding spoils it, as for the only row of a direction."""
        if not len(rows):
            return dpotrs(self.factor, right)[0]
        signs = np.where(np.arange(len(rows)) < n_added, 1.0, -1.0)
        solved = dpotrs(self.factor, np.column_stack([right, rows.T]))[0]
        x, inverse = solved[:, 0], solved[:, 1:]
        try:
            x = x - inverse @ np.linalg.solve(np.diag(signs) + rows @ inverse, rows @ x)
        except np.linalg.LinAlgError:
            return None
        left = dsymv(1.0, self.gram, x) + x * (0.5 / self.C) + rows.T @ (signs * (rows @ x))
        solves = squares(left - right) <= RESIDUAL**2 * squares(right)
        return x if solves and x @ right > 0.0 else None


def added(gram, rows, sign):
    """A matrix of products, its upper triangle, with the products of more rows or without them."""
    return dsyrk(sign, rows.T, 1.0, gram, overwrite_c=True) if len(rows) else gram


def squares(A):
    """The squared lengths of vectors, along the last axis."""
    return np.einsum("...j,...j->...", A, A)
