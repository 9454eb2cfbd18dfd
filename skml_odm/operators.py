"""The map V ↦ K V behind a solver: all it knows of the features.

Every operator offers the same few things, and no solver needs more:

``product(V)``
    K V.
``product_rows(rows, V)``, ``spread(rows, V)``, ``gram(rows)``
    K[rows, :] V, K[:, rows] V and K[rows, rows] for a slice of rows, without the intercept.
``column(i)``, ``diagonal()``
    K[:, i] and the diagonal of K, without the intercept.
``follow(A)``
    an object that knows the scores of a few rows while A changes.
``matrix``
    K itself, without the intercept, or None where it is not in memory.
``by_rows``
    whether rows are best visited one at a time: true for sparse features, which have no fast
    products of panels.
``shape``, ``intercept``
    (m, m), and the constant added to K in ``product``: 1 is a bias per label, regularised like the
    other weights, 0 none.
``with_intercept(intercept)``
    the same K with another constant.
"""

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

# One BLAS call does about this many multiplications, so that Ctrl-C is noticed soon.
WORK_PER_CALL = 4_000_000_000


class KernelOperator:
    """A kernel matrix in memory.

    Parameters
    ----------
    matrix : ndarray of shape (m, m)
        Symmetric and positive semidefinite; never written to.
    intercept : float or bool
    """

    by_rows = False

    def __init__(self, matrix, intercept):
        self.matrix = matrix
        self.shape = matrix.shape
        self.intercept = float(intercept)

    def product(self, V):
        result = np.empty_like(V)
        step = max(1, WORK_PER_CALL // max(1, self.shape[1] * V.shape[1]))
        for start in range(0, self.shape[0], step):
            np.matmul(self.matrix[start : start + step], V, out=result[start : start + step])
        if self.intercept:
            result += self.intercept * V.sum(axis=0)
        return result

    def product_rows(self, rows, V):
        return self.matrix[rows] @ V

    def spread(self, rows, V):
        return self.matrix[rows].T @ V

    def gram(self, rows):
        return np.ascontiguousarray(self.matrix[rows, rows])

    def with_intercept(self, intercept):
        return KernelOperator(self.matrix, intercept)

    def column(self, i):
        return self.matrix[i]

    def diagonal(self):
        return self.matrix.diagonal()

    def follow(self, A):
        return _KernelFollower(self, A)


class _KernelFollower:
    """Scores by rows of the matrix; nothing needs to be kept up to date."""

    def __init__(self, operator, A):
        self.operator = operator
        self.A = A

    def scores(self, rows):
        return self.operator.product_rows(rows, self.A)

    def changed(self, rows, before):
        pass


class LinearOperator:
    """The linear kernel X Xᵀ, dense or CSR, without ever forming an m × m matrix.

    Parameters
    ----------
    X : ndarray or CSR of shape (m, d)
    intercept : float or bool
    """

    def __init__(self, X, intercept):
        self.X = X
        self.by_rows = sparse.issparse(X)
        self.matrix = None
        self.shape = (X.shape[0], X.shape[0])
        self.intercept = float(intercept)

    def weights(self, A):
        """The primal weights Xᵀ A (features × labels)."""
        return self.X.T @ A

    def product(self, V):
        result = self.X @ self.weights(V)
        if self.intercept:
            result += self.intercept * V.sum(axis=0)
        return result

    def product_rows(self, rows, V):
        return self.X[rows] @ self.weights(V)

    def spread(self, rows, V):
        return self.X @ (self.X[rows].T @ V)

    def gram(self, rows):
        X = self.X[rows]
        gram = X @ X.T
        return gram if isinstance(gram, np.ndarray) else gram.toarray()

    def with_intercept(self, intercept):
        return LinearOperator(self.X, intercept)

    def column(self, i):
        row = self.X[i]
        return self.X @ (row if isinstance(row, np.ndarray) else row.toarray().ravel())

    def diagonal(self):
        return row_norms(self.X, squared=True)

    def follow(self, A):
        return _LinearFollower(self, A)


class _LinearFollower:
    """Scores by explicit weights, updated with every change."""

    def __init__(self, operator, A):
        self.X = operator.X
        self.A = A
        self.weights = operator.weights(A)

    def scores(self, rows):
        return self.X[rows] @ self.weights

    def changed(self, rows, before):
        self.weights += self.X[rows].T @ (self.A[rows] - before)
