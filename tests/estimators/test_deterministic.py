"""Two fits with the same arguments give the same model, with and without a seed."""

import numpy as np
import pytest
from sklearn.base import clone

from skml_odm import (
    CSRL,
    M3L,
    MCODM,
    MLODM,
    ODM,
    PMLLRS,
    PMLODM,
    Particle,
    PathSearchCV,
    RankCVM,
    RankLSVM,
    RankSVM,
    RankSVMz,
)
from skml_odm.datasets import load_digit_attributes

X, Y = load_digit_attributes(return_X_y=True)
X, Y = X[:150], Y[:150]

ESTIMATORS = [
    CSRL(),
    M3L(),
    MLODM(),
    MLODM(solver="bcd"),
    MLODM(solver="m3"),
    PMLODM(),
    Particle(),
    PMLLRS(),
    RankCVM(),
    RankLSVM(solver="bcd"),
    RankSVM(),
    RankSVM(solver="multipliers"),
    RankSVMz(),
    RankSVMz(kernel="linear"),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_rankers(estimator):
    one, two = (clone(estimator).fit(X, Y).label_scores(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("estimator", [MCODM(solver="descent"), MCODM(), ODM()], ids=repr)
def test_classifiers(estimator):
    classes = Y[:, 0] if isinstance(estimator, ODM) else Y[:, 0] + Y[:, 1]
    one, two = (clone(estimator).fit(X, classes).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("estimator", [MLODM(solver="bcd"), RankSVM(), CSRL()], ids=repr)
def test_a_seed_remains_possible(estimator):
    """It changes the order of the rows, and so what is left of the gap."""
    scores = [
        clone(estimator).set_params(random_state=seed).fit(X, Y).label_scores(X)
        for seed in (None, 0, 1, 1)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[1], scores[2])
    np.testing.assert_array_equal(scores[2], scores[3])


def test_random_searches_try_the_same_candidates():
    grid = {"C": [0.1, 1.0, 10.0, 100.0], "theta": [0.0, 0.3, 0.6]}
    one, two = (
        PathSearchCV(MLODM(), grid, strategy="random", n_candidates=3, cv=2).fit(X, Y).cv_results_
        for _ in range(2)
    )
    assert one["params"] == two["params"]
