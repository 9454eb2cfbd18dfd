"""TOML files, with the parser that this Python has."""

from pathlib import Path

try:
    from tomllib import loads
except ImportError:
    from tomli import loads


def read_toml(path):
    """The tables of a file."""
    return loads(Path(path).read_text(encoding="utf-8"))
