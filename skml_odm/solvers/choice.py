"""The solvers for a pair loss by their names."""

from collections.abc import Callable
from functools import partial

from ._m3 import MultiplicativeBlocks
from .auto import auto
from .bcd import bcd
from .newton import newton

SOLVERS: dict[str, Callable] = {
    "auto": auto,
    "newton": newton,
    "bcd": bcd,
    "m3": partial(bcd, blocks=MultiplicativeBlocks),
}


def minimise(solver, operator, loss, *, tol, max_iter, random_state, verbose):
    """Solve min ½⟨A, K A⟩ + L(K A) with the solver of that name; a ``Result``."""
    options = {} if solver == "newton" else {"random_state": random_state}
    return SOLVERS[solver](operator, loss, tol=tol, max_iter=max_iter, verbose=verbose, **options)
