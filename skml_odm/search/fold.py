"""The fits of one fold that share a kernel matrix, one after another."""

import time
from contextlib import nullcontext, suppress
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from numbers import Number
from traceback import format_exc
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split

from ..estimators.kernel_model import KernelModel
from ..metrics import RankingScorer
from ..utils.parallel import keep_freed_memory, one_thread
from .fold_cache import FoldCache, fits_in_steps
from .identity import key_of
from .matrices import FoldMatrices

# Values that models may share.
PLAIN = str | int | float | None


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
    matrices = FoldMatrices(sources, task.train, task.test)
    stages = Stages(work.estimator, X_train, y_train, X_test)
    by_predictions = work.by_predictions
    last: tuple = (None, None)
    for parameters in task.candidates:
        begin = time.perf_counter()
        result: dict[str, Any] = {
            "n_test_samples": len(task.test),
            "fit_error": None,
            "score_error": None,
        }
        try:
            model, rows = stages.prepare(parameters)
            cache = stages.cache_for(model, matrices)
            fit = model.fit if cache is None else partial(cache.fit, model)
            fit(rows, y_train, **for_fit)
        except Exception:
            if work.error_score == "raise":
                raise
            result["fit_error"] = format_exc()
        result["fit_time"] = time.perf_counter() - begin
        if result["fit_error"]:
            result["test_scores"] = failed_scores(work.scorer, work.error_score)
            result["score_time"] = 0.0
            yield result
            continue
        serial = None if cache is None else cache.serial
        solution = serial, repr(getattr(model, "threshold", None))
        if serial is None or last[0] != solution or not by_predictions:
            last = solution, _scores(work, stages, y_test, for_scorer)
        result["test_scores"], result["score_error"] = last[1]
        result["score_time"] = time.perf_counter() - begin - result["fit_time"]
        yield result


def _scores(work, stages, y, options):
    """Scores of the fitted candidate, and what scorers raised, if anything."""
    try:
        estimator, X = stages.scored(work.by_predictions)
        scores = work.scorer(estimator, X, *(() if y is None else (y,)), **options)
    except Exception:
        if work.error_score == "raise":
            raise
        return failed_scores(work.scorer, work.error_score), format_exc()
    if not isinstance(scores, dict):
        return _number(scores, work.scorer), None
    errors = []
    if isinstance(work.scorer, _MultimetricScorer):
        # which hands over what a scorer raised as a text
        errors = [score for score in scores.values() if isinstance(score, str)]
        scores = {k: work.error_score if isinstance(v, str) else v for k, v in scores.items()}
    numbers = {name: _number(score, name) for name, score in scores.items()}
    return numbers, "\n".join(errors) or None


def _number(score, scorer):
    """A score as a plain number."""
    if hasattr(score, "item"):
        with suppress(ValueError):
            score = score.item()
    if not isinstance(score, Number):
        raise ValueError(
            f"scoring must return a number, got {score} ({type(score)}) instead. (scorer={scorer})"
        )
    return score


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
        self.candidate: Any = None
        self.fitted_steps: list = []
        self.known: Any = None
        self.cache: Any = None

    def prepare(self, parameters):
        """An unfitted model, and its training rows."""
        if isinstance(self.estimator, KernelModel):
            self.candidate = self._copy(parameters)
            return self.candidate, self.rows[0]
        self.candidate = clone(self.estimator).set_params(**clone(parameters, safe=False))
        if not isinstance(self.candidate, Pipeline):
            return self.candidate, self.rows[0]
        last = self.candidate.steps[-1][0]
        # 1 and 1.0 are different settings
        before = key_of({k: v for k, v in parameters.items() if k.split("__")[0] != last})
        if self.known != before:
            self._fit_steps()
            self.known, self.cache = before, None
        return self.candidate[-1], self.rows[0]

    def _fit_steps(self):
        X_train, y_train, X_test = self.data
        if len(self.candidate.steps) == 1:
            self.rows, self.fitted_steps = (X_train, X_test), []
            return
        steps = self.candidate[:-1]
        self.rows = steps.fit_transform(X_train, y_train), steps.transform(X_test)
        self.fitted_steps = steps.steps

    def scored(self, by_predictions):
        """The fitted candidate, and test rows for it.

        Where only predictions matter these are a pipeline's last step and transformed rows.
        """
        model = self.candidate[-1] if isinstance(self.candidate, Pipeline) else self.candidate
        if fits_in_steps(model):
            self.cache.know_values(model)
        if by_predictions or model is self.candidate:
            return model, self.rows[1]
        self.candidate.steps = [*self.fitted_steps, self.candidate.steps[-1]]
        return self.candidate, self.data[2]

    def _copy(self, parameters):
        """A model with other parameters: quicker than a clone, for ours hold plain values."""
        if self.names != parameters.keys():
            # raises if a name is unknown
            clone(self.estimator).set_params(**parameters)
            self.names = parameters.keys()
        model = copy(self.template)
        values = {**vars(self.template), **parameters}
        # no two models have one random generator
        for name, value in values.items():
            setattr(model, name, value if isinstance(value, PLAIN) else clone(value, safe=False))
        return model

    def cache_for(self, model, matrices):
        """What fits a model to these rows step by step; None for models that have no steps."""
        if not fits_in_steps(model):
            return None
        if self.cache is None:
            if isinstance(self.estimator, Pipeline):
                # the matrices are those of rows that no step has changed
                matrices = FoldMatrices({}, matrices.train, matrices.test)
            self.cache = FoldCache(self.rows[1], matrices)
        return self.cache
