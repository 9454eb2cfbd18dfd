"""Results for given multipliers, everything computed anew."""

import numpy as np

from .circulation import circulation
from .result import ROUNDING, Result


def pair_certificate(operator, state):
    """A Result for the multipliers of a ``PairMultipliers``, balanced, with the best biases."""
    if state.balanced:
        values, A = state.balance()
    else:
        values, A = state.values, state.coefficients()
    result = pair_primal(operator, state, A)
    # where the balance fails, all that is known of the dual value is that of zero
    limit = ROUNDING * values.sum() if state.balanced else np.inf
    if np.abs(A.sum(axis=0)).max(initial=0.0) <= limit:
        result.difference -= values.sum() - 0.5 * np.vdot(A, result.scores - result.intercept)
    return result


def pair_primal(operator, state, A):
    """A Result for coefficients A with the best biases; its dual value is that of zero."""
    loss, b, solver = state.loss, state.biases.copy(), "none"
    F = operator.with_intercept(0.0).product(A)
    primal = 0.5 * np.vdot(A, F)
    if state.balanced:
        program = circulation(F, loss.order, loss.n_relevant, loss.n_involved, loss.weight, start=b)
        b, solver = program.biases, program.solver
        primal -= program.value
    else:
        primal += loss.evaluate(F)[0]
    return _unfinished(A, b, F + b, primal, primal, lp_solver=solver)


def row_certificate(operator, problem):
    """A Result for the coefficients of a ``RowLoss``."""
    return row_result(operator, problem, problem.evaluate(operator.product(problem.coefficients)))


def row_result(operator, problem, values):
    """A Result of what a ``RowLoss`` says of a model."""
    A = values.coefficients
    intercept = operator.intercept * A.sum(axis=0)
    return _unfinished(
        A, intercept, values.scores, values.primal, values.difference, covariance=problem.matrix
    )


def _unfinished(coefficients, intercept, scores, primal, difference, **others):
    return Result(
        coefficients=coefficients,
        intercept=intercept,
        scores=scores,
        primal=primal,
        difference=difference,
        n_iter=0,
        converged=False,
        **others,
    )
