"""Fixtures that several test files share."""

import os
from pathlib import Path

import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

pytest.register_assert_rewrite("host_data")  # its checks are to explain their failures

from host_data import ESTIMATORS, REPRESENTATIVE, X, Y  # noqa: E402

# Most tests are small: threads of BLAS would cost more than they gain.
threadpool_limits(1)

ROOT = Path(__file__).resolve().parent.parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark as slow what ``shared_code`` leaves out of the fast group, and what needs real data."""
    for item in items:
        mark = item.get_closest_marker("shared_code")
        left_out = mark and not is_fast(item.callspec.params, mark.kwargs)
        if left_out or item.get_closest_marker("data"):
            item.add_marker(pytest.mark.slow)


def is_fast(parameters, others):
    """Whether a test of shared code is of the representative, or has the values for the others."""
    if parameters.get("fitted", parameters.get("one_of_each")) is REPRESENTATIVE:
        return True
    return bool(others) and all(
        parameters[name] in values or name_of(parameters[name]) in values
        for name, values in others.items()
    )


def name_of(value):
    """The name of a function or of a partial one, as scikit-learn's checks are."""
    return getattr(getattr(value, "func", value), "__name__", None)


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
