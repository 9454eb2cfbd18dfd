"""The numbers of a report as CSV: every fold with all digits, and means."""

import csv
import io
import json


def results(summary):
    """A line per data set, classifier and fold; parameters and facts as JSON."""
    fields = ("data", "classifier", "fold", "status", "error")
    rows = [
        [
            *(getattr(outcome, name) for name in fields),
            *(_number(outcome.measures.get(measure)) for measure in summary.measures),
            _json(outcome.parameters),
            _json(outcome.facts),
        ]
        for outcome in summary.outcomes
    ]
    return _text([*fields, *summary.measures, "parameters", "facts"], rows)


def means(summary):
    """A line per data set, classifier and measure, over the folds that have a value."""
    rows = [
        [
            data,
            name,
            measure,
            _number(summary.mean(measure, data, name)),
            _number(summary.deviation(measure, data, name)),
            len(summary.values(measure, data, name)),
        ]
        for data in summary.data
        for name in summary.classifiers
        for measure in summary.measures
        if summary.values(measure, data, name)
    ]
    return _text(["data", "classifier", "measure", "mean", "deviation", "folds"], rows)


def margins(summary):
    """A line of 101 quantiles per fold, in four digits; None if there are no margins."""
    rows = [
        [outcome.data, outcome.classifier, outcome.fold, *(f"{q:.4g}" for q in outcome.margins)]
        for outcome in summary.outcomes
        if outcome.margins
    ]
    if not rows:
        return None
    n_quantiles = max(map(len, rows)) - 3
    return _text(["data", "classifier", "fold", *(f"q{i}" for i in range(n_quantiles))], rows)


def curves(summary):
    """A line per recorded point of a fit; None if there are no curves."""
    rows = [
        [outcome.data, outcome.classifier, outcome.fold, *map(_number, point)]
        for outcome in summary.outcomes
        for point in outcome.curve
    ]
    heading = ["iterations", "relative_gap", "train_ranking_loss", "test_ranking_loss"]
    return _text(["data", "classifier", "fold", *heading], rows) if rows else None


def _number(value):
    """All digits; empty if there is none."""
    return "" if value is None or value != value else repr(_as_json(value))


def _json(value):
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=_as_json)


def _as_json(value):
    if hasattr(value, "item"):
        return value.item()
    return value if isinstance(value, int | float) else str(value)


def _text(heading, rows):
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([heading, *rows])
    return file.getvalue()
