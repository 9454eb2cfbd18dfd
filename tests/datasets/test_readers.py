"""Readers of data files: what each format gives."""

import numpy as np
import pytest
from scipy import sparse

from skml_odm.datasets import DataFileError, load_data

DENSE = """\
% a comment
@RELATION toy
@attribute\tsize\tnumeric
@attribute colour {red, green, 'dark blue'}
@attribute flag {0,1}
@attribute A {0,1}
@attribute B {0,1}
@data
1.5, red, 1, 1, 0

2.5, 'dark blue', 0, 0, 1
?, ?, ?, 1, 1
"""
XML = """\
<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="B"><label name="A"></label></label>
</labels>
"""
SPARSE = """\
@relation 'toy: -C 2'
@attribute A {0,1}
@attribute B {0,1}
@attribute x numeric
@attribute y {0,1}
@attribute colour {red, green}
@data
{0 1, 2 3.5}
{1 1, 3 1, 4 green}
{2 ?, 4 ?}
{}
"""


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def test_mulan(write):
    write("toy.xml", XML)
    data = load_data(write("toy.arff", DENSE))
    assert data.name == "toy"
    assert data.label_names == ("B", "A")  # a hierarchy is read flat, in the order of the XML
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 0], [1, 1]])
    names = ("size", "colour=red", "colour=green", "colour=dark blue", "flag")
    assert data.feature_names == names
    # missing: numbers and zero-one attributes take the mean, other nominal ones no column
    np.testing.assert_array_equal(
        data.X, [[1.5, 1, 0, 0, 1], [2.5, 0, 0, 1, 0], [2.0, 0, 0, 0, 0.5]]
    )
    assert data.notes == (
        "missing values: 3 (size 1, flag 1, colour 1); numbers became the mean of all rows, "
        "nominal values have no column set",
    )
    assert data.split is None and data.candidates is None


def test_mulan_with_an_xml_file_elsewhere(write):
    xml = write("labels.xml", XML)
    assert load_data(write("toy.arff", DENSE), xml=xml).label_names == ("B", "A")


def test_xml_file_in_the_encoding_it_declares(write):
    text = XML.replace("utf-8", "iso-8859-1").replace('"A"', '"Ä"')
    write("toy.xml", text.encode("latin-1"))
    assert load_data(write("toy.arff", DENSE.replace(" A ", " Ä "))).label_names == ("B", "Ä")


def test_sparse_meka(write):
    data = load_data(write("toy.arff", SPARSE))
    assert data.label_names == ("A", "B")
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1], [0, 0], [0, 0]])
    assert sparse.issparse(data.X) and data.X.format == "csr"
    assert data.feature_names == ("x", "y", "colour=red", "colour=green")
    # an omitted nominal value is the first of its list; the missing x is the mean of 3.5, 0 and 0
    np.testing.assert_allclose(
        data.X.toarray(), [[3.5, 0, 1, 0], [0, 1, 0, 1], [3.5 / 3, 0, 0, 0], [0, 0, 1, 0]]
    )


def test_meka_with_labels_last(write):
    text = DENSE.replace("RELATION toy", "RELATION 'toy: -C -2 -split-percentage 50'")
    data = load_data(write("toy.arff", text))
    assert data.label_names == ("A", "B")
    assert data.X.shape == (3, 5)


@pytest.mark.parametrize("labels", [["A", "B"], 2])
def test_arff_with_labels_option(write, labels):
    data = load_data(write("toy.arff", DENSE), labels=labels)
    assert data.label_names == ("A", "B")
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1], [1, 1]])


def test_labels_option_has_precedence_over_the_xml_file(write):
    write("toy.xml", XML)
    assert load_data(write("toy.arff", DENSE), labels=["A"]).label_names == ("A",)


def test_strings_are_left_out_with_a_note(write):
    text = DENSE.replace("size\tnumeric", "size\tstring")
    data = load_data(write("toy.arff", text), labels=2)
    assert data.X.shape == (3, 4)
    assert data.notes[0] == "string attributes left out: size"


def test_other_encodings(write):
    path = write("toy.arff", DENSE.replace("green", "grün").encode("latin-1"))
    assert "colour=grün" in load_data(path, labels=2, encoding="latin-1").feature_names


def test_byte_order_mark_and_windows_lines(write):
    path = write("toy.arff", b"\xef\xbb\xbf" + DENSE.replace("\n", "\r\n").encode())
    assert load_data(path, labels=2).X.shape == (3, 5)


def test_svmlight(write):
    data = load_data(write("toy.svm", "3,10 1:0.5 4:2\n 2:1\n# comment\n3 4:1\n"))
    assert data.label_names == ("3", "10")
    np.testing.assert_array_equal(data.Y, [[1, 1], [0, 0], [1, 0]])
    np.testing.assert_array_equal(data.X.toarray(), [[0.5, 0, 0, 2], [0, 1, 0, 0], [0, 0, 0, 1]])


def test_pair_of_svmlight_files_shares_features_and_labels(write):
    pair = [write("toy-train.svm", "1 1:1\n"), write("toy-test.svm", "2 3:1\n")]
    data = load_data(pair)
    assert data.X.shape == (2, 3) and data.label_names == ("1", "2")


CSV = "size,colour,code,A,B\n1.5,red,1,1,0\n2.5,,2,0,1\n\nNA,green,1,1,1\n"


def test_csv(write):
    data = load_data(write("toy.csv", CSV), labels=["A", "B"], nominal=["code"])
    names = ("size", "colour=green", "colour=red", "code=1", "code=2")
    assert data.feature_names == names
    np.testing.assert_array_equal(data.X, [[1.5, 0, 1, 1, 0], [2.5, 0, 0, 0, 1], [2.0, 1, 0, 1, 0]])
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1], [1, 1]])
    assert data.notes[0].startswith("missing values: 2 (size 1, colour 1)")


def test_csv_with_another_separator_and_texts(write):
    rows = "".join(f"id{i};{i};{i % 2}\n" for i in range(30))
    data = load_data(write("toy.csv", "id;x;L\n" + rows), labels=1, sep=";")
    assert data.feature_names == ("x",)
    assert data.notes == ("columns of texts left out: id",)


def test_pair_of_csv_files(write):
    # the mean of the training rows fills both parts, and both have the columns of all colours
    train = write("toy-train.csv", "x,colour,L\n1,red,1\n3,green,0\n,red,1\n")
    test = write("toy-test.csv", "x,colour,L\n,blue,0\n")
    data = load_data([train, test], labels=["L"])
    assert data.name == "toy"
    assert data.feature_names == ("x", "colour=blue", "colour=green", "colour=red")
    np.testing.assert_array_equal(data.X[:, 0], [1, 3, 2, 2])
    np.testing.assert_array_equal(data.split[0], [0, 1, 2])
    np.testing.assert_array_equal(data.split[1], [3])
    assert data.notes[0].startswith("missing values: 2 (x 2); numbers became the mean of the train")


@pytest.mark.parametrize("text", [DENSE.replace("?, ?, ?", "4, red, 1"), SPARSE])
def test_pair_of_arff_files(write, text):
    pair = [write("toy-train.arff", text), write("toy-test.arff", text)]
    options = {"labels": ["A", "B"]}
    data, one = load_data(pair, **options), load_data(pair[0], **options)
    m = len(one.Y)
    assert data.X.shape == (2 * m, one.X.shape[1])
    np.testing.assert_array_equal(data.split[1], np.arange(m, 2 * m))
    np.testing.assert_array_equal(data.Y[m:], one.Y)
    np.testing.assert_allclose(
        sparse.csr_matrix(data.X)[m:].toarray(), sparse.csr_matrix(one.X).toarray()
    )


def test_pair_of_mulan_files_shares_the_xml_file(write):
    write("toy.xml", XML)
    data = load_data([write("toy-train.arff", DENSE), write("toy-test.arff", DENSE)])
    assert data.label_names == ("B", "A") and data.name == "toy"


def write_npz(tmp_path, **arrays):
    path = tmp_path / "toy.npz"
    np.savez(path, **arrays)
    return path


def test_npz(tmp_path):
    X = sparse.random(6, 5, density=0.5, format="csr", random_state=0)
    Y = np.eye(6, 3, dtype=np.uint8)
    path = write_npz(
        tmp_path,
        X_data=X.data,
        X_indices=X.indices,
        X_indptr=X.indptr,
        X_shape=X.shape,
        Y=Y,
        Y_partial=np.ones((6, 3)),
        train_idx=[0, 1, 2],
        test_idx=[3, 4],
        label_names=list("abc"),
    )
    data = load_data(path)
    assert (data.X != X).nnz == 0
    np.testing.assert_array_equal(data.Y, Y)
    assert data.candidates.all() and data.candidates.dtype == bool
    assert data.label_names == ("a", "b", "c") and data.feature_names[4] == "feature4"
    np.testing.assert_array_equal(data.split[0], [0, 1, 2])


def test_npz_with_classes(tmp_path):
    path = write_npz(tmp_path, X=np.ones((3, 2)), y=[2, 0, 2], classes=["a", "b", "c"])
    data = load_data(path)
    np.testing.assert_array_equal(data.Y, [[0, 0, 1], [1, 0, 0], [0, 0, 1]])
    assert data.label_names == ("a", "b", "c")


def test_embedded_sets():
    digits = load_data("digits")
    assert digits.X.shape == (1797, 64) and digits.Y.dtype == bool
    synthetic = load_data("synthetic", random_state=3)
    assert synthetic.X.shape == (1000, 50) and synthetic.Y.any(axis=1).all()
    assert (load_data("synthetic").X != synthetic.X).any()
    assert synthetic.X.min() == 0 and synthetic.X.max() == 1


def test_sets_of_the_host(monkeypatch):
    asked = []

    def load_dataset(name, variant):
        print("downloaded")
        asked.append((name, variant))
        X, Y = sparse.lil_matrix(np.eye(3)), sparse.lil_matrix(np.eye(3, 2, dtype=int))
        return (
            X,
            Y,
            [(f"x{i}", "NUMERIC") for i in range(3)],
            [("A", ["0", "1"]), ("B", ["0", "1"])],
        )

    monkeypatch.setattr("skmultilearn.dataset.load_dataset", load_dataset)
    data = load_data("host:toy")
    assert data.name == "toy" and data.label_names == ("A", "B")
    assert sparse.issparse(data.X) and data.feature_names == ("x0", "x1", "x2")
    np.testing.assert_array_equal(data.Y, np.eye(3, 2))
    pair = load_data(["host:toy-train", "host:toy-test"])
    assert pair.name == "toy" and len(pair.split[1]) == 3
    assert asked == [("toy", "undivided"), ("toy", "train"), ("toy", "test")]


def test_format_option(write):
    assert load_data(write("toy.txt", "1 1:1\n"), format="svmlight").X.shape == (1, 1)


@pytest.mark.parametrize(("name", "package"), [("arff", "liac-arff"), ("pandas", "pandas")])
def test_packages_that_are_missing(write, monkeypatch, name, package):
    monkeypatch.setitem(__import__("sys").modules, name, None)
    path = write("toy.arff", DENSE) if name == "arff" else write("toy.csv", CSV)
    with pytest.raises(ImportError) as raised:
        load_data(path, labels=2)
    assert str(raised.value) == (
        f"{path}: reading this file needs {package}, which is not installed: "
        'pip install "skml-odm[study]"'
    )


@pytest.mark.data
@pytest.mark.parametrize("name", ["flags", "medical"])
def test_arff_and_npz_of_a_published_set(data_folder, name):
    """The npz files have the same rows in another order: that of the publishers' two parts."""
    arff = load_data(data_folder / "arff" / f"{name}.arff")
    npz = load_data(data_folder / f"{name}.npz")
    assert arff.label_names == npz.label_names
    assert arff.feature_names == npz.feature_names
    assert sparse.issparse(arff.X) == sparse.issparse(npz.X) == (name == "medical")
    if name == "medical":
        # the ARFF file has its 645 test rows first
        np.testing.assert_array_equal(arff.Y, np.roll(npz.Y, 645, axis=0))
        np.testing.assert_array_equal(arff.X.toarray(), np.roll(npz.X.toarray(), 645, axis=0))
    else:
        rows = [np.hstack([data.X, data.Y]) for data in (arff, npz)]
        ordered = [matrix[np.lexsort(matrix.T)] for matrix in rows]
        np.testing.assert_array_equal(*ordered)


@pytest.mark.data
def test_all_npz_files(data_folder):
    for path in sorted(data_folder.glob("**/*.npz")):
        data = load_data(path)
        m, q = data.Y.shape
        assert data.X.shape == (m, len(data.feature_names)) and q == len(data.label_names)
        assert (data.candidates is not None) == path.stem.startswith("pml-")


def test_error_is_a_value_error():
    assert issubclass(DataFileError, ValueError)
