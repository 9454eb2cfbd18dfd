"""Results of a study as tables in plain text."""

from .measures import MEASURES
from .outcome import DONE
from .summary import Summary

MAIN_MEASURES = ("ranking_loss", "average_precision")
# where nobody has scores
OF_LABELS = ("hamming_loss", "subset_accuracy")


def format_table(outcomes, main_measures=MAIN_MEASURES):
    """Mean ± standard deviation over folds, the best of each line marked with ``*``.

    For one data set a line is a measure, a column a classifier. For several there is a block per
    main measure, where a line is a data set, and the last line has the average ranks.

    Equal means, to the digits shown, are all marked. After an interrupt some classifiers have
    finished more folds than others: then nothing is marked, since the means are not over the same
    rows. Cells without a result say so, and their errors follow.

    Parameters
    ----------
    outcomes : list of Outcome
    main_measures : sequence of str, default=("ranking_loss", "average_precision")
        Of several data sets. If no classifier has scores, Hamming loss and subset accuracy.

    Returns
    -------
    str
    """
    summary = Summary(outcomes)
    if len(summary.data) == 1:
        blocks = [_of_one_data_set(summary)]
    else:
        shown = [
            [measure for measure in measures if measure in summary.measures]
            for measures in (main_measures, OF_LABELS)
        ]
        blocks = [_of_one_measure(summary, measure) for measure in shown[0] or shown[1]]
    if summary.failures:
        blocks.append("\n".join(["No result:", *summary.failure_lines()]))
    return "\n\n".join(blocks)


def _of_one_data_set(summary):
    (data,) = summary.data
    counts = [
        sum(outcome.status == DONE for outcome in summary.cell(data, name))
        for name in summary.classifiers
    ]
    lines = [["", *summary.classifiers], ["folds", *(f"{count} " for count in counts)]]
    for measure in summary.shown_measures:
        lines.append([MEASURES[measure][0], *_cells(summary, measure, data)])
    return _aligned(lines)


def _of_one_measure(summary, measure):
    lines = [[MEASURES[measure][0], *summary.classifiers]]
    lines += [[data, *_cells(summary, measure, data)] for data in summary.data]
    if summary.ranked_data(measure):
        lines.append(["average rank", *(f"{r:.2f} " for r in summary.average_ranks(measure))])
    return _aligned(lines)


def _cells(summary, measure, data):
    best = summary.best(measure, data)
    return [
        summary.text(measure, data, name) + ("*" if name in best else " ")
        for name in summary.classifiers
    ]


def _aligned(lines):
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = []
    for first, *cells in lines:
        padded = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        texts.append("  ".join([first.ljust(widths[0]), *padded]).rstrip())
    texts.insert(1, "-" * max(map(len, texts)))
    return "\n".join(texts)
