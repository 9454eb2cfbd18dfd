"""Covariances between label models, given or learned (paper 002, Eqs. 15-17).

A matrix R over the labels, and the dummy label where there is one, enters a problem as Θ = Γ R Γᵀ
(q × q), with Γ = [I, −1] if scores are those of labels minus that of the dummy, and Γ = I without
a dummy.
"""

import numpy as np

from ..utils.numbers import TINY

# A symmetric matrix counts as such, and as positive semidefinite, up to this share of its size.
ROUNDING = 1e-8


class LabelCovariance:
    """R, and the Θ that goes with it.

    Parameters
    ----------
    n_labels : int
    dummy : bool
        Whether there is a dummy label; it comes last in R.
    given : ndarray, optional
        R; without, the identity.
    """

    alpha = np.inf
    is_learned = False

    def __init__(self, n_labels, dummy, given=None):
        self.contrast = np.eye(n_labels)
        if dummy:
            self.contrast = np.hstack([self.contrast, -np.ones((n_labels, 1))])
        self.dummy = dummy
        self.is_identity = given is None
        self.given = np.eye(self.contrast.shape[1]) if given is None else given

    def matrix(self, gram):
        """R that goes with Aᵀ K A."""
        return self.given

    def penalty(self, matrix):
        """What R adds to the objective."""
        return 0.0

    def between_labels(self, matrix):
        """Θ = Γ R Γᵀ."""
        return np.ascontiguousarray(self.contrast @ matrix @ self.contrast.T)


class LearnedCovariance(LabelCovariance):
    """The R that minimises ½α‖R − I‖² − tr(R Γᵀ AᵀK A Γ) / 2β for given coefficients A.

    It is I + Γᵀ AᵀK A Γ / (2αβ), positive definite by itself.
    """

    is_learned = True

    def __init__(self, n_labels, dummy, alpha, beta):
        super().__init__(n_labels, dummy)
        self.is_identity = False
        self.alpha, self.beta = alpha, beta

    def matrix(self, gram):
        matrix = self.contrast.T @ gram @ self.contrast / (2.0 * self.alpha * self.beta)
        return 0.5 * (matrix + matrix.T) + self.given

    def penalty(self, matrix):
        return 0.5 * self.alpha * np.sum((matrix - self.given) ** 2)


def check_covariance(value, sizes):
    """A user's covariance matrix as an array; raises unless it is one of a size in ``sizes``."""
    allowed = " or ".join(f"({size}, {size})" for size in sizes)
    try:
        matrix = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.shape not in [(size, size) for size in sizes]:
        raise ValueError(
            f"covariance must be a matrix of shape {allowed} for these labels; "
            f"got {_describe(value, matrix)}."
        )
    if not np.all(np.isfinite(matrix)):
        raise ValueError("covariance must hold finite numbers; got NaN or infinity.")
    largest = np.abs(matrix).max()
    asymmetry = np.abs(matrix - matrix.T).max()
    if asymmetry > ROUNDING * largest:
        raise ValueError(
            f"covariance must be symmetric; got entries that differ by {asymmetry:.3g} from their "
            f"mirror images."
        )
    smallest = np.linalg.eigvalsh(matrix)[0]
    if smallest < -ROUNDING * largest:
        raise ValueError(
            f"covariance must be positive semidefinite; got an eigenvalue of {smallest:.3g}."
        )
    return 0.5 * (matrix + matrix.T)


def label_correlations(indicator, sample_weight=None, known=None):
    """Pearson correlations of the labels; a label that never changes has none with others.

    An unknown label is taken to be at its mean: the matrix stays positive semidefinite.
    """
    weight = np.ones(len(indicator)) if sample_weight is None else sample_weight
    total = max(weight.sum(), TINY)
    number = total if known is None else np.maximum(weight @ known, TINY)
    centred = indicator - weight @ indicator / number
    if known is not None:
        centred *= known
    covariance = (centred.T * weight) @ centred / total
    deviation = np.sqrt(covariance.diagonal())
    deviation[deviation <= ROUNDING] = np.inf
    correlations = covariance / np.outer(deviation, deviation)
    np.fill_diagonal(correlations, 1.0)
    return correlations


def _describe(value, matrix):
    return repr(value) if matrix.ndim < 2 else f"shape {matrix.shape}"
