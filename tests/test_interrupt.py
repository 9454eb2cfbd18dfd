"""Ctrl-C ends a fit of MLODM at once."""

import os

import pytest
from interrupts import seconds_to_interrupt
from small_data import random_data

from skml_odm import MLODM


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.filterwarnings("ignore:MLODM stopped")
@pytest.mark.parametrize(
    ("solver", "after"),
    [("newton", 0.2), ("newton", 1.5), ("bcd", 1.5), ("m3", 1.5), ("auto", 1.5)],
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
