"""Finished fits in a file that survives a crash."""

import json
from contextlib import closing

import joblib

from ..sqlite import connect


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
        fingerprint = joblib.hash(search)
        with closing(self._connect()) as connection, connection:
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
                    f"checkpoint must be a new file or one of the same search; {str(path)!r} is of "
                    "another estimator, other data, folds or scorers."
                )

    def load(self, candidates):
        """Finished results by (index of the candidate, fold)."""
        index = {joblib.hash(candidate): i for i, candidate in enumerate(candidates)}
        with closing(self._connect()) as connection:
            rows = connection.execute("SELECT candidate, fold, result FROM results").fetchall()
        return {(index[key], fold): json.loads(text) for key, fold, text in rows if key in index}

    def save(self, outcome):
        """Keep the results of a task; they are on disk when this returns."""
        rows = [
            (joblib.hash(candidate), outcome.task.fold, json.dumps(result, default=float))
            for candidate, result in zip(outcome.task.candidates, outcome.results, strict=False)
        ]
        with closing(self._connect()) as connection, connection:
            connection.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", rows)

    def _connect(self):
        return connect(self.path, "checkpoint")
