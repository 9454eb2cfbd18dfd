"""Pieces of pages in Markdown."""

from skml_odm.study.measures import MEASURES

MISSING = "–"


def title(measure):
    """The heading of a measure."""
    words = MEASURES[measure][0]
    return f"## {words[0].upper()}{words[1:]}"


def table(headings, rows):
    """Lines of a table and an empty one."""
    lines = [list(headings), ["---"] * len(headings), *rows]
    return [_line(cells) for cells in lines] + [""]


def _line(cells):
    # a rule has no spaces
    return "|" + "|".join(c if c == "---" else f" {c} " if c else " " for c in cells) + "|"


def at_least_as_good(measure, ours, theirs):
    """Whether a figure is no worse than another one, both in the digits shown."""
    return ours >= theirs if MEASURES[measure][1] else ours <= theirs


def bold(text, good):
    return f"**{text}**" if good else text
