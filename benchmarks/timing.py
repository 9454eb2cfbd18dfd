"""Wall times."""

import time

import numpy as np


def seconds(work):
    """How long a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best_time(work, repeats):
    """The shortest time of several calls."""
    return min(seconds(work) for _ in range(repeats))


def in_turns(repeats, *clocks):
    """The shortest of the times that each of several functions returns.

    They take turns, so that a slow minute of the machine is no one's alone.
    """
    return np.min([[clock() for clock in clocks] for _ in range(repeats)], axis=0)
