"""Ctrl-C ends a fit at once."""

import os
import signal
import time

import numpy as np
import pytest
from interrupts import seconds_to_interrupt
from small_data import random_data

from skml_odm import MLODM, PMLLRS
from skml_odm.problems.hinge import HingeLoss, PairMultipliers
from skml_odm.solvers import _circulation
from skml_odm.utils.parallel import interruptible

needs_signals = pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")


@needs_signals
@pytest.mark.filterwarnings("ignore:MLODM stopped")
@pytest.mark.parametrize(
    ("solver", "after"),
    [
        ("newton", 0.2),
        *(
            pytest.param(solver, 1.5, marks=pytest.mark.slow)
            for solver in ("newton", "bcd", "m3", "auto")
        ),
    ],
)
def test_ctrl_c_ends_a_long_fit_at_once(solver, after):
    """Within half a second, in the kernel matrix or in the solver; a later fit works as ever."""
    X, y = random_data(m=4000, d=8, q=6)
    model = MLODM(C=1e4, gamma=0.01, tol=1e-12, max_iter=10**6, solver=solver, random_state=0)
    delays = [seconds_to_interrupt(model, X, y, after)]
    if delays[0] >= 0.5:  # the machine may have been busy
        delays.append(seconds_to_interrupt(model, X, y, after))
    print(f"{solver}: Ctrl-C after {after} s took {delays} s")
    assert min(delays) < 0.5
    assert MLODM(solver=solver, C=0.1).fit(X[:50], y[:50]).dual_gap_ <= 1e-3


@pytest.fixture
def ctrl_c():
    """Press Ctrl-C so many seconds from now."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    alarm = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, alarm)
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def many_pairs():
    """The multipliers of 20 million label pairs."""
    return PairMultipliers(HingeLoss(np.arange(2000 * 200).reshape(2000, 200) % 2 == 0, 1.0), True)


@needs_signals
def test_ctrl_c_in_loops_over_label_pairs(ctrl_c, many_pairs):
    """Not after all rows: where it stopped, the last ones have not been written."""
    A, zeros = np.full(many_pairs.loss.shape, np.nan), np.zeros(200)
    ctrl_c(0.005)
    with pytest.raises(KeyboardInterrupt):
        many_pairs.pairs.shift_free(zeros, many_pairs.values, A)
    assert np.isnan(A[-1]).all()
    loss, start = many_pairs.loss, time.perf_counter()
    program = np.zeros(loss.shape), loss.order, loss.n_relevant, loss.n_involved, loss.weight
    _circulation.smoothed_dual(*program, zeros, 1e-9, np.empty(200), np.empty((200, 200)))
    whole = time.perf_counter() - start
    for function in (
        lambda: many_pairs.pairs.free_laplacian(many_pairs.values, np.zeros((200, 200))),
        lambda: _circulation.smoothed_dual(
            *program, zeros, 1e-9, np.empty(200), np.empty((200, 200))
        ),
        lambda: _circulation.solve(*program, zeros.copy(), np.inf, A),
    ):
        ctrl_c(0.2 * whole)
        with pytest.raises(KeyboardInterrupt):
            function()


@needs_signals
def test_ctrl_c_in_functions_of_libraries(ctrl_c):
    ctrl_c(0.2)
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        interruptible(time.sleep, 20.0)
    assert time.perf_counter() - start < 5.0


def test_functions_of_libraries_return_and_raise():
    assert interruptible(divmod, 7, 2) == (3, 1)
    assert interruptible(sorted, [1, 3, 2], reverse=True) == [3, 2, 1]
    with pytest.raises(ZeroDivisionError):
        interruptible(divmod, 1, 0)


@needs_signals
def test_ctrl_c_during_the_decomposition_of_features(monkeypatch):
    X, y = random_data()
    eigh = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: time.sleep(5.0) or eigh(matrix))
    assert seconds_to_interrupt(PMLLRS(), X, y, 0.3) < 2.0
