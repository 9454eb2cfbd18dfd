"""A fast slice of ``python -m benchmarks papers``: the figures in docs/papers hold."""

import json
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from skml_odm.study import read_study, run_study
from skml_odm.study.outcome import Outcome
from skml_odm.study.run import finished, keys_of
from skml_odm.study.store import Store

tomllib = pytest.importorskip("tomllib")
pytest.importorskip("cloudpickle")

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "benchmarks" / "papers"


@pytest.fixture
def study_of(data_folder, monkeypatch):
    """Reads a study of the papers, or a part of it."""
    monkeypatch.setenv("SKML_ODM_DATA", str(data_folder))

    def read(file, name, method):
        study = read_study(PAPERS / file)
        return replace(
            study,
            data=tuple(data for data in study.data if data.name == name),
            classifiers=tuple(each for each in study.classifiers if each.name == method),
            control=None,
        )

    return read


@pytest.mark.data
def test_outcomes_as_text(study_of, tmp_path, monkeypatch):
    """What one machine has finished another one reads."""
    # only for this import: the sources would hide the installed package from cells' processes
    with monkeypatch.context() as patch:
        patch.syspath_prepend(ROOT)
        results = import_module("benchmarks.papers.results")
    study = study_of("000.toml", "emotions", "MLODM")
    (classifier,) = study.classifiers
    study = replace(study, classifiers=(replace(classifier, grid={}),))
    (key,), text = keys_of(study), tmp_path / "outcomes.jsonl"
    here, there = Store(tmp_path / "here.sqlite"), Store(tmp_path / "there.sqlite")
    results.read_outcomes(text, here)
    (outcome,) = run_study(study, here)
    results.write_outcomes(text, here, [key, "of a cell that is not finished"])
    results.read_outcomes(text, there)
    (known,) = finished(study, there)
    assert known == replace(outcome, margins=[], facts=known.facts)
    assert known.facts["started"] == outcome.facts["started"]
    # what is there is left alone
    elsewhere = Store(tmp_path / "elsewhere.sqlite")
    elsewhere.save(key, replace(known, parameters={"C": 2.0}))
    results.read_outcomes(text, elsewhere)
    assert finished(study, elsewhere)[0].parameters == {"C": 2.0}


def figures(paper):
    return tomllib.loads((PAPERS / "figures" / f"{paper}.toml").read_text())


def printed(paper, measure, name):
    """The cells of a data set in the table of a measure."""
    page = (ROOT / "docs" / "papers" / f"{paper}.md").read_text()
    table = page[page.index(f"## {measure}") :]
    cells = re.search(rf"\| {name} \|(.*)\|\n", table).group(1)
    return [cell.strip() for cell in cells.replace("*", "").split("|")]


@pytest.mark.data
@pytest.mark.parametrize("name", ["emotions", "scene", "birds"])
def test_ranking_loss_is_at_most_the_papers(name, study_of, tmp_path):
    study = study_of("000.toml", name, "MLODM")
    chosen = json.loads((ROOT / "benchmarks" / "chosen.json").read_text())[name]
    # what the search over the whole grid found
    (classifier,) = study.classifiers
    fixed = replace(classifier, grid={}, on_data={name: chosen})
    (outcome,) = run_study(replace(study, classifiers=(fixed,)), tmp_path / "results.sqlite")
    assert outcome.facts["dual_gap"] <= 1e-6
    loss = 100 * outcome.measures["ranking_loss"]
    paper = figures("000")[name]["ranking_loss"]
    assert loss <= paper
    ours, theirs, _ = printed("000", "Ranking loss", name)
    assert loss == pytest.approx(float(ours), abs=0.02)
    assert paper == float(theirs)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "method"), [("emotions", "RankCVM"), ("scene", "RankCVM"), ("yeast", "RankSVM")]
)
def test_ranking_svms_are_at_least_as_good_as_the_papers(name, method, study_of, tmp_path):
    (outcome,) = run_study(study_of("003.toml", name, method), tmp_path / "results.sqlite")
    assert outcome.facts["dual_gap"] <= 1e-4
    loss = 100 * outcome.measures["ranking_loss"]
    paper = figures("003")[method][name]["ranking_loss"]
    assert loss <= paper
    cells = printed("003", "Ranking loss", name)
    column = 2 * list(figures("003")).index(method)
    assert loss == pytest.approx(float(cells[column]), abs=0.02)
    assert paper == float(cells[column + 1])


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "name", "method", "measure", "heading", "column", "scale"),
    [
        ("001-eta1", "flags", "MLODM", "ranking_loss", "Ranking loss, η = 1", 3, 1),
        ("002", "social", "CSRL", "subset_accuracy", "Exact match", 3, 100),
    ],
)
def test_means_are_those_of_the_page(
    file, name, method, measure, heading, column, scale, study_of, tmp_path
):
    outcomes = run_study(study_of(f"{file}.toml", name, method), tmp_path / "results.sqlite")
    mean = scale * sum(outcome.measures[measure] for outcome in outcomes) / len(outcomes)
    ours = printed(file[:3], heading, name)[column].split()[0]
    assert mean == pytest.approx(float(ours), abs=scale * 0.002)


def test_studies_count_where_all_folds_are_done(monkeypatch):
    with monkeypatch.context() as patch:
        patch.syspath_prepend(ROOT)
        module = import_module("benchmarks.papers.results")
    done = {
        (study, fold): Outcome("some", "machine", fold, "done", measures={"one_error": value})
        for study, value in (("004-first", 0.1), ("004", 0.2))
        for fold in (1, 2)
    }
    results = object.__new__(module.Results)
    results.studies = dict.fromkeys(["004-first", "004"])
    results._n_folds = {("004-first", "some"): 2, ("004", "some"): 2}
    for missing, source, values in (
        ([], "004-first", [0.1, 0.1]),
        ([("004-first", 2)], "004", [0.2, 0.2]),
        ([("004-first", 1), ("004", 2)], None, []),
    ):
        results._known = {}
        for (study, fold), outcome in done.items():
            if (study, fold) not in missing:
                results._add(study, [outcome])
        assert results.source("some", "machine") == source
        assert results.values("some", "machine", "one_error").tolist() == values


@pytest.mark.data
@pytest.mark.parametrize(
    "path",
    sorted(PAPERS.glob("*.toml")),
    ids=lambda path: path.stem,
)
def test_studies_of_papers_can_be_read(path, data_folder, monkeypatch):
    # some have classifiers of ours that are for papers only
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.setenv("SKML_ODM_DATA", str(data_folder))
    study = read_study(path)
    for data in study.data:
        assert study.protocol.splits(data)
