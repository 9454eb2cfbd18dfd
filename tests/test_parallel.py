"""Tests of what workers do with memory."""

import os
import platform
import subprocess
import sys

import pytest

# arrays as large as those of a search, made and freed again and again
PROGRAM = """
import resource, sys
import numpy as np
from skml_odm.parallel import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def work():
    for _ in range(100):
        np.ones(2**17), np.ones(2**15)

if sys.argv[1] == "keep":
    keep_freed_memory()
work()
before = faults()
work()
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about glibc's memory")
@pytest.mark.parametrize("told", [{}, {"MALLOC_TRIM_THRESHOLD_": "65536"}], ids=["plain", "dask"])
def test_freed_memory_is_kept(told, tmp_path):
    """Arrays are made of the pages of earlier ones, even where Dask has turned that off."""

    def faults(how):
        command = [sys.executable, "-c", PROGRAM, how]
        ended = subprocess.run(
            command, env={**os.environ, **told}, cwd=tmp_path, capture_output=True, check=True
        )
        return int(ended.stdout)

    assert faults("keep") < 100
    if told:
        assert faults("leave") > 10_000
