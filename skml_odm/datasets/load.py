"""One function for all sources of data."""

import os
import re
from collections.abc import Callable
from pathlib import Path

from ..utils.validation import check_real
from .arff_file import read_arff
from .csv_file import read_csv
from .embedded import EMBEDDED
from .files import check_file, file_error
from .host import PREFIX, read_host
from .npz_file import read_npz
from .parts import as_data_set
from .svmlight_file import read_svmlight

READERS: dict[str, tuple[Callable, tuple[str, ...]]] = {
    "arff": (read_arff, ("labels", "xml", "encoding", "max_gigabytes")),
    "csv": (read_csv, ("labels", "nominal", "sep", "encoding", "max_gigabytes")),
    "svmlight": (read_svmlight, ("max_gigabytes",)),
    "npz": (read_npz, ("max_gigabytes",)),
}
EXTENSIONS = {
    ".arff": "arff",
    ".csv": "csv",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".npz": "npz",
}


def load_data(source, **options):
    """Load a multi-label data set from a file, a pair of files, or a name.

    Parameters
    ----------
    source : str, path, or list of one or two of them
        - a file: ``.arff`` (MULAN with an XML file, or MEKA), ``.csv``, ``.npz``, or ``.svm``,
          ``.svmlight``, ``.libsvm``;
        - a training and a test file of the same format, which becomes the ``split`` of the set;
        - ``"digits"`` or ``"synthetic"``, which need no file;
        - ``"host:emotions"``, a set that scikit-multilearn downloads; ``"host:emotions-train"`` and
          ``"host:emotions-test"`` are its parts.
    **options
        - ``format`` : ``"arff"``, ``"csv"``, ``"svmlight"`` or ``"npz"``, whatever the file's name;
        - ``labels`` : names of the labels or how many of the last columns are labels (ARFF, CSV);
        - ``xml`` : path of the file that names the labels (ARFF);
        - ``nominal`` : columns of numbers to be taken as names (CSV);
        - ``sep`` : what separates fields, default ``","`` (CSV);
        - ``encoding`` : default ``"utf-8"`` (ARFF, CSV);
        - ``max_gigabytes`` : how much memory a file may take, default 4;
        - ``random_state`` : seed, default 0 (``"synthetic"``).

    Returns
    -------
    DataSet

    Raises
    ------
    DataFileError
        In one line: the file, the line if there is one, what is wrong and what is expected.

    Examples
    --------
    >>> from skml_odm.datasets import load_data
    >>> data = load_data("digits")
    >>> data.X.shape, data.label_names[:3]
    ((1797, 64), ('even', 'prime', 'multiple of three'))
    >>> load_data("missing.arff")
    Traceback (most recent call last):
    ...
    skml_odm.datasets.files.DataFileError: missing.arff: does not exist; a file is expected
    """
    given = list(source) if isinstance(source, list | tuple) else [source]
    if not all(isinstance(each, str | os.PathLike) for each in given):
        raise ValueError(f"source must be a file, a pair of files or a name; got {source!r}.")
    sources = [os.fspath(each) for each in given]
    if not 1 <= len(sources) <= 2:
        raise ValueError(f"source must be one file or a pair of them; got {len(sources)}.")
    first = sources[0]
    if first in EMBEDDED and len(sources) == 1:
        load, allowed = EMBEDDED[first]
        _check_options(first, f"the set {first}", options, allowed)
        return load(**options)
    if first.startswith(PREFIX):
        _check_options(first, "sets of scikit-multilearn", options, ())
        for other in sources[1:]:
            if not other.startswith(PREFIX):
                raise file_error(other, f"cannot be joined with {first}; {PREFIX}… is expected")
        return as_data_set(_name(first.removeprefix(PREFIX)), read_host(sources))
    paths = [Path(each) for each in sources]
    kinds = [_format(path, options.get("format")) for path in paths]
    if len(set(kinds)) == 2:
        raise file_error(paths[1], f"is {kinds[1]} but {paths[0]} is {kinds[0]}")
    read, allowed = READERS[kinds[0]]
    options = {key: value for key, value in options.items() if key != "format"}
    _check_options(first, f"{kinds[0]} files", options, allowed)
    if "max_gigabytes" in options:
        try:
            check_real("max_gigabytes", options["max_gigabytes"], 0, open_low=True)
        except ValueError as error:
            raise file_error(first, f"option {error}") from None
    return as_data_set(_name(paths[0].stem), read(paths, **options))


def _format(path, wanted):
    check_file(path)
    if wanted is not None:
        if wanted not in READERS:
            allowed = ", ".join(READERS)
            raise file_error(path, f"option format must be one of {allowed}; got {wanted!r}")
        return wanted
    extension = path.suffix.lower()
    if extension not in EXTENSIONS:
        allowed = ", ".join(EXTENSIONS)
        got = repr(extension) if extension else "none"
        what = f"unknown extension {got}; expected is one of {allowed}, or the option format"
        raise file_error(path, what)
    return EXTENSIONS[extension]


def _check_options(source, noun, options, allowed):
    for key in options:
        if key not in allowed:
            others = f"; allowed: {', '.join(allowed)}" if allowed else ""
            raise file_error(source, f"option {key} is not for {noun}{others}")


def _name(stem):
    return re.sub("-(train|test|undivided)$", "", stem)
