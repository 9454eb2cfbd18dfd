"""The problem of mcODM: margins of several classes, a convex majorant, and its dual point.

With the margin γ_i = f_iy − max_{l≠y} f_il of row i and its weight c_i, the objective

    J = ½‖W‖² + Σ_i c_i [ ½(lower − γ_i)₊² + ½μ(γ_i − upper)₊² ]

is not convex, for the second term is not. Given a point W̄, let r_i be the *rival* of row i: the
class other than y_i that scores highest there. As f_ir ≤ max f_il,

    Q(W) = ½‖W‖² + Σ_i c_i [ ½(lower − γ_i)₊² + ½μ(f_iy − f_ir − upper)₊² ]

is convex, nowhere below J, and equal to J at W̄: whatever lowers Q lowers J. Paper 004 has a fixed
number, max_l f̄_il, in place of f_ir. That is no majorant, and where it comes to rest the gradient
of J lacks the part of the rival.

A dual point of Q at a W where Q = J proves that the next outer step cannot lower the objective by
more than the duality gap. This is the certificate: W is, up to the gap, a stationary point.
"""

import numpy as np

from ._class_smoothing import add_curvature, apply_curvature, curvature_diagonal
from ._classes import Blocks


class ClassProblem(Blocks):
    """The losses of all rows, with a dual point: coefficients A and multipliers β (``over``).

    Both are zero at first. ``certify(scores)`` is the loss of the rows and what they add to the
    duality gap; ``set_rivals(scores)`` makes Q touch J.

    Parameters
    ----------
    label : array of shape (m,)
        Class numbers.
    weight : array of shape (m,)
        c; positive.
    diagonal : ndarray of shape (m,)
        ‖φ(x_i)‖².
    n_classes : int
    lower, upper, mu : float
    moving : bool, default=True
        Whether the rival is a class, and not a number as in paper 004.
    """

    def __init__(self, label, weight, diagonal, n_classes, *, lower, upper, mu, moving=True):
        label = np.ascontiguousarray(label, dtype=np.intc)
        weight = np.array(weight, dtype=np.float64)
        super().__init__(label, weight, diagonal, n_classes, lower, upper, mu, moving)

    @property
    def dual(self):
        """The dual point and the rivals that it belongs to, as copies; it can be put back."""
        parts = self.coefficients, self.over, self.rival, self.level
        return tuple(np.array(part) for part in parts)

    @dual.setter
    def dual(self, parts):
        self.coefficients, self.over, self.rival, self.level = (part.copy() for part in parts)


class Curvature:
    """H, the second derivatives of the smooth losses where ``smooth_step`` has put the problem."""

    def __init__(self, problem, smoothing):
        self.problem, self.smoothing = problem, smoothing

    def product(self, change):
        """H times a change of the scores."""
        result = np.empty_like(change)
        apply_curvature(self.problem, change, self.smoothing, result)
        return result

    def diagonals(self):
        """The diagonals of the rows' blocks of H (rows × classes)."""
        result = np.empty(self.problem.coefficients.shape)
        curvature_diagonal(self.problem, self.smoothing, result)
        return result

    def add_to(self, matrix, X, first):
        """Add Σ_i H_i ⊗ x_i x_iᵀ (classes × features, twice) for rows X, the first being ``first``.

        Only the lower half of the matrix.
        """
        k, size = matrix.shape[:2]
        grams = np.zeros((k, k, size, size))
        add_curvature(self.problem, self.smoothing, X, first, grams)
        for p in range(k):
            for q in range(p):
                gram = grams[p, q] + grams[q, p]
                gram += np.tril(gram, -1).T
                matrix[p, :, p, :] += gram
                matrix[q, :, q, :] += gram
                matrix[p, :, q, :] -= gram
