"""All files of a report."""

from pathlib import Path

from ...utils.validation import check_choice
from ..measures import MEASURES
from ..summary import Summary
from . import comma_separated, pictures, record, results
from .document import Figure
from .html import as_html
from .latex import as_latex
from .markdown import as_markdown


def write_report(
    outcomes,
    folder,
    *,
    title,
    sheets=(),
    control=None,
    main_measures=("ranking_loss", "average_precision"),
    settings=None,
):
    """Write the report of a study; equal outcomes give equal files.

    Parameters
    ----------
    outcomes : iterable of Outcome
        In any order of folds; data sets and classifiers are shown as they first appear.
    folder : str or Path
        Made if need be; files of an earlier report are replaced.
    title : str
    sheets : iterable of objects with ``name``, ``facts`` and ``warnings``
        About the data sets: a string, a dict of headings and values, a tuple of strings.
    control : str, optional
        The classifier that all others are tested against; by default the first one. It should be
        chosen before the results are known.
    main_measures : sequence of str, default=("ranking_loss", "average_precision")
        Measures with tests and a diagram of ranks; those that no outcome has are left out.
    settings : str, optional
        Text of the study file, shown as it is.

    Returns
    -------
    dict of str to Path
        What was written, by the name inside the folder.
    """
    _require_matplotlib()
    summary = Summary(outcomes)
    if control is None:
        control = summary.classifiers[0]
    check_choice("control", control, summary.classifiers)
    for measure in main_measures:
        check_choice("main_measures", measure, tuple(MEASURES))
    shown = [measure for measure in main_measures if measure in summary.measures]

    sections = _sections(summary, shown, control, sheets, settings)
    texts = {
        "report.html": as_html(title, sections),
        "report.md": as_markdown(title, sections),
        "results.csv": comma_separated.results(summary),
        "means.csv": comma_separated.means(summary),
        "margins.csv": comma_separated.margins(summary),
        "curves.csv": comma_separated.curves(summary),
    }
    for measure in summary.shown_measures:
        key = measure.replace("_", "-")
        table = results.measure_table(summary, measure, control)
        texts[f"tables/{key}.tex"] = as_latex(table, key)
    for section in sections:
        for block in section.blocks:
            if isinstance(block, Figure):
                texts[f"figures/{block.name}.svg"] = block.svg
    return _write(Path(folder), {name: text for name, text in texts.items() if text is not None})


def _sections(summary, main_measures, control, sheets, settings):
    sections = [results.overview(summary, main_measures), record.data_sets(sheets)]
    for measure in main_measures:
        figure = pictures.critical_difference_figure(summary, measure)
        figures = [] if figure is None else [figure]
        sections.append(results.main_measure(summary, measure, control, figures))
    sections += [
        results.other_measures(summary, main_measures, control),
        *(pictures.costs(summary, measure) for measure in main_measures[:1]),
        pictures.margins(summary),
        pictures.convergence(summary),
        record.chosen_parameters(summary),
        record.failures(summary),
        record.settings_and_versions(summary, settings),
    ]
    return [section for section in sections if section is not None]


def _write(folder, texts):
    paths = {}
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        paths[name] = path
    return paths


def _require_matplotlib():
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError('write_report needs matplotlib: pip install "skml-odm[study]"') from error
