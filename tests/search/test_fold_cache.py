"""What fits to the same rows share, and what they must not."""

import numpy as np
import pytest
from sklearn.base import clone
from small_searches import X, Y

from skml_odm import MLODM, RankSVM
from skml_odm.search.fold_cache import FoldCache
from skml_odm.search.matrices import FoldMatrices, source_matrix

TRAIN, TEST = np.arange(80), np.arange(80, 120)
FIRST = MLODM(kernel="poly", gamma=0.2, degree=2, coef0=1.0, tol=1e-8)
OTHERS = [
    {"C": 20.0},
    {"kernel": "rbf"},
    {"gamma": 0.5},
    {"degree": 3},
    {"coef0": 0.2},
    {"fit_intercept": False},
]


@pytest.mark.parametrize("shares_products", [False, True])
@pytest.mark.parametrize("change", [*OTHERS, "another class"], ids=str)
def test_a_cache_starts_anew_for_another_kernel(change, shares_products):
    """The scores of a second model are those of a fit of its own."""
    sources = {"products": source_matrix("products", X)} if shares_products else {}
    cache = FoldCache(X[TEST], FoldMatrices(sources, TRAIN, TEST))
    if change == "another class":
        second = RankSVM(kernel="poly", gamma=0.2, degree=2, coef0=1.0, tol=1e-6)
    else:
        second = clone(FIRST).set_params(**change)
    alone = clone(second).fit(X[TRAIN], Y[TRAIN])
    for model in (clone(FIRST), second):
        cache.fit(model, X[TRAIN], Y[TRAIN])
        cache.know_values(model)
    np.testing.assert_allclose(second.label_scores(X[TEST]), alone.label_scores(X[TEST]), atol=1e-4)
