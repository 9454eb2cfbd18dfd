"""What a study consists of, and the small file that says so."""

import os
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ..datasets import DataFileError, DataSet, load_data
from ..datasets.selection import labelled_rows, swap_split, without_labels
from ..utils.validation import check_bool, check_choice, check_real
from .cell import Classifier, Tuning
from .estimators import (
    DefinitionError,
    check_values,
    make_estimator,
    make_value,
    parameters_of,
)
from .protocol import Protocol

ENTRIES = ("title", "data", "classifiers", "protocol", "tuning", "time_limit", "curves", "control")
OF_A_CLASSIFIER = (
    "name",
    "estimator",
    "parameters",
    "grid",
    "final",
    "dense",
    "on_data",
    "grid_on_data",
)


@dataclass(frozen=True)
class Study:
    """Data sets × classifiers × a protocol.

    Attributes
    ----------
    data : tuple of DataSet
    classifiers : tuple of Classifier
    protocol : Protocol
    tuning : Tuning
    title : str
    time_limit : float, optional
        Seconds for a classifier on a fold, its search included.
    curves : bool
        Whether to follow, on the first fold, how fits of our classifiers converge.
    control : str, optional
        The classifier that others are compared with; the first one by default.
    text : str
        The study file.
    """

    data: tuple
    classifiers: tuple
    protocol: Protocol = field(default_factory=Protocol)
    tuning: Tuning = field(default_factory=Tuning)
    title: str = "Comparison of multi-label classifiers"
    time_limit: float | None = None
    curves: bool = False
    control: str | None = None
    text: str = ""

    def __post_init__(self):
        for kind, things in (("data sets", self.data), ("classifiers", self.classifiers)):
            names = [thing.name for thing in things]
            if not names:
                raise DefinitionError(f"a study must have {kind}; got none.")
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise DefinitionError(f"{kind} must have different names; got {twice[0]!r} twice.")
        if self.control is not None:
            _named("control", check_choice, self.control, [c.name for c in self.classifiers])
        if self.time_limit is not None:
            _named("time_limit", check_real, self.time_limit, 0.0, open_low=True)
        _named("curves", check_bool, self.curves)


def read_study(path):
    """Read a study file and the data sets it names.

    Parameters
    ----------
    path : path-like
        A TOML or YAML file; ``skml-odm init`` writes one that explains itself. Files of data are
        looked for beside it.

    Returns
    -------
    Study

    Raises
    ------
    DefinitionError, DataFileError
        With one line that says what is wrong where.
    """
    path = Path(path)
    entries, text = _parsed(path)
    try:
        return make_study(entries, path.parent, text)
    except DefinitionError as error:
        raise DefinitionError(f"{path}: {error}") from error


def make_study(entries, folder=".", text=""):
    """A study from the tables of a study file.

    Parameters
    ----------
    entries : dict
        "data", "classifiers", and perhaps "protocol", "tuning", "title", "time_limit", "curves",
        "control". A data set may be a DataSet, the "estimator" of a classifier an estimator.
    folder : path-like, default="."
        Where relative paths start.
    text : str, optional
        The file, for the report.

    Returns
    -------
    Study
    """
    if not isinstance(entries, dict):
        raise DefinitionError(f"a study must be a table of entries; got {type(entries).__name__}.")
    _only("a study", entries, ENTRIES)
    protocol = _settings("protocol", Protocol, entries.get("protocol", {}))
    tuning = _settings("tuning", Tuning, entries.get("tuning", {}))
    classifiers = tuple(
        _classifier(entry, f"classifiers[{i}]")
        for i, entry in enumerate(_list(entries, "classifiers"))
    )
    data = tuple(
        _data_set(entry, f"data[{i}]", Path(folder))
        for i, entry in enumerate(_list(entries, "data"))
    )
    for i, classifier in enumerate(classifiers):
        for key in ("on_data", "grid_on_data"):
            where = f"classifiers[{i}].{key}"
            _only(where, getattr(classifier, key), [each.name for each in data])
    rest = {
        name: entries[name]
        for name in ("title", "time_limit", "curves", "control")
        if name in entries
    }
    return Study(data, classifiers, protocol, tuning, text=text, **rest)


def _parsed(path):
    """The tables of a study file, and its text."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DefinitionError(f"{path}: cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise DefinitionError(f"{path}: must be UTF-8 text ({error}).") from error
    suffix = path.suffix.lower()
    if suffix == ".toml":
        tomllib = _module("tomllib", "tomli")
        parse, errors = tomllib.loads, tomllib.TOMLDecodeError
    elif suffix in (".yaml", ".yml"):
        yaml = _module("yaml")
        parse, errors = yaml.safe_load, yaml.YAMLError
    else:
        raise DefinitionError(f"{path}: a study file must end with .toml, .yaml or .yml.")
    try:
        return parse(text), text
    except errors as error:
        message = " ".join(str(error).split())
        raise DefinitionError(f"{path}: {message}") from error


def _module(*names):
    """The first of these modules that can be imported."""
    for name in names:
        try:
            return __import__(name)
        except ImportError:
            continue
    raise ImportError(
        f'study files need {names[-1]}, which is not installed: pip install "skml-odm[study]"'
    )


def _data_set(entry, where, folder):
    if isinstance(entry, DataSet):
        return entry
    if not isinstance(entry, str | dict | list):
        raise DefinitionError(
            f"{where} must be a file, a name, a pair of files or a table with a source; "
            f"got {entry!r}."
        )
    options: dict[str, Any] = dict(entry) if isinstance(entry, dict) else {"source": entry}
    if "source" not in options:
        raise DefinitionError(f"{where} must have a source; got {sorted(options)}.")
    source, name = options.pop("source"), options.pop("name", None)
    switches = {key: options.pop(key, False) for key in ("swap_split", "labelled_rows_only")}
    for key, value in switches.items():
        _named(f"{where}.{key}", check_bool, value)
    dropped = options.pop("without_labels", [])
    sources = [
        _located(part, folder) for part in (source if isinstance(source, list) else [source])
    ]
    try:
        data = load_data(sources if isinstance(source, list) else sources[0], **options)
        data = data if name is None else replace(data, name=str(name))
        data = without_labels(data, dropped)
        data = swap_split(data) if switches["swap_split"] else data
        return labelled_rows(data) if switches["labelled_rows_only"] else data
    except DataFileError:
        raise
    except (TypeError, ValueError) as error:
        raise DefinitionError(f"{where}: {error}") from error


def _located(source, folder):
    """A path with variables filled in, from the folder if it is relative and there."""
    expanded = os.path.expanduser(os.path.expandvars(str(source)))
    if "$" in expanded:
        raise DefinitionError(f"source {source!r} names a variable that is not set.")
    beside = folder / expanded
    return str(beside) if beside.is_file() or Path(expanded).suffix else expanded


def _classifier(entry, where):
    entry = {"estimator": entry} if isinstance(entry, str) else entry
    if not isinstance(entry, dict) or "estimator" not in entry:
        raise DefinitionError(
            f"{where} must be a name, or a table with an estimator; got {entry!r}."
        )
    _only(where, entry, OF_A_CLASSIFIER)
    definition = {key: entry[key] for key in ("estimator", "parameters") if key in entry}
    estimator = make_estimator(definition, where)
    check_values(estimator, {}, f"{where}.parameters")
    name = entry.get("name", type(estimator).__name__)
    grid, final = entry.get("grid", {}), entry.get("final", {})
    special = {key: entry.get(key, {}) for key in ("on_data", "grid_on_data")}
    for key, tables in special.items():
        if not isinstance(tables, dict):
            raise DefinitionError(
                f"{where}.{key} must have a table for each data set; got {tables!r}."
            )
    for table, place in [
        (final, "final"),
        *((table, f"on_data.{key}") for key, table in special["on_data"].items()),
    ]:
        _check_parameters(estimator, table, f"{where}.{place}")
        check_values(estimator, make_value(table, where), f"{where}.{place}")
    for table, place in [
        (grid, "grid"),
        *((table, f"grid_on_data.{key}") for key, table in special["grid_on_data"].items()),
    ]:
        _check_grid(estimator, table, f"{where}.{place}")
    _named(f"{where}.dense", check_bool, entry.get("dense", False))
    return Classifier(
        str(name), definition, grid, entry.get("dense", False), final=final, **special
    )


def _check_grid(estimator, grid, where):
    """Raise unless this is a table of lists of parameters, or a list of such tables."""
    for part in grid if isinstance(grid, list) else [grid]:
        _check_parameters(estimator, part, where)
        values_of = make_value(part, where)
        for key, values in values_of.items():
            if not isinstance(values, list) or not values:
                raise DefinitionError(f"{where}.{key} must be a list of values; got {values!r}.")
        first = {key: values[0] for key, values in values_of.items()}
        for key, values in values_of.items():
            for value in values:
                _check_candidates(estimator, {key: value}, {**first, key: value}, f"{where}.{key}")


def _check_candidates(estimator, alone, with_others, where):
    """Raise unless a value of a grid suits alone, or together with the first values of others."""
    try:
        check_values(estimator, alone, where)
    except DefinitionError:
        check_values(estimator, with_others, where)


def _check_parameters(estimator, values, where):
    """Raise unless this is a table of parameters of the estimator."""
    if not isinstance(values, dict):
        raise DefinitionError(f"{where} must be a table; got {values!r}.")
    values = make_value(values, where)
    if not values:
        return
    known = parameters_of(estimator, where)
    for name in values:
        if name not in known:
            allowed = ", ".join(sorted(known))
            raise DefinitionError(f"{where} must have parameters among {allowed}; got {name!r}.")


def _settings(where, kind, table):
    if not isinstance(table, dict):
        raise DefinitionError(f"{where} must be a table; got {table!r}.")
    _only(where, table, [field.name for field in fields(kind)])
    try:
        return kind(**table)
    except ValueError as error:
        raise DefinitionError(f"{where}.{error}") from error


def _list(entries, name):
    found = entries.get(name, [])
    if not isinstance(found, list | tuple):
        raise DefinitionError(f"{name} must be a list; got {found!r}.")
    return found


def _only(where, table, allowed):
    for name in table:
        if name not in allowed:
            raise DefinitionError(
                f"{where} must have entries among {', '.join(allowed)}; got {name!r}."
            )


def _named(name, check, *arguments, **options):
    try:
        check(name, *arguments, **options)
    except ValueError as error:
        raise DefinitionError(str(error)) from error
