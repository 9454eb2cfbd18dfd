"""The comparative study: scores, measures, table, and a command line that loses nothing."""

import csv
import importlib.metadata
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from skmultilearn.adapt import MLkNN
from skmultilearn.problem_transform import BinaryRelevance

import skml_odm
from skml_odm import MLODM
from skml_odm.study import (
    FoldResult,
    cli,
    compare,
    format_table,
    label_scores_of,
    standard_classifiers,
)

MEASURES = ("ranking_loss", "average_precision", "one_error", "hamming_loss", "micro_f1")


def host_is_current():
    try:
        importlib.metadata.version("scikit-multilearn-ng")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


needs_current_host = pytest.mark.skipif(
    not host_is_current(),
    reason="MLkNN of scikit-multilearn 0.2.0 fails on current scikit-learn",
)


@pytest.fixture(scope="module")
def data():
    X, y = make_multilabel_classification(
        n_samples=90, n_features=8, n_classes=4, n_labels=2, random_state=3
    )
    return X / X.max(), y


class Frequencies(BaseEstimator):
    """Scores each label with its frequency plus a little of a feature, so that rows differ."""

    def fit(self, X, y):
        self.frequencies_ = np.asarray(y).mean(axis=0)
        return self

    def label_scores(self, X):
        return self.frequencies_ + 0.3 * X[:, : len(self.frequencies_)]

    def predict(self, X):
        return (self.label_scores(X) > 0.5).astype(int)


class Raising(Frequencies):
    """Raises what it is told to in the given call of fit, counted over all clones."""

    calls = 0

    def __init__(self, error=KeyboardInterrupt, in_call=2):
        self.error = error
        self.in_call = in_call

    def fit(self, X, y):
        Raising.calls += 1
        if Raising.calls == self.in_call:
            raise self.error("as told")
        return super().fit(X, y)


@pytest.fixture
def small_study(monkeypatch, data):
    """A command line whose data is small and whose classifiers are stubs of our choice."""
    pytest.importorskip("tqdm")
    monkeypatch.setattr(Raising, "calls", 0)
    monkeypatch.setitem(cli.DATA, "digits", lambda random_state: data)

    def use(classifiers):
        monkeypatch.setattr(cli, "standard_classifiers", lambda n_labels, random_state: classifiers)

    use({"first": Frequencies(), "second": Frequencies()})
    return use


# scores


def binary_relevance(classifier, dense=True):
    return BinaryRelevance(classifier, require_dense=[dense, True])


@pytest.mark.parametrize("dense", [True, False])
def test_scores_of_binary_relevance_are_decision_values_of_its_machines(data, dense):
    X, y = data
    scores = label_scores_of(binary_relevance(SVC(C=2.0), dense).fit(X[:60], y[:60]), X[60:])
    expected = [SVC(C=2.0).fit(X[:60], column).decision_function(X[60:]) for column in y[:60].T]
    np.testing.assert_allclose(scores, np.transpose(expected), atol=1e-10)


def test_scores_of_binary_relevance_take_sparse_rows(data):
    X, y = data
    fitted = binary_relevance(SVC()).fit(X, y)
    np.testing.assert_allclose(
        label_scores_of(fitted, sparse.csr_matrix(X)), label_scores_of(fitted, X)
    )


def test_scores_of_binary_relevance_fall_back_on_probabilities(data):
    X, y = data
    scores = label_scores_of(binary_relevance(KNeighborsClassifier(7)).fit(X, y), X)
    expected = [KNeighborsClassifier(7).fit(X, column).predict_proba(X)[:, 1] for column in y.T]
    np.testing.assert_allclose(scores, np.transpose(expected))


@pytest.mark.parametrize(
    ("classifier", "absent", "present"),
    [(RidgeClassifier(), -1.0, 1.0), (DecisionTreeClassifier(random_state=0), 0.0, 1.0)],
)
def test_a_label_with_one_class_gets_a_constant_score(data, classifier, absent, present):
    X, y = data
    y = np.column_stack([np.zeros(len(y), dtype=int), y[:, 0], np.ones(len(y), dtype=int)])
    scores = label_scores_of(binary_relevance(classifier).fit(X, y), X)
    assert scores.shape == y.shape
    assert (scores[:, 0] == absent).all()
    assert (scores[:, 2] == present).all()
    # the label with two classes is not disturbed
    assert len(np.unique(scores[:, 1])) > 1
    assert scores[y[:, 1] == 1, 1].mean() > scores[y[:, 1] == 0, 1].mean()


def test_scores_of_binary_relevance_over_our_estimator(data):
    X, y = data
    ours = MLODM(random_state=0)
    scores = label_scores_of(BinaryRelevance(ours).fit(X, y), X)
    expected = [ours.fit(X, column[:, None]).label_scores(X)[:, 0] for column in y.T]
    np.testing.assert_allclose(scores, np.transpose(expected), atol=1e-6)


def test_raw_scores_go_before_thresholded_ones(data):
    X, y = data
    fitted = MLODM(threshold="per-label").fit(X, y)
    np.testing.assert_array_equal(label_scores_of(fitted, X), fitted.label_scores(X))
    assert not np.allclose(label_scores_of(fitted, X), fitted.decision_function(X))


def test_decision_function_goes_before_probabilities():
    class Both:
        def decision_function(self, X):
            return X - 1

        def predict_proba(self, X):
            raise AssertionError("decision_function comes first")

    X = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(label_scores_of(Both(), X), X - 1)


@needs_current_host
def test_scores_of_mlknn_are_its_probabilities(data):
    X, y = data
    fitted = MLkNN(k=5).fit(X, y)
    scores = label_scores_of(fitted, X)
    assert isinstance(scores, np.ndarray)
    np.testing.assert_array_equal(scores, fitted.predict_proba(X).toarray())


def test_classifiers_without_scores_are_refused(data):
    X, y = data

    class LabelsOnly(BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.array([0, 1])
            return self

    with pytest.raises(TypeError, match=r"label_scores, decision_function.*LabelsOnly"):
        label_scores_of(LabelsOnly(), X)
    with pytest.raises(TypeError, match=r"decision_function or predict_proba.*LabelsOnly"):
        label_scores_of(binary_relevance(LabelsOnly()).fit(X, y), X)
    # scikit-learn's multi-output classifiers return a list with one matrix per label
    with pytest.raises(TypeError, match=r"one column per label; got shape \(4, 90, 2\)"):
        label_scores_of(KNeighborsClassifier().fit(X, y), X)


# comparison


def measures_by_definition(y, scores, predicted):
    """The measures from their definitions, row by row, for scores without ties."""
    ranking_loss, precision, wrong_top = [], [], []
    for labels, row in zip(y.astype(bool), scores, strict=True):
        relevant, irrelevant = row[labels], row[~labels]
        if len(relevant) == 0 or len(irrelevant) == 0:
            ranking_loss.append(0.0)
            precision.append(1.0)
            wrong_top.append(0.0)
            continue
        ranking_loss.append(np.mean([r < i for r in relevant for i in irrelevant]))
        precision.append(np.mean([(relevant >= r).sum() / (row >= r).sum() for r in relevant]))
        wrong_top.append(float(not labels[row.argmax()]))
    both = (y * predicted).sum()
    return {
        "ranking_loss": np.mean(ranking_loss),
        "average_precision": np.mean(precision),
        "one_error": np.mean(wrong_top),
        "hamming_loss": np.mean(y != predicted),
        "micro_f1": 2 * both / (y.sum() + predicted.sum()),
    }


def test_measures_equal_their_definitions_on_the_held_out_rows(data):
    X, y = data
    classifiers = {"ours": MLODM(random_state=0), "machines": binary_relevance(SVC())}
    results = compare(classifiers, X, y, folds=3, random_state=7)
    assert [(r.fold, r.classifier) for r in results] == [
        (fold, name) for fold in (1, 2, 3) for name in ("ours", "machines")
    ]
    iterator = iter(results)
    for train, test in KFold(3, shuffle=True, random_state=7).split(X):
        ours = MLODM(random_state=0).fit(X[train], y[train])
        machines = [SVC().fit(X[train], column) for column in y[train].T]
        scores = np.transpose([machine.decision_function(X[test]) for machine in machines])
        expected = [
            measures_by_definition(y[test], ours.label_scores(X[test]), ours.predict(X[test])),
            measures_by_definition(y[test], scores, (scores > 0).astype(int)),
        ]
        for values in expected:
            result = next(iterator)
            assert {name: getattr(result, name) for name in MEASURES} == pytest.approx(values)
            assert 0 < result.fit_seconds < 10


def test_containers_do_not_matter(data):
    X, y = data
    classifiers = {"ours": MLODM(random_state=0), "machines": binary_relevance(SVC())}
    dense = compare(classifiers, X, y, folds=2, random_state=0)
    other = compare(
        classifiers, sparse.csr_matrix(X), sparse.csr_matrix(y), folds=2, random_state=0
    )
    for a, b in zip(dense, other, strict=True):
        for name in MEASURES:
            assert getattr(a, name) == pytest.approx(getattr(b, name), abs=1e-6)


def test_classifiers_are_cloned_and_folds_repeatable(data):
    X, y = data
    classifier = MLODM(random_state=0)
    first = compare({"ours": classifier}, X, y, folds=2, random_state=5)
    again = compare({"ours": classifier}, X, y, folds=2, random_state=5)
    assert not hasattr(classifier, "dual_coef_")
    for a, b in zip(first, again, strict=True):
        assert [getattr(a, name) for name in MEASURES] == [getattr(b, name) for name in MEASURES]


def test_results_are_handed_over_before_a_classifier_fails(data, monkeypatch):
    X, y = data
    monkeypatch.setattr(Raising, "calls", 0)
    seen = []
    with pytest.raises(RuntimeError, match=r"second failed in fold 2: as told") as raised:
        compare(
            {"first": Frequencies(), "second": Raising(ValueError)},
            X,
            y,
            folds=3,
            on_result=seen.append,
        )
    assert isinstance(raised.value.__cause__, ValueError)
    assert [(r.classifier, r.fold) for r in seen] == [("first", 1), ("second", 1), ("first", 2)]


@pytest.mark.parametrize("folds", [1, 91, 2.0, "3"])
def test_wrong_folds_are_refused(data, folds):
    with pytest.raises(ValueError, match=r"folds must be an integer in \[2, 90\]; got"):
        compare({}, *data, folds=folds)


def test_a_single_label_is_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="at least two labels"):
        compare({}, X, y[:, 0])


def test_the_machines_have_our_kernel_and_weigh_a_row_as_we_do():
    classifiers = standard_classifiers(7, random_state=4)
    ours, machine = classifiers["MLODM"], classifiers["BinaryRelevance(SVC)"].classifier
    assert ours.get_params() == MLODM(C=7.0, random_state=4).get_params()
    assert (7 * machine.C, machine.kernel, machine.gamma) == (ours.C, ours.kernel, ours.gamma)


# table


def result(classifier, fold, *values):
    return FoldResult(classifier, fold, *values)


def test_table_shows_means_deviations_and_the_best():
    table = format_table(
        [
            result("A", 1, 0.10, 0.80, 0.3, 0.25, 0.5, 2.0),
            result("B", 1, 0.20, 0.90, 0.3, 0.15, 0.6, 1.0),
            result("A", 2, 0.20, 0.80, 0.1, 0.35, 0.5, 4.0),
            result("B", 2, 0.40, 0.90, 0.1, 0.15, 0.8, 1.0),
        ]
    )
    heading, rule, *rows = table.splitlines()
    assert heading.split() == ["A", "B"]
    assert set(rule) == {"-"}
    # the deviation of 0.1 and 0.2 is 0.1 / √2; equal means are all marked
    assert [" ".join(row.split()) for row in rows] == [
        "folds 2 2",
        "ranking loss 0.1500 ± 0.0707* 0.3000 ± 0.1414",
        "average precision 0.8000 ± 0.0000 0.9000 ± 0.0000*",
        "one-error 0.2000 ± 0.1414* 0.2000 ± 0.1414*",
        "Hamming loss 0.3000 ± 0.0707 0.1500 ± 0.0000*",
        "micro-F1 0.5000 ± 0.0000 0.7000 ± 0.1414*",
        "fit seconds 3.0000 ± 1.4142 1.0000 ± 0.0000*",
    ]
    # the signs stand below each other
    assert len({tuple(i for i, c in enumerate(row) if c == "±") for row in rows[1:]}) == 1


def test_table_marks_nothing_when_folds_differ():
    table = format_table(
        [
            result("A", 1, 0.1, 0.8, 0.3, 0.2, 0.5, 2.0),
            result("B", 1, 0.2, 0.9, 0.3, 0.1, 0.6, 1.0),
            result("A", 2, 0.1, 0.8, 0.3, 0.2, 0.5, 2.0),
        ]
    )
    assert "*" not in table
    # one fold has no deviation
    assert table.count("±") == 6
    last_column = [line.split()[-1] for line in table.splitlines()[2:]]
    assert last_column == ["1", "0.2000", "0.9000", "0.3000", "0.1000", "0.6000", "1.0000"]


# command line


@needs_current_host
def test_command_compares_the_standard_classifiers_on_digits(monkeypatch, tmp_path, capsys):
    pytest.importorskip("tqdm")
    X, y = cli.DATA["digits"](0)
    monkeypatch.setitem(cli.DATA, "digits", lambda random_state: (X[:500], y[:500]))
    path = tmp_path / "results.csv"
    assert cli.main(["compare", "--folds", "2", "--output", str(path)]) == 0
    out, err = capsys.readouterr()
    assert err == "", "no progress bar without a terminal"
    lines = out.splitlines()
    assert lines[0] == "digits: 500 rows, 64 features, 7 labels"
    assert lines[2].split() == list(standard_classifiers(7))
    assert max(map(len, lines)) <= 80
    headings = ("ranking loss", "average precision", "one-error", "Hamming loss", "micro-F1")
    for line, heading in zip(lines[5:11], (*headings, "fit seconds"), strict=True):
        assert line.startswith(heading)
        assert line.count("±") == 3
        assert "*" in line
    assert "lowest" in out

    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    for row in rows:
        # a ranking that knows nothing of the row has a loss near one half
        assert float(row["ranking_loss"]) < 0.1, row
        assert float(row["average_precision"]) > 0.85, row
        assert float(row["hamming_loss"]) < 0.15, row


def test_data_of_the_command_line():
    X, y = cli.DATA["digits"](0)
    assert X.shape == (1797, 64)
    assert y.shape == (1797, 7)
    X, y = cli.DATA["synthetic"](1)
    assert X.shape == (1000, 50)
    assert y.shape == (1000, 8)
    assert X.min() == 0.0
    assert X.max() == 1.0
    assert y.any(axis=1).all()
    np.testing.assert_array_equal(X, cli.DATA["synthetic"](1)[0])
    assert not np.array_equal(X, cli.DATA["synthetic"](2)[0])


def test_results_are_in_the_file_as_soon_as_they_are_there(small_study, tmp_path, capsys):
    path = tmp_path / "results.csv"
    lines_before_fit = []

    class Watching(Frequencies):
        def fit(self, X, y):
            lines_before_fit.append(path.read_text().count("\n"))
            return super().fit(X, y)

    small_study({"first": Watching(), "second": Watching()})
    assert cli.main(["compare", "--folds", "3", "--output", str(path)]) == 0
    # a heading, then one more line before each fit
    assert lines_before_fit == [1, 2, 3, 4, 5, 6]

    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["classifier", "fold", *MEASURES, "fit_seconds"]
    expected = compare(
        {"first": Frequencies(), "second": Frequencies()},
        *cli.DATA["digits"](0),
        folds=3,
        random_state=0,
    )
    for row, r in zip(rows, expected, strict=True):
        assert (row["classifier"], row["fold"]) == (r.classifier, str(r.fold))
        assert [float(row[name]) for name in MEASURES] == [getattr(r, name) for name in MEASURES]


def test_random_state_changes_the_folds(small_study, tmp_path, capsys):
    texts = []
    for number, state in enumerate(["1", "1", "2"]):
        path = tmp_path / f"{number}.csv"
        assert cli.main(["compare", "--random-state", state, "--output", str(path)]) == 0
        texts.append([line.rsplit(",", 1)[0] for line in path.read_text().splitlines()])
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


def test_interrupt_keeps_what_is_finished(small_study, tmp_path, capsys):
    small_study({"steady": Frequencies(), "stopped": Raising(KeyboardInterrupt, in_call=2)})
    path = tmp_path / "results.csv"
    assert cli.main(["compare", "--folds", "4", "--output", str(path)]) == 130
    out, err = capsys.readouterr()
    assert [line.split() for line in out.splitlines()[2:5:2]] == [
        ["steady", "stopped"],
        ["folds", "2", "1"],
    ]
    assert "interrupted with 3 of 8 results finished" in err
    assert "Traceback" not in err
    assert len(path.read_text().splitlines()) == 1 + 3


def test_interrupt_before_the_first_result(small_study, capsys):
    small_study({"stopped": Raising(KeyboardInterrupt, in_call=1)})
    assert cli.main(["compare"]) == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert "interrupted with 0 of 5 results finished" in err


def test_failing_classifier_does_not_hide_finished_results(small_study, capsys):
    small_study({"steady": Frequencies(), "failing": Raising(ValueError, in_call=1)})
    with pytest.raises(RuntimeError, match="failing failed in fold 1"):
        cli.main(["compare"])
    assert "steady" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["command"]),
        (["contrast"], ["contrast", "compare"]),
        (["compare", "--data", "iris"], ["--data", "iris", "digits", "synthetic"]),
        (["compare", "--folds", "1"], ["--folds", "[2, 90]", "got 1"]),
        (["compare", "--folds", "91"], ["--folds", "[2, 90]", "got 91"]),
        (["compare", "--folds", "many"], ["--folds", "int", "many"]),
        (["compare", "--random-state", "-1"], ["--random-state", "[0, 4294967295]", "got -1"]),
        (["compare", "--output", "no/such/place.csv"], ["--output", "no/such/place.csv", "new"]),
    ],
)
def test_wrong_arguments_exit_with_2(small_study, capsys, arguments, words):
    with pytest.raises(SystemExit) as raised:
        cli.main(arguments)
    assert raised.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    for word in words:
        assert word in err.splitlines()[-1]


def test_earlier_results_are_not_overwritten(small_study, tmp_path, capsys):
    path = tmp_path / "results.csv"
    path.write_text("precious")
    with pytest.raises(SystemExit) as raised:
        cli.main(["compare", "--output", str(path)])
    assert raised.value.code == 2
    assert "exists" in capsys.readouterr().err
    assert path.read_text() == "precious"


def test_without_output_nothing_is_written(small_study, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["compare"]) == 0
    assert list(tmp_path.iterdir()) == []


def test_version_and_help(capsys):
    for arguments, text in [
        (["--version"], f"skml-odm {skml_odm.__version__}"),
        (["--help"], "compare"),
        (["compare", "--help"], "--random-state"),
    ]:
        with pytest.raises(SystemExit) as raised:
            cli.main(arguments)
        assert raised.value.code == 0
        assert text in capsys.readouterr().out


def test_missing_progress_bar_is_explained(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(SystemExit, match=r'pip install "skml-odm\[study\]"'):
        cli.main(["compare"])


def test_poor_terminals_get_the_table_too(small_study):
    class Ascii:
        encoding = "ascii"
        text = ""

        def write(self, text):
            self.text += text.encode("ascii").decode()

        def flush(self):
            pass

    stream, before = Ascii(), sys.stdout
    sys.stdout = stream
    try:
        assert cli.main(["compare"]) == 0
    finally:
        sys.stdout = before
    assert "second" in stream.text


def test_importing_the_package_does_not_import_the_progress_bar(tmp_path):
    code = (
        "import sys, skml_odm; assert 'skml_odm.study' not in sys.modules;"
        "import skml_odm.study, skml_odm.study.cli; assert 'tqdm' not in sys.modules"
    )
    # elsewhere, so that the installed package is imported and not the source tree
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=tmp_path)
