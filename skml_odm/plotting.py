"""Pictures; they need matplotlib."""

import numbers

import numpy as np
from sklearn.exceptions import NotFittedError

from .decisions.scores import probabilities_of
from .metrics.labels import LABEL_MEASURES
from .utils.validation import Target, check_choice, check_real

# Distinguishable by colour-blind people and in print, also by their lines and markers. After Okabe
# and Ito, the light ones darkened: a contrast of 3 or more on white.
COLOURS = (
    "#0072b2",
    "#d55e00",
    "#007a59",
    "#000000",
    "#b5588f",
    "#a86c00",
    "#2e8fcb",
    "#7a4b1e",
)
LINES = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1.2, 1.2)))
MARKERS = "osD^vPX*<>h"

SMALL = (4.6, 3.4)  # inches: legible on a telephone


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
    table = _table_of(search)
    metrics = [name.removeprefix("mean_test_") for name in table if name.startswith("mean_test_")]
    searched = sorted({name for candidate in table["params"] for name in candidate})
    check_choice("x", x, searched)
    check_choice("y", y, searched)
    if x == y:
        raise ValueError(f"x and y must be two parameters; got {x!r} twice.")
    if metric is None:
        refit = getattr(search, "refit", None)
        metric = refit if isinstance(refit, str) and refit in metrics else metrics[0]
    check_choice("metric", metric, metrics)
    columns, rows = (_values(table["params"], name) for name in (x, y))
    column_of, row_of = ({_sign(v): i for i, v in enumerate(each)} for each in (columns, rows))
    field = np.full((len(rows), len(columns)), np.nan)
    scores = table[f"mean_test_{metric}"]
    places = [(row_of[_sign(c.get(y))], column_of[_sign(c.get(x))]) for c in table["params"]]
    for at, score in zip(places, scores, strict=True):
        field[at] = np.fmax(field[at], score)
    ax = _axes(ax, (2.5 + 0.5 * len(columns), 1.5 + 0.35 * len(rows)))
    # half of the colours for the upper half of the fields: a few bad candidates hide no differences
    low = np.nanmedian(field) if np.isfinite(field).any() else 0.0
    high = np.nanmax(field) if np.isfinite(field).any() else 1.0
    image = ax.imshow(
        field, origin="lower", aspect="auto", cmap="viridis", vmin=low - (high - low), vmax=high
    )
    ax.figure.colorbar(image, ax=ax, label=f"mean test {metric}", extend="min")
    best = _best_candidate(search, metric, scores)
    if best is not None:
        row, column = places[best]
        ax.plot(column, row, marker="*", markersize=14, color="white", markeredgecolor="black")
        ax.set_title(
            f"best {scores[best]:.4g}: {x}={_text(columns[column])}, {y}={_text(rows[row])}"
        )
    ax.set_xticks(range(len(columns)), [_text(value) for value in columns], rotation=45, ha="right")
    ax.set_yticks(range(len(rows)), [_text(value) for value in rows])
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    return ax


def critical_difference_size(n_classifiers):
    """Width and height in inches in which no labels of the diagram overlap."""
    return 6.5, 1.3 + 0.24 * ((n_classifiers + 1) // 2 + _most_bars(n_classifiers))


def plot_critical_difference(names, average_ranks, difference=None, ax=None):
    """Average ranks on a line, the best to the left; bars join those that do not differ.

    The diagram of Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7,
    2006.

    Parameters
    ----------
    names : sequence of str
    average_ranks : array-like of shape (n_classifiers,)
    difference : float, optional
        Critical difference of average ranks; without one there are no bars.
    ax : matplotlib Axes, optional
        Where to draw; a new figure of ``critical_difference_size`` by default.

    Returns
    -------
    matplotlib Axes
    """
    ranks = np.asarray(average_ranks, dtype=float)
    n_classifiers = len(ranks)
    ax = _axes(ax, critical_difference_size(n_classifiers))
    bars = groups_within(ranks, difference) if difference is not None else []
    order = np.argsort(ranks, kind="stable")
    n_left = (n_classifiers + 1) // 2
    # one unit of y is the height of a label; the line of ranks is at 0
    first_label = 0.9 + 0.5 * len(bars)
    low, high = 1, max(n_classifiers, 2)
    reach = 0.06 * (high - low)
    ax.set_xlim(low - reach, high + reach)
    ax.set_ylim(first_label + n_left, -2.6)
    ax.axis("off")
    line = {"color": "black", "solid_capstyle": "butt", "clip_on": False}

    ax.plot([low, high], [0, 0], linewidth=1.2, **line)
    for tick in range(low, high + 1):
        ax.plot([tick, tick], [-0.25, 0], linewidth=1.2, **line)
        ax.text(tick, -0.4, str(tick), ha="center", va="bottom")
    for at, (best, worst) in enumerate(bars):
        ends, y = [best - 0.15 * reach, worst + 0.15 * reach], 0.5 + 0.5 * at
        ax.plot(ends, [y, y], linewidth=4, **line)
    for place, index in enumerate(order):
        is_left = place < n_left
        # the outermost label has the shortest way down: no line crosses a label
        y = first_label + (place if is_left else n_classifiers - 1 - place)
        end = low - reach if is_left else high + reach
        rank = ranks[index]
        ax.plot([rank, rank, end], [0, y, y], linewidth=0.8, **line)
        words = [str(names[index]), f"{rank:.2f}"]
        ax.text(
            end + (-0.15 if is_left else 0.15) * reach,
            y,
            "  ".join(words if is_left else words[::-1]),
            ha="right" if is_left else "left",
            va="center",
            parse_math=False,
        )
    if difference is not None:
        ax.plot([low, low + difference], [-1.9, -1.9], linewidth=1.2, **line)
        for end in (low, low + difference):
            ax.plot([end, end], [-2.05, -1.75], linewidth=1.2, **line)
        ax.text(low + difference / 2, -2.1, f"CD = {difference:.2f}", ha="center", va="bottom")
    return ax


def groups_within(average_ranks, difference):
    """The largest runs of classifiers, in the order of ranks, that differ by no more than that.

    Parameters
    ----------
    average_ranks : array-like of shape (n_classifiers,)
    difference : float

    Returns
    -------
    list of (float, float)
        Best and worst rank of each run of two or more; no run is part of another.
    """
    ordered = np.sort(average_ranks)
    last = np.searchsorted(ordered, ordered + difference * (1 + 1e-12), side="right") - 1
    runs, reached = [], -1
    for first, end in enumerate(last):
        if end > first and end > reached:
            runs.append((float(ordered[first]), float(ordered[end])))
            reached = end
    return runs


def plot_margins(outcomes, classifiers=None, ax=None):
    """Which share of label pairs has at most a certain margin, one curve per classifier.

    A margin is the score of a relevant label minus that of an irrelevant one of the same test row;
    a pair is ranked wrongly if it is negative. Scores of different classifiers have different
    scales, so the margins of each fold are divided by their mean absolute value. The steeper the
    curve, the more the margins are alike. Curves are cumulative: nothing is smoothed, and the share
    of wrong pairs can be read at zero.

    Parameters
    ----------
    outcomes : iterable of skml_odm.study.outcome.Outcome
        Of one data set; folds are averaged, quantile by quantile.
    classifiers : sequence of str, optional
        In which order they get their colours; by default as they appear.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    groups = _by_classifier(outcomes, "margins")
    ax = _axes(ax, SMALL)
    curves = {}
    for name, group in groups.items():
        folds = np.array([outcome.margins for outcome in group], dtype=float)
        # infinite scores have no scale
        folds = folds[np.isfinite(folds).all(axis=1)]
        if len(folds):
            scales = np.abs(folds).mean(axis=1, keepdims=True)
            curves[name] = (folds / np.where(scales > 0, scales, 1.0)).mean(axis=0)
    styles = _Styles(classifiers or groups)
    ax.axvline(0, color="black", linewidth=0.8)
    for name, quantiles in curves.items():
        shares = np.linspace(0, 100, len(quantiles))
        # every second one: no eye sees the difference, and the file is half as large
        markers = (2 + 2 * styles.at(name) % 16, 16)
        ax.plot(quantiles[::2], shares[::2], **styles.line(name), markevery=markers)
    if curves:
        # the outermost hundredths are single pairs
        all_quantiles = np.array([[*np.quantile(c, (0.01, 0.99))] for c in curves.values()])
        ax.set_xlim(min(all_quantiles[:, 0].min(), -0.1), max(all_quantiles[:, 1].max(), 0.1))
    ax.set_ylim(0, 100)
    ax.set_xlabel("margin / mean absolute margin")
    ax.set_ylabel("share of label pairs, %")
    return _finish(ax, list(curves))


def plot_convergence(outcomes, value="loss", classifiers=None, ax=None):
    """How fits converge: ranking losses or relative duality gap against iterations.

    Parameters
    ----------
    outcomes : iterable of skml_odm.study.outcome.Outcome
        Of one data set. Folds are averaged (gaps: geometrically); a fold that stopped earlier stays
        where it is.
    value : {"loss", "gap"}, default="loss"
        ``"loss"`` draws the test part with the classifier's line and markers, the training part
        as a thin line of the same colour.
    classifiers : sequence of str, optional
        In which order they get their colours; by default as they appear.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    check_choice("value", value, ("loss", "gap"))
    groups = _by_classifier(outcomes, "curve")
    ax = _axes(ax, SMALL)
    styles = _Styles(classifiers or groups)
    for name, group in groups.items():
        folds = [np.array(outcome.curve, dtype=float).reshape(-1, 4) for outcome in group]
        iterations = np.unique(np.concatenate([fold[:, 0] for fold in folds]))

        def mean(column, folds=folds, iterations=iterations):
            return np.mean([np.interp(iterations, f[:, 0], column(f)) for f in folds], axis=0)

        style = {**styles.line(name), "markevery": max(1, len(iterations) // 8)}
        if value == "gap":
            # a gap of zero has no logarithm
            gaps = np.exp(mean(lambda fold: np.log(np.maximum(fold[:, 1], 1e-16))))
            ax.plot(iterations, gaps, **style)
        else:
            ax.plot(iterations, mean(lambda fold: fold[:, 3]), **style)
            ax.plot(
                iterations,
                mean(lambda fold: fold[:, 2]),
                color=style["color"],
                linewidth=0.8,
                label="_training",
            )
    _use_logarithms(ax.xaxis)
    if value == "gap":
        _use_logarithms(ax.yaxis)
    ax.set_xlabel("iterations")
    ax.set_ylabel("relative gap" if value == "gap" else "ranking loss (thin: training)")
    return _finish(ax, list(groups))


def plot_time_and_rank(names, seconds, average_ranks, heading="average rank", ax=None):
    """What a better rank costs: fit seconds against average ranks, one marker per classifier.

    Parameters
    ----------
    names : sequence of str
    seconds : array-like of shape (n_classifiers,)
        NaN leaves a classifier out.
    average_ranks : array-like of shape (n_classifiers,)
    heading : str, default="average rank"
        What the ranks are of.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    ax = _axes(ax, SMALL)
    styles = _Styles(names)
    shown = [
        (name, time, rank)
        for name, time, rank in zip(names, seconds, average_ranks, strict=True)
        if np.isfinite(time) and np.isfinite(rank)
    ]
    for name, time, rank in shown:
        ax.plot([time], [rank], **{**styles.line(name), "markersize": 7, "linestyle": "none"})
    _use_logarithms(ax.xaxis)
    ax.margins(0.1)
    ax.set_xlabel("fit seconds (geometric mean over data sets)")
    ax.set_ylabel(heading)
    return _finish(ax, [name for name, _, _ in shown])


def plot_reliability(estimator, X, y, n_bins=10, ax=None):
    """How often labels are relevant against the probability that they were given.

    Cells (rows × labels) are put into bins by their probability, each with about as many relevant
    ones. On the diagonal probabilities are what they claim to be; bars are two standard errors.

    Parameters
    ----------
    estimator : fitted estimator with ``predict_proba``
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows that the estimator has not been fitted to.
    y : array-like or sparse matrix of shape (n_samples, n_labels)
    n_bins : int, default=10
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    check_real("n_bins", n_bins, 2, integer=True)
    relevant, probability = _cells(estimator, X, y)
    known = ~np.isnan(relevant)
    relevant, probability = relevant[known], probability[known]
    order = np.argsort(probability, kind="stable")
    relevant, probability = relevant[order], probability[order]
    found = np.cumsum(relevant)
    # as many relevant cells in every bin: where labels are rare most probabilities are near zero
    last = np.searchsorted(found, found[-1] * np.arange(1, n_bins) / n_bins)
    parts = [p for p in np.split(np.arange(len(found)), np.unique(last + 1)) if len(p)]
    share = np.array([relevant[p].mean() for p in parts])
    error = 2.0 * np.sqrt(share * (1.0 - share) / [len(p) for p in parts])
    ax = _axes(ax, SMALL)
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1)
    claimed = [probability[p].mean() for p in parts]
    ax.errorbar(claimed, share, yerr=error, color=COLOURS[0], marker=MARKERS[0], capsize=2)
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="mean predicted probability", ylabel="share relevant")
    ax.set_aspect("equal")
    return ax


def plot_cuts(estimator, X, y, measures=("hamming", "micro-f1", "example-f1"), ax=None):
    """Measures of the labels above a cut of the probabilities, against the cut.

    Parameters
    ----------
    estimator : fitted estimator with ``predict_proba``
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows that the estimator has not been fitted to.
    y : array-like or sparse matrix of shape (n_samples, n_labels)
    measures : sequence of str
        Of "hamming", a loss, and "subset-accuracy", "micro-f1", "macro-f1" and "example-f1".
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    for measure in measures:
        check_choice("measures", measure, tuple(LABEL_MEASURES))
    relevant, probability = _cells(estimator, X, y)
    cuts = np.linspace(0.01, 0.99, 99)
    ax = _axes(ax, SMALL)
    for i, measure in enumerate(measures):
        values = [LABEL_MEASURES[measure](relevant, probability > cut) for cut in cuts]
        name = "Hamming loss" if measure == "hamming" else measure
        ax.plot(cuts, values, color=COLOURS[i], linestyle=LINES[i % len(LINES)], label=name)
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="labels with a probability above", ylabel="value")
    ax.legend()
    return ax


def _cells(estimator, X, y):
    """Labels, NaN where they are unknown, and their predicted probabilities."""
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            "estimator must have predict_proba, as LabelDecisionCV and estimators with "
            f"threshold='calibrated' do; got {type(estimator).__name__}."
        )
    labels = Target(y).labels
    return labels, probabilities_of(estimator, X, labels.shape[1])


def _axes(ax, size):
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "skml-odm[study]"') from error
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def _use_logarithms(axis):
    """A logarithmic scale with plain numbers at the powers of ten."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_formatter(lambda value, place: f"{value:g}")
    axis.axes.minorticks_off()


def _most_bars(n_classifiers):
    """More bars than that are rare; then the labels stand closer."""
    return min(n_classifiers, 8) // 2


def _by_classifier(outcomes, field):
    """The outcomes that have the field, by classifier as they appear."""
    groups: dict[str, list] = {}
    for outcome in outcomes:
        if getattr(outcome, field):
            groups.setdefault(outcome.classifier, []).append(outcome)
    return groups


class _Styles:
    """A colour, line and marker for each name; all three tell neighbours apart."""

    def __init__(self, names):
        self._places = {name: place for place, name in enumerate(names)}

    def at(self, name):
        return self._places[name]

    def line(self, name):
        place = self.at(name)
        return {
            "color": COLOURS[place % len(COLOURS)],
            # shifted in each round of colours: no pair of colour and line comes twice
            "linestyle": LINES[(place + place // len(COLOURS)) % len(LINES)],
            "linewidth": 2.2 if place == 0 else 1.5,
            "marker": MARKERS[place % len(MARKERS)],
            "markersize": 4.5,
            # a leading underscore would hide it from the legend
            "label": str(place),
        }


def _finish(ax, names):
    """Grid and legend; names are shown as they are, whatever signs they have."""
    ax.grid(alpha=0.3)
    handles, labels = ax.get_legend_handles_labels()
    if names:
        legend = ax.legend(
            handles,
            labels,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.2),
            ncols=2,
            frameon=False,
            fontsize="small",
            handlelength=2.8,
        )
        for text, name in zip(legend.get_texts(), names, strict=True):
            text.set_parse_math(False)
            text.set_text(str(name))
    return ax


def _table_of(search):
    """The results of a fitted search."""
    if not (hasattr(search, "param_grid") or hasattr(search, "cv_results_")):
        raise ValueError(
            f"search must be a fitted PathSearchCV or GridSearchCV; got {type(search).__name__}."
        )
    if not hasattr(search, "cv_results_"):
        raise NotFittedError(
            f"search must be fitted; this {type(search).__name__} is not. Call fit first."
        )
    return search.cv_results_


def _best_candidate(search, metric, scores):
    """Index of the search's choice, or of the best score if it made none by this metric."""
    refit = getattr(search, "refit", None)
    chosen = getattr(search, "best_index_", None)
    if chosen is not None and (not isinstance(refit, str) or metric in (refit, "score")):
        return int(chosen)
    return int(np.nanargmax(scores)) if np.isfinite(scores).any() else None


def _values(candidates, name):
    """The values of a parameter: numbers in order, then others as they come."""
    by_sign: dict = {}
    for candidate in candidates:
        by_sign.setdefault(_sign(candidate.get(name)), candidate.get(name))
    seen = list(by_sign.values())
    are_numbers = [value for value in seen if isinstance(value, numbers.Real)]
    return sorted(are_numbers) + [value for value in seen if not isinstance(value, numbers.Real)]


def _sign(value):
    """What equal values have in common, also those that cannot be keys of a dict."""
    try:
        hash(value)
    except TypeError:
        return type(value), repr(value)
    return value


def _text(value):
    """Powers of two as such, other numbers in few digits."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return str(value)
    value = float(value)
    power = np.log2(value) if value > 0 else 0.5
    if power == round(power) and abs(power) > 3:
        return f"$2^{{{round(power)}}}$"
    return f"{value:g}"
