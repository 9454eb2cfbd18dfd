"""What every solver returns, and the certificate that comes with it."""

from dataclasses import dataclass, field

import numpy as np


@dataclass
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
    """

    coefficients: np.ndarray
    intercept: np.ndarray
    scores: np.ndarray
    primal: float
    difference: float
    n_iter: int
    converged: bool
    trace: list = field(default_factory=list)

    @property
    def dual(self):
        return self.primal - self.difference

    @property
    def gap(self):
        return relative_gap(self.primal, self.difference)


def relative_gap(primal, difference):
    """difference / primal; zero where there is no difference, as for a problem without pairs."""
    if difference <= 0.0:
        return 0.0
    return float(difference / primal) if primal > 0.0 else float("inf")


class Trace:
    """Collects one entry per iteration and prints it if asked to."""

    def __init__(self, name, verbose=0):
        self.name = name
        self.verbose = verbose
        self.entries = []

    def add(self, iteration, primal, difference):
        self.entries.append((iteration, primal, difference))
        if self.verbose:
            print(
                f"[{self.name}] {iteration:4d}  primal {primal:.8e}  "
                f"relative gap {relative_gap(primal, difference):.2e}",
                flush=True,
            )
