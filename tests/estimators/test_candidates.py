"""Neighbours, votes and prototypes, against values by hand."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from skml_odm.estimators.candidates import (
    Neighbourhood,
    Prototypes,
    kernel_distances,
    largest_is_one,
)

LINE = np.array([[0.0], [1.0], [3.0], [7.0]])


def linear(X):
    return X @ X.T


# ---- neighbours ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "sparse", "precomputed"])
def test_closeness_by_hand(kind):
    """Distances from 0: 1, 3, 7; from 1: 1, 2, 6; from 3: 2, 3, 4; from 7: 4, 6, 7."""
    X = {"dense": LINE, "sparse": sparse.csr_matrix(LINE), "precomputed": linear(LINE)}[kind]
    near = Neighbourhood(X, 3, kind == "precomputed")
    np.testing.assert_array_equal(near.indices, [[1, 2, 3], [0, 2, 3], [1, 0, 3], [2, 1, 0]])
    expected = [[1, 4 / 6, 0], [1, 4 / 5, 0], [1, 1 / 2, 0], [1, 1 / 3, 0]]
    np.testing.assert_allclose(near.closeness, expected, atol=1e-7)


def test_fewer_neighbours_than_rows():
    near = Neighbourhood(LINE, 2)
    np.testing.assert_array_equal(near.indices, [[1, 2], [0, 2], [1, 0], [2, 1]])
    np.testing.assert_array_equal(near.closeness, [[1, 0]] * 4)


@pytest.mark.parametrize("n_neighbors", [4, 10, 1000])
def test_fewer_rows_than_neighbours(n_neighbors):
    """All other rows are neighbours."""
    near, all_others = Neighbourhood(LINE, n_neighbors), Neighbourhood(LINE, 3)
    np.testing.assert_array_equal(near.indices, all_others.indices)
    np.testing.assert_array_equal(near.closeness, all_others.closeness)


@pytest.mark.parametrize("X", [np.eye(3), np.zeros((3, 2)), LINE[:2]])
@pytest.mark.parametrize("precomputed", [False, True])
def test_equal_distances_count_one(X, precomputed):
    near = Neighbourhood(linear(X) if precomputed else X, 2, precomputed)
    np.testing.assert_array_equal(near.closeness, np.ones((len(X), min(2, len(X) - 1))))


def test_one_neighbour_counts_one():
    np.testing.assert_array_equal(Neighbourhood(LINE, 1).closeness, np.ones((4, 1)))


@pytest.mark.parametrize("precomputed", [False, True])
def test_one_row_has_no_neighbour(precomputed):
    near = Neighbourhood(np.ones((1, 1)), 10, precomputed)
    assert near.indices.shape == near.closeness.shape == (1, 0)
    np.testing.assert_array_equal(near.smooth(np.array([[True, False]])), [[1.0, 0.0]])


def test_a_row_is_not_its_own_neighbour():
    """Not even among equal rows."""
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 2)), 5, axis=0)
    for near in (Neighbourhood(X, 3), Neighbourhood(linear(X), 3, precomputed=True)):
        assert (near.indices != np.arange(15)[:, None]).all()


def test_kernel_distances_are_those_in_feature_space():
    X = np.random.default_rng(0).normal(size=(6, 3))
    direct = np.linalg.norm(X[:, None] - X[None, :], axis=2)
    np.testing.assert_allclose(kernel_distances(linear(X)), direct, atol=1e-7)
    K = rbf_kernel(X, gamma=0.3)
    np.testing.assert_allclose(kernel_distances(K), np.sqrt(2.0 - 2.0 * K), atol=1e-7)


def test_votes_by_hand():
    """Eq. 6: the row's own vote and those of its neighbours, divided by their number + 1."""
    labels = np.array([[1, 0], [1, 1], [0, 1], [0, 1]], dtype=bool)
    near = Neighbourhood(LINE, 3)
    expected = np.array(
        [
            [1 + 1 * 1, 1 * 1 + 4 / 6],
            [1 + 1 * 1, 1 + 4 / 5],
            [1 * 1 + 1 / 2, 1 + 1 * 1],
            [1 / 3, 1 + 1 * 1 + 1 / 3],
        ]
    )
    np.testing.assert_allclose(near.smooth(labels), expected / 4)
    np.testing.assert_allclose(near.smooth(labels.astype(float)), expected / 4)


def test_votes_are_between_zero_and_one():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(30, 3)), rng.random((30, 5)) < 0.4
    labels[:, 0], labels[:, 1] = False, True
    votes = Neighbourhood(X, 7).smooth(labels)
    assert not votes[:, 0].any()
    assert (votes >= 0.0).all() and (votes <= 1.0).all()
    assert (votes[labels] >= 1 / 8).all()


def test_largest_is_one():
    given = np.array([[0.2, 0.1, 0.0], [0.0, 0.0, 0.0], [3.0, 6.0, 6.0]])
    expected = [[1.0, 0.5, 0.0], [0.0, 0.0, 0.0], [0.5, 1.0, 1.0]]
    copy = given.copy()
    np.testing.assert_allclose(largest_is_one(given), expected)
    np.testing.assert_array_equal(given, copy)


# ---- prototypes ----------------------------------------------------------------------------


def random_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(8, 3)) * (rng.random((8, 3)) < 0.7)
    return X, rng.random((8, 2))


def test_prototypes_are_weighted_means():
    prototypes = Prototypes(LINE, 2)
    np.testing.assert_allclose(prototypes.points, [[2.75], [2.75]])
    prototypes.update(np.array([[1.0, 0.5], [1.0, 0.0], [0.0, 0.0], [0.0, 1.5]]))
    np.testing.assert_allclose(prototypes.points, [[0.5], [5.25]])
    expected = [[0.5, 5.25], [0.5, 4.25], [2.5, 2.25], [6.5, 1.75]]
    np.testing.assert_allclose(prototypes.distances(), expected)


@pytest.mark.parametrize("kind", ["dense", "sparse", "precomputed"])
def test_distances_are_those_to_the_points(kind):
    X, importance = random_rows()
    convert = {"dense": np.array, "sparse": sparse.csr_matrix, "precomputed": linear}[kind]
    prototypes = Prototypes(convert(X), 2, kind == "precomputed")
    prototypes.update(importance)
    weights = importance / importance.sum(axis=0)
    points = weights.T @ X
    expected = np.linalg.norm(X[:, None] - points[None, :], axis=2)
    np.testing.assert_allclose(prototypes.distances(), expected, atol=1e-7)
    known = weights.T if kind == "precomputed" else points
    assert type(prototypes.points) is np.ndarray
    np.testing.assert_allclose(prototypes.points, known)


@pytest.mark.parametrize("precomputed", [False, True])
def test_labels_without_rows_keep_their_prototype(precomputed):
    X, importance = random_rows()
    prototypes = Prototypes(linear(X) if precomputed else X, 2, precomputed)
    before = prototypes.points
    importance[:, 1] = 0.0
    prototypes.update(importance)
    np.testing.assert_array_equal(prototypes.points[1], before[1])
    assert not np.array_equal(prototypes.points[0], before[0])
    moved = prototypes.points
    prototypes.update(np.zeros((8, 2)))
    np.testing.assert_array_equal(prototypes.points, moved)


def test_points_are_a_copy():
    prototypes = Prototypes(linear(LINE), 2, precomputed=True)
    prototypes.points[:] = 7.0
    np.testing.assert_allclose(prototypes.weights, 0.25)


def test_inputs_stay_unchanged():
    X, importance = random_rows()
    for array in (X, importance):
        array.setflags(write=False)
    prototypes = Prototypes(X, 2)
    prototypes.update(importance)
    prototypes.distances()
    Neighbourhood(X, 3).smooth(importance > 0.5)
