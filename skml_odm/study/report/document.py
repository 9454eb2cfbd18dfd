"""What a report is made of, before it is HTML or Markdown."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Cell:
    """A field of a table: its text, the number it is sorted by, whether it is among the best."""

    text: str
    value: float | None = None
    best: bool = False


@dataclass(frozen=True)
class Table:
    """Rows that may be sorted, then rows that stay at the end; ``words`` are columns of text."""

    caption: str
    heading: list[str]
    rows: list[list[Cell]]
    last_rows: list[list[Cell]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    words: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Bullets:
    items: list[str]


@dataclass(frozen=True)
class Verbatim:
    text: str


@dataclass(frozen=True)
class Figure:
    """A picture: its name (that of its file), SVG text and what it shows; wide ones stand alone."""

    name: str
    svg: str
    caption: str
    is_wide: bool = False


@dataclass(frozen=True)
class Section:
    """A heading with what follows it; ``key`` is its address in the page."""

    key: str
    title: str
    blocks: list


def number(value, digits):
    """A cell with a number; a dash if there is none."""
    return Cell("–") if value is None or value != value else Cell(f"{value:.{digits}f}", value)


def p_value_text(value):
    """A p-value in words that do not pretend more precision than there is."""
    if value is None:
        return "–"
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}" if value < 0.1 else f"{value:.2f}"


def listed(names):
    """Names in one sentence: a, b and c."""
    names = list(names)
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
