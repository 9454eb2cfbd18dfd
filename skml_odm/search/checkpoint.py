"""Finished fits in a file that survives a crash."""

import json
import os

from ..utils.sqlite import opened
from .identity import identity

# tables and their columns
TABLES = {"search": ["fingerprint"], "results": ["candidate", "fold", "result"]}


class Checkpoint:
    """Results by candidate and fold in an SQLite file.

    Parameters
    ----------
    path : path-like
    search
        Anything that tells one search from another; a file belongs to one search only.
    """

    def __init__(self, path, search):
        self.path = path
        self._check_path()
        fingerprint = identity(search)
        with self._opened() as connection:
            # nobody else makes the tables at the same time, and a kill leaves none or all
            connection.execute("BEGIN IMMEDIATE")
            self._check_tables(connection)
            self._register(connection, fingerprint)

    def _check_path(self):
        """SQLite takes an empty name and ":memory:" for files that are gone in the end."""
        is_path = isinstance(self.path, str | bytes | os.PathLike)
        if not is_path or os.fsdecode(self.path) in ("", ":memory:"):
            raise ValueError(f"checkpoint must be the path of a file, or None; got {self.path!r}.")

    def _check_tables(self, connection):
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in names:
            columns = connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
            if [column for (column,) in columns] != TABLES.get(name):
                raise ValueError(
                    "checkpoint must be a new file or one of the same search; "
                    f"{str(self.path)!r} is of another program: it has a table {name!r}."
                )

    def _register(self, connection, fingerprint):
        connection.execute("CREATE TABLE IF NOT EXISTS search (fingerprint TEXT)")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS results "
            "(candidate TEXT, fold INTEGER, result TEXT, PRIMARY KEY (candidate, fold))"
        )
        known = connection.execute("SELECT fingerprint FROM search").fetchone()
        if known is None:
            connection.execute("INSERT INTO search VALUES (?)", (fingerprint,))
        elif known[0] != fingerprint:
            raise ValueError(
                f"checkpoint must be a new file or one of the same search; {str(self.path)!r} is "
                "of another estimator, other data, folds, scorers or error_score."
            )
        # raises now, not after the first fits, if the file cannot be written
        connection.execute("UPDATE search SET fingerprint = ?", (fingerprint,))

    def load(self, candidates):
        """Finished results by (index of the candidate, fold)."""
        index = {identity(candidate): i for i, candidate in enumerate(candidates)}
        with self._opened() as connection:
            rows = connection.execute("SELECT candidate, fold, result FROM results").fetchall()
        return {(index[key], fold): json.loads(text) for key, fold, text in rows if key in index}

    def save(self, outcome):
        """Keep the results of a task; they are on disk when this returns."""
        rows = [
            (identity(candidate), outcome.task.fold, json.dumps(result, default=float))
            for candidate, result in zip(outcome.task.candidates, outcome.results, strict=False)
        ]
        with self._opened() as connection:
            connection.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", rows)

    def _opened(self):
        return opened(self.path, "checkpoint")
