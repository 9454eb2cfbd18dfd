"""The process that :mod:`skml_odm.study.process` starts: cells come in, outcomes go out."""

import os
import pickle
import queue
import signal
import sys
import threading

from .evaluation import evaluate
from .outcome import FAILED
from .process import READY
from .store import remove_abandoned_data


def outcome(pickled):
    """Either the values of a cell's outcome, or those of a failure."""
    try:
        return evaluate(pickle.loads(pickled))
    except BaseException as error:
        # a classifier's SystemExit is a failure of that classifier, like any other
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return {"status": FAILED, "error": text[:500]}


def main():
    """Answer cells from standard input until it ends."""
    # Ctrl-C reaches the whole group; the study itself decides what to do about it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    # whatever classifiers print must not get between the answers
    os.dup2(2, 1)
    cells: queue.Queue = queue.Queue()

    def listen():
        folder = None
        try:
            while True:
                folder, cell = pickle.load(sys.stdin.buffer)
                cells.put(cell)
        except EOFError:
            # the study is gone, perhaps killed: what is under way here is of no use
            if folder is not None:
                remove_abandoned_data(folder)
            os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    pickle.dump(READY, answers)
    while True:
        answers.flush()
        pickle.dump(outcome(cells.get()), answers)
