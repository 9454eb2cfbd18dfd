"""Labels and probabilities: ours and others', plain and with cross-validated decisions.

Writes docs/decisions.md. ``tuned``: every classifier is tuned on training parts, as it is by
micro-F1 of its labels, and with LabelDecisionCV's layer by ranking loss of its scores. The layer's
labels for a measure are those of that measure's rule, fitted to scores of five held-out folds.
``defaults``: everything at its defaults. ``published``: MLODM on the publishers' splits, where a
prototype of the layer was tried.

What is finished is kept in benchmarks/outcomes/decisions.jsonl and not run again. LightGBM and
BOOMER are needed (extra ``bench``).
"""

import contextlib
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from skml_odm.decisions.decision import LabelDecision
from skml_odm.decisions.scores import (
    NoScoresError,
    as_dense,
    label_scores_of,
    labels_of,
    probabilities_of,
    unbounded_scores_of,
)
from skml_odm.metrics import average_precision, ranking_loss
from skml_odm.metrics.labels import LABEL_MEASURES
from skml_odm.study.evaluation import scaled

from .data import load_raw
from .decisions_page import SETS, page
from .kept_outcomes import read_outcomes, run_missing
from .rivals import AT_DEFAULTS, RIVALS, tuned

PAGE = Path(__file__).parents[1] / "docs" / "decisions.md"

PARTS = ("defaults", "published", "tuned")
TEXT = ("enron", "genbase", "medical", "slashdot", "tmc2007-500", "yahoo-arts")
PUBLISHED = ("scene", "medical", "enron", "emotions", "yeast")
MOST_ROWS = 2000

# log loss takes probabilities to be at least this, for trees vote for 0 and 1
LEAST = 1e-3


def add_arguments(parser):
    parser.add_argument("part", nargs="?", choices=PARTS)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--repeats", type=int, default=1, help="repeats of two folds")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--page-only", action="store_true", help="only write the page")


def run(arguments):
    parts = [arguments.part] if arguments.part else PARTS
    tasks = [] if arguments.page_only else [t for part in parts for t in _tasks(part, arguments)]
    run_missing("decisions", tasks, evaluated, arguments.jobs)
    outcomes = read_outcomes("decisions")
    if {task[0] for task in outcomes} == set(PARTS):
        PAGE.write_text("\n".join(page(outcomes)))


def second_scaling(name):
    """How a data set's features are scaled besides to [0, 1]."""
    return "tf-idf" if name in TEXT else "standard"


def _tasks(part, arguments):
    """Tuples of part, data set, scaling, fold and classifier."""
    if part == "published":
        sets = [name for name in PUBLISHED if name in arguments.sets]
        return [(part, name, "unit", 0, "MLODM") for name in sets]
    folds = range(2 * arguments.repeats)
    tasks = []
    for name in arguments.sets:
        scalings = ("unit", second_scaling(name)) if part == "defaults" else ("unit",)
        rivals = AT_DEFAULTS if part == "defaults" else RIVALS
        tasks += [(part, name, s, f, rival) for s in scalings for f in folds for rival in rivals]
    return tasks


def evaluated(task):
    """The task, and the measures of a classifier's variants."""
    part, name, scaling, fold, classifier = task
    warnings.simplefilter("ignore")
    start = time.process_time()
    rival = (AT_DEFAULTS if part == "defaults" else RIVALS)[classifier]
    X_train, y_train, X_test, y_test = outer_split(part, name, scaling, fold)
    if rival.dense:
        X_train, X_test = as_dense(X_train), as_dense(X_test)
    outcome = {}
    if part == "defaults":
        model = rival.make().fit(X_train, y_train)
        outcome["plain"] = _plain(model, X_test, y_test)
    else:
        inner = KFold(3, shuffle=True, random_state=0)
        for_labels, for_scores = tuned(rival, X_train, y_train, inner)
        model = for_labels.fit(X_train, y_train)
        outcome["plain"] = _plain(model, X_test, y_test)
        outcome |= _with_layer(for_scores, X_train, y_train, X_test, y_test)
    outcome["seconds"] = round(time.process_time() - start, 1)
    return task, outcome


def outer_split(part, name, scaling, fold):
    """Training and test rows, scaled, with their labels."""
    X, Y, *parts = load_raw(name)
    if part == "published":
        train, test = parts
    else:
        rows = np.random.RandomState(fold // 2).permutation(len(Y))[:MOST_ROWS]
        halves = np.array_split(rows, 2)
        train, test = halves[fold % 2], halves[1 - fold % 2]
    X_train, X_test = scaled(X[train], X[test], scaling)
    return X_train, Y[train].astype(int), X_test, Y[test]


def _plain(model, X, y):
    """Measures of a classifier's own labels, scores and probabilities."""
    q = y.shape[1]
    values = _of_labels(y, labels_of(model, X, q).astype(bool))
    with contextlib.suppress(NoScoresError):
        values |= _of_scores(y, label_scores_of(model, X, q))
    if hasattr(model, "predict_proba"):
        values |= _of_probabilities(y, probabilities_of(model, X, q))
    return values


def _with_layer(model, X, y, X_test, y_test):
    """Measures of cross-validated decisions: each by its own rule, and all by the balanced one."""
    q = y.shape[1]
    scores = np.empty(y.shape)
    for train, test in KFold(5, shuffle=True, random_state=0).split(y):
        part = clone(model).fit(X[train], y[train])
        scores[test] = unbounded_scores_of(part, X[test], q)
    new = unbounded_scores_of(clone(model).fit(X, y), X_test, q)
    seen = y.any(axis=0)
    labels = {}
    for name in (*LABEL_MEASURES, "balanced"):
        decision = LabelDecision(name).fit(scores, y.astype(bool))
        labels[name] = (decision.decide(new) > 0.0) & seen
    probabilities = decision.probabilities(new) * seen
    ranked = _of_scores(y_test, decision.values(new)) | _of_probabilities(y_test, probabilities)
    each = {name: measure(y_test, labels[name]) for name, measure in LABEL_MEASURES.items()}
    return {"layer": each | ranked, "balanced": _of_labels(y_test, labels["balanced"]) | ranked}


def _of_labels(y, predicted):
    return {name: measure(y, predicted) for name, measure in LABEL_MEASURES.items()}


def _of_scores(y, scores):
    return {
        "ranking-loss": float(ranking_loss(y, scores)),
        "average-precision": float(average_precision(y, scores)),
    }


def _of_probabilities(y, p):
    p = np.asarray(p, dtype=float)
    safe = np.clip(p, LEAST, 1.0 - LEAST)
    return {
        "brier": float(np.mean((p - y) ** 2)),
        "log-loss": float(-np.mean(np.log(np.where(y, safe, 1.0 - safe)))),
    }
