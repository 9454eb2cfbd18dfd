"""What all that find Newton directions have in common.

A direction X is an approximate solution of (I + D K) X = R, found by conjugate gradients: for any
operator in :mod:`.newton`, with little memory in :mod:`.lean`, from few features in
:mod:`.features`.
"""

from typing import Any

# Conjugate gradient steps at most.
MAX_CG = 250

# Conjugate gradients that end with a step that costs nothing may be so much less accurate before.
RELAXED = 2.0


class Directions:
    """Newton directions for one operator.

    A call with (curvature, R, K R, forcing) gives X, K X and the number of products K V they took;
    R and K R may be used up.

    Attributes
    ----------
    operator
        K, in the precision of the products that directions are made of.
    diagonal : float
        The mean of the diagonal of K.
    hard : bool
        Whether a system proved so hard that the next ones are factored.
    proximal : bool
        Whether proximal points proved more than the scores.
    takes_product : bool
        Whether K R is used.
    """

    operator: Any
    diagonal: float
    hard = proximal = takes_product = False
