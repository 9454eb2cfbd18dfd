"""Imports go one way between the rooms of the package, and never in a circle."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import skml_odm

ROOT = Path(skml_odm.__file__).parent

# A room may import from those before it.
ORDER = [
    "utils",
    "metrics",
    "features",
    "problems",
    "solvers",
    "decisions",
    "estimators",
    "search",
    "datasets",
    "study",
]
CIMPORT = re.compile(r"^\s*(?:from\s+(skml_odm[\w.]*)\s+c?import|cimport\s+(skml_odm[\w.]*))", re.M)


def names_of_modules():
    """The file of every module, compiled ones included."""
    modules = {}
    for path in ROOT.rglob("*.p*"):
        if path.suffix in (".py", ".pyx", ".pxd"):
            parts = ("skml_odm", *path.relative_to(ROOT).with_suffix("").parts)
            name = ".".join(parts).removesuffix(".__init__")
            modules.setdefault(name, []).append(path)
    return modules


def imports_of(name, path, modules):
    """The modules that a file imports, anywhere in it."""
    if path.suffix != ".py":
        found = {one or other for one, other in CIMPORT.findall(path.read_text(encoding="utf-8"))}
        return {each for each in found if each in modules}
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            source = ".".join(filter(None, (base, node.module)))
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                found.add(inner if inner in modules else source)
    return {each for each in found if each in modules} - {name}


@pytest.fixture(scope="module")
def graph():
    modules = names_of_modules()
    return {
        name: set().union(*(imports_of(name, path, modules) for path in paths)) - {name}
        for name, paths in modules.items()
    }


def room(name):
    """The folder of a module; None for modules at the top, such as ``skml_odm.plotting``."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ORDER else None


def test_every_folder_is_a_room():
    folders = {path.parent.relative_to(ROOT).parts[0] for path in ROOT.glob("*/*.py")}
    files = {path.stem for path in ROOT.glob("*.py")}
    assert folders <= set(ORDER) <= folders | files


def test_no_module_imports_a_later_room(graph):
    backward = [
        f"{name} imports {other}"
        for name, others in graph.items()
        for other in others
        if room(name) and room(other) and ORDER.index(room(name)) < ORDER.index(room(other))
    ]
    assert not backward, "\n".join(sorted(backward))


def test_no_modules_import_each_other(graph):
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_the_graph_is_not_empty(graph):
    """Arrows of every kind are seen: relative and absolute imports, and cimports."""
    assert "skml_odm.solvers.newton" in graph["skml_odm.solvers.turns"]
    assert "skml_odm.problems._row_problem" in graph["skml_odm.solvers._row_ascent"]
    assert "skml_odm.utils._panel" in graph["skml_odm.problems._hinge"]
