"""ARFF files of MULAN (labels in an XML file) and MEKA (labels counted in the relation's name)."""

import os
import re
from pathlib import Path
from xml.parsers import expat

import numpy as np
from scipy import sparse

from .arff_table import read_table
from .files import MAX_GIGABYTES, DataFileError, check_file, check_size, file_error, shown
from .parts import Part, label_positions, labels_of

BINARY = {"0", "1"}
MOST_SHOWN = 5  # nominal values in a message


def read_arff(paths, *, labels=None, xml=None, encoding="utf-8", max_gigabytes=MAX_GIGABYTES):
    """Read ARFF files.

    Parameters
    ----------
    paths : list of Path
    labels : list of str or int, optional
        Names of the labels, or how many of the last attributes are labels.
    xml : path, optional
        The file that names the labels; default is one beside the ARFF file with the same name, up
        to an ending -train or -test.
    encoding : str
    max_gigabytes : float

    Returns
    -------
    list of Part
    """
    if not (xml is None or isinstance(xml, str | os.PathLike)):
        raise file_error(paths[0], f"option xml must be a path; got {xml!r}")
    return [_read_part(path, labels, xml, encoding, max_gigabytes) for path in paths]


def _read_part(path, labels, xml, encoding, max_gigabytes):
    table = read_table(path, encoding)
    positions = _label_positions(table, labels, xml)
    _check_size(table, positions, max_gigabytes)
    Y, known = labels_of([_label_column(table, j) for j in positions])
    is_label = set(positions)
    names: list[str] = []
    columns, missing, dropped = [], {}, []
    cells = _cells_by_attribute(table)
    for j, (name, kind) in enumerate(zip(table.names, table.kinds, strict=True)):
        if j in is_label:
            continue
        if kind == "STRING":
            dropped.append(name)
            continue
        for suffix, rows, values in _encode(table, j, *cells[j]):
            names.append(name + suffix)
            columns.append((rows, values))
        if isinstance(kind, list) and set(kind) != BINARY and None in cells[j][1]:
            missing[name] = cells[j][1].count(None)
    if not columns:
        raise file_error(path, "there are no features besides the labels")
    notes = [f"string attributes left out: {', '.join(dropped)}"] if dropped else []
    return Part(
        path=path,
        X=_assemble(columns, len(table.rows), table.is_sparse),
        Y=Y,
        label_names=tuple(table.names[j] for j in positions),
        feature_names=tuple(names),
        known=known,
        notes=tuple(notes),
        missing=missing,
    )


def _check_size(table, positions, max_gigabytes):
    """Raise if a small file stands for large matrices: rows × labels, and rows × features."""
    n_rows, is_label = len(table.rows), set(positions)
    check_size(
        table.path,
        f"{n_rows} rows × {len(positions)} labels",
        n_rows * len(positions),
        max_gigabytes,
    )
    features = [kind for j, kind in enumerate(table.kinds) if j not in is_label]
    if table.is_sparse:
        # numbers and 0-1 attributes that are left out take no room, other values do
        n_columns = sum(_is_full(kind) for kind in features)
    else:
        n_columns = sum(
            len(kind) if isinstance(kind, list) and set(kind) != BINARY else kind != "STRING"
            for kind in features
        )
    what = f"{n_rows} rows × {n_columns} features"
    check_size(table.path, what, 8 * n_rows * n_columns, max_gigabytes)


def _is_full(kind):
    """Whether values that a sparse file leaves out are not zeros but the first of a list."""
    return isinstance(kind, list) and not (set(kind) == BINARY and kind[0] == "0")


def _label_positions(table, labels, xml):
    path, names = table.path, table.names
    if labels is not None and xml is not None:
        raise file_error(path, "options labels and xml exclude each other")
    if labels is not None:
        return label_positions(path, names, labels)
    stem = re.sub("-(train|test)$", "", path.stem)
    beside = [path.with_suffix(".xml"), path.with_name(stem + ".xml")]
    xml = xml if xml is not None else next((file for file in beside if file.exists()), None)
    if xml is not None:
        return _positions_from_xml(xml, path, names)
    count = re.search(r"-C\s+(-?\d+)", table.relation)
    if count is None:
        expected = beside[-1].name
        raise file_error(
            path,
            f"nothing says which attributes are labels; expected a file {expected}, "
            "-C and a number in the relation's name, or the option labels",
        )
    n = int(count[1])
    if not 0 < abs(n) < len(names):
        what = f"the relation's name says -C {n}, the header has {len(names)} attributes"
        raise file_error(path, what)
    return list(range(n)) if n > 0 else list(range(len(names) + n, len(names)))


def _positions_from_xml(xml, path, names):
    """Where the labels of a MULAN file are, in the order of the XML file; a hierarchy is flat."""
    position = {name: j for j, name in enumerate(names)}
    found: dict[int, None] = {}
    check_file(xml)
    parser = expat.ParserCreate()

    def start(tag, attributes):
        if tag.rsplit(":", 1)[-1] != "label":
            return
        line = parser.CurrentLineNumber
        name = attributes.get("name")
        if name is None:
            raise file_error(xml, "a <label> must have a name", line)
        if name not in position:
            raise file_error(xml, f"label {name!r} is not an attribute of {path}", line)
        if position[name] in found:
            raise file_error(xml, f"label {name!r} stands here for the second time", line)
        found[position[name]] = None

    parser.StartElementHandler = start
    try:
        parser.Parse(Path(xml).read_bytes(), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise file_error(xml, f"the XML cannot be read: {reason}", error.lineno) from None
    except DataFileError:
        raise
    except (LookupError, ValueError) as error:
        # an encoding that is unknown, or that expat has no table for
        raise file_error(xml, f"the XML cannot be read: {error}", 1) from None
    if not found:
        raise file_error(xml, 'names no label; <label name="…"> elements are expected')
    return list(found)


def _cells_by_attribute(table):
    """Row numbers and texts of each attribute; those that a sparse file omits are zero."""
    everywhere = range(len(table.rows))
    if not table.is_sparse:
        return [(everywhere, list(column)) for column in zip(*table.rows, strict=True)]
    cells: list = [([], []) for _ in table.names]
    for i, row in enumerate(table.rows):
        for j, text in row.items():
            cells[j][0].append(i)
            cells[j][1].append(text)
    for j, kind in enumerate(table.kinds):
        # a nominal value that is omitted is the first of the header's list
        if _is_full(kind):
            texts = [kind[0]] * len(table.rows)
            for i, text in zip(*cells[j], strict=True):
                texts[i] = text
            cells[j] = (everywhere, texts)
    return cells


def _encode(table, j, rows, texts):
    """Features made of an attribute: what to add to its name, rows, and values in these rows."""
    kind = table.kinds[j]
    if kind == "NUMERIC" or set(kind) == BINARY:
        try:
            values = np.array([np.nan if text is None else float(text) for text in texts])
        except ValueError:
            values = None
        allowed = "a finite number" if kind == "NUMERIC" else "0 or 1"
        if values is None or not _all_allowed(values, texts, kind):
            for i, text in zip(rows, texts, strict=True):
                if text is not None and not _is_allowed(text, kind):
                    raise _value_error(table, j, i, text, allowed)
        return [("", rows, values)]
    codes = {value: code for code, value in enumerate(kind)}
    members: list[list[int]] = [[] for _ in kind]
    for i, text in zip(rows, texts, strict=True):
        if text is None:
            continue
        if text not in codes:
            raise _value_error(table, j, i, text, f"one of {_values(kind)}")
        members[codes[text]].append(i)
    return [
        (f"={value}", chosen, np.ones(len(chosen)))
        for value, chosen in zip(kind, members, strict=True)
    ]


def _values(kind):
    more = f" and {len(kind) - MOST_SHOWN} more" if len(kind) > MOST_SHOWN else ""
    return ", ".join(kind[:MOST_SHOWN]) + more


def _all_allowed(values, texts, kind):
    known = np.array([text is not None for text in texts], dtype=bool)
    values = values[known]
    return np.isfinite(values).all() if kind == "NUMERIC" else np.isin(values, (0, 1)).all()


def _is_allowed(text, kind):
    try:
        value = float(text)
    except ValueError:
        return False
    return np.isfinite(value) if kind == "NUMERIC" else value in (0, 1)


def _value_error(table, j, row, text, allowed):
    what = f"attribute {table.names[j]!r} has the value {shown(text)}; {allowed} is expected"
    return file_error(table.path, what, table.lines[row])


def _label_column(table, j):
    """Booleans, from zeros and ones, and which of them are known: the others are "?"."""
    kind = table.kinds[j]
    omitted = kind[0] if isinstance(kind, list) else "0"
    column, known = np.zeros(len(table.rows), dtype=bool), np.ones(len(table.rows), dtype=bool)
    for i, row in enumerate(table.rows):
        text = row.get(j, omitted) if table.is_sparse else row[j]
        if text is None:
            known[i] = False
            continue
        if not _is_allowed(text, BINARY):
            what = (
                f"label {table.names[j]!r} has the value {shown(text)}; 0 or 1 is expected, or ? "
                "if it is unknown"
            )
            raise file_error(table.path, what, table.lines[i])
        column[i] = float(text) == 1
    return column, known


def _assemble(columns, n_rows, is_sparse):
    if not is_sparse:
        X = np.zeros((n_rows, len(columns)))
        for j, (rows, values) in enumerate(columns):
            X[list(rows), j] = values
        return X
    indices = np.concatenate([np.asarray(rows, dtype=np.int32) for rows, _ in columns])
    values = np.concatenate([values for _, values in columns])
    starts = np.cumsum([0] + [len(values) for _, values in columns])
    X = sparse.csc_matrix((values, indices, starts), shape=(n_rows, len(columns)))
    X.eliminate_zeros()
    return sparse.csr_matrix(X)
