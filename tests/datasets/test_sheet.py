"""The data sheet: figures against counting by hand, and the known traps of published sets."""

import numpy as np
import pytest
from scipy import sparse

from skml_odm.datasets import DataSet, data_sheet, load_data
from skml_odm.datasets.row_hashes import row_hashes


def small_set(X, Y, **more):
    X, Y = np.asarray(X, dtype=float), np.asarray(Y, dtype=bool)
    labels = tuple(f"L{j}" for j in range(Y.shape[1]))
    return DataSet("small", X, Y, labels, tuple(f"x{j}" for j in range(X.shape[1])), **more)


X = [[1, 0, 5], [1, 0, 5], [0, 2, 5], [0, 0, 5], [1, 0, 5]]
Y = [[1, 0, 0, 1], [1, 1, 0, 1], [1, 1, 0, 1], [0, 0, 0, 0], [1, 0, 0, 1]]


def test_figures():
    facts = data_sheet(small_set(X, Y)).facts
    assert facts == {
        "rows": 5,
        "features": 3,
        "zeros among features": pytest.approx(6 / 15),
        "labels": 4,
        "cardinality": pytest.approx(10 / 5),
        "density": pytest.approx(10 / 20),
        "distinct label sets": 3,
        "share of the most frequent label set": pytest.approx(2 / 5),
        "imbalance (mean IRLbl)": pytest.approx((1 + 2 + 1) / 3),
        "imbalance (max IRLbl)": 2.0,
        "rows without labels": 1,
        "rows with all labels": 0,
        "labels without rows": 1,
        "labels of all rows": 0,
        "constant features": 1,
        "rows that repeat an earlier row's features": 2,
        "rows with the features but not the labels of another": 3,
        "missing values": 0,
        "row alignment": "undecided",
        "label columns": "consistent",
    }
    assert all(type(value) in (str, int, float) for value in facts.values())


def test_warnings():
    assert data_sheet(small_set(X, Y)).warnings == (
        "1 of 5 rows have no label",
        "labels that no row has: L2",
        "1 of 3 features are constant",
        "2 of 5 rows repeat the features of an earlier row; "
        "3 rows have the features but not the labels of another",
    )


def test_sparse_sets_have_the_same_sheet():
    dense = small_set(X, Y)
    same = DataSet(
        "small",
        sparse.csr_matrix(dense.X),
        *(getattr(dense, name) for name in ("Y", "label_names", "feature_names")),
    )
    assert data_sheet(same) == data_sheet(dense)


def test_folds():
    data = small_set(X, Y)
    sheet = data_sheet(
        data, [(np.array([0, 3, 4]), np.array([1, 2])), (np.array([1, 2]), np.array([3]))]
    )
    assert sheet.facts["labels missing from a training part"] == 2  # L1 in one fold, L2 in both
    assert sheet.facts["labels missing from a test part"] == 4
    assert sheet.facts["test rows with the features of a training row"] == 1
    assert sheet.warnings[-3:] == (
        "labels missing from a training part: L1 (1 of 2 folds), L2 (2 of 2 folds)",
        "labels missing from a test part: L2 (2 of 2 folds), L0 (1 of 2 folds), "
        "L1 (1 of 2 folds), L3 (1 of 2 folds)",
        "1 of 3 test rows have the features of a training row",
    )


def test_the_publishers_split_stands_in_for_folds():
    data = small_set(X, Y, split=(np.array([0, 3]), np.array([1, 2, 4])))
    sheet = data_sheet(data)
    assert sheet.facts["test rows with the features of a training row"] == 2
    assert sheet == data_sheet(data, [data.split])


def test_candidates_and_notes():
    candidates = np.array(Y, dtype=bool)
    candidates[0, 0] = False
    note = "missing values: 12 (x0 12); numbers became the mean of all rows"
    sheet = data_sheet(small_set(X, Y, candidates=candidates, notes=(note,)))
    assert sheet.facts["missing values"] == 12
    assert sheet.facts["rows with a label that is no candidate"] == 1
    assert sheet.facts["candidates per row"] == pytest.approx(9 / 5)
    assert sheet.warnings[0] == note
    assert "1 of 5 rows have a label that is no candidate" in sheet.warnings


def test_shifted_labels_are_the_first_warning():
    digits = load_data("digits")
    broken = small_set(digits.X, np.roll(digits.Y, 2, axis=0))
    sheet = data_sheet(broken)
    assert sheet.facts["row alignment"] == "shifted"
    assert sheet.warnings[0].startswith("labels seem to be shifted against features: about rows 0 ")
    assert sheet.warnings[0].endswith("have the labels of 2 rows before")


def test_row_hashes_tell_rows_apart():
    rng = np.random.RandomState(0)
    X = rng.randint(0, 2, size=(2000, 8)) * rng.choice([1.0, -1.0, 0.5], size=8)
    hashes = row_hashes(X)
    _, rows = np.unique(X, axis=0, return_inverse=True)
    _, numbers = np.unique(hashes, return_inverse=True)
    np.testing.assert_array_equal(rows[:, None] == rows, numbers[:, None] == numbers)
    np.testing.assert_array_equal(row_hashes(sparse.csr_matrix(X)), hashes)


def test_row_hashes_do_not_see_how_zeros_are_stored():
    plain = sparse.csr_matrix(np.array([[0.0, 1.0], [0.0, 0.0]]))
    stored = sparse.csr_matrix(([-0.0, 0.25, 0.75], [0, 1, 1], [0, 3, 3]), shape=(2, 2))
    np.testing.assert_array_equal(row_hashes(stored), row_hashes(plain))
    assert stored.nnz == 3  # what the caller has stays as it was


TRAPS = {
    "genbase": {"test rows with the features of a training row": 157}
    | {"labels missing from a training part": 2},
    "enron": {"test rows with the features of a training row": 62}
    | {"labels missing from a training part": 1},
    "delicious": {"test rows with the features of a training row": 871, "rows without labels": 14},
    "medical": {"labels missing from a training part": 7},
    "birds": {"rows without labels": 294},
    "slashdot": {"labels without rows": 2},
}


@pytest.mark.data
@pytest.mark.parametrize("name", TRAPS)
def test_known_traps(data_folder, name):
    facts = data_sheet(load_data(data_folder / f"{name}.npz")).facts
    assert {key: facts[key] for key in TRAPS[name]} == TRAPS[name]
