"""To which search a checkpoint belongs, and which files can be one."""

import os
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, get_scorer, get_scorer_names, make_scorer
from small_searches import CV, X, Y

from skml_odm import MLODM, PathSearchCV
from skml_odm.metrics import average_precision_scorer, ranking_loss_scorer
from skml_odm.search.identity import identity, key_of, scorer_identity

GRID = {"C": [10.0, 0.1]}

# the same search again, in a process that has its functions at other addresses
PROGRAM = """
import sys
import numpy as np
from sklearn.metrics import make_scorer
from skml_odm import MLODM, PathSearchCV
from skml_odm.metrics import ranking_loss_scorer

garbage = [lambda: None for _ in range(int(sys.argv[2]))]
weight = 0.5

def own(estimator, X, y, allowed=frozenset({"a", "b", "c"})):
    print("scored", flush=True)
    if str(y) in {"x", "y", "z"}:
        return 0.0
    return ranking_loss_scorer(estimator, X, y)

def product(a, b):
    return a @ b.T

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = (X @ rng.normal(size=(3, 3)) > 0).astype(int)
scoring = {"own": own, "lambda": make_scorer(lambda y, p: np.mean(y == p) * 1.0)}
grid = {"C": [1.0, 2.0], "kernel": [product, lambda a, b: 2 * a @ b.T]}
search = PathSearchCV(MLODM(), grid, cv=2, scoring=scoring, refit="own", checkpoint=sys.argv[1])
search.fit(X, Y)
"""


@pytest.mark.slow
def test_functions_of_ones_own_in_a_second_process(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(textwrap.dedent(PROGRAM))

    def n_scored(seed):
        command = [sys.executable, str(file), str(tmp_path / "search.db"), str(1000 * seed)]
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        ended = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, check=True, text=True
        )
        return ended.stdout.count("scored")

    assert n_scored(1) == 8
    assert n_scored(2) == 0


def scaled(factor):
    """A scorer with a closure."""
    return make_scorer(lambda y, p: factor * np.mean(y == p))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (make_scorer(lambda y, p: np.mean(y == p)), make_scorer(lambda y, p: np.max(y == p))),
        (make_scorer(lambda y, p: 1.0), make_scorer(lambda y, p: 2.0)),
        (scaled(1.0), scaled(2.0)),
        (lambda e, X, y, c=1.0: c, lambda e, X, y, c=2.0: c),
        (make_scorer(accuracy_score), make_scorer(accuracy_score, greater_is_better=False)),
        (make_scorer(accuracy_score), make_scorer(accuracy_score, normalize=False)),
        (ranking_loss_scorer, average_precision_scorer),
        ({"score": scaled(1.0)}, {"score": scaled(2.0)}),
    ],
)
def test_other_scorers_are_refused(first, second, tmp_path):
    refit = "score" if isinstance(first, dict) else True
    options = {"cv": CV, "checkpoint": tmp_path / "search.db", "refit": refit}
    for _ in range(2):
        PathSearchCV(MLODM(), GRID, scoring=first, **options).fit(X, Y)
    with pytest.raises(ValueError, match="checkpoint must be"):
        PathSearchCV(MLODM(), GRID, scoring=second, **options).fit(X, Y)


def test_another_error_score_is_refused(tmp_path):
    options = {"cv": CV, "checkpoint": tmp_path / "search.db"}
    PathSearchCV(MLODM(), GRID, **options).fit(X, Y)
    with pytest.raises(ValueError, match="error_score"):
        PathSearchCV(MLODM(), GRID, error_score=0.0, **options).fit(X, Y)


def test_kernels_that_are_functions(tmp_path):
    """Other code is another candidate, and another estimator."""
    options = {"cv": CV, "checkpoint": tmp_path / "search.db", "scoring": ranking_loss_scorer}
    kernels = [lambda a, b: a @ b.T, lambda a, b: (1 + a @ b.T) ** 3]
    found = [PathSearchCV(MLODM(), {"kernel": [k]}, **options).fit(X, Y) for k in kernels]
    alone = PathSearchCV(MLODM(), {"kernel": kernels[1:]}, cv=CV, scoring=ranking_loss_scorer)
    assert found[1].best_score_ == alone.fit(X, Y).best_score_
    assert found[0].best_score_ != found[1].best_score_
    options["checkpoint"] = tmp_path / "other.db"
    PathSearchCV(MLODM(kernel=kernels[0]), GRID, **options).fit(X, Y)
    with pytest.raises(ValueError, match="another estimator"):
        PathSearchCV(MLODM(kernel=kernels[1]), GRID, **options).fit(X, Y)


def test_identities():
    assert identity(1) != identity(1.0) != identity(True)
    assert identity({"a": np.arange(3)}) == identity({"a": np.arange(3)})

    def calls_itself(n):
        return calls_itself(n - 1) if n else 0

    class Local:
        def method(self):
            return 1

        def other(self):
            return 2

    assert identity(calls_itself) == identity(calls_itself)
    assert identity(Local) == identity(Local)
    assert identity(Local().method) != identity(Local().other)
    assert scorer_identity(partial(max, 1)) != scorer_identity(partial(max, 2))
    scorers = [scorer_identity(get_scorer(name)) for name in get_scorer_names()]
    assert len(set(scorers)) == len(scorers)
    # files cannot be told apart
    with open(os.devnull) as file:
        assert key_of(file) != key_of(file)


class Weighted:
    """A scorer that shows nothing of what it has."""

    def __init__(self, weight):
        self.weight = weight

    def __call__(self, estimator, X, y):
        return self.weight


def test_objects_are_told_apart_by_what_they_have():
    assert scorer_identity(Weighted(1.0)) == scorer_identity(Weighted(1.0))
    assert scorer_identity(Weighted(1.0)) != scorer_identity(Weighted(2.0))


def changed_by_fit(path):
    """Whether a search that refuses a file leaves it as it was."""
    before = path.read_bytes()
    with pytest.raises(ValueError, match="checkpoint must be") as caught:
        PathSearchCV(MLODM(), GRID, cv=CV, checkpoint=path).fit(X, Y)
    assert path.name in str(caught.value)
    return path.read_bytes() != before


@pytest.mark.parametrize("table", ["results (name TEXT)", "orders (number INTEGER)"])
def test_files_of_other_programs(table, tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE {table}")
    assert not changed_by_fit(path)


def test_files_that_cannot_be_written(tmp_path):
    path = tmp_path / "search.db"
    PathSearchCV(MLODM(), GRID, cv=CV, checkpoint=path).fit(X, Y)
    # SQLite writes no files of formats to come; root may write all others
    content = bytearray(path.read_bytes())
    content[18] = 3
    path.write_bytes(content)
    assert not changed_by_fit(path)


@pytest.mark.parametrize("path", ["", ":memory:", 5, True, Path(":memory:"), Path("no/such/a.db")])
def test_paths_of_no_file(path):
    with pytest.raises(ValueError, match="checkpoint must be"):
        PathSearchCV(MLODM(), GRID, cv=CV, checkpoint=path).fit(X, Y)
