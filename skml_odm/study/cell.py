"""One classifier on one fold: scaled, tuned on the training part, fitted, measured."""

import platform
import warnings
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from time import perf_counter
from typing import Any

import joblib
import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from ..base import LabelRanker
from ..datasets import add_candidate_noise
from ..metrics import ranking_loss
from ..search import PathSearchCV
from ..validation import check_choice, check_real
from .estimators import make_estimator, make_value, seeded
from .measures import OF_ACCURACY, LabelScorer, label_measures
from .memory import PeakMemory
from .outcome import Outcome
from .protocol import Protocol
from .scores import NoScoresError, as_dense, label_scores_of

# a curve of convergence has points at these numbers of iterations
CURVE_ITERATIONS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
# more rows than this have their margins sampled
MOST_ROWS_FOR_MARGINS = 2000


@dataclass(frozen=True)
class Tuning:
    """How parameters are chosen on a training part.

    Attributes
    ----------
    folds : int
        Of the cross-validation.
    measure : str
        Which measure decides.
    most_rows : int
        Of larger training parts, so many rows are drawn for the search. 0: all rows serve.
    """

    folds: int = 3
    measure: str = "ranking_loss"
    most_rows: int = 0

    def __post_init__(self):
        check_real("folds", self.folds, 2, integer=True)
        check_choice("measure", self.measure, OF_ACCURACY)
        check_real("most_rows", self.most_rows, 0, integer=True)


@dataclass(frozen=True)
class Classifier:
    """A classifier of a study.

    Attributes
    ----------
    name : str
    definition : dict
        "estimator" and perhaps "parameters".
    grid : dict or list of dict
        Values to choose from; nothing to choose if empty.
    dense : bool
        Whether sparse features are made dense for it.
    on_data : dict of str to dict
        Parameters for single data sets.
    final : dict
        Parameters of the last fit, to the whole training part: a smaller tolerance, say.
    grid_on_data : dict of str to dict or list
        Grids for single data sets, instead of the other one.
    """

    name: str
    definition: dict
    grid: Any = field(default_factory=dict)
    dense: bool = False
    on_data: dict = field(default_factory=dict)
    final: dict = field(default_factory=dict)
    grid_on_data: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """A classifier, a fold, and all that decides what comes out.

    Attributes
    ----------
    key : str
        Tells this cell from any other.
    data : str
    path : str
        Where the data set is, as joblib stored it.
    classifier : Classifier
    fold : int
    train, test : ndarray
    protocol : Protocol
    tuning : Tuning
    with_curve : bool
    checkpoint : str
        A file in which the search of this cell may keep finished fits.
    """

    key: str
    data: str
    path: str
    classifier: Classifier
    fold: int
    train: np.ndarray
    test: np.ndarray
    protocol: Protocol
    tuning: Tuning
    with_curve: bool = False
    checkpoint: str = ""

    @property
    def grid(self):
        """The values to choose from, on this data set."""
        return self.classifier.grid_on_data.get(self.data, self.classifier.grid)

    @property
    def seed(self):
        """For everything random in this cell."""
        return self.protocol.seed + self.fold

    def outcome(self, **values):
        return Outcome(self.data, self.classifier.name, self.fold, **values)


def evaluate(cell):
    """Fit and measure a cell.

    Parameters
    ----------
    cell : Cell

    Returns
    -------
    dict
        Of an Outcome: measures, parameters, margins, curve and facts.
    """
    data = _stored(cell.path)
    seed = cell.seed
    X_train, X_test = scaled(data.X[cell.train], data.X[cell.test], cell.protocol.scaling)
    if cell.classifier.dense:
        X_train, X_test = as_dense(X_train), as_dense(X_test)
    y_test = data.Y[cell.test]
    y_train = (data.Y if data.candidates is None else data.candidates)[cell.train].astype(int)
    if cell.protocol.candidate_noise:
        y_train = add_candidate_noise(y_train, cell.protocol.candidate_noise, random_state=seed)
    model = _model(cell, seed)
    facts = {
        "seed": seed,
        "n_train": len(cell.train),
        "n_test": len(cell.test),
        "test_share": len(cell.test) / len(cell.train),
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": platform.machine(),
        **versions(),
    }
    with warnings.catch_warnings(record=True) as caught, PeakMemory() as memory:
        warnings.simplefilter("always")
        start = perf_counter()
        parameters = _choose(cell, model, X_train, y_train, facts) if cell.grid else {}
        facts["search_seconds"] = perf_counter() - start if cell.grid else 0.0
        start = perf_counter()
        final = make_value(cell.classifier.final, "final")
        fitted = _with(model, {**parameters, **final}).fit(X_train, y_train)
        fit_seconds = perf_counter() - start
        start = perf_counter()
        scores = _scores(fitted, X_test)
        predicted = as_dense(fitted.predict(X_test))
        predict_seconds = perf_counter() - start
    facts["warnings"] = sorted({f"{w.category.__name__}: {w.message}"[:300] for w in caught})[:5]
    measures = label_measures(y_test, scores, predicted)
    measures["fit_seconds"], measures["predict_seconds"] = fit_seconds, predict_seconds
    measures["peak_megabytes"] = memory.megabytes
    parts = X_train, y_train, X_test, y_test
    return {
        "measures": measures,
        "parameters": {key: plain(value) for key, value in parameters.items()},
        "margins": [] if scores is None else margin_quantiles(y_test, scores),
        "curve": convergence(fitted, parts) if cell.with_curve else [],
        "facts": {**facts, **certificate(fitted)},
    }


def scaled(train, test, scaling):
    """Both parts scaled as the training part asks for."""
    if scaling == "none":
        return train, test
    scaler: Any
    if scaling == "unit":
        scaler = MaxAbsScaler() if sparse.issparse(train) else MinMaxScaler()
    elif scaling == "tf-idf":
        scaler = TfidfTransformer()
    else:
        scaler = StandardScaler(with_mean=not sparse.issparse(train))
    return scaler.fit_transform(train), scaler.transform(test)


def _model(cell, seed):
    where = f"classifier {cell.classifier.name!r}"
    model = make_estimator(cell.classifier.definition, where)
    special = make_value(cell.classifier.on_data.get(cell.data, {}), f"{where}.on_data")
    return seeded(_with(model, special), seed)


def _with(model, parameters):
    """The model with these parameters; some of the host's cannot be told none."""
    return model.set_params(**parameters) if parameters else model


def _scores(fitted, X):
    """Scores of labels, or None of a classifier that has none."""
    try:
        return label_scores_of(fitted, X)
    except NoScoresError:
        return None


def _choose(cell, model, X, y, facts):
    """The best parameters of the grid in cross-validation."""
    seed = cell.seed
    if 0 < cell.tuning.most_rows < len(y):
        order = np.random.RandomState(seed).permutation(len(y))
        rows = np.sort(order[: cell.tuning.most_rows])
        X, y = X[rows], y[rows]
    options = {
        "scoring": LabelScorer(cell.tuning.measure),
        "cv": KFold(cell.tuning.folds, shuffle=True, random_state=seed),
        "refit": False,
    }
    grid = make_value(cell.grid, f"classifier {cell.classifier.name!r}.grid")
    if not isinstance(model, LabelRanker):
        found = GridSearchCV(model, grid, **options)
    else:
        checkpoint = Path(cell.checkpoint)
        # a worker on another machine may not see it
        keeps = cell.checkpoint and checkpoint.parent.is_dir()
        facts["search_resumed"] = bool(keeps and checkpoint.exists())
        found = PathSearchCV(model, grid, checkpoint=checkpoint if keeps else None, **options)
    found.fit(X, y)
    if np.all(np.isnan(found.cv_results_["mean_test_score"])):
        # once more, for the reason
        LabelScorer(cell.tuning.measure)(_with(model, found.best_params_).fit(X, y), X, y)
        raise ValueError(f"no candidate of the grid could be measured by {cell.tuning.measure}")
    return found.best_params_


def certificate(fitted):
    """How well a classifier of ours was solved, and how many rows its solution needs."""
    if not isinstance(fitted, LabelRanker):
        return {}
    names = {"dual_gap": "dual_gap_", "iterations": "n_iter_", "support_rows": "n_support_"}
    return {
        key: np.max(getattr(fitted, name)).item()
        for key, name in names.items()
        if hasattr(fitted, name)
    }


def plain(value):
    """A parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def margin_quantiles(y, scores):
    """101 quantiles of the margins of all label pairs; empty if there is no pair."""
    rows = np.flatnonzero(y.any(axis=1) & ~y.all(axis=1))
    step = max(1, len(rows) // MOST_ROWS_FOR_MARGINS)
    margins = [np.subtract.outer(scores[i, y[i]], scores[i, ~y[i]]).ravel() for i in rows[::step]]
    if not margins:
        return []
    quantiles = np.quantile(np.concatenate(margins), np.linspace(0.0, 1.0, 101))
    return [float(f"{value:.5g}") for value in quantiles]


def convergence(fitted, parts):
    """How the gap and the ranking losses fall with the iterations, of classifiers of ours."""
    if not isinstance(fitted, LabelRanker) or "max_iter" not in fitted.get_params():
        return []
    X_train, y_train, X_test, y_test = parts
    points = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for limit in CURVE_ITERATIONS:
            fitted.set_params(max_iter=limit).fit(X_train, y_train)
            losses = [
                ranking_loss(y, fitted.label_scores(X))
                for X, y in ((X_train, y_train), (X_test, y_test))
            ]
            points.append([int(np.max(fitted.n_iter_)), float(fitted.dual_gap_), *losses])
            if fitted.dual_gap_ <= fitted.tol or np.max(fitted.n_iter_) < limit:
                break
    return points


@lru_cache(maxsize=1)
def versions():
    """Versions of what results depend on."""
    names = ("skml-odm", "scikit-multilearn-ng", "scikit-learn", "numpy", "scipy")
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@lru_cache(maxsize=1)
def _stored(path):
    return joblib.load(Path(path), mmap_mode="r")


def describe(cell):
    """What decides the outcome of a cell, apart from rows and versions, as JSON can hold it.

    Not how the fold was made: more repeats or other folds leave those that are the same alone.
    """
    classifier = cell.classifier
    return {
        "name": classifier.name,
        "definition": classifier.definition,
        "grid": cell.grid,
        "final": classifier.final,
        "dense": classifier.dense,
        "on_data": classifier.on_data.get(cell.data),
        "scaling": cell.protocol.scaling,
        "candidate_noise": cell.protocol.candidate_noise,
        "seed": cell.seed,
        "tuning": asdict(cell.tuning) if cell.grid else None,
        "curve": cell.with_curve,
    }
