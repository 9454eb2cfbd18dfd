"""CSV files with a heading, some columns of which are labels; read by pandas."""

import csv
import io
from collections import Counter

import numpy as np

from .files import MAX_GIGABYTES, check_size, file_error, import_extra, read_text, shown
from .parts import Part, label_positions, labels_of

MISSING_VALUES = ["", "?", "NA", "NaN", "nan"]
NUMBERS = 0.9  # a column with at least this share of numbers is meant to have nothing else
MOST_VALUES = 20  # of a nominal column, unless they repeat


def read_csv(
    paths, *, labels=None, nominal=(), sep=",", encoding="utf-8", max_gigabytes=MAX_GIGABYTES
):
    """Read CSV files; together they settle which values a nominal column has.

    Parameters
    ----------
    paths : list of Path
    labels : list of str or int
        Names of the label columns, or how many of the last columns are labels.
    nominal : list of str
        Columns of numbers that are to be taken as names.
    sep, encoding : str
    max_gigabytes : float

    Returns
    -------
    list of Part
    """
    pandas = import_extra("pandas", paths[0])
    if labels is None:
        raise file_error(
            paths[0],
            "nothing says which columns are labels; expected the option labels, a list of names or "
            "the number of last columns",
        )
    if not (isinstance(nominal, list | tuple) and all(isinstance(name, str) for name in nominal)):
        raise file_error(paths[0], f"option nominal must be a list of names; got {nominal!r}")
    frames, lines = zip(*(_read_frame(pandas, path, sep, encoding) for path in paths), strict=True)
    parts = []
    for path, frame, numbers in zip(paths, frames, lines, strict=True):
        positions = label_positions(path, list(frame.columns), labels)
        names = tuple(frame.columns[j] for j in positions)
        Y, known = labels_of([_label_column(path, frame[name], numbers) for name in names])
        part = Part(path, np.empty((len(Y), 0)), Y, names, (), known=known)
        for name in nominal:
            if name not in frame.columns or name in names:
                raise file_error(path, f"option nominal names {name!r}, which is not a feature")
        parts.append(part)
    for part, frame in zip(parts, frames, strict=True):
        is_label = set(part.label_names)
        part.feature_names = tuple(name for name in frame.columns if name not in is_label)
    features = parts[0].feature_names
    if len(parts) == 2 and parts[0].feature_names != parts[1].feature_names:
        return parts  # which cannot be joined, and the caller says why
    _encode(pandas, parts, frames, lines, features, set(nominal), max_gigabytes)
    return parts


def _read_frame(pandas, path, sep, encoding):
    """Columns of texts, and the line of each row; all rows have as many fields as the heading."""
    text = read_text(path, encoding)
    if not (isinstance(sep, str) and len(sep) == 1):
        raise file_error(path, f"option sep must be one character; got {sep!r}")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sep)
    rows, lines, width, end = [], [], None, 0
    try:
        for row in reader:
            start, end = end + 1, reader.line_num
            if not row:
                continue
            if width is None:
                width, heading = len(row), [name.strip() for name in row]
                continue
            if len(row) != width:
                what = f"the row has {len(row)} fields, the heading has {width}"
                raise file_error(path, what, start)
            rows.append(row)
            lines.append(start)
    except csv.Error as error:
        raise file_error(path, f"cannot be read as CSV: {error}", reader.line_num) from None
    if not rows:
        raise file_error(path, "has no rows; a heading and rows are expected")
    repeated = [name for name, count in Counter(heading).items() if count > 1]
    if repeated:
        raise file_error(path, f"two columns are named {repeated[0]!r}; names must differ", 1)
    frame = pandas.DataFrame(rows, columns=heading, dtype=object)
    frame = frame.apply(lambda column: column.str.strip())
    return frame.mask(frame.isin(MISSING_VALUES)), lines


def _label_column(path, column, lines):
    """Booleans, and which of them are known."""
    known = column.isin(["0", "1", "0.0", "1.0", "True", "False", "true", "false"])
    allowed = known | column.isna()
    if not allowed.all():
        i = int(np.argmin(allowed.to_numpy()))
        what = (
            f"label {column.name!r} has the value {shown(column.iloc[i])}; 0 or 1 is expected, "
            "or nothing if it is unknown"
        )
        raise file_error(path, what, lines[i])
    return column.isin(["1", "1.0", "True", "true"]).to_numpy(), known.to_numpy()


def _encode(pandas, parts, frames, lines, features, nominal, max_gigabytes):
    """Set features of all parts: numbers as they are, a column of zeros and ones for each name."""
    columns: list[list] = [[] for _ in parts]
    names: list[str] = []
    dropped: list[str] = []
    for name in features:
        texts = pandas.concat([frame[name] for frame in frames], ignore_index=True)
        numbers = pandas.to_numeric(texts, errors="coerce").to_numpy(dtype=np.float64)
        absent = texts.isna().to_numpy()
        wrong = ~absent & ~np.isfinite(numbers)
        if name not in nominal and wrong.mean() <= (1 - NUMBERS) * (1 - absent.mean()):
            if wrong.any():
                _raise_wrong_number(parts, lines, name, texts, int(np.argmax(wrong)))
            encoded, new = numbers[:, None], [name]
        else:
            values = sorted(texts.dropna().unique())
            if len(values) > max(MOST_VALUES, (~absent).sum() / 2):
                dropped.append(name)
                continue
            new = [f"{name}={value}" for value in values]
            n_columns = len(names) + len(new)
            check_size(
                parts[0].path,
                f"{len(texts)} rows × {n_columns} columns, {len(new)} of them for the values of "
                f"{name!r},",
                8 * len(texts) * n_columns,
                max_gigabytes,
            )
            encoded = np.column_stack([(texts == value).to_numpy(float) for value in values])
            _count_missing(parts, name, absent)
        names += new
        start = 0
        for part, own in zip(parts, columns, strict=True):
            own.append(encoded[start : start + len(part.Y)])
            start += len(part.Y)
    if not names:
        raise file_error(parts[0].path, "there are no features besides the labels")
    for part, own in zip(parts, columns, strict=True):
        part.X = np.hstack(own)
        part.feature_names = tuple(names)
        if dropped:
            part.notes = (f"columns of texts left out: {', '.join(dropped)}",)


def _raise_wrong_number(parts, lines, name, texts, i):
    text, row, k = texts.iloc[i], i, 0
    if row >= len(lines[0]):
        row, k = row - len(lines[0]), 1
    what = f"column {name!r} has the value {shown(text)} among numbers; a finite number is expected"
    raise file_error(parts[k].path, what, lines[k][row])


def _count_missing(parts, name, absent):
    start = 0
    for part in parts:
        count = int(absent[start : start + len(part.Y)].sum())
        start += len(part.Y)
        if count:
            part.missing[name] = count
