"""Routes to large data: approximate kernels, and sparse training row by row."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from small_data import random_data

from skml_odm import CSRL, M3L, MLODM, RankLSVM
from skml_odm.features.operators import LinearOperator
from skml_odm.problems.pairs import PairLoss
from skml_odm.solvers.bcd import bcd


@pytest.mark.parametrize("method", [MLODM, RankLSVM, CSRL, M3L])
def test_approximate_kernels(method):
    """With all rows as landmarks the approximation is exact; with a third of them it is close."""
    X, y = random_data(m=150)
    exact = method(gamma=0.1, tol=1e-9, random_state=0).fit(X, y).label_scores(X)
    for n_components, atol in ((150, 1e-3), (50, 0.5)):
        features = Nystroem(gamma=0.1, n_components=n_components, random_state=0)
        model = make_pipeline(features, method(kernel="linear", tol=1e-9, random_state=0))
        model.fit(X, y)
        scores = model[-1].label_scores(model[0].transform(X))
        np.testing.assert_allclose(scores, exact, atol=atol)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("theta", "mu"), [(0.0, 0.0), (0.1, 0.7)])
def test_descent_by_rows_and_by_panels_agree(intercept, theta, mu):
    """Sparse features take another way through the same blocks."""
    X, y = random_data(m=200)
    results = []
    for features in (X, sparse.csr_matrix(X)):
        loss = PairLoss(y > 0, 2.0, theta, mu, np.linspace(0, 2, 200))
        operator = LinearOperator(features, intercept)
        results.append(bcd(operator, loss, tol=1e-6, max_iter=3000, random_state=0))
    dense, by_rows = results
    assert dense.converged
    assert by_rows.converged
    assert by_rows.primal == pytest.approx(dense.primal, rel=2e-6)
    np.testing.assert_allclose(by_rows.scores, dense.scores, atol=2e-2)


@pytest.mark.parametrize("method", [MLODM, RankLSVM, CSRL, M3L])
def test_wide_sparse_rows_are_never_made_dense(method):
    """A dense X would take 160 MB."""
    rng = np.random.default_rng(0)
    m, d = 200, 10**5
    rows, columns = np.repeat(np.arange(m), 5), rng.integers(d, size=5 * m)
    X = sparse.csr_matrix((rng.random(5 * m), (rows, columns)), shape=(m, d))
    y = rng.integers(2, size=(m, 2))
    model = method(kernel="linear", random_state=0)
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6
    assert model.coef_.shape == (2, d)
    assert model.dual_gap_ <= 1e-3
