"""Examples in docstrings and in the README do what they say."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import skml_odm

MODULES = [
    module.name
    for module in pkgutil.walk_packages(skml_odm.__path__, "skml_odm.")
    if not module.name.rsplit(".", 1)[-1].startswith("_")
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_every_public_class_has_an_example():
    for name in skml_odm.__all__:
        member = getattr(skml_odm, name)
        if isinstance(member, type):
            assert ">>>" in member.__doc__, name


def test_no_page_takes_the_place_of_one_of_sphinx():
    pages = {path.stem for path in (Path(__file__).parents[1] / "docs").glob("*.md")}
    assert pages.isdisjoint({"search", "genindex", "modindex", "py-modindex"})


def test_readme_example(capsys):
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    code = re.search(r"```python\n(.*?)```", readme, re.DOTALL).group(1)
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed[:3]] == ["MLODM", "MLkNN", "BinaryRelevance"]
    ranking_loss, gap = map(float, printed[3].split())
    assert ranking_loss < 0.1 and gap <= 1e-3
