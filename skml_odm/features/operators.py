"""The map V ↦ K V behind a solver: all it knows of the features.

Every operator offers the same few things, and no solver needs more:

``product(V)``
    K V.
``product_rows(rows, V)``, ``spread(rows, V)``, ``gram(rows)``
    K[rows, :] V, K[:, rows] V and K among the rows, for a slice or an array of row numbers, without
    the intercept.
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
``among(rows)``
    the same of these rows alone, an array of rising row numbers.
"""

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

# One BLAS call does about this many multiplications, so that Ctrl-C is noticed soon.
WORK_PER_CALL = 4_000_000_000

# With few columns, BLAS is faster with whole groups of so many, even if some of them are zero.
GROUP = 8
FEW_COLUMNS = 24

# Rows of a kernel matrix that are computed at a time.
CHUNK_ROWS = 256


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
        self._intercepts = np.full(self.shape[0], self.intercept)

    def product(self, V):
        result = self._product(V)
        if self.intercept:
            # faster than by sum
            result += self._intercepts @ V
        return result

    def _product(self, V):
        """K V without the intercept; few columns as (Vᵀ K)ᵀ, which BLAS does faster."""
        m, q = V.shape
        step = max(1, WORK_PER_CALL // max(1, V.size))
        if q >= FEW_COLUMNS:
            result = np.empty_like(V)
            for start in range(0, m, step):
                rows = slice(start, start + step)
                np.matmul(self.matrix[rows], V, out=result[rows])
            return result
        left = np.zeros((-(-q // GROUP) * GROUP, m), dtype=V.dtype)
        left[:q] = V.T
        result = np.empty_like(left)
        for start in range(0, m, step):
            columns = slice(start, start + step)
            np.matmul(left, self.matrix[:, columns], out=result[:, columns])
        return np.ascontiguousarray(result[:q].T)

    def product_rows(self, rows, V):
        return self.matrix[rows] @ V

    def spread(self, rows, V):
        return self.matrix[rows].T @ V

    def gram(self, rows):
        if isinstance(rows, slice):
            return np.ascontiguousarray(self.matrix[rows, rows])
        return self.matrix[np.ix_(rows, rows)]

    def with_intercept(self, intercept):
        return KernelOperator(self.matrix, intercept)

    def among(self, rows):
        return KernelOperator(self.gram(rows), self.intercept)

    def column(self, i):
        return self.matrix[i]

    def diagonal(self):
        return self.matrix.diagonal()

    def follow(self, A):
        return _KernelFollower(self, A)


class ChunkedOperator:
    """A kernel matrix that is too large to be kept: its rows are computed when they are needed.

    The first rows are kept as far as there is room. Of the others, a product needs the part below
    the diagonal only.

    Parameters
    ----------
    kernel : Kernel
        A positive semidefinite one.
    X : ndarray or CSR of shape (m, d)
    intercept : float or bool
    room : float
        Bytes for the rows that are kept.
    kept : ndarray, optional
        These rows, where they are known.
    """

    by_rows = False
    matrix = None

    def __init__(self, kernel, X, intercept, room, kept=None):
        self.kernel, self.X, self.room = kernel, X, room
        m = X.shape[0]
        self.shape = (m, m)
        self.intercept = float(intercept)
        n_kept = min(m, int(room // (8 * m)))
        if kept is None:
            kernel.check(X)
            kept = np.empty((n_kept, m))
            for rows in self._chunks(0, n_kept):
                kept[rows] = self._values(rows, slice(None))
        self.kept = kept

    def _chunks(self, first, stop):
        for start in range(first, stop, CHUNK_ROWS):
            yield slice(start, min(start + CHUNK_ROWS, stop))

    def _values(self, rows, columns):
        """Kernel values between two parts of the rows."""
        return self.kernel.between(self.X[rows], self.X[columns])

    def _rows(self, rows):
        """K[rows, :], of not too many rows."""
        rows = np.arange(self.shape[0])[rows]
        known = rows < len(self.kept)
        if known.all():
            return self.kept[rows]
        result = np.empty((len(rows), self.shape[1]))
        result[known] = self.kept[rows[known]]
        new = rows[~known]
        result[np.ix_(~known, np.arange(len(self.kept)))] = self.kept[:, new].T
        later = slice(len(self.kept), None)
        result[np.ix_(~known, np.arange(self.shape[1])[later])] = self._values(new, later)
        return result

    def product(self, V):
        n_kept, m = len(self.kept), self.shape[0]
        result = np.empty_like(V)
        np.matmul(self.kept, V, out=result[:n_kept])
        np.matmul(self.kept[:, n_kept:].T, V[:n_kept], out=result[n_kept:])
        for rows in self._chunks(n_kept, m):
            values = self._values(rows, slice(n_kept, rows.stop))
            result[rows] += values @ V[n_kept : rows.stop]
            before = slice(n_kept, rows.start)
            result[before] += values[:, : rows.start - n_kept].T @ V[rows]
        if self.intercept:
            result += self.intercept * V.sum(axis=0)
        return result

    def product_rows(self, rows, V):
        numbers = np.arange(self.shape[0])[rows]
        parts = [self._rows(numbers[part]) @ V for part in self._chunks(0, len(numbers))]
        return np.concatenate(parts)

    def spread(self, rows, V):
        numbers = np.arange(self.shape[0])[rows]
        result = np.zeros((self.shape[0], V.shape[1]))
        for part in self._chunks(0, len(numbers)):
            result += self._rows(numbers[part]).T @ V[part]
        return result

    def gram(self, rows):
        return np.ascontiguousarray(self._values(rows, rows))

    def with_intercept(self, intercept):
        return ChunkedOperator(self.kernel, self.X, intercept, self.room, self.kept)

    def among(self, rows):
        kept = self.kept[np.ix_(rows[rows < len(self.kept)], rows)]
        return ChunkedOperator(self.kernel, self.X[rows], self.intercept, self.room, kept)

    def column(self, i):
        return self._rows([i])[0]

    def diagonal(self):
        parts = [self._values(rows, rows).diagonal() for rows in self._chunks(0, self.shape[0])]
        return np.concatenate(parts)

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

    def among(self, rows):
        return LinearOperator(self.X[rows], self.intercept)

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
