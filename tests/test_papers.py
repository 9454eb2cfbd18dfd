"""A fast slice of ``python -m benchmarks papers``: the figures in docs/papers hold."""

import importlib.util
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from sklearn.metrics import label_ranking_loss

from skml_odm import MLODM
from skml_odm.study import read_study, run_study

tomllib = pytest.importorskip("tomllib")
pytest.importorskip("cloudpickle")

ROOT = Path(__file__).parents[1]
PAPERS = ROOT / "benchmarks" / "papers"
# Table 2 of paper 000, ranking loss of mlODM in per cent
PAPER = {"emotions": 15.31, "scene": 6.76, "birds": 15.42}


@pytest.fixture(scope="module")
def load():
    """The loader of the benchmarks, which are not part of the installed package."""
    name = "benchmarks_data"
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / "data.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.load_as_in_paper


@pytest.mark.data
@pytest.mark.parametrize("name", PAPER)
def test_ranking_loss_is_at_most_the_papers(name, load, data_folder):
    parameters = json.loads((ROOT / "benchmarks" / "chosen.json").read_text())[name]
    split = load(name)
    model = MLODM(**parameters, tol=1e-6, random_state=0).fit(split.X_train, split.y_train)
    assert model.dual_gap_ <= 1e-6
    loss = 100 * label_ranking_loss(split.y_test, model.label_scores(split.X_test))
    assert loss <= PAPER[name]
    page = (ROOT / "docs" / "papers" / "000.md").read_text()
    printed = re.search(rf"\| {name} \| ([\d.]+) \|", page).group(1)
    assert loss == pytest.approx(float(printed), abs=0.02)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "method"), [("emotions", "RankCVM"), ("scene", "RankCVM"), ("yeast", "RankSVM")]
)
def test_ranking_svms_are_at_least_as_good_as_the_papers(
    name, method, data_folder, tmp_path, monkeypatch
):
    monkeypatch.setenv("SKML_ODM_DATA", str(data_folder))
    study = read_study(PAPERS / "003.toml")
    part = replace(
        study,
        data=tuple(data for data in study.data if data.name == name),
        classifiers=tuple(each for each in study.classifiers if each.name == method),
    )
    (outcome,) = run_study(part, tmp_path / "results.sqlite")
    assert outcome.facts["dual_gap"] <= 1e-4
    loss = 100 * outcome.measures["ranking_loss"]
    figures = tomllib.loads((PAPERS / "figures" / "003.toml").read_text())
    paper = figures[method][name]["ranking_loss"]
    assert loss <= paper
    page = (ROOT / "docs" / "papers" / "003.md").read_text()
    table = page[page.index("## Ranking loss") :]
    cells = re.search(rf"\| {name} \|(.*)\|\n", table).group(1).replace("*", "").split("|")
    column = 2 * list(figures).index(method)
    assert loss == pytest.approx(float(cells[column]), abs=0.02)
    assert paper == float(cells[column + 1])


@pytest.mark.data
def test_studies_of_papers_can_be_read(data_folder, monkeypatch):
    monkeypatch.setenv("SKML_ODM_DATA", str(data_folder))
    for path in sorted(PAPERS.glob("*.toml")):
        study = read_study(path)
        known = {data.name for data in study.data}
        for classifier in study.classifiers:
            # a name that is no data set would be passed over in silence
            assert {*classifier.on_data, *classifier.grid_on_data} <= known
