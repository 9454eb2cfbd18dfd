"""The tables of docs/data.md: published sets, sound and with labels shifted on purpose."""

import time
from pathlib import Path
from unittest import mock

import numpy as np

from skml_odm.datasets import alignment, label_columns, load_data

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
    parser.add_argument("--columns", action="store_true", help="shift columns instead of rows")


def run(arguments):
    if arguments.columns:
        _run_columns(arguments.folder)
        return
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
    directions = alignment.directions(X[alignment._rows_to_use(len(Y))])
    with mock.patch.object(alignment, "directions", lambda X: directions):
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


def _run_columns(folder):
    """The table of label columns, sound and shifted on purpose."""
    print("| set | labels | CPU seconds | sound file | rows sorted | second half | middle third |")
    print("|---|---|---|---|---|---|---|")
    for path in sorted(folder.glob("*.npz")):
        data = load_data(path)
        start = time.process_time()
        sound = label_columns.column_alignment(data.X, data.Y)
        seconds = time.process_time() - start
        orders = np.lexsort(data.Y.T), np.lexsort(data.Y.T[::-1]), np.argsort(data.Y.sum(axis=1))
        alarms = sum(
            label_columns.column_alignment(data.X[order], data.Y[order]) is not None
            for order in orders
        )
        cells = [data.Y.shape[1], f"{seconds:.1f}", "consistent" if sound is None else "ALARM"]
        cells.append(f"{alarms} alarms")
        directions = alignment.directions(data.X)
        with mock.patch.object(label_columns, "directions", lambda X, made=directions: made):
            for name in ("second half", "middle third"):
                first, stop = STRETCHES[name](len(data.Y))
                found = [_columns_found(data, first, stop, shift) for shift in SHIFTS]
                cells.append(f"{sum(found)}/{len(found)}")
        print(f"| {data.name} | {' | '.join(map(str, cells))} |", flush=True)


def _columns_found(data, first, stop, shift):
    broken = data.Y.copy()
    broken[first:stop] = np.roll(broken[first:stop], shift, axis=1)
    found = label_columns.column_alignment(data.X, broken)
    if found is None:
        return False
    shared = min(stop, found.last + 1) - max(first, found.first)
    if found.shift == shift:
        # the other rows, which are shifted the other way
        return 2 * shared < found.last + 1 - found.first
    size = max(stop - first, found.last + 1 - found.first)
    return found.shift == -shift and 2 * shared > size
