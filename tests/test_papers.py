"""A fast slice of ``python -m benchmarks papers 000``: the figures in docs/papers/000.md hold."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest
from sklearn.metrics import label_ranking_loss

from skml_odm import MLODM

ROOT = Path(__file__).parents[1]
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
