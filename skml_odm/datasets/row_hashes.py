"""Numbers that tell rows apart, without a dense copy of sparse ones."""

import numpy as np
from scipy import sparse


def row_hashes(X):
    """A 64-bit number per row: equal rows have equal ones, and others hardly ever do.

    Entries are mixed with their column number and added, so zeros need not be stored, and m
    different rows collide with a probability of about m² / 2⁶⁵.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_rows, n_columns)

    Returns
    -------
    ndarray of shape (n_rows,), uint64
    """
    X = sparse.csr_matrix(X, dtype=np.float64, copy=sparse.issparse(X))
    X.sum_duplicates()
    X.eliminate_zeros()
    entries = _mixed(X.data.view(np.uint64) ^ _mixed(X.indices.astype(np.uint64)))
    total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(entries, dtype=np.uint64)])
    return total[X.indptr[1:]] - total[X.indptr[:-1]]


def _mixed(numbers):
    """The finalizer of SplitMix64 (Steele, Lea and Flood 2014); arithmetic is modulo 2⁶⁴."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
