"""What a problem must offer to a solver, on one page.

A problem knows the labels and no kernel. Solvers minimise ½⟨A, K A⟩ + L(K A) over coefficients A
(m × q) and only ask the problem about L, a convex loss of the scores F = K A that couples nothing
but the labels of a row.

=====================  ====================================================================
``shape``              (m, q)
``at_zero``            L(0), which no accepted result exceeds
``evaluate(F)``        L(F) and the gradient coefficients G = −∇L(F). A is optimal exactly
                       when A = G(K A), and every G proves a dual value:
                       L(F) + ⟨G, F⟩ − ½⟨G, K G⟩ is at most the optimum.
``curvature(F)``       the Hessian D of L at F as an object with ``product(V)``, D V;
                       ``diagonal()``, its diagonal (m × q); and, for linear kernels with few
                       features, ``modes()``, the ``Modes`` of its average over the rows (q × q)
``zero_sums``          whether the rows of G and D always sum to zero, as those of losses on label
                       pairs do: Newton's method then takes fewer products. No if it is left out
``proximal_points``    (F, A, κ) ↦ argmin_S ‖S − (F − κA)‖² / 2κ + L(S): their G is often a
                       much better dual point than G(F)
``pairs``              what compiled block steps know of the rows. These solve
                       min_f ‖f − f⁰‖² / 2κ + L_i(f) for a row and keep its conjugate share
                       L_i(f) + ⟨A_i, f⟩ of the dual value
``smoothed(w, …)``     for a loss with corners: the loss smoothed over a width w around the present
                       multipliers, with ``evaluate``, ``curvature``, ``distance()``, the value of
                       the term that smooths it, and ``multipliers``
``coefficients``       A of the present multipliers, where a problem keeps them
=====================  ====================================================================

=====================  ====================================================================
newton                 ``SmoothLoss``; ``zero_sums`` and ``proximal_points`` are optional
bcd, m3                ``BlockLoss``
auto (pairs)           both
proximal, auto         ``SmoothableLoss``: ``PairMultipliers`` of a ``HingeLoss``, or a
(hinge, rows)          ``RowLoss``
=====================  ====================================================================
"""

from typing import Any, Protocol

from numpy.typing import NDArray


class Loss(Protocol):
    """What every solver needs to state a primal value."""

    shape: tuple[int, int]

    def evaluate(self, scores: NDArray) -> tuple[float, NDArray]: ...


class SmoothLoss(Loss, Protocol):
    """A differentiable loss."""

    def curvature(self, scores: NDArray) -> Any: ...


class BlockLoss(Loss, Protocol):
    """A loss whose rows compiled code can minimise one at a time."""

    pairs: Any


class SmoothableLoss(Protocol):
    """A loss with corners, and its present multipliers."""

    shape: tuple[int, int]
    coefficients: Any

    def smoothed(self, width: float, *arguments: Any) -> Any: ...


def check(problem: object, needed: type, solver: str) -> None:
    """Raise a TypeError that says what a solver needs and a problem lacks.

    Parameters
    ----------
    problem : object
    needed : type
        One of the protocols of this module.
    solver : str
        Its name.
    """
    missing = _missing(problem, needed)
    if not missing:
        return
    instead = ", or use solver newton" if not _missing(problem, SmoothLoss) else ""
    raise TypeError(
        f"{solver} needs {' and '.join(missing)} of the problem; {type(problem).__name__} has "
        f"none: see skml_odm.problems.contract{instead}"
    )


def _missing(problem: object, needed: type) -> list[str]:
    """Names that a protocol lists and a problem does not have."""
    listed: dict[str, None] = {}
    for kind in reversed(needed.__mro__):
        listed.update(dict.fromkeys(vars(kind).get("__annotations__", ())))
        listed.update(dict.fromkeys(name for name in vars(kind) if not name.startswith("_")))
    return [name for name in listed if not name.startswith("_") and not hasattr(problem, name)]
