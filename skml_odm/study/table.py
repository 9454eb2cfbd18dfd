"""Results of a comparison as a table in plain text."""

import numpy as np

# name, and which of several means is the best one
MEASURES = {
    "ranking_loss": ("ranking loss", min),
    "average_precision": ("average precision", max),
    "one_error": ("one-error", min),
    "hamming_loss": ("Hamming loss", min),
    "micro_f1": ("micro-F1", max),
    "fit_seconds": ("fit seconds", min),
}
DIGITS = 4


def format_table(results):
    """One line per measure, one column per classifier: mean ± standard deviation over folds.

    The best mean of each line is marked with ``*``; equal ones, to the digits shown, all are.
    After an interrupt some classifiers have finished more folds than others: then nothing is
    marked, since the means are not over the same rows.

    Parameters
    ----------
    results : list of FoldResult

    Returns
    -------
    str
    """
    names = list(dict.fromkeys(result.classifier for result in results))
    groups = [[result for result in results if result.classifier == name] for name in names]
    same_folds = len({len(group) for group in groups}) == 1
    lines = [["", *names], ["folds", *(f"{len(group)} " for group in groups)]]
    for field, (heading, best) in MEASURES.items():
        values = [[getattr(result, field) for result in group] for group in groups]
        lines.append([heading, *_cells(values, best if same_folds else None)])

    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = []
    for first, *cells in lines:
        padded = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        texts.append("  ".join([first.ljust(widths[0]), *padded]).rstrip())
    texts.insert(1, "-" * max(map(len, texts)))
    return "\n".join(texts)


def _cells(values, best):
    """The text of each group's mean and deviation, all of the same layout."""
    means = [round(float(np.mean(group)), DIGITS) for group in values]
    texts = []
    for mean, group in zip(means, values, strict=True):
        # one fold alone has no deviation
        spread = f" ± {np.std(group, ddof=1):.{DIGITS}f}" if len(group) > 1 else ""
        mark = "*" if best is not None and mean == best(means) else " "
        texts.append(f"{mean:.{DIGITS}f}{spread}{mark}")
    return texts
