"""Data in any container that scikit-multilearn and scikit-learn users have.

The part of the host contract (see test_host.py) about X and y: dense, sparse, data frames and
memory maps give one model, predictions come in the container of y, and inputs are never written to.
"""

import joblib
import numpy as np
import pytest
from host_data import (
    COLUMN,
    CONTAINERS,
    N_LABELS,
    SPARSE_TYPES,
    X_ALL,
    X_NEW,
    Y_ALL,
    Y_NEW,
    X,
    Y,
    as_array,
    assert_mirrors,
    assert_same_model,
    duplicated_csr,
    explicit_zeros_csr,
    shuffled_csr,
    stored_bytes,
)
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import accuracy_score, hamming_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import has_fit_parameter

KERNELS = ["rbf", "linear", "poly", "sigmoid", "cosine", "laplacian"]
# a dense and a sparse one, for estimators that do not stand for all
OTHERS = ["read-only", "read-only csr"]

# Ordinary data must neither stop short of the tolerance nor compute with infinities.
pytestmark = pytest.mark.filterwarnings(
    "error:.* stopped after .* iterations:sklearn.exceptions.ConvergenceWarning",
    "error::RuntimeWarning",
    "ignore:The kernel matrix is not positive:sklearn.exceptions.ConvergenceWarning",
    "ignore:the matrix subclass:PendingDeprecationWarning",
)


# Containers


def test_the_data_can_tell_models_apart(fitted):
    """No decision is so close that rounding could flip it, and every label is predicted."""
    decision = fitted.decision_function(X_NEW)
    assert np.abs(decision).min() > 1e-6
    assert (decision > 0).any(axis=0).all()
    assert (decision < 0).any(axis=0).all()
    majority = np.tile(Y.mean(axis=0) > 0.5, (len(Y_NEW), 1))
    assert hamming_loss(Y_NEW, fitted.predict(X_NEW)) < hamming_loss(Y_NEW, majority)


@pytest.mark.shared_code(name=OTHERS)
@pytest.mark.parametrize("name", CONTAINERS)
def test_any_container_of_features(fitted, estimator, name):
    """Features in any container give the model of dense features, in fit and in predict."""
    convert = CONTAINERS[name]
    estimator.fit(convert(X), Y)
    assert_same_model(fitted, estimator)
    assert_same_model(fitted, estimator, convert(X_NEW))
    assert_mirrors(estimator.predict(convert(X_NEW)), Y)


@pytest.mark.shared_code(name=OTHERS)
@pytest.mark.parametrize("name", CONTAINERS)
def test_any_container_of_labels(fitted, estimator, name):
    """Labels in any container give the model of dense labels; sparse in, sparse out."""
    y = CONTAINERS[name](Y)
    estimator.fit(X, y)
    assert_same_model(fitted, estimator)
    assert_mirrors(estimator.predict(X_NEW), y)


@pytest.mark.shared_code(name=["csr_matrix"])
@pytest.mark.parametrize("name", ["matrix", *SPARSE_TYPES])
def test_features_and_labels_in_one_container(fitted, estimator, name):
    """The host's own check: both sides in the same container, split by scikit-learn."""
    convert = CONTAINERS[name]
    if name.startswith(("bsr", "coo", "dia")):  # these cannot be indexed
        parts = convert(X), convert(X_NEW), convert(Y), convert(Y_NEW)
    else:
        whole = convert(X_ALL), convert(Y_ALL)
        parts = train_test_split(*whole, test_size=0.33, random_state=42)
    X_train, X_test, y_train, y_test = parts
    prediction = estimator.fit(X_train, y_train).predict(X_test)
    assert prediction.shape == y_test.shape
    assert_mirrors(prediction, y_train)
    assert_same_model(fitted, estimator, X_test)


@pytest.mark.shared_code(dtype=[bool])
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32, np.float32, np.float64])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_any_type_of_label_entries(fitted, estimator, dtype, convert):
    """Zeros and ones of every type are labels, and predictions are integers."""
    y = convert(Y.astype(dtype))
    assert_mirrors(estimator.fit(X, y).predict(X_NEW), y)
    assert_same_model(fitted, estimator)


@pytest.mark.shared_code(X_sparse=[True])
@pytest.mark.parametrize("X_sparse", [False, True])
@pytest.mark.parametrize("y_sparse", [False, True])
def test_predictions_follow_labels_not_features(fitted, estimator, X_sparse, y_sparse):
    """Issues 239, 52, 96: the type of predictions depends on the type of y, and on it alone."""
    y = sparse.csr_matrix(Y) if y_sparse else Y
    estimator.fit(sparse.csr_matrix(X) if X_sparse else X, y)
    for X_new in (X_NEW, sparse.csr_matrix(X_NEW)):
        assert_mirrors(estimator.predict(X_new), y)
        assert type(estimator.decision_function(X_new)) is np.ndarray
    # an earlier fit leaves no trace
    y = Y if y_sparse else sparse.csr_matrix(Y)
    assert_mirrors(estimator.fit(X, y).predict(X_NEW), y)


def test_data_frames(fitted, estimator):
    """DataFrames are fine on both sides; their column names are remembered and checked."""
    pandas = pytest.importorskip("pandas")
    names = [f"feature {j}" for j in range(X.shape[1])]
    frame = pandas.DataFrame(X, columns=names, index=np.arange(len(X))[::-1])
    labels = pandas.DataFrame(Y, columns=list("abcd"))
    new_frame = pandas.DataFrame(X_NEW, columns=names)
    estimator.fit(frame, labels)
    assert list(estimator.feature_names_in_) == names
    assert estimator.label_names_.tolist() == list("abcd")
    assert type(estimator.label_names_) is np.ndarray
    assert_same_model(fitted, estimator, new_frame)
    assert_mirrors(estimator.predict(new_frame), Y)
    with pytest.raises(ValueError, match="feature names"):
        estimator.predict(new_frame[names[::-1]])
    # names of an earlier fit are forgotten
    assert not hasattr(estimator.fit(frame, Y), "label_names_")


@pytest.mark.shared_code
@pytest.mark.filterwarnings("ignore:.*[Ss]parse.*:DeprecationWarning")
def test_data_frames_with_sparse_columns(fitted, estimator):
    """DataFrames of sparse columns hold the same numbers, hence give the same model."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X))
    labels = pandas.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(Y))
    estimator.fit(frame, labels)
    assert_same_model(fitted, estimator)


def test_memory_mapped_arrays(fitted, estimator, tmp_path):
    """Arrays mapped read-only from disk are used as they are, in fit and in predict."""
    mapped = []
    for name, array in {"X": X, "Y": Y, "X_NEW": X_NEW}.items():
        np.save(tmp_path / f"{name}.npy", array)
        mapped.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    assert isinstance(mapped[0], np.memmap)
    estimator.fit(*mapped[:2])
    assert_same_model(fitted, estimator, mapped[2])
    assert_mirrors(estimator.predict(mapped[2]), Y)
    # the model must outlive the file it was fitted from
    assert not any(isinstance(value, np.memmap) for value in vars(estimator).values())


def test_memory_mapped_sparse_matrices(fitted, estimator, tmp_path):
    """Sparse matrices whose arrays joblib mapped from disk, as its workers receive them."""
    joblib.dump([sparse.csr_matrix(a) for a in (X, Y, X_NEW)], tmp_path / "data")
    X_mapped, y_mapped, new_mapped = joblib.load(tmp_path / "data", mmap_mode="r")
    assert not X_mapped.data.flags.writeable
    estimator.fit(X_mapped, y_mapped)
    assert_same_model(fitted, estimator, new_mapped)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_one_row(fitted, convert):
    """A row is scored the same alone as among others."""
    decision = fitted.decision_function(convert(X_NEW[:1]))
    assert decision.shape == (1, N_LABELS)
    np.testing.assert_allclose(decision, fitted.decision_function(X_NEW)[:1], atol=1e-12)


# One label


@pytest.mark.shared_code(values=[("no", "yes")])
@pytest.mark.parametrize(
    "values",
    [(0, 1), (-1, 1), (1, 2), (False, True), ("no", "yes"), (0.0, 1.0)],
    ids=str,
)
def test_one_dimensional_labels(estimator, values):
    """A one-dimensional y is one label, and predictions are its class values."""
    y = np.array(values)[COLUMN]
    estimator.fit(X, y)
    np.testing.assert_array_equal(estimator.classes_, values)
    prediction, decision = estimator.predict(X_NEW), estimator.decision_function(X_NEW)
    assert decision.shape == prediction.shape == (len(X_NEW),)
    assert prediction.dtype == y.dtype
    np.testing.assert_array_equal(prediction, np.array(values)[(decision > 0).astype(int)])
    assert accuracy_score(Y_NEW[:, 0] == 1, decision > 0) > 0.7


@pytest.mark.shared_code
def test_all_spellings_of_one_label_agree(estimator):
    """A list, a Series, a dense column and a sparse column of one label give one model."""
    pandas = pytest.importorskip("pandas")
    column = COLUMN[:, None]
    expected = clone(estimator).fit(X, COLUMN).decision_function(X_NEW)
    for y in (COLUMN.tolist(), pandas.Series(COLUMN), COLUMN == 1):
        decision = clone(estimator).fit(X, y).decision_function(X_NEW)
        np.testing.assert_allclose(decision, expected, atol=1e-8)
    for y in (column, np.matrix(column), sparse.csr_matrix(column), sparse.csc_array(column)):
        model = clone(estimator).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X_NEW), expected[:, None], atol=1e-8)
        prediction = model.predict(X_NEW)
        assert sparse.issparse(prediction) == sparse.issparse(y)
        np.testing.assert_array_equal(as_array(prediction), expected[:, None] > 0)


# Inputs are read, never written


@pytest.mark.shared_code(kernel=["linear", "rbf"], convert=[np.array, shuffled_csr])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "convert",
    [
        np.array,
        np.asfortranarray,
        sparse.csr_matrix,
        sparse.csr_array,
        sparse.csc_matrix,
        sparse.coo_matrix,
        shuffled_csr,
        duplicated_csr,
        explicit_zeros_csr,
    ],
    ids=lambda convert: convert.__name__,
)
def test_inputs_stay_unchanged(one_of_each, kernel, convert):
    """Neither fit nor a method of the fitted model changes a byte of what it was given."""
    X_train, X_new = convert(X), convert(X_NEW)
    y = convert(Y) if convert is not duplicated_csr else shuffled_csr(Y)
    weight = np.linspace(0.5, 2.0, len(X))
    given = {"X_train": X_train, "X_new": X_new, "y": y, "weight": weight}
    before = {name: stored_bytes(container) for name, container in given.items()}
    weights = {"sample_weight": weight} if has_fit_parameter(one_of_each, "sample_weight") else {}
    model = one_of_each.set_params(kernel=kernel).fit(X_train, y, **weights)
    for method in (model.predict, model.decision_function):
        method(X_train)
        method(X_new)
    changed = [name for name in given if stored_bytes(given[name]) != before[name]]
    assert changed == []


@pytest.mark.parametrize("convert", [np.array, shuffled_csr], ids=lambda convert: convert.__name__)
def test_inputs_of_every_estimator_stay_unchanged(estimator, convert):
    """The same, for estimators without a kernel and without sample weights, too."""
    given = X_train, X_new, y = convert(X), convert(X_NEW), convert(Y)
    before = list(map(stored_bytes, given))
    model = estimator.fit(X_train, y)
    model.decision_function(X_new)
    assert list(map(stored_bytes, given)) == before
    # indices in another order are the same matrix
    assert_same_model(clone(estimator).fit(X, Y), model, X_new)


def test_precomputed_kernel_stays_unchanged(one_of_each):
    """A kernel matrix of the user is not overwritten, and gives the model of the kernel."""
    K, K_new = rbf_kernel(X, gamma=0.5), rbf_kernel(X_NEW, X, gamma=0.5)
    before = stored_bytes(K), stored_bytes(K_new)
    model = clone(one_of_each).set_params(kernel="precomputed").fit(K, Y)
    decision = model.decision_function(K_new)
    unchanged = before == (stored_bytes(K), stored_bytes(K_new))
    assert unchanged
    if hasattr(one_of_each, "n_neighbors"):
        return  # neighbours of rows are not those of a kernel
    same = one_of_each.set_params(kernel="rbf", gamma=0.5).fit(X, Y)
    np.testing.assert_allclose(decision, same.decision_function(X_NEW), atol=1e-6)


@pytest.mark.parametrize("convert", [np.array, sparse.csr_matrix], ids=["dense", "sparse"])
def test_a_model_does_not_change_with_its_training_data(fitted, estimator, convert):
    """The model keeps copies: what the user does to the training data later is no matter."""
    X_train, y = convert(X), convert(Y)
    estimator.fit(X_train, y)
    X_train *= 0.0
    y *= 0
    assert_same_model(fitted, estimator)


@pytest.mark.shared_code(kernel=["linear", "rbf"], convert=[duplicated_csr])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "convert", [shuffled_csr, duplicated_csr], ids=lambda convert: convert.__name__
)
def test_unusual_csr_means_what_it_says(one_of_each, kernel, convert):
    """Unsorted indices and entries stored in parts are the same matrix, hence the same model."""
    dense = clone(one_of_each.set_params(kernel=kernel)).fit(X, Y)
    one_of_each.fit(convert(X), Y)
    assert_same_model(dense, one_of_each, X_NEW)
    assert_same_model(dense, one_of_each, convert(X_NEW))


@pytest.mark.parametrize("name", ["coo_matrix", "csr_matrix"])
def test_label_entries_stored_in_parts_are_summed(estimator, name):
    """A label stored as 1 + 1 is a 2, in every sparse format, and 2 is not a label."""
    matrix = sparse.csr_matrix(Y)
    parts = np.repeat(matrix.data, 2), np.repeat(matrix.indices, 2), matrix.indptr * 2
    twos = sparse.csr_matrix(parts, shape=Y.shape)
    if name == "coo_matrix":
        rows = np.repeat(np.arange(len(Y)), np.diff(twos.indptr))
        twos = sparse.coo_matrix((twos.data, (rows, twos.indices)), shape=Y.shape)
    np.testing.assert_array_equal(twos.toarray(), 2 * Y)
    with pytest.raises(ValueError, match="y must hold only 0 and 1"):
        estimator.fit(X, twos)
