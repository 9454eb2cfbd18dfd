"""A cell evaluated: rows scaled, parameters chosen on the training part, fitted, measured."""

import warnings
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from ..datasets import add_candidate_noise, hide_labels
from ..decisions.scores import NoScoresError, as_dense, label_scores_of, labels_of
from ..estimators.base import LabelRanker
from ..estimators.kernel_model import KernelModel
from ..search import PathSearchCV
from ..utils.validation import some_rows, with_unknown
from .clock import Clock
from .estimators import make_estimator, make_value, seeded
from .measures import LabelScorer, label_measures
from .memory import PeakMemory
from .observation import certificate, convergence, hardware, margin_quantiles, plain, versions
from .one_label import INSIDE, OfClasses, OneLabel, classes_of


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
    y_test = with_unknown(data.Y[cell.test], some_rows(data.known, cell.test))
    y_train = _training_labels(cell, data)
    model = _model(cell, seed)
    facts = {
        "seed": seed,
        "n_train": len(cell.train),
        "n_test": len(cell.test),
        **_counts_of_unknown(y_train, y_test),
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        **hardware(),
        **versions(),
    }
    with warnings.catch_warnings(record=True) as caught, PeakMemory() as memory:
        warnings.simplefilter("always")
        clock = Clock()
        parameters = _choose(cell, model, X_train, y_train, facts) if cell.grid else {}
        facts["search_seconds"], facts["search_processor_seconds"] = clock.lap()
        final = make_value(cell.classifier.final, "final")
        fitted = _with(model, {**parameters, **final}).fit(X_train, y_train)
        fit_time = clock.lap()
        scores = _scores(fitted, X_test, y_test.shape[1])
        predicted = labels_of(fitted, X_test, y_test.shape[1])
        predict_time = clock.lap()
    facts["warnings"] = sorted({f"{w.category.__name__}: {w.message}"[:300] for w in caught})[:5]
    measures = label_measures(y_test, scores, predicted)
    for task, time in (("fit", fit_time), ("predict", predict_time)):
        measures[f"{task}_seconds"], measures[f"{task}_processor_seconds"] = time
    measures["peak_megabytes"] = memory.megabytes
    parts = X_train, y_train, X_test, y_test
    return {
        "measures": measures,
        "parameters": {key: plain(value) for key, value in parameters.items()},
        "margins": [] if scores is None else margin_quantiles(y_test, scores),
        "curve": convergence(fitted, parts) if cell.with_curve else [],
        "facts": {**facts, **certificate(fitted)},
    }


def _training_labels(cell, data):
    """Zeros and ones, with candidates and NaN as the data and the protocol ask for."""
    protocol, known = cell.protocol, some_rows(data.known, cell.train)
    y = (data.Y if data.candidates is None else data.candidates)[cell.train].astype(int)
    if protocol.candidate_noise:
        y = add_candidate_noise(y, protocol.candidate_noise, random_state=cell.seed)
    y = with_unknown(y, known)
    return hide_labels(y, protocol.hidden, random_state=cell.seed) if protocol.hidden else y


def _counts_of_unknown(y_train, y_test):
    """How many labels are unknown in each part, where some are."""
    parts = {"unknown_train": y_train, "unknown_test": y_test}
    return {name: int(np.isnan(y).sum()) for name, y in parts.items() if y.dtype.kind == "f"}


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


def _scores(fitted, X, n_labels):
    """Scores of labels, or None for a classifier that has none."""
    try:
        return label_scores_of(fitted, X, n_labels)
    except NoScoresError:
        return None


def _choose(cell, model, X, y, facts):
    """The best parameters of the grid in cross-validation; of a single candidate, these."""
    grid = make_value(cell.grid, f"classifier {cell.classifier.name!r}.grid")
    if len(candidates := ParameterGrid(grid)) == 1:
        return candidates[0]
    seed = cell.seed
    if 0 < cell.tuning.most_rows < len(y):
        order = np.random.RandomState(seed).permutation(len(y))
        rows = np.sort(order[: cell.tuning.most_rows])
        X, y = X[rows], y[rows]
    scorer: Any = LabelScorer(cell.tuning.measure)
    highest, prefix = scorer.highest, ""
    if isinstance(model, OneLabel) and all(
        name.startswith(INSIDE) for candidate in candidates for name in candidate
    ):
        # our classifiers share work where the search sees them
        scorer, y = OfClasses(scorer, y.shape[1]), classes_of(as_dense(y))
        model, prefix = model.classifier, INSIDE
        grid = [
            {name.removeprefix(prefix): values for name, values in part.items()}
            for part in ([grid] if isinstance(grid, dict) else grid)
        ]
    options = {
        "scoring": scorer,
        "cv": KFold(cell.tuning.folds, shuffle=True, random_state=seed),
        "refit": False,
    }
    if not isinstance(model, LabelRanker | KernelModel):
        found = GridSearchCV(model, grid, **options)
    else:
        checkpoint = Path(cell.checkpoint)
        # a worker on another machine may not see it
        keeps = cell.checkpoint and checkpoint.parent.is_dir()
        facts["search_resumed"] = bool(keeps and checkpoint.exists())
        # the same choice as that of a whole grid
        options |= {"strategy": "sparing", "highest_score": highest}
        found = PathSearchCV(model, grid, checkpoint=checkpoint if keeps else None, **options)
    found.fit(X, y)
    if np.all(np.isnan(found.cv_results_["mean_test_score"])):
        # once more, for the reason
        scorer(_with(model, found.best_params_).fit(X, y), X, y)
        raise ValueError(f"no candidate of the grid could be measured by {cell.tuning.measure}")
    return {f"{prefix}{name}": value for name, value in found.best_params_.items()}


@lru_cache(maxsize=1)
def _stored(path):
    return joblib.load(Path(path), mmap_mode="r")
