"""The figures of a report as SVG: the same text for the same numbers."""

import io
import re

import numpy as np

from ..measures import MEASURES
from ..statistics import nemenyi_difference
from .document import Figure, Section

# of these the first that all results have
FIT_SECONDS = ("fit_processor_seconds", "fit_seconds")

SETTINGS = {
    "svg.hashsalt": "skml-odm",  # ids do not change from run to run
    "svg.fonttype": "none",  # text stays text: small, searchable, and in the colour of the page
    "font.size": 9.0,
    "font.family": ["DejaVu Sans"],
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def critical_difference_figure(summary, measure):
    """Average ranks, and what does not differ; None with one classifier or data set."""
    from ...plotting import critical_difference_size, plot_critical_difference

    n_sets, n_classifiers = len(summary.ranked_data(measure)), len(summary.classifiers)
    if n_sets < 2 or n_classifiers < 2:
        return None
    test = summary.friedman(measure)
    difference = None if test is None else nemenyi_difference(n_sets, n_classifiers)
    svg = _draw(
        lambda ax: plot_critical_difference(
            summary.classifiers, summary.average_ranks(measure), difference, ax=ax
        ),
        critical_difference_size(n_classifiers),
        cut="tight",  # names stand outside the axes
    )
    caption = f"Average ranks by {MEASURES[measure][0]}, the best to the left."
    if difference is not None:
        caption += " Bars join classifiers that do not differ significantly (Nemenyi)."
    return Figure(f"ranks-{measure.replace('_', '-')}", svg, caption, is_wide=True)


def margins(summary):
    """Distributions of margins, a figure per data set; None without margins."""
    from ...plotting import plot_margins

    figures = _per_data_set(
        summary,
        "margins",
        "margins",
        lambda outcomes, ax: plot_margins(outcomes, summary.classifiers, ax=ax),
        "{data}: margins of label pairs in the test parts, cumulative.",
    )
    return Section("margins", "Margin distributions", figures) if figures else None


def convergence(summary):
    """Curves of ranking losses and of gaps, two figures per data set; None without curves."""
    from ...plotting import plot_convergence

    figures = []
    for value, caption in (
        ("loss", "{data}: ranking loss during the fit, test (thick) and training part (thin)."),
        ("gap", "{data}: relative duality gap during the fit."),
    ):
        figures += _per_data_set(
            summary,
            "curve",
            f"convergence-{value}",
            lambda outcomes, ax, value=value: plot_convergence(
                outcomes, value, summary.classifiers, ax=ax
            ),
            caption,
        )
    return Section("convergence", "Convergence", figures) if figures else None


def costs(summary, measure):
    """Time against ranks; None if either is missing."""
    from ...plotting import SMALL, plot_time_and_rank

    ranks = summary.average_ranks(measure)
    kinds = [name for name in FIT_SECONDS if name in summary.shown_measures]
    if not kinds or not np.isfinite(ranks).all():
        return None
    # over the data sets that all have finished, so that nobody is fast by failing
    times = summary.means(kinds[0])
    times = times[~np.isnan(times).any(axis=1)]
    if not len(times):
        return None
    seconds = np.exp(np.log(np.maximum(times, 1e-9)).mean(axis=0))
    heading = f"average rank by {MEASURES[measure][0]}"
    svg = _draw(
        lambda ax: plot_time_and_rank(summary.classifiers, seconds, ranks, heading, ax=ax), SMALL
    )
    sets = "1 data set" if len(times) == 1 else f"{len(times)} data sets"
    kind = "processor" if kinds[0] == FIT_SECONDS[0] else "wall-clock"
    caption = (
        f"Fit time in {kind} seconds, over the {sets} that all have finished, against average rank."
    )
    return Section("costs", "Time and rank", [Figure("time-and-rank", svg, caption)])


def inline(figure):
    """The SVG of a figure as part of a page: colours of the page, ids of its own.

    Black and white become the page's foreground and background, and the colours of lines become
    variables, which have other values in dark mode.
    """
    from ...plotting import COLOURS

    svg = figure.svg[figure.svg.index("<svg") :]

    def adapted(tag):
        text = tag.group(0).replace("xlink:href", "href").replace(' id="', f' id="{figure.name}-')
        text = re.sub(r'(href="|url\()#', rf"\g<1>#{figure.name}-", text)
        text = text.replace("#ffffff", "var(--page)").replace("#000000", "currentColor")
        for place, colour in enumerate(COLOURS):
            text = text.replace(colour, f"var(--line-{place}, {colour})")
        return text

    return re.sub(r"<[^>]*>", adapted, svg).strip()


def _per_data_set(summary, field, prefix, plot, caption):
    from ...plotting import SMALL

    figures = []
    for place, data in enumerate(summary.data, start=1):
        outcomes = [o for o in summary.outcomes if o.data == data and getattr(o, field)]
        if outcomes:
            words = re.sub(r"[^a-z0-9]+", "-", data.lower()).strip("-")
            n_names = len({outcome.classifier for outcome in outcomes})
            size = SMALL[0], SMALL[1] + 0.17 * max(0, (n_names + 1) // 2 - 3)
            svg = _draw(lambda ax, outcomes=outcomes: plot(outcomes, ax), size)
            # the number keeps apart what differs in other signs only
            name = f"{prefix}-{place}-{words}".rstrip("-")
            figures.append(Figure(name, svg, caption.format(data=data)))
    return figures


def _draw(plot, size, cut=None):
    """The SVG text of what ``plot`` draws on the axes it is given."""
    from matplotlib import style
    from matplotlib.figure import Figure as Canvas

    with style.context(["default", SETTINGS]):
        figure = Canvas(figsize=size, layout="constrained")
        plot(figure.add_subplot())
        file = io.StringIO()
        nothing = {"Date": None, "Creator": None}
        figure.savefig(file, format="svg", bbox_inches=cut, metadata=nothing)
    return _lean(file.getvalue())


def _lean(svg):
    """The same picture in fewer signs: small files, and the same ones on every machine."""
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    used = set(re.findall(r"#(\w+)", svg))
    svg = re.sub(r"\n +", "\n", svg)

    def lean(tag):
        text = tag.group(0)
        text = re.sub(r' id="([^"]*)"', lambda id: id.group(0) if id.group(1) in used else "", text)
        text = re.sub(r' transform="rotate\(-?0 [^"]*"', "", text)
        text = re.sub(r' d="[^"]*"', lambda path: _lean_path(path.group(0)), text)
        return _rounded(text, 2)

    # tags only: names are shown as they are
    return re.sub(r"<[^>]*>", lean, svg)


def _lean_path(path):
    path = re.sub(r"\s+", " ", path).replace(' "', '"')
    if re.fullmatch(r' d="M [^A-Za-z]*( L [^A-Za-z]*)+"', path):
        # one L serves all points that follow
        start, *points = path.split(" L ")
        path = f"{start} L {' '.join(points)}"
    # a long path is a curve of data, a short one may be a marker, whose shape needs more digits
    return _rounded(path, 1 if len(path) > 600 else 2)


def _rounded(text, digits):
    """Numbers with that many decimals at most."""
    return re.sub(
        rf"-?\d+\.\d{{{digits + 1},}}", lambda number: f"{float(number.group()):.{digits}f}", text
    )
