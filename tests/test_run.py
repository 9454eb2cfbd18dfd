"""Studies: what is computed, and that nothing finished is ever lost or done twice."""

import contextlib
import json
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import MinMaxScaler
from skmultilearn.adapt import MLkNN
from study_stubs import Frequencies, Sleeping

from skml_odm import MLODM
from skml_odm.datasets import DataSet, add_candidate_noise
from skml_odm.study import make_study, process, run_study
from skml_odm.study.evaluation import evaluate
from skml_odm.study.measures import OF_SCORES, LabelScorer, label_measures
from skml_odm.study.run import _cells, fingerprint, finished, prepared
from skml_odm.study.store import Store

pytest.importorskip("cloudpickle")


def data_set(name="some", n_rows=60, container=np.asarray, seed=0, **more):
    random = np.random.RandomState(seed)
    X = random.rand(n_rows, 5) * (random.rand(n_rows, 5) < 0.7)
    Y = X[:, :3] + 0.3 * random.randn(n_rows, 3) > 0.5
    return DataSet(name, container(X), Y, ("a", "b", "c"), tuple("vwxyz"), **more)


def study(*classifiers, data=None, **entries):
    return make_study({"data": data or [data_set()], "classifiers": list(classifiers), **entries})


def test_a_cell_is_the_measures_of_a_scaled_fit(tmp_path):
    data = data_set()
    made = study("MLODM", data=[data], protocol={"folds": 3, "seed": 5})
    outcomes = run_study(made, tmp_path / "results.sqlite")
    assert [outcome.fold for outcome in outcomes] == [1, 2, 3]
    for outcome, (train, test) in zip(outcomes, made.protocol.splits(data), strict=True):
        scaler = MinMaxScaler().fit(data.X[train])
        model = MLODM(random_state=5 + outcome.fold)
        model.fit(scaler.transform(data.X[train]), data.Y[train].astype(int))
        X = scaler.transform(data.X[test])
        expected = label_measures(data.Y[test], model.label_scores(X), model.predict(X))
        found = dict(outcome.measures)
        assert found.pop("fit_seconds") > 0
        assert found.pop("predict_seconds") > 0
        assert 20 < found.pop("peak_megabytes") < 2000
        assert found == pytest.approx(expected)
        assert outcome.facts["n_train"] == len(train)
        assert outcome.facts["seed"] == 5 + outcome.fold
        assert "scikit-learn" in outcome.facts
        assert len(outcome.margins) == 101
        assert np.all(np.diff(outcome.margins) >= 0)


def test_grids_are_searched_on_the_training_part(tmp_path):
    data = data_set(n_rows=80)
    made = study(
        {"estimator": "MLODM", "grid": {"C": {"powers_of_two": [-4, 4, 4]}, "theta": [0.1, 0.6]}},
        {"estimator": "MLkNN", "grid": {"k": [3, 9]}},
        data=[data],
        protocol={"kind": "random", "scaling": "none"},
        tuning={"folds": 4, "measure": "average_precision"},
    )
    ours, theirs = run_study(made, tmp_path / "results.sqlite")
    ((train, _),) = made.protocol.splits(data)
    grids = {"C": [2.0**-4, 1.0, 2.0**4], "theta": [0.1, 0.6]}, {"k": [3, 9]}
    for outcome, model, grid in zip((ours, theirs), (MLODM(), MLkNN()), grids, strict=True):
        search = GridSearchCV(
            model,
            grid,
            scoring=LabelScorer("average_precision"),
            cv=KFold(4, shuffle=True, random_state=1),
            refit=False,
        )
        search.fit(data.X[train], data.Y[train].astype(int))
        assert outcome.parameters == search.best_params_
        assert outcome.facts["search_seconds"] > 0


def test_a_single_candidate_is_not_searched_for(tmp_path):
    log = tmp_path / "log"
    stub = {"name": "c", "estimator": Sleeping(log=str(log)), "grid": {"weight": [0.2]}}
    (outcome,) = run_study(study(stub, protocol={"kind": "random"}), tmp_path / "results.sqlite")
    assert outcome.parameters == {"weight": 0.2}
    assert log.read_text().count("\n") == 1


def test_parameters_of_single_data_sets(tmp_path):
    made = study(
        {"name": "tuned", "estimator": Frequencies(), "on_data": {"other": {"weight": 0.0}}},
        data=[data_set("some"), data_set("other")],
        protocol={"folds": 2},
    )
    outcomes = run_study(made, tmp_path / "results.sqlite")
    assert [outcome.data for outcome in outcomes] == ["some", "some", "other", "other"]
    # the scores of the second set are those of no feature
    assert outcomes[0].measures["macro_auc"] > 0.5
    assert outcomes[2].measures["macro_auc"] == 0.5


def test_grids_of_single_data_sets(tmp_path):
    made = study(
        {
            "name": "tuned",
            "estimator": Frequencies(),
            "grid": {"weight": [0.1]},
            "grid_on_data": {"other": {"weight": [0.2]}},
        },
        data=[data_set("some"), data_set("other")],
        protocol={"kind": "random"},
    )
    some, other = run_study(made, tmp_path / "results.sqlite")
    assert (some.parameters, other.parameters) == ({"weight": 0.1}, {"weight": 0.2})


def test_the_last_fit_may_be_more_exact_than_the_search(tmp_path):
    parameters = {"solver": "bcd", "tol": 0.1}
    entry = {"estimator": "MLODM", "parameters": parameters, "grid": {"C": [1.0, 30.0]}}
    made = study(
        {**entry, "name": "rough"},
        {**entry, "name": "exact", "final": {"tol": 1e-6}},
        protocol={"kind": "random"},
    )
    rough, exact = run_study(made, tmp_path / "results.sqlite")
    assert rough.parameters == exact.parameters
    assert set(exact.parameters) == {"C"}
    assert exact.facts["dual_gap"] <= 1e-6 < rough.facts["dual_gap"] <= 0.1
    assert 0 < exact.facts["support_rows"] <= exact.facts["n_train"] == 48


def test_a_search_may_use_fewer_rows(tmp_path):
    log = tmp_path / "log"
    stub = Sleeping(seconds=0.0, log=str(log))
    made = study(
        {"name": "c", "estimator": stub, "grid": {"weight": [0.1, 0.2]}},
        protocol={"kind": "random", "scaling": "none"},
        tuning={"folds": 2, "most_rows": 20},
    )
    run_study(made, tmp_path / "results.sqlite")
    data = made.data[0]
    ((train, _),) = made.protocol.splits(data)
    few = np.sort(np.random.RandomState(1).permutation(48)[:20])
    X = data.X[train][few]
    folds = [X[rows].sum() for rows, _ in KFold(2, shuffle=True, random_state=1).split(X)]
    sums = [float(line.split()[1]) for line in log.read_text().splitlines()]
    assert sorted(sums) == pytest.approx(sorted([*folds, *folds, data.X[train].sum()]))


def test_classifiers_without_scores_are_measured_by_their_labels(tmp_path):
    entry = {
        "estimator": "LabelPowerset",
        "parameters": {"classifier": {"estimator": "LinearSVC"}},
        "grid": {"classifier__C": [0.1, 1.0]},
    }
    by_labels = study(
        entry, protocol={"kind": "random"}, tuning={"folds": 2, "measure": "subset_accuracy"}
    )
    (outcome,) = run_study(by_labels, tmp_path / "results.sqlite")
    assert outcome.status == "done"
    assert not set(outcome.measures) & set(OF_SCORES)
    assert {"subset_accuracy", "hamming_loss", "micro_f1"} < set(outcome.measures)
    assert outcome.margins == []
    by_scores = study(entry, protocol={"kind": "random"})
    (outcome,) = run_study(by_scores, tmp_path / "results.sqlite")
    assert outcome.status == "failed"
    assert "label_scores, decision_function, predict_proba" in outcome.error


def test_counts_of_words_are_weighted_by_the_training_part(tmp_path):
    random = np.random.RandomState(0)
    data = data_set(container=lambda X: sparse.csr_matrix(random.poisson(0.5, X.shape)))
    made = study(
        {"estimator": "MLODM", "parameters": {"kernel": "linear"}},
        data=[data],
        protocol={"kind": "random", "scaling": "tf-idf"},
    )
    (outcome,) = run_study(made, tmp_path / "results.sqlite")
    ((train, test),) = made.protocol.splits(data)
    weights = TfidfTransformer().fit(data.X[train])
    model = MLODM(kernel="linear", random_state=1)
    model.fit(weights.transform(data.X[train]), data.Y[train].astype(int))
    X = weights.transform(data.X[test])
    expected = label_measures(data.Y[test], model.label_scores(X), model.predict(X))
    assert outcome.measures["average_precision"] == pytest.approx(expected["average_precision"])


def test_noise_reaches_training_rows_only(tmp_path):
    data = data_set()
    made = study("MLODM", data=[data], protocol={"kind": "random", "candidate_noise": 1})
    (outcome,) = run_study(made, tmp_path / "results.sqlite")
    ((train, test),) = made.protocol.splits(data)
    scaler = MinMaxScaler().fit(data.X[train])
    noisy = add_candidate_noise(data.Y[train].astype(int), 1, random_state=1)
    model = MLODM(random_state=1).fit(scaler.transform(data.X[train]), noisy)
    X = scaler.transform(data.X[test])
    expected = label_measures(data.Y[test], model.label_scores(X), model.predict(X))
    assert outcome.measures["ranking_loss"] == pytest.approx(expected["ranking_loss"])


def test_sparse_rows_stay_sparse_unless_dense_ones_are_asked_for(tmp_path):
    made = study(
        {"name": "sparse", "estimator": "MLODM", "parameters": {"kernel": "linear"}},
        {"name": "dense", "estimator": Frequencies(), "dense": True},
        {"name": "refused", "estimator": "HistGradientBoostingClassifier"},
        data=[data_set(container=sparse.csr_matrix)],
        protocol={"kind": "random"},
    )
    first, second, third = run_study(made, tmp_path / "results.sqlite")
    assert first.status == second.status == "done"
    assert "dense" in third.error.lower()


def test_curves_show_how_fits_converge(tmp_path):
    classifiers = [{"estimator": "MLODM", "parameters": {"solver": "bcd", "C": 100.0}}, "MLkNN"]
    made = study(*classifiers, protocol={"folds": 2}, curves=True)
    first, second, host, _ = run_study(made, tmp_path / "results.sqlite")
    iterations, gaps, train, test = np.transpose(first.curve)
    assert np.all(np.diff(iterations) > 0)
    assert gaps[-1] <= 1e-3 < gaps[0]
    assert np.all((train >= 0) & (train <= 1) & (test >= 0) & (test <= 1))
    assert second.curve == host.curve == []


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


def test_the_current_folder_does_not_hide_the_package(tmp_path, monkeypatch):
    """As that of the sources would, which are not compiled."""
    (tmp_path / "skml_odm").mkdir()
    (tmp_path / "skml_odm" / "__init__.py").write_text("raise ImportError('the wrong one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(process, "_local", threading.local())
    made = study("MLODM", protocol={"kind": "random"})
    (outcome,) = run_study(made, tmp_path / "results.sqlite")
    assert outcome.status == "done", outcome.error


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_backends_of_joblib(backend, tmp_path):
    made = study("MLODM", protocol={"folds": 4})
    expected = run_study(made, tmp_path / "one.sqlite")
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found = run_study(made, tmp_path / "two.sqlite")
    assert [outcome.error for outcome in found] == [""] * 4
    for a, b in zip(expected, found, strict=True):
        assert (a.data, a.classifier, a.fold) == (b.data, b.classifier, b.fold)
        assert a.measures["ranking_loss"] == b.measures["ranking_loss"]


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
    (cell, *_) = _cells(made, made.data[0], tmp_path)
    cell = replace(cell, checkpoint=str(store.checkpoint(cell.key)))
    with store.checkpoints():
        first = evaluate(cell)
        with closing(sqlite3.connect(cell.checkpoint)) as connection, connection:
            kept = connection.execute("SELECT count(*) FROM results").fetchone()[0]
            assert kept == 6 * made.tuning.folds
            # as if it had been killed half way
            connection.execute("DELETE FROM results WHERE fold > 0")
        again = evaluate(cell)
        assert (first["facts"]["search_resumed"], again["facts"]["search_resumed"]) == (False, True)
        assert first["parameters"] == again["parameters"]
        assert first["measures"]["ranking_loss"] == again["measures"]["ranking_loss"]
        store.save(cell.key, cell.outcome(status="failed"))
        assert os.path.exists(cell.checkpoint)
        store.save(cell.key, cell.outcome(**again))
        assert not os.path.exists(cell.checkpoint)
    assert not os.path.exists(os.path.dirname(cell.checkpoint))


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


# interrupts


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
            time.sleep(0.01)
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


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_processes_end_with_the_study(tmp_path, n_jobs):
    """A killed study leaves no process behind that goes on computing."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[2]); import test_run as t;"
        "t.run_study(t.study({'name': 's', 'estimator': t.Sleeping(seconds=300.0)},"
        f"protocol={{'folds': 4}}), sys.argv[1], n_jobs={n_jobs})"
    )
    arguments = [sys.executable, "-c", script, tmp_path / "r.sqlite", os.path.dirname(__file__)]
    # not in the folder of the sources, which may not be compiled
    with subprocess.Popen(arguments, start_new_session=True, cwd=tmp_path) as process:
        group = process.pid
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and len(answering(group)) < n_jobs:
            time.sleep(0.1)
        assert len(answering(group)) == n_jobs
        time.sleep(3.0)
        process.kill()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and answering(group):
        time.sleep(0.1)
    assert answering(group) == []


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


# store


def test_store_gives_back_what_it_was_given(tmp_path):
    made = study({"name": "c", "estimator": Frequencies()}, protocol={"kind": "random"})
    path = tmp_path / "results.sqlite"
    (outcome,) = run_study(made, path)
    (kept,) = finished(made, Store(path))
    assert kept == outcome
    json.dumps(kept.facts)


def test_files_that_are_no_store_are_refused(tmp_path):
    path = tmp_path / "results.sqlite"
    path.write_text("this is no database, and long enough to be seen as something else" * 20)
    with pytest.raises(ValueError, match=r"must be an SQLite file.*results.sqlite"):
        Store(path)
    with pytest.raises(ValueError, match="existing folder"):
        Store(tmp_path / "nowhere" / "results.sqlite")
