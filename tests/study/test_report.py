"""Reports: the same numbers in every form, failures told, names escaped, equal files again."""

import csv
import io
import itertools
import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from study_outcomes import SETTINGS, fake_sheets, fake_study

from skml_odm.study.outcome import Outcome
from skml_odm.study.report import write_report
from skml_odm.study.report.latex import escape
from skml_odm.study.report.results import measure_table
from skml_odm.study.summary import Summary
from skml_odm.study.table import format_table

pytest.importorskip("matplotlib")

NASTY = '<b>&"x"_$1$</b>|{%}#^~\\'


def outcome(data, classifier, fold, loss, **more):
    return Outcome(data, classifier, fold, measures={"ranking_loss": loss}, **more)


def failed(data, classifier, fold, status="failed", error="no memory"):
    return Outcome(data, classifier, fold, status, error)


def sentences(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def study():
    outcomes = fake_study(n_sets=7, n_classifiers=7, n_folds=10)
    # pictures take most of the time: two data sets are enough for them
    return [
        o if o.data in ("emotions", "yeast") else replace(o, margins=[], curve=[]) for o in outcomes
    ]


@pytest.fixture(scope="module")
def paths(study, tmp_path_factory):
    return write_report(
        study,
        tmp_path_factory.mktemp("report"),
        title="A study",
        sheets=fake_sheets(7),
        settings=SETTINGS,
    )


# numbers


def test_means_ranks_and_the_best():
    summary = Summary(
        [
            outcome(data, name, fold, loss)
            for data, losses in {"a": (0.1, 0.3, 0.10001), "b": (0.2, 0.1, 0.4)}.items()
            for name, loss in zip("XYZ", losses, strict=True)
            for fold in (1, 2)
        ]
    )
    # equal to the digits shown, but not the same rank
    assert summary.best("ranking_loss", "a") == {"X", "Z"}
    assert summary.best("ranking_loss", "b") == {"Y"}
    np.testing.assert_array_equal(summary.ranks("ranking_loss"), [[1, 3, 2], [2, 1, 3]])
    assert summary.text("ranking_loss", "a", "Z") == "0.1000 ± 0.0000"


def test_a_failed_fold_counts_as_no_result():
    summary = Summary(
        [
            outcome("a", "X", 1, 0.1),
            outcome("a", "Y", 1, 0.05),
            outcome("a", "Z", 1, 0.3),
            outcome("a", "X", 2, 0.1),
            failed("a", "Y", 2),
            outcome("a", "Z", 2, 0.3),
        ]
    )
    assert summary.best("ranking_loss", "a") == {"X"}
    np.testing.assert_array_equal(summary.ranks("ranking_loss"), [[1, 3, 2]])
    assert summary.verdict_of_means("ranking_loss", "a", "X", "Y") == "win"
    # paired tests have the common folds
    np.testing.assert_allclose(summary.advantages("ranking_loss", "a", "X", "Y"), [-0.05])


def test_missing_folds_take_a_data_set_out_of_ranks():
    outcomes = [outcome("a", "X", 1, 0.1), outcome("a", "Y", 1, 0.2), outcome("a", "X", 2, 0.1)]
    summary = Summary(outcomes)
    assert summary.best("ranking_loss", "a") == set()
    assert summary.ranked_data("ranking_loss") == []
    assert np.isnan(summary.average_ranks("ranking_loss")).all()


def test_the_best_average_rank_is_bold_among_ten_and_more():
    names = "ABCDEFGHIJKL"
    rest = range(4, 13)
    losses = {"a": [1, 2, 3, *rest], "b": [2, 3, 1, *rest], "c": [3, 1, 2, *rest]}
    outcomes = [
        outcome(data, name, 1, float(loss))
        for data, of_data in losses.items()
        for name, loss in zip(names, of_data, strict=True)
    ]
    table = measure_table(Summary(outcomes), "ranking_loss", "A")
    ranks = table.last_rows[0][1:]
    assert [cell.text for cell in ranks if cell.best] == ["2.00"] * 3
    assert ranks[-1].text == "12.00"


def test_a_cell_comes_once():
    with pytest.raises(ValueError, match="one result of X in fold 1 of a"):
        Summary([outcome("a", "X", 1, 0.1), outcome("a", "X", 1, 0.2)])
    with pytest.raises(ValueError, match="empty"):
        Summary([])


def test_wins_over_folds_are_those_of_the_corrected_test(study):
    summary = Summary(study)
    values = {
        (o.data, o.classifier, o.fold): o.measures["ranking_loss"] for o in study if o.measures
    }
    expected = [0, 0, 0]
    for data in summary.data:
        both = [f for f in range(1, 11) if (data, "RankSVM", f) in values]
        gains = np.array([values[data, "RankSVM", f] - values[data, "MLODM", f] for f in both])
        if len(gains) < 3:
            continue
        t = gains.mean() / np.sqrt(gains.var(ddof=1) * (1 / len(gains) + 1 / 9))
        is_significant = 2 * stats.t.sf(abs(t), len(gains) - 1) < 0.05
        expected[1 if not is_significant else 0 if t > 0 else 2] += 1
    # enron has failed there
    assert sum(expected) == 6 and expected[0] and expected[1] + expected[2]
    record = summary.record("ranking_loss", "MLODM", "RankSVM", summary.verdict_of_folds)
    assert record == tuple(expected)


# plain text


def test_text_without_scores_has_measures_of_labels(tmp_path):
    measures = {"hamming_loss": 0.25, "subset_accuracy": 0.5}
    outcomes = [Outcome(data, name, 1, measures=measures) for data in "ab" for name in "XY"]
    blocks = format_table(outcomes).split("\n\n")
    assert [block.split("  ")[0] for block in blocks] == ["Hamming loss", "subset accuracy"]
    # and with scores for one of them the report has both kinds
    some = [replace(o, measures={**measures, "ranking_loss": 0.1}) for o in outcomes[::2]]
    text = write_report([*some, *outcomes[1::2]], tmp_path, title="t")["report.md"].read_text()
    assert "Ranking loss" in text and "Subset accuracy" in text


def test_text_of_several_data_sets_has_a_block_per_measure(study):
    text = format_table(study)
    blocks = text.split("\n\n")
    assert [block.split("  ")[0] for block in blocks[:2]] == ["ranking loss", "average precision"]
    lines = blocks[0].splitlines()
    assert [line.split()[0] for line in lines[2:-1]] == list(Summary(study).data)
    assert lines[-1].startswith("average rank")
    assert all(line.count("*") >= 1 for line in lines[2:-1])
    assert "too slow" not in blocks[0], "M3L has means of seven folds of yeast"
    assert blocks[2].splitlines() == [
        "No result:",
        "yeast, M3L, folds 8–10: too slow: stopped after 600 s",
        "enron, RankSVM, folds 1–10: failed: MemoryError: 12.4 GB for K & A_1 < all",
    ]


# files


def test_written_files(paths):
    assert {"report.html", "report.md", "results.csv", "means.csv", "margins.csv"} <= set(paths)
    assert {"tables/ranking-loss.tex", "figures/ranks-ranking-loss.svg"} <= set(paths)
    assert all(path.stat().st_size for path in paths.values())
    for link in re.findall(r"\]\((.*?)\)", paths["report.md"].read_text()):
        assert link in paths


def test_summary_comes_first_and_says_what_matters(paths):
    for name in ("report.html", "report.md"):
        text = sentences(paths[name].read_text())
        assert "MLODM has the best average rank" in text
        assert "The ranks differ significantly (F = " in text
        assert "M3L on yeast (too slow in 3 of 10 folds)" in text
        assert "RankSVM on enron (failed in 10 of 10 folds)" in text
    html = paths["report.html"].read_text()
    assert html.index("best average rank") < html.index("<table")


def test_equal_outcomes_give_equal_files(study, paths, tmp_path):
    # finished in another order, with data sets and classifiers appearing as before
    again = sorted(study, key=lambda o: o.fold)
    others = write_report(
        again, tmp_path, title="A study", sheets=fake_sheets(7), settings=SETTINGS
    )
    assert others.keys() == paths.keys()
    for name, path in others.items():
        assert path.read_bytes() == paths[name].read_bytes(), name


def test_results_round_trip(study, paths):
    rows = list(csv.DictReader(io.StringIO(paths["results.csv"].read_text())))
    assert len(rows) == len(study)
    by_cell = {(row["data"], row["classifier"], int(row["fold"])): row for row in rows}
    for o in study:
        row = by_cell[o.data, o.classifier, o.fold]
        assert (row["status"], row["error"]) == (o.status, o.error)
        assert {k: float(row[k]) for k in o.measures} == o.measures
        assert json.loads(row["parameters"]) == o.parameters
        assert json.loads(row["facts"]) == o.facts
    means = list(csv.DictReader(io.StringIO(paths["means.csv"].read_text())))
    values = [o.measures["ranking_loss"] for o in study[:70] if o.classifier == "CSRL"]
    (row,) = (
        r
        for r in means
        if (r["data"], r["classifier"], r["measure"]) == ("emotions", "CSRL", "ranking_loss")
    )
    assert float(row["mean"]) == pytest.approx(np.mean(values), rel=1e-14)
    assert float(row["deviation"]) == pytest.approx(np.std(values, ddof=1), rel=1e-12)
    margins = list(csv.reader(io.StringIO(paths["margins.csv"].read_text())))
    assert len(margins[0]) == 3 + 101


def test_all_forms_show_the_same_numbers(study, paths):
    text = Summary(study).text("ranking_loss", "scene", "RankCVM")
    mean, deviation = text.split(" ± ")
    assert f"{mean} <small>± {deviation}</small>" in paths["report.html"].read_text()
    assert f"| {text} |" in paths["report.md"].read_text()
    assert f"& {mean} $\\pm$ {deviation} &" in paths["tables/ranking-loss.tex"].read_text()
    assert text in format_table(study)


def test_html_needs_nothing_else_and_is_well_formed(paths):
    html = paths["report.html"].read_text()
    assert not re.search(r"(src|href)=\"(?!#|data:)", html)
    assert "@import" not in html and "url(http" not in html
    ids = re.findall(r'\bid="([^"]*)"', html)
    assert len(ids) == len(set(ids))
    for target in re.findall(r'href="#([^"]*)"', html):
        assert target in ids
    html5lib = pytest.importorskip("html5lib")
    parser = html5lib.HTMLParser(strict=True)
    parser.parse(html)


# names


@pytest.fixture(scope="module")
def nasty_paths(tmp_path_factory):
    names = {"RankSVM": NASTY, "MLODM": "_hidden"}
    outcomes = [
        replace(o, classifier=names.get(o.classifier, o.classifier))
        for o in fake_study(n_sets=3, n_classifiers=3, n_folds=3)
    ]
    outcomes = [replace(o, data=o.data.replace("scene", NASTY)) for o in outcomes]
    folder = tmp_path_factory.mktemp("nasty")
    return write_report(outcomes, folder, title=NASTY, control=NASTY, settings="</pre>```")


def test_names_do_not_break_the_page(nasty_paths):
    html5lib = pytest.importorskip("html5lib")
    html = nasty_paths["report.html"].read_text()
    assert "<b>" not in html and "</pre>```" not in html
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(html)
    headings = ["".join(th.itertext()) for th in tree.iter("th")]
    assert NASTY in headings
    # pictures too show names as they are
    svg = "{http://www.w3.org/2000/svg}text"
    texts = ["".join(text.itertext()) for text in tree.iter(svg)]
    assert NASTY in texts and "_hidden" in texts


def test_names_do_not_break_markdown(nasty_paths):
    lines = nasty_paths["report.md"].read_text().splitlines()
    assert not any("<b>" in line for line in lines)
    bars = [len(re.findall(r"(?<!\\)\|", line)) if line[:1] == "|" else 0 for line in lines]
    assert sum(map(bool, bars)) > 50
    # the lines of a table all have the same columns
    for above, below in itertools.pairwise(bars):
        assert above == below or 0 in (above, below)
    assert "````" in lines


@pytest.mark.parametrize("name", ["ranking-loss", "fit-seconds"])
def test_latex_is_balanced_and_escaped(nasty_paths, name):
    text = nasty_paths[f"tables/{name}.tex"].read_text()
    body = text.split("\n", 1)[1]
    assert escape(NASTY) in body
    # what is left without commands and escaped signs has no sign that LaTeX would act upon
    plain = re.sub(r"\\\\|\\[{}&%$#_]", "", body)
    assert plain.count("{") == plain.count("}")
    assert plain.replace(r"$\pm$", "").count("$") == 0
    assert not set('#%_^~<>|"') & set(plain.replace("\\label{tab:ranking-loss}", ""))
    rows = [line for line in body.splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {3}
    assert re.findall(r"\\(begin|end)\{(\w+)\}", body) == [
        ("begin", "table"),
        ("begin", "tabular"),
        ("end", "tabular"),
        ("end", "table"),
    ]


# small studies


@pytest.mark.parametrize(("n_sets", "n_classifiers", "n_folds"), [(1, 2, 1), (1, 1, 1), (2, 2, 2)])
def test_small_studies_say_that_there_is_no_test(tmp_path, n_sets, n_classifiers, n_folds):
    outcomes = fake_study(n_sets, n_classifiers, n_folds)
    text = write_report(outcomes, tmp_path, title="small")["report.md"].read_text()
    assert "Not enough data sets for a test over data sets" in text
    if n_classifiers > 1:
        assert "Not enough folds for a test on single data sets" in text
        assert "Not enough data sets for Wilcoxon's test" in text
    assert ("±" in text.split("## Ranking loss")[1].split("\n\n")[2]) == (n_folds > 1)


def test_nothing_but_failures(tmp_path):
    outcomes = [failed("a", "X", 1), failed("a", "Y", 1, "too slow", "")]
    text = write_report(outcomes, tmp_path, title="none")["report.md"].read_text()
    assert "0 of 2 cells have a result" in text
    assert "- a, X, fold 1: failed: no memory" in text
    assert "- a, Y, fold 1: too slow" in text


def test_without_the_size_of_test_parts_folds_are_not_tested(tmp_path):
    outcomes = [outcome("a", name, fold, 0.1 * fold) for name in "XY" for fold in range(1, 6)]
    text = write_report(outcomes, tmp_path, title="no facts")["report.md"].read_text()
    assert "do not say how large their test parts are" in text


def test_invalid_arguments(study, tmp_path):
    with pytest.raises(ValueError, match="control must be one of"):
        write_report(study, tmp_path, title="", control="nobody")
    with pytest.raises(ValueError, match="main_measures must be one of"):
        write_report(study, tmp_path, title="", main_measures=("loss",))
    assert not list(tmp_path.iterdir())


def test_without_matplotlib(study, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"skml-odm\[study\]"):
        write_report(study, tmp_path, title="")


def with_processor_seconds(outcome):
    seconds = {"fit_processor_seconds": 0.5, "predict_processor_seconds": 0.1}
    return replace(outcome, measures={**outcome.measures, **seconds})


def test_processor_seconds_are_shown_where_all_results_have_them(tmp_path):
    old = fake_study(3, 3, 3, with_failures=False)
    new = [with_processor_seconds(each) for each in old]
    mixed = [*new[:5], *old[5:]]
    failure = failed(new[0].data, new[0].classifier, new[0].fold)
    for number, (outcomes, shown, hidden) in enumerate(
        [
            (old, "fit seconds", "fit, processor seconds"),
            (new, "fit, processor seconds", "fit seconds"),
            ([failure, *new[1:]], "fit, processor seconds", "fit seconds"),
        ]
    ):
        paths = write_report(outcomes, tmp_path / str(number), title="t")
        text = paths["report.md"].read_text().lower()
        assert shown in text
        assert hidden not in text
        assert "fit_seconds" in paths["results.csv"].read_text()
        table = format_table([each for each in outcomes if each.data == outcomes[1].data])
        assert shown in table
        assert hidden not in table
    assert {"fit_seconds", "fit_processor_seconds"} <= set(Summary(mixed).shown_measures)
