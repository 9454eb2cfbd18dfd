"""Grid search that shares work among candidates."""

import time
import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics._scorer import _BaseScorer
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._validation import _warn_or_raise_about_fit_failures
from sklearn.utils import indexable
from sklearn.utils.validation import _num_samples

from ..metrics import RankingScorer
from ..utils.types import ArrayLike, Matrix, Self
from ..utils.validation import (
    as_plain_array,
    as_plain_labels,
    check_choice,
    check_real,
    check_seed,
    check_verbose,
    validated_weights,
)
from .candidates import lazily, model_of, sampled
from .default_grid import default_grid, default_scorer, shuffled
from .run import Run

STRATEGIES = ("grid", "sparing", "random", "lazy", "halving")

# What a fit leaves behind.
FITTED = (
    "best_estimator_",
    "best_index_",
    "best_params_",
    "best_score_",
    "cv_results_",
    "feature_names_in_",
    "label_names_",
    "multimetric_",
    "n_splits_",
    "param_grid_",
    "refit_time_",
    "scorer_",
)


class PathSearchCV(BaseSearchCV):
    """Cross-validated search over parameters, with work shared among candidates.

    A drop-in for scikit-learn's ``GridSearchCV`` that gives the same results, in a fraction of the
    time for the estimators of this package: inner products of rows are computed once for all folds
    and all γ, a kernel matrix once per fold and γ, and problems start from the solutions of their
    neighbours in C, θ and μ. Validation rows are scored with the same matrices. Estimators of
    other packages work, too; they share nothing.

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn estimator, or a ``Pipeline`` that ends with one. Steps before the last are
        fitted once per fold and setting of their parameters.
    param_grid : dict or list of dict, default=None
        Lists of values by parameter name, as for ``GridSearchCV``. None is the
        :func:`~skml_odm.search.default_grid.default_grid` of the estimator and the rows, for
        estimators of this package with a kernel.
    cv : int, splitter or iterable, default=5
        Folds. Without a ``param_grid`` a number means that many shuffled folds; with one their rows
        stay in order, as in ``GridSearchCV``.
    scoring : str, callable, list, tuple or dict, default=None
        One scorer or several, as for ``GridSearchCV``; see :mod:`skml_odm.metrics` for ranking
        measures. None is the estimator's ``score``. Without a ``param_grid`` it is ranking loss
        instead for multi-label estimators other than ``CSRL`` and y with more than one label.
    refit : bool, str or callable, default=True
        Whether to fit the best candidate to all rows; with several scorers the name of the one that
        decides.
    n_jobs : int, default=None
        Workers of joblib. Any of its backends serves; each worker uses one thread if there are
        several.
    verbose : int, default=0
        Show a progress bar if positive; needs tqdm.
    random_state : int, RandomState instance or None, default=None
        Which candidates ``strategy="random"`` takes, and shuffled folds. None is a fixed choice:
        two searches with the same arguments try the same candidates on the same folds.
    strategy : {"grid", "sparing", "random", "lazy", "halving"}, default="grid"
        "grid" tries all candidates on all folds; "sparing" finds the same best one, but spares
        candidates the folds that could not make them the best any more, given ``highest_score``;
        "random" tries some candidates; "lazy" varies one parameter at a time, in the order of
        ``param_grid``, with the others in the middle of their lists at first and at their best
        later (paper 003); "halving" drops the worse candidates after each fold, so that only the
        last ones meet all folds.
    n_candidates : int, default=100
        How many candidates "random" takes at most.
    factor : float, default=3.0
        "halving" keeps one of so many candidates after each fold.
    highest_score : float, default=None
        What no candidate can exceed on a fold, for "sparing": 1 for accuracies, 0 for losses
        (scores are higher for better models).
    checkpoint : path-like, default=None
        A file in which finished fits are kept. A search that was killed goes on from there when it
        is started again.
    cache_size : float, default=1000.0
        Megabytes for the matrix of inner products of all rows (8 n² bytes); without enough, each
        fold computes its own kernel matrices.
    error_score : "raise" or float, default=nan
        Score of a candidate whose fit or scorer fails.

    Attributes
    ----------
    param_grid_ : dict or list of dict
        The grid that was searched.
    cv_results_ : dict
        As of ``GridSearchCV``. After an interrupt it has the finished candidates only; folds that
        "sparing" or "halving" left out are NaN.
    best_params_, best_score_, best_index_
        The best candidate.
    best_estimator_ : estimator
        The best candidate, fitted to all rows; not after an interrupt.
    label_names_ : ndarray of shape (n_labels,)
        Those of ``best_estimator_``, if it has them.
    refit_time_ : float
        Seconds that took.
    n_splits_ : int
    scorer_ : callable or dict
    multimetric_ : bool

    Notes
    -----
    Ctrl-C ends a search with a warning; ``cv_results_`` has what was finished. If nothing was, it
    is a ``KeyboardInterrupt`` as always.

    Besides ``cache_size``, each worker holds the kernel matrix of one fold, kernel values of its
    validation rows, and up to 64 MB of known solutions.

    Examples
    --------
    >>> from skml_odm import MLODM, PathSearchCV
    >>> from skml_odm.datasets import load_digit_attributes
    >>> from skml_odm.metrics import ranking_loss_scorer
    >>> X, y = load_digit_attributes(return_X_y=True)
    >>> grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.001, 0.01]}
    >>> search = PathSearchCV(MLODM(random_state=0), grid, cv=3, scoring=ranking_loss_scorer)
    >>> search.fit(X[:300], y[:300]).best_params_
    {'C': 10.0, 'gamma': 0.01}

    Without a grid the search makes one that fits the rows:

    >>> search = PathSearchCV(MLODM(random_state=0), cv=3).fit(X[:300], y[:300])
    >>> search.best_params_
    {'C': 64.0, 'gamma': 0.22, 'kernel': 'rbf', 'mu': 0.7}
    >>> search.param_grid_["gamma"]
    [0.013, 0.054, 0.22]
    """

    # scores on the training rows are not computed
    return_train_score = False

    def __init__(
        self,
        estimator,
        param_grid=None,
        cv=5,
        scoring=None,
        refit=True,
        n_jobs=None,
        verbose=0,
        random_state=None,
        *,
        strategy="grid",
        n_candidates=100,
        factor=3.0,
        highest_score=None,
        checkpoint=None,
        cache_size=1000.0,
        error_score=np.nan,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.strategy = strategy
        self.n_candidates = n_candidates
        self.factor = factor
        self.highest_score = highest_score
        self.checkpoint = checkpoint
        self.cache_size = cache_size
        self.error_score = error_score

    def fit(
        self,
        X: Matrix,
        y: Matrix | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Try the candidates, and fit the best one to all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like or sparse matrix
            Whatever the estimator takes.
        sample_weight : array-like of shape (n_samples,) or (n_samples, n_labels), optional
            For the ``fit`` of the estimator, or of a pipeline's last step, and for scorers as the
            installed scikit-learn does it. Weights of all labels of a row are not for scorers.
        groups : array-like of shape (n_samples,), optional
            For the splitter.

        Returns
        -------
        self
        """
        for name in FITTED:
            self.__dict__.pop(name, None)
        self._check_parameters()
        scorer, refit_metric = self._get_scorers()
        X, y, groups = indexable(as_plain_array(X), as_plain_labels(y), groups)
        sample_weight = validated_weights(sample_weight, X, per_cell=True)
        # scikit-learn stratifies a single column only, and to find that out it would refuse NaN
        columns = np.shape(y[0]) if isinstance(y, list | tuple) and y else np.shape(y)[1:]
        stratified = is_classifier(self.estimator) and columns in ((), (1,))
        splitter = check_cv(self.cv, y, classifier=stratified)
        self.param_grid_ = self.param_grid
        if self.param_grid is None:
            self.param_grid_ = default_grid(self.estimator, X, y, sample_weight)
            if self.scoring is None:
                scorer = default_scorer(self.estimator, y) or scorer
            if isinstance(self.cv, Integral):
                splitter = shuffled(splitter, self.random_state)
        folds = [
            (i, *(_as_indices(part, _num_samples(X)) for part in fold))
            for i, fold in enumerate(splitter.split(X, y, groups))
        ]
        if not folds:
            raise ValueError(f"cv must give at least one fold; got {self.cv!r}.")
        self.n_splits_ = len(folds)
        run = Run(self, scorer, (X, y, sample_weight), folds, self._weighs_scores(sample_weight))
        shown = self._search(run)
        if run.interrupted:
            shown = run.finished()
            if not shown:
                raise KeyboardInterrupt
            warnings.warn(
                f"The search was interrupted: cv_results_ has {len(shown)} of "
                f"{len(run.candidates)} candidates, and no best_estimator_ was fitted.",
                stacklevel=2,
            )
        self._store([run.candidates[index] for index in shown], run.table(shown), refit_metric)
        self.scorer_ = getattr(scorer, "_scorers", scorer)
        if self.refit and not run.interrupted:
            self._refit(X, y, sample_weight)
        return self

    def __sklearn_is_fitted__(self):
        # an interrupted search has results, but no model
        return hasattr(self, "best_estimator_" if self.refit else "cv_results_")

    def _weighs_scores(self, sample_weight):
        """Whether ``GridSearchCV`` would hand weights to the scorer."""
        accepts = getattr(self, "_check_scorers_accept_sample_weight", None)
        if sample_weight is None or sample_weight.ndim == 2:
            return False
        return accepts is not None and accepts()

    def _check_parameters(self):
        check_choice("strategy", self.strategy, STRATEGIES)
        check_real("n_candidates", self.n_candidates, 1, integer=True)
        check_real("factor", self.factor, 1, open_low=True)
        check_real("cache_size", self.cache_size, 0)
        check_seed("random_state", self.random_state)
        check_verbose("verbose", self.verbose)
        self._check_n_jobs()
        self._check_refit()
        self._check_highest_score()
        is_word = isinstance(self.error_score, str) and self.error_score == "raise"
        if not (is_word or isinstance(self.error_score, Real)):
            raise ValueError(f"error_score must be 'raise' or a number; got {self.error_score!r}.")
        self._check_grid()

    def _check_n_jobs(self):
        n_jobs = self.n_jobs
        is_number = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
        if n_jobs is not None and not (is_number and n_jobs != 0):
            raise ValueError(f"n_jobs must be an integer other than 0, or None; got {n_jobs!r}.")

    def _check_refit(self):
        """Names are checked later where scorers have them, or may turn out to have."""
        if isinstance(self.refit, bool | np.bool_) or callable(self.refit):
            return
        of_one = self.scoring is None or isinstance(self.scoring, str | _BaseScorer | RankingScorer)
        # scikit-learn's name of the only scorer, and its own
        names = ["score", *([self.scoring] if isinstance(self.scoring, str) else [])]
        if not isinstance(self.refit, str) or (of_one and self.refit not in names):
            raise ValueError(
                "refit must be True, False, a callable, or the name of a scorer if there are "
                f"several; got {self.refit!r}."
            )

    def _check_highest_score(self):
        if self.highest_score is not None or self.strategy == "sparing":
            check_real("highest_score", self.highest_score, -np.inf, np.inf)
        if self.strategy == "sparing" and callable(self.refit):
            raise ValueError(
                "refit must not be a callable for strategy='sparing', which compares mean scores; "
                f"got {self.refit!r}."
            )

    def _check_grid(self):
        if self.param_grid is None:
            return
        if self.strategy == "lazy" and not isinstance(self.param_grid, dict):
            raise ValueError(
                "param_grid must be a single dict for strategy='lazy'; got "
                f"{type(self.param_grid).__name__}."
            )
        if len(ParameterGrid(self.param_grid)) == 0 or (
            self.strategy == "lazy" and not self.param_grid
        ):
            raise ValueError(
                f"param_grid must have at least one candidate; got {self.param_grid!r} "
                f"(strategy={self.strategy!r})."
            )

    def _search(self, run):
        """Evaluate candidates by the strategy; returns the indices of those to show."""
        if self.strategy == "lazy":
            return self._search_lazily(run)
        if self.strategy == "random":
            candidates = sampled(self.param_grid_, self.n_candidates, self.random_state)
        else:
            candidates = list(ParameterGrid(self.param_grid_))
        indices = run.add(candidates)
        if self.strategy == "sparing":
            self._search_sparingly(run, indices)
        elif self.strategy == "halving":
            self._search_by_halves(run, indices)
        else:
            run.evaluate(indices)
        return indices

    def _search_sparingly(self, run, alive):
        run.evaluate(alive, run.folds[:1])
        if not run.interrupted:
            # what the others must reach
            run.evaluate([alive[int(np.argmax(run.mean_scores(alive)))]])
        for fold in run.folds[1:]:
            if run.interrupted:
                break
            alive = run.within_reach(alive, self.highest_score)
            run.evaluate(alive, [fold])

    def _search_by_halves(self, run, alive):
        for fold in run.folds:
            run.evaluate(alive, [fold])
            if run.interrupted:
                break
            keep = max(1, round(len(alive) / self.factor))
            alive = [alive[i] for i in np.argsort(-run.mean_scores(alive), kind="stable")[:keep]]

    def _search_lazily(self, run):
        def evaluate(candidates):
            run.evaluate(run.add(candidates))
            done = run.finished()
            if run.interrupted:
                raise KeyboardInterrupt
            return done[int(np.argmax(run.mean_scores(done)))], run.candidates

        try:
            lazily(self.param_grid_, evaluate)
        except KeyboardInterrupt:
            run.interrupted = True
        return list(range(len(run.candidates)))

    def _store(self, candidates, table, refit_metric):
        """Results in scikit-learn's form."""
        done = [row for row in table if not np.isnan(row["fit_time"])]
        _warn_or_raise_about_fit_failures(done, self.error_score)
        self._warn_of_scorers(done)
        _give_all_names(table)
        first = table[0]["test_scores"]
        self.multimetric_ = isinstance(first, dict)
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(first)
            refit_metric = self.refit
        with warnings.catch_warnings():
            if len(done) < len(table):
                # folds that were spared on purpose
                warnings.filterwarnings("ignore", message="One or more of the test scores")
            results = self._format_results(candidates, self.n_splits_, table)
        self.cv_results_ = results
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, refit_metric, results)
            if not callable(self.refit):
                self.best_score_ = results[f"mean_test_{refit_metric}"][self.best_index_]
            self.best_params_ = results["params"][self.best_index_]

    def _warn_of_scorers(self, table):
        errors = [row["score_error"] for row in table if row["score_error"]]
        if errors:
            warnings.warn(
                f"Scoring failed in {len(errors)} of {len(table)} fits; where it did the score is "
                f"set to {self.error_score}. The first failure:\n{errors[0]}",
                stacklevel=4,
            )

    def _refit(self, X, y, sample_weight):
        self.best_estimator_ = clone(self.estimator).set_params(
            **clone(self.best_params_, safe=False)
        )
        _, prefix = model_of(self.best_estimator_)
        options = {} if sample_weight is None else {f"{prefix}sample_weight": sample_weight}
        begin = time.perf_counter()
        self.best_estimator_.fit(X, y, **options)
        self.refit_time_ = time.perf_counter() - begin
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_
        model, _ = model_of(self.best_estimator_)
        if hasattr(model, "label_names_"):
            self.label_names_ = model.label_names_


def _as_indices(part, n_rows):
    """The rows of one side of a fold: splitters may give arrays, lists, ranges or masks."""
    rows = np.asarray(part)
    if rows.dtype == bool and rows.shape == (n_rows,):
        return np.flatnonzero(rows)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise ValueError(
            f"cv must give indices of rows, or masks of {n_rows} rows; got {part!r} in a fold."
        )
    return rows.astype(np.intp, copy=False)


def _give_all_names(table):
    """Scores of failed and spared fits get the names that a scorer's others have."""
    names = next((row["test_scores"] for row in table if isinstance(row["test_scores"], dict)), ())
    for row in table:
        if names and not isinstance(row["test_scores"], dict):
            row["test_scores"] = dict.fromkeys(names, row["test_scores"])
