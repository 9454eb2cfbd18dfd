"""A report in Markdown; its pictures are files next to it."""

import re

from .document import Bullets, Figure, Paragraph, Table, Verbatim


def as_markdown(title, sections):
    """The whole text."""
    parts = [f"# {_plain(title)}"]
    for section in sections:
        parts += [f"## {_plain(section.title)}", *map(_block, section.blocks)]
    return "\n\n".join(parts) + "\n"


def _block(block):
    return {
        Paragraph: lambda: _plain(block.text),
        Bullets: lambda: "\n".join(f"- {_plain(item)}" for item in block.items),
        Verbatim: lambda: _verbatim(block.text),
        Figure: lambda: f"![{_plain(block.caption)}](figures/{block.name}.svg)",
        Table: lambda: _table(block),
    }[type(block)]()


def _table(table):
    lines = [
        _line(_plain(words) for words in table.heading),
        _line("---" if i in table.words else "---:" for i in range(len(table.heading))),
        *(_line(map(_cell, row)) for row in [*table.rows, *table.last_rows]),
    ]
    notes = [_plain(note) for note in table.notes]
    return "\n\n".join([f"{_plain(table.caption)}:", "\n".join(lines), *notes])


def _line(cells):
    return f"| {' | '.join(cells)} |"


def _cell(cell):
    text = _plain(cell.text)
    if not cell.best:
        return text
    mean, sign, spread = text.partition(" ± ")
    return f"**{mean}**{sign}{spread}"


def _plain(text):
    """Text that Markdown and HTML inside it leave as it is, on one line."""
    text = " ".join(text.split())
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_\[\]|~$#])", r"\\\1", text)


def _verbatim(text):
    """A block with a fence longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"
