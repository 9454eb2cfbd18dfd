"""Fits to the same rows, one after another: what one of them has computed serves the next ones.

The steps of a fit are those of the estimator; here some of them are replaced by known values. It is
the search that knows them: estimators do not know of it.
"""

from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any

from ..decisions.thresholds import ThresholdWhenUsed
from ..estimators.base import KernelLabelRanker, PairLossRanker
from ..estimators.kernel_model import KernelModel, KernelValues
from ..estimators.mcodm import ClassSetup
from ..problems.zero_label import ZeroLabelLoss
from ..solvers.directions import has_few_features
from ..solvers.multiclass_path import MultiClassPath
from ..solvers.path import PairPath
from ..solvers.result import EXACT_ROWS

# What scikit-learn notes of X when it checks it.
NOTED = ("n_features_in_", "feature_names_in_")


def fits_in_steps(model):
    """Whether the fit of a model consists of our steps."""
    package = __name__.partition(".")[0]
    return isinstance(model, KernelModel) and type(model).fit.__module__.startswith(f"{package}.")


class FoldCache:
    """Fits models of one class and one kernel; another class or kernel makes it start anew.

    Parameters
    ----------
    X_test
        The rows that every model will score.
    matrices : FoldMatrices
    """

    def __init__(self, X_test, matrices):
        self.X_test = X_test
        self.matrices = matrices
        self.key: Any = None
        self._start_anew()

    def _start_anew(self):
        self.checked: Any = None
        self.noted: dict = {}
        self.kernel: Any = None
        self.operator: Any = None
        self.problem: Any = None
        self.path: Any = None
        # the last result, from which another problem of the same kernel may start
        self.result: Any = None
        self.known_values: Any = None
        self.threshold_key: Any = None
        self.threshold: Any = None
        # which solution the last model has, where models may have the same one
        self.serial: Any = None

    def fit(self, model, X, y, **options):
        """Fit a model, with the same rows and options as the models before."""
        model.start_anew()
        kernel = model.kernel, model.gamma, model.degree, model.coef0, model.fit_intercept
        key = type(model), *kernel
        if key != self.key:
            self._start_anew()
            self.key = key
        self.serial = None
        prepared = self._check(model, X, y, options)
        with model.within_precision():
            self._prepare(model, prepared)
            result = self.result = self._solve(model, prepared)
        kept = {}
        if isinstance(model, KernelLabelRanker):
            kept["threshold"] = self._threshold(model, prepared, result)
        # models are gone before anybody could change X
        model.keep(prepared, result, copy=False, **kept)

    def know_values(self, model):
        """Give the last model the kernel values of the rows that it will score."""
        if self.kernel.kind in ("linear", "precomputed"):
            return
        if self.known_values is None:
            if self.matrices.supports(self.kernel):
                values = self.matrices.between(self.kernel)
            else:
                values = model.kernel_values(self.X_test)
            self.known_values = KernelValues.of(self.X_test, values)
        model.know_values(self.known_values)

    def _check(self, model, X, y, options):
        if self.checked is None:
            # not every fit takes weights
            signature(model.fit).bind(X, y, **options)
            self.checked = model.check_data(X, y, **options)
            self.noted = {name: getattr(model, name) for name in NOTED if hasattr(model, name)}
        for name, value in self.noted.items():
            setattr(model, name, value)
        return replace(self.checked)

    def _prepare(self, model, prepared):
        """The steps of ``KernelModel.prepare`` that come after the checks."""
        if self.kernel is None:
            self.kernel = model.make_kernel(prepared)
        prepared.kernel = self.kernel
        if self.operator is None:
            matrix = None
            if (
                prepared.counted is None
                and self.matrices.supports(self.kernel)
                and model.has_room(prepared.rows)
            ):
                matrix = self.matrices.training(self.kernel)
            self.operator = model.make_operator(prepared, matrix)
        prepared.operator, prepared.eigenvectors = self.operator
        last = self.problem
        if last is not None and minimises_pair_loss(model):
            if isinstance(last, ZeroLabelLoss) == has_zero_label(model, prepared):
                # other parameters have the same label pairs
                prepared.problem = last.with_parameters(*model.loss_parameters)
                return
            last = self.path = self.result = None
        prepared.problem = model.make_problem(prepared)
        # small problems are solved to rounding, wherever they begin
        if (
            hasattr(prepared.problem, "start_from")
            and prepared.operator.shape[0] > EXACT_ROWS
            and last is not None
            and last.can_start(prepared.problem)
        ):
            prepared.problem.start_from(last)
        # solvers of row problems and of hinge losses leave their solution in it
        self.problem = prepared.problem

    def _solve(self, model, prepared):
        problem, operator, options = prepared.problem, prepared.operator, model.solver_options()
        if isinstance(problem, ClassSetup) and problem.by_newton:
            self.path = self.path or MultiClassPath()
            result = self.path.minimise(problem.space, problem.problem, **options)
            return model.accept(prepared, result)
        if minimises_pair_loss(model) and follows_path(model, operator):
            self.path = self.path or PairPath(operator)
            result = self.path.minimise(problem, **options)
            self.serial = self.path.serial
            return model.accept(prepared, result)
        return model.solve(prepared, start=self.result)

    def _threshold(self, model, prepared, result):
        """The threshold, fitted when it is used; the same one for the same solution."""
        # folds of a calibrated decision are solved anew
        key = self.serial, repr(model.threshold), getattr(model, "solver", None)
        if self.serial is None or key != self.threshold_key:
            # keep() drops the operator of its own copy
            fit = partial(model.fit_threshold, replace(prepared), result)
            self.threshold = ThresholdWhenUsed(model.threshold, fit)
            self.threshold_key = key
        return self.threshold


def minimises_pair_loss(model):
    """Whether the problem of a model is a ``PairLoss``."""
    return hasattr(model, "loss_parameters")


def has_zero_label(model, prepared):
    """Whether a model that minimises a pair loss learns a zero label."""
    return isinstance(model, PairLossRanker) and model.has_zero_label(prepared)


def follows_path(model, operator):
    """Whether problems with label pairs are solved along a path."""
    by_newton = getattr(model, "solver", "auto") in ("auto", "newton")
    # sparse rows without products of panels are for descent
    return by_newton and (not operator.by_rows or has_few_features(operator))
