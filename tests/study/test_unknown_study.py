"""Studies in which labels are unknown."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler
from skmultilearn.adapt import MLkNN
from small_studies import data_set, study

from skml_odm import MLODM
from skml_odm.datasets import data_sheet, hide_labels
from skml_odm.study import UnknownIsIrrelevant, run_study
from skml_odm.study.measures import label_measures
from skml_odm.study.report import write_report
from skml_odm.study.run import keys_of

pytest.importorskip("cloudpickle")


def test_hidden_labels_are_those_of_training_rows(tmp_path):
    data = data_set(n_rows=80)
    known = np.random.default_rng(0).random(data.Y.shape) < 0.8
    data = replace(data, Y=data.Y & known, known=known)
    neighbours = {"estimator": "UnknownIsIrrelevant", "parameters": {"estimator": MLkNN(3)}}
    made = study(
        {"estimator": "MLODM", "grid": {"C": [0.5, 8.0]}},
        {"name": "neighbours", **neighbours},
        "MLkNN",
        data=[data],
        protocol={"kind": "random", "hidden": 0.3, "scaling": "none"},
    )
    first, second, third = run_study(made, tmp_path / "results.sqlite")
    ((train, test),) = made.protocol.splits(data)
    y = np.where(data.known, data.Y, np.nan)
    y_train, y_test = hide_labels(y[train], 0.3, random_state=1), y[test]
    model = MLODM(random_state=1, **first.parameters).fit(data.X[train], y_train)
    scores, labels = model.label_scores(data.X[test]), model.predict(data.X[test])
    for name, value in label_measures(y_test, scores, labels).items():
        assert first.measures[name] == pytest.approx(value)
    assert first.facts["unknown_train"] == np.isnan(y_train).sum()
    assert first.facts["unknown_test"] == np.isnan(y_test).sum()
    assert second.status == "done" and second.measures.keys() == first.measures.keys()
    assert third.status == "failed"
    write_report([first, second], tmp_path, title="some", sheets=[data_sheet(data)])
    report = (tmp_path / "report.md").read_text()
    assert "unknown\\_train" in report and "unknown labels" in report


def test_outcomes_from_before_there_were_hidden_labels_are_still_known():
    plain, zero, some = (
        study("MLODM", protocol={"kind": "random", **entries})
        for entries in ({}, {"hidden": 0.0}, {"hidden": 0.1})
    )
    assert keys_of(plain) == keys_of(zero) != keys_of(some)
    all_known = data_set(known=np.ones((60, 3), dtype=bool))
    assert keys_of(study("MLODM", data=[all_known])) != keys_of(study("MLODM"))


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_unknown_is_irrelevant(convert):
    data = data_set()
    X = MinMaxScaler().fit_transform(data.X)
    y = hide_labels(data.Y.astype(int), 0.3, random_state=0)
    found = UnknownIsIrrelevant(MLODM()).fit(X, convert(y))
    expected = MLODM().fit(X, np.nan_to_num(y))
    np.testing.assert_array_equal(found.label_scores(X), expected.label_scores(X))
    assert sparse.issparse(found.predict(X)) == sparse.issparse(convert(y))
