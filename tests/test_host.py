"""What scikit-multilearn and scikit-learn expect of a multi-label classifier.

The host runs each of its classifiers through one shared test base that neither of its two
distributions ships. This file states that contract in our own words: containers in and out, host
ensembles, model selection, and the complaints of the host's users that we must never hear again.
A new estimator joins with one line in ``ESTIMATORS``.
"""

import inspect
import pickle
import random

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.metrics import (
    accuracy_score,
    hamming_loss,
    label_ranking_average_precision_score,
    label_ranking_loss,
    make_scorer,
)
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    ShuffleSplit,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler
from sklearn.utils import estimator_html_repr, get_tags
from skmultilearn.base import MLClassifierBase, ProblemTransformationBase
from skmultilearn.cluster import FixedLabelSpaceClusterer, RandomLabelSpaceClusterer
from skmultilearn.ensemble import LabelSpacePartitioningClassifier, MajorityVotingClassifier
from skmultilearn.model_selection import IterativeStratification, iterative_train_test_split
from skmultilearn.problem_transform import BinaryRelevance, LabelPowerset

from skml_odm import MLODM
from skml_odm.metrics import average_precision_scorer, one_error_scorer, ranking_loss_scorer

ESTIMATORS = [
    MLODM(random_state=0),
    MLODM(kernel="linear", threshold="per-label", random_state=0),
]
KERNELS = ["rbf", "linear", "poly", "sigmoid", "cosine", "laplacian"]
SPARSE_FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]
SPARSE_TYPES = [f"{name}_{kind}" for name in SPARSE_FORMATS for kind in ("matrix", "array")]

# Ordinary data must neither stop short of the tolerance nor compute with infinities.
pytestmark = pytest.mark.filterwarnings(
    "error:.*stopped after max_iter:sklearn.exceptions.ConvergenceWarning",
    "error::RuntimeWarning",
    "ignore:The kernel matrix is not positive:sklearn.exceptions.ConvergenceWarning",
    "ignore:the matrix subclass:PendingDeprecationWarning",
)


def make_data(n_samples=72, n_features=7, n_labels=4):
    """Rows with zeros whose values and squares are exact in every float type, and noisy labels."""
    rng = np.random.default_rng(20)
    X = rng.integers(1, 65, size=(n_samples, n_features)) / 64
    X[rng.random(X.shape) < 0.4] = 0.0
    signal = (X - X.mean(axis=0)) @ rng.standard_normal((n_features, n_labels))
    y = signal + 0.2 * rng.standard_normal(signal.shape) > 0.1
    return X, y.astype(np.int64)


X_ALL, Y_ALL = make_data()
X, X_NEW, Y, Y_NEW = train_test_split(X_ALL, Y_ALL, test_size=0.33, random_state=42)
N_LABELS = Y.shape[1]
COLUMN = Y[:, 0]


@pytest.fixture(params=ESTIMATORS, ids=repr, scope="module")
def fitted(request):
    """An estimator fitted to dense data: what all other containers are compared with."""
    return clone(request.param).fit(X, Y)


@pytest.fixture
def estimator(fitted):
    return clone(fitted)


@pytest.fixture(
    params=list({type(e): e for e in reversed(ESTIMATORS)}.values()), ids=lambda e: type(e).__name__
)
def one_of_each(request):
    """One estimator of each class, for tests that choose the parameters themselves."""
    return clone(request.param)


@pytest.fixture
def seeded():
    """Seed the two global generators that the host draws from, and put them back."""
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    yield
    random.setstate(states[0])
    np.random.set_state(states[1])  # noqa: NPY002


def as_array(labels):
    return labels.toarray() if sparse.issparse(labels) else np.asarray(labels)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def read_only_csr(array):
    matrix = sparse.csr_matrix(array)
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


def wide_csr(array):
    """CSR with the 64-bit indices that scipy uses for very large matrices."""
    matrix = sparse.csr_matrix(array)
    matrix.indices = matrix.indices.astype(np.int64)
    matrix.indptr = matrix.indptr.astype(np.int64)
    return matrix


def shuffled_csr(array):
    """CSR whose column indices are in descending order."""
    rows = [np.flatnonzero(row)[::-1] for row in array]
    indices = np.concatenate(rows)
    data = np.concatenate([row[columns] for row, columns in zip(array, rows, strict=True)])
    indptr = np.concatenate([[0], np.cumsum([len(columns) for columns in rows])])
    matrix = sparse.csr_matrix((data, indices, indptr), shape=array.shape)
    assert not matrix.has_sorted_indices
    return matrix


def duplicated_csr(array):
    """CSR that stores each entry as two halves."""
    matrix = sparse.csr_matrix(array)
    parts = np.repeat(matrix.data / 2, 2), np.repeat(matrix.indices, 2), matrix.indptr * 2
    matrix = sparse.csr_matrix(parts, shape=array.shape)
    assert not matrix.has_canonical_format
    return matrix


def explicit_zeros_csr(array):
    """CSR that stores every entry, the zeros too."""
    n, d = array.shape
    parts = array.ravel(), np.tile(np.arange(d), n), np.arange(n + 1) * d
    return sparse.csr_matrix(parts, shape=array.shape)


CONTAINERS = {
    "list": np.ndarray.tolist,
    "tuples": lambda array: tuple(map(tuple, array.tolist())),
    "matrix": np.matrix,
    "todense": lambda array: sparse.csr_matrix(array).todense(),
    "fortran": np.asfortranarray,
    "strided": lambda array: np.repeat(array, 2, axis=1)[:, ::2],
    "float32": lambda array: array.astype(np.float32),
    "read-only": read_only,
    "read-only csr": read_only_csr,
    "64-bit csr": wide_csr,
    "explicit zeros": explicit_zeros_csr,
    "unsorted csr": shuffled_csr,
    **{name: getattr(sparse, name) for name in SPARSE_TYPES},
}


def stored_bytes(container):
    """All bytes a container holds, in the order it holds them."""
    if not sparse.issparse(container):
        return [container.tobytes(order="A")]
    names = ("row", "col") if container.format == "coo" else ("indices", "indptr")
    return [getattr(container, name).tobytes() for name in ("data", *names)]


def assert_same_model(fitted, other, X_new=X_NEW):
    """``other``, whatever it was fitted to and is asked about, is the model ``fitted``."""
    expected = fitted.decision_function(X_NEW)
    np.testing.assert_allclose(other.decision_function(X_new), expected, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(as_array(other.predict(X_new)), expected > 0)


def assert_mirrors(prediction, y):
    """Predictions come in the container of y."""
    if sparse.issparse(y):
        assert isinstance(prediction, sparse.csr_matrix)
        assert prediction.getformat() == "csr"
        assert (prediction.data == 1).all()
    else:
        assert type(prediction) is np.ndarray
    assert prediction.dtype.kind == "i"
    assert prediction.shape == (X_NEW.shape[0], N_LABELS)


# Containers


def test_the_data_can_tell_models_apart(fitted):
    """No decision is so close that rounding could flip it, and every label is predicted."""
    decision = fitted.decision_function(X_NEW)
    assert np.abs(decision).min() > 1e-6
    assert (decision > 0).any(axis=0).all()
    assert (decision < 0).any(axis=0).all()
    majority = np.tile(Y.mean(axis=0) > 0.5, (len(Y_NEW), 1))
    assert hamming_loss(Y_NEW, fitted.predict(X_NEW)) < hamming_loss(Y_NEW, majority)


@pytest.mark.parametrize("name", CONTAINERS)
def test_any_container_of_features(fitted, estimator, name):
    """Features in any container give the model of dense features, in fit and in predict."""
    convert = CONTAINERS[name]
    estimator.fit(convert(X), Y)
    assert_same_model(fitted, estimator)
    assert_same_model(fitted, estimator, convert(X_NEW))
    assert_mirrors(estimator.predict(convert(X_NEW)), Y)


@pytest.mark.parametrize("name", CONTAINERS)
def test_any_container_of_labels(fitted, estimator, name):
    """Labels in any container give the model of dense labels; sparse in, sparse out."""
    y = CONTAINERS[name](Y)
    estimator.fit(X, y)
    assert_same_model(fitted, estimator)
    assert_mirrors(estimator.predict(X_NEW), y)


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


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32, np.float32, np.float64])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_any_type_of_label_entries(fitted, estimator, dtype, convert):
    """Zeros and ones of every type are labels, and predictions are integers."""
    y = convert(Y.astype(dtype))
    assert_mirrors(estimator.fit(X, y).predict(X_NEW), y)
    assert_same_model(fitted, estimator)


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
    assert_same_model(fitted, estimator, new_frame)
    assert_mirrors(estimator.predict(new_frame), Y)
    with pytest.raises(ValueError, match="feature names"):
        estimator.predict(new_frame[names[::-1]])


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
    model = one_of_each.set_params(kernel=kernel).fit(X_train, y, sample_weight=weight)
    for method in (model.predict, model.decision_function):
        method(X_train)
        method(X_new)
    changed = [name for name in given if stored_bytes(given[name]) != before[name]]
    assert changed == []


def test_precomputed_kernel_stays_unchanged(one_of_each):
    """A kernel matrix of the user is not overwritten, and gives the model of the kernel."""
    K, K_new = rbf_kernel(X, gamma=0.5), rbf_kernel(X_NEW, X, gamma=0.5)
    before = stored_bytes(K), stored_bytes(K_new)
    model = clone(one_of_each).set_params(kernel="precomputed").fit(K, Y)
    decision = model.decision_function(K_new)
    unchanged = before == (stored_bytes(K), stored_bytes(K_new))
    assert unchanged
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


# Scores and labels


@pytest.mark.parametrize("threshold", ["regression", "per-label", "zero", 0.25])
def test_a_label_is_predicted_where_the_decision_is_positive(one_of_each, threshold):
    """decision_function is an array of one column per label; predict is its sign."""
    model = one_of_each.set_params(threshold=threshold).fit(sparse.csr_matrix(X), Y)
    for X_new in (X_NEW, sparse.csr_matrix(X_NEW)):
        decision = model.decision_function(X_new)
        assert type(decision) is np.ndarray
        assert decision.shape == (len(X_NEW), N_LABELS)
        np.testing.assert_array_equal(model.predict(X_new), decision > 0)


def test_probabilities_are_probabilities(fitted):
    """A model offers no probabilities, or ones in [0, 1] in the container of y."""
    if not hasattr(fitted, "predict_proba"):
        assert not hasattr(clone(fitted).fit(X, sparse.csr_matrix(Y)), "predict_proba")
        return
    for y in (Y, sparse.csr_matrix(Y)):
        probability = clone(fitted).fit(X, y).predict_proba(X_NEW)
        assert sparse.issparse(probability) == sparse.issparse(y)
        assert probability.shape == Y_NEW.shape
        assert 0.0 <= as_array(probability).min() <= as_array(probability).max() <= 1.0


# The host's ensembles


class AllLabels(MLClassifierBase):
    """The simplest classifier the host accepts: if an ensemble of these fails, the host does."""

    def fit(self, X, y):
        self.sparse, self.shape = sparse.issparse(y), y.shape[1:]
        self.classes_ = np.arange(*self.shape) if self.shape else np.unique(y)
        return self

    def predict(self, X):
        labels = np.ones((X.shape[0], *self.shape), dtype=int)
        return sparse.csr_matrix(labels) if self.sparse else labels


def fit_ensemble(make, classifier, y=Y):
    """Fit ``make(classifier)``, or skip if the host cannot do so with its simplest classifier."""
    try:
        ensemble = make(AllLabels()).fit(X, y)
        assert as_array(ensemble.predict(X_NEW)).all()
    except Exception as error:
        pytest.skip(f"the host's {make.__name__} fails with any classifier: {error!r}")
    return make(classifier).fit(X, y)


def cluster_votes(estimator, clusters, y=Y):
    """Votes for and number of voters on each label, from models fitted to each cluster alone."""
    votes = np.zeros((len(X_NEW), y.shape[1]))
    voters = np.zeros(y.shape[1])
    for cluster in clusters:
        cluster = list(cluster)
        model = clone(estimator).fit(sparse.csr_matrix(X), sparse.csr_matrix(y[:, cluster]))
        votes[:, cluster] += model.predict(X_NEW).toarray()
        voters[cluster] += 1
    return votes, voters


def fixed_partition(classifier):
    clusterer = FixedLabelSpaceClusterer(clusters=[[0, 2], [3], [1]])
    return LabelSpacePartitioningClassifier(classifier, clusterer)


def random_partition(classifier):
    clusterer = RandomLabelSpaceClusterer(cluster_size=2, cluster_count=2, allow_overlap=False)
    return LabelSpacePartitioningClassifier(classifier, clusterer)


def uneven_random_partition(classifier):
    clusterer = RandomLabelSpaceClusterer(cluster_size=3, cluster_count=1, allow_overlap=False)
    return LabelSpacePartitioningClassifier(classifier, clusterer)


def fixed_voting(classifier):
    clusterer = FixedLabelSpaceClusterer(clusters=[[0, 1, 2], [1, 2, 3], [0, 2, 3], [0, 3]])
    return MajorityVotingClassifier(classifier, clusterer)


def random_voting(classifier):
    clusterer = RandomLabelSpaceClusterer(cluster_size=2, cluster_count=3, allow_overlap=True)
    return MajorityVotingClassifier(classifier, clusterer)


PARTITIONS = [fixed_partition, random_partition, uneven_random_partition]
VOTINGS = [fixed_voting, random_voting]


def test_the_host_takes_us_for_one_of_its_own(estimator):
    """The host recognises its classifiers by their base, and hands those sparse matrices."""
    assert isinstance(estimator, MLClassifierBase)
    assert ProblemTransformationBase(estimator).require_dense == [False, False]


@pytest.mark.parametrize("make", PARTITIONS)
@pytest.mark.usefixtures("seeded")
def test_partition_of_the_label_space(estimator, make):
    """An ensemble over a partition predicts what models of its parts predict."""
    ensemble = fit_ensemble(make, estimator)
    assert sorted(np.concatenate(list(map(list, ensemble.partition_)))) == list(range(N_LABELS))
    votes, _ = cluster_votes(estimator, ensemble.partition_)
    for X_new in (X_NEW, sparse.csr_matrix(X_NEW)):
        prediction = ensemble.predict(X_new)
        assert sparse.issparse(prediction)
        np.testing.assert_array_equal(prediction.toarray(), votes)


@pytest.mark.parametrize("make", VOTINGS)
@pytest.mark.usefixtures("seeded")
def test_majority_vote_of_overlapping_clusters(estimator, make):
    """An ensemble of overlapping clusters predicts what more than half of its voters predict."""
    ensemble = fit_ensemble(make, estimator)
    votes, voters = cluster_votes(estimator, ensemble.partition_)
    assert voters.max() > 1
    for X_new in (X_NEW, sparse.csr_matrix(X_NEW)):
        np.testing.assert_array_equal(as_array(ensemble.predict(X_new)), votes / voters > 0.5)


def test_binary_relevance(estimator):
    """One of our models per label, each fitted to a single sparse column."""
    ensemble = fit_ensemble(BinaryRelevance, estimator)
    votes, _ = cluster_votes(estimator, [[label] for label in range(N_LABELS)])
    np.testing.assert_array_equal(ensemble.predict(X_NEW).toarray(), votes)


def test_label_powerset_is_refused_in_words(estimator):
    """A label powerset asks for a multi-class model, which ours are not, and they say so."""
    with pytest.raises(ValueError, match=r"multiclass.*per label"):
        LabelPowerset(estimator).fit(X, Y)


@pytest.mark.usefixtures("seeded")
def test_a_fitted_ensemble_can_be_pickled(estimator):
    """An ensemble of ours survives a round trip through pickle."""
    ensemble = fit_ensemble(fixed_voting, estimator)
    copy = pickle.loads(pickle.dumps(ensemble))
    np.testing.assert_array_equal(copy.predict(X_NEW).toarray(), ensemble.predict(X_NEW).toarray())


def test_grid_search_through_an_ensemble(estimator):
    """GridSearchCV reaches our parameters through the host's ensemble and clones both."""
    fit_ensemble(fixed_partition, estimator)
    partitions = [[[0, 1], [2, 3]], [[0, 1, 2, 3]]]
    grid = {"classifier__C": [1e-4, 1.0], "clusterer__clusters": partitions}
    ensemble = fixed_partition(estimator)
    folds = KFold(3)
    search = GridSearchCV(ensemble, grid, scoring="accuracy", cv=folds, error_score="raise")
    search.fit(X, Y)
    results = search.cv_results_
    expected = []
    for parameters in results["params"]:
        candidate = clone(ensemble).set_params(**parameters)
        scores = cross_val_score(candidate, X, Y, scoring="accuracy", cv=folds)
        expected.append(scores.mean())
    np.testing.assert_allclose(results["mean_test_score"], expected)
    assert np.unique(results["mean_test_score"]).size > 1
    best = search.best_params_
    assert {model.C for model in search.best_estimator_.classifiers_} == {best["classifier__C"]}
    assert len(search.best_estimator_.classifiers_) == len(best["clusterer__clusters"])
    assert as_array(search.predict(X_NEW)).shape == Y_NEW.shape
    assert estimator.C == clone(estimator).C == 1.0
    assert not hasattr(estimator, "classes_")


def test_grid_search_replaces_the_classifier(estimator):
    """A grid may put one of our estimators in the place of another classifier."""
    fit_ensemble(fixed_partition, estimator)
    grid = {"classifier": [AllLabels(), estimator]}
    search = GridSearchCV(
        fixed_partition(AllLabels()), grid, scoring="accuracy", cv=2, error_score="raise"
    ).fit(X, Y)
    assert type(search.best_estimator_.classifiers_[0]) is type(estimator)


# Parameters


def test_copyable_attrs_lists_all_parameters(estimator):
    """The host reads parameters from copyable_attrs: all are there, and its own code works."""
    names = list(inspect.signature(type(estimator)).parameters)
    assert sorted(estimator.copyable_attrs) == sorted(names)
    assert sorted(estimator.get_params()) == sorted(names)
    assert MLClassifierBase.get_params(estimator) == estimator.get_params()


def test_clone_keeps_every_parameter(one_of_each):
    """clone drops no parameter, whatever its value, and no fitted state comes along."""
    values = {name: f"a value of {name}" for name in one_of_each.get_params()}
    assert clone(type(one_of_each)(**values)).get_params() == values
    copy = clone(one_of_each.fit(X, Y))
    assert vars(copy) == one_of_each.get_params()


def test_set_params(one_of_each):
    """set_params returns the estimator, sets what it is told and refuses unknown names."""
    assert one_of_each.set_params(C=3.0, kernel="linear") is one_of_each
    assert (one_of_each.C, one_of_each.kernel) == (3.0, "linear")
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        one_of_each.set_params(nonsense=1)
    ensemble = fixed_partition(one_of_each).set_params(classifier__C=0.5)
    assert ensemble.classifier.C == ensemble.get_params()["classifier__C"] == 0.5


@pytest.mark.parametrize("before", ["linear", "rbf"])
@pytest.mark.parametrize("after", ["linear", "rbf"])
def test_a_second_fit_forgets_the_first(one_of_each, before, after):
    """Refitting with other parameters, features and labels equals fitting a new estimator."""
    fresh = clone(one_of_each).set_params(kernel=after).fit(X, Y)
    one_of_each.set_params(kernel=before, C=0.1, threshold="zero")
    one_of_each.fit(sparse.csr_matrix(X[:40, :3]), COLUMN[:40])
    one_of_each.set_params(**fresh.get_params()).fit(X, Y)
    assert_same_model(fresh, one_of_each)
    assert_mirrors(one_of_each.predict(X_NEW), Y)
    assert sorted(vars(one_of_each)) == sorted(vars(fresh))


def test_representations(estimator):
    """repr is code that makes the estimator again; the HTML names it, before and after fit."""
    changed = estimator.set_params(C=0.125)
    name = type(changed).__name__
    assert "C=0.125" in repr(changed)
    assert eval(repr(changed), {name: type(changed)}).get_params() == changed.get_params()
    for shown in (changed, clone(changed).fit(X, Y)):
        assert name in estimator_html_repr(shown)
        assert "0.125" in shown._repr_html_()


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_pickle_round_trip(estimator, convert):
    """A model from pickle has equal decisions to the last bit, and the same containers."""
    model = estimator.fit(convert(X), convert(Y))
    copy = pickle.loads(pickle.dumps(model))
    assert copy.get_params() == model.get_params()
    np.testing.assert_array_equal(copy.decision_function(X_NEW), model.decision_function(X_NEW))
    assert_mirrors(copy.predict(X_NEW), convert(Y))


@pytest.mark.parametrize("mmap_mode", [None, "r"])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_joblib_round_trip(estimator, convert, mmap_mode, tmp_path):
    """A model from joblib works too, even when all its arrays are read-only maps of a file."""
    model = estimator.fit(convert(X), convert(Y))
    joblib.dump(model, tmp_path / "model")
    copy = joblib.load(tmp_path / "model", mmap_mode=mmap_mode)
    new = convert(X_NEW)
    np.testing.assert_array_equal(copy.decision_function(new), model.decision_function(new))
    assert_mirrors(copy.predict(new), convert(Y))


# scikit-learn's tools


def fold_decisions(estimator, folds):
    """Decisions on each fold of a model of the other folds."""
    return [
        (test, clone(estimator).fit(X[train], Y[train]).decision_function(X[test]))
        for train, test in folds.split(X)
    ]


def test_scikit_learn_knows_what_we_are(estimator):
    """Tags: a multi-label classifier, not a multi-class one, that takes sparse features."""
    tags = get_tags(estimator)
    assert is_classifier(estimator)
    assert tags.target_tags.required
    assert tags.target_tags.multi_output
    assert tags.classifier_tags.multi_label
    assert not tags.classifier_tags.multi_class
    assert tags.input_tags.sparse
    assert not tags.input_tags.pairwise


def test_cross_validated_accuracy(estimator):
    """cross_val_score gives the accuracy of each split of ShuffleSplit."""
    splits = ShuffleSplit(n_splits=3, test_size=0.5, random_state=0)
    scores = cross_val_score(estimator, X, Y, cv=splits, scoring="accuracy", error_score="raise")
    expected = [
        accuracy_score(Y[test], decision > 0)
        for test, decision in fold_decisions(estimator, splits)
    ]
    np.testing.assert_allclose(scores, expected)
    assert len(scores) == 3


def test_cross_validated_decisions(estimator):
    """cross_val_predict collects the decisions of the models of each fold."""
    folds = KFold(3)
    expected = np.empty(Y.shape)
    for test, decision in fold_decisions(estimator, folds):
        expected[test] = decision
    decisions = cross_val_predict(estimator, X, Y, cv=folds, method="decision_function")
    np.testing.assert_allclose(decisions, expected, atol=1e-12)
    labels = cross_val_predict(estimator, X, Y, cv=folds)
    np.testing.assert_array_equal(labels, expected > 0)


def test_cross_validation_with_kernel_matrix(one_of_each):
    """A precomputed kernel is split along both axes."""
    folds = KFold(3)
    one_of_each.set_params(kernel="rbf", gamma=0.5)
    expected = cross_val_predict(one_of_each, X, Y, cv=folds, method="decision_function")
    one_of_each.set_params(kernel="precomputed")
    K = rbf_kernel(X, gamma=0.5)
    decisions = cross_val_predict(one_of_each, K, Y, cv=folds, method="decision_function")
    np.testing.assert_allclose(decisions, expected, atol=1e-6)


def test_fits_in_threads(estimator):
    """Models fitted in two threads at a time are those fitted one after the other."""
    arguments = {"cv": KFold(4), "method": "decision_function"}
    expected = cross_val_predict(estimator, X, Y, **arguments)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        decisions = cross_val_predict(estimator, X, Y, **arguments)
    np.testing.assert_allclose(decisions, expected, atol=1e-12)


def test_grid_search_over_own_parameters(estimator):
    """Issue 308: GridSearchCV finds the parameters, and the search has our classes_."""
    grid = {"C": [1e-4, 1.0], "threshold": ["zero", "per-label"]}
    search = GridSearchCV(estimator, grid, cv=3, error_score="raise").fit(X, Y)
    assert isinstance(estimator.fit(X, Y).classes_, np.ndarray)
    np.testing.assert_array_equal(search.classes_, np.arange(N_LABELS))
    assert np.unique(search.cv_results_["mean_test_score"]).size > 1
    best = clone(estimator).set_params(**search.best_params_).fit(X, Y)
    assert_same_model(best, search)
    assert search.score(X_NEW, Y_NEW) == accuracy_score(Y_NEW, best.predict(X_NEW))


def share_of_wrong_tops(y, decision):
    """One-error where no scores tie: the share of labelled rows whose top label is wrong."""
    top_is_right = np.take_along_axis(y, decision.argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.mean((top_is_right == 0) & y.any(axis=1))


@pytest.mark.parametrize(
    ("scorer", "measure", "sign"),
    [
        (ranking_loss_scorer, label_ranking_loss, -1),
        (average_precision_scorer, label_ranking_average_precision_score, 1),
        (one_error_scorer, share_of_wrong_tops, -1),
    ],
    ids=["ranking loss", "average precision", "one error"],
)
def test_grid_search_by_ranking(estimator, scorer, measure, sign):
    """The scorers of skml_odm.metrics rank: larger is better, and GridSearchCV can use them."""
    folds = KFold(3)
    grid = {"C": [1e-4, 0.01, 1.0]}
    search = GridSearchCV(estimator, grid, scoring=scorer, cv=folds, error_score="raise")
    search.fit(X, Y)
    expected = []
    for C in grid["C"]:
        decisions = fold_decisions(clone(estimator).set_params(C=C), folds)
        expected.append(np.mean([sign * measure(Y[test], d) for test, d in decisions]))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)
    assert search.best_params_["C"] == grid["C"][np.argmax(expected)]
    best = search.best_estimator_.decision_function(X_NEW)
    np.testing.assert_allclose(scorer(search, X_NEW, Y_NEW), sign * measure(Y_NEW, best))


def test_scorers_take_sparse_labels(fitted):
    """Ranking scorers give the same value for sparse and dense labels, and sparse features."""
    model = clone(fitted).fit(sparse.csr_matrix(X), sparse.csr_matrix(Y))
    for scorer in (ranking_loss_scorer, average_precision_scorer, one_error_scorer):
        value = scorer(model, sparse.csr_matrix(X_NEW), sparse.csr_matrix(Y_NEW))
        assert value == pytest.approx(scorer(fitted, X_NEW, Y_NEW))


def test_pipeline_with_dense_scaler(estimator):
    """In a pipeline the model sees the scaled features, and parameters are reached by name."""
    name = type(estimator).__name__.lower()
    pipeline = make_pipeline(MinMaxScaler(), estimator).set_params(**{f"{name}__C": 0.5})
    pipeline.fit(100 * X - 7, Y)
    scaler = MinMaxScaler().fit(X)
    direct = clone(estimator).set_params(C=0.5).fit(scaler.transform(X), Y)
    expected = direct.decision_function(scaler.transform(X_NEW))
    np.testing.assert_allclose(pipeline.decision_function(100 * X_NEW - 7), expected, atol=1e-6)
    np.testing.assert_array_equal(pipeline.classes_, np.arange(N_LABELS))
    search = GridSearchCV(pipeline, {f"{name}__C": [1e-4, 0.5]}, scoring=ranking_loss_scorer, cv=2)
    assert search.fit(X, Y).best_params_[f"{name}__C"] in (1e-4, 0.5)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_pipeline_with_sparse_scaler(estimator):
    """Sparse features stay sparse through a pipeline, on their way in and out."""
    pipeline = make_pipeline(MaxAbsScaler(), estimator)
    pipeline.fit(sparse.csc_matrix(X), sparse.csc_matrix(Y))
    scale = X.max(axis=0)
    direct = clone(estimator).fit(X / scale, Y)
    expected = direct.decision_function(X_NEW / scale)
    np.testing.assert_allclose(
        pipeline.decision_function(sparse.csr_matrix(X_NEW)), expected, atol=1e-8
    )
    assert_mirrors(pipeline.predict(sparse.csr_matrix(X_NEW)), sparse.csc_matrix(Y))


def test_sample_weights_reach_the_model(estimator):
    """Issues 62, 165, 245, 179: weights pass through GridSearchCV to fit, split with the rows."""
    weight = np.where(np.arange(len(X)) % 2, 5.0, 0.2)
    search = GridSearchCV(estimator, {"C": [0.1]}, cv=KFold(2), error_score="raise")
    search.fit(X, Y, sample_weight=weight)
    weighted = clone(estimator).set_params(C=0.1).fit(X, Y, sample_weight=weight)
    assert_same_model(weighted, search)
    plain = clone(estimator).set_params(C=0.1).fit(X, Y)
    difference = plain.decision_function(X_NEW) - weighted.decision_function(X_NEW)
    assert np.abs(difference).max() > 1e-3


# The host's way to split


def stratified_split(features, labels):
    """The host's split as X_train, X_new, y_train, y_new; its two distributions differ in order."""
    parts = iterative_train_test_split(features, labels, test_size=0.3)
    X_parts = [part for part in parts if part.shape[1] == features.shape[1]]
    y_parts = [part for part in parts if part.shape[1] == labels.shape[1]]
    return *X_parts, *y_parts


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.usefixtures("seeded")
def test_iterative_train_test_split(estimator, convert):
    """The parts of the host's stratified split go straight into fit and predict."""
    X_train, X_test, y_train, y_test = stratified_split(convert(X_ALL), convert(Y_ALL))
    assert X_train.shape[0] == y_train.shape[0] > X_test.shape[0] == y_test.shape[0] > 0
    prediction = estimator.fit(X_train, y_train).predict(X_test)
    assert sparse.issparse(prediction) == sparse.issparse(y_test)
    wrong = hamming_loss(as_array(y_test), as_array(prediction))
    majority = np.tile(as_array(y_train).mean(axis=0) > 0.5, (y_test.shape[0], 1))
    assert wrong < hamming_loss(as_array(y_test), majority)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.usefixtures("seeded")
def test_iterative_stratification(estimator, convert):
    """The host's folds index our input, and every row is predicted once."""
    features, labels = convert(X), convert(Y)
    times_predicted = np.zeros(len(X), dtype=int)
    for train, test in IterativeStratification(n_splits=3, order=1).split(features, labels):
        prediction = estimator.fit(features[train], labels[train]).predict(features[test])
        assert sparse.issparse(prediction) == sparse.issparse(labels)
        assert prediction.shape == (len(test), N_LABELS)
        times_predicted[test] += 1
    assert (times_predicted == 1).all()


@pytest.mark.usefixtures("seeded")
def test_iterative_stratification_inside_grid_search(estimator):
    """The host's folds also drive scikit-learn's search."""
    folds = IterativeStratification(n_splits=2, order=2)
    search = GridSearchCV(estimator, {"C": [0.01, 1.0]}, cv=folds, error_score="raise").fit(X, Y)
    assert search.n_splits_ == 2
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


# A label column with one class (issues 56, 101, 253)


def with_constant_columns(values):
    """Y with further columns, each of one value."""
    return np.hstack([Y, np.tile(np.array(values, dtype=Y.dtype), (len(Y), 1))])


@pytest.mark.parametrize("values", [[0], [1], [0, 1], [0, 0], [1, 1]], ids=str)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_constant_label_columns(estimator, values, convert):
    """A label that all rows have, or none, is learnt like any other, and as what it is."""
    y = with_constant_columns(values)
    model = estimator.fit(X, convert(y))
    decision = model.decision_function(X_NEW)
    assert decision.shape == (len(X_NEW), y.shape[1])
    assert np.isfinite(decision).all()
    prediction = as_array(model.predict(X_NEW))
    np.testing.assert_array_equal(prediction, decision > 0)
    np.testing.assert_array_equal(prediction[:, N_LABELS:].mean(axis=0).round(), values)


@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("n_labels", [1, 2, 4])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_all_label_columns_constant(estimator, value, n_labels, convert):
    """With nothing to learn from, the model predicts what it saw."""
    model = estimator.fit(X, convert(np.full((len(X), n_labels), value)))
    assert np.isfinite(model.decision_function(X_NEW)).all()
    prediction = as_array(model.predict(X_NEW))
    np.testing.assert_array_equal(prediction, np.full((len(X_NEW), n_labels), value))


@pytest.mark.parametrize("value", [0, 1, -1, "only"])
def test_one_class_in_one_dimension(estimator, value):
    """A one-dimensional y of one class predicts this class."""
    model = estimator.fit(X, np.full(len(X), value))
    assert list(model.classes_) == [value]
    prediction = model.predict(X_NEW)
    assert prediction.shape == (len(X_NEW),)
    assert (prediction == value).all()


@pytest.mark.parametrize("make", [fixed_partition, BinaryRelevance])
def test_constant_label_column_in_an_ensemble(estimator, make):
    """An ensemble whose members see a single, constant label predicts it."""
    y = Y.copy()
    y[:, 1], y[:, 3] = 0, 1
    prediction = as_array(fit_ensemble(make, estimator, y).predict(X_NEW))
    assert (prediction[:, 1] == 0).all()
    assert (prediction[:, 3] == 1).all()


def test_rare_label_missing_from_a_fold(estimator):
    """Cross-validation survives a label that one training fold does not have."""
    y = with_constant_columns([0])
    y[:3, -1] = 1
    scorer = make_scorer(hamming_loss, greater_is_better=False)
    scores = cross_val_score(estimator, X, y, cv=KFold(3), scoring=scorer, error_score="raise")
    assert (scores > -0.5).all()
