"""Bad files: one line says which file, which line, what is wrong and what is expected."""

import io
import time
import zipfile

import numpy as np
import pytest

from skml_odm.datasets import DataFileError, load_data

HEADER = """\
@relation toy
@attribute x numeric
@attribute y {a,b}
@attribute L {0,1}
@data
"""
GOOD = HEADER + "1,a,0\n2,b,1\n"
LABELS = '<labels>\n<label name="L"/>\n</labels>\n'


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder of its own, so that messages have short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def message(source, **options):
    with pytest.raises(DataFileError) as raised:
        load_data(source, **options)
    text = str(raised.value)
    assert "\n" not in text
    return text


def message_of(folder, name, content, **options):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return message(name, **options)


ARFF = {
    "truncated header": (
        "@relation toy\n@attribute x numeric\n",
        "t.arff:2: the file ends before @data; is it ARFF, and complete?",
    ),
    "truncated row": (
        GOOD + "3,a\n",
        "t.arff:8: the row has 2 values, the header has 3 attributes",
    ),
    "truncated sparse row": (
        HEADER + "{0 1}\n{0 1, 2",
        "t.arff:7: the row has no closing }; is the file complete?",
    ),
    "sparse number beyond the header": (
        HEADER + "{0 1}\n{3 1}\n",
        "t.arff:7: the row must be {number value, …} with numbers from 0 to 2",
    ),
    "sparse number of a missing value beyond the header": (
        HEADER + "{0 1}\n{7 ?}\n",
        "t.arff:7: the row must be {number value, …} with numbers from 0 to 2",
    ),
    "empty nominal value": (
        GOOD.replace("{a,b}", "{a,,b}"),
        "t.arff:3: the values in braces must differ, and none be empty",
    ),
    "nominal value twice": (
        GOOD.replace("{a,b}", "{a,b,a}"),
        "t.arff:3: the values in braces must differ, and none be empty",
    ),
    "unknown declaration": (
        GOOD.replace("@attribute x", "@atribute x"),
        "t.arff:2: '@atribute' begins the line; @relation, @attribute or @data is expected",
    ),
    "table without a header": (
        "1,a,0\n2,b,1\n",
        "t.arff:1: '1,a,0' begins the line; @relation, @attribute or @data is expected",
    ),
    "dense among sparse": (
        HEADER + "{0 1}\n1,a,0\n",
        "t.arff:7: the rows before are sparse, this one is dense",
    ),
    "sparse among dense": (
        GOOD + "{0 1}\n",
        "t.arff:8: the rows before are dense, this one is sparse",
    ),
    "no rows": (HEADER, "t.arff:5: there are no rows after @data"),
    "empty": ("", "t.arff: is empty; data is expected"),
    "not a number": (
        GOOD + "x1,a,0\n",
        "t.arff:8: attribute 'x' has the value 'x1'; a finite number is expected",
    ),
    "infinite": (
        GOOD + "inf,a,0\n",
        "t.arff:8: attribute 'x' has the value 'inf'; a finite number is expected",
    ),
    "unknown nominal value": (
        GOOD + "1,c,0\n",
        "t.arff:8: attribute 'y' has the value 'c'; one of a, b is expected",
    ),
    "label that is not binary": (
        GOOD + "1,a,2\n",
        "t.arff:8: label 'L' has the value '2'; 0 or 1 is expected, or ? if it is unknown",
    ),
    "sparse label that is not binary": (
        HEADER + "{0 1}\n{2 7}\n",
        "t.arff:7: label 'L' has the value '7'; 0 or 1 is expected, or ? if it is unknown",
    ),
    "date": (
        GOOD.replace("x numeric", 'x date "yyyy"'),
        "t.arff:2: the type must be numeric, real, integer, string or {value, …}; "
        "dates are not read, remove the attribute",
    ),
    "attribute without type": (
        GOOD.replace("x numeric", "x"),
        "t.arff:2: @attribute must be followed by a name and a type",
    ),
    "same name twice": (
        GOOD.replace("y {a,b}", "x {a,b}"),
        "t.arff:3: this attribute's name has been used before; names must differ",
    ),
    "attribute alone": (
        GOOD.replace("@attribute x numeric", "@attribute"),
        "t.arff:2: the declaration is not complete",
    ),
    "carriage return within a row": (
        GOOD + "1,a\r0\n",
        "t.arff:8: the row's values or quotes cannot be told apart",
    ),
    "no relation": (
        GOOD.replace("@relation toy", "%"),
        "t.arff:2: the header must have @relation, then @attribute lines, then @data",
    ),
    "relation with blanks": (
        GOOD.replace("toy", "toy: -C 1"),
        "t.arff:1: @relation must be followed by a name, in quotes if it has spaces",
    ),
    "open quote": (GOOD + "1,'a,0\n", "t.arff:8: the row's values or quotes cannot be told apart"),
    "not UTF-8": (
        GOOD.encode() + b"1,a\xe4,0\n",
        "t.arff:8: byte 4 of the line (byte 95 of the file) is 0xe4, which is not utf-8; "
        "a text file is expected, in another encoding with the option encoding",
    ),
}


@pytest.mark.parametrize("case", ARFF)
def test_arff(folder, case):
    content, expected = ARFF[case]
    (folder / "t.xml").write_text(LABELS)
    assert message_of(folder, "t.arff", content) == expected


XML = {
    "malformed": (
        '<labels>\n<label name="L">\n</labels>\n',
        "t.xml:3: the XML cannot be read: mismatched tag",
    ),
    "truncated": (
        '<labels>\n<label name="L"/>\n',
        "t.xml:3: the XML cannot be read: no element found",
    ),
    "unknown label": (
        '<labels>\n<label name="L"/>\n<label name="M"/>\n</labels>\n',
        "t.xml:3: label 'M' is not an attribute of t.arff",
    ),
    "label twice": (
        '<labels>\n<label name="L"/>\n<label name="L"/>\n</labels>\n',
        "t.xml:3: label 'L' stands here for the second time",
    ),
    "label without a name": (
        "<labels>\n<label/>\n</labels>\n",
        "t.xml:2: a <label> must have a name",
    ),
    "no label": ("<labels/>\n", 't.xml: names no label; <label name="…"> elements are expected'),
    "empty": ("", "t.xml: is empty; data is expected"),
    "unknown encoding": (
        '<?xml version="1.0" encoding="klingon"?>\n<labels/>\n',
        "t.xml:1: the XML cannot be read: unknown encoding: klingon",
    ),
    "not UTF-8": (
        b'<labels>\n<label name="\xff"/>\n</labels>\n',
        "t.xml:2: the XML cannot be read: not well-formed (invalid token)",
    ),
}


@pytest.mark.parametrize("case", XML)
def test_xml(folder, case):
    content, expected = XML[case]
    (folder / "t.xml").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert message_of(folder, "t.arff", GOOD) == expected


def test_xml_that_is_missing(folder):
    assert message_of(folder, "t-train.arff", GOOD) == (
        "t-train.arff: nothing says which attributes are labels; expected a file t.xml, "
        "-C and a number in the relation's name, or the option labels"
    )
    assert message("t-train.arff", xml="u.xml") == "u.xml: does not exist; a file is expected"


def test_labels_of_an_arff_file(folder):
    assert message_of(folder, "t.arff", GOOD, labels=["L", "M"]) == (
        "t.arff: label 'M' is not among the 3 columns"
    )
    assert message("t.arff", labels=3) == (
        "t.arff: option labels must be less than the number of columns, 3, and more than 0; got 3"
    )
    assert message("t.arff", labels=["L", "L"]) == "t.arff: option labels names a label twice"
    assert (
        message("t.arff", labels=[]) == "t.arff: there must be at least one label and one feature"
    )
    assert message("t.arff", labels=1, xml="t.xml") == (
        "t.arff: options labels and xml exclude each other"
    )
    text = GOOD.replace("toy", "'toy: -C 3'")
    assert message_of(folder, "t.arff", text) == (
        "t.arff: the relation's name says -C 3, the header has 3 attributes"
    )
    text = GOOD.replace("numeric", "string").replace("{a,b}", "string")
    assert message_of(folder, "t.arff", text, labels=1) == (
        "t.arff: there are no features besides the labels"
    )


CSV = {
    "long row": ("x,L\n1,0\n1,0,3\n", "t.csv:3: the row has 3 fields, the heading has 2"),
    "short row": ("x,L\n1,0\n\n1\n", "t.csv:4: the row has 1 fields, the heading has 2"),
    "no rows": ("x,L\n", "t.csv: has no rows; a heading and rows are expected"),
    "empty": ("", "t.csv: is empty; data is expected"),
    "label that is not binary": (
        'x,L\n"a\nb",0\n1,2\n',
        "t.csv:4: label 'L' has the value '2'; 0 or 1 is expected, or nothing if it is unknown",
    ),
    "text among numbers": (
        "x,L\n" + "1,0\n" * 20 + "1o,0\n",
        "t.csv:22: column 'x' has the value '1o' among numbers; a finite number is expected",
    ),
    "infinite": (
        "x,L\n" + "1,0\n" * 20 + "inf,0\n",
        "t.csv:22: column 'x' has the value 'inf' among numbers; a finite number is expected",
    ),
    "same name twice": ("x,x,L\n1,1,0\n", "t.csv:1: two columns are named 'x'; names must differ"),
    "unknown label": ("x,M\n1,1\n", "t.csv: label 'L' is not among the 2 columns"),
    "not UTF-8": (
        b"x,L\n1,0\n\xff,1\n",
        "t.csv:3: byte 1 of the line (byte 9 of the file) is 0xff, which is not utf-8; "
        "a text file is expected, in another encoding with the option encoding",
    ),
}


@pytest.mark.parametrize("case", CSV)
def test_csv(folder, case):
    content, expected = CSV[case]
    assert message_of(folder, "t.csv", content, labels=["L"]) == expected


def test_options_of_csv_files(folder):
    assert message_of(folder, "t.csv", "x,L\n1,0\n") == (
        "t.csv: nothing says which columns are labels; expected the option labels, a list of names "
        "or the number of last columns"
    )
    assert message("t.csv", labels=1, nominal=["z"]) == (
        "t.csv: option nominal names 'z', which is not a feature"
    )
    assert message("t.csv", labels=1, sep="::") == (
        "t.csv: option sep must be one character; got '::'"
    )
    assert message("t.csv", labels=1, encoding="klingon") == (
        "t.csv: option encoding is not known to Python; got 'klingon'"
    )


SVMLIGHT_EXPECTED = "label,label,… number:value number:value … with rising numbers is expected"
SVMLIGHT = {
    "not a number": ("1 1:1\n2 1:x\n", "t.svm:2: could not convert string to float: b'x'; "),
    "label is a word": (
        "1 1:1\n# c\nred 1:1\n",
        "t.svm:3: could not convert string to float: b'red'; ",
    ),
    "unsorted": (
        "1 2:1 1:1\n",
        "t.svm:1: Feature indices in SVMlight/LibSVM data file should be sorted and unique.; ",
    ),
    "not finite": ("1 1:1\n1 1:inf\n", "t.svm:2: a value is not finite; "),
    "no labels": (" 1:1\n", "t.svm: has no labels; "),
}


@pytest.mark.parametrize("case", SVMLIGHT)
def test_svmlight(folder, case):
    content, expected = SVMLIGHT[case]
    assert message_of(folder, "t.svm", content) == expected + SVMLIGHT_EXPECTED


def test_svmlight_without_rows(folder):
    assert message_of(folder, "t.svm", "# nothing\n") == "t.svm: has no rows"
    assert message_of(folder, "t.svm", "") == "t.svm: is empty; data is expected"


X, Y = np.ones((3, 2)), np.eye(3, 2)


def sparse_labels(shape):
    return {"Y_data": [1], "Y_indices": [0], "Y_indptr": [0, 1, 1, 1], "Y_shape": shape}


NPZ = {
    "NaN": (
        {"X": np.array([[1, 2], [3, np.nan], [1, 1]]), "Y": Y},
        "X has nan in row 1, column 1; finite numbers are expected",
    ),
    "infinite and sparse": (
        {"X_data": [1, -np.inf], "X_indices": [0, 1], "X_indptr": [0, 1, 1, 2], "X_shape": [3, 2]}
        | {"Y": Y},
        "X has -inf in row 2, column 1; finite numbers are expected",
    ),
    "rows differ": ({"X": X, "Y": Y[:2]}, "X has 3 rows but Y has 2"),
    "one dimension": ({"X": X[0], "Y": Y}, "X must have two dimensions; got shape (2,)"),
    "no rows": ({"X": X[:0], "Y": Y[:0]}, "X of shape (0, 2) and Y of shape (0, 2) leave nothing"),
    "not binary": ({"X": X, "Y": 3 * Y}, "Y has 3 in row 0, label 0; 0 or 1 is expected"),
    "no X": ({"Y": Y}, "has no X (nor X_data, …); it has Y"),
    "no Y": ({"X": X}, "has neither Y (nor Y_data, …) nor y"),
    "part of a sparse matrix": ({"X_data": [1.0], "Y": Y}, "has no X_indices, a part of sparse X"),
    "texts": (
        {"X": np.array([["a"]]), "Y": Y},
        "X is not a matrix of numbers (it holds <U1)",
    ),
    "objects": (
        {"X": np.array([[{}]], dtype=object), "Y": Y},
        "holds Python objects, which may run code; arrays of numbers are expected",
    ),
    "names": (
        {"X": X, "Y": Y, "label_names": ["a"]},
        "label_names must have 2 names; got shape (1,)",
    ),
    "half a split": (
        {"X": X, "Y": Y, "train_idx": [0]},
        "has train_idx alone; train_idx and test_idx are expected",
    ),
    "split beyond the rows": (
        {"X": X, "Y": Y, "train_idx": [0], "test_idx": [3]},
        "test_idx must hold row numbers from 0 to 2",
    ),
    "split that overlaps": (
        {"X": X, "Y": Y, "train_idx": [0, 1], "test_idx": [1]},
        "row 1 is in train_idx and in test_idx",
    ),
    "candidates": (
        {"X": X, "Y": Y, "Y_partial": Y[:2]},
        "Y_partial has shape (2, 2) but Y (3, 2)",
    ),
    "classes": (
        {"X": X, "y": [0, 1, 2], "classes": ["a", "b"]},
        "y must hold the numbers 0 to 1 of classes",
    ),
    "one class": (
        {"X": X, "y": [0, 0, 0], "classes": "a"},
        "classes must have one dimension; got shape ()",
    ),
    "complex numbers": (
        {"X": X + 1j, "Y": Y},
        "X is not a matrix of numbers (it holds complex128)",
    ),
    "dates": (
        {"X": np.zeros((3, 1), dtype="datetime64[D]"), "Y": Y},
        "X is not a matrix of numbers (it holds datetime64[D])",
    ),
    "too many labels": (
        {"X": X, **sparse_labels([3, 10**10])},
        "Y of shape (3, 10000000000) would take 30 GB of memory; allowed: 4 GB, or more with the "
        "option max_gigabytes",
    ),
    "shape that is none": (
        {"X": X, **sparse_labels([3.0, np.inf])},
        "Y is not a matrix of numbers (cannot convert float infinity to integer)",
    ),
}


@pytest.mark.parametrize("case", NPZ)
def test_npz(folder, case):
    arrays, expected = NPZ[case]
    np.savez(folder / "t.npz", **arrays)
    assert message("t.npz") == f"t.npz: {expected}"


def test_npz_that_is_none(folder):
    np.savez(folder / "t.npz", X=np.ones((100, 20)), Y=np.eye(100, 2))
    whole = (folder / "t.npz").read_bytes()
    for content in (whole[: len(whole) // 2], b"no zip file", GOOD.encode()):
        expected = "t.npz: is not a complete npz file of NumPy"
        assert message_of(folder, "t.npz", content) == expected


def test_sources(folder):
    assert message("none.arff") == "none.arff: does not exist; a file is expected"
    (folder / "folder.arff").mkdir()
    assert message("folder.arff") == "folder.arff: is a folder; a file is expected"
    assert message_of(folder, "t.xlsx", "x") == (
        "t.xlsx: unknown extension '.xlsx'; expected is one of .arff, .csv, .svm, .svmlight, "
        ".libsvm, .npz, or the option format"
    )
    assert message("t.xlsx", format="xlsx") == (
        "t.xlsx: option format must be one of arff, csv, svmlight, npz; got 'xlsx'"
    )
    assert message_of(folder, "t.csv", "x,L\n1,0\n", xml="t.xml") == (
        "t.csv: option xml is not for csv files; allowed: labels, nominal, sep, encoding, "
        "max_gigabytes"
    )
    assert message("digits", labels=2) == "digits: option labels is not for the set digits"
    with pytest.raises(ValueError, match=r"source must be one file or a pair of them; got 3\."):
        load_data(["a", "b", "c"])


def test_host_without_network(monkeypatch):
    def load_dataset(name, variant):
        import requests

        raise requests.exceptions.ConnectionError("no\nroute")

    monkeypatch.setattr("skmultilearn.dataset.load_dataset", load_dataset)
    assert message("host:emotions") == (
        "host:emotions: scikit-multilearn cannot download it (ConnectionError); "
        "a connection to scikit.ml is needed"
    )


def test_host_that_has_no_such_set(monkeypatch):
    def load_dataset(name, variant):
        raise ValueError(f"The set {name} in variant {variant} does not exist on server.")

    monkeypatch.setattr("skmultilearn.dataset.load_dataset", load_dataset)
    assert message("host:none") == (
        "host:none: scikit-multilearn cannot load it: "
        "The set none in variant undivided does not exist on server."
    )


PAIRS = {
    "labels": (
        GOOD.replace("attribute L", "attribute M"),
        "b.arff: label 'M' is not in a.arff; training and test part need the same labels",
    ),
    "features": (
        GOOD.replace("{a,b}", "{a,b,c}"),
        "b.arff: feature 'y=c' is not in a.arff; training and test part need the same features",
    ),
    "fewer features": (
        GOOD.replace("{a,b}", "{b}").replace(",a,", ",b,"),
        "a.arff: feature 'y=a' is not in b.arff; training and test part need the same features",
    ),
    "order": (
        GOOD.replace("{a,b}", "{b,a}"),
        "b.arff: feature 2 is 'y=b' but 'y=a' in a.arff; "
        "training and test part need the same features in the same order",
    ),
}


@pytest.mark.parametrize("case", PAIRS)
def test_pairs_that_differ(folder, case):
    text, expected = PAIRS[case]
    (folder / "a.arff").write_text(GOOD)
    (folder / "b.arff").write_text(text)
    assert message(["a.arff", "b.arff"], labels=1) == expected


def test_pairs_of_csv_files_that_differ(folder):
    (folder / "a.csv").write_text("x,y,L\n1,1,0\n")
    (folder / "b.csv").write_text("x,L\n1,0\n")
    assert message(["a.csv", "b.csv"], labels=1) == (
        "a.csv: feature 'y' is not in b.csv; training and test part need the same features"
    )


def test_pairs_of_two_kinds(folder):
    (folder / "a.arff").write_text(GOOD)
    (folder / "b.csv").write_text("x,L\n1,0\n")
    assert message(["a.arff", "b.csv"], labels=1) == "b.csv: is csv but a.arff is arff"
    assert message(["host:a", "b.csv"]) == (
        "b.csv: cannot be joined with host:a; host:… is expected"
    )


def test_pairs_with_a_split_of_their_own(folder):
    np.savez(folder / "t.npz", X=X, Y=Y, train_idx=[0], test_idx=[1])
    assert message(["t.npz", "t.npz"]) == (
        "t.npz: has a split or candidates of its own; a plain file is expected"
    )


def test_npz_that_is_npy(folder):
    np.save(folder / "t.npy", np.zeros((3, 2)))
    (folder / "t.npy").rename("t.npz")
    assert message("t.npz") == "t.npz: is not a complete npz file of NumPy"


def test_damaged_npz_files_hold_no_objects(folder):
    """Whatever byte is wrong; without its magic number NumPy takes an array for a pickle."""
    np.savez(folder / "t.npz", X=np.ones((3, 1)), Y=np.array([[0], [1], [1]]))
    content = (folder / "t.npz").read_bytes()
    for start in range(0, len(content), 3):
        damaged = content[:start] + bytes(255 - byte for byte in content[start : start + 8])
        (folder / "u.npz").write_bytes(damaged + content[start + 8 :])
        try:
            load_data("u.npz")
        except DataFileError as error:
            assert "Python objects" not in str(error)


def test_npz_of_zeros_that_would_fill_the_memory(folder):
    np.savez_compressed(folder / "t.npz", X=np.zeros((1000, 1000)))
    assert (folder / "t.npz").stat().st_size < 20_000
    assert message("t.npz", max_gigabytes=0.001) == (
        "t.npz: its content would take 0.008 GB of memory; allowed: 0.001 GB, or more with the "
        "option max_gigabytes"
    )


def test_npz_that_promises_more_than_it_has(folder):
    header = io.BytesIO()
    description = {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**9)}
    np.lib.format.write_array_header_1_0(header, description)
    with zipfile.ZipFile(folder / "t.npz", "w") as archive:
        archive.writestr("X.npy", header.getvalue() + bytes(80))
    assert message("t.npz") == "t.npz: is not a complete npz file of NumPy"


def test_svmlight_numbers_that_are_too_large(folder):
    assert message_of(folder, "t.svm", "1 1:1\n2 2147483648:1\n").startswith("t.svm:2: ")
    assert message_of(folder, "t.svm", "1 1:1\n2 99999999999999999999:1\n").startswith("t.svm:2: ")
    assert message_of(folder, "t.svm", "1 1:1\nnan 1:1\n").startswith(
        "t.svm:2: a label is not finite"
    )
    assert message_of(folder, "t.svm", "1 2000000000:1\n") == (
        "t.svm: 2000000000 features would take 16 GB of memory; allowed: 4 GB, or more with the "
        "option max_gigabytes"
    )


def test_the_limit_can_be_raised(folder):
    (folder / "t.svm").write_text("1 2000000000:1\n")
    start = time.process_time()
    data = load_data("t.svm", max_gigabytes=20)
    assert time.process_time() - start < 5.0, "nobody asked for the names"
    assert data.X.shape == (1, 2_000_000_000)
    assert data.feature_names[-1] == "feature1999999999"
    assert len(data.feature_names) == 2_000_000_000


def test_svmlight_with_a_label_per_row(folder):
    text = "".join(f"{i} 1:1\n" for i in range(2000))
    assert message_of(folder, "t.svm", text, max_gigabytes=0.001) == (
        "t.svm: 2000 rows × 2000 labels would take 0.004 GB of memory; allowed: 0.001 GB, or more "
        "with the option max_gigabytes"
    )


def test_arff_that_would_fill_the_memory(folder):
    values = ",".join(f"v{i}" for i in range(1000))
    head = f"@relation toy\n@attribute x {{{values}}}\n@attribute L {{0,1}}\n@data\n"
    found = message_of(folder, "t.arff", head + "v1,1\n" * 1000, labels=1, max_gigabytes=0.001)
    assert found.startswith("t.arff: 1000 rows × 1000 features would take 0.008 GB")
    columns = "".join(f"@attribute x{i} {{a,b}}\n" for i in range(300))
    head = f"@relation toy\n{columns}@attribute L {{0,1}}\n@data\n"
    found = message_of(folder, "t.arff", head + "{}\n" * 1000, labels=1, max_gigabytes=0.001)
    assert found.startswith("t.arff: 1000 rows × 300 features would take 0.0024 GB")
    found = message_of(folder, "t.arff", head + "{}\n" * 9000, labels=300, max_gigabytes=0.001)
    assert found.startswith("t.arff: 9000 rows × 300 labels would take 0.0027 GB")


def test_csv_that_would_fill_the_memory(folder):
    rows = "".join(f"name{i % 1000},{i % 2}\n" for i in range(2000))
    found = message_of(folder, "t.csv", "x,L\n" + rows, labels=1, max_gigabytes=0.001)
    assert found.startswith(
        "t.csv: 2000 rows × 1000 columns, 1000 of them for the values of 'x', would take 0.016 GB"
    )


def test_many_names_take_no_time(folder):
    names = [f"x{i}" for i in range(40_000)]
    text = ",".join([*names, "x39999"]) + "\n" + "0," * 40_000 + "1\n"
    start = time.process_time()
    found = message_of(folder, "t.csv", text, labels=1)
    assert found == "t.csv:1: two columns are named 'x39999'; names must differ"
    for file, own in (("t.npz", names), ("u.npz", [*names[1:], "y"])):
        np.savez(folder / file, X=np.zeros((1, 40_000)), Y=np.ones((1, 1)), feature_names=own)
    assert message(["t.npz", "u.npz"]).startswith("u.npz: feature 'y' is not in t.npz")
    assert time.process_time() - start < 5.0


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("t.arff", {"labels": 1.5}, "option labels must be a list of names, or how many of the"),
        ("t.csv", {"labels": [1]}, "option labels must be a list of names, or how many of the"),
        ("t.csv", {"labels": True}, "option labels must be a list of names, or how many of the"),
        ("t.arff", {"encoding": None}, "option encoding must be a name; got None"),
        ("t.arff", {"encoding": "no\0ne"}, "option encoding is not known to Python; got"),
        ("t.csv", {"labels": 1, "encoding": 8}, "option encoding must be a name; got 8"),
        ("t.csv", {"labels": 1, "nominal": 3}, "option nominal must be a list of names; got 3"),
        ("t.csv", {"labels": 1, "nominal": "x"}, "option nominal must be a list of names; got 'x'"),
        ("t.arff", {"xml": 3}, "option xml must be a path; got 3"),
        ("t.csv", {"max_gigabytes": -1}, "option max_gigabytes must be a number in (0, inf)"),
        ("t.csv", {"max_gigabytes": "1"}, "option max_gigabytes must be a number in (0, inf)"),
    ],
)
def test_options_of_a_wrong_kind(folder, name, options, expected):
    (folder / "t.arff").write_text(GOOD)
    (folder / "t.csv").write_text("x,L\n1,0\n2,1\n")
    assert message(name, **options).startswith(f"{name}: {expected}")


def test_xml_in_an_encoding_that_expat_does_not_know(folder):
    (folder / "t.arff").write_text(GOOD)
    xml = '<?xml version="1.0" encoding="gb2312"?>' + LABELS
    (folder / "t.xml").write_text(xml)
    assert message("t.arff").startswith("t.xml:1: the XML cannot be read: ")


def test_paths_that_are_none(folder):
    assert message("a\0b.csv", labels=1) == (
        "'a\\x00b.csv': has a null character; a path is expected"
    )
    for source in (3, None, [3], ["a.csv", None]):
        with pytest.raises(ValueError, match="source must be a file, a pair of files or a name"):
            load_data(source)
