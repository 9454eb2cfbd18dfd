"""Pictures of studies show the numbers they are given, and names as they are."""

import numpy as np
import pytest
from study_outcomes import CLASSIFIERS, fake_study

from skml_odm.plotting import (
    COLOURS,
    critical_difference_size,
    plot_convergence,
    plot_critical_difference,
    plot_margins,
    plot_time_and_rank,
)
from skml_odm.study.outcome import Outcome

figures = pytest.importorskip("matplotlib.figure")


@pytest.fixture
def ax():
    return figures.Figure(figsize=(5, 4), layout="constrained").add_subplot()


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("n_classifiers", [2, 10, 20])
def test_labels_of_ranks_do_not_overlap(n_classifiers):
    rng = np.random.default_rng(0)
    # all close together: the worst case for bars and labels
    ranks = (n_classifiers + 1) / 2 + rng.normal(0, 0.3, n_classifiers)
    figure = figures.Figure(figsize=critical_difference_size(n_classifiers))
    ax = figure.add_subplot()
    names = [f"ClassifierChain{i}(LogisticRegression)" for i in range(n_classifiers)]
    assert plot_critical_difference(names, ranks, 0.4, ax=ax) is ax
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 2 * n_classifiers + 1
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])


def test_ranks_stand_at_their_place_and_bars_join_groups(ax):
    plot_critical_difference(["b", "$a$", "c"], [2.2, 1.0, 2.8], 1.3, ax=ax)
    thick = [line.get_xdata() for line in ax.lines if line.get_linewidth() == 4]
    np.testing.assert_allclose(thick, [(1.0, 2.2), (2.2, 2.8)], atol=0.05)
    starts = sorted(line.get_xdata()[0] for line in ax.lines if line.get_linewidth() == 0.8)
    assert starts == [1.0, 2.2, 2.8]
    texts = [text.get_text() for text in ax.texts]
    assert {"$a$  1.00", "2.80  c", "CD = 1.30"} <= set(texts)


def test_margins_are_scaled_and_averaged(ax):
    outcomes = [o for o in fake_study(1, 3, 4) if o.margins]
    assert plot_margins(outcomes, ax=ax) is ax
    assert legend_of(ax) == list(CLASSIFIERS[:3])
    of_third = [np.array(o.margins) for o in outcomes if o.classifier == CLASSIFIERS[2]]
    expected = np.mean([m / np.mean(np.abs(m)) for m in of_third], axis=0)
    line = ax.lines[3]
    np.testing.assert_allclose(np.interp(50, line.get_ydata(), line.get_xdata()), expected[50])
    assert line.get_color() == COLOURS[2]


def test_margins_of_odd_scores(ax):
    """Constant scores have no scale, infinite ones are left out."""
    constant, infinite = [0.0] * 101, [-np.inf] + [1.0] * 100
    outcomes = [Outcome("a", "X", 1, margins=constant), Outcome("a", "Y", 1, margins=infinite)]
    plot_margins(outcomes, ax=ax)
    assert legend_of(ax) == ["X"]
    ax.figure.canvas.draw()


def test_colours_follow_the_order_of_the_study(ax):
    outcomes = [o for o in fake_study(1, 3, 1) if o.classifier == CLASSIFIERS[2]]
    plot_margins(outcomes, CLASSIFIERS, ax=ax)
    assert ax.lines[1].get_color() == COLOURS[2]


def test_convergence_averages_folds(ax):
    outcomes = fake_study(1, 3, 2)
    plot_convergence(outcomes, ax=ax)
    assert legend_of(ax) == list(CLASSIFIERS[:2])
    curves = [np.array(o.curve) for o in outcomes if o.classifier == CLASSIFIERS[0]]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), np.mean(curves, axis=0)[:, 3])
    np.testing.assert_allclose(ax.lines[1].get_ydata(), np.mean(curves, axis=0)[:, 2])


def test_convergence_of_gaps(ax):
    plot_convergence(fake_study(1, 1, 2), "gap", ax=ax)
    np.testing.assert_allclose(ax.lines[0].get_ydata()[:2], [0.8, 0.8 * 2**-1.7])
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    with pytest.raises(ValueError, match="value must be one of"):
        plot_convergence([], "time", ax=ax)


def test_time_and_rank_leaves_out_what_is_missing(ax):
    plot_time_and_rank(["a", "_b", "c"], [1.0, 10.0, np.nan], [2.0, 1.0, 3.0], ax=ax)
    assert legend_of(ax) == ["a", "_b"]
    assert [tuple(line.get_xydata()[0]) for line in ax.lines] == [(1, 2), (10, 1)]
