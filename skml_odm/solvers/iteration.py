"""Solvers as generators, so that two of them can take turns.

A solver yields a :class:`Step` after each iteration and returns a ``Result`` when it has reached
the tolerance. ``send(True)`` tells it that this iteration was the last: it then computes its
certificate and returns what it has.
"""

from collections.abc import Generator
from typing import Any, NamedTuple, TypeAlias

from .result import Result


class Step(NamedTuple):
    """What an iteration reports."""

    gap: float
    """Relative duality gap, as far as known."""
    n_products: float
    """How many products K V the iteration cost, about."""


# yields steps, is sent whether the last one was the last, returns a result
Steps: TypeAlias = Generator[Step, bool | None, Result]


def finish(steps: Steps, max_iter: int) -> Any:
    """Run a solver for at most ``max_iter`` iterations and return its result."""
    try:
        next(steps)
        for _ in range(max_iter - 1):
            next(steps)
    except StopIteration as end:
        return end.value
    return conclude(steps)


def conclude(steps: Steps) -> Any:
    """End a solver now and return its result."""
    try:
        steps.send(True)
    except StopIteration as end:
        return end.value
    raise RuntimeError("the solver went on after its last iteration")
