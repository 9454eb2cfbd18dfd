"""Ctrl-C during a fit."""

import os
import signal
import threading
import time

import pytest


def seconds_to_interrupt(model, X, y, after):
    """Press Ctrl-C ``after`` seconds into a fit; return how long it then still runs."""
    pressed = []

    def press():
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(after, press)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        return time.perf_counter() - pressed[0]
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)
