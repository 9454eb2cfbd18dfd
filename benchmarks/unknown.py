"""Unknown labels: MLODM that knows which are unknown, against taking them for irrelevant.

Writes the tables of docs/unknown.md. A share of the training cells (rows × labels) is hidden at
random. Everything is at its defaults. What is finished is kept in benchmarks/outcomes/unknown.jsonl
and not run again.
"""

import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.svm import SVC
from skmultilearn.missing import SMiLE

from skml_odm import MLODM
from skml_odm.datasets import hide_labels
from skml_odm.decisions.scores import as_dense
from skml_odm.metrics import ranking_loss
from skml_odm.metrics.labels import micro_f1
from skml_odm.study.evaluation import scaled

from .data import load_raw
from .kept_outcomes import read_outcomes, run_missing
from .unknown_page import HEADING, METHODS, SETS, SHARES, tables

PAGE = Path(__file__).parents[1] / "docs" / "unknown.md"
MOST_ROWS = 1500
SEEDS = range(5)


def add_arguments(parser):
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--page-only", action="store_true", help="only write the page")


def run(arguments):
    if not arguments.page_only:
        tasks = [(s, 0.0, seed, "MLODM") for s in arguments.sets for seed in SEEDS]
        tasks += [
            (name, share, seed, method)
            for name in arguments.sets
            for seed in SEEDS
            for share in SHARES
            for method in METHODS
        ]
        run_missing("unknown", tasks, evaluated, arguments.jobs)
    text = PAGE.read_text().partition(HEADING)[0]
    PAGE.write_text("\n".join([text + HEADING, *tables(read_outcomes("unknown"))]))


def evaluated(task):
    """The task, and the measures of a method on rows whose labels are all known."""
    name, share, seed, method = task
    warnings.simplefilter("ignore")
    X, Y, *_ = load_raw(name)
    rng = np.random.RandomState(seed)
    train, test = np.array_split(rng.permutation(len(Y))[:MOST_ROWS], 2)
    X_train, X_test = scaled(X[train], X[test], "unit")
    y = hide_labels(Y[train], share, random_state=rng)
    start = time.process_time()
    try:
        scores, labels = LEARN[method](X_train, y, X_test)
        outcome = {
            "ranking-loss": ranking_loss(Y[test], scores),
            "micro-f1": micro_f1(Y[test], labels),
        }
    except np.linalg.LinAlgError as error:
        outcome = {"error": str(error)}
    outcome["seconds"] = round(time.process_time() - start, 2)
    return task, outcome


def by_mlodm(X, y, X_test):
    model = MLODM().fit(X, y)
    return model.label_scores(X_test), model.predict(X_test) == 1


def by_mlodm_without_knowing(X, y, X_test):
    return by_mlodm(X, np.nan_to_num(y), X_test)


def by_binary_relevance(X, y, X_test):
    """A support vector machine per label, fitted to the rows in which it is known."""
    scores = np.full((X_test.shape[0], y.shape[1]), -1.0)
    for k, column in enumerate(y.T):
        known = ~np.isnan(column)
        classes = np.unique(column[known])
        if len(classes) == 2:
            machine = SVC().fit(X[known], column[known])
            scores[:, k] = machine.decision_function(X_test)
        elif classes.any():
            scores[:, k] = 1.0
    return scores, scores > 0.0


def by_smile(X, y, X_test):
    """The host's SMiLE, which takes every zero for a label that may be missing."""
    model = SMiLE().fit(as_dense(X), np.nan_to_num(y))
    X_test = as_dense(X_test)
    # what its predict compares with one half
    return X_test @ model.P + np.ravel(model.b), model.predict(X_test) == 1


LEARN = dict(
    zip(METHODS, (by_mlodm, by_mlodm_without_knowing, by_binary_relevance, by_smile), strict=True)
)
