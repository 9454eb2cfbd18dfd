"""What problems offer to solvers, and what a solver says when a problem lacks it."""

import numpy as np
import pytest
from own_loss import LogisticLoss
from problems import random_indicator
from scipy.special import expit

from skml_odm.features.operators import KernelOperator
from skml_odm.problems.confidences import ConfidenceLoss
from skml_odm.problems.contract import BlockLoss, SmoothableLoss, SmoothLoss, check
from skml_odm.problems.covariance import LabelCovariance
from skml_odm.problems.hinge import HingeLoss, PairMultipliers
from skml_odm.problems.pairs import PairLoss
from skml_odm.problems.rows import BinaryLoss, SeparationLoss
from skml_odm.solvers.turns import minimise


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    kernel = np.exp(-0.2 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return KernelOperator(kernel, True), random_indicator(rng, 90, 5)


OPTIONS = {"tol": 1e-6, "max_iter": 100, "random_state": 0, "verbose": 0}


def test_a_loss_of_two_methods_is_enough_for_newton(problem):
    operator, indicator = problem
    result = minimise("newton", operator, LogisticLoss(indicator, 1.0), **OPTIONS)
    assert result.converged


class BinaryLogistic:
    """Σ log(1 + exp(∓f)) over all labels: its gradients do not sum to zero."""

    def __init__(self, indicator):
        self.shape, self.sign = indicator.shape, np.where(indicator, 1.0, -1.0)

    def evaluate(self, F):
        margins = self.sign * F
        return np.logaddexp(0.0, -margins).sum(), self.sign * expit(-margins)

    def curvature(self, F):
        return DiagonalCurvature(expit(F) * expit(-F))


class DiagonalCurvature:
    def __init__(self, values):
        self.values = values

    def product(self, V):
        return self.values * V

    def diagonal(self):
        return self.values


def test_a_loss_need_not_compare_labels(problem):
    operator, indicator = problem
    assert minimise("newton", operator, BinaryLogistic(indicator), **OPTIONS).converged


@pytest.mark.parametrize("solver", ["bcd", "m3", "auto"])
def test_other_solvers_say_what_is_missing_and_what_to_use(problem, solver):
    operator, indicator = problem
    with pytest.raises(TypeError) as error:
        minimise(solver, operator, LogisticLoss(indicator, 1.0), **OPTIONS)
    assert str(error.value) == (
        "bcd needs pairs of the problem; LogisticLoss has none: see skml_odm.problems.contract, "
        "or use solver newton"
    )


def test_newton_is_not_advised_where_it_cannot_help(problem):
    operator, indicator = problem
    with pytest.raises(TypeError) as error:
        minimise("newton", operator, HingeLoss(indicator, 1.0), **OPTIONS)
    assert str(error.value) == (
        "newton needs curvature of the problem; HingeLoss has none: see skml_odm.problems.contract"
    )


def test_problems_of_the_package_offer_what_their_solvers_need(problem):
    _, indicator = problem
    pairs = PairLoss(indicator, 1.0, 0.2, 0.5)
    confidences = ConfidenceLoss(indicator.astype(float), np.ones(len(indicator)), 0.2, 0.5)
    for loss in (pairs, confidences):
        check(loss, SmoothLoss, "newton")
    check(pairs, BlockLoss, "bcd")
    covariance = LabelCovariance(indicator.shape[1], False)
    hinge = PairMultipliers(HingeLoss(indicator, 1.0), True)
    rows = [kind(indicator, 1.0, covariance) for kind in (SeparationLoss, BinaryLoss)]
    for each in (hinge, *rows):
        check(each, SmoothableLoss, "auto")
        arguments = () if each is hinge else (each.half(),)
        smooth = each.smoothed(0.5, *arguments)
        check(smooth, SmoothLoss, "newton")
        smooth.evaluate(np.zeros(smooth.shape))
        assert smooth.distance() >= 0.0
