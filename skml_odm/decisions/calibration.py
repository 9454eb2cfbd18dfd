"""Calibration: from label scores to probabilities.

A calibration is fitted to scores of rows that the model has not seen, as
``fit(scores, indicator, sample_weight, known)``; ``log_odds(scores)`` are those of the calibrated
probabilities. Cells (rows × labels) that are not ``known`` are left out; None if all are. All fits
are deterministic.
"""

from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from ..utils.numbers import EPSILON
from .known import known_cells

# Penalty of what is to be free: it only matters where all labels of all rows are alike, and keeps
# their log-odds finite.
FREE = 1e-4

# Scores whose standard deviation is less than this, relative to their size, are all the same.
SAME = 1e-10

# How far a label's own intercept and slopes may be from those of all labels: the standard deviation
# of their prior, where the slopes that all labels share have one of 1.
OWN_SHARE = 0.3

# Other labels' scores count for a label along so many of their principal directions at most. The
# log loss of unseen rows is 1 % smaller than with none on average over 13 data sets, 8 % where
# labels are functions of a class; with 16 directions it is the same, and a fit takes twice as long.
MOST_DIRECTIONS = 8

# Log-odds of probabilities that a step function calls 0 or 1 end here.
CERTAIN = logit(1.0 - 1e-6)

# A logistic regression takes so many of Newton's steps at most, and this gain ends them.
MAX_STEPS = 100
SMALL_GAIN = 1e-10


class ContextCalibration:
    """Logistic regression on a label's score and on the other scores of its row.

    The log-odds of label l in row i are ::

        g_0 + g_1 logit(π_l) + g_2 s_il + g_3 max_j s_ij + g_4 mean_j s_ij
            + 0.3 (u_l + v_l s_il + w_l·t_i)

    with scores s divided by their standard deviation, the share π_l of rows that have the label,
    and the parts t_i of the row's scores along their leading principal directions. All cells
    (rows × labels) are fitted together, with the penalty ½ (‖g_1…4‖² + Σ_l u_l² + v_l² + ‖w_l‖²):
    frequent labels learn an intercept, a slope and the meaning of other labels' scores for
    themselves, rare ones have what all labels share.

    Attributes
    ----------
    coef_ : ndarray of shape (4 + n_directions, q)
        Of each label: intercept, slope of its score, of the highest score of the row, of the mean,
        and of the principal directions.
    scale_ : float
        The standard deviation of the scores.
    mean_ : ndarray of shape (q,)
        Mean scores, scaled.
    directions_ : ndarray of shape (q, n_directions)
        Principal directions of the scaled scores: all of them, 8 at most, none for one label.
    """

    def fit(self, scores, indicator, sample_weight=None, known=None):
        weight = np.ones(len(scores)) if sample_weight is None else sample_weight
        self.scale_ = _spread(scores, weight, axis=None)
        scaled = scores / self.scale_
        self.mean_ = np.average(scaled, axis=0, weights=weight)
        self.directions_ = _principal_directions(scaled - self.mean_, weight)
        n_rows = weight.sum() if known is None else weight @ known
        share = (weight @ indicator + 0.5) / (n_rows + 1.0)
        q, n_directions = self.directions_.shape
        n_features = 4 + n_directions
        shared = np.zeros((q, n_features, 5))
        shared[:, 0, 0] = 1.0
        shared[:, 0, 1] = logit(share)
        shared[:, [1, 2, 3], [2, 3, 4]] = 1.0
        # a label's own: all but the slopes of the highest and of the mean score
        own = OWN_SHARE * np.delete(np.eye(n_features), [2, 3], axis=1)
        penalty = np.array([FREE, 1.0, 1.0, 1.0, 1.0])
        basis = self._basis(scores)
        cells = known_cells(weight, known)
        self.coef_ = _logistic(basis, indicator, cells, shared, own, penalty, 1.0).T
        return self

    def _basis(self, scores):
        """A label's score, and what it is multiplied with for every label of a row."""
        scaled = scores / self.scale_
        along = (scaled - self.mean_) @ self.directions_
        return scaled, np.column_stack([scaled.max(axis=1), scaled.mean(axis=1), along])

    def log_odds(self, scores):
        scaled, context = self._basis(scores)
        return self.coef_[0] + self.coef_[1] * scaled + context @ self.coef_[2:]


def _principal_directions(centred, weight):
    """The directions (q × r) along which scores vary most."""
    q = centred.shape[1]
    if q == 1:
        return np.zeros((1, 0))
    lowest = max(0, q - MOST_DIRECTIONS)
    moments = (centred * weight[:, None]).T @ centred
    return linalg.eigh(moments, subset_by_index=(lowest, q - 1))[1]


class PerLabelCalibration:
    """Platt's calibration: for each label a logistic regression on its score.

    Its targets are not 1 and 0 but (n₁+1)/(n₁+2) and 1/(n₀+2), with n₁ rows that have the label
    and n₀ that have not, so that the slope stays finite where scores separate them.

    Attributes
    ----------
    coef_ : ndarray of shape (2, q)
        Intercepts and slopes.
    """

    def fit(self, scores, indicator, sample_weight=None, known=None):
        weight = np.ones(len(scores)) if sample_weight is None else sample_weight
        scale = _spread(scores, weight, axis=0)
        absent = ~indicator if known is None else ~indicator & known
        n_with, n_without = weight @ indicator, weight @ absent
        target = np.where(indicator, (n_with + 1.0) / (n_with + 2.0), 1.0 / (n_without + 2.0))
        q = scores.shape[1]
        nothing = np.zeros((len(scores), 0))
        shared, own = np.zeros((q, 2, 0)), np.eye(2)
        cells = known_cells(weight, known)
        found = _logistic((scores / scale, nothing), target, cells, shared, own, np.zeros(0), FREE)
        self.coef_ = found.T / np.vstack([np.ones(q), scale])
        return self

    def log_odds(self, scores):
        return self.coef_[0] + self.coef_[1] * scores


class IsotonicCalibration:
    """For each label the rising step function of its score that fits best.

    Attributes
    ----------
    steps_ : list of IsotonicRegression
    """

    def fit(self, scores, indicator, sample_weight=None, known=None):
        weight = np.ones(len(scores)) if sample_weight is None else sample_weight
        cells = np.broadcast_to(known_cells(weight, known), scores.shape)
        # a label without known cells gets the probability 0
        cells = np.where(cells.any(axis=0), cells, 1.0)
        self.steps_ = [
            IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(
                scores[:, k], indicator[:, k].astype(float), cells[:, k]
            )
            for k in range(scores.shape[1])
        ]
        return self

    def log_odds(self, scores):
        found = np.column_stack([s.predict(scores[:, k]) for k, s in enumerate(self.steps_)])
        with np.errstate(divide="ignore"):
            return np.clip(logit(found), -CERTAIN, CERTAIN)


def _spread(scores, weight, axis):
    """The standard deviation of scores, or their size where they differ by rounding only."""
    scores, weight = scores[weight > 0], weight[weight > 0]
    cells = np.broadcast_to(weight[:, None], scores.shape)
    away = scores - np.average(scores, axis=axis, weights=cells)
    spread = np.sqrt(np.average(away**2, axis=axis, weights=cells))
    size = np.abs(scores).max(axis=axis)
    return np.where(spread > SAME * size, spread, np.where(size > 0.0, size, 1.0))


CALIBRATIONS: dict[str, Any] = {
    "context": ContextCalibration,
    "per-label": PerLabelCalibration,
    "isotonic": IsotonicCalibration,
}


def _logistic(basis, target, weight, shared, own, penalty, own_penalty):
    """Coefficients (q × b) of logistic regressions, one per label, that share a part.

    Minimises over g and the v_l ::

        Σ_il w_il loss(t_il, x_il·β_l) + ½ Σ_j penalty_j g_j² + ½ own_penalty Σ_l ‖v_l‖²,
        β_l = shared_l g + own v_l

    by Newton's method, with x_il = (1, s_il, context_i). Of the Hessian only a b × b matrix of
    second moments per label is needed; the v_l are eliminated label by label.

    Parameters
    ----------
    basis : tuple of ndarray of shape (n, q) and ndarray of shape (n, b − 2)
        Scores s, and the context of each row.
    target : ndarray of shape (n, q)
    weight : ndarray of shape (n, q), or (n, 1) if all labels of a row have the same
    shared : ndarray of shape (q, b, p)
    own : ndarray of shape (b, r)
    penalty : ndarray of shape (p,)
    own_penalty : float
    """
    scores, context = basis
    q, b, p = shared.shape
    constant = np.column_stack([np.ones(len(scores)), context])
    # where the columns of constant are in x
    places = [0, *range(2, b)]
    g, v = np.zeros(p), np.zeros((q, own.shape[1]))

    def log_odds(beta):
        return constant @ beta[:, places].T + scores * beta[:, 1]

    def objective(z, g, v):
        # log(1 + exp(z)) − t z
        loss = np.logaddexp(0.0, z) - target * z
        by_row = weight.shape[1] == 1
        loss = weight[:, 0] @ loss.sum(axis=1) if by_row else np.vdot(weight, loss)
        return loss + 0.5 * (penalty @ g**2 + own_penalty * np.sum(v**2))

    beta = shared @ g + v @ own.T
    z = log_odds(beta)
    value = objective(z, g, v)
    for _ in range(MAX_STEPS):
        probability = expit(z)
        residual = weight * (target - probability)
        slope = np.empty((q, b))
        slope[:, places] = residual.T @ constant
        slope[:, 1] = np.einsum("il,il->l", residual, scores)
        moments = _moments(weight * probability * (1.0 - probability), scores, constant)
        step_g, step_v = _newton_step(slope, moments, shared, own, penalty, own_penalty, g, v)
        gain, length = -1.0, 1.0
        while gain < 0.0 and length > 1e-8:
            new_g, new_v = g + length * step_g, v + length * step_v
            new_z = log_odds(shared @ new_g + new_v @ own.T)
            gain = value - objective(new_z, new_g, new_v)
            length *= 0.5
        if gain < 0.0:
            break
        g, v, z, value = new_g, new_v, new_z, value - gain
        if gain <= SMALL_GAIN * (1.0 + abs(value)):
            break
    return shared @ g + v @ own.T


def _moments(curvature, scores, constant):
    """Σ_i curvature_il x_il x_ilᵀ for every label l (q × b × b)."""
    q, n_constant = scores.shape[1], constant.shape[1]
    places = np.array([0, *range(2, n_constant + 1)])
    moments = np.empty((q, n_constant + 1, n_constant + 1))
    first, second = np.triu_indices(n_constant)
    among = curvature.T @ (constant[:, first] * constant[:, second])
    first, second = places[first], places[second]
    moments[:, first, second] = moments[:, second, first] = among
    curvature = curvature * scores
    moments[:, 1, places] = moments[:, places, 1] = curvature.T @ constant
    moments[:, 1, 1] = np.einsum("il,il->l", curvature, scores)
    return moments


def _newton_step(slope, moments, shared, own, penalty, own_penalty, g, v):
    """Newton's step for g and the v_l, these eliminated label by label."""
    slope_g = np.einsum("lbp,lb->p", shared, slope) - penalty * g
    slope_v = slope @ own - own_penalty * v
    H_vv = own.T @ moments @ own + own_penalty * np.eye(own.shape[1])
    H_gv = np.swapaxes(shared, 1, 2) @ moments @ own
    H_gg = (np.swapaxes(shared, 1, 2) @ moments @ shared).sum(axis=0) + np.diag(penalty)
    solved = np.linalg.solve(H_vv, np.dstack([slope_v, np.swapaxes(H_gv, 1, 2)]))
    alone, through = solved[:, :, 0], solved[:, :, 1:]
    step_g = np.zeros(0)
    if len(g):
        reduced = H_gg - (H_gv @ through).sum(axis=0)
        # rounding may leave nothing where scores have very different sizes
        reduced += EPSILON * np.trace(H_gg) * np.eye(len(g))
        step_g = np.linalg.solve(reduced, slope_g - np.einsum("lpr,lr->p", H_gv, alone))
    return step_g, alone - through @ step_g
