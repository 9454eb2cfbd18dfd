"""Kernel matrices against scikit-learn's, kernel parameters against SVC's, indefinite kernels."""

import re
import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.svm import SVC

from skml_odm import MLODM
from skml_odm.estimators import kernel_model
from skml_odm.features.kernels import (
    NAMES,
    ROWS_PER_CALL,
    Kernel,
    KernelPrecisionError,
    check_distances,
    gaussian_kernel,
    make_kernel,
    semidefinite_part,
)

FUNCTIONS = tuple(name for name in NAMES if name != "precomputed")
# parameters under which the kernel is positive semidefinite; sigmoid never is for sure
PARAMETERS = {
    "rbf": {"gamma": 0.3},
    "laplacian": {"gamma": 0.2},
    "poly": {"gamma": 0.5, "degree": 2, "coef0": 1.0},
    "sigmoid": {"gamma": 0.05, "coef0": 0.1},
}


def random_data(m=40, d=4, q=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    y = (X @ rng.normal(size=(d, q)) + rng.normal(size=(m, q)) > 0).astype(int)
    return X, y, rng


def sparse_rows(rng, m, d, density=0.3):
    X = sparse.random(m, d, density=density, format="csr", random_state=rng)
    X.data -= 0.5
    return X


def unsorted(X):
    """The same matrix with every row's entries in reverse order."""
    X = sparse.csr_matrix(X)
    indices, data = X.indices.copy(), X.data.copy()
    for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        indices[a:b], data[a:b] = indices[a:b][::-1].copy(), data[a:b][::-1].copy()
    result = sparse.csr_matrix((data, indices, X.indptr), shape=X.shape)
    assert not result.has_sorted_indices
    return result


def with_duplicates(X):
    """The same matrix with every entry stored in two parts."""
    X = sparse.csr_matrix(X)
    parts = np.repeat(X.data, 2) * np.tile([0.25, 0.75], X.nnz)
    result = sparse.csr_matrix((parts, np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    assert result.nnz == 2 * X.nnz
    return result


def with_zeros(X):
    """The same matrix with every entry stored, zeros as well."""
    m, d = X.shape
    dense = sparse.csr_array(X).toarray()
    indices, indptr = np.tile(np.arange(d), m), d * np.arange(m + 1)
    return sparse.csr_matrix((dense.ravel(), indices, indptr), shape=X.shape)


def long_indices(X):
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


FORMS = {
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "unsorted": unsorted,
    "duplicates": with_duplicates,
    "zeros": with_zeros,
    "int64": long_indices,
}


@pytest.mark.parametrize("m", [1, 2, ROWS_PER_CALL, ROWS_PER_CALL + 1, 3 * ROWS_PER_CALL + 17])
@pytest.mark.parametrize("form", ["dense", "csr_matrix"])
def test_gaussian_kernel_equals_that_of_scikit_learn(m, form):
    rng = np.random.default_rng(m)
    X = sparse_rows(rng, m, 9)
    X = X.toarray() if form == "dense" else X
    K = gaussian_kernel(X, 0.7)
    np.testing.assert_allclose(K, rbf_kernel(X, gamma=0.7), atol=1e-13)


@pytest.mark.parametrize("form", FORMS)
def test_gaussian_kernel_of_unusual_csr(form):
    X = sparse_rows(np.random.default_rng(1), ROWS_PER_CALL + 40, 12)
    reference = rbf_kernel(X.toarray(), gamma=0.4)
    np.testing.assert_allclose(gaussian_kernel(FORMS[form](X), 0.4), reference, atol=1e-13)


@pytest.mark.parametrize("form", FORMS)
def test_gaussian_kernel_leaves_csr_as_it_is(form):
    X = FORMS[form](sparse_rows(np.random.default_rng(2), 30, 6))
    before = [X.data.copy(), X.indices.copy(), X.indptr.copy()]
    gaussian_kernel(X, 0.4)
    for array, copy in zip([X.data, X.indices, X.indptr], before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("d", [1, 7, 33, 300])
@pytest.mark.parametrize("form", ["dense", "csr_matrix"])
def test_gaussian_kernel_is_exactly_symmetric_with_unit_diagonal(d, form):
    rng = np.random.default_rng(d)
    X = 5.0 * rng.normal(size=(2 * ROWS_PER_CALL + 91, d))
    K = gaussian_kernel(X if form == "dense" else sparse.csr_matrix(X), 1e-2 / d)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), 1.0)
    assert K.max() <= 1.0


def test_gaussian_kernel_of_equal_rows_is_one():
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 5)) * 100, 4, axis=0)
    K = gaussian_kernel(X, 0.1)
    np.testing.assert_allclose(K[:4, :4], 1.0, rtol=1e-9)
    assert K.max() <= 1.0


def test_gaussian_kernel_of_zero_rows_and_empty_columns():
    X = np.zeros((6, 4))
    X[0, 1] = 2.0
    for rows in (X, sparse.csr_matrix(X)):
        np.testing.assert_allclose(gaussian_kernel(rows, 0.5), rbf_kernel(X, gamma=0.5))


@pytest.mark.parametrize("form", ["dense", "csr_matrix"])
def test_gaussian_kernel_holds_one_matrix(form):
    """Peak memory is at most 1.2 times the result."""
    rng = np.random.default_rng(0)
    m = 1500
    X = rng.normal(size=(m, 6)) if form == "dense" else sparse_rows(rng, m, 50, density=0.1)
    tracemalloc.start()
    gaussian_kernel(X, 0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 1.2 * m * m * 8


@pytest.mark.parametrize("rule", ["scale", "auto"])
@pytest.mark.parametrize("form", ["dense", *FORMS])
@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_gamma_is_that_of_svc(rule, form, offset):
    rng = np.random.default_rng(5)
    dense = sparse_rows(rng, 60, 7).toarray()
    dense[dense != 0] += offset
    X = dense if form == "dense" else FORMS[form](dense)
    reference = SVC(gamma=rule).fit(dense, rng.random(60) < 0.5)._gamma
    assert make_kernel("rbf", rule, 3, 0.0, X).gamma == pytest.approx(reference, rel=1e-12)


@pytest.mark.parametrize("offset", [1e6, 1e8])
def test_gamma_is_that_of_svc_far_from_the_origin(offset):
    """Nothing but the spread of the data matters, wherever it lies."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 3)) + offset
    reference = SVC(gamma="scale").fit(X, rng.random(60) < 0.5)._gamma
    assert make_kernel("rbf", "scale", 3, 0.0, X).gamma == pytest.approx(reference, rel=1e-6)


@pytest.mark.parametrize("value", [0.0, 4.0])
def test_gamma_of_constant_data_is_one(value):
    X = np.full((5, 3), value)
    reference = SVC(gamma="scale").fit(X, [0, 1, 0, 1, 1])._gamma
    assert make_kernel("rbf", "scale", 3, 0.0, X).gamma == reference == 1.0


@pytest.mark.parametrize("kernel", ["linear", "cosine", "precomputed", lambda A, B: A @ B.T])
def test_gamma_that_no_one_needs_is_not_computed(kernel):
    X = np.array([[1e200, 0.0], [0.0, -1e200]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_kernel(kernel, "scale", 3, 0.0, X)
    for wrong in ("scales", -1.0):
        with pytest.raises(ValueError, match="gamma must be"):
            make_kernel(kernel, wrong, 3, 0.0, X)


def test_gamma_takes_no_copy_of_the_rows():
    X = np.random.default_rng(0).normal(size=(20000, 300))
    tracemalloc.start()
    gamma = make_kernel("rbf", "scale", 3, 0.0, X).gamma
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * X.nbytes
    assert gamma == pytest.approx(1.0 / (300 * X.var()), rel=1e-12)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("size", [1e200, 1e-200, 1e308])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_gamma_beyond_double_precision_is_refused(kernel, size, convert):
    X = np.zeros((6, 2))
    X[3, 1] = size
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if size < 1.0:
            # no variance that double precision knows of: like constant data
            assert make_kernel(kernel, "scale", 3, 0.0, convert(X)).gamma == 1.0
            X *= 1e40
        with pytest.raises(ValueError, match=r"X must have a variance .* for gamma='scale'"):
            make_kernel(kernel, "scale", 3, 0.0, convert(X))


@pytest.mark.parametrize("norm, gamma", [(np.nan, 1.0), (np.inf, 0.0), (np.inf, 1.0), (1.0, 1e12)])
def test_distances_that_are_lost_are_noticed(norm, gamma):
    with np.errstate(invalid="ignore"), pytest.raises(KernelPrecisionError, match="gamma="):
        check_distances(np.array([1.0, norm]), gamma)


@pytest.mark.parametrize("cache_size", [0.0, 2000.0])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_lost_distances_are_refused_however_the_matrix_is_held(convert, cache_size):
    X, y, _ = random_data()
    with pytest.raises(ValueError, match="are lost in rounding at gamma=1e\\+1"):
        MLODM(gamma=1e12, cache_size=cache_size).fit(convert(X), y)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_weighted_gamma_is_that_of_repeated_rows(convert):
    X, _, rng = random_data()
    weight = rng.integers(0, 4, size=len(X))
    repeated = make_kernel("rbf", "scale", 3, 0.0, np.repeat(X, weight, axis=0))
    weighted = make_kernel("rbf", "scale", 3, 0.0, convert(X), weight.astype(float))
    assert weighted.gamma == pytest.approx(repeated.gamma, rel=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_kernel_functions_equal_those_of_scikit_learn(name, convert):
    X, _, rng = random_data()
    Y = rng.normal(size=(9, 4))
    parameters = PARAMETERS.get(name, {})
    kernel = Kernel(name, **{"gamma": 1.0, "degree": 3, "coef0": 0.0, **parameters})
    reference = pairwise_kernels(X, metric=name, **parameters)
    np.testing.assert_allclose(kernel.matrix(convert(X)), reference, atol=1e-12)
    reference = pairwise_kernels(X, Y, metric=name, **parameters)
    found = kernel.between(convert(X), convert(Y))
    np.testing.assert_allclose(found, reference, atol=1e-12)


@pytest.mark.filterwarnings("ignore:The kernel matrix is not positive")
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("intercept", [False, True])
def test_named_precomputed_and_callable_kernels_agree(name, intercept):
    """Three ways to say the same kernel give the same scores of new rows."""
    X, y, rng = random_data()
    new = rng.normal(size=(11, 4))
    parameters = PARAMETERS.get(name, {})

    def function(A, B):
        return pairwise_kernels(A, B, metric=name, **parameters)

    options = {"C": 4.0, "fit_intercept": intercept, "tol": 1e-10}
    named = MLODM(kernel=name, **parameters, **options).fit(X, y)
    called = MLODM(kernel=function, **options).fit(X, y)
    given = MLODM(kernel="precomputed", **options).fit(function(X, X), y)
    scores = named.label_scores(new)
    np.testing.assert_allclose(called.label_scores(new), scores, atol=1e-5)
    np.testing.assert_allclose(given.label_scores(function(new, X)), scores, atol=1e-5)
    assert called.objective_ == pytest.approx(named.objective_, rel=1e-8)
    assert given.objective_ == pytest.approx(named.objective_, rel=1e-8)
    np.testing.assert_array_equal(named.predict(new), given.predict(function(new, X)))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:The kernel matrix is not positive")
def test_dense_and_sparse_features_agree(name):
    X, y, rng = random_data()
    X[rng.random(X.shape) < 0.3] = 0.0
    parameters = PARAMETERS.get(name, {})
    dense = MLODM(kernel=name, tol=1e-10, **parameters).fit(X, y)
    csr = MLODM(kernel=name, tol=1e-10, **parameters).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(
        csr.label_scores(sparse.csr_matrix(X)), dense.label_scores(X), atol=1e-6
    )


def test_new_rows_are_scored_in_chunks(monkeypatch):
    X, y, rng = random_data()
    model = MLODM().fit(X, y)
    new = rng.normal(size=(25, 4))
    whole = model.label_scores(new)
    monkeypatch.setattr(kernel_model, "SCORED_ENTRIES", 3 * len(X))
    np.testing.assert_allclose(model.label_scores(new), whole, rtol=1e-12)


def test_callable_kernel_of_wrong_shape_is_named():
    X, y, _ = random_data()

    def too_narrow(A, B):
        return A @ B[1:].T

    with pytest.raises(ValueError, match=r"kernel.*\(40, 40\).*too_narrow.*\(40, 39\)"):
        MLODM(kernel=too_narrow).fit(X, y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_callable_kernel_with_bad_values_is_named(bad):
    X, y, _ = random_data()

    def broken(A, B):
        K = A @ B.T
        K[0, 0] = bad
        return K

    with pytest.raises(ValueError, match=r"kernel.*finite.*broken"):
        MLODM(kernel=broken).fit(X, y)


def test_asymmetric_callable_kernel_is_refused():
    X, y, _ = random_data()

    def lopsided(A, B):
        return A @ (np.arange(16.0).reshape(4, 4) @ B.T)

    with pytest.raises(ValueError, match=r"kernel.*symmetric"):
        MLODM(kernel=lopsided).fit(X, y)


def test_asymmetric_precomputed_kernel_is_refused():
    """Also where only one far corner differs."""
    m = ROWS_PER_CALL + 30
    K = np.eye(m)
    K[m - 1, 0] = 0.1
    y = np.arange(2 * m).reshape(m, 2) % 3 == 0
    with pytest.raises(ValueError, match=r"kernel.*symmetric.*0\.1"):
        MLODM(kernel="precomputed").fit(K, y)


@pytest.mark.parametrize("options", [{"degree": 2.5}, {"degree": 300, "gamma": 100.0}])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_kernel_that_yields_nan_or_infinity_is_refused(options):
    """A root of a negative number, an overflow: said in words, not by a failing linear solver."""
    X, y, _ = random_data()
    with pytest.raises(ValueError, match="kernel"):
        MLODM(kernel="poly", **options).fit(X, y)


@pytest.mark.parametrize("m", [1, 5, ROWS_PER_CALL + 9])
def test_semidefinite_matrix_is_returned_untouched(m):
    """Full rank, low rank and zero: the same object, no eigenvectors, no warning."""
    rng = np.random.default_rng(m)
    low = rng.normal(size=(m, 2))
    for K in (low @ low.T, low @ low.T + np.eye(m), np.zeros((m, m)), rbf_kernel(low)):
        before = K.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            part, vectors = semidefinite_part(K)
        assert part is K
        assert vectors is None
        np.testing.assert_array_equal(K, before)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("m", [2, 30, ROWS_PER_CALL + 20])
def test_indefinite_matrix_is_projected(m, scale):
    """The nearest semidefinite matrix: negative eigenvalues set to zero; the user is told."""
    rng = np.random.default_rng(m)
    K = rng.normal(size=(m, m))
    K = scale * (K + K.T)
    K[0, 0] = -scale
    values, vectors = np.linalg.eigh(K)
    before = K.copy()
    told = re.escape(f"smallest eigenvalue is {values[0]:.3g}")
    with pytest.warns(ConvergenceWarning, match=told):
        part, kept = semidefinite_part(K)
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    np.testing.assert_allclose(part, clipped, atol=1e-11 * scale * m)
    np.testing.assert_allclose(kept.T @ kept, np.eye(kept.shape[1]), atol=1e-10)
    np.testing.assert_allclose(kept @ (kept.T @ K), clipped, atol=1e-11 * scale * m)
    np.testing.assert_array_equal(K, before)


def test_slightly_indefinite_matrix_is_noticed():
    """One eigenvalue of −1e-4 among ones, hidden behind the first block of rows."""
    m = ROWS_PER_CALL + 40
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(m, m)))[0]
    values = np.ones(m)
    values[-1] = -1e-4
    K = (Q * values) @ Q.T
    with pytest.warns(ConvergenceWarning, match="smallest eigenvalue is -0.0001"):
        semidefinite_part(0.5 * (K + K.T))


def test_single_precision_noise_is_forgiven_if_asked_for():
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    K = (X @ X.T).astype(np.float64)
    assert np.linalg.eigvalsh(K)[0] < -1e-8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        part, _ = semidefinite_part(K, precision=np.finfo(np.float32).eps)
    np.testing.assert_allclose(part, K, atol=1e-5)
    assert np.linalg.eigvalsh(part)[0] > -1e-12


@pytest.mark.parametrize("kernel", ["precomputed", "callable"])
def test_single_precision_kernel_is_not_called_indefinite(kernel):
    """float32 values can be no more exact than that; a rounding error is not worth a warning."""
    X, y, _ = random_data(m=60, d=3)
    X = X.astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if kernel == "precomputed":
            MLODM(kernel="precomputed").fit(X @ X.T, y)
        else:
            MLODM(kernel=lambda A, B: np.float32(A) @ np.float32(B).T).fit(X, y)


def test_scores_under_an_indefinite_kernel_are_those_of_its_positive_part():
    """k(x, ·)ᵀ dual_coef_ gives K₊ A on the training rows, and objective_ is that of K₊."""
    X, y, _ = random_data()
    with pytest.warns(ConvergenceWarning, match="smallest eigenvalue"):
        model = MLODM(
            kernel="sigmoid", gamma=0.5, coef0=2.0, fit_intercept=False, tol=1e-12, C=2.0
        ).fit(X, y)
    K = pairwise_kernels(X, metric="sigmoid", gamma=0.5, coef0=2.0)
    values, vectors = np.linalg.eigh(K)
    assert values[0] < -1e-2
    positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
    A = model.dual_coef_
    np.testing.assert_allclose(model.label_scores(X), positive @ A, atol=1e-9)
    same = MLODM(kernel="precomputed", fit_intercept=False, tol=1e-12, C=2.0).fit(positive, y)
    assert model.objective_ == pytest.approx(same.objective_, rel=1e-8)
    np.testing.assert_allclose(model.label_scores(X), same.label_scores(positive), atol=1e-5)


def test_indefinite_kernel_of_the_user_still_has_a_certificate():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(50, 50))
    y = (rng.random((50, 4)) < 0.4).astype(int)
    with pytest.warns(ConvergenceWarning, match="smallest eigenvalue") as record:
        model = MLODM(kernel="precomputed", tol=1e-6).fit(K + K.T, y)
    assert record[0].filename == __file__
    assert 0.0 <= model.dual_gap_ <= 1e-6


@pytest.mark.parametrize("name", ["linear", "rbf", "cosine", "laplacian", "poly"])
def test_semidefinite_kernels_never_warn(name):
    X, y, _ = random_data()
    X[5:15] = X[4]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MLODM(kernel=name).fit(X, y)


def test_polynomial_kernel_with_negative_constant_is_checked():
    """(⟨x, y⟩ − 1)² is indefinite: the point 0 and a unit vector show it."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    y = [[1, 0], [0, 1], [1, 0], [0, 1]]
    with pytest.warns(ConvergenceWarning, match="smallest eigenvalue"):
        MLODM(kernel="poly", degree=1, gamma=1.0, coef0=-1.0).fit(X, y)
