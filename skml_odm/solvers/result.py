"""What every solver returns, and the certificate that comes with it."""

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Result:
    """Coefficients of a fitted problem and the proof of how good they are.

    Attributes
    ----------
    coefficients : ndarray of shape (m, q)
        A.
    intercept : ndarray of shape (q,)
        b; zero for a problem without one.
    scores : ndarray of shape (m, q)
        F = K A + b, computed anew at exit.
    primal, dual : float
        P(A, b) and the value of a dual feasible point: dual ≤ optimum ≤ primal.
    n_iter : int
    converged : bool
        Whether the relative gap reached the tolerance.
    trace : list of (iteration, primal, dual)
    """

    coefficients: np.ndarray
    intercept: np.ndarray
    scores: np.ndarray
    primal: float
    dual: float
    n_iter: int
    converged: bool
    trace: list = field(default_factory=list)

    @property
    def gap(self):
        return relative_gap(self.primal, self.dual)


def relative_gap(primal, dual):
    """(primal − dual) / primal; zero where both vanish (then zero coefficients are optimal)."""
    if primal - dual <= 0.0:
        return 0.0
    return float((primal - dual) / primal) if primal > 0.0 else float("inf")


class Trace:
    """Collects one entry per iteration and prints it if asked to."""

    def __init__(self, name, verbose=0):
        self.name = name
        self.verbose = verbose
        self.entries = []

    def add(self, iteration, primal, dual, note=""):
        self.entries.append((iteration, primal, dual))
        if self.verbose:
            print(
                f"[{self.name}] {iteration:5d}  primal {primal:.8e}  dual {dual:.8e}  "
                f"relative gap {relative_gap(primal, dual):.2e}{note}",
                flush=True,
            )
