"""Sections of the report about how it came about: data, parameters, costs, failures, settings."""

import json
from collections import Counter

from .document import Bullets, Cell, Paragraph, Section, Table, Verbatim

MOST_VALUES = 6  # of a fact, before only their number and range are given


def data_sets(sheets):
    """Facts and warnings of the data sets; None without sheets."""
    sheets = list(sheets)
    if not sheets:
        return None
    headings = list(dict.fromkeys(heading for sheet in sheets for heading in sheet.facts))
    rows = [
        [Cell(sheet.name), *(_fact_cell(sheet.facts.get(heading)) for heading in headings)]
        for sheet in sheets
    ]
    blocks: list = [Table("Facts about the data sets", ["data set", *headings], rows)]
    warnings = [f"{sheet.name}: {warning}" for sheet in sheets for warning in sheet.warnings]
    if warnings:
        blocks += [Paragraph("Warnings:"), Bullets(warnings)]
    return Section("data-sets", "Data sets", blocks)


def chosen_parameters(summary):
    """Which parameters were chosen, and how often; None if nothing was."""
    rows = []
    for data in summary.data:
        for name in summary.classifiers:
            counts = Counter(
                ", ".join(f"{key}={_plain(value)}" for key, value in sorted(o.parameters.items()))
                for o in summary.cell(data, name)
                if o.parameters
            )
            # most frequent first, equally frequent ones by their text
            ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
            if ordered:
                text = "; ".join(f"{times}× {words}" for words, times in ordered)
                rows.append([Cell(data), Cell(name), Cell(text)])
    if not rows:
        return None
    table = Table(
        "Chosen on the training part of each fold, and in how many folds",
        ["data set", "classifier", "parameters"],
        rows,
        words=(0, 1, 2),
    )
    return Section("parameters", "Chosen parameters", [table])


def failures(summary):
    """Every cell without a result, with its error; None if there is none."""
    if not summary.failures:
        return None
    return Section("failures", "Failures and time-outs", [Bullets(summary.failure_lines())])


def settings_and_versions(summary, settings):
    """The study file as it is, and the facts of the outcomes."""
    blocks = []
    if settings is not None:
        blocks += [Paragraph("The study file:"), Verbatim(settings)]
    values: dict[str, dict] = {}
    for outcome in summary.outcomes:
        for key, value in _flat(outcome.facts):
            values.setdefault(key, {})[value] = None
    if values:
        rows = [[Cell(key), Cell(_values_text(list(of_key)))] for key, of_key in values.items()]
        blocks.append(Table("Facts about the runs", ["fact", "values"], rows, words=(0, 1)))
    return Section("settings", "Settings, seeds and versions", blocks) if blocks else None


def _flat(facts, prefix=""):
    for key, value in facts.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key} ")
        else:
            yield f"{prefix}{key}", _plain(value)


def _values_text(values):
    if len(values) <= MOST_VALUES:
        return ", ".join(values)
    try:
        ordered = sorted(values, key=float)
    except ValueError:
        ordered = sorted(values)
    return f"{len(values)} values from {ordered[0]} to {ordered[-1]}"


def _fact_cell(value):
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Cell("–" if value is None else str(value))
    return Cell(_plain(value), float(value))


def _plain(value):
    """Numbers in few digits, anything else as JSON has it or as it prints itself."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.6g}"
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except TypeError:
        return str(value)
