"""Ranking measures as scorers for model selection."""

from collections.abc import Callable
from typing import Any

from sklearn.pipeline import Pipeline

from ..utils.types import Matrix, Weights
from .ranking import average_precision, coverage, one_error, ranking_loss


class RankingScorer:
    """A scorer that ranks labels by an estimator's scores; larger is better.

    These are its ``ranking_scores``, or ``decision_function`` if it has none; of a pipeline or a
    search those of the model inside.

    The same as scikit-learn's ``make_scorer`` makes of a measure, without its checks of what kind
    of target y is: in a search they would take longer than the measure.

    Parameters
    ----------
    measure : callable
        Takes labels, scores and ``sample_weight``.
    greater_is_better : bool
    """

    def __init__(self, measure: Callable[..., float], greater_is_better: bool = True) -> None:
        self.measure = measure
        self.sign = 1.0 if greater_is_better else -1.0

    def __call__(
        self, estimator: Any, X: Matrix, y: Matrix, sample_weight: Weights = None
    ) -> float:
        model, rows = _innermost(estimator, X)
        rank = getattr(model, "ranking_scores", None) or model.decision_function
        return self.sign * self.measure(y, rank(rows), sample_weight=sample_weight)

    def _accept_sample_weight(self) -> bool:
        """Asked by scikit-learn where there are several scorers."""
        return True

    def __repr__(self) -> str:
        greater = "" if self.sign > 0 else ", greater_is_better=False"
        return f"RankingScorer({self.measure.__name__}{greater})"


def _innermost(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The model inside pipelines and searches, and rows as it takes them."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            for _, step in estimator.steps[:-1]:
                X = X if step in (None, "passthrough") else step.transform(X)
            estimator = estimator[-1]
        else:
            return estimator, X


ranking_loss_scorer = RankingScorer(ranking_loss, greater_is_better=False)
average_precision_scorer = RankingScorer(average_precision)
one_error_scorer = RankingScorer(one_error, greater_is_better=False)
coverage_scorer = RankingScorer(coverage, greater_is_better=False)
