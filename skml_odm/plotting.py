"""Pictures; they need matplotlib."""

import numbers

import numpy as np

from .validation import check_choice


def plot_search(search, x="C", y="gamma", metric=None, ax=None):
    """The scores of a search over two parameters, and where the best candidate lies.

    Each field shows the best mean test score of all candidates with its x and y, whatever their
    other parameters. A best candidate at the edge of the picture says that the grid is too small.

    Parameters
    ----------
    search : fitted PathSearchCV or GridSearchCV
    x, y : str, default="C", "gamma"
        Names of searched parameters.
    metric : str, optional
        Name of a scorer; by default the one that decided.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    table = search.cv_results_
    metrics = [name.removeprefix("mean_test_") for name in table if name.startswith("mean_test_")]
    searched = sorted({name for candidate in table["params"] for name in candidate})
    check_choice("x", x, searched)
    check_choice("y", y, searched)
    if x == y:
        raise ValueError(f"x and y must be two parameters; got {x!r} twice.")
    if metric is None:
        refit = getattr(search, "refit", None)
        metric = refit if isinstance(refit, str) else metrics[0]
    check_choice("metric", metric, metrics)
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plot_search needs matplotlib: pip install matplotlib") from error

    columns, rows = (_values(table["params"], name) for name in (x, y))
    field = np.full((len(rows), len(columns)), np.nan)
    scores = table[f"mean_test_{metric}"]
    for candidate, score in zip(table["params"], scores, strict=True):
        at = rows.index(candidate.get(y)), columns.index(candidate.get(x))
        field[at] = np.fmax(field[at], score)
    if ax is None:
        size = (2.5 + 0.5 * len(columns), 1.5 + 0.35 * len(rows))
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    # half of the colours for the upper half of the fields: a few bad candidates hide no differences
    low = np.nanmedian(field) if np.isfinite(field).any() else 0.0
    high = np.nanmax(field) if np.isfinite(field).any() else 1.0
    image = ax.imshow(
        field, origin="lower", aspect="auto", cmap="viridis", vmin=low - (high - low), vmax=high
    )
    ax.figure.colorbar(image, ax=ax, label=f"mean test {metric}", extend="min")
    best = np.unravel_index(np.nanargmax(field), field.shape) if np.isfinite(field).any() else None
    if best is not None:
        ax.plot(best[1], best[0], marker="*", markersize=14, color="white", markeredgecolor="black")
        ax.set_title(
            f"best {field[best]:.4g}: {x}={_text(columns[best[1]])}, {y}={_text(rows[best[0]])}"
        )
    ax.set_xticks(range(len(columns)), [_text(value) for value in columns], rotation=45, ha="right")
    ax.set_yticks(range(len(rows)), [_text(value) for value in rows])
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    return ax


def _values(candidates, name):
    """The values of a parameter: numbers in order, then others as they come."""
    seen = list(dict.fromkeys(candidate.get(name) for candidate in candidates))
    are_numbers = [value for value in seen if isinstance(value, numbers.Real)]
    return sorted(are_numbers) + [value for value in seen if not isinstance(value, numbers.Real)]


def _text(value):
    """Powers of two as such, other numbers in few digits."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return str(value)
    value = float(value)
    power = np.log2(value) if value > 0 else 0.5
    if power == round(power) and abs(power) > 3:
        return f"$2^{{{round(power)}}}$"
    return f"{value:g}"
