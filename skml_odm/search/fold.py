"""The fits of one fold that share a kernel matrix, one after another."""

import time
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, field
from traceback import format_exc
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split

from ..kernel_model import KernelModel
from ..metrics import RankingScorer
from ..parallel import keep_freed_memory, one_thread
from .matrices import FoldMatrices
from .shared_fold import SharedFold


@dataclass
class Task:
    """Candidates to be fitted to one fold."""

    fold: int
    train: np.ndarray
    test: np.ndarray
    indices: list
    candidates: list


@dataclass
class Work:
    """What all tasks of a search need to know."""

    estimator: Any
    scorer: Any
    error_score: Any
    sources: tuple
    one_thread: bool
    weighs_scores: bool

    @property
    def by_predictions(self):
        """Whether scores are functions of predictions alone: equal ones for equal models."""
        scorers = getattr(self.scorer, "_scorers", {"score": self.scorer})
        return all(isinstance(scorer, _BaseScorer | RankingScorer) for scorer in scorers.values())


@dataclass
class Outcome:
    """Results of a task, in scikit-learn's form; fewer than candidates if interrupted."""

    task: Task
    results: list = field(default_factory=list)
    interrupted: bool = False


def run_task(work, task, X, y, sample_weight, *matrices):
    """Fit and score the candidates of a task.

    Matrices are arguments of their own, in the order of ``work.sources``: so every backend of
    joblib sends them to its workers once.
    """
    keep_freed_memory()
    outcome = Outcome(task)
    sources = dict(zip(work.sources, matrices, strict=True))
    try:
        with one_thread() if work.one_thread else nullcontext():
            for result in _results(work, task, X, y, sample_weight, sources):
                outcome.results.append(result)
    except KeyboardInterrupt:
        outcome.interrupted = True
    return outcome


def _results(work, task, X, y, sample_weight, sources):
    X_train, y_train = _safe_split(work.estimator, X, y, task.train)
    X_test, y_test = _safe_split(work.estimator, X, y, task.test, task.train)
    for_fit, for_scorer = {}, {}
    if sample_weight is not None:
        for_fit["sample_weight"] = _safe_indexing(sample_weight, task.train)
    if work.weighs_scores:
        for_scorer["sample_weight"] = _safe_indexing(sample_weight, task.test)
    stages = Stages(work.estimator, X_train, y_train, X_test)
    matrices = FoldMatrices(sources, task.train, task.test)
    last: tuple = (None, None)
    for parameters in task.candidates:
        begin = time.perf_counter()
        result: dict[str, Any] = {"n_test_samples": len(task.test), "fit_error": None}
        try:
            model, rows, test_rows = stages.prepare(parameters)
            shared = stages.sharing(matrices)
            shared.serial = None
            if isinstance(model, KernelModel):
                model._sharing = shared
            model.fit(rows, y_train, **for_fit)
            result["fit_time"] = time.perf_counter() - begin
            alike = shared.serial, repr(getattr(model, "threshold", None))
            if shared.serial is None or last[0] != alike or not work.by_predictions:
                last = alike, work.scorer(model, test_rows, y_test, **for_scorer)
            result["test_scores"] = last[1]
            result["score_time"] = time.perf_counter() - begin - result["fit_time"]
        except Exception:
            if work.error_score == "raise":
                raise
            result["fit_error"] = format_exc()
            result["test_scores"] = failed_scores(work.scorer, work.error_score)
            result["fit_time"] = time.perf_counter() - begin
            result["score_time"] = 0.0
        yield result


def failed_scores(scorer, error_score):
    """What stands in the place of scores that could not be computed."""
    if isinstance(scorer, _MultimetricScorer):
        return dict.fromkeys(scorer._scorers, error_score)
    return error_score


class Stages:
    """A candidate's steps before the model, fitted anew only when their parameters change."""

    def __init__(self, estimator, X_train, y_train, X_test):
        self.estimator = estimator
        self.template = clone(estimator)
        self.names: Any = None
        self.data = X_train, y_train, X_test
        self.rows = X_train, X_test
        self.known: Any = None
        self.shared: Any = None

    def prepare(self, parameters):
        """An unfitted model, its training rows, and its test rows."""
        if isinstance(self.estimator, KernelModel):
            return self._copy(parameters), *self.rows
        estimator = clone(self.estimator).set_params(**clone(parameters, safe=False))
        if not isinstance(estimator, Pipeline):
            return estimator, *self.rows
        last = estimator.steps[-1][0]
        before = {k: v for k, v in parameters.items() if k.split("__")[0] != last}
        if self.known != before:
            X_train, y_train, X_test = self.data
            steps = estimator[:-1]
            self.rows = steps.fit_transform(X_train, y_train), steps.transform(X_test)
            self.known, self.shared = before, None
        return estimator[-1], *self.rows

    def _copy(self, parameters):
        """A model with other parameters: quicker than a clone, for ours hold plain values."""
        if self.names != parameters.keys():
            # raises if a name is unknown
            clone(self.estimator).set_params(**parameters)
            self.names = parameters.keys()
        model = copy(self.template)
        vars(model).update(parameters)
        return model

    def sharing(self, matrices):
        """What the models of these rows have in common."""
        if self.shared is None:
            if isinstance(self.estimator, Pipeline):
                matrices = FoldMatrices({}, matrices.train, matrices.test)
            self.shared = SharedFold(self.rows[1], matrices)
        return self.shared
