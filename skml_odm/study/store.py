"""Finished cells in an SQLite file that survives a crash, and searches under way beside it."""

import json
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, fields
from pathlib import Path

from ..sqlite import connect
from .outcome import FAILED, Outcome

COLUMNS = [field.name for field in fields(Outcome)]
TEXTS = ("measures", "parameters", "margins", "curve", "facts")


class Store:
    """Outcomes by the keys of their cells.

    Parameters
    ----------
    path : path-like
        A file of an earlier study, or of none.
    """

    def __init__(self, path):
        self.path = path
        self._folder = Path(f"{path}.searches")
        with closing(self._connect()) as connection, connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS outcomes (key TEXT PRIMARY KEY, "
                "data TEXT, classifier TEXT, fold INTEGER, status TEXT, error TEXT, "
                "measures TEXT, parameters TEXT, margins TEXT, curve TEXT, facts TEXT)"
            )

    def load(self, keys):
        """The outcomes that are there.

        Parameters
        ----------
        keys : iterable of str

        Returns
        -------
        dict of str to Outcome
        """
        wanted = set(keys)
        with closing(self._connect()) as connection:
            rows = connection.execute(f"SELECT key, {', '.join(COLUMNS)} FROM outcomes").fetchall()
        return {key: _outcome(values) for key, *values in rows if key in wanted}

    @contextmanager
    def checkpoints(self):
        """A folder beside the file for searches that are not finished; gone if it is empty."""
        self._folder.mkdir(exist_ok=True)
        try:
            yield
        finally:
            with suppress(OSError):
                self._folder.rmdir()

    def checkpoint(self, key):
        """Where the search of a cell keeps finished fits."""
        return self._folder / f"{key}.sqlite"

    def save(self, key, outcome):
        """Keep an outcome; it is on disk when this returns.

        Its search is forgotten, unless it failed: another try may go on from there.
        """
        values = asdict(outcome)
        row = [json.dumps(values[name]) if name in TEXTS else values[name] for name in COLUMNS]
        places = ", ".join("?" * (1 + len(COLUMNS)))
        with closing(self._connect()) as connection, connection:
            connection.execute(
                f"INSERT OR REPLACE INTO outcomes (key, {', '.join(COLUMNS)}) VALUES ({places})",
                (key, *row),
            )
        if outcome.status != FAILED:
            self.checkpoint(key).unlink(missing_ok=True)

    def _connect(self):
        return connect(self.path, "the store of a study")


def _outcome(values):
    named = dict(zip(COLUMNS, values, strict=True))
    return Outcome(**{k: json.loads(v) if k in TEXTS else v for k, v in named.items()})
