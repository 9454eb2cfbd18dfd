"""Newton's systems by preconditioned conjugate gradients: the only such loop of the package.

With scores Φ V of unknowns V, and D the Hessian of a loss on scores, a Newton direction solves

    (I + Φ* D Φ) V = R.

``Φ`` and its adjoint ``Φ*`` belong to the space that the unknowns live in. In function space V are
coefficients with the inner product of K, Φ V = K V, and Φ* is the identity: the system is
(I + D K) V = R, and K⁻¹ appears nowhere. In weight space Φ is the matrix of features.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Progress(NamedTuple):
    """What is known after some steps."""

    square: float
    """Squared residual in the norm of the preconditioner."""
    first_square: float
    """The same before the first step."""
    rest: Any
    """The residual."""
    scores: Any
    """The scores of the preconditioned residual."""


class Solution(NamedTuple):
    """An approximate solution."""

    unknowns: np.ndarray
    scores: np.ndarray
    n_steps: int
    is_solved: bool


def conjugate_gradients(
    space: Any,
    curvature: Any,
    residual: np.ndarray,
    precondition: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    is_enough: Callable[[Progress], bool],
    max_steps: int,
) -> Solution:
    """Solve (I + Φ* D Φ) V = R.

    Every step takes one product with Φ, in the preconditioner, one with Φ* and one with D.

    Parameters
    ----------
    space : object
        ``combine(U)`` is Φ* U and ``inner(V, W, scores_of_W)`` the inner product ⟨V, W⟩.
    curvature : object
        ``product(S)`` is D S.
    residual : ndarray
        R; not changed.
    precondition : callable
        Takes a residual and returns an approximate solution Z and its scores Φ Z.
    is_enough : callable
        Takes a :class:`Progress`. When it says so one more step is taken, for which all products
        with Φ are known already; unless no step was taken before.
    max_steps : int

    Returns
    -------
    Solution
        ``is_solved`` tells whether ``is_enough`` ended the loop.
    """
    rest = residual.copy()
    unknowns = np.zeros_like(residual)
    direction, scores = precondition(rest)
    total_scores = np.zeros_like(scores)
    square = first_square = space.inner(rest, direction, scores)
    if square <= 0.0 or is_enough(Progress(square, square, rest, scores)):
        return Solution(unknowns, total_scores, 0, True)
    is_last = False
    for n_steps in range(1, max_steps + 1):
        image = space.combine(curvature.product(scores))
        image += direction
        bend = space.inner(image, direction, scores)
        if not bend > 0.0:
            return Solution(unknowns, total_scores, n_steps, is_last)
        length = square / bend
        unknowns += length * direction
        total_scores += length * scores
        if is_last:
            return Solution(unknowns, total_scores, n_steps, True)
        image *= length
        rest -= image
        steepest, steepest_scores = precondition(rest)
        before, square = square, space.inner(rest, steepest, steepest_scores)
        if not square > 0.0:
            return Solution(unknowns, total_scores, n_steps, True)
        is_last = is_enough(Progress(square, first_square, rest, steepest_scores))
        direction *= square / before
        direction += steepest
        scores *= square / before
        scores += steepest_scores
    return Solution(unknowns, total_scores, max_steps, False)
