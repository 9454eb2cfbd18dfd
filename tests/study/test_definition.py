"""Study files: what they may say, and one line for what they may not."""

import pytest
from study_stubs import Frequencies

from skml_odm.datasets import DataFileError, load_data
from skml_odm.study import DefinitionError, Protocol, Tuning, make_study, read_study
from skml_odm.study.template import TEMPLATE

TOML = """
title = "A title"
data = ["digits", { source = "rows.csv", labels = ["b", "c"], name = "rows" }]
control = "mine"
time_limit = 5
[protocol]
kind = "random"
repeats = 2
[tuning]
folds = 4
[[classifiers]]
estimator = "MLODM"
grid.C = { powers_of_two = [0, 2] }
[[classifiers]]
name = "mine"
estimator = "MLkNN"
dense = true
on_data.rows = { k = 3 }
"""
YAML = """
title: A title
data:
- digits
- {source: rows.csv, labels: [b, c], name: rows}
control: mine
time_limit: 5
protocol: {kind: random, repeats: 2}
tuning: {folds: 4}
classifiers:
- estimator: MLODM
  grid: {C: {powers_of_two: [0, 2]}}
- name: mine
  estimator: MLkNN
  dense: true
  on_data: {rows: {k: 3}}
"""
ROWS = "a,b,c\n1.5,0,1\n2.5,1,1\n0.5,1,0\n"


@pytest.mark.parametrize(("name", "text"), [("s.toml", TOML), ("s.yaml", YAML)])
def test_files_of_both_kinds_say_the_same(tmp_path, name, text):
    pytest.importorskip("yaml")
    (tmp_path / "rows.csv").write_text(ROWS)
    path = tmp_path / name
    path.write_text(text)
    study = read_study(path)
    assert [data.name for data in study.data] == ["digits", "rows"]
    assert study.data[1].label_names == ("b", "c")
    assert study.protocol == Protocol(kind="random", repeats=2)
    assert study.tuning == Tuning(folds=4)
    assert (study.title, study.control, study.time_limit) == ("A title", "mine", 5)
    assert [classifier.name for classifier in study.classifiers] == ["MLODM", "mine"]
    assert study.classifiers[1].on_data == {"rows": {"k": 3}}
    assert study.text == text


def test_the_template_is_a_study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(TEMPLATE)
    study = read_study(path)
    assert study.protocol == Protocol()
    assert study.tuning == Tuning()
    assert len(study.classifiers) == 3


def test_examples_of_the_template_are_valid(tmp_path):
    """Without the signs before its commented classifiers."""
    _, marker, rest = TEMPLATE.partition("# dense = true makes")
    lines = (marker + rest).splitlines()
    code = [line.removeprefix("# ") for line in lines if line[2:3] in "[" or " = " in line]
    code = [line for line in code if not line.startswith(("dense = true makes", "on_data fixes"))]
    path = tmp_path / "study.toml"
    path.write_text(TEMPLATE + "\n" + "\n".join(code))
    assert len(read_study(path).classifiers) == 5


def test_variables_in_paths(tmp_path, monkeypatch):
    (tmp_path / "rows.csv").write_text(ROWS)
    entry = {"source": "$ROWS_FOLDER/rows.csv", "labels": 2}
    entries = {"data": [entry], "classifiers": ["MLODM"]}
    monkeypatch.delenv("ROWS_FOLDER", raising=False)
    with pytest.raises(DefinitionError, match="names a variable that is not set"):
        make_study(entries)
    monkeypatch.setenv("ROWS_FOLDER", str(tmp_path))
    assert make_study(entries).data[0].name == "rows"


def with_classifier(**entries):
    return {"data": ["digits"], "classifiers": [{"estimator": "MLODM", **entries}]}


def with_data(**options):
    return {"data": [{"source": "digits", **options}], "classifiers": ["MLODM"]}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([], "a study must be a table"),
        ({"datas": []}, "a study must have entries among title, data.*; got 'datas'"),
        ({"classifiers": ["MLODM"]}, "a study must have data sets; got none"),
        ({"data": ["digits"]}, "a study must have classifiers; got none"),
        ({"data": "digits", "classifiers": ["MLODM"]}, "data must be a list; got 'digits'"),
        ({"data": ["digits"], "classifiers": ["MLODM", "MLODM"]}, "got 'MLODM' twice"),
        ({"data": ["digits", "digits"], "classifiers": ["MLODM"]}, "got 'digits' twice"),
        ({"data": [{"name": "x"}], "classifiers": ["MLODM"]}, r"data\[0\] must have a source"),
        (with_classifier(gird={}), r"classifiers\[0\] must have entries among .*; got 'gird'"),
        (with_classifier(grid={"D": [1]}), r"classifiers\[0\].grid must have parameters among"),
        (with_classifier(grid={"C": 1}), r"classifiers\[0\].grid.C must be a list of values"),
        (with_classifier(grid={"C": []}), r"classifiers\[0\].grid.C must be a list of values"),
        (with_classifier(on_data={"x": {"D": 1}}), r"classifiers\[0\].on_data.x must have"),
        (with_classifier(on_data={"x": 1}), r"classifiers\[0\].on_data.x must be a table; got 1"),
        (
            with_classifier(on_data={"x": {"C": 1.0}}),
            r"on_data must have entries among digits; got",
        ),
        (with_classifier(final={"D": 1}), r"classifiers\[0\].final must have parameters among"),
        (with_classifier(grid_on_data={"digits": {"C": 1}}), r"grid_on_data.digits.C must be a"),
        (with_classifier(dense=1), r"classifiers\[0\].dense must be True or False; got 1"),
        ({**with_classifier(), "protocol": {"fold": 3}}, "protocol must have entries among kind"),
        ({**with_classifier(), "protocol": {"folds": 1}}, r"protocol.folds must be .*; got 1"),
        ({**with_classifier(), "protocol": 1}, "protocol must be a table"),
        ({**with_classifier(), "tuning": {"measure": "x"}}, "tuning.measure must be one of"),
        ({**with_classifier(), "tuning": {"most_rows": -1}}, "tuning.most_rows must be"),
        (with_data(swap_split=True), r"data\[0\]: swap_split is for sets with a split"),
        (with_data(swap_split=1), r"data\[0\].swap_split must be True or False; got 1"),
        (
            with_data(without_labels=["x"]),
            r"data\[0\]: without_labels must have labels of 'digits'",
        ),
        (with_data(without_labels="even"), r"data\[0\]: without_labels must be a list"),
        ({**with_classifier(), "control": "x"}, "control must be one of 'MLODM'; got 'x'"),
        ({**with_classifier(), "time_limit": 0}, "time_limit must be"),
        ({**with_classifier(), "curves": 1}, "curves must be True or False"),
    ],
)
def test_wrong_entries_are_named(entries, message):
    with pytest.raises(DefinitionError, match=message):
        make_study(entries)


@pytest.mark.parametrize("source", [3, None, 1.5, True])
def test_data_that_are_none(source):
    with pytest.raises(DefinitionError, match=r"^data\[0\] must be a file, a name.*; got"):
        make_study({"data": [source], "classifiers": ["MLODM"]})


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"parameters": {"C": -1}}, r"\.parameters: C must be a number in \(0, inf\); got -1"),
        ({"parameters": {"threshold": "none"}}, r"\.parameters: threshold must be"),
        ({"final": {"tol": 0}}, r"\.final: tol must be"),
        ({"grid": {"C": [1, -1]}}, r"\.grid\.C: C must be a number"),
        ({"on_data": {"digits": {"mu": 2}}}, r"\.on_data\.digits: mu must be"),
        ({"grid_on_data": {"digits": {"mu": [2]}}}, r"\.grid_on_data\.digits\.mu: mu must be"),
        ({"estimator": "SVC", "parameters": {"C": -1}}, r"\.parameters: The 'C' parameter of SVC"),
        ({"estimator": "Particle", "parameters": {"C": 0}}, r"\.parameters: C must be"),
        ({"estimator": "PMLLRS", "grid": {"eta": [0]}}, r"\.grid\.eta: eta must be"),
        ({"estimator": "MCODM", "parameters": {"theta": 1}}, r"\.parameters: theta must be"),
        (
            {
                "estimator": "OneVsRestClassifier",
                "parameters": {"estimator": {"estimator": "SVC"}},
                "grid": {"estimator__C": [1.0, -1.0]},
            },
            r"\.grid\.estimator__C: The 'C' parameter of SVC",
        ),
    ],
)
def test_wrong_values_are_found_before_anything_runs(entries, message):
    with pytest.raises(DefinitionError, match=rf"^classifiers\[0\]{message}"):
        make_study({"data": ["digits"], "classifiers": [{"estimator": "MLODM", **entries}]})


def test_values_that_suit_together():
    grid = {"kernel": ["linear", "rbf"], "solver": ["liblinear", "libsvm"]}
    make_study({"data": ["digits"], "classifiers": [{"estimator": "RankSVMz", "grid": grid}]})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.toml", b"data = [", "s.toml: "),
        ("s.yaml", b"data: [", "s.yaml: "),
        ("s.toml", b"title = '\xff'", "s.toml: must be UTF-8 text"),
        ("s.txt", b"", "s.txt: a study file must end with .toml"),
        ("s.toml", b"data = ['digits']", "s.toml: a study must have classifiers"),
    ],
)
def test_wrong_files_are_named_in_one_line(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DefinitionError, match=message) as raised:
        read_study(tmp_path / name)
    assert "\n" not in str(raised.value)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(DefinitionError, match=r"none.toml: cannot be read"):
        read_study(tmp_path / "none.toml")
    with pytest.raises(DataFileError, match=r"none.arff"):
        make_study({"data": ["none.arff"], "classifiers": ["MLODM"]})


def test_data_sets_and_estimators_in_memory():
    study = make_study(
        {"data": [load_data("digits")], "classifiers": [{"estimator": Frequencies()}]}
    )
    assert study.classifiers[0].name == "Frequencies"


def test_options_of_single_data_sets(tmp_path):
    (tmp_path / "train.csv").write_text("a,b,c,d\n1,0,1,0\n2,1,0,0\n3,0,0,0\n")
    (tmp_path / "test.csv").write_text("a,b,c,d\n4,0,0,1\n5,1,1,0\n")
    source = {"source": ["train.csv", "test.csv"], "labels": 3}
    options = {"swap_split": True, "labelled_rows_only": True, "without_labels": ["d"]}
    entries = [{**source, "name": "all"}, {**source, "name": "some", **options}]
    everything, some = make_study({"data": entries, "classifiers": ["MLODM"]}, tmp_path).data
    assert everything.Y.shape == (5, 3)
    assert [list(part) for part in everything.split] == [[0, 1, 2], [3, 4]]
    # the label d is dropped first: the row that has only this one is not labelled any more
    assert some.label_names == ("b", "c")
    assert some.X.ravel().tolist() == [1.0, 2.0, 5.0]
    assert [list(part) for part in some.split] == [[2], [0, 1]]
    assert some.notes[-3:] == (
        "1 labels dropped",
        "training and test part exchanged",
        "2 rows without labels dropped",
    )
