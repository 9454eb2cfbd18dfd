"""Time that a piece of work takes: on the wall, and of the processor."""

from time import perf_counter, process_time

try:
    import resource
except ImportError:
    # Windows does not count the time of child processes
    resource = None  # type: ignore[assignment]


class Clock:
    """A clock that starts when it is made.

    Processor time does not depend on what else the machine is doing. It counts all threads of the
    process and of processes that it has started and waited for, but no workers of joblib, which
    live on.
    """

    def __init__(self):
        self._last = self._now()

    def lap(self):
        """Seconds on the wall and of the processor since the start or the last call."""
        before, self._last = self._last, self._now()
        return self._last[0] - before[0], self._last[1] - before[1]

    @staticmethod
    def _now():
        children = 0.0
        if resource is not None:
            usage = resource.getrusage(resource.RUSAGE_CHILDREN)
            children = usage.ru_utime + usage.ru_stime
        return perf_counter(), process_time() + children
