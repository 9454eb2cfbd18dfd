"""The picture of a search shows its scores, and says what is wrong with its arguments."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skml_odm import MLODM, PathSearchCV
from skml_odm.metrics import average_precision_scorer, ranking_loss_scorer
from skml_odm.plotting import plot_cuts, plot_reliability, plot_search

pyplot = pytest.importorskip("matplotlib.pyplot")
pyplot.switch_backend("Agg")


@pytest.fixture(scope="module")
def search():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = (X @ rng.normal(size=(3, 3)) > 0).astype(int)
    grid = {"C": [16.0, 0.5], "gamma": ["scale", 0.1, 0.01], "mu": [0.1, 0.9]}
    scoring = {"loss": ranking_loss_scorer, "precision": average_precision_scorer}
    return PathSearchCV(MLODM(), grid, cv=2, scoring=scoring, refit="loss").fit(X, Y)


@pytest.mark.parametrize("metric", [None, "precision"])
def test_fields_are_the_best_scores(search, metric):
    ax = plot_search(search, metric=metric)
    shown = ax.images[0].get_array()
    assert shown.shape == (3, 2)
    table, name = search.cv_results_, metric or "loss"
    for i, gamma in enumerate([0.01, 0.1, "scale"]):
        for j, C in enumerate([0.5, 16.0]):
            of_field = [
                score
                for p, score in zip(table["params"], table[f"mean_test_{name}"], strict=True)
                if (p["C"], p["gamma"]) == (C, gamma)
            ]
            assert shown[i, j] == max(of_field)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0.5", "$2^{4}$"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0.01", "0.1", "scale"]
    assert f"{shown.max():.4g}" in ax.get_title()
    pyplot.close(ax.figure)


def test_axes_of_the_user(search):
    figure, ax = pyplot.subplots()
    assert plot_search(search, x="mu", y="C", ax=ax) is ax
    assert ax.get_xlabel() == "mu"
    pyplot.close(figure)


@pytest.mark.parametrize("wrong", [{"x": "theta"}, {"y": "C"}, {"metric": "accuracy"}])
def test_invalid_arguments(search, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        plot_search(search, **wrong)


class Chosen:
    """A search that has chosen one of its candidates."""

    def __init__(self, params, scores, best_index=None, refit=True):
        self.cv_results_ = {"params": params, "mean_test_score": np.array(scores)}
        self.refit = refit
        if best_index is not None:
            self.best_index_ = best_index


def star(ax):
    """Column and row of the mark."""
    (line,) = ax.lines
    return line.get_xdata()[0], line.get_ydata()[0]


@pytest.mark.parametrize(
    ("best_index", "place", "title"),
    [(3, (1, 1), "best 0.5: C=2, gamma=4"), (1, (0, 1), "best 0.9: C=1, gamma=4")],
    ids=["callable", "tie"],
)
def test_the_star_is_the_choice_of_the_search(best_index, place, title):
    params = [{"C": C, "gamma": gamma} for C in (1.0, 2.0) for gamma in (3.0, 4.0)]
    ax = plot_search(Chosen(params, [0.9, 0.9, 0.1, 0.5], best_index))
    assert star(ax) == place
    assert ax.get_title() == title
    pyplot.close(ax.figure)


def test_the_star_without_a_choice_is_the_best_score():
    params = [{"C": C, "gamma": 1.0} for C in (1.0, 2.0)]
    ax = plot_search(Chosen(params, [np.nan, 0.2]))
    assert star(ax) == (1, 0)
    pyplot.close(ax.figure)


def test_values_that_cannot_be_keys():
    values = [[1, 2], np.arange(3), [1, 2]]
    params = [{"C": C, "gamma": value} for C in (1.0, 2.0) for value in values]
    ax = plot_search(Chosen(params, np.arange(6.0), 4))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["[1, 2]", "[0 1 2]"]
    assert star(ax) == (1, 1)
    pyplot.close(ax.figure)


@pytest.mark.parametrize("kind", [PathSearchCV, GridSearchCV])
def test_searches_without_results(kind):
    with pytest.raises(NotFittedError, match=f"search must be fitted; this {kind.__name__}"):
        plot_search(kind(MLODM(), {"C": [1.0], "gamma": [1.0]}))
    with pytest.raises(ValueError, match=r"search must be a fitted PathSearchCV.*got MLODM"):
        plot_search(MLODM())


@pytest.fixture(scope="module")
def calibrated():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 4))
    Y = X @ rng.normal(size=(4, 5)) + rng.normal(size=(400, 5)) > 1.0
    return MLODM(threshold="calibrated").fit(X[:200], Y[:200]), X[200:], Y[200:]


def test_reliability_is_the_share_of_relevant_cells(calibrated):
    model, X, Y = calibrated
    ax = plot_reliability(model, X, Y, n_bins=4)
    claimed, share = ax.containers[0].lines[0].get_data()
    assert len(claimed) == 4
    assert (np.diff(claimed) > 0).all()
    assert np.abs(claimed - share).max() < 0.15
    # every cell is in one bin, each with a quarter of the relevant ones
    probability = np.sort(model.predict_proba(X), axis=None)
    assert claimed[0] == pytest.approx(probability[: round(len(probability) / 2)].mean(), abs=0.2)
    pyplot.close(ax.figure)


def test_cuts_show_the_measures(calibrated):
    model, X, Y = calibrated
    ax = plot_cuts(model, X, Y, measures=("hamming",))
    cuts, values = ax.lines[0].get_data()
    expected = [np.mean((model.predict_proba(X) > cut) != Y) for cut in cuts]
    np.testing.assert_allclose(values, expected)
    pyplot.close(ax.figure)


@pytest.mark.parametrize(
    "other", [make_pipeline(StandardScaler(), MLODM()), RandomForestClassifier(10, random_state=0)]
)
def test_pictures_of_any_classifier_with_probabilities(calibrated, other):
    _, X, Y = calibrated
    other.fit(X, Y)
    for plot in (plot_cuts, plot_reliability):
        pyplot.close(plot(other, X, Y).figure)


def test_pictures_of_probabilities_need_some(calibrated):
    _, X, Y = calibrated
    with pytest.raises(TypeError, match="predict_proba"):
        plot_reliability(MLODM(threshold="zero").fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="measures must be one of 'hamming'"):
        plot_cuts(calibrated[0], X, Y, measures=["f1"])


def test_unknown_labels_are_left_out(calibrated):
    model, X, Y = calibrated
    twice = np.vstack([Y, np.full(Y.shape, np.nan)])
    for plot in (plot_cuts, plot_reliability):
        complete, with_unknown = plot(model, X, Y), plot(model, np.vstack([X, X]), twice)
        for expected, found in zip(complete.lines, with_unknown.lines, strict=True):
            np.testing.assert_allclose(found.get_ydata(), expected.get_ydata())
