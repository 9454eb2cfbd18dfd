"""The embedded data: what it says about each digit, and that it needs nothing but scikit-learn."""

import socket

import numpy as np
import pytest
from sklearn.datasets import load_digits

from skml_odm.datasets import load_digit_attributes

LABELS_OF_DIGIT = {
    0: {"even", "multiple of three", "square number", "closed loop"},
    1: {"square number", "straight strokes"},
    2: {"even", "prime"},
    3: {"prime", "multiple of three"},
    4: {"even", "square number", "straight strokes"},
    5: {"prime", "greater than four"},
    6: {"even", "multiple of three", "greater than four", "closed loop"},
    7: {"prime", "greater than four", "straight strokes"},
    8: {"even", "greater than four", "closed loop"},
    9: {"multiple of three", "square number", "greater than four", "closed loop"},
}


@pytest.fixture(scope="module")
def bunch():
    return load_digit_attributes()


@pytest.mark.parametrize("digit", range(10))
def test_every_row_of_a_digit_has_its_labels(bunch, digit):
    rows = bunch.target[load_digits().target == digit]
    expected = [int(name in LABELS_OF_DIGIT[digit]) for name in bunch.target_names]
    assert len(rows) > 0
    np.testing.assert_array_equal(rows, np.tile(expected, (len(rows), 1)))


def test_arithmetic_labels_follow_from_arithmetic(bunch):
    digit = load_digits().target
    column = dict(zip(bunch.target_names, bunch.target.T, strict=True))
    np.testing.assert_array_equal(column["even"], digit % 2 == 0)
    np.testing.assert_array_equal(column["multiple of three"], digit % 3 == 0)
    np.testing.assert_array_equal(column["square number"], np.sqrt(digit) % 1 == 0)
    np.testing.assert_array_equal(column["greater than four"], digit > 4)
    divisors = np.array([sum(d % k == 0 for k in range(1, d + 1)) for d in range(10)])
    np.testing.assert_array_equal(column["prime"], divisors[digit] == 2)


def test_description_lists_the_digits_of_each_label(bunch):
    for line in bunch.DESCR.splitlines():
        name = line[4:23].strip()
        if line.startswith("    ") and name in bunch.target_names:
            digits = {int(word) for word in line[23:34].split()}
            assert digits == {d for d, labels in LABELS_OF_DIGIT.items() if name in labels}
    assert all(f"    {name} " in bunch.DESCR for name in bunch.target_names)


def test_data_are_the_digits_scaled_to_the_unit_interval(bunch):
    np.testing.assert_array_equal(bunch.data * 16, load_digits().data)
    assert bunch.data.min() == 0.0
    assert bunch.data.max() == 1.0
    assert bunch.data.shape == (1797, len(bunch.feature_names))
    assert bunch.target.shape == (1797, len(bunch.target_names))
    # unsigned bytes would wrap around in user code such as 2 * y - 1
    assert bunch.target.dtype == np.int64


def test_rows_have_labels_and_lack_labels(bunch):
    counts = bunch.target.sum(axis=1)
    assert counts.min() == 2
    assert counts.max() == 4
    assert len(np.unique(bunch.target, axis=0)) == 10


def test_return_x_y(bunch):
    X, y = load_digit_attributes(return_X_y=True)
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)


def test_loading_opens_no_connection(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the embedded data must not use the network")

    monkeypatch.setattr(socket, "socket", refuse)
    assert load_digit_attributes().data.shape == (1797, 64)
