"""What is noted of a fit besides its measures: margins, convergence, certificate, versions."""

import platform
import warnings
from contextlib import suppress
from functools import lru_cache
from importlib import metadata
from pathlib import Path

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .. import __version__
from ..estimators.base import LabelRanker
from ..metrics import ranking_loss

# a curve of convergence has points at these numbers of iterations
CURVE_ITERATIONS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
# more rows than this have their margins sampled
MOST_ROWS_FOR_MARGINS = 2000


def margin_quantiles(y, scores):
    """101 quantiles of the margins of all label pairs; empty if there is no pair."""
    relevant, irrelevant = y == 1, y == 0
    rows = np.flatnonzero(relevant.any(axis=1) & irrelevant.any(axis=1))
    step = max(1, len(rows) // MOST_ROWS_FOR_MARGINS)
    margins = [
        np.subtract.outer(scores[i, relevant[i]], scores[i, irrelevant[i]]).ravel()
        for i in rows[::step]
    ]
    if not margins:
        return []
    quantiles = np.quantile(np.concatenate(margins), np.linspace(0.0, 1.0, 101))
    return [float(f"{value:.5g}") for value in quantiles]


def convergence(fitted, parts):
    """How the gap and the ranking losses fall with the iterations, of classifiers of ours."""
    if not isinstance(fitted, LabelRanker) or "max_iter" not in fitted.get_params():
        return []
    X_train, y_train, X_test, y_test = parts
    points = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for limit in CURVE_ITERATIONS:
            fitted.set_params(max_iter=limit).fit(X_train, y_train)
            losses = [
                ranking_loss(y, fitted.label_scores(X))
                for X, y in ((X_train, y_train), (X_test, y_test))
            ]
            points.append([int(np.max(fitted.n_iter_)), float(fitted.dual_gap_), *losses])
            if fitted.dual_gap_ <= fitted.tol or np.max(fitted.n_iter_) < limit:
                break
    return points


def certificate(fitted):
    """How well a classifier of ours was solved, and how many rows its solution needs."""
    if not isinstance(fitted, LabelRanker):
        return {}
    names = {"dual_gap": "dual_gap_", "iterations": "n_iter_", "support_rows": "n_support_"}
    return {
        key: np.max(getattr(fitted, name)).item()
        for key, name in names.items()
        if hasattr(fitted, name)
    }


def plain(value):
    """A parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


@lru_cache(maxsize=1)
def versions():
    """Versions of what results depend on."""
    names = ("scikit-multilearn-ng", "scikit-multilearn", "scikit-learn", "numpy", "scipy")
    found = {"python": platform.python_version(), "skml-odm": __version__}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@lru_cache(maxsize=1)
def hardware():
    """What times depend on: the processor, its cores that may be used, the operating system."""
    return {
        "processor": _processor(),
        "cores": joblib.cpu_count(),
        "system": platform.platform(),
    }


def _processor():
    """The model of the processor, as far as the system tells."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
