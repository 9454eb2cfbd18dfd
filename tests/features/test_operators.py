"""Operators against the explicit matrix X Xᵀ (+ 1), and the memory a linear fit takes."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from skml_odm import MCODM, MLODM, ODM, PMLODM, RankSVMz
from skml_odm.features import operators
from skml_odm.features.kernels import Kernel
from skml_odm.features.operators import (
    ChunkedOperator,
    KernelOperator,
    LinearOperator,
)

KINDS = ("kernel", "chunked", "chunked, nothing kept", "dense", "csr_matrix", "csr_array")
SLICES = (
    slice(0, 5),
    slice(3, None, 4),
    slice(0, None),
    slice(2, 3),
    np.array([11, 2, 5, 16]),
    np.array([3, 0]),
)


def make_operator(kind, X, intercept):
    if kind == "kernel":
        return KernelOperator(X @ X.T, intercept)
    if kind.startswith("chunked"):
        room = 0.0 if "nothing" in kind else 8 * 5 * len(X)
        return ChunkedOperator(Kernel("linear", 1.0, 3, 0.0), X, intercept, room)
    if kind == "dense":
        return LinearOperator(X, intercept)
    return LinearOperator(getattr(sparse, kind)(X), intercept)


def random_rows(m=17, d=4, q=3):
    rng = np.random.default_rng(m)
    X = rng.normal(size=(m, d))
    X[rng.random((m, d)) < 0.4] = 0.0
    X[2] = 0.0
    return X, rng.normal(size=(m, q)), rng


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.mark.parametrize("intercept", [False, True])
def test_product(kind, intercept):
    X, V, _ = random_rows()
    operator = make_operator(kind, X, intercept)
    np.testing.assert_allclose(operator.product(V), (X @ X.T + intercept) @ V, atol=1e-12)
    assert operator.shape == (17, 17)
    assert operator.intercept == intercept


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("rows", SLICES)
def test_parts_leave_the_intercept_out(kind, intercept, rows):
    X, V, rng = random_rows()
    operator = make_operator(kind, X, intercept)
    K = X @ X.T
    np.testing.assert_allclose(operator.product_rows(rows, V), K[rows] @ V, atol=1e-12)
    few = rng.normal(size=(len(X[rows]), 3))
    np.testing.assert_allclose(operator.spread(rows, few), K[:, rows] @ few, atol=1e-12)
    np.testing.assert_allclose(operator.gram(rows), K[rows][:, rows], atol=1e-12)


def test_parts_are_plain_contiguous_arrays(kind):
    """Compiled code takes nothing else."""
    X, V, _ = random_rows()
    operator = make_operator(kind, X, True)
    gram = operator.gram(slice(1, None, 3))
    assert type(gram) is np.ndarray
    assert gram.flags.c_contiguous
    for result in (operator.product(V), operator.product_rows(slice(0, 4), V)):
        assert type(result) is np.ndarray


def test_follow_knows_the_scores_while_coefficients_change(kind):
    X, A, rng = random_rows()
    operator = make_operator(kind, X, False)
    K = X @ X.T
    follower = operator.follow(A)
    for rows in (*SLICES, *SLICES):
        np.testing.assert_allclose(follower.scores(rows), K[rows] @ A, atol=1e-11)
        before = A[rows].copy()
        A[rows] += rng.normal(size=before.shape)
        follower.changed(rows, before)
    np.testing.assert_allclose(follower.scores(slice(0, None)), K @ A, atol=1e-11)


def test_scores_of_a_follower_may_be_overwritten(kind):
    X, A, _ = random_rows()
    follower = make_operator(kind, X, False).follow(A)
    first = follower.scores(slice(0, 6))
    kept = first.copy()
    first += 7.0
    np.testing.assert_allclose(follower.scores(slice(0, 6)), kept)


@pytest.mark.parametrize("work", [1, 60, 200])
def test_product_does_not_depend_on_chunks(monkeypatch, kind, work):
    monkeypatch.setattr(operators, "WORK_PER_CALL", work)
    X, V, _ = random_rows()
    operator = make_operator(kind, X, True)
    np.testing.assert_allclose(operator.product(V), (X @ X.T + 1) @ V, atol=1e-12)


def test_one_column_and_one_row(kind):
    X = np.array([[2.0, -1.0]])
    operator = make_operator(kind, X, True)
    np.testing.assert_allclose(operator.product(np.array([[3.0]])), [[18.0]])


def test_weights_are_the_primal_ones():
    X, A, _ = random_rows()
    for operator in (LinearOperator(X, True), LinearOperator(sparse.csr_matrix(X), True)):
        np.testing.assert_allclose(operator.weights(A), X.T @ A, atol=1e-12)


def test_inputs_stay_unchanged(kind):
    X, V, _ = random_rows()
    operator = make_operator(kind, X, True)
    stored = operator.matrix if kind == "kernel" else operator.X
    for array in (V, stored.data if sparse.issparse(stored) else stored):
        array.setflags(write=False)
    operator.product(V)
    operator.spread(slice(0, 5), V[:5])
    follower = operator.follow(V)
    follower.changed(slice(0, 5), V[:5])


@pytest.mark.filterwarnings("ignore:MLODM stopped")
@pytest.mark.parametrize("solver", ["auto", "newton", "bcd", "m3"])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_linear_fit_never_forms_the_kernel_matrix(solver, convert):
    """The peak stays below a tenth of one m × m matrix."""
    m, d = 3000, 5
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, d))
    y = (X @ rng.normal(size=(d, 3)) > 0).astype(int)
    X = convert(X)
    tracemalloc.start()
    model = MLODM(kernel="linear", solver=solver, tol=1e-1, max_iter=8, random_state=0).fit(X, y)
    model.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < m * m * 8 / 10


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(operators, "CHUNK_ROWS", 32)


def test_fits_without_a_kernel_matrix(one_of_each, small_chunks):
    """The same model with nothing, a part, or all of the kernel matrix in memory."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(75, 4))
    Y = (X @ rng.normal(size=(4, 3)) + 0.3 * rng.normal(size=(75, 3)) > 0.2).astype(int)
    tol = {"tol": 1e-7, "random_state": 0, "kernel": "rbf"}
    whole = clone(one_of_each).set_params(**tol).fit(X, Y)
    for megabytes in (0.0, 0.02):
        parts = clone(one_of_each).set_params(cache_size=megabytes, **tol).fit(X, Y)
        assert parts.dual_gap_ <= 1e-7
        # PMLODM's confidences come from models of a looser tolerance
        same = 1e-3 if isinstance(whole, PMLODM) else 1e-6
        assert parts.objective_ == pytest.approx(whole.objective_, rel=same)
        np.testing.assert_allclose(parts.label_scores(X), whole.label_scores(X), atol=1e-2)


@pytest.mark.parametrize("model", [ODM(kernel="rbf"), MCODM(kernel="rbf", mu=0.0)], ids=repr)
def test_classifiers_without_a_kernel_matrix(model, small_chunks):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(110, 4))
    y = (X @ rng.normal(size=(4, 2)) > 0) @ ([1, 0] if isinstance(model, ODM) else [1, 2])
    tol = {"tol": 1e-7, "random_state": 0}
    whole = clone(model).set_params(**tol).fit(X, y)
    parts = clone(model).set_params(cache_size=0.02, **tol).fit(X, y)
    assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-6)


@pytest.mark.slow
def test_memory_without_a_kernel_matrix(small_chunks):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    Y = (X @ rng.normal(size=(4, 3)) > 0.2).astype(int)
    tracemalloc.start()
    model = MLODM(cache_size=2.0, random_state=0).fit(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.dual_gap_ <= model.tol
    assert peak < 8e6 < 8 * 1500**2


def test_what_needs_the_kernel_matrix():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(90, 3)), rng.integers(2, size=(90, 3))
    with pytest.raises(ValueError, match="cache_size"):
        MLODM(kernel="sigmoid", cache_size=0.01).fit(X, Y)
    with pytest.raises(ValueError, match="cache_size"):
        RankSVMz(kernel="laplacian", cache_size=0.01).fit(X, Y)
    with pytest.raises(ValueError, match="cache_size"):
        MLODM(cache_size=-1.0).fit(X, Y)
