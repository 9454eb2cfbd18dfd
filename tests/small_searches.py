"""Data for searches, and what two searches have in common."""

import numpy as np
from sklearn.model_selection import KFold

from skml_odm.metrics import ranking_loss_scorer

CV = KFold(3, shuffle=True, random_state=0)


def data(n=120, q=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    Y = (X @ rng.normal(size=(5, q)) + rng.normal(size=(n, q)) > 0.4).astype(int)
    return X, Y


X, Y = data()


def results(search, prefix="split"):
    return {k: v for k, v in search.cv_results_.items() if k.startswith((prefix, "mean_test"))}


def means(search):
    """Pairs of parameters and mean test score."""
    table = search.cv_results_
    return list(zip(table["params"], table["mean_test_score"], strict=True))


def assert_same(ours, theirs, tolerance=1e-6):
    """The same candidates and test scores."""
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    for key, values in results(theirs).items():
        np.testing.assert_allclose(ours.cv_results_[key], values, atol=tolerance, err_msg=key)


class Stopping:
    """A scorer that raises after so many calls."""

    def __init__(self, after, error):
        self.left, self.error = after, error

    def __call__(self, estimator, X, y):
        self.left -= 1
        if self.left < 0:
            raise self.error
        return ranking_loss_scorer(estimator, X, y)

    def __repr__(self):
        return "Stopping"
