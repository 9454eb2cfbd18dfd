"""One matrix of all rows, from which the kernel matrices of every fold and γ are made.

Kernels are functions of inner products (rbf, poly, sigmoid, cosine) or of Manhattan distances
(laplacian). Computing these is the part of a kernel matrix that grows with the number of features;
it is done once for all folds and parameters.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import manhattan_distances

from ..features._gram import gaussian_rows
from ..features.kernels import check_distances

# which matrix a kernel is a function of
SOURCES = {
    "rbf": "centred products",
    "poly": "products",
    "sigmoid": "products",
    "cosine": "products",
    "laplacian": "distances",
}


def source_matrix(source, X):
    """The matrix of all rows that some kernels are functions of."""
    if source == "distances":
        return manhattan_distances(X)
    if source == "centred products" and not sparse.issparse(X):
        # keeps distances of rows that are far from the origin from being lost in rounding
        X = X - X.mean(axis=0)
    matrix = X @ X.T
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@dataclass
class FoldMatrices:
    """Kernel matrices of a fold, made from those of all rows.

    Parameters
    ----------
    sources : dict
        Matrices by the values of ``SOURCES``.
    train, test : ndarray of int
    """

    sources: dict
    train: np.ndarray
    test: np.ndarray

    def supports(self, kernel):
        """Whether a kernel's values can be made."""
        return isinstance(kernel.kind, str) and SOURCES.get(kernel.kind) in self.sources

    def training(self, kernel):
        """Kernel values among the training rows."""
        return self._values(kernel, self.train)

    def between(self, kernel):
        """Kernel values between the test rows and the training rows."""
        return self._values(kernel, self.test)

    def _values(self, kernel, rows):
        matrix = self.sources[SOURCES[kernel.kind]]
        # faster than both at once
        values = matrix.take(rows, axis=0).take(self.train, axis=1)
        if kernel.kind == "laplacian":
            values *= -kernel.gamma
            return np.exp(values, out=values)
        if kernel.kind in ("poly", "sigmoid"):
            values *= kernel.gamma
            values += kernel.coef0
            if kernel.kind == "poly":
                return np.power(values, kernel.degree, out=values)
            return np.tanh(values, out=values)
        squares = matrix.diagonal()
        if kernel.kind == "cosine":
            norms = np.sqrt(squares)
            norms[norms == 0.0] = 1.0
            values /= norms[rows][:, None]
            values /= norms[self.train]
            return values
        check_distances(squares, kernel.gamma)
        if rows is self.train:
            gaussian_rows(values, np.ascontiguousarray(squares[rows]), 0, kernel.gamma)
            return values
        values *= -2.0
        values += squares[rows][:, None]
        values += squares[self.train]
        np.maximum(values, 0.0, out=values)
        values *= -kernel.gamma
        return np.exp(values, out=values)
