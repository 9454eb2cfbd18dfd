"""Kernels: their parameters, their matrices, and what to do with an indefinite one."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.extmath import row_norms

from ..utils.numbers import EPSILON, TINY
from ..utils.parallel import interruptible
from ..utils.validation import canonical, check_choice, check_real
from ..utils.warn import warn_user
from ._gram import gaussian_rows, sparse_gram_rows

NAMES = ("linear", "rbf", "poly", "sigmoid", "cosine", "laplacian", "precomputed")

# What kernels depend on; the others on nothing.
PARAMETERS = {
    "rbf": ("gamma",),
    "laplacian": ("gamma",),
    "poly": ("gamma", "degree", "coef0"),
    "sigmoid": ("gamma", "coef0"),
}

# Rows handled by one compiled or BLAS call, so that Ctrl-C is noticed soon.
ROWS_PER_CALL = 256


# Entries of X copied at a time: 4 MB in double precision.
ENTRIES_PER_BLOCK = 2**19

# Error in γ · (squared distance), from rounding, that a Gaussian kernel may have.
LOST_DISTANCE = 1e-6


class KernelPrecisionError(FloatingPointError):
    """Rounding spoils the values of a kernel, whatever the problem it is for."""


@dataclass(frozen=True)
class Kernel:
    """A kernel function with all its parameters fixed.

    Parameters
    ----------
    kind : str or callable
        One of ``NAMES``, or a function of two matrices that returns the matrix of kernel values
        between their rows.
    gamma, degree, coef0 : float
        As in :func:`sklearn.metrics.pairwise.pairwise_kernels`; unused by some kinds.
    center : ndarray of shape (n_features,), optional
        Subtracted from all rows first. It changes no distance, but keeps distances of rows that
        are far from the origin from being lost in rounding.
    """

    kind: Any
    gamma: float
    degree: float
    coef0: float
    center: Any = None

    @property
    def _parameters(self):
        return {name: getattr(self, name) for name in PARAMETERS.get(self.kind, ())}

    def between(self, X, Y):
        """The matrix of kernel values between the rows of X and the rows of Y."""
        if self.kind == "precomputed":
            return X
        if callable(self.kind):
            shape = (X.shape[0], Y.shape[0])
            K = self.kind(X, Y)
            K = K.toarray() if sparse.issparse(K) else np.asarray(K)
            K = K if K.dtype == np.float32 else K.astype(np.float64, copy=False)
            if K.shape != shape:
                raise ValueError(
                    f"kernel must return a matrix of shape {shape}; "
                    f"{self.kind!r} returned {K.shape}."
                )
        else:
            if self.center is not None:
                # dense training rows; the few new rows at hand may be sparse
                X = (X.toarray() if sparse.issparse(X) else X) - self.center
                Y = Y - self.center
            with np.errstate(over="ignore", invalid="ignore"):
                K = pairwise_kernels(X, Y, metric=self.kind, **self._parameters)
        if not np.isfinite(K).all():
            raise ValueError(
                f"kernel must give finite values; kernel={self.kind!r} with {self._parameters} "
                f"does not. Scale the features, or change the parameters."
            )
        return K

    def matrix(self, X):
        """The symmetric matrix of kernel values among the rows of X."""
        if self.kind == "rbf":
            return gaussian_kernel(X if self.center is None else X - self.center, self.gamma)
        K = self.between(X, X)
        if callable(self.kind) or self.kind == "precomputed":
            _check_symmetric(K)
        return K

    def check(self, X):
        """Raise if rounding would spoil the values among the rows of X, which is not copied."""
        if self.kind == "rbf":
            check_distances(squared_norms(X, self.center), self.gamma)

    @property
    def always_semidefinite(self):
        return self.kind in ("linear", "rbf", "cosine", "laplacian") or (
            self.kind == "poly" and self.coef0 >= 0 and float(self.degree).is_integer()
        )


def make_kernel(kernel, gamma, degree, coef0, X, sample_weight=None):
    """Check the kernel parameters of an estimator and fix them for the training data X."""
    if not callable(kernel):
        check_choice("kernel", kernel, NAMES)
    check_real("degree", degree, 0, open_low=True)
    check_real("coef0", coef0, -np.inf)
    if isinstance(gamma, str):
        check_choice("gamma", gamma, ("scale", "auto"), or_else="a number")
        # the others have none, and need no pass over X
        needed = isinstance(kernel, str) and kernel in PARAMETERS
        gamma = _gamma_from_data(gamma, X, sample_weight) if needed else 1.0
    else:
        check_real("gamma", gamma, 0, open_low=True)
    with np.errstate(over="ignore", invalid="ignore"):
        # what is not finite is refused with the distances
        center = X.mean(axis=0) if kernel == "rbf" and not sparse.issparse(X) else None
    return Kernel(kernel, float(gamma), degree, float(coef0), center)


def _gamma_from_data(rule, X, sample_weight):
    """1/d ("auto"), or 1/(d · variance of all entries of X) ("scale"), rows counted by weight."""
    d = X.shape[1]
    if rule == "auto":
        return 1.0 / d
    weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        variance = _variance(X, weight)
        gamma = 1.0 / (d * variance) if variance != 0.0 else np.float64(1.0)
    if not 0.0 < gamma < np.inf:
        raise ValueError(
            "X must have a variance within double precision for gamma='scale', which is "
            f"1 / (n_features * X.var()); got the variance {variance:.3g}. Scale the features to a "
            "common range, or give gamma as a number."
        )
    return gamma


def _variance(X, weight):
    """Variance of all entries of X, zeros included, rows counted by weight."""
    n = weight.sum() * X.shape[1]
    if not 0.0 < n < np.inf:
        # not the fault of X
        return 0.0
    mean = (weight @ X).sum() / n
    if sparse.issparse(X):
        # below zero is rounding
        return max((weight @ X.multiply(X)).sum() / n - mean**2, 0.0)
    return sum((weight[rows] @ (X[rows] - mean) ** 2).sum() for rows in row_slices(X)) / n


def row_slices(X):
    """Slices that cut X, dense or CSR, into blocks of about ``ENTRIES_PER_BLOCK`` entries."""
    m = X.shape[0]
    entries = X.nnz if sparse.issparse(X) else X.size
    step = max(1, m * ENTRIES_PER_BLOCK // max(entries, 1))
    for start in range(0, m, step):
        yield slice(start, min(start + step, m))


def squared_norms(X, center=None):
    """Squared norms of rows, dense or CSR, in double precision; X is never copied as a whole.

    A center is subtracted first, from dense rows.
    """
    if X.dtype == np.float64 and center is None:
        return row_norms(X, squared=True)
    parts = []
    for rows in row_slices(X):
        part = X[rows].astype(np.float64) if center is None else X[rows] - center
        parts.append(row_norms(part, squared=True))
    return np.concatenate(parts)


def rows_times(X, weights):
    """X W for dense or CSR rows of any precision and W in double precision.

    Rows in single precision are cast in blocks: NumPy and SciPy would cast all of them at once.
    """
    if X.dtype == np.float64:
        return X @ weights
    result = np.empty((X.shape[0], weights.shape[1]))
    for rows in row_slices(X):
        result[rows] = X[rows] @ weights
    return result


def gaussian_kernel(X, gamma):
    """exp(−γ‖x_i − x_j‖²) for all pairs of rows, dense or CSR.

    scikit-learn's ``rbf_kernel`` holds two matrices of the result's size while it works (three for
    sparse data); this one fills the lower half of a single one in place and mirrors it.
    """
    m = X.shape[0]
    if sparse.issparse(X):
        X = canonical(X)
        by_column = canonical(X.tocsc())
        # one type for all four, the one that either needs
        kind = np.result_type(X.indptr, X.indices, by_column.indptr, by_column.indices)
        parts = []
        for matrix in (X, by_column):
            parts += [matrix.indptr.astype(kind, copy=False)]
            parts += [matrix.indices.astype(kind, copy=False), matrix.data]
    norms = row_norms(X, squared=True)
    check_distances(norms, gamma)
    K = np.empty((m, m))
    for start in range(0, m, ROWS_PER_CALL):
        stop = min(start + ROWS_PER_CALL, m)
        strip = K[start:stop, :stop]
        if sparse.issparse(X):
            sparse_gram_rows(*parts, start, strip)
        else:
            np.matmul(X[start:stop], X[:stop].T, out=strip)
        gaussian_rows(strip, norms, start, gamma)
        K[:start, start:stop] = strip[:, :start].T
    return K


def check_distances(squared_norms, gamma):
    """Raise if rounding may spoil a Gaussian kernel of rows with these squared norms."""
    largest = squared_norms.max(initial=0.0)
    # the negation catches NaN as well
    if not gamma * largest * EPSILON <= LOST_DISTANCE:
        raise KernelPrecisionError(
            f"squared distances of rows with squared norms up to {largest:.3g} are lost in "
            f"rounding at gamma={gamma:.3g}"
        )


def _check_symmetric(K):
    size = max(K.max(), -K.min())
    for start in range(0, len(K), ROWS_PER_CALL):
        rows = slice(start, start + ROWS_PER_CALL)
        difference = np.abs(K[rows] - K[:, rows].T).max(initial=0.0)
        if difference > 1e-6 * size:
            raise ValueError(
                "kernel must give a symmetric training matrix; "
                f"entries differ from their mirror images by up to {difference:.3g}."
            )


def semidefinite_part(K, precision=EPSILON):
    """Return (K, None) for a positive semidefinite K, else its positive part and eigenvectors.

    No convex problem stands behind an indefinite kernel. The nearest semidefinite matrix
    K₊ = U Λ₊ Uᵀ has one, and new points follow it: k(x, ·)ᵀ U Uᵀ A are scores under K₊, so the
    coefficients U Uᵀ A serve the original kernel function. The user is told.

    Parameters
    ----------
    K : ndarray of shape (m, m)
        Symmetric.
    precision : float
        Relative precision of K's entries: negative eigenvalues within it are rounding, and are
        removed without a word.
    """
    trace = max(np.abs(np.diagonal(K)).sum(), TINY)
    tolerance = 10 * EPSILON * trace
    if _has_cholesky(K, tolerance):
        return K, None
    values, vectors = interruptible(np.linalg.eigh, K)
    if values[0] < -10 * precision * trace:
        warn_user(
            f"The kernel matrix is not positive semidefinite: its smallest eigenvalue is "
            f"{values[0]:.3g} (the largest is {values[-1]:.3g}), so no convex problem and no "
            f"certificate belong to it. Its negative part was removed; objective_ and dual_gap_ "
            f"are those of the remaining, convex problem.",
            ConvergenceWarning,
        )
    kept = vectors[:, values > tolerance]
    return (kept * values[values > tolerance]) @ kept.T, kept


def for_original_kernel(coefficients, eigenvectors):
    """U Uᵀ A for the eigenvectors of ``semidefinite_part``; A itself without any."""
    if eigenvectors is None:
        return coefficients
    return eigenvectors @ (eigenvectors.T @ coefficients)


def _has_cholesky(K, shift):
    """Whether K + shift·I has a Cholesky factor; block by block."""
    m = len(K)
    rest = K.copy()
    rest.flat[:: m + 1] += shift
    for a in range(0, m, ROWS_PER_CALL):
        b = min(a + ROWS_PER_CALL, m)
        try:
            corner = np.linalg.cholesky(rest[a:b, a:b])
        except np.linalg.LinAlgError:
            return False
        panel = solve_triangular(corner, rest[b:, a:b].T, lower=True, check_finite=False).T
        for c in range(b, m, ROWS_PER_CALL):
            d = min(c + ROWS_PER_CALL, m)
            rest[c:d, b:d] -= panel[c - b : d - b] @ panel[: d - b].T
    return True
