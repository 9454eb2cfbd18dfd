"""What the fits of one fold share: validated rows, kernel matrices, solutions and thresholds."""

from functools import cached_property
from typing import Any

from ..estimators.sharing import Alone
from ..solvers.features import has_few_features
from ..solvers.multiclass_path import MultiClassPath
from ..solvers.path import PairPath
from ..solvers.turns import EXACT_ROWS


class SharedFold(Alone):
    """What estimators that are fitted to the same rows, one after another, have in common.

    Parameters
    ----------
    X_test
        The rows that every estimator will score.
    matrices : FoldMatrices
    """

    def __init__(self, X_test, matrices):
        self.X_test = X_test
        self.matrices = matrices
        self.pair: Any = None
        self.kernels: dict = {}
        self.operators: dict = {}
        self.losses: dict = {}
        self.paths: dict = {}
        self.class_paths: dict = {}
        self.ended: dict = {}
        self.values: dict = {}
        self.thresholds: dict = {}
        # which solution the last model has, where models may have the same one
        self.serial: Any = None

    def validated_pair(self, estimator, X, y):
        if self.pair is None:
            before = set(vars(estimator))
            pair = super().validated_pair(estimator, X, y)
            noted = {name: vars(estimator)[name] for name in set(vars(estimator)) - before}
            self.pair = pair, noted
        pair, noted = self.pair
        vars(estimator).update(noted)
        return pair

    def kernel(self, estimator, X, sample_weight):
        key = estimator.kernel, estimator.gamma, estimator.degree, estimator.coef0
        return _only(
            self.kernels, key, lambda: super(SharedFold, self).kernel(estimator, X, sample_weight)
        )

    def loss(self, indicator, C, theta, mu, sample_weight):
        loss = _only(
            self.losses,
            (id(indicator), id(sample_weight)),
            lambda: super(SharedFold, self).loss(indicator, C, theta, mu, sample_weight),
        )
        return loss.with_parameters(C, theta, mu)

    def operator(self, estimator, X):
        key = *_operator_key(estimator), X.shape[0]
        return _only(self.operators, key, lambda: super(SharedFold, self).operator(estimator, X))

    def lean_operator(self, estimator, X, n_labels):
        # K is in memory for all of them
        return None

    def matrix(self, kernel, X):
        if self.matrices.can(kernel) and X.shape[0] == len(self.matrices.train):
            return self.matrices.training(kernel)
        return super().matrix(kernel, X)

    def kept(self, X):
        # these estimators are gone before anybody could change X
        return X

    def values_between(self, estimator, X):
        kernel = estimator._kernel
        if X is not self.X_test or kernel.kind in ("linear", "precomputed"):
            return None
        return _only(self.values, _key(kernel), lambda: self._between(estimator, kernel))

    def _between(self, estimator, kernel):
        if self.matrices.can(kernel):
            return self.matrices.between(kernel)
        return kernel.between(estimator._validated(self.X_test, reset=False), estimator.X_fit_)

    def minimise(self, solver, operator, loss, **options):
        # sparse rows without products of panels are for descent
        slow = operator.by_rows and not has_few_features(operator)
        if solver not in ("auto", "newton") or slow:
            return super().minimise(solver, operator, loss, **options)
        path = _only(self.paths, id(operator), lambda: PairPath(operator))
        result = path.minimise(loss, **options)
        self.serial = path.serial
        return result

    def minimise_classes(self, estimator, rows, blocks, **options):
        path = _only(self.class_paths, _operator_key(estimator), MultiClassPath)
        return path.minimise(rows, blocks, **options)

    def begun(self, operator, problem):
        # the others are solved to rounding, wherever they begin
        if operator.shape[0] > EXACT_ROWS:
            last = _only(self.ended, id(operator), list)
            if last and last[0].can_start(problem):
                problem.start_from(last[0])
            # solvers leave their solution in it
            last[:] = [problem]
        return problem

    def threshold(self, estimator, threshold, *arguments):
        if self.serial is None:
            return FittedWhenUsed(threshold, arguments)
        key = self.serial, repr(estimator.threshold)
        return _only(self.thresholds, key, lambda: FittedWhenUsed(threshold, arguments))


class FittedWhenUsed:
    """A threshold that is fitted when it is used: measures of rankings never do."""

    def __init__(self, threshold, arguments):
        self.threshold, self.arguments = threshold, arguments
        self.keeps_order = threshold.keeps_order

    def __call__(self, scores):
        return self._fitted(scores)

    def __getattr__(self, name):
        if name not in ("coef_", "intercept_", "values_", "value"):
            # while it is being copied there is nothing to fit yet
            raise AttributeError(name)
        return getattr(self._fitted, name)

    @cached_property
    def _fitted(self):
        return self.threshold.fit(*self.arguments)


def _key(kernel):
    return kernel.kind, kernel.gamma, kernel.degree, kernel.coef0


def _operator_key(estimator):
    return *_key(estimator._kernel), estimator.fit_intercept


def _only(store, key, make):
    """The one value that a store keeps; another key replaces it."""
    if key not in store:
        store.clear()
        store[key] = make()
    return store[key]
