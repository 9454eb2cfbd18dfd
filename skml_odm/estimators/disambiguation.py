"""From candidate labels to confidences and a model: three ways.

``cross_fit``
    confidences from the scores of models that have not seen the row;
``train``
    a model for given confidences, a convex problem;
``alternate``
    the paper's method (001, Algorithm 1): confidences and model in turns.
"""

from dataclasses import dataclass

import numpy as np

from ..problems.confidences import ConfidenceLoss
from ..solvers.acceptance import accepted
from ..solvers.confidence import confidences as confidence_step
from ..solvers.newton import newton
from ..solvers.result import EXACT_ROWS
from ..solvers.turns import newton_to_rounding
from ..utils.types import NDArray
from .candidates import largest_is_one

# Relative gap of the models that only serve to score rows they have not seen.
ROUGH = 1e-2

# Confidence of a candidate that scores far below the best one. Rare labels often do, even if right.
DOUBT = 0.25

# The alternation ends when its objective changes by less than this, relatively.
SETTLED = 1e-3

# Confidences that differ by less than this are the same; HiGHS returns them to about 1e-10.
SAME = 1e-9


@dataclass
class Training:
    """How a model is trained for given confidences.

    Parameters
    ----------
    operator
        K.
    theta, mu : float
        The pair loss.
    tol, max_iter, verbose
        As in ``newton``.
    known : ndarray of shape (m, q), bool, or None
        Which labels are known to be candidates or not; None if all are. The others are in no pair.
    """

    operator: object
    theta: float
    mu: float
    tol: float
    max_iter: int
    verbose: int = 0
    known: NDArray | None = None

    def __call__(self, confidences, weight, candidates=None, start=None, tol=None):
        """The Result for confidences P and row weights c; candidates as in ``ConfidenceLoss``."""
        solve = newton_to_rounding if confidences.shape[0] <= EXACT_ROWS else newton
        loss = ConfidenceLoss(
            confidences, weight, self.theta, self.mu, candidates, involved=self.known
        )
        tol = self.tol if tol is None else tol
        options = {"max_iter": self.max_iter, "start": start, "verbose": self.verbose}
        result = solve(self.operator, loss, tol=tol, **options)
        return accepted(result, self.operator, loss.at_zero, tol=tol)


def equal_weights(confidences, C, candidates=None, known=None):
    """c_i that give the pairs of every row the weight C together; 0 for rows without pairs."""
    q = confidences.shape[1]
    n_known = q if known is None else known.sum(axis=1)
    if candidates is None:
        # in falling order entry a is the greater one of q − 1 − a pairs and the lesser one of a
        falling = -np.sort(-confidences, axis=1)
        total = falling @ (q - 1.0 - 2.0 * np.arange(q))
        # unknown labels, whose confidence is 0, would be the lesser ones of some
        total -= (q - n_known) * confidences.sum(axis=1)
    else:
        total = confidences.sum(axis=1) * (n_known - candidates.sum(axis=1))
    pairs = total > 1e-12 * np.maximum(confidences.max(axis=1), 1e-300)
    return np.divide(C, total, out=np.zeros(len(total)), where=pairs)


def unseen_scores(train, confidences, candidates, C, n_folds, rng):
    """Scores of every row by a model trained without its fold."""
    weight = equal_weights(confidences, C, candidates, train.known)
    whole = train(confidences, weight, candidates, tol=ROUGH)
    folds = np.array_split(rng.permutation(len(weight)), min(n_folds, len(weight)))
    return scores_without_folds(train, confidences, weight, candidates, whole.coefficients, folds)


def scores_without_folds(train, confidences, weight, candidates, start, folds):
    """Scores of every row by a model trained without its fold, whose rows have the weight zero."""
    scores = np.empty_like(confidences)
    for fold in folds:
        kept, coefficients = weight.copy(), start.copy()
        kept[fold], coefficients[fold] = 0.0, 0.0
        result = train(confidences, kept, candidates, start=coefficients, tol=ROUGH)
        scores[fold] = result.scores[fold]
    return scores


def closeness_to_the_best(scores, candidates):
    """1 for the candidate with the highest score, falling to 0 at a margin of 1 below it."""
    best = np.where(candidates, scores, -np.inf).max(axis=1, keepdims=True)
    return np.where(candidates, np.clip(1.0 - (best - scores), 0.0, 1.0), 0.0)


def cross_fit(train, candidates, C, n_folds, rng):
    """Confidences from the scores of models that took all candidates of other rows for labels."""
    scores = unseen_scores(train, candidates.astype(float), candidates, C, n_folds, rng)
    return candidates * (DOUBT + (1.0 - DOUBT) * closeness_to_the_best(scores, candidates))


@dataclass
class Alternation:
    """The outcome of the paper's method."""

    result: object
    confidences: np.ndarray
    weight: np.ndarray
    history: list[float]
    solver: str


def alternate(
    train,
    neighbourhood,
    prototypes,
    candidates,
    C,
    prototype_weight,
    cut,
    *,
    fixed,
    solver,
    max_iter,
):
    """Paper 001, Algorithm 1.

    min  ½⟨A, K A⟩ + Σ_i c_i Σ_{k∈Z_i, l} (p_ik − p_il)₊ ℓ(f_ik − f_il) + λ₂ Σ_ik p_ik ‖x_i − q_k‖
    with c_i = C / (m |Z_i| q) and λ₂ = ``prototype_weight`` · C / m, over A and P in turns. Unless
    ``fixed``, prototypes move after each model to the rows that ``cut(scores)`` predicts to have
    their label.
    """
    m, q = candidates.shape
    n_candidates = np.maximum(candidates.sum(axis=1), 1)
    weight = C / (m * q * n_candidates)
    votes = neighbourhood.smooth(candidates) * candidates
    found = largest_is_one(votes)
    prototypes.update(candidates.astype(float) if fixed else votes)
    price = prototype_weight * C / m
    history: list[float] = []
    solvers: set[str] = set()
    result = train(found, weight)
    for _ in range(max_iter):
        if not fixed:
            predicted = cut(result.scores) & candidates
            prototypes.update(neighbourhood.smooth(predicted) * predicted)
        step = confidence_step(
            result.scores,
            candidates,
            price * prototypes.distances(),
            weight,
            1.0 - train.theta,
            1.0 + train.theta,
            train.mu,
            solver=solver,
        )
        solvers.add(step.solver)
        loss = ConfidenceLoss(found, weight, train.theta, train.mu)
        regulariser = result.primal - loss.evaluate(result.scores)[0]
        history.append(regulariser + step.value)
        moved = np.abs(step.confidences - found).max()
        found = step.confidences
        result = train(found, weight, start=result.coefficients)
        if moved <= SAME or (
            len(history) > 1 and abs(history[-2] - history[-1]) <= SETTLED * history[-1]
        ):
            break
    # "cut+linprog" of a single turn outlives the "cut" of the others
    return Alternation(result, found, weight, history, max(solvers, key=len))
