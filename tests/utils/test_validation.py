"""Whatever is wrong with an argument, the message names it, shows it and says what is allowed."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from skml_odm import MCODM, MLODM, PMLODM, PathSearchCV
from skml_odm.metrics import ranking_loss
from skml_odm.utils.validation import (
    Target,
    as_plain_array,
    check_bool,
    check_choice,
    check_real,
    decode,
    validated_weights,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
Y = (RNG.random((20, 4)) < 0.4).astype(int)

KERNELS = ("linear", "rbf", "poly", "sigmoid", "cosine", "laplacian", "precomputed")
BAD_PARAMETERS = [
    *[("C", bad, "a number in (0, inf)") for bad in (0, -1, np.nan, np.inf, "a", True, None, [1])],
    *[("theta", bad, "a number in [0, 1]") for bad in (-0.1, 1.1, np.nan, "a", None, False)],
    *[("mu", bad, "a number in [0, 1]") for bad in (-1e-9, 2, np.nan, np.inf, "a", None)],
    *[("kernel", bad, name) for bad in ("gauss", "RBF", None, 3) for name in KERNELS],
    *[("gamma", bad, name) for bad in ("best", "") for name in ("'scale'", "'auto'")],
    *[("gamma", bad, "a number in (0, inf)") for bad in (0, -2.0, np.nan, np.inf, None, True)],
    *[("degree", bad, "a number in (0, inf)") for bad in (0, -1, np.nan, "2", None)],
    *[("coef0", bad, "a finite number") for bad in (np.nan, np.inf, "0", None)],
    *[("fit_intercept", bad, "True or False") for bad in ("yes", 1, None)],
    *[("threshold", bad, "'per-label'") for bad in ("half", None, True)],
    *[("threshold", bad, "finite") for bad in (np.nan, np.inf)],
    *[("solver", bad, "'newton'") for bad in ("sgd", None, 1)],
    *[("tol", bad, "a number in (0, inf)") for bad in (0, -1e-3, np.nan, "a", None)],
    *[("max_iter", bad, "an integer in [1, inf)") for bad in (0, -5, 1.5, 10.0, np.inf, "9", True)],
    *[("verbose", bad, "in [0, inf)") for bad in (-1, np.nan, "loud", None)],
]


@pytest.mark.parametrize(("name", "value", "allowed"), BAD_PARAMETERS)
def test_bad_parameter(name, value, allowed):
    with pytest.raises(ValueError, match=f"^{name} must be") as error:
        MLODM(**{name: value}).fit(X, Y)
    assert allowed in str(error.value)
    assert f"got {value!r}" in str(error.value)


@pytest.mark.parametrize("name", ["C", "theta", "mu", "tol", "gamma", "degree", "coef0"])
def test_numbers_of_any_type_are_numbers(name):
    for value in (1, np.float32(1), np.float64(1), np.int64(1), np.uint8(1)):
        MLODM(**{name: value}).fit(X, Y)


def test_max_iter_takes_numpy_integers():
    MLODM(max_iter=np.int32(50)).fit(X, Y)


def test_bounds_that_are_allowed():
    for options in ({"theta": 0, "mu": 0}, {"theta": 1, "mu": 1}, {"coef0": -1e3}):
        MLODM(**options).fit(X, Y)


def test_parameters_are_checked_in_fit_not_before():
    MLODM(C=-1, solver="sgd").set_params(theta=7)


def test_check_real():
    check_real("a", 3, 0, 3)
    check_real("a", -1e300, -np.inf)
    for value, options in ((3.1, {}), (0, {"open_low": True}), (1.0, {"integer": True})):
        with pytest.raises(ValueError, match=r"^a must be"):
            check_real("a", value, 0, 3, **options)


@pytest.mark.parametrize("name", ["C", "tol", "gamma", "degree", "max_iter", "cache_size"])
@pytest.mark.parametrize("value", [10**400, 10**5000], ids=["400", "5000"])
def test_integers_beyond_double_precision(name, value):
    """Python does not print the second one."""
    with pytest.raises(ValueError, match=rf"^{name} must be .*; got an integer of \d+ bits"):
        MLODM(kernel="poly", **{name: value}).fit(X, Y)


def test_check_choice_and_check_bool():
    check_choice("a", "x", ("x", "y"))
    check_bool("a", np.True_)
    with pytest.raises(ValueError, match=r"^a must be one of 'x', 'y'; got 'z'"):
        check_choice("a", "z", ("x", "y"))
    with pytest.raises(ValueError, match=r"^a must be True or False; got 0"):
        check_bool("a", 0)


def test_as_plain_array():
    matrix = np.matrix([[1, 0]])
    assert type(as_plain_array(matrix)) is np.ndarray
    csr = sparse.csr_matrix(matrix)
    assert as_plain_array(csr) is csr


HIDDEN = np.arange(20) == 3
CLASSES = np.arange(20) % 3


def masked(array, mask=True):
    array = np.ma.array(array)
    array[HIDDEN] = np.ma.masked if mask else array[HIDDEN]
    return array


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("X", lambda: MLODM().fit(masked(X), Y)),
        ("X", lambda: MLODM().fit(list(masked(X)), Y)),
        ("X", lambda: MLODM().fit(X, Y).predict(masked(X))),
        ("X", lambda: MCODM().fit(masked(X), CLASSES)),
        ("X", lambda: PathSearchCV(MLODM(), {"C": [1, 2]}).fit(masked(X), Y)),
        ("y", lambda: MLODM().fit(X, masked(Y[:, 0]))),
        ("y", lambda: MCODM().fit(X, masked(CLASSES))),
        ("sample_weight", lambda: MLODM().fit(X, Y, masked(np.ones(20)))),
        ("confidences", lambda: PMLODM().fit(X, Y, confidences=masked(0.5 * Y))),
        ("y_score", lambda: ranking_loss(Y, masked(0.5 * Y))),
    ],
)
def test_masked_values_are_refused(name, call):
    with pytest.raises(ValueError, match=f"^{name} must not have masked values"):
        call()


def test_masks_that_hide_nothing():
    wanted = MLODM().fit(X, Y).label_scores(X)
    found = MLODM().fit(masked(X, False), masked(Y, False)).label_scores(masked(X, False))
    np.testing.assert_array_equal(found, wanted)


def test_dates_are_no_numbers():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"when": pandas.date_range("2020", periods=20), "size": X[:, 0]})
    for wrong in (X.astype("datetime64[s]"), X.astype("timedelta64[s]"), frame, frame[["when"]]):
        for fit in (lambda X: MLODM().fit(X, Y), lambda X: MCODM().fit(X, CLASSES)):
            with pytest.raises(ValueError, match=r"^X must hold numbers; got dates or times"):
                fit(wrong)
    with pytest.raises(ValueError, match=r"^sample_weight must hold numbers"):
        validated_weights(np.ones(20).astype("timedelta64[s]"), X)


def test_numbers_that_double_precision_cannot_hold():
    for wrong in ((X + 1j).astype(object), (X + 1j).tolist()):
        for fit in (lambda X: MLODM().fit(X, Y), lambda X: MCODM().fit(X, CLASSES)):
            with pytest.raises(ValueError, match=r"X must hold real numbers"):
                fit(wrong)
    with pytest.raises(ValueError, match=r"^X must hold numbers within double precision"):
        MLODM().fit([[10**400]] * 20, Y)
    with pytest.raises(ValueError, match=r"^sample_weight must hold numbers within double"):
        MLODM().fit(X, Y, [10**400] * 20)


@pytest.mark.parametrize("kind", [int, float, bool])
def test_labels_may_be_objects(kind):
    wanted = MLODM().fit(X, Y).label_scores(X)
    found = MLODM().fit(X, Y.astype(kind).astype(object)).label_scores(X)
    np.testing.assert_array_equal(found, wanted)
    model = MLODM().fit(X, Y[:, 0].astype(object))
    np.testing.assert_array_equal(model.predict(X), MLODM().fit(X, Y[:, 0]).predict(X))
    classes = MCODM().fit(X, CLASSES.astype(object)).predict(X)
    np.testing.assert_array_equal(classes, MCODM().fit(X, CLASSES).predict(X))


@pytest.mark.parametrize("bad", ["1", 2, 0.5])
def test_objects_that_are_no_labels(bad):
    wrong = Y.astype(object)
    wrong[2, 1] = bad
    with pytest.raises(ValueError, match=r"^y must hold only 0 and 1.*; got ") as error:
        MLODM().fit(X, wrong)
    assert repr(bad) in str(error.value)


def with_entry(array, value, index=(2, 1)):
    array = np.array(array, dtype=float)
    array[index] = value
    return array


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_features_must_be_finite(convert, bad, word, kernel):
    wrong = convert(with_entry(X, bad))
    with pytest.raises(ValueError, match=f"X contains.*{word}"):
        MLODM(kernel=kernel).fit(wrong, Y)
    model = MLODM(kernel=kernel).fit(X, Y)
    for method in (model.predict, model.decision_function, model.label_scores):
        with pytest.raises(ValueError, match=f"X contains.*{word}"):
            method(wrong)


@pytest.mark.parametrize(
    "wrong",
    [X[:, 0], X[None], X[:0], X[:, :0], X + 1j, np.full((20, 3), "a"), None, 5.0],
    ids=["1-D", "3-D", "no rows", "no columns", "complex", "text", "None", "number"],
)
def test_features_must_be_a_real_matrix(wrong):
    with pytest.raises(ValueError):
        MLODM().fit(wrong, Y)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_features_and_labels_must_have_equally_many_rows(convert):
    with pytest.raises(ValueError, match=r"X and y .*rows; got 19 and 20"):
        MLODM().fit(convert(X[:-1]), Y)
    with pytest.raises(ValueError, match=r"X and y .*rows; got 20 and 19"):
        MLODM().fit(X, convert(Y[:-1]))


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix, sparse.coo_array])
@pytest.mark.parametrize("bad", [2.0, -1.0, 0.5])
def test_labels_must_be_zeros_and_ones(convert, bad):
    with pytest.raises(ValueError, match=rf"y must hold only 0 and 1.*{re.escape(str(bad))}"):
        MLODM().fit(X, convert(with_entry(Y, bad)))


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_labels_must_not_be_infinite(convert):
    with pytest.raises(ValueError, match="y contains infinity"):
        MLODM().fit(X, convert(with_entry(Y, np.inf)))


@pytest.mark.parametrize("model", [MLODM(), MCODM()], ids=str)
@pytest.mark.parametrize("values", [[np.nan, 0.0], [None, "a"]])
def test_classes_must_be_known(model, values):
    with pytest.raises(ValueError, match=r"y contains NaN: every row must have a class\. Leave"):
        model.fit(X, np.array(values * 10, dtype=object))


def test_labels_of_minus_and_plus_one_are_refused():
    with pytest.raises(ValueError, match=r"y must hold only 0 and 1.*-1"):
        MLODM().fit(X, 2 * Y - 1)


def test_labels_in_a_matrix_must_be_numbers():
    with pytest.raises(ValueError, match="y must hold only 0 and 1"):
        MLODM().fit(X, np.where(Y, "yes", "no"))


@pytest.mark.parametrize("wrong", [Y[None], Y[:, :0], Y[:0], [[1, 0], [1]] * 10])
def test_labels_must_be_a_matrix(wrong):
    with pytest.raises(ValueError):
        MLODM().fit(X, wrong)


def test_labels_are_required():
    with pytest.raises(ValueError, match=r"y.* None"):
        MLODM().fit(X, None)


def test_three_classes_are_refused():
    with pytest.raises(ValueError, match="got 3 classes"):
        MLODM().fit(X, np.arange(20) % 3)


def test_continuous_target_is_refused():
    with pytest.raises(ValueError, match="continuous"):
        MLODM().fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.r_[-1.0, np.ones(19)], "[Nn]egative"),
        (np.ones(19), "sample_weight"),
        (np.ones((20, 2)), r"sample_weight must have one entry per row or per cell of y"),
        (np.r_[np.nan, np.ones(19)], "sample_weight contains NaN"),
        (np.r_[np.inf, np.ones(19)], "sample_weight contains infinity"),
        (np.zeros(20), "weight"),
    ],
    ids=["negative", "short", "2-D", "NaN", "infinite", "all zero"],
)
def test_bad_sample_weight(weight, words):
    with pytest.raises(ValueError, match=words):
        MLODM().fit(X, Y, sample_weight=weight)


def test_precomputed_kernel_must_be_square():
    with pytest.raises(ValueError, match=r"X must be a square kernel matrix.*\(20, 3\)"):
        MLODM(kernel="precomputed").fit(X, Y)


def test_precomputed_kernel_must_be_dense():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        MLODM(kernel="precomputed").fit(sparse.csr_matrix(X @ X.T), Y)


@pytest.mark.parametrize("method", ["predict", "decision_function", "label_scores"])
def test_nothing_works_before_fit(method):
    with pytest.raises(NotFittedError, match="MLODM"):
        getattr(MLODM(), method)(X)


@pytest.mark.parametrize("method", ["predict", "decision_function", "label_scores"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_new_rows_must_have_as_many_features(method, kernel):
    model = MLODM(kernel=kernel).fit(X, Y)
    for wrong in (X[:, :2], np.hstack([X, X]), sparse.csr_matrix(X[:, :2])):
        with pytest.raises(ValueError, match=f"has {wrong.shape[1]} features.*expecting 3"):
            getattr(model, method)(wrong)


def test_new_rows_of_a_precomputed_kernel_need_a_value_per_training_row():
    model = MLODM(kernel="precomputed").fit(X @ X.T, Y)
    with pytest.raises(ValueError, match=r"has 19 features.*expecting 20"):
        model.predict(X @ X[1:].T)
    assert model.predict(X[:2] @ X.T).shape == (2, 4)


def test_target_of_a_matrix():
    for y, container in ((Y, "dense"), (sparse.csc_array(Y), "sparse"), (Y.tolist(), "dense")):
        target = Target(y)
        np.testing.assert_array_equal(target.indicator, Y == 1)
        np.testing.assert_array_equal(target.classes, [0, 1, 2, 3])
        assert target.indicator.dtype == bool
        assert target.container == container
        assert len(target) == 20


def test_target_with_stored_zeros():
    y = sparse.csr_matrix((Y.ravel(), np.tile(np.arange(4), 20), 4 * np.arange(21)), shape=Y.shape)
    assert y.nnz == Y.size
    np.testing.assert_array_equal(Target(y).indicator, Y == 1)


@pytest.mark.parametrize("values", [[0, 1], [-1, 1], ["cat", "dog"], [False, True], [3.0, 7.0]])
def test_target_of_a_column(values):
    """The larger class is the relevant one, and predictions come back as classes."""
    y = np.array(values)[[0, 1, 1, 0]]
    target = Target(y)
    np.testing.assert_array_equal(target.indicator, [[False], [True], [True], [False]])
    np.testing.assert_array_equal(target.classes, values)
    decoded = decode(target.indicator, target.classes, target.container)
    np.testing.assert_array_equal(decoded, y)
    assert decoded.dtype == y.dtype


@pytest.mark.parametrize(("value", "relevant"), [(0, False), (1, True), ("cat", True)])
def test_target_of_one_class(value, relevant):
    target = Target([value] * 3)
    np.testing.assert_array_equal(target.indicator, [[relevant]] * 3)
    decoded = decode(~target.indicator, target.classes, target.container)
    np.testing.assert_array_equal(decoded, [value] * 3)


def test_names_of_label_columns():
    pandas = pytest.importorskip("pandas")
    names = ["sea", "sky", "", "tree"]
    target = Target(pandas.DataFrame(Y, columns=names))
    assert target.label_names.tolist() == names and target.label_names.dtype == object
    np.testing.assert_array_equal(target.indicator, Y == 1)
    one = Target(pandas.DataFrame(Y[:, :1], columns=["sea"]))
    assert one.label_names.tolist() == ["sea"] and one.container == "dense"
    for columns in (range(4), ["sea", "sky", 2, 3], pandas.MultiIndex.from_product([["a"], names])):
        assert Target(pandas.DataFrame(Y, columns=columns)).label_names is None
    for y in (Y, Y.tolist(), sparse.csr_matrix(Y), pandas.Series(Y[:, 0], name="sea")):
        assert Target(y).label_names is None


@pytest.mark.parametrize(
    ("label_sets", "shown"),
    [
        ([["sea", "sky"], ["sky"]], "['sea', 'sky']"),
        ([[], ["sky"]], "['sky']"),
        ([["sea", "sky"], ["sky", "tree"]], "['sea', 'sky']"),
        ([("sea",), ("sky",)], "('sea',)"),
        (({"sea"}, {"sky"}), "{'sea'}"),
        ([frozenset({1}), frozenset()], "frozenset({1})"),
        ([[0, 2], [1]], "[0, 2]"),
        ([np.array([0, 2]), np.array([1])], "array([0, 2])"),
        (np.array([["sea", "sky"], ["sky"]], dtype=object), "['sea', 'sky']"),
        (np.array([{"sea"}, {"sky"}]), "{'sea'}"),
    ],
    ids=str,
)
def test_label_sets(label_sets, shown):
    with pytest.raises(ValueError, match=r"^y must be a matrix.*MultiLabelBinarizer") as error:
        Target(label_sets)
    assert f"got label sets, such as {shown}." in str(error.value)


def test_label_sets_in_a_series():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="MultiLabelBinarizer"):
        MLODM().fit(X[:2], pandas.Series([["sea", "sky"], ["sky"]]))
    with pytest.raises(ValueError, match="MultiLabelBinarizer"):
        PathSearchCV(MLODM(), {"C": [1.0]}, cv=2, error_score="raise").fit(X, [["sea"]] * 20)


@pytest.mark.parametrize(
    "y", [[[0, 1], [1, 0]], [(0, 1), (1, 0)], [np.array([0, 1]), np.array([1, 0])], ["no", "yes"]]
)
def test_rows_of_numbers_are_no_label_sets(y):
    assert len(Target(y)) == 2


def test_decode_into_containers():
    positive = Y == 1
    dense = decode(positive, np.arange(4), "dense")
    csr = decode(positive, np.arange(4), "sparse")
    assert type(dense) is np.ndarray and dense.dtype == np.int64
    assert isinstance(csr, sparse.csr_matrix) and csr.nnz == Y.sum()
    np.testing.assert_array_equal(dense, Y)
    np.testing.assert_array_equal(csr.toarray(), Y)
