"""Searches on workers, interrupted, killed and gone on with."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from small_searches import CV, Stopping, X, Y, assert_same, means

from skml_odm import (
    MLODM,
    PathSearchCV,
)
from skml_odm.metrics import ranking_loss_scorer
from skml_odm.utils.parallel import streaming

BACKENDS = [
    "threading",
    pytest.param("loky", marks=pytest.mark.slow),
    pytest.param("multiprocessing", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("backend", BACKENDS)
def test_backends(backend):
    grid = {"C": [0.5, 5.0], "gamma": [0.1, 0.5]}
    options = {"cv": CV, "scoring": ranking_loss_scorer}
    alone = PathSearchCV(MLODM(), grid, **options).fit(X, Y)
    with joblib.parallel_config(backend=backend):
        together = PathSearchCV(MLODM(), grid, n_jobs=2, **options).fit(X, Y)
    assert_same(together, alone, tolerance=0.0)


@pytest.mark.slow
def test_dask():
    distributed = pytest.importorskip("distributed")
    grid = {"C": [0.5, 5.0], "gamma": [0.1, 0.5]}
    options = {"cv": CV, "scoring": ranking_loss_scorer}
    alone = PathSearchCV(MLODM(), grid, **options).fit(X, Y)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        search = PathSearchCV(MLODM(), grid, n_jobs=-1, **options)
        together = clone(search).fit(X, Y)
        within = client.submit(search_within_worker, search).result()
        # data of all tasks are where the tasks will be
        parallel, _ = streaming(-1, [np.arange(1000.0)])
        assert all(client.has_what().values())
        del parallel
    for found in together, within:
        assert_same(found, alone, tolerance=0.0)


def search_within_worker(search):
    """A worker of Dask that sends tasks to all workers, itself included."""
    with joblib.parallel_config(backend="dask"):
        return search.fit(X, Y)


def test_interrupt_keeps_what_is_finished():
    grid = {"C": [0.5, 5.0, 50.0], "gamma": [0.1, 0.5]}
    search = PathSearchCV(MLODM(), grid, cv=CV, scoring=Stopping(11, KeyboardInterrupt()))
    with pytest.warns(UserWarning, match="interrupted"):
        search.fit(X, Y)
    full = PathSearchCV(MLODM(), grid, cv=CV, scoring=ranking_loss_scorer).fit(X, Y)
    assert len(search.cv_results_["params"]) == 3
    assert all(pair in means(full) for pair in means(search))
    assert not hasattr(search, "best_estimator_")
    nothing = PathSearchCV(MLODM(), grid, cv=CV, scoring=Stopping(2, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        nothing.fit(X, Y)


def test_checkpoint_repeats_nothing(tmp_path):
    grid = {"C": [0.5, 5.0, 50.0], "gamma": [0.1, 0.5]}
    options = {"cv": CV, "checkpoint": tmp_path / "search.db", "error_score": "raise"}
    stopped = Stopping(11, KeyboardInterrupt())
    with pytest.warns(UserWarning, match="interrupted"):
        PathSearchCV(MLODM(), grid, scoring=stopped, **options).fit(X, Y)
    going_on = Stopping(7, AssertionError("a finished fit was repeated"))
    search = PathSearchCV(MLODM(), grid, scoring=going_on, **options)
    search.fit(X, Y)
    full = PathSearchCV(MLODM(), grid, cv=CV, scoring=ranking_loss_scorer).fit(X, Y)
    assert_same(search, full)
    # a larger grid goes on from the same file, other data do not
    larger = {"C": [0.5, 5.0, 50.0, 500.0], "gamma": [0.1, 0.5]}
    six_more = Stopping(6, AssertionError("a finished fit was repeated"))
    PathSearchCV(MLODM(), larger, scoring=six_more, **options).fit(X, Y)
    with pytest.raises(ValueError, match="checkpoint"):
        PathSearchCV(MLODM(), grid, scoring=Stopping(99, None), **options).fit(X + 1.0, Y)
    (tmp_path / "other").write_text("no database, but a text that is long enough to be read" * 20)
    with pytest.raises(ValueError, match="checkpoint"):
        PathSearchCV(MLODM(), grid, checkpoint=tmp_path / "other").fit(X, Y)


def n_stored(path):
    """How many fits a checkpoint has."""
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path, timeout=30.0)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name = 'results'")
        if not tables.fetchall():
            return 0
        return connection.execute("SELECT COUNT(*) FROM results").fetchone()[0]


@pytest.mark.slow
def test_checkpoint_survives_a_kill(tmp_path):
    """kill -9 in the middle; the next run does the rest."""
    script = textwrap.dedent(
        """
        import sys, time
        import numpy as np
        from skml_odm import MLODM, PathSearchCV
        from skml_odm.metrics import ranking_loss_scorer

        class Slow:
            def __call__(self, estimator, X, y):
                time.sleep(float(sys.argv[2]))
                print("fit", flush=True)
                return ranking_loss_scorer(estimator, X, y)

            def __repr__(self):
                return "Slow"

        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 3))
        Y = (X @ rng.normal(size=(3, 3)) > 0).astype(int)
        grid = {"gamma": [0.1, 0.2, 0.3, 0.4], "C": [1.0, 2.0]}
        search = PathSearchCV(MLODM(), grid, cv=2, scoring=Slow(), checkpoint=sys.argv[1])
        search.fit(X, Y)
        print("best", search.best_params_, flush=True)
        """
    )
    path = tmp_path / "search.db"
    command = [sys.executable, "-c", script, str(path)]
    # away from the sources, which Python would import from the current folder
    options = {"stdout": subprocess.PIPE, "text": True, "cwd": tmp_path}
    process = subprocess.Popen([*command, "0.1"], **options)
    for _ in range(7):
        assert process.stdout.readline() == "fit\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    stored = n_stored(path)
    assert 4 <= stored < 16
    rest = subprocess.run([*command, "0"], check=True, **options).stdout
    assert rest.count("fit\n") == 16 - stored
    assert "best" in rest


@pytest.mark.slow
def test_ctrl_c(tmp_path):
    """A real signal, with worker processes."""
    script = textwrap.dedent(
        """
        import signal, sys, time, warnings
        import numpy as np
        from skml_odm import MLODM, PathSearchCV
        from skml_odm.metrics import ranking_loss_scorer

        def slow(estimator, X, y):
            time.sleep(0.05)
            return ranking_loss_scorer(estimator, X, y)

        if __name__ == "__main__":
            # a shell in the background has its commands ignore the signal
            signal.signal(signal.SIGINT, signal.default_int_handler)
            rng = np.random.default_rng(0)
            X = rng.normal(size=(60, 3))
            Y = (X @ rng.normal(size=(3, 3)) > 0).astype(int)
            grid = {"gamma": (0.01 * np.arange(1, 200)).tolist()}
            search = PathSearchCV(
                MLODM(), grid, cv=2, scoring=slow, n_jobs=2, checkpoint=sys.argv[1]
            )
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                search.fit(X, Y)
            print(any("interrupted" in str(w.message) for w in caught))
            print(0 < len(search.cv_results_["params"]) < 199)
        """
    )
    file = tmp_path / "script.py"
    file.write_text(script)
    path = tmp_path / "search.db"
    command = [sys.executable, str(file), str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    while n_stored(path) < 8:
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    assert rest == "True\nTrue\n"


def test_progress(capsys):
    pytest.importorskip("tqdm")
    PathSearchCV(MLODM(), {"C": [0.5, 5.0]}, cv=CV, verbose=1).fit(X, Y)
    shown = capsys.readouterr().err
    assert "6/6" in shown
    assert "2 candidates, best" in shown
