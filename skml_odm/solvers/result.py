"""What every solver returns, and the certificate that comes with it."""

from dataclasses import dataclass, field

import numpy as np

from ..utils.numbers import TINY

# Sums over rows that differ by less, relatively, are the same but for rounding.
ROUNDING = 1e-12

# Problems of at most so many rows are solved to rounding, whatever the tolerance: it costs nothing,
# and equal problems then have equal solutions. EXACT is a relative gap that rounding hardly allows.
EXACT_ROWS = 64
EXACT = 1e-15

# Bytes for the solutions that a path of problems keeps.
PATH_MEMORY = 2**26


@dataclass(kw_only=True)
class Result:
    """Coefficients of a solved problem and the proof of how good they are.

    Attributes
    ----------
    coefficients : ndarray of shape (m, q)
        A.
    intercept : ndarray of shape (q,)
        b; zero for a problem without one.
    scores : ndarray of shape (m, q)
        F = K A + b, computed anew at exit.
    primal : float
        P(A, b), from these scores.
    difference : float
        Primal value minus the value of a dual feasible point, from these scores. The optimum lies
        between ``primal - difference`` and ``primal``.
    n_iter : int
    converged : bool
        Whether the relative gap reached the tolerance.
    trace : list of (iteration, primal, difference)
        As known during the iteration; estimates for some solvers.
    lp_solver : str
        Which solver found the biases where these are a linear program, else "none".
    margin : float
        The margin asked of every label pair.
    covariance : ndarray, optional
        Covariances of the label models, where the problem has them.
    rounding : float
        How much of the relative gap the rounding of the scores may hide.
    limit : str, optional
        The argument that ended the iteration, empty if none did; None where only ``max_iter`` can.
    """

    coefficients: np.ndarray
    intercept: np.ndarray
    scores: np.ndarray
    primal: float
    difference: float
    n_iter: int
    converged: bool
    trace: list = field(default_factory=list)
    lp_solver: str = "none"
    margin: float = 1.0
    covariance: np.ndarray | None = None
    rounding: float = 0.0
    limit: str | None = None

    @property
    def dual(self) -> float:
        return self.primal - self.difference

    @property
    def gap(self) -> float:
        """Relative duality gap, or what rounding may hide if that is more.

        At most 1, because 0 is a lower bound, too.
        """
        return min(1.0, max(relative_gap(self.primal, self.difference), self.rounding))


def relative_gap(primal: float, difference: float) -> float:
    """difference / primal; zero for a problem without pairs, whose values are zero.

    A difference below zero by more than rounding, or a primal value below zero, belongs to no
    convex problem.
    """
    if not (np.isfinite(primal) and np.isfinite(difference)):
        raise FloatingPointError("the primal or the dual value is not finite")
    if primal < 0.0 or difference < -1e-8 * primal:
        raise FloatingPointError("the primal value is below the dual value")
    return float(difference / primal) if difference > 0.0 else 0.0


class Trace:
    """Collects one entry per iteration and prints it if asked to."""

    def __init__(self, name: str, verbose: int = 0) -> None:
        self.name = name
        self.verbose = verbose
        self.entries: list[tuple[int, float, float]] = []

    def add(self, iteration: int, primal: float, difference: float) -> None:
        self.entries.append((iteration, primal, difference))
        if self.verbose:
            print(
                f"[{self.name}] {iteration:4d}  primal {primal:.8e}  "
                f"relative gap {difference / max(primal, TINY):.2e}",
                flush=True,
            )
