"""Workers of joblib, whatever backend is active, and threads."""

import ctypes
import os
import sys
from contextlib import contextmanager, nullcontext
from functools import cache
from threading import Lock, Thread, current_thread, main_thread
from typing import Any

import numpy as np
from joblib import Parallel, parallel_config
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController


def streaming(n_jobs, data=(), **options):
    """Workers that hand over results as they come, where the backend can do so.

    Parameters
    ----------
    n_jobs : int or None
    data : sequence of ndarray
        Arguments that all tasks have. Dask would send them to one worker, and the others would wait
        for it; here all get them at once.
    **options
        Of ``joblib.Parallel``.

    Returns
    -------
    Parallel
        Its results come in any order, or as a list when all are there.
    streams : bool
        Which of the two.
    """
    backend, _ = get_active_backend()
    streams = bool(getattr(backend, "supports_return_generator", False))
    return_as = "generator_unordered" if streams else "list"
    with _sent_to_all(backend, data):
        return Parallel(n_jobs=n_jobs, return_as=return_as, **options), streams


def _sent_to_all(backend, data):
    """A context whose workers have the data, if they are Dask's and this is none of them."""
    if type(backend).__name__ != "DaskDistributedBackend" or not data:
        return nullcontext()
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return parallel_config(backend="dask", client=backend.client, scatter=list(data))
    return nullcontext()


def interruptible(function, *arguments, **options):
    """Call a function of a library that takes long, so that Ctrl-C need not wait for its end.

    Python notices Ctrl-C in the main thread only, and not before a compiled function returns. So
    the main thread waits while another one works. After Ctrl-C that one goes on to the end of the
    function, and nobody looks at what it returns.

    Parameters
    ----------
    function : callable
        It lets other threads run meanwhile, as most of NumPy and HiGHS do.
    *arguments, **options

    Returns
    -------
    What the function returns.
    """
    if current_thread() is not main_thread():
        return function(*arguments, **options)
    outcome: dict[str, Any] = {}

    def work():
        try:
            outcome["value"] = function(*arguments, **options)
        except BaseException as error:
            outcome["error"] = error

    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join()
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]


@contextmanager
def one_thread():
    """A context in which BLAS and OpenMP use one thread; several threads may be in it at once."""
    # OpenMP has a limit for each thread, BLAS one for the process
    with _libraries("openmp").limit(limits=1), _BLAS:
        yield


class _SharedLimit:
    """The limit of BLAS: the first of its users sets it, the last one lifts it.

    If each user restored what it had found, those that overlap would leave the limit behind. And
    newer releases of threadpoolctl let only the thread that set a limit of OpenBLAS change it while
    it lives: so threads do it that end at once.
    """

    def __init__(self):
        self.lock = Lock()
        self.n_users = 0
        self.limit: Any = None

    def __enter__(self):
        with self.lock:
            if self.n_users == 0:
                _in_another_thread(self._set)
            self.n_users += 1

    def __exit__(self, *error):
        with self.lock:
            self.n_users -= 1
            if self.n_users == 0:
                _in_another_thread(self.limit.restore_original_limits)

    def _set(self):
        self.limit = _libraries("blas").limit(limits=1)


def _in_another_thread(function):
    thread = Thread(target=function)
    thread.start()
    thread.join()


_BLAS = _SharedLimit()


@cache
def _libraries(kind):
    """Looked for once in a process, not for every task: that takes milliseconds."""
    return ThreadpoolController().select(user_api=kind)


# Nearly the largest block that glibc learns from.
HINT = 2**25 - 2**16

# glibc's limits: blocks above the first are given back when they are freed, and so is free memory
# at the end of the heap above the second. Their numbers are those of mallopt.
LIMITS = {"MALLOC_MMAP_THRESHOLD_": (-3, 2**25), "MALLOC_TRIM_THRESHOLD_": (-1, 2**26)}


def keep_freed_memory():
    """Have the C library keep the memory of freed arrays for those to come.

    Young processes give freed memory back to the system at once, and the matrices of every task are
    made of new pages. glibc learns from the largest block that was ever freed: afterwards it keeps
    blocks of that size, and twice as much free memory at the end of its heap. Dask turns that off
    in its workers, so that every array above 128 KB is made of new pages; it is told so there.
    Elsewhere this does nothing.
    """
    # freed at once, and never touched: no page of it comes to exist
    np.empty(HINT, dtype=np.uint8)
    if sys.platform == "linux" and any(name in os.environ for name in LIMITS):
        library = ctypes.CDLL(None)
        if hasattr(library, "mallopt"):
            for number, value in LIMITS.values():
                library.mallopt(number, value)
