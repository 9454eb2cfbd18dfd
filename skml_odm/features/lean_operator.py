"""K in single precision for steps; in double precision, computed anew, for what proves them right.

Where labels are many, a solver's arrays of rows and labels take as much memory as K. This operator
leaves room for them: it takes half a kernel matrix.
"""

from copy import copy

import numpy as np

from .operators import ChunkedOperator, RoundedOperator

# A strip of K has this share of its rows, but not fewer than so many.
SHARE = 16
FEWEST = 32


class LeanOperator(ChunkedOperator):
    """A kernel matrix that is rounded for steps, and computed anew for ``product``.

    All but ``product`` and ``product_and_square`` comes from the rounded matrix.

    Parameters
    ----------
    kernel : Kernel
        A positive semidefinite one.
    X : ndarray or CSR of shape (m, d)
    intercept : float or bool

    Attributes
    ----------
    rounded : RoundedOperator
    """

    def __init__(self, kernel, X, intercept):
        super().__init__(kernel, X, intercept, room=0.0)
        self.constant = None
        matrix = np.empty(self.shape, dtype=np.float32)
        for rows, strip in self._strips():
            if self.constant is None:
                # near the mean, but a semidefinite part of K
                self.constant = max(strip.mean(), 0.0)
            strip -= self.constant
            matrix[rows, : rows.stop] = strip
            matrix[: rows.start, rows] = strip[:, : rows.start].T
        self.rounded = RoundedOperator(matrix, self.constant, self.intercept)

    def _strips(self):
        return self.kernel.strips(self.X, max(FEWEST, -(-self.shape[0] // SHARE)))

    def product(self, V):
        return self.product_and_square(V, None)[0]

    def product_and_square(self, V, W):
        result, square = np.zeros(V.shape), 0.0
        for rows, strip in self._strips():
            result[rows] += strip @ V[: rows.stop]
            before = strip[:, : rows.start]
            result[: rows.start] += before.T @ V[rows]
            if W is not None:
                corner = strip[:, rows.start :]
                square += 2.0 * np.vdot(before @ W[: rows.start], W[rows])
                square += np.vdot(corner @ W[rows], W[rows])
        if self.intercept:
            result += self.intercept * V.sum(axis=0)
            if W is not None:
                square += self.intercept * np.sum(W.sum(axis=0) ** 2)
        return result, square

    def with_intercept(self, intercept):
        other = copy(self)
        other.intercept = float(intercept)
        other.rounded = RoundedOperator(self.rounded.matrix, self.constant, other.intercept)
        return other

    def product_rows(self, rows, V):
        return self.rounded.product_rows(rows, V) + self.constant * V.sum(axis=0)

    def spread(self, rows, V):
        return self.rounded.spread(rows, V) + self.constant * V.sum(axis=0)

    def gram(self, rows):
        return self.rounded.gram(rows) + self.constant

    def column(self, i):
        return self.rounded.column(i) + self.constant

    def diagonal(self):
        return self.rounded.diagonal() + self.constant
