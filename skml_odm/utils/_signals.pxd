"""Ctrl-C inside loops that take long, and run without Python's lock."""

from cpython.exc cimport PyErr_CheckSignals


cdef enum:
    # Rows between two looks: with a thousand labels, some ten milliseconds.
    ROWS_PER_LOOK = 64


cdef inline int look_for_signals() except -1 with gil:
    """Raise KeyboardInterrupt if Ctrl-C was pressed."""
    return PyErr_CheckSignals()
