"""Rank-SVM by the method of multipliers, with coordinate steps over the label pairs.

For the problem see :mod:`skml_odm.problems.hinge`. Adding −⟨b, t⟩ − ½ρ‖t‖², t = Σ_i A_i, to the
dual leaves nothing of its constraints but the boxes: every multiplier can be moved to its own
optimum, with the kernel K + ρ and scores shifted by b. After each epoch b ← b + ρ t.
"""

import numpy as np

from ..problems.hinge import PairMultipliers
from .certificates import pair_certificate
from .iteration import finish
from .sweeps import Epoch, PanelVisits, epochs

# ρ, relative to the diagonal of K.
RHO = 0.1


def multipliers(operator, loss, *, tol, max_iter, random_state=None, verbose=0):
    """Solve the problem to a relative duality gap of ``tol``.

    Parameters
    ----------
    operator
        K; an intercept other than zero asks for biases.
    loss : HingeLoss
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Epochs at most.
    random_state : int, RandomState or None
        Panels of each epoch, and the order within them.
    verbose : int
        Print a line per epoch if positive.

    Returns
    -------
    Result
    """
    sweep = MultiplierSweep(operator, PairMultipliers(loss, operator.intercept > 0.0))
    return finish(epochs(sweep, tol=tol, random_state=random_state, verbose=verbose), max_iter)


class MultiplierSweep:
    """Visit all rows once; changes the multipliers and biases of ``state``."""

    name = "multipliers"

    def __init__(self, operator, state):
        self.operator, self.state = operator, state
        self.n_rows = operator.shape[0]
        self.A = state.coefficients()
        self.rho = state.penalty(RHO * operator.diagonal().mean())
        self.visits = PanelVisits(operator, self.A)

    def __call__(self, rng, gap, negligible):
        state, A, surplus = self.state, self.A, 0.0
        total = A.sum(axis=0)
        for panel in self.visits(rng):
            surplus += state.pairs.sweep(
                panel.order,
                panel.rows.start,
                panel.rows.step,
                panel.gram + self.rho,
                np.ascontiguousarray((panel.scores + state.biases + self.rho * total).T),
                A,
                state.values,
                negligible,
            )
            total += (A[panel.rows] - panel.before).sum(axis=0)
        if state.balanced:
            state.biases += self.rho * total
        # unbalanced multipliers have no dual value: half of Σ α is about the optimum
        return Epoch(surplus=surplus, dual=0.25 * np.abs(A).sum() - surplus, n_products=2)

    def certificate(self):
        return pair_certificate(self.operator, self.state)
