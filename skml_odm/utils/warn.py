"""Warnings that point at the user's line."""

import sys
import warnings

PACKAGE = __name__.partition(".")[0] + "."


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside this package that has led here, however many calls ago."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
