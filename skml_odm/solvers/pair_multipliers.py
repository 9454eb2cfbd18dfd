"""Rank-SVM's dual variables, one per label pair, and the certificate that they give.

    min_{A, b}  P(A, b) = ½⟨A, K A⟩ + L(K A + b),    L(F) = Σ_i c_i Σ_kl (1 − f_ik + f_il)₊
    max_α       D(α)    = Σ α − ½⟨A, K A⟩,           0 ≤ α_ikl ≤ c_i,   Σ_i A_i = 0

with A_ik = Σ_l α_ikl for relevant labels and A_il = −Σ_k α_ikl for irrelevant ones. The balance
equations Σ_i A_i = 0 belong to the biases b; a problem without biases has none.
"""

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from ..problems import _hinge
from .circulation import circulation
from .result import FULL, Result

# Largest imbalance of a label that is rounding, relative to the sum of all multipliers.
BALANCED = 1e-12


class PairMultipliers:
    """The multipliers of all pairs, row by row, and the biases b.

    Seen as arcs from irrelevant to relevant labels, balanced multipliers are a circulation: they
    vanish on arcs between different strongly connected components, such as those of a label that
    is relevant always or never.

    Parameters
    ----------
    loss : HingeLoss
    balanced : bool
        Whether the problem has biases.
    """

    def __init__(self, loss, balanced):
        self.loss = loss
        self.balanced = balanced
        self.rows = loss.order, loss.n_relevant, loss.weight, loss.first
        self.values = np.zeros(loss.n_pairs.sum())
        self.biases = np.zeros(loss.shape[1])
        self.component = _components(loss) if balanced else np.zeros(loss.shape[1], np.int32)

    def can_start(self, other):
        """Whether another problem has the same pairs, and this one has not failed."""
        same = np.array_equal(self.loss.relevant, other.loss.relevant) and np.array_equal(
            self.loss.n_pairs, other.loss.n_pairs
        )
        return same and bool(np.isfinite(self.values.sum() + self.biases.sum()))

    def start_from(self, other, operator):
        """Begin where another problem with the same pairs has ended.

        Multipliers at their upper bounds stay there, the others keep their values.
        """
        bounds, old_bounds = (
            np.repeat(state.loss.weight, state.loss.n_pairs) for state in (self, other)
        )
        np.minimum(other.values, bounds, out=self.values)
        full = other.values >= FULL * old_bounds
        self.values[full] = bounds[full]
        self.biases[:] = other.biases

    def penalty(self, operator, curvature, reach):
        """ρ for the kernel K + ρ: ``curvature`` times the diagonal of K, or more for a small C.

        Biases are ρ Σ_i A_i, and the label sums cannot exceed what the bounds of the multipliers
        allow: this much must suffice for biases of size ``reach``.
        """
        if not self.balanced:
            return 0.0
        capacity = self.loss.weight @ self.loss.n_pairs
        smallest = reach * self.loss.shape[1] / capacity if capacity > 0.0 else 0.0
        return max(curvature * operator.diagonal().mean(), smallest)

    def coefficients(self):
        """A of the multipliers."""
        A = np.empty(self.loss.shape)
        _hinge.shift_free(*self.rows, np.zeros(A.shape[1]), self.values, A)
        return A

    def balance(self):
        """Multipliers with Σ_i A_i = 0, or as close to that as is easy, and their A.

        Every multiplier is moved by −α(1 − α/c)(φ_k − φ_l), φ the solution of a q × q system. None
        leaves its box while φ varies by less than 1, and none at a bound moves: near the optimum,
        where the others have margin 1, the dual value hardly changes.
        """
        values, A = self.values.copy(), self.coefficients()
        # once more for rounding, and where the full step would leave the boxes
        for _ in range(3):
            laplacian = np.zeros(2 * self.biases.shape)
            _hinge.free_laplacian(*self.rows, values, laplacian)
            potential = np.linalg.lstsq(laplacian, A.sum(axis=0), rcond=1e-13)[0]
            potential /= max(1.0, np.ptp(potential))
            _hinge.shift_free(*self.rows, potential, values, A)
        return values, A


def _components(loss):
    """The strongly connected component of each label; arcs go from irrelevant to relevant ones."""
    q = loss.shape[1]
    relevant = np.zeros(loss.shape)
    np.put_along_axis(relevant, loss.order, np.arange(q) < loss.n_relevant[:, None], axis=1)
    used = loss.weight > 0
    arcs = (1.0 - relevant[used]).T @ relevant[used] > 0
    return connected_components(csr_matrix(arcs), connection="strong")[1].astype(np.int32)


def certify(operator, multipliers):
    """A Result for the current multipliers, balanced, with the best biases; all computed anew."""
    if multipliers.balanced:
        values, A = multipliers.balance()
    else:
        values, A = multipliers.values, multipliers.coefficients()
    result = best_primal(operator, multipliers, A)
    # where the balance fails, all that is known of the dual value is that of zero
    limit = BALANCED * values.sum() if multipliers.balanced else np.inf
    if np.abs(A.sum(axis=0)).max(initial=0.0) <= limit:
        result.difference -= values.sum() - 0.5 * np.vdot(A, result.scores - result.intercept)
    return result


def best_primal(operator, multipliers, A):
    """A Result for coefficients A with the best biases; its dual value is that of zero."""
    loss, b, solver = multipliers.loss, multipliers.biases.copy(), "none"
    F = operator.with_intercept(0.0).product(A)
    primal = 0.5 * np.vdot(A, F)
    if multipliers.balanced:
        program = circulation(F, loss.order, loss.n_relevant, loss.weight, start=b)
        b, solver = program.biases, program.solver
        primal -= program.value
    else:
        primal += loss.evaluate(F)[0]
    return Result(
        coefficients=A,
        intercept=b,
        scores=F + b,
        primal=primal,
        difference=primal,
        n_iter=1,
        converged=False,
        lp_solver=solver,
    )
