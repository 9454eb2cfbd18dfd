"""MLODM on odd data: rows without labels, labels without rows, one row, one label, and so on."""

from functools import partial

import numpy as np
import pytest
from groups import first_fast
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from small_data import ODD, SOLVERS, THRESHOLDS, check_fit, random_data

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

# Without a zero label, though some rows have no label or all of them.
PlainMLODM = partial(MLODM, zero_label=False)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("convert", first_fast([sparse.csr_matrix, np.asarray], 1))
def test_odd_data(name, kernel, convert):
    """Shapes, types and finite numbers with every threshold, and no warning."""
    X, y = convert(ODD[name][0]), ODD[name][1]
    for threshold in THRESHOLDS:
        check_fit(MLODM(kernel=kernel, threshold=threshold, max_iter=200), X, y)


@pytest.mark.filterwarnings("ignore:MLODM stopped")
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("solver", ["newton", "bcd", "m3"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_odd_data_with_every_solver(name, solver, kernel):
    """Finite numbers, and an objective that the certificate of another solver allows."""
    X, y = ODD[name]
    options = {"kernel": kernel, "random_state": 0, "max_iter": 200}
    model = PlainMLODM(solver=solver, **options).fit(X, y)
    best = PlainMLODM(**options).fit(X, y)
    assert np.isfinite(model.dual_coef_).all()
    assert best.objective_ * (1 - best.dual_gap_) <= model.objective_ * (1 + 1e-9)
    assert model.objective_ * (1 - model.dual_gap_) <= best.objective_ * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("threshold", ["regression", "per-label"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_label_nobody_has_is_never_predicted(threshold, kernel):
    X, y = ODD["a label nobody has"]
    assert not MLODM(threshold=threshold, kernel=kernel).fit(X, y).predict(X)[:, 1].any()


@pytest.mark.parametrize("threshold", ["regression", "per-label"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_label_everybody_has_is_always_predicted(threshold, kernel):
    X, y = ODD["a label everybody has"]
    assert MLODM(threshold=threshold, kernel=kernel).fit(X, y).predict(X)[:, 1].all()


@pytest.mark.parametrize("name", ["no row has labels", "every row has all labels"])
@pytest.mark.parametrize("threshold", ["regression", "per-label"])
def test_without_pairs_the_model_is_zero_and_the_thresholds_decide(name, threshold):
    X, y = ODD[name]
    model = PlainMLODM(threshold=threshold).fit(X, y)
    assert not model.dual_coef_.any()
    assert model.objective_ == model.dual_gap_ == 0.0
    np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize("name", ["one row", "two rows", "one row, one feature, one label"])
@pytest.mark.parametrize("threshold", ["regression", "per-label"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_or_two_rows_are_learned_by_heart(name, threshold, kernel):
    X, y = ODD[name]
    np.testing.assert_array_equal(MLODM(threshold=threshold, kernel=kernel).fit(X, y).predict(X), y)


def test_equal_rows_have_equal_scores():
    X, y = ODD["equal rows"]
    scores = MLODM().fit(X, y).label_scores(X).reshape(3, 10, 3)
    np.testing.assert_allclose(scores, np.tile(scores[:, :1], (1, 10, 1)), rtol=1e-9)


def test_a_constant_feature_changes_nothing_for_rbf():
    X, y = random_data()
    wide = np.hstack([X, np.full((40, 1), 3.0)])
    one, other = MLODM(gamma=0.3, tol=1e-9).fit(X, y), MLODM(gamma=0.3, tol=1e-9).fit(wide, y)
    np.testing.assert_allclose(one.label_scores(X), other.label_scores(wide), atol=1e-6)


@pytest.mark.parametrize("values", [["cat", "dog"], [0, 1], [-1, 1], [2.0, 5.0], [False, True]])
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_one_dimensional_labels(values, threshold):
    X, y = random_data(q=1)
    target = np.array(values)[y[:, 0]]
    model = MLODM(threshold=threshold).fit(X, target)
    predicted = model.predict(X)
    assert predicted.shape == (40,)
    assert predicted.dtype == target.dtype
    assert model.decision_function(X).shape == (40,)
    np.testing.assert_array_equal(predicted == values[1], model.decision_function(X) > 0)
    assert (predicted == target).mean() > 0.8
    np.testing.assert_array_equal(model.classes_, values)
    as_matrix = MLODM(threshold=threshold).fit(X, y)
    np.testing.assert_allclose(as_matrix.decision_function(X)[:, 0], model.decision_function(X))


@pytest.mark.parametrize("value", ["cat", 0, 1, 5])
def test_one_class_only(value):
    X, _ = random_data()
    model = MLODM().fit(X, [value] * 40)
    np.testing.assert_array_equal(model.predict(X), [value] * 40)
    assert model.decision_function(X).shape == (40,)


@pytest.mark.parametrize("convert", [np.array, np.asfortranarray, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "cosine"])
def test_inputs_stay_unchanged(convert, kernel):
    """Read-only features, labels and weights: used, never written to."""
    X, y = random_data()
    X, weight = convert(X), np.arange(1.0, 41.0)
    for array in (X.data if sparse.issparse(X) else X, y, weight):
        array.setflags(write=False)
    for solver in SOLVERS:
        model = MLODM(kernel=kernel, solver=solver, C=0.01).fit(X, y, sample_weight=weight)
        model.predict(X)


@pytest.mark.parametrize("solver", SOLVERS)
def test_precomputed_kernel_stays_unchanged(solver):
    X, y = random_data(m=70)
    K = rbf_kernel(X)
    copy = K.copy()
    K.setflags(write=False)
    model = MLODM(kernel="precomputed", solver=solver).fit(K, y)
    model.predict(K)
    np.testing.assert_array_equal(K, copy)


@pytest.mark.filterwarnings("ignore:The kernel matrix is not positive")
def test_indefinite_precomputed_kernel_stays_unchanged():
    X, y = random_data(m=70)
    K = X @ X.T - 0.5
    copy = K.copy()
    K.setflags(write=False)
    MLODM(kernel="precomputed").fit(K, y).predict(K)
    np.testing.assert_array_equal(K, copy)


@pytest.mark.parametrize("method", [MLODM, RankSVM, RankLSVM, RankCVM, RankSVMz, CSRL, M3L, PMLODM])
def test_a_fit_that_fails_leaves_no_half_of_a_model(method):
    """The old coefficients with the new kernel would predict something."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = (X @ rng.normal(size=(3, 4)) > 0).astype(int)
    model = method(kernel="rbf").fit(X, Y)
    with pytest.raises(ValueError, match="X"):
        model.fit(X * [1e200, 1.0, 1.0], Y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, Y).predict(X)


@pytest.mark.parametrize("method, wrong", [(Particle, {"alpha": 7.0}), (PMLLRS, {"beta": -1.0})])
def test_so_do_the_methods_without_a_kernel(method, wrong):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = (X @ rng.normal(size=(3, 4)) > 0).astype(int)
    model = method().fit(X, Y)
    right = model.get_params()
    with pytest.raises(ValueError, match=next(iter(wrong))):
        model.set_params(**wrong).fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.set_params(**right).fit(X, Y).predict(X)
