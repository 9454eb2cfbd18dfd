"""Which candidate labels to believe: confidences from label propagation among near rows.

The first stage of PARTICLE (:mod:`skml_odm.estimators.particle`). Rows are near by Euclidean
distance; a row listens to its neighbours as much as they help to rebuild its features.
"""

import warnings

import numpy as np
from scipy import sparse
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import euclidean_distances
from sklearn.utils.extmath import row_norms

# Distances computed at a time.
DISTANCE_ENTRIES = 4_000_000
# Distances are as precise as this share of the longest row: what differs by less is a tie.
DISTANCE_PRECISION = 1e-7
PROPAGATION_TOL = 1e-8


def nearest_rows(X, n_neighbors):
    """The nearest other rows of each row of X, nearest first, and their distances.

    Of rows at equal distance those with smaller numbers are nearer, so that the result does not
    depend on the container of X or on rounding.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (m, d)
    n_neighbors : int
        All m − 1 other rows if there are not so many.

    Returns
    -------
    neighbours : ndarray of shape (m, k), int
    distances : ndarray of shape (m, k)
    """
    m = X.shape[0]
    k = min(n_neighbors, m - 1)
    neighbours = np.empty((m, k), dtype=np.intp)
    distances = np.empty((m, k))
    if k == 0:
        return neighbours, distances
    unit = DISTANCE_PRECISION * row_norms(X).max() or 1.0
    step = max(1, DISTANCE_ENTRIES // m)
    for start in range(0, m, step):
        rows = np.arange(start, min(start + step, m))
        distance = euclidean_distances(X[start : start + step], X)
        rank = np.round(distance / unit)
        rank[rows - start, rows] = np.inf
        nearest = np.argpartition(rank, k - 1, axis=1)[:, :k]
        farthest = np.take_along_axis(rank, nearest, axis=1).max(axis=1)
        tied = (rank <= farthest[:, None]).sum(axis=1) > k
        nearest[tied] = np.argsort(rank[tied], axis=1, kind="stable")[:, :k]
        nearest.sort(axis=1)
        order = np.argsort(np.take_along_axis(rank, nearest, axis=1), axis=1, kind="stable")
        neighbours[rows] = np.take_along_axis(nearest, order, axis=1)
        distances[rows] = np.take_along_axis(distance, neighbours[rows], axis=1)
    return neighbours, distances


def reconstruction_weights(X, neighbours):
    """Non-negative weights with which neighbours rebuild each row, made to sum to one.

    Row i has argmin_w ‖x_i − Σ_a w_a x_a‖² over w ≥ 0, divided by its sum. Where no neighbour helps
    the row stays empty.

    Returns
    -------
    CSR array of shape (m, m)
    """
    m, k = neighbours.shape
    weights = np.zeros((m, k))
    for i in range(m):
        near, row = X[neighbours[i]], X[[i]]
        if sparse.issparse(X):
            near, row = near.toarray(), row.toarray()
        if k:
            weights[i] = nnls(near.T, row[0])[0]
    total = weights.sum(axis=1, keepdims=True)
    weights /= np.where(total > 0, total, 1.0)
    indptr = np.arange(m + 1) * k
    # a copy: the matrix reorders its indices in place
    return sparse.csr_array((weights.ravel(), neighbours.flatten(), indptr), shape=(m, m))


def propagate(graph, candidates, alpha):
    """Confidences of candidate labels: the fixed point of propagation along the graph.

    With the candidates as zeros and ones Y it repeats ::

        F ← α H F + (1 − α) Y,   then 0 outside of the candidates,   then rows to sum one

    from F = Y on, until nothing changes by more than 1e-8.

    Parameters
    ----------
    graph : CSR array of shape (m, m)
        H, with rows that sum to one or zero.
    candidates : ndarray of shape (m, q), bool
    alpha : float in [0, 1)

    Returns
    -------
    ndarray of shape (m, q)
    """
    start = candidates.astype(np.float64)
    confidence = start
    # a contraction by alpha would need log(tol)/log(alpha) steps
    most = 100 + int(40 / (1 - alpha))
    for _ in range(most):
        spread = alpha * (graph @ confidence) + (1 - alpha) * start
        spread *= candidates
        total = spread.sum(axis=1, keepdims=True)
        spread /= np.where(total > 0, total, 1.0)
        change = np.abs(spread - confidence).max()
        confidence = spread
        if change <= PROPAGATION_TOL:
            return confidence
    warnings.warn(
        f"Label propagation stopped after {most} steps with confidences that still change by "
        f"{change:.3g}. Lower alpha.",
        ConvergenceWarning,
        stacklevel=3,
    )
    return confidence


def unit_range(values):
    """Each row shifted and stretched to [0, 1]; a constant row becomes ones, or stays zero."""
    low = values.min(axis=1, keepdims=True)
    width = values.max(axis=1, keepdims=True) - low
    return np.where(width > 0, (values - low) / np.where(width > 0, width, 1.0), values > 0)


def credible_labels(confidence, candidates, neighbours, distances, credibility):
    """The candidates that the neighbourhood of a row believes in.

    Confidences are scaled to the number of candidates of their label and to [0, 1] in each row.
    The neighbours of a row, with weights 1 − d_a / Σ d, then vote on its labels, and candidates
    whose votes, scaled to [0, 1] again, reach ``credibility`` are credible. A row that has none so
    far gets its best candidate: some candidate is right.

    Returns
    -------
    ndarray of shape (m, q), bool
    """
    mass = confidence.sum(axis=0)
    scale = candidates.sum(axis=0) / np.where(mass > 0, mass, 1.0)
    belief = unit_range(confidence * scale)
    k = neighbours.shape[1]
    if k:
        total = distances.sum(axis=1, keepdims=True)
        weight = np.ones_like(distances)
        if k > 1:
            weight -= distances / np.where(total > 0, total, 1.0)
        votes = sum(weight[:, [a]] * belief[neighbours[:, a]] for a in range(k))
        belief = unit_range(votes)
    credible = (belief >= credibility) & candidates
    best = np.where(candidates, belief, -1.0)
    best = (best == best.max(axis=1, keepdims=True)) & candidates
    return np.where(credible.any(axis=1, keepdims=True), credible, best)
