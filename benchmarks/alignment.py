"""The table of docs/data.md: published sets, sound and with labels shifted on purpose."""

import time
from pathlib import Path
from unittest import mock

import numpy as np

from skml_odm.datasets import alignment, load_data

from .data import FOLDER

STRETCHES = {
    "all rows": lambda m: (0, m),
    "second half": lambda m: (m // 2, m),
    "from row 229": lambda m: (min(229, m // 2), m),
    "middle third": lambda m: (m // 3, 2 * m // 3),
}
SHIFTS = (-2, -1, 1, 2)


def add_arguments(parser):
    parser.add_argument("--folder", type=Path, default=FOLDER, help="npz files to look at")


def run(arguments):
    print(f"| set | same labels as next row | CPU seconds | sound file | {' | '.join(STRETCHES)} |")
    print("|---|" + "---|" * (3 + len(STRETCHES)))
    for path in sorted(arguments.folder.glob("*.npz")):
        data = load_data(path)
        _print_line(data.name, data.X, data.Y)
        if np.mean(_same_as_next(data.Y)) > 0.5:
            order = np.random.RandomState(0).permutation(len(data.Y))
            _print_line(f"{data.name}, rows shuffled", data.X[order], data.Y[order])


def _print_line(name, X, Y):
    start = time.process_time()
    sound = alignment.row_alignment(X, Y)
    seconds = time.process_time() - start
    state = "ALARM" if sound.shifted else "sound" if sound.decided else "undecided"
    cells = [f"{100 * np.mean(_same_as_next(Y)):.0f} %", f"{seconds:.1f}", state]
    # what is made of the features is the same for all shifts
    directions = alignment._directions(X[alignment._rows_to_use(len(Y))])
    with mock.patch.object(alignment, "_directions", lambda X: directions):
        for stretch in STRETCHES.values():
            first, stop = stretch(len(Y))
            found = [_is_found(X, Y, first, stop, shift) for shift in SHIFTS]
            cells.append(f"{sum(found)}/{len(found)}")
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _is_found(X, Y, first, stop, shift):
    """Whether the first report has this shift and lies in these rows for the most part."""
    broken = Y.copy()
    broken[first:stop] = np.roll(Y[first:stop], shift, axis=0)
    found = alignment.row_alignment(X, broken).shifted
    if not found or found[0].shift != shift:
        return False
    shared = min(stop, found[0].last + 1) - max(first, found[0].first)
    return shared > 0.5 * (max(stop, found[0].last + 1) - min(first, found[0].first))


def _same_as_next(Y):
    return (Y[1:] == Y[:-1]).all(axis=1)
