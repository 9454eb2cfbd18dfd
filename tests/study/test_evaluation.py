"""Cells of a study: what is fitted, and what comes out."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC
from skmultilearn.adapt import MLkNN
from small_studies import data_set, study
from study_stubs import Frequencies, Sleeping

from skml_odm import MCODM, MLODM
from skml_odm.datasets import DataSet, add_candidate_noise
from skml_odm.study import OneLabel, run_study
from skml_odm.study.measures import OF_SCORES, LabelScorer, label_measures

pytest.importorskip("cloudpickle")


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
        for task in ("fit", "predict"):
            assert found.pop(f"{task}_seconds") > 0
            assert found.pop(f"{task}_processor_seconds") > 0
        assert 20 < found.pop("peak_megabytes") < 2000
        assert found == pytest.approx(expected)
        assert outcome.facts["n_train"] == len(train)
        assert outcome.facts["seed"] == 5 + outcome.fold
        assert {"scikit-learn", "processor", "cores", "system"} <= set(outcome.facts)
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


@pytest.mark.parametrize("classifier", ["MCODM", "LinearSVC"])
def test_grids_of_classifiers_inside_one_label(tmp_path, classifier):
    X, classes = load_wine(return_X_y=True)
    names = tuple(f"feature {i}" for i in range(X.shape[1]))
    data = DataSet("wine", X, np.eye(3, dtype=bool)[classes], ("a", "b", "c"), names)
    grid = {"classifier__C": [0.01, 1.0, 100.0]}
    made = study(
        {
            "estimator": "OneLabel",
            "parameters": {"classifier": {"estimator": classifier}},
            "grid": grid,
        },
        data=[data],
        protocol={"kind": "random", "scaling": "unit"},
        tuning={"folds": 4, "measure": "macro_f1"},
    )
    (outcome,) = run_study(made, tmp_path / "results.sqlite")
    ((train, _),) = made.protocol.splits(data)
    search = GridSearchCV(
        OneLabel({"MCODM": MCODM, "LinearSVC": LinearSVC}[classifier](random_state=1)),
        grid,
        scoring=LabelScorer("macro_f1"),
        cv=KFold(4, shuffle=True, random_state=1),
        refit=False,
    )
    search.fit(MinMaxScaler().fit_transform(X[train]), data.Y[train].astype(int))
    assert len(set(search.cv_results_["mean_test_score"])) == 3
    assert outcome.parameters == search.best_params_


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


def test_seconds_of_a_busy_machine_do_not_count(tmp_path):
    made = study({"name": "c", "estimator": Sleeping(seconds=1.0)}, protocol={"kind": "random"})
    (outcome,) = run_study(made, tmp_path / "results.sqlite")
    assert outcome.measures["fit_processor_seconds"] < 0.5 < 1.0 <= outcome.measures["fit_seconds"]


def test_classifiers_of_scikit_learn(tmp_path):
    made = study(
        "KNeighborsClassifier",
        {"estimator": "ExtraTreesClassifier", "grid": {"max_depth": [2, 4]}},
        {
            "estimator": "MultiOutputClassifier",
            "parameters": {"estimator": {"estimator": "LogisticRegression"}},
        },
        protocol={"kind": "random"},
    )
    for outcome in run_study(made, tmp_path / "results.sqlite"):
        assert outcome.error == ""
        assert set(OF_SCORES) <= set(outcome.measures)
        assert outcome.measures["macro_auc"] > 0.6


def test_data_with_a_single_label(tmp_path):
    data = data_set()
    data = replace(data, Y=data.Y[:, :1], label_names=("a",))
    made = study("MLODM", "KNeighborsClassifier", data=[data], protocol={"kind": "random"})
    for outcome in run_study(made, tmp_path / "results.sqlite"):
        assert outcome.error == ""
        assert outcome.measures["macro_auc"] > 0.6


@pytest.mark.parametrize(
    ("stub", "error"),
    [
        ("Twos", "ValueError: predict of Twos must return only 0 and 1; got"),
        ("Leaving", "SystemExit: 3"),
        ("Interrupting", "KeyboardInterrupt"),
    ],
)
def test_classifiers_that_misbehave_have_failed(tmp_path, stub, error):
    made = study(
        {"estimator": f"study_stubs.{stub}"}, {"estimator": Frequencies()}, protocol={"folds": 2}
    )
    outcomes = run_study(made, tmp_path / "results.sqlite")
    assert [outcome.status for outcome in outcomes] == ["failed"] * 2 + ["done"] * 2
    assert outcomes[0].error.startswith(error)


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
