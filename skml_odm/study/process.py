"""Cells in a process of their own: it can be stopped when it takes too long, and may crash.

Every worker of joblib keeps one such process, :mod:`skml_odm.study.answer`, which answers with an
outcome for each cell it is sent.
"""

import atexit
import contextlib
import os
import pickle
import platform
import queue
import subprocess
import sys
import threading
import time
from functools import cache
from typing import Any

import cloudpickle

from .outcome import FAILED, TOO_SLOW

_local = threading.local()
ANSWER = "skml_odm.study.answer"
READY = "ready"
LOOK_AFTER = 1.0  # seconds between looks whether the study is still there
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def this_process():
    """Where the study runs, for workers that are to end with it."""
    return platform.node(), os.getpid()


def end_with(owner):
    """Have this process end with the study, if the study started it.

    Idle workers of joblib would wait for minutes after a study was killed.

    Parameters
    ----------
    owner : pair of str and int
        As ``this_process`` returns it.
    """
    if owner == (platform.node(), os.getppid()):
        _watch(owner[1])


@cache
def _watch(parent):
    """Start to look, once, whether the parent of this process is still there."""

    def look():
        # a process whose parent has ended gets another one
        while os.getppid() == parent:
            time.sleep(LOOK_AFTER)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


def run_cell(cell, time_limit=None, owner=None):
    """The outcome of a cell, whatever happens to its classifier.

    Parameters
    ----------
    cell : Cell
    time_limit : float, optional
        Seconds.
    owner : pair of str and int, optional
        Machine and number of the process that wants the outcome: without it, nobody does.

    Returns
    -------
    Outcome
    """
    process = getattr(_local, "process", None)
    if process is None or not process.alive:
        process = _local.process = CellProcess()
    return process.run(cell, time_limit, owner)


class CellProcess:
    """A process that evaluates one cell after another."""

    def __init__(self):
        # one core per worker, as joblib counts them
        environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}
        # what can be imported here can be imported there, and from the same place: -m would look
        # into the current folder first
        code = f"import sys; sys.path[:] = {sys.path!r}; from {ANSWER} import main; main()"
        self._process: Any = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self._answers: queue.Queue = queue.Queue()
        self._is_ready = False
        threading.Thread(target=self._listen, daemon=True).start()
        atexit.register(self.stop)

    @property
    def alive(self):
        return self._process.poll() is None

    def run(self, cell, time_limit, owner=None):
        """The outcome of a cell; "too slow" after the time limit."""
        try:
            # bytes within bytes: what cannot be loaded there spoils no later message
            message = os.path.dirname(cell.path), cloudpickle.dumps(cell)
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()
            answer = self._next(time_limit, owner)
        except queue.Empty:
            self.stop()
            return cell.outcome(status=TOO_SLOW, error=f"not finished after {time_limit:g} s")
        except BrokenPipeError:
            answer = None
        except BaseException:
            # Ctrl-C: nobody waits for the answer any more
            self.stop()
            raise
        if answer is None:
            code = self._process.wait()
            self.stop()
            return cell.outcome(status=FAILED, error=f"its process ended with exit code {code}")
        return cell.outcome(**answer)

    def _next(self, time_limit, owner):
        """The next outcome; None from a process that ended. Starting takes none of its time."""
        if not self._is_ready:
            self._is_ready = self._answers.get() == READY
            if not self._is_ready:
                return None
        deadline = None if time_limit is None else time.monotonic() + time_limit
        while True:
            left = LOOK_AFTER if deadline is None else deadline - time.monotonic()
            try:
                return self._answers.get(timeout=max(min(left, LOOK_AFTER), 0.0))
            except queue.Empty:
                if left <= LOOK_AFTER and deadline is not None:
                    raise
            if _is_gone(owner):
                raise SystemExit("the study has ended")

    def stop(self):
        """End the process, whatever it does."""
        atexit.unregister(self.stop)
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()

    def _listen(self):
        """Pass answers on; None when there will be no more."""
        try:
            while True:
                self._answers.put(pickle.load(self._process.stdout))
        except Exception:
            self._answers.put(None)


def _is_gone(owner):
    """Whether the process that wanted the outcome has ended; unknown of other machines."""
    if owner is None or owner[0] != platform.node() or os.name == "nt":
        return False
    try:
        os.kill(owner[1], 0)
    except OSError as error:
        # not being allowed to ask is an answer, too
        return isinstance(error, ProcessLookupError)
    return False
