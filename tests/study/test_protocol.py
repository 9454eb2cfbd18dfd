"""How a study divides rows."""

import numpy as np
import pytest

from skml_odm.datasets import DataSet
from skml_odm.study.protocol import Protocol, plain_folds, stratified_folds


def data_set(n_rows=200, n_labels=4, split=None, seed=0):
    random = np.random.RandomState(seed)
    Y = random.rand(n_rows, n_labels) < np.linspace(0.05, 0.5, n_labels)
    names = tuple("abcdefgh")
    return DataSet("some", random.rand(n_rows, 3), Y, names[:n_labels], names[:3], split)


@pytest.mark.parametrize("stratified", [True, False])
def test_folds_cover_all_rows_once_in_each_repeat(stratified):
    data = data_set()
    splits = Protocol(folds=4, repeats=3, stratified=stratified).splits(data)
    assert len(splits) == 12
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(200))
    for turn in range(3):
        tests = np.concatenate([test for _, test in splits[4 * turn : 4 * turn + 4]])
        assert sorted(tests) == list(range(200))
    assert not np.array_equal(splits[0][1], splits[4][1])


def test_folds_are_the_same_for_the_same_seed_only():
    data = data_set()

    def first_fold(seed):
        # the host's ties use this generator
        np.random.random()  # noqa: NPY002
        return Protocol(seed=seed).splits(data)[0][1]

    np.testing.assert_array_equal(first_fold(3), first_fold(3))
    assert not np.array_equal(first_fold(3), first_fold(4))


def test_stratified_folds_give_each_label_its_share():
    Y = data_set(300).Y

    def spread(make):
        """The largest deviation of a label's rows in a fold from its share."""
        deviations = [
            np.abs(Y[test].sum(axis=0) - Y.sum(axis=0) / 5).max()
            for seed in range(5)
            for _, test in make(Y, 5, seed)
        ]
        return np.max(deviations)

    assert spread(stratified_folds) <= 3.0
    assert spread(plain_folds) > 2 * spread(stratified_folds)


def test_random_splits_have_the_share_asked_for():
    splits = Protocol(kind="random", repeats=6, test_share=0.25).splits(data_set())
    assert [(len(train), len(test)) for train, test in splits] == [(150, 50)] * 6
    assert all(not set(train) & set(test) for train, test in splits)
    assert len({tuple(test) for _, test in splits}) == 6


def test_random_splits_have_the_training_rows_asked_for():
    splits = Protocol(kind="random", repeats=2, training_rows=30).splits(data_set())
    assert [(len(train), len(test)) for train, test in splits] == [(30, 170)] * 2
    with pytest.raises(ValueError, match="training_rows must be less than the number of rows, 200"):
        Protocol(kind="random", training_rows=200).splits(data_set())


def test_official_splits_are_the_publishers():
    split = np.arange(150), np.arange(150, 200)
    assert Protocol(kind="official").splits(data_set(split=split)) == [split]
    with pytest.raises(ValueError, match="'some' has no official split"):
        Protocol(kind="official").splits(data_set())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "loo"}, "kind must be one of 'folds', 'random', 'official'; got 'loo'"),
        ({"scaling": "log"}, "scaling must be one of"),
        ({"folds": 1}, "folds must be"),
        ({"repeats": 0}, "repeats must be"),
        ({"training_rows": -1}, "training_rows must be"),
        ({"fewest_rows_of_features": -1}, "fewest_rows_of_features must be"),
        ({"test_share": 1.0}, "test_share must be"),
        ({"candidate_noise": -1}, "candidate_noise must be"),
        ({"stratified": 1}, "stratified must be True or False"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        Protocol(**settings)


def test_more_folds_than_rows():
    with pytest.raises(ValueError, match="folds must be at most the number of rows, 3"):
        Protocol(folds=4).splits(data_set(3))
