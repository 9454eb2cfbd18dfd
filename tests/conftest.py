"""Fixtures that several test files share."""

import os
from pathlib import Path

import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

pytest.register_assert_rewrite("host_data")  # its checks are to explain their failures

from host_data import ESTIMATORS, X, Y  # noqa: E402

# Most tests are small: threads of BLAS would cost more than they gain.
threadpool_limits(1)

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_folder():
    """The folder of the real data sets: SKML_ODM_DATA, or ../shared/data beside the repository."""
    folder = Path(os.environ.get("SKML_ODM_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no data sets: SKML_ODM_DATA (or its default) is {folder}, not a folder")
    return folder


@pytest.fixture(params=ESTIMATORS, ids=repr, scope="module")
def fitted(request):
    """An estimator fitted to dense data: what all other containers are compared with."""
    return clone(request.param).fit(X, Y)


@pytest.fixture
def estimator(fitted):
    return clone(fitted)


@pytest.fixture(
    params=list({type(e): e for e in reversed(ESTIMATORS) if hasattr(e, "kernel")}.values()),
    ids=lambda e: type(e).__name__,
)
def one_of_each(request):
    """One estimator of each class with a kernel, for tests that choose the parameters."""
    return clone(request.param)
