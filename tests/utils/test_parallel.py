"""Tests of what workers do with memory and threads."""

import os
import platform
import subprocess
import sys

import pytest

# each in a process of its own
pytestmark = pytest.mark.slow

# arrays as large as those of a search, made and freed again and again
PROGRAM = """
import resource, sys
import numpy as np
from skml_odm.utils.parallel import keep_freed_memory

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


# in processes of their own: a thread that has set a limit, as that of the tests has, keeps others
# from setting one while it lives
COUNT = """
from threadpoolctl import threadpool_info

def threads():
    pools = [(pool["user_api"], pool["num_threads"]) for pool in threadpool_info()]
    return [max((n for api, n in pools if api == kind), default=1) for kind in ("blas", "openmp")]
"""

# the first thread leaves while the second one is working, and both live on
OVERLAP = """
from threading import Barrier, Thread
import numpy, scipy.linalg, sklearn.ensemble
from skml_odm.utils.parallel import one_thread

steps = Barrier(2, timeout=30.0)

def first():
    with one_thread():
        steps.wait()
        print(threads())
        steps.wait()
    steps.wait()
    steps.wait()
    print(threads() == before)
    steps.wait()

def second():
    steps.wait()
    with one_thread():
        steps.wait()
        steps.wait()
        print(threads())
    steps.wait()
    steps.wait()

before = threads()
both = [Thread(target=first), Thread(target=second)]
for thread in both:
    thread.start()
for thread in both:
    thread.join()
print(threads() == before)
"""

SEARCH = """
import joblib
import numpy as np
from skml_odm import MLODM, PathSearchCV

def scoring(estimator, X, y):
    return max(threads())

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = (X @ rng.normal(size=(3, 3)) > 0).astype(int)
grid = {"C": [1.0, 2.0, 4.0], "gamma": [0.1, 0.2, 0.4, 0.8]}
before = threads()
with joblib.parallel_config(backend="threading"):
    print(PathSearchCV(MLODM(), grid, cv=3, scoring=scoring, n_jobs=2).fit(X, Y).best_score_)
print(threads() == before)
"""


@pytest.mark.parametrize(
    ("program", "shown"),
    [(OVERLAP, "[1, 1]\n[1, 1]\nTrue\nTrue\n"), (SEARCH, "1.0\nTrue\n")],
    ids=["overlap", "search"],
)
def test_threads_use_one_thread_and_leave_no_limit(program, shown, tmp_path):
    two = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "2")
    command = [sys.executable, "-c", COUNT + program]
    environment = {**os.environ, **two}
    ended = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert ended.stdout == shown, ended.stderr
