"""Rank-SVM by the Frank-Wolfe method (paper 003, Section 7.1; Elisseeff and Weston).

For the problem see :mod:`skml_odm.problems.hinge`. Each iteration minimises the linearised dual
over the balanced boxes, a minimum-cost circulation, and goes from the multipliers towards its
solution as far as the dual value grows. The circulation's own dual variables are the best biases
for the current scores, so every iteration knows the exact duality gap. Only the coefficients A and
the sum of the multipliers are needed, not the multipliers.
"""

import numpy as np

from .circulation import Circulation, circulation
from .iteration import Step, finish
from .result import Result, Trace


def balanced_frank_wolfe(operator, loss, *, tol, max_iter, verbose=0):
    """Solve the problem to a relative duality gap of ``tol`` in at most ``max_iter`` iterations.

    Parameters and result as in ``multipliers``.
    """
    return finish(frank_wolfe_steps(operator, loss, tol=tol, verbose=verbose), max_iter)


def frank_wolfe_steps(operator, loss, *, tol, verbose=0):
    """Iterations one at a time; see :mod:`.iteration` for the protocol."""
    trace = Trace("frank-wolfe", verbose)
    has_biases = operator.intercept > 0.0
    operator = operator.with_intercept(0.0)
    A, F = np.zeros(loss.shape), np.zeros(loss.shape)
    linear, b, iteration = 0.0, np.zeros(loss.shape[1]), 0
    recomputed, last = True, False
    while True:
        vertex = _vertex(F, loss, b) if has_biases else _free_vertex(F, loss)
        b = vertex.biases
        square = np.vdot(A, F)
        primal = 0.5 * square - vertex.value
        difference = square - linear - vertex.value
        if difference <= tol * primal or last:
            if recomputed:
                break
            F, recomputed = operator.product(A), True
            continue
        trace.add(iteration, primal, difference)
        direction = vertex.coefficients - A
        change = operator.product(direction)
        curvature = np.vdot(direction, change)
        length = min(1.0, difference / curvature) if curvature > 0.0 else 1.0
        A += length * direction
        F += length * change
        linear += length * (vertex.linear - linear)
        iteration += 1
        recomputed = False
        last = yield Step(difference / primal, 2)
    trace.add(iteration, primal, difference)
    result = Result(
        coefficients=A,
        intercept=b,
        scores=F + b,
        primal=primal,
        difference=difference,
        n_iter=max(iteration, 1),
        converged=False,
        trace=trace.entries,
        lp_solver=vertex.solver,
    )
    result.converged = result.gap <= tol
    return result


def _vertex(F, loss, b):
    """The minimiser over the balanced boxes."""
    return circulation(F, loss.order, loss.n_relevant, loss.n_involved, loss.weight, start=b)


def _free_vertex(F, loss):
    """The minimiser over the boxes alone: every pair with a margin below 1 at its bound."""
    value, coefficients = loss.evaluate(F)
    linear = float(np.vdot(coefficients, F)) + value
    return Circulation(coefficients, linear, np.zeros(loss.shape[1]), -value, "none")
