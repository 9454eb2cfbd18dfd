"""SQLite files that keep what is finished."""

import sqlite3


def connect(path, name):
    """A connection to an SQLite file, which is made if it is not there.

    Parameters
    ----------
    path : path-like
    name : str
        What the file is to its user, for messages.
    """
    try:
        # others may be writing
        connection = sqlite3.connect(path, timeout=60.0)
        # anything that is read shows whether this is such a file
        connection.execute("SELECT name FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        raise ValueError(
            f"{name} must be an SQLite file in an existing folder, or a new one; got "
            f"{str(path)!r} ({error})."
        ) from error
    return connection
