"""Cells in a process of their own: it can be stopped when it takes too long, and may crash.

Every worker of joblib keeps one such process, :mod:`skml_odm.study.answer`, which answers with an
outcome for each cell it is sent.
"""

import atexit
import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from typing import Any

import cloudpickle

from .outcome import FAILED, TOO_SLOW

_local = threading.local()
READY = "ready"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_cell(cell, time_limit=None):
    """The outcome of a cell, whatever happens to its classifier.

    Parameters
    ----------
    cell : Cell
    time_limit : float, optional
        Seconds.

    Returns
    -------
    Outcome
    """
    process = getattr(_local, "process", None)
    if process is None or not process.alive:
        process = _local.process = CellProcess()
    return process.run(cell, time_limit)


class CellProcess:
    """A process that evaluates one cell after another."""

    def __init__(self):
        # one core per worker, as joblib counts them
        environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}
        # what can be imported here can be imported there
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        self._process: Any = subprocess.Popen(
            [sys.executable, "-m", "skml_odm.study.answer"],
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

    def run(self, cell, time_limit):
        """The outcome of a cell; "too slow" after the time limit."""
        try:
            # bytes within bytes: what cannot be loaded there spoils no later message
            pickle.dump(cloudpickle.dumps(cell), self._process.stdin)
            self._process.stdin.flush()
            answer = self._next(time_limit)
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

    def _next(self, time_limit):
        """The next outcome; None from a process that ended. Starting takes none of its time."""
        if not self._is_ready:
            self._is_ready = self._answers.get() == READY
            if not self._is_ready:
                return None
        return self._answers.get(timeout=time_limit)

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
