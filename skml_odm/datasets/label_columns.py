"""Do the labels of a file stand in the same columns in all of its rows?

In some published files the label columns of a part of the rows are shifted against those of the
others: the labels of MULAN's RCV1 subsets are, in half of the rows. Every row is well-formed, and
each part is sound for itself. But labels have frequencies of their own, and these move with the
columns.

1. The rows of a stretch are compared with all others. Stretches begin and end at 33 equally spaced
   marks; both sides need 100 rows.
2. Let p be the frequency of a label within the stretch, r that of the same column in the other
   rows. z = 2 ``|arcsin √p − arcsin √r|`` / √(1/n + 1/n') is about normal if the two differ by
   chance. With the columns shifted by k = −3, …, 3, r is that of column l + k.
3. The gain of a column is z² without a shift less z² with it. For every stretch and shift the range
   of neighbouring columns with the greatest sum of gains is looked at. The shift is suspected if it
   explains what it must: at least 5 columns of the range have z > 4 without it, for four in five of
   those z is at most half as large with it, and the sum of all z² in the range falls to a quarter.
4. Files whose rows are sorted by their labels give rise to suspicion, too. So the features decide
   about the ten greatest sums: ridge regression learns the labels of the other rows from their
   features (as :mod:`skml_odm.datasets.alignment` prepares them) and predicts those of the stretch.
   A shift is reported if its columns correlate with the predictions for columns l + k, with those
   for columns l at most half as much, and if the difference is more than 4 standard errors.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from .alignment import directions

N_CELLS = 32
FEWEST_ROWS = 100  # in a stretch, and outside of it
SHIFTS = (-3, -2, -1, 1, 2, 3)
FEWEST_COLUMNS = 5
DIFFERENT = 4.0  # z of a column that is not the same label
MOST_OF_THEM = 0.8  # of the columns that differ without the shift agree better with it
EXPLAINED = 0.25  # what the shift may leave of the sum of z²
MOST_SUSPECTS = 10
CERTAIN = 4.0  # standard errors


class ShiftedColumns(NamedTuple):
    """A stretch of rows whose labels stand in other columns than those of the other rows.

    Attributes
    ----------
    first, last : int
        Row numbers, counted from 0; the true ends may lie a few per cent of the rows away.
    first_column, last_column : int
        Columns of these rows that are shifted.
    shift : int
        What is in column l of these rows is in column l + shift of the others.
    """

    first: int
    last: int
    first_column: int
    last_column: int
    shift: int

    @property
    def warning(self):
        """One line."""
        size = abs(self.shift)
        return (
            f"label columns seem to be shifted against each other: columns {self.first_column} to "
            f"{self.last_column} of about rows {self.first} to {self.last} have the frequencies of "
            f"{size} column{'s' if size > 1 else ''} {'after' if self.shift > 0 else 'before'} in "
            "the other rows"
        )


def column_alignment(X, Y):
    """Test whether label columns are shifted in a part of the rows, by up to three columns.

    The module's docstring has the method, and the documentation what it finds and what it misses.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_features)
        Rows in the order of the file.
    Y : array of shape (n_rows, n_labels)

    Returns
    -------
    ShiftedColumns or None

    Examples
    --------
    >>> import numpy as np
    >>> from skml_odm.datasets import column_alignment
    >>> rng = np.random.default_rng(2)
    >>> X = rng.normal(size=(2000, 12))
    >>> Y = X + rng.normal(size=X.shape) > rng.uniform(0.0, 3.0, size=12)
    >>> column_alignment(X, Y) is None
    True
    >>> Y[1000:] = np.roll(Y[1000:], 1, axis=1)
    >>> column_alignment(X, Y).shift
    -1
    """
    Y = np.asarray(Y) != 0
    suspects = _suspects(Y)
    if not suspects:
        return None
    Z = directions(X)
    return next((suspect for suspect in suspects if _is_confirmed(suspect, Z, Y)), None)


def _suspects(Y):
    """Shifts that would explain differences of frequencies, the greatest gain first."""
    m, q = Y.shape
    if m < 2 * FEWEST_ROWS:
        return []
    marks = np.linspace(0, m, N_CELLS + 1).astype(int)
    counts = np.add.reduceat(Y, marks[:-1], axis=0, dtype=float)
    counts = np.cumsum(np.vstack([np.zeros(q), counts]), axis=0)
    found = []
    # of the first rows and the rest, the rest is told: it comes later
    for a, b in combinations(range(1, len(marks)), 2):
        n = marks[b] - marks[a]
        if min(n, m - n) < FEWEST_ROWS:
            continue
        inside = counts[b] - counts[a]
        own, other = _angles(inside, n), _angles(counts[-1] - inside, m - n)
        error = np.sqrt(1 / n + 1 / (m - n))
        plain = np.abs(own - other) / error
        for shift in SHIFTS:
            start, end = max(0, -shift), min(q, q - shift)
            if end - start < FEWEST_COLUMNS:
                continue
            shifted = np.abs(own[start:end] - other[start + shift : end + shift]) / error
            gain, first, stop = _best_range(plain[start:end] ** 2 - shifted**2)
            if _explains(plain[start:end][first:stop], shifted[first:stop]):
                rows = int(marks[a]), int(marks[b]) - 1
                columns = start + first, start + stop - 1
                found.append((gain, ShiftedColumns(*rows, *columns, shift)))
    found.sort(key=lambda pair: -pair[0])
    return [suspect for _, suspect in found[:MOST_SUSPECTS]]


def _is_confirmed(suspect, Z, Y):
    """Whether predictions of the other rows' models agree with the shifted columns."""
    inside = np.zeros(len(Y), dtype=bool)
    inside[suspect.first : suspect.last + 1] = True
    columns = np.arange(suspect.first_column, suspect.last_column + 1)
    mean = Z[~inside].mean(axis=0)
    features, labels = Z[~inside] - mean, Y[~inside] - Y[~inside].mean(axis=0)
    gram = features.T @ features
    gram[np.diag_indices_from(gram)] += np.trace(gram) / len(gram) + np.finfo(float).tiny
    predicted = (Z[inside] - mean) @ np.linalg.solve(gram, features.T @ labels)
    there = Y[inside][:, columns]
    plain = _correlations(predicted[:, columns], there)
    shifted = _correlations(predicted[:, columns + suspect.shift], there)
    gain = shifted - plain
    error = gain.std() / np.sqrt(len(gain)) + 1 / np.sqrt(inside.sum() * len(gain))
    return shifted.mean() >= 2 * plain.mean() and gain.mean() > CERTAIN * error


def _correlations(A, B):
    """Of the columns of two matrices; zero where one of them is constant."""
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    sizes = np.sqrt(np.sum(A**2, axis=0) * np.sum(B**2, axis=0))
    return np.divide(np.sum(A * B, axis=0), sizes, out=np.zeros(A.shape[1]), where=sizes > 0)


def _angles(counts, n):
    """Frequencies on a scale on which their standard error is 1/√n."""
    return 2.0 * np.arcsin(np.sqrt(counts / n))


def _explains(plain, shifted):
    """Whether a shift of some columns makes the difference between the two parts."""
    differ = plain > DIFFERENT
    return (
        differ.sum() >= FEWEST_COLUMNS
        and np.mean(shifted[differ] <= 0.5 * plain[differ]) >= MOST_OF_THEM
        and np.sum(shifted**2) <= EXPLAINED * np.sum(plain**2)
    )


def _best_range(gains):
    """The greatest sum of neighbouring gains, and the first and one past the last of them."""
    total = np.concatenate([[0.0], np.cumsum(gains)])
    lowest = np.minimum.accumulate(total)
    stop = int(np.argmax(total - lowest))
    first = int(np.argmin(total[: stop + 1]))
    return total[stop] - total[first], first, stop
