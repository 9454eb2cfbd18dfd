"""Nothing that a study has finished is lost or done twice."""

import json
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from small_studies import data_set, study
from study_stubs import Frequencies, Sleeping

from skml_odm.study import run_study
from skml_odm.study.evaluation import evaluate
from skml_odm.study.run import _cells, _with_files, fingerprint, finished
from skml_odm.study.store import Store
from skml_odm.utils.sqlite import StoreError, locked

pytest.importorskip("cloudpickle")


def test_results_belong_to_rows_and_settings(tmp_path):
    store = tmp_path / "results.sqlite"
    base = {"protocol": {"folds": 2}}
    run_study(study({"name": "c", "estimator": Frequencies()}, **base), store)
    same = study({"name": "c", "estimator": Frequencies()}, **base, time_limit=5.0, title="new")
    assert len(finished(same, store)) == 2
    others = [
        study({"name": "c", "estimator": Frequencies(0.4)}, **base),
        study({"name": "d", "estimator": Frequencies()}, **base),
        study({"name": "c", "estimator": Frequencies()}, protocol={"folds": 3}),
        study({"name": "c", "estimator": Frequencies()}, protocol={"folds": 2, "seed": 1}),
        study({"name": "c", "estimator": Frequencies()}, data=[data_set(seed=1)], **base),
    ]
    assert [len(finished(other, store)) for other in others] == [0] * 5
    more = study({"name": "c", "estimator": Frequencies()}, protocol={"folds": 2, "repeats": 2})
    assert [outcome.fold for outcome in finished(more, store)] == [1, 2]
    sparse_rows = study(
        {"name": "c", "estimator": Frequencies()},
        data=[data_set(container=sparse.csr_matrix)],
        **base,
    )
    unsorted = data_set(container=sparse.csr_matrix)
    unsorted.X.indices = unsorted.X.indices.astype(np.int64)
    run_study(sparse_rows, store)
    again = study({"name": "c", "estimator": Frequencies()}, data=[unsorted], **base)
    assert len(finished(again, store)) == 2


def test_results_do_not_depend_on_the_order_in_memory():
    data = data_set()
    other = replace(data, X=np.asfortranarray(data.X), Y=np.ascontiguousarray(data.Y))
    assert fingerprint(data) == fingerprint(replace(other, Y=np.asfortranarray(data.Y)))
    assert fingerprint(data) == fingerprint(other)


def test_searches_go_on_where_they_were_stopped(tmp_path):
    made = study({"estimator": "MLODM", "grid": {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}})
    store = Store(tmp_path / "results.sqlite")
    (cell, *_) = _cells(made, made.data[0])
    with store.workplace() as folder:
        (cell,) = _with_files([cell], made, store, folder)
        first = evaluate(cell)
        count = "SELECT count(*) FROM results"
        with closing(sqlite3.connect(cell.checkpoint)) as connection, connection:
            kept = connection.execute(count).fetchone()
            # all candidates on the first fold, one on all folds, others where they may still win
            assert 5 + made.tuning.folds <= kept[0] <= 6 * made.tuning.folds
            # as if it had been killed half way
            connection.execute("DELETE FROM results WHERE fold > 0")
        again = evaluate(cell)
        with closing(sqlite3.connect(cell.checkpoint)) as connection:
            assert connection.execute(count).fetchone() == kept
        assert (first["facts"]["search_resumed"], again["facts"]["search_resumed"]) == (False, True)
        assert first["parameters"] == again["parameters"]
        assert first["measures"]["ranking_loss"] == again["measures"]["ranking_loss"]
        store.save(cell.key, cell.outcome(status="failed"))
        assert os.path.exists(cell.checkpoint)
        store.save(cell.key, cell.outcome(**again))
        assert not os.path.exists(cell.checkpoint)
    assert not os.path.exists(os.path.dirname(cell.checkpoint))


def kill_study(store, log):
    """The study that is killed; runs in a process of its own."""
    os.setpgrp()
    run_study(killed_study(log), store)


def killed_study(log):
    stubs = [
        {"name": f"stub {i}", "estimator": Sleeping(i / 10, 0.03, log and str(log))}
        for i in range(8)
    ]
    return study(*stubs, data=[data_set()], protocol={"folds": 10})


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_ten_kills_lose_nothing_and_repeat_nothing(tmp_path):
    store, log = tmp_path / "results.sqlite", tmp_path / "log"
    made = killed_study(log)
    n_cells = 80
    random = np.random.RandomState(0)
    before: dict = {}
    context = multiprocessing.get_context("fork")
    fits = 0
    for _ in range(10):
        process = context.Process(target=kill_study, args=(store, log))
        process.start()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.is_alive():
            if store.exists() and len(finished(made, store)) > len(before):
                break
            time.sleep(0.05)
        time.sleep(random.uniform(0.0, 0.25))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        time.sleep(0.1)
        after = {(o.classifier, o.fold): o for o in finished(made, store)}
        # what was there is there, unchanged
        assert before.items() <= after.items()
        # every fit was a new one, and at most the one under way is missing
        lines = log.read_text().splitlines()
        assert len(lines) - fits <= len(after) - len(before) + 1
        before, fits = after, len(lines)
    assert 10 <= len(before) < n_cells
    outcomes = run_study(made, store)
    assert [o.status for o in outcomes] == ["done"] * n_cells
    for outcome in outcomes:
        if (outcome.classifier, outcome.fold) in before:
            assert outcome == before[outcome.classifier, outcome.fold]
    # ten kills interrupt ten fits at most
    assert n_cells <= len(log.read_text().splitlines()) <= n_cells + 10
    assert max(Counter(log.read_text().splitlines()).values()) <= 2


def test_store_gives_back_what_it_was_given(tmp_path):
    made = study({"name": "c", "estimator": Frequencies()}, protocol={"kind": "random"})
    path = tmp_path / "results.sqlite"
    (outcome,) = run_study(made, path)
    (kept,) = finished(made, Store(path))
    assert kept == outcome
    json.dumps(kept.facts)


def test_a_result_is_never_replaced(tmp_path):
    made = study({"name": "c", "estimator": Frequencies()}, protocol={"kind": "random"})
    store = Store(tmp_path / "results.sqlite")
    (cell,) = _cells(made, made.data[0])
    kept = {}
    for status in ("failed", "too slow", "failed", "done", "failed", "too slow"):
        store.save(cell.key, cell.outcome(status=status, error=status))
        kept[status] = store.load([cell.key])[cell.key].status
    assert kept == {"failed": "done", "too slow": "done", "done": "done"}


@pytest.mark.slow
def test_one_run_at_a_time(tmp_path):
    """The second one is told so, and does no harm to the first."""
    path, log = tmp_path / "results.sqlite", tmp_path / "log"
    made = study({"name": "c", "estimator": Sleeping(0.1, 0.5, str(log))}, protocol={"folds": 3})
    seen = []

    def another_run(outcome, total):
        if not seen:
            with pytest.raises(StoreError, match=r"one run at a time; another one is.*results"):
                run_study(made, path)
        seen.append(outcome)
        # whoever only reads is not in the way
        assert len(finished(made, path)) == len(seen)

    run_study(made, path, on_outcome=another_run)
    assert [outcome.status for outcome in seen] == ["done"] * 3
    assert len(log.read_text().splitlines()) == 3
    assert [outcome.status for outcome in run_study(made, path)] == ["done"] * 3
    assert [file.name for file in tmp_path.glob("results*")] == ["results.sqlite"]


@pytest.mark.slow
def test_locks_end_with_their_process(tmp_path):
    path = tmp_path / "folder" / "lock"
    code = (
        "import sys, time; from skml_odm.utils.sqlite import locked\n"
        "with locked(sys.argv[1], 'in use'): print('in', flush=True); time.sleep(60)"
    )
    arguments = [sys.executable, "-c", code, path]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout.readline() == b"in\n"
        with pytest.raises(StoreError, match="in use"), locked(path, "in use"):
            pass
        process.kill()
    with locked(path, "in use"):
        assert path.exists()
    assert not path.exists()


def test_files_that_are_no_store_are_refused(tmp_path):
    path = tmp_path / "results.sqlite"
    with pytest.raises(StoreError, match="existing folder"):
        Store(tmp_path / "nowhere" / "results.sqlite")
    path.write_text("this is no database, and long enough to be seen as something else" * 20)
    with pytest.raises(StoreError, match=r"must be an SQLite file.*results.sqlite"):
        Store(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(StoreError, match=r"must be an SQLite file.*results.sqlite"):
        Store(path)


@pytest.mark.parametrize("table", ["bookmarks (url TEXT)", "outcomes (key TEXT, value TEXT)"])
def test_databases_of_other_programs_are_refused(tmp_path, table):
    path = tmp_path / "results.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE {table}")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="database of another program"):
        Store(path)
    assert path.read_bytes() == before


def test_damaged_stores_are_refused(tmp_path):
    made = study({"name": "c", "estimator": Frequencies()}, protocol={"folds": 8})
    path = tmp_path / "results.sqlite"
    run_study(made, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match=r"must be an SQLite file.*malformed"):
        finished(made, path)
    path.write_bytes(whole)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE outcomes SET measures = '{'")
    with pytest.raises(StoreError, match="is damaged"):
        finished(made, path)
