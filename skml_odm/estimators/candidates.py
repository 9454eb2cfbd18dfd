"""What rows and their neighbours tell about candidate labels (paper 001, Eqs. 5 and 6)."""

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import row_norms


class Neighbourhood:
    """The nearest training rows of every training row, and how much each of them counts.

    A neighbour at distance d counts (d_max − d) / (d_max − d_min), d_max and d_min the largest and
    smallest distance among the row's neighbours; where these are equal, all count 1.

    Parameters
    ----------
    X : ndarray or CSR of shape (m, d)
        Rows, or their kernel matrix if ``precomputed``: distances are then those in feature space.
    n_neighbors : int
        Neighbours of a row; all others where there are fewer.
    precomputed : bool
    """

    def __init__(self, X, n_neighbors, precomputed=False):
        m = X.shape[0]
        n = min(n_neighbors, m - 1)
        self.indices, distances = np.empty((m, 0), dtype=np.intp), np.empty((m, 0))
        if n > 0:
            search = NearestNeighbors(
                n_neighbors=n, metric="precomputed" if precomputed else "euclidean"
            )
            distances, self.indices = search.fit(
                kernel_distances(X) if precomputed else X
            ).kneighbors()
        span = np.ptp(distances, axis=1, keepdims=True) if n > 0 else np.empty((m, 0))
        far = distances.max(axis=1, keepdims=True, initial=0.0)
        self.closeness = np.divide(
            far - distances, span, out=np.ones_like(distances), where=span > 0.0
        )

    def smooth(self, labels, known=None):
        """c_ik = (y_ik + Σ_t closeness_it y_tk) / (|N_i| + 1): the row's own vote and others'.

        |N_i| counts the neighbours whose label k is known.
        """
        votes = np.array(labels, dtype=np.float64)
        voters = self.indices.shape[1] + 1 if known is None else np.array(known, dtype=np.float64)
        for place in range(self.indices.shape[1]):
            neighbour = self.indices[:, place]
            votes += self.closeness[:, [place]] * labels[neighbour]
            if known is not None:
                voters += known[neighbour]
        return votes / np.maximum(voters, 1)


def kernel_distances(K):
    """Distances in feature space from a kernel matrix."""
    square = np.diagonal(K)[:, None] + np.diagonal(K)[None, :] - 2.0 * K
    np.fill_diagonal(square, 0.0)
    return np.sqrt(np.maximum(square, 0.0))


def largest_is_one(confidences):
    """Every row divided by its largest entry; rows of zeros stay as they are."""
    largest = confidences.max(axis=1, keepdims=True, initial=0.0)
    return np.divide(confidences, largest, out=np.zeros_like(confidences), where=largest > 0.0)


class Prototypes:
    """One point per label, a weighted mean of rows, and the distances of all rows to them.

    Parameters
    ----------
    X : ndarray or CSR of shape (m, d)
        Rows, or their kernel matrix if ``precomputed``.
    n_labels : int
    precomputed : bool

    Attributes
    ----------
    weights : ndarray of shape (m, q)
        Of the rows in each prototype. A label that no row ever had has the mean of all rows.
    """

    def __init__(self, X, n_labels, precomputed=False):
        m = X.shape[0]
        self.X = X
        self.precomputed = precomputed
        self.weights = np.full((m, n_labels), 1.0 / m)

    def update(self, importance):
        """Take means with these weights, made to sum to 1; labels without any keep theirs."""
        total = importance.sum(axis=0)
        given = total > 0.0
        self.weights[:, given] = importance[:, given] / total[given]

    @property
    def points(self):
        """The prototypes (q × d), or their weights (q × m) if rows are known by a kernel only."""
        return self.weights.T.copy() if self.precomputed else np.asarray(self.X.T @ self.weights).T

    def distances(self):
        """‖x_i − q_k‖ (m × q)."""
        if self.precomputed:
            products = self.X @ self.weights
            own = np.einsum("ik,ik->k", self.weights, products)
            rows = np.diagonal(self.X)
        else:
            points = self.points
            products = np.asarray(self.X @ points.T)
            own = np.einsum("kd,kd->k", points, points)
            rows = row_norms(self.X, squared=True)
        return np.sqrt(np.maximum(rows[:, None] + own - 2.0 * products, 0.0))
