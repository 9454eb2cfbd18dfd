"""Finished cells in an SQLite file that survives a crash, and searches under way beside it."""

import json
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields
from pathlib import Path

from ..utils.sqlite import StoreError, locked, opened
from .outcome import DONE, FAILED, Outcome

COLUMNS = [field.name for field in fields(Outcome)]
TEXTS = ("measures", "parameters", "margins", "curve", "facts")
NAME = "the store of a study"
LOCK = "lock"
# Data sets on their way to the workers.
DATA = ".joblib"


class Store:
    """Outcomes by the keys of their cells.

    Parameters
    ----------
    path : path-like
        A file of an earlier study, or of none.
    """

    def __init__(self, path):
        self.path = Path(path).absolute()
        self._folder = Path(f"{self.path}.searches")
        with opened(self.path, NAME) as connection:
            if not connection.execute("SELECT name FROM sqlite_master").fetchall():
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS outcomes (key TEXT PRIMARY KEY, "
                    "data TEXT, classifier TEXT, fold INTEGER, status TEXT, error TEXT, "
                    "measures TEXT, parameters TEXT, margins TEXT, curve TEXT, facts TEXT)"
                )
            columns = connection.execute("SELECT name FROM pragma_table_info('outcomes')")
            if [name for (name,) in columns] != ["key", *COLUMNS]:
                raise StoreError(
                    f"{NAME} must be a new file or one of an earlier study; {str(path)!r} is a "
                    "database of another program."
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
        with opened(self.path, NAME) as connection:
            rows = connection.execute(f"SELECT key, {', '.join(COLUMNS)} FROM outcomes").fetchall()
        try:
            return {key: _outcome(values) for key, *values in rows if key in wanted}
        except (ValueError, TypeError) as error:
            raise StoreError(
                f"{NAME} must hold what a study wrote; {str(self.path)!r} is damaged ({error})."
            ) from error

    @contextmanager
    def workplace(self):
        """A folder beside the file, for one run at a time.

        Searches that are not finished stay there when the run ends; data sets do not. Those of a
        run that was killed go before the next one begins. An empty folder goes, too.
        """
        message = (
            f"{NAME} must be used by one run at a time; another one is working on "
            f"{str(self.path)!r}. Wait until it has ended, or use another folder."
        )
        try:
            with locked(self._folder / LOCK, message):
                remove_data(self._folder)
                try:
                    yield self._folder
                finally:
                    remove_data(self._folder)
        finally:
            with suppress(OSError):
                self._folder.rmdir()

    def checkpoint(self, key):
        """Where the search of a cell keeps finished fits."""
        return self._folder / f"{key}.sqlite"

    def save(self, key, outcome):
        """Keep an outcome, unless a result is there; it is on disk when this returns.

        Its search is forgotten, unless it failed: another try may go on from there.
        """
        values = asdict(outcome)
        row = [json.dumps(values[name]) if name in TEXTS else values[name] for name in COLUMNS]
        places = ", ".join("?" * (1 + len(COLUMNS)))
        changes = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS)
        with opened(self.path, NAME) as connection:
            connection.execute(
                f"INSERT INTO outcomes (key, {', '.join(COLUMNS)}) VALUES ({places}) "
                f"ON CONFLICT (key) DO UPDATE SET {changes} WHERE outcomes.status != '{DONE}'",
                (key, *row),
            )
        if outcome.status != FAILED:
            self.checkpoint(key).unlink(missing_ok=True)


def remove_data(folder):
    """Remove the data sets from the folder of a run."""
    for path in Path(folder).glob(f"*{DATA}"):
        # Windows keeps files that a worker has open
        with suppress(OSError):
            path.unlink()


def remove_abandoned_data(folder):
    """Remove what a run that was killed left in its folder; nothing while a run works there."""
    folder = Path(folder)
    if folder.is_dir():
        with suppress(StoreError, OSError), locked(folder / LOCK, "in use"):
            remove_data(folder)
        with suppress(OSError):
            folder.rmdir()


def _outcome(values):
    named = dict(zip(COLUMNS, values, strict=True))
    return Outcome(**{k: json.loads(v) if k in TEXTS else v for k, v in named.items()})
