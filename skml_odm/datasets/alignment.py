"""Do the labels of a file stand in the rows of their features?

Some published files have labels that belong to a row above or below, in all rows or from some row
on. Nothing in such a file is malformed; only a learner can tell. The test asks one, for every
stretch of rows: do the features agree better with the labels of a row nearby than with their own?

1. The features (at most 5000, the most frequent ones if sparse) become at most 100 numbers per row:
   singular vectors of the scaled features. Of the labels, the 64 that vary most are used, centred.
   Of more than 16 000 rows, the first 500 of every thirty-second part are used.
2. For every shift k from −3 to 3, ridge regression learns labels of row i + k from the features of
   row i. A model per shift is needed, as a file that is shifted throughout teaches nothing at
   shift 0. Rows are predicted in chunks of about 20 by models that saw neither the chunk nor the
   6 rows before and after it: a near duplicate next door must not give its labels away.
3. Whether a stretch is shifted by k is asked of the sum of the predictions at shifts 0 and k, which
   learns from sound and from shifted rows alike. Let s be this sum for row i, divided by its
   length. The gain of the row is s · (labels of row i + k − labels of row i). Rows that have the
   same labels as their neighbours gain nothing, so files sorted by class give no alarm.
4. In a sound file the mean gain is negative, or zero if the labels cannot be predicted at all.
   Every stretch of 40 rows or more that begins and ends at one of 33 equally spaced marks gets
   t = mean gain / standard error; the standard error allows for correlated rows (Newey and West,
   10 lags).
5. A stretch is reported if its t is so large that a sound file would show one like it with a
   probability of at most 1e-4 (Student's t with half as many degrees of freedom as rows,
   Bonferroni over all stretches and shifts), and if s agrees at least twice as well with the
   labels of row i + k as with those of row i, both compared with the mean labels of the 21 rows
   around. Of stretches that overlap, the one with the greatest t is kept; stretches that touch and
   have the same shift are joined.

A series whose features announce the labels of later rows would be reported too.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse, stats
from sklearn.utils.extmath import randomized_svd

FALSE_ALARM = 1e-4
SHIFTS = (-3, -2, -1, 1, 2, 3)
FEWEST_ROWS = 40  # of a stretch
N_CELLS = 32
MOST_ROWS = 16_000
N_FEATURES = 5000
N_DIRECTIONS = 100
N_LABELS = 64
CHUNK = 20
N_FOLDS = 10
NEIGHBOURS = 10
N_LAGS = 10


@dataclass(frozen=True)
class ShiftedRows:
    """A stretch of rows that have the labels of other rows.

    Attributes
    ----------
    first, last : int
        Row numbers, counted from 0; the true ends may lie a few per cent of the rows away.
    shift : int
        The labels of the features in row i stand in row i + shift.
    agreement, shifted_agreement : float
        How well the predicted labels agree with those of row i and of row i + shift.
    probability : float
        Of such a stretch in a sound file.
    """

    first: int
    last: int
    shift: int
    agreement: float
    shifted_agreement: float
    probability: float


@dataclass(frozen=True)
class Alignment:
    """What the test of the rows found.

    Attributes
    ----------
    shifted : tuple of ShiftedRows
        Most certain first; empty if nothing is wrong or nothing can be known.
    decided : bool
        False if the file says too little to tell it from one that is shifted throughout.
    """

    shifted: tuple[ShiftedRows, ...] = ()
    decided: bool = False

    @property
    def warning(self):
        """One line about the shifted rows, or an empty text."""
        if not self.shifted:
            return ""
        stretches = [
            f"rows {rows.first} to {rows.last} have the labels of {abs(rows.shift)} "
            f"row{'s' if abs(rows.shift) > 1 else ''} {'before' if rows.shift > 0 else 'after'}"
            for rows in sorted(self.shifted, key=lambda rows: rows.first)
        ]
        return "labels seem to be shifted against features: about " + "; ".join(stretches)


class _Stretches(NamedTuple):
    """All stretches of rows that are looked at: rows first … stop − 1 of each."""

    first: np.ndarray
    stop: np.ndarray

    def means(self, values):
        """Mean of the values over every stretch."""
        total = np.concatenate([[0.0], np.cumsum(values)])
        return (total[self.stop] - total[self.first]) / self.sizes

    @property
    def sizes(self):
        return self.stop - self.first


def row_alignment(X, Y):
    """Test whether labels are shifted against features by up to three rows.

    The module's docstring has the method, and the documentation what it finds and what it misses.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_features)
        Rows in the order of the file.
    Y : array of shape (n_rows, n_labels)

    Returns
    -------
    Alignment

    Examples
    --------
    >>> import numpy as np
    >>> from skml_odm.datasets import load_digit_attributes, row_alignment
    >>> X, Y = load_digit_attributes(return_X_y=True)
    >>> row_alignment(X, Y)
    Alignment(shifted=(), decided=True)
    >>> Y[1000:] = np.roll(Y[1000:], 1, axis=0)
    >>> [rows.shift for rows in row_alignment(X, Y).shifted]
    [1]
    """
    Y = np.asarray(Y) != 0
    share = Y.mean(axis=0)
    varied = np.argsort(-share * (1 - share), kind="stable")[:N_LABELS]
    Y = Y[:, varied] - share[varied]
    m = len(Y)
    if m < FEWEST_ROWS or min(X.shape) == 0 or not Y.any():
        return Alignment()
    rows = _rows_to_use(m)
    gains = _gains(directions(X[rows]), Y, rows)
    marks, marks_in_file = _marks(len(rows)), _marks(m)
    i, j = np.triu_indices(len(marks), 1)
    long = marks[j] - marks[i] >= FEWEST_ROWS
    stretches = _Stretches(marks[i[long]], marks[j[long]])
    limit = FALSE_ALARM / (len(SHIFTS) * len(stretches.first))
    whole = np.argmax(stretches.sizes)
    found, decided = [], True
    for shift, (own, other) in zip(SHIFTS, gains, strict=True):
        t = _student(other - own, stretches)
        probability = stats.t.sf(t, stretches.sizes / 2)
        near, far = stretches.means(own), stretches.means(other)
        decided &= stats.t.cdf(t[whole], stretches.sizes[whole] / 2) <= limit
        for k in np.flatnonzero((probability <= limit) & (far >= 2 * near)):
            first, last = int(stretches.first[k]), int(stretches.stop[k]) - 1
            figures = (float(x[k]) for x in (near, far, probability))
            found.append((-t[k], ShiftedRows(first, last, shift, *figures)))
    chosen: list[ShiftedRows] = []
    for _, stretch in sorted(found, key=lambda pair: pair[0]):
        if all(stretch.last < other.first or other.last < stretch.first for other in chosen):
            chosen.append(stretch)
    shifted = []
    for stretch in _join_neighbours(chosen):
        first, stop = marks_in_file[np.searchsorted(marks, (stretch.first, stretch.last + 1))]
        shifted.append(replace(stretch, first=int(first), last=int(stop) - 1))
    return Alignment(tuple(shifted), bool(decided or shifted))


def _join_neighbours(stretches):
    """Make one of stretches that touch and have the same shift; the most certain come first."""
    joined: list[ShiftedRows] = []
    for right in sorted(stretches, key=lambda stretch: stretch.first):
        left = joined[-1] if joined else None
        if left and left.shift == right.shift and left.last + 1 == right.first:
            share = (right.last + 1 - right.first) / (right.last + 1 - left.first)
            joined[-1] = ShiftedRows(
                left.first,
                right.last,
                left.shift,
                (1 - share) * left.agreement + share * right.agreement,
                (1 - share) * left.shifted_agreement + share * right.shifted_agreement,
                min(left.probability, right.probability),
            )
        else:
            joined.append(right)
    return sorted(joined, key=lambda stretch: stretch.probability)


def _rows_to_use(m):
    """All rows, or of a large file the first rows of every cell."""
    if m <= MOST_ROWS:
        return np.arange(m)
    return (_marks(m)[:-1, None] + np.arange(MOST_ROWS // N_CELLS)).ravel()


def _marks(m):
    """Where stretches of m rows may begin and end."""
    return np.linspace(0, m, N_CELLS + 1).astype(int)


def directions(X):
    """Numbers that carry most of what the features say: principal components, or those of words."""
    if sparse.issparse(X):
        # weighted like words: rare ones count more, and rows of all lengths alike
        X = sparse.csr_matrix(X, dtype=np.float64, copy=True)
        rows_with = np.bincount(X.indices, minlength=X.shape[1])
        if X.shape[1] > N_FEATURES:
            frequent = np.sort(np.argsort(-rows_with, kind="stable")[:N_FEATURES])
            X, rows_with = X[:, frequent], rows_with[frequent]
        X.data = np.sign(X.data) * np.log1p(np.abs(X.data))
        X = X @ sparse.diags(np.log((1 + X.shape[0]) / (1 + rows_with)))
        length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        X = sparse.diags(1 / np.where(length > 0, length, 1)) @ X
    else:
        every = -(-X.shape[1] // N_FEATURES)
        X = np.asarray(X[:, ::every], dtype=np.float64)
        deviation = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
        X = np.clip(X, -5, 5)  # no single value may decide
    rank = min(N_DIRECTIONS, *X.shape)
    U, s, _ = randomized_svd(X, rank, n_iter=2, random_state=0)
    return U * s


def _gains(Z, Y, rows):
    """For every shift, agreement of the rows' predictions with their own and the shifted labels."""
    last = len(Y) - 1
    shifted = {k: Y[np.clip(rows + k, 0, last)] for k in (0, *SHIFTS)}
    predicted = dict(zip(shifted, _predict(Z, list(shifted.values())), strict=True))
    total = np.vstack([np.zeros(Y.shape[1]), np.cumsum(Y, axis=0)])
    low, high = np.maximum(rows - NEIGHBOURS, 0), np.minimum(rows + NEIGHBOURS, last) + 1
    around = (total[high] - total[low]) / (high - low)[:, None]
    for k in SHIFTS:
        scores = predicted[0] + predicted[k]
        length = np.linalg.norm(scores, axis=1)
        scores /= np.where(length > 0, length, 1)[:, None]
        yield [np.einsum("ij,ij->i", scores, shifted[j] - around) for j in (0, k)]


def _predict(Z, targets):
    """Ridge regression of each target, every row predicted by a model that saw no row nearby."""
    m = len(Z)
    Z = np.column_stack([Z, np.full(m, np.sqrt((Z**2).sum(axis=1).mean()))])
    T = np.hstack(targets)
    n_chunks = max(2, round(m / CHUNK))
    chunk = np.arange(m) * n_chunks // m
    fold = np.random.RandomState(0).permutation(n_chunks)[chunk] % N_FOLDS
    gram, moments = Z.T @ Z, Z.T @ T
    predicted = np.empty_like(T)
    for f in range(min(N_FOLDS, n_chunks)):
        tested = fold == f
        unseen = np.convolve(tested, np.ones(4 * max(SHIFTS) + 1), "same") > 0.5
        A = gram - Z[unseen].T @ Z[unseen]
        A[np.diag_indices_from(A)] += np.trace(A) / len(A) + np.finfo(float).tiny
        predicted[tested] = Z[tested] @ np.linalg.solve(A, moments - Z[unseen].T @ T[unseen])
    return np.split(predicted, len(targets), axis=1)


def _student(gain, stretches):
    """Student's t of the mean gain of every stretch."""
    mean = stretches.means(gain)
    uncorrelated = stretches.means(gain**2) - mean**2
    variance = uncorrelated.copy()
    for lag in range(1, N_LAGS + 1):
        inner = _Stretches(stretches.first, stretches.stop - lag)
        covariance = inner.means(gain[:-lag] * gain[lag:]) - mean**2
        variance += 2 * (1 - lag / (N_LAGS + 1)) * covariance
    # rows that are all alike have no variance, which must not make them certain
    variance = np.maximum(variance, uncorrelated) + 1e-3 * gain.var() + np.finfo(float).tiny
    return mean / np.sqrt(variance / stretches.sizes)
