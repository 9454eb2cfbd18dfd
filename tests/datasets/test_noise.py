"""Candidate noise: how many labels are added, to which rows, in which container."""

import numpy as np
import pytest
from host_data import SPARSE_TYPES
from scipy import sparse

from skml_odm.datasets import add_candidate_noise

Y = (np.random.default_rng(0).random((50, 6)) < 0.4).astype(int)
Y[0], Y[1] = 0, 1


@pytest.mark.parametrize("n_noisy", [0, 1, 3, 6, 100])
def test_every_row_gets_as_many_labels_as_it_can(n_noisy):
    noisy = add_candidate_noise(Y, n_noisy, random_state=0)
    assert (noisy >= Y).all()
    added = (noisy - Y).sum(axis=1)
    np.testing.assert_array_equal(added, np.minimum(n_noisy, 6 - Y.sum(axis=1)))


def test_absent_labels_are_equally_likely():
    rows = np.tile([1, 0, 0, 1, 0], (20_000, 1))
    share = add_candidate_noise(rows, 2, random_state=0).mean(axis=0)
    np.testing.assert_allclose(share, [1, 2 / 3, 2 / 3, 1, 2 / 3], atol=0.02)


def test_random_state():
    first = add_candidate_noise(Y, 2, random_state=3)
    np.testing.assert_array_equal(first, add_candidate_noise(Y, 2, random_state=3))
    state = np.random.RandomState(3)
    np.testing.assert_array_equal(first, add_candidate_noise(Y, 2, random_state=state))
    assert (first != add_candidate_noise(Y, 2, random_state=4)).any()
    assert (first != add_candidate_noise(Y, 2)).any()


@pytest.mark.parametrize("name", SPARSE_TYPES)
def test_sparse_labels_stay_sparse(name):
    given = getattr(sparse, name)(Y.astype(np.uint8))
    noisy = add_candidate_noise(given, 1, random_state=0)
    assert type(noisy) is type(given)
    assert noisy.dtype == np.uint8
    np.testing.assert_array_equal(noisy.toarray(), add_candidate_noise(Y, 1, random_state=0))
    np.testing.assert_array_equal(given.toarray(), Y)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_dense_labels_keep_their_type():
    for labels in (Y, Y == 1, Y.astype(np.float32), np.matrix(Y)):
        noisy = add_candidate_noise(labels, 1, random_state=0)
        assert type(noisy) is np.ndarray
        assert noisy.dtype == labels.dtype


def test_data_frames_stay_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(Y, columns=list("abcdef"), index=np.arange(50) + 7)
    noisy = add_candidate_noise(frame, 1, random_state=0)
    pandas.testing.assert_index_equal(noisy.columns, frame.columns)
    pandas.testing.assert_index_equal(noisy.index, frame.index)
    np.testing.assert_array_equal(noisy, add_candidate_noise(Y, 1, random_state=0))


@pytest.mark.parametrize("n_noisy", [-1, 1.5, "1", True])
def test_invalid_numbers_are_refused(n_noisy):
    with pytest.raises(ValueError, match="n_noisy must be an integer in"):
        add_candidate_noise(Y, n_noisy)


def test_other_invalid_arguments_are_refused():
    with pytest.raises(ValueError, match="Y must have a column per label"):
        add_candidate_noise([0, 1], 1)
    with pytest.raises(ValueError, match="no unknown labels"):
        add_candidate_noise([[0, np.nan]], 1)
    with pytest.raises(ValueError, match="random_state must be"):
        add_candidate_noise(Y, 1, random_state="0")
