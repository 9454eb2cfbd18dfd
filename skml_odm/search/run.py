"""A search under way: candidates, their results so far, and the workers."""

import warnings
from typing import Any

import numpy as np
from joblib import delayed, effective_n_jobs
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples

from ..estimators.kernel_model import KernelModel
from ..utils.parallel import streaming
from .candidates import model_of, tasks
from .checkpoint import Checkpoint
from .fold import Work, failed_scores, run_task
from .identity import scorer_identity
from .matrices import SOURCES, source_matrix
from .progress import Progress

# Relative error that means of scores may have.
ROUNDING = 1e-12


class Run:
    """Evaluates candidates on folds and keeps what is known of them.

    Parameters
    ----------
    search : PathSearchCV
    scorer : callable
    data : tuple
        X, y and sample_weight.
    folds : list of (fold, train, test)
    weighs_scores : bool
        Whether the scorer gets weights.

    Attributes
    ----------
    candidates : list of dict
    results : dict
        scikit-learn's results by (index of the candidate, fold).
    interrupted : bool
    """

    def __init__(self, search, scorer, data, folds, weighs_scores):
        self.search, self.scorer, self.data, self.folds = search, scorer, data, folds
        self.weighs_scores = weighs_scores
        self.candidates: list[dict] = []
        self.results: dict[tuple[int, int], dict] = {}
        self.interrupted = False
        self.sources: dict[str, np.ndarray] = {}
        self.checkpoint: Any = None
        if search.checkpoint is not None:
            scorers = scorer_identity(getattr(scorer, "_scorers", scorer))
            parts = (type(search.estimator), clone(search.estimator).get_params(), scorers)
            self.checkpoint = Checkpoint(
                search.checkpoint, (*parts, search.error_score, data, folds)
            )

    def add(self, candidates):
        """Take up new candidates; returns their indices."""
        first = len(self.candidates)
        self.candidates += candidates
        if self.checkpoint is not None:
            self.results |= self.checkpoint.load(self.candidates)
        return list(range(first, len(self.candidates)))

    def evaluate(self, indices, folds=None):
        """Fit candidates to folds, all of them if None, unless that is done."""
        folds = self.folds if folds is None else folds
        todo = [
            task
            for fold in folds
            for task in self._tasks(
                [index for index in indices if (index, fold[0]) not in self.results], fold
            )
        ]
        # folds of the same candidates one after another: so these are finished early
        todo.sort(key=lambda task: task.indices[0])
        if not todo or self.interrupted:
            return
        self._make_sources(indices)
        progress = Progress(sum(len(task.indices) for task in todo), self.search.verbose)
        try:
            for outcome in self._outcomes(todo):
                for index, result in zip(outcome.task.indices, outcome.results, strict=False):
                    self.results[index, outcome.task.fold] = result
                if self.checkpoint is not None:
                    self.checkpoint.save(outcome)
                if self.search.verbose:
                    progress.add(len(outcome.results), *self._standing())
                if outcome.interrupted:
                    self.interrupted = True
                    break
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            progress.close()

    def _tasks(self, indices, fold):
        if not indices:
            return []
        n_jobs = -(-effective_n_jobs(self.search.n_jobs) // len(self.folds))
        return tasks(self.search.estimator, self.candidates, indices, fold, n_jobs)

    def _outcomes(self, todo):
        """Results of tasks, as they come."""
        one_thread = effective_n_jobs(self.search.n_jobs) > 1
        search = self.search
        work = Work(
            search.estimator,
            self.scorer,
            search.error_score,
            tuple(self.sources),
            one_thread,
            self.weighs_scores,
        )
        arguments = [*self.data, *self.sources.values()]
        large = [each for each in arguments if isinstance(each, np.ndarray)]
        parallel, _ = streaming(search.n_jobs, large)
        return parallel(delayed(run_task)(work, task, *arguments) for task in todo)

    def _make_sources(self, indices):
        """The matrices that kernels of the candidates are functions of, if there is room."""
        model, prefix = model_of(self.search.estimator)
        if prefix or not isinstance(model, KernelModel):
            return
        kinds = [self.candidates[i].get("kernel", model.kernel) for i in indices]
        needed = {SOURCES[kind] for kind in kinds if isinstance(kind, str) and kind in SOURCES}
        n_rows = _num_samples(self.data[0])
        if 8e-6 * n_rows**2 * len(needed) > self.search.cache_size:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                X = check_array(self.data[0], accept_sparse="csr", dtype=np.float64)
            except (ValueError, TypeError):
                # every fit will say what is wrong
                return
        for name in sorted(needed - set(self.sources)):
            self.sources[name] = source_matrix(name, X)

    def finished(self):
        """Indices of the candidates with results on all folds."""
        numbers = [fold for fold, _, _ in self.folds]
        return [
            i for i in range(len(self.candidates)) if all((i, f) in self.results for f in numbers)
        ]

    def mean_scores(self, indices):
        """Mean score of candidates over their folds so far; NaN becomes −∞."""
        means = [
            np.mean(
                [
                    self._score(self.results[i, f])
                    for f, _, _ in self.folds
                    if (i, f) in self.results
                ]
            )
            for i in indices
        ]
        return np.nan_to_num(np.array(means, dtype=float), nan=-np.inf)

    def within_reach(self, indices, highest):
        """Those candidates whose mean may still be the best, if no fold scores above ``highest``.

        A tie is one, too, and so is what rounding may make a tie.
        """
        best = max(self.mean_scores(self.finished()), default=-np.inf)
        n_done = np.array([sum((i, f) in self.results for f, _, _ in self.folds) for i in indices])
        n_folds = len(self.folds)
        reach = (n_done * self.mean_scores(indices) + (n_folds - n_done) * highest) / n_folds
        # nothing is below −∞: where all fits have failed all of them go on
        least = best - ROUNDING * max(abs(best), abs(highest))
        return [i for i, most in zip(indices, reach, strict=True) if not most < least]

    def _score(self, result):
        """The score that candidates are compared by."""
        scores = result["test_scores"]
        if not isinstance(scores, dict):
            return scores
        refit = self.search.refit
        named = isinstance(refit, str) and refit in scores
        return scores[refit] if named else next(iter(scores.values()))

    def _standing(self):
        """How many candidates are finished, and the best mean score."""
        done = self.finished()
        return len(done), max(self.mean_scores(done), default=np.nan)

    def table(self, indices):
        """The results of candidates in scikit-learn's order; NaN for folds they were spared."""
        nothing = failed_scores(self.scorer, np.nan)
        rows = []
        for index in indices:
            for fold, _, test in self.folds:
                spared = {
                    "test_scores": nothing,
                    "fit_time": np.nan,
                    "score_time": np.nan,
                    "n_test_samples": len(test),
                    "fit_error": None,
                    "score_error": None,
                }
                rows.append(self.results.get((index, fold), spared))
        return rows
