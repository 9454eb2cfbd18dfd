"""Unknown labels in data files, in data sets and their sheets; labels that are hidden."""

import numpy as np
import pytest
from scipy import sparse

from skml_odm.datasets import data_sheet, hide_labels, load_data
from skml_odm.datasets.selection import labelled_rows, without_labels

ARFF = """@relation 't: -C 2'
@attribute A {0,1}
@attribute B {0,1}
@attribute x numeric
@data
"""
FILES = {
    "dense.arff": ARFF + "1,?,3\n?,?,4\n0,1,5\n",
    "sparse.arff": ARFF + "{0 1, 1 ?, 2 3}\n{0 ?, 1 ?, 2 4}\n{1 1, 2 5}\n",
    "some.csv": "A,B,x\n1,,3\n?,NA,4\n0,1,5\n",
}


@pytest.mark.parametrize("name", FILES)
def test_files(name, tmp_path):
    (tmp_path / name).write_text(FILES[name])
    options = {"labels": ["A", "B"]} if name.endswith("csv") else {}
    data = load_data(tmp_path / name, **options)
    assert data.Y.dtype == data.known.dtype == bool
    np.testing.assert_array_equal(data.known, [[1, 0], [0, 0], [1, 1]])
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 0], [0, 1]])
    sheet = data_sheet(data)
    assert sheet.facts["unknown labels"] == 3
    assert sheet.facts["rows in which no label is known"] == 1
    assert any(warning.startswith("3 of 6 labels are unknown") for warning in sheet.warnings)
    np.testing.assert_array_equal(labelled_rows(data).known, data.known[[0, 2]])
    np.testing.assert_array_equal(without_labels(data, ["A"]).known, data.known[:, [1]])


def test_a_training_file_with_unknown_labels_and_a_test_file_without(tmp_path):
    (tmp_path / "t-train.arff").write_text(FILES["dense.arff"])
    (tmp_path / "t-test.arff").write_text(ARFF + "1,0,3\n")
    data = load_data([tmp_path / "t-train.arff", tmp_path / "t-test.arff"])
    assert data.known.sum() == 5 and data.known[data.split[1]].all()
    assert load_data(tmp_path / "t-test.arff").known is None


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_hidden_labels(convert):
    y = (np.random.default_rng(0).random((200, 5)) < 0.5).astype(float)
    y[0, 0] = np.nan
    hidden = hide_labels(convert(y), 0.3, random_state=0)
    known = ~np.isnan(hidden)
    assert 0.65 < known.mean() < 0.75
    assert not known[0, 0]
    np.testing.assert_array_equal(hidden[known], y[known])
    again, other = (hide_labels(y, 0.3, random_state=seed) for seed in (0, 1))
    np.testing.assert_array_equal(again, hidden)
    assert not np.array_equal(other, hidden, equal_nan=True)
    with pytest.raises(ValueError, match=r"share must be a number in \[0, 1\]; got 2"):
        hide_labels(y, 2)
