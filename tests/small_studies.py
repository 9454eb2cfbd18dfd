"""A small data set, and studies of it."""

import sqlite3
from contextlib import closing

import numpy as np

from skml_odm.datasets import DataSet
from skml_odm.study import make_study


def data_set(name="some", n_rows=60, container=np.asarray, seed=0, **more):
    random = np.random.RandomState(seed)
    X = random.rand(n_rows, 5) * (random.rand(n_rows, 5) < 0.7)
    Y = X[:, :3] + 0.3 * random.randn(n_rows, 3) > 0.5
    return DataSet(name, container(X), Y, ("a", "b", "c"), tuple("vwxyz"), **more)


def study(*classifiers, data=None, **entries):
    return make_study({"data": data or [data_set()], "classifiers": list(classifiers), **entries})


def has_outcomes(path, number):
    """Whether a store has so many outcomes."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute("SELECT COUNT(*) FROM outcomes").fetchone()[0] >= number
    except sqlite3.Error:
        return False
