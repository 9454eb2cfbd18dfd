"""Data, containers, ensembles and checks that test_host.py and test_containers.py share.

A new estimator joins the host contract with one line in ``ESTIMATORS``: conftest.py makes fixtures
of them.
"""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from skmultilearn.base import MLClassifierBase
from skmultilearn.cluster import FixedLabelSpaceClusterer, RandomLabelSpaceClusterer
from skmultilearn.ensemble import LabelSpacePartitioningClassifier, MajorityVotingClassifier

from skml_odm import (
    CSRL,
    M3L,
    MLODM,
    PMLLRS,
    PMLODM,
    Particle,
    RankCVM,
    RankLSVM,
    RankSVM,
    RankSVMz,
)

ESTIMATORS = [
    MLODM(random_state=0),
    MLODM(kernel="linear", threshold="per-label", random_state=0),
    RankSVM(random_state=0),
    PMLODM(C=10.0, threshold="regression", random_state=0),
    RankLSVM(random_state=0),
    RankCVM(random_state=0),
    RankSVMz(),
    Particle(),
    PMLLRS(eta=0.1),
    CSRL(beta=4.0, covariance="learn", threshold="zero", random_state=0),
    M3L(kernel="linear", threshold="zero", random_state=0),
]
# Containers, tags, cloning and the like are code that all estimators share (estimators/base.py).
# In the fast group this one stands for all of them where a test is marked ``shared_code``.
REPRESENTATIVE = ESTIMATORS[0]

SPARSE_FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]
SPARSE_TYPES = [f"{name}_{kind}" for name in SPARSE_FORMATS for kind in ("matrix", "array")]


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


def main_parameter(estimator):
    """The name of the number that decides most about a model."""
    return next(name for name in ("C", "eta", "beta") if hasattr(estimator, name))


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
    atol = 1e-8 * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(other.decision_function(X_new), expected, rtol=0, atol=atol)
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
