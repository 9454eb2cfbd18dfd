"""The last check of a result: it is no worse than the zero model, and rounding hides nothing.

Two things can go wrong where features are so large that double precision runs out of digits. A
solver may end above the value of zero coefficients. And the certificate, which is computed from the
scores F = K A, may miss what those have lost to rounding.

Adding up F_il = Σ_j K_ij A_jl rounds by about ε Σ_j |K_ij A_jl|, and |K_ij| ≤ √(K_ii K_jj), so

    |δF_il| ≤ E_i = ε √K_ii max_l Σ_j √K_jj |A_jl|.

That moves ⟨A, F⟩ by at most Σ_i E_i Σ_l |A_il|. A loss that asks for margins of 1 moves by at most
twice its value at zero for each unit of the largest E_i: a margin is the difference of two scores.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ..utils.numbers import EPSILON
from .result import ROUNDING


def accepted(result: Any, operator: Any, at_zero: float, *, tol: float, **of_zero: Any) -> Any:
    """The result with its rounding, or the zero model if that has the smaller primal value.

    Parameters
    ----------
    result : Result
    operator
        K, or anything else with a ``diagonal()`` and an ``intercept``.
    at_zero : float
        The primal value of the zero model.
    tol : float
        Relative duality gap to reach.
    **of_zero
        Further attributes that the zero model's result is to have.

    Returns
    -------
    Result
        The same object unless it is the zero model's.
    """
    rounding = rounding_of_values(result.coefficients, operator, at_zero)
    if result.primal > at_zero * (1.0 + ROUNDING):
        # a lower bound above the value of a model has been spoilt by rounding
        dual = result.dual if 0.0 < result.dual <= at_zero else 0.0
        result = replace(
            result,
            coefficients=np.zeros_like(result.coefficients),
            intercept=np.zeros_like(result.intercept),
            scores=np.zeros_like(result.scores),
            primal=at_zero,
            difference=at_zero - dual,
            **of_zero,
        )
    result.rounding = rounding / result.primal if result.primal > 0.0 else 0.0
    result.converged = result.gap <= tol
    return result


def rounding_of_values(coefficients: np.ndarray, operator: Any, at_zero: float) -> float:
    """How much of the difference of primal and dual value may be rounding."""
    sizes = np.abs(coefficients)
    roots = np.sqrt(operator.diagonal() + operator.intercept)
    of_scores = EPSILON * roots * (roots @ sizes).max(initial=0.0)
    return sizes.sum(axis=1) @ of_scores + 2.0 * at_zero * of_scores.max(initial=0.0)
