"""Fixtures that several test files share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_folder():
    """The folder of the real data sets: SKML_ODM_DATA, or ../shared/data beside the repository."""
    folder = Path(os.environ.get("SKML_ODM_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no data sets: SKML_ODM_DATA (or its default) is {folder}, not a folder")
    return folder
