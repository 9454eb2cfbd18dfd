"""Files of users: what can be wrong before any format matters, said in one line."""

from pathlib import Path

LONGEST = 40
# What a file may take of memory unless its reader is told otherwise: a small file can stand for
# more than any machine has.
MAX_GIGABYTES = 4.0
PACKAGES = {"arff": "liac-arff", "pandas": "pandas"}


class DataFileError(ValueError):
    """A data file cannot be read; the message is one line, "FILE:LINE: what is wrong"."""


def file_error(path, what, line=None):
    """A DataFileError about a file, or a line of it."""
    place = f"{path}:{line}" if line is not None else f"{path}"
    return DataFileError(f"{place}: {' '.join(str(what).split())}")


def check_size(path, what, n_bytes, max_gigabytes):
    """Raise if something that a file asks for would take more memory than is allowed."""
    if n_bytes > max_gigabytes * 1e9:
        raise file_error(
            path,
            f"{what} would take {n_bytes / 1e9:.3g} GB of memory; allowed: {max_gigabytes:g} GB, "
            "or more with the option max_gigabytes",
        )


def shown(text):
    """A value of a file in quotes, and not more of it than fits a line."""
    return repr(text if len(text) <= LONGEST else text[:LONGEST] + "…")


def check_file(path):
    """Raise unless the path is a file that has something in it."""
    if "\0" in str(path):
        raise file_error(repr(str(path)), "has a null character; a path is expected")
    path = Path(path)
    try:
        if path.is_dir():
            raise file_error(path, "is a folder; a file is expected")
        with open(path, "rb") as file:
            if not file.read(1):
                raise file_error(path, "is empty; data is expected")
    except FileNotFoundError:
        raise file_error(path, "does not exist; a file is expected") from None
    except OSError as error:
        raise file_error(path, f"cannot be opened ({error.strerror})") from None


def read_text(path, encoding="utf-8"):
    """The text of a file without a byte order mark, or an error that says where it is not text."""
    check_file(path)
    if not isinstance(encoding, str):
        raise file_error(path, f"option encoding must be a name; got {encoding!r}")
    content = Path(path).read_bytes()
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        column = error.start - (before.rfind(b"\n") + 1) + 1
        what = (
            f"byte {column} of the line (byte {error.start + 1} of the file) is "
            f"0x{content[error.start]:02x}, which is not {encoding}; "
            "a text file is expected, in another encoding with the option encoding"
        )
        raise file_error(path, what, before.count(b"\n") + 1) from None
    except (LookupError, ValueError):
        raise file_error(
            path, f"option encoding is not known to Python; got {encoding!r}"
        ) from None


def import_extra(name, path):
    """Import a package that only readers need."""
    try:
        return __import__(name)
    except ImportError:
        raise ImportError(
            f"{path}: reading this file needs {PACKAGES[name]}, which is not installed: "
            'pip install "skml-odm[study]"'
        ) from None
