"""Measures that scikit-learn lacks or computes more slowly, and scorers made of them."""

from .ranking import (
    average_precision,
    coverage,
    known_counts,
    label_margins,
    one_error,
    ranking_loss,
)
from .scorers import (
    RankingScorer,
    average_precision_scorer,
    coverage_scorer,
    one_error_scorer,
    ranking_loss_scorer,
)

__all__ = [
    "RankingScorer",
    "average_precision",
    "average_precision_scorer",
    "coverage",
    "coverage_scorer",
    "known_counts",
    "label_margins",
    "one_error",
    "one_error_scorer",
    "ranking_loss",
    "ranking_loss_scorer",
]
