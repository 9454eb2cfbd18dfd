"""A report as one HTML page that needs nothing else: style, script and pictures are inside."""

from html import escape
from importlib.resources import files

from .document import Bullets, Figure, Paragraph, Table, Verbatim
from .pictures import inline


def as_html(title, sections):
    """The whole page."""
    folder = files(__package__)
    style = (folder / "report.css").read_text(encoding="utf-8")
    script = (folder / "report.js").read_text(encoding="utf-8")
    links = "\n".join(
        f'<li><a href="#{escape(section.key)}">{escape(section.title)}</a></li>'
        for section in sections
    )
    body = "\n".join(map(_section, sections))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
<nav aria-label="Contents">
<ul>
{links}
</ul>
</nav>
</header>
<main>
{body}
</main>
<script>
{script}</script>
</body>
</html>
"""


def _section(section):
    parts = [f'<section id="{escape(section.key)}">', f"<h2>{escape(section.title)}</h2>"]
    small: list[Figure] = []
    for place, block in enumerate(section.blocks):
        if isinstance(block, Figure) and not block.is_wide:
            small.append(block)
            continue
        parts += [*_gallery(small), _block(block, f"{escape(section.key)}-{place}")]
        small = []
    return "\n".join([*parts, *_gallery(small), "</section>"])


def _gallery(figures):
    """Small figures stand next to each other where there is room."""
    if figures:
        yield '<div class="gallery">'
        yield from map(_figure, figures)
        yield "</div>"


def _block(block, key):
    return {
        Paragraph: lambda: f"<p>{escape(block.text)}</p>",
        Bullets: lambda: _bullets(block.items),
        Verbatim: lambda: f'<pre tabindex="0"><code>{escape(block.text)}</code></pre>',
        Figure: lambda: _figure(block),
        Table: lambda: _table(block, key),
    }[type(block)]()


def _bullets(items):
    return "\n".join(["<ul>", *(f"<li>{escape(item)}</li>" for item in items), "</ul>"])


def _figure(figure):
    kind = ' class="wide"' if figure.is_wide else ""
    # wide ones scroll on telephones, with keys too
    focus = ' tabindex="0"' if figure.is_wide else ""
    # a picture for those who see it, its caption for the others
    svg = inline(figure).replace(
        "<svg", '<svg role="img" aria-label="' + escape(figure.caption) + '"', 1
    )
    return (
        f'<figure{kind}>\n<div class="scroll"{focus}>{svg}</div>\n'
        f"<figcaption>{escape(figure.caption)}</figcaption>\n</figure>"
    )


def _table(table, key):
    # not a <caption>, which would be as wide as the table and scroll with it
    parts = [
        '<div class="table">',
        f'<p class="caption" id="{key}">{escape(table.caption)}</p>',
        f'<div class="scroll" role="region" aria-labelledby="{key}" tabindex="0">',
        f'<table aria-labelledby="{key}">',
        "<thead><tr>",
        *(
            f'<th scope="col"{_kind(table, column)}>{_name(words)}</th>'
            for column, words in enumerate(table.heading)
        ),
        "</tr></thead>",
        "<tbody>",
        *(_row(table, row) for row in table.rows),
        "</tbody>",
    ]
    if table.last_rows:
        parts += ["<tfoot>", *(_row(table, row) for row in table.last_rows), "</tfoot>"]
    parts += ["</table>", "</div>"]
    parts += [f'<p class="note">{escape(note)}</p>' for note in table.notes]
    return "\n".join([*parts, "</div>"])


def _name(words):
    """Long names of classifiers in classifiers may be broken at their brackets."""
    return escape(words).replace("(", "<wbr>(")


def _row(table, row):
    first, *cells = row
    fields = [_cell(cell, _kind(table, column)) for column, cell in enumerate(cells, start=1)]
    return f'<tr><th scope="row">{_name(first.text)}</th>{"".join(fields)}</tr>'


def _kind(table, column):
    return ' class="words"' if column in table.words[1:] else ""


def _cell(cell, kind):
    value = "" if cell.value is None else f' data-value="{cell.value:.9g}"'
    mean, sign, spread = escape(cell.text).partition(" ± ")
    text = f"<strong>{mean}</strong>" if cell.best else mean
    if sign:
        text += f" <small>± {spread}</small>"
    return f"<td{value}{kind}>{text}</td>"
