"""The picture of a search shows its scores, and says what is wrong with its arguments."""

import numpy as np
import pytest

from skml_odm import MLODM, PathSearchCV
from skml_odm.metrics import average_precision_scorer, ranking_loss_scorer
from skml_odm.plotting import plot_search

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
