"""SQLite files that keep what is finished, and locks that end with their process."""

import sqlite3
from contextlib import closing, contextmanager, suppress
from pathlib import Path

# Seconds to wait for a lock: long enough for a process that is just leaving.
PATIENCE = 2.0


class StoreError(ValueError):
    """A file that keeps finished work cannot be used; the message is one line."""


@contextmanager
def opened(path, name):
    """A connection to an SQLite file, which is made if it is not there.

    What was written is on disk when the context ends without an error.

    Parameters
    ----------
    path : path-like
    name : str
        What the file is to its user, for messages.
    """
    try:
        # others may be writing
        with closing(sqlite3.connect(path, timeout=60.0)) as connection, connection:
            yield connection
    except sqlite3.Error as error:
        raise StoreError(
            f"{name} must be an SQLite file that can be read and written, or a new one in an "
            f"existing folder; got {str(path)!r} ({error})."
        ) from error


@contextmanager
def locked(path, message):
    """A context that one process at a time can be in; even a killed process leaves it.

    Parameters
    ----------
    path : path-like
        A file that stands for the lock. Its folder is made if need be; the file goes in the end.
    message : str
        Of the StoreError if another process is in the context.
    """
    path = Path(path)
    connection = _acquired(path, message)
    try:
        yield
    finally:
        # before the lock is given up: nobody else's file is removed. Windows keeps open files.
        with suppress(OSError):
            path.unlink()
        connection.close()


def _acquired(path, message):
    """A connection that holds the lock."""
    while True:
        path.parent.mkdir(exist_ok=True)
        try:
            connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            if not path.parent.exists():
                continue
            if "locked" not in str(error):
                message = f"{str(path)!r} cannot be written ({error})."
            raise StoreError(message) from error
        # otherwise the process before has removed the file that we were waiting for
        if path.exists():
            return connection
        connection.close()
