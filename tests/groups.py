"""The fast group of tests and the slow one; see docs/testing.md."""

import pytest


def first_fast(values, number):
    """Values for ``parametrize``: the first ``number`` for the fast group, the others slow."""
    return [
        value if place < number else pytest.param(value, marks=pytest.mark.slow)
        for place, value in enumerate(values)
    ]
