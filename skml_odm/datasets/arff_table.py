"""ARFF files as tables of texts: liac-arff takes header and rows apart, the errors name lines."""

import csv
from pathlib import Path
from typing import NamedTuple

from .files import DataFileError, file_error, import_extra, read_text, shown

NUMERIC = ("NUMERIC", "REAL", "INTEGER")

HEADER_ERRORS = {
    "BadRelationFormat": "@relation must be followed by a name, in quotes if it has spaces",
    "BadAttributeFormat": "@attribute must be followed by a name and a type",
    "BadAttributeType": "the type must be numeric, real, integer, string or {value, …}; "
    "dates are not read, remove the attribute",
    "BadAttributeName": "this attribute's name has been used before; names must differ",
    "BadLayout": "the header must have @relation, then @attribute lines, then @data",
}


class ArffTable(NamedTuple):
    """Header and rows.

    Attributes
    ----------
    path : Path
    relation : str
    names : list of str
    kinds : list
        Of each attribute: "NUMERIC", "STRING", or a list of the nominal values.
    rows : list
        Of lists of texts, or of dicts from attribute numbers to texts if the file is sparse. None
        stands for a missing value.
    lines : list of int
        The line each row stands in.
    is_sparse : bool
    """

    path: Path
    relation: str
    names: list
    kinds: list
    rows: list
    lines: list
    is_sparse: bool


def read_table(path, encoding):
    """Read an ARFF file.

    Returns
    -------
    ArffTable
    """
    arff = import_extra("arff", path)
    lines = read_text(path, encoding).split("\n")
    header, start = _split_header(path, lines)
    head = _read_header(arff, path, header)
    names = [name for name, _ in head["attributes"]]
    kinds = ["NUMERIC" if kind in NUMERIC else kind for _, kind in head["attributes"]]
    declared = [n for n, text in enumerate(header, 1) if text.lower().startswith("@a")]
    for kind, line in zip(kinds, declared, strict=True):
        if isinstance(kind, list) and (None in kind or len(set(kind)) < len(kind)):
            raise file_error(path, "the values in braces must differ, and none be empty", line)
    content = [
        (number, line)
        for number, line in enumerate(lines[start:], start + 1)
        if (stripped := line.strip()) and not stripped.startswith("%")
    ]
    if not content:
        raise file_error(path, "there are no rows after @data", start)
    is_sparse = content[0][1].lstrip().startswith("{")
    rows = _read_rows(arff, path, content, len(names), is_sparse)
    numbers = [number for number, _ in content]
    return ArffTable(Path(path), head["relation"], names, kinds, rows, numbers, is_sparse)


def _split_header(path, lines):
    """Lines up to @data with blanks for tabs, and how many there are."""
    for number, line in enumerate(lines, 1):
        word, *more = line.split("%")[0].split() or [""]
        if word.lower() == "@data" and not more:
            return [line.strip().replace("\t", " ") for line in lines[:number]], number
        # which liac-arff would pass over
        if word and word.lower() not in ("@relation", "@attribute"):
            what = f"{shown(word)} begins the line; @relation, @attribute or @data is expected"
            raise file_error(path, what, number)
    last = len(lines) - (not lines[-1].strip())
    raise file_error(path, "the file ends before @data; is it ARFF, and complete?", max(last, 1))


def _read_header(arff, path, header):
    line_number = 0

    def stream():
        nonlocal line_number
        for line in header:
            line_number += 1
            yield line

    try:
        return arff.ArffDecoder().decode(stream())
    except (arff.ArffException, ValueError, IndexError, csv.Error) as error:
        # liac-arff unpacks declarations that have no name without a look
        what = HEADER_ERRORS.get(type(error).__name__, "the declaration is not complete")
        raise file_error(path, what, line_number) from None


def _read_rows(arff, path, content, n_attributes, is_sparse):
    """Take rows apart; that all attributes are text here leaves their types to the caller."""
    line_number, text = content[0]

    def stream():
        nonlocal line_number, text
        yield "@relation rows"
        for i in range(n_attributes):
            yield f"@attribute a{i} string"
        yield "@data"
        for line_number, text in content:
            if text.lstrip().startswith("{") != is_sparse:
                raise _row_error(path, line_number, text, n_attributes, is_sparse)
            yield text

    kind = arff.LOD_GEN if is_sparse else arff.DENSE_GEN
    try:
        rows = []
        for row in arff.ArffDecoder().decode(stream(), return_type=kind)["data"]:
            # liac-arff does not look at the number of an attribute whose value is missing
            if is_sparse and max(row, default=0) >= n_attributes:
                raise _row_error(path, line_number, text, n_attributes, is_sparse)
            rows.append(row)
        return rows
    except DataFileError:
        raise
    except (arff.ArffException, ValueError, csv.Error):
        raise _row_error(path, line_number, text, n_attributes, is_sparse) from None


def _row_error(path, line, text, n_attributes, is_sparse):
    text = text.strip()
    if text.startswith("{") != is_sparse:
        kinds = ("sparse", "dense") if is_sparse else ("dense", "sparse")
        return file_error(path, f"the rows before are {kinds[0]}, this one is {kinds[1]}", line)
    if is_sparse:
        if not text.endswith("}"):
            return file_error(path, "the row has no closing }; is the file complete?", line)
        what = f"the row must be {{number value, …}} with numbers from 0 to {n_attributes - 1}"
        return file_error(path, what, line)
    unreadable = file_error(path, "the row's values or quotes cannot be told apart", line)
    try:
        n_values = len(next(csv.reader([text], quotechar="'")))
    except csv.Error:
        return unreadable
    if n_values == n_attributes or text.count("'") % 2:
        return unreadable
    what = f"the row has {n_values} values, the header has {n_attributes} attributes"
    return file_error(path, what, line)
