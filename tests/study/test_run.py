"""Studies: failures, time limits, workers, processes."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
from small_studies import has_outcomes, study
from study_stubs import Sleeping

from skml_odm.datasets import DataSet
from skml_odm.study import process, run_study
from skml_odm.study.run import prepared

pytest.importorskip("cloudpickle")


@pytest.mark.slow
def test_a_study_goes_on_when_classifiers_fail_crash_or_take_too_long(tmp_path, capfd):
    stubs = "study_stubs."
    made = study(
        {"name": "failing", "estimator": stubs + "Failing"},
        {"name": "crashing", "estimator": stubs + "Crashing"},
        {"name": "slow", "estimator": Sleeping(seconds=60.0)},
        {"name": "talking", "estimator": stubs + "Talking"},
        protocol={"kind": "random"},
        time_limit=6.0,
    )
    store = tmp_path / "results.sqlite"
    found = {outcome.classifier: outcome for outcome in run_study(made, store)}
    assert [o.status for o in found.values()] == ["failed", "failed", "too slow", "done"]
    assert found["failing"].error == "ValueError: as told"
    assert "exit code 7" in found["crashing"].error
    assert found["slow"].error == "not finished after 6 s"
    # what a classifier prints does not get between the outcomes
    assert "hello from fit" in capfd.readouterr().err
    again = []
    run_study(made, store, on_outcome=lambda outcome, total: again.append(total))
    assert again == [4] * 4


@pytest.mark.slow
def test_only_what_had_too_little_time_or_is_asked_for_runs_again(tmp_path):
    log = tmp_path / "log"
    store = tmp_path / "results.sqlite"

    def run(time_limit, **options):
        stub = Sleeping(seconds=8.0, log=str(log))
        made = study(
            {"name": "slow", "estimator": stub}, protocol={"kind": "random"}, time_limit=time_limit
        )
        (outcome,) = run_study(made, store, **options)
        return outcome.status

    assert run(3.0) == "too slow"
    start = time.monotonic()
    assert run(2.5) == "too slow"
    assert time.monotonic() - start < 2.0, "was run again with less time"
    assert run(30.0) == "done"
    assert run(1.0) == "done"
    assert log.read_text().count("\n") == 1


@pytest.mark.slow
def test_the_current_folder_does_not_hide_the_package(tmp_path, monkeypatch):
    """As that of the sources would, which are not compiled."""
    (tmp_path / "skml_odm").mkdir()
    (tmp_path / "skml_odm" / "__init__.py").write_text("raise ImportError('the wrong one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(process, "_local", threading.local())
    made = study("MLODM", protocol={"kind": "random"})
    (outcome,) = run_study(made, tmp_path / "results.sqlite")
    assert outcome.status == "done", outcome.error


@pytest.mark.parametrize(
    "backend",
    [
        "threading",
        pytest.param("loky", marks=pytest.mark.slow),
        pytest.param("multiprocessing", marks=pytest.mark.slow),
    ],
)
def test_backends_of_joblib(backend, tmp_path):
    made = study("MLODM", protocol={"folds": 4})
    expected = run_study(made, tmp_path / "one.sqlite")
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found = run_study(made, tmp_path / "two.sqlite")
    assert [outcome.error for outcome in found] == [""] * 4
    for a, b in zip(expected, found, strict=True):
        assert (a.data, a.classifier, a.fold) == (b.data, b.classifier, b.fold)
        assert a.measures["ranking_loss"] == b.measures["ranking_loss"]


@pytest.mark.slow
def test_dask_workers(tmp_path):
    distributed = pytest.importorskip("distributed")
    made = study("MLODM", protocol={"folds": 4})
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        outcomes = run_study(made, tmp_path / "results.sqlite")
    assert [outcome.status for outcome in outcomes] == ["done"] * 4


def test_rows_and_labels_that_a_protocol_drops():
    Y = np.array([[1, 0, 0], [0, 0, 0], [1, 1, 0], [1, 0, 0], [0, 1, 1]], dtype=bool)
    split = np.array([0, 1, 4]), np.array([2, 3])
    data = DataSet("some", np.arange(10.0).reshape(5, 2), Y, tuple("abc"), tuple("xy"), split)
    made = study("MLODM", protocol={"labelled_rows_only": True, "fewest_rows": 2})
    kept = prepared(data, made.protocol)
    assert kept.label_names == ("a", "b")
    np.testing.assert_array_equal(kept.Y, Y[[0, 2, 3, 4], :2])
    np.testing.assert_array_equal(kept.X, data.X[[0, 2, 3, 4]])
    np.testing.assert_array_equal(kept.split[0], [0, 3])
    np.testing.assert_array_equal(kept.split[1], [1, 2])
    assert len(kept.notes) == 2
    frequent = prepared(data, study("MLODM", protocol={"fewest_rows_of_features": 5}).protocol)
    # the first feature is zero in the first row
    assert (frequent.feature_names, frequent.X.shape) == (("y",), (5, 1))
    same = prepared(data, study("MLODM").protocol)
    assert (same.X is data.X, same.notes) == (True, ())


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_nothing_is_left_of_a_killed_study(tmp_path, n_jobs):
    """No process that computes, none that waits for work, and no data set in a file."""
    script = (
        "import sys; sys.path[:0] = sys.argv[2:]; import test_run as t;"
        "stubs = [{'name': str(s), 'estimator': t.Sleeping(seconds=s)} for s in (0.0, 300.0)];"
        f"t.run_study(t.study(*stubs, protocol={{'kind': 'random'}}), sys.argv[1], n_jobs={n_jobs})"
    )
    store = tmp_path / "r.sqlite"
    folders = Path(__file__).parents[:2]
    arguments = [sys.executable, "-c", script, store, *folders]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    # not in the folder of the sources, which may not be compiled
    with subprocess.Popen(
        arguments, start_new_session=True, cwd=tmp_path, env=environment
    ) as process:
        group = process.pid
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not has_outcomes(store, 1):
            time.sleep(0.1)
        # one of two workers has nothing to do any more
        time.sleep(3.0)
        assert len(answering(group)) == n_jobs
        assert list(tmp_path.glob("**/*.joblib"))
        process.kill()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and members(group):
        time.sleep(0.1)
    assert members(group) == []
    assert list(tmp_path.glob("**/*.joblib")) == []
    assert list(temporary.glob("skml-odm-*")) == []


def answering(group):
    """Processes of a group that evaluate cells."""
    found = []
    for name in members(group):
        with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline") as file:
            if "skml_odm.study.answer" in file.read():
                found.append(name)
    return found


def members(group):
    """Processes of a group."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat") as file:
                    state, _, pgrp = file.read().rpartition(")")[2].split()[:3]
            except OSError:
                continue
            if int(pgrp) == group and state != "Z":
                found.append(int(name))
    return found
