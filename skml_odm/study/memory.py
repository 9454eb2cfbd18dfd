"""The most memory a process had while it worked."""

import sys
from pathlib import Path

MEGABYTE = 2**20
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class PeakMemory:
    """Context that measures the peak of the resident memory of the process.

    Python and its libraries are included, which is some 200 megabytes. Linux can forget an earlier
    peak, so that this one is the work's own; elsewhere it is the highest one of the process so far.

    Attributes
    ----------
    megabytes : float
    """

    def __enter__(self):
        self._can_reset = self._reset()
        return self

    def __exit__(self, *error):
        self.megabytes = (_linux_peak() if self._can_reset else _peak()) / MEGABYTE

    @staticmethod
    def _reset():
        try:
            CLEAR.write_text("5")
            return STATUS.exists()
        except OSError:
            return False


def _linux_peak():
    """The peak since the last reset in bytes."""
    lines = STATUS.read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def _peak():
    """The peak of the process so far in bytes; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # kilobytes, but bytes on macOS
    return peak if sys.platform == "darwin" else peak * 1024
