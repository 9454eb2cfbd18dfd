"""No model is worse than zero, and no gap is smaller than exact arithmetic says."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from groups import first_fast
from sklearn.exceptions import ConvergenceWarning

from skml_odm import CSRL, M3L, MCODM, MLODM, ODM, PMLODM, RankLSVM, RankSVM, RankSVMz
from skml_odm.estimators.rank_svmz import pair_weights

pytestmark = pytest.mark.filterwarnings("ignore")


def at_zero(model, y, weight):
    """The objective of the zero model."""
    q = y.shape[1]
    n = y.sum(axis=1)
    if isinstance(model, CSRL):
        return weight @ (1.0 * (n > 0) + (n < q))
    if isinstance(model, RankSVMz):
        return model.C * weight @ (1.0 * (n > 0) + (n < q))
    if isinstance(model, M3L):
        return model.C * weight.sum() * q
    pairs = 1.0 * (((n > 0) & (n < q)) | (q == 1))
    if getattr(model, "zero_label_", False):
        pairs += 0.5 * (n > 0) + 0.5 * (n < q)
    return model.C * weight @ pairs * (1.0 if isinstance(model, RankSVM) else 0.5)


def wild_rows(rng, m):
    """Rows of very different sizes, beyond what double precision can tell apart."""
    return rng.normal(size=(m, rng.integers(1, 4))) * 10.0 ** rng.integers(-3, 10, size=(m, 1))


@pytest.mark.parametrize("kind", first_fast([MLODM, RankSVM, CSRL, M3L, RankSVMz, RankLSVM], 3))
def test_no_ranker_is_worse_than_zero(kind):
    rng = np.random.default_rng(0)
    for trial in range(24):
        m, q = rng.integers(2, 6), rng.integers(1, 4)
        X, y = wild_rows(rng, m), rng.integers(0, 2, size=(m, q))
        weight = 10.0 ** rng.integers(-2, 4, size=m)
        model = kind(kernel=("linear", "poly")[trial % 2], max_iter=100)
        model.set_params(**{model.trade_off: 10.0 ** rng.integers(-3, 3)})
        if kind is CSRL and trial % 3:
            model.set_params(covariance="learn")
        try:
            model.fit(X, y, sample_weight=weight)
        except ValueError as error:
            assert "double precision" in str(error)
            continue
        assert model.objective_ <= at_zero(model, y, weight) * (1 + 1e-12)


def test_partial_labels_are_no_worse_than_zero():
    rng = np.random.default_rng(0)
    for _ in range(30):
        X, y = wild_rows(rng, 4), rng.integers(0, 2, size=(4, 3))
        try:
            model = PMLODM(kernel="linear", C=10.0, max_iter=100).fit(X, y)
        except ValueError as error:
            assert "double precision" in str(error)
            continue
        assert model.objective_ <= 0.5 * model.C * len(y) * (1 + 1e-12)


@pytest.mark.parametrize("model", [MCODM(solver="newton"), MCODM(solver="descent"), ODM()])
def test_no_classifier_is_worse_than_zero(model):
    rng = np.random.default_rng(0)
    for trial in range(60):
        m = rng.integers(4, 9)
        n_classes = 2 if isinstance(model, ODM) else 3
        y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, size=m - n_classes)]
        kernel = ("linear", "poly")[trial % 2]
        model.set_params(C=10.0 ** rng.integers(-2, 6), kernel=kernel, max_iter=100)
        try:
            model.fit(wild_rows(rng, m), y)
        except ValueError as error:
            assert "double precision" in str(error)
            continue
        # weights of rows add up to 1, and each has a loss of C at margin 0
        assert model.objective_ <= model.C * (1 + 1e-12)


def exact_gap(X, y, model, cost):
    """The relative duality gap of a RankSVMz without intercepts, in rational numbers."""
    rows = [[Fraction(value) for value in row] for row in X.tolist()]
    primal = dual = Fraction(0)
    for k in range(y.shape[1]):
        sign = [1 if value else -1 for value in y[:, k]]
        c = [Fraction(value) for value in cost[:, k].tolist()]
        a = [Fraction(value) for value in model.dual_coef_[:, k].tolist()]
        w = [
            sum(a_i * row[j] for a_i, row in zip(a, rows, strict=True)) for j in range(len(rows[0]))
        ]
        scores = [sum(w_j * x_j for w_j, x_j in zip(w, row, strict=True)) for row in rows]
        square = sum(w_j * w_j for w_j in w)
        hinge = (max(1 - s * f, Fraction(0)) for s, f in zip(sign, scores, strict=True))
        primal += square / 2 + sum(c_i * h for c_i, h in zip(c, hinge, strict=True))
        dual += sum(abs(a_i) for a_i in a) - square / 2
    return float((primal - dual) / primal)


@pytest.mark.parametrize("size", first_fast([1e1, 1e3, 1e5], 1))
def test_gap_is_a_bound_in_exact_arithmetic(size):
    # equal rows of opposite labels: large coefficients whose sum is small
    rng = np.random.default_rng(0)
    hidden = []
    for _ in range(8):
        X = np.tile(rng.normal(size=3) * size, (41, 1))
        y = rng.integers(0, 2, size=(41, 2))
        weight = 10.0 ** rng.uniform(-3, 3, size=41)
        model = RankSVMz(C=100.0, kernel="linear", fit_intercept=False)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y, sample_weight=weight)
        cost = model.C * pair_weights(y.astype(bool), weight)
        exact = exact_gap(X, y, model, cost)
        assert exact <= model.dual_gap_
        warned = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
        assert bool(warned) == (model.dual_gap_ > model.tol)
        if warned:
            assert "double precision" in str(warned[0].message)
        hidden.append(exact > model.tol)
    # the largest rows are those whose gap used to be reported as zero
    assert any(hidden) == (size == 1e5)


def test_usual_problems_have_nothing_to_hide():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 5)), rng.integers(0, 2, size=(100, 3))
    for kind in (CSRL, M3L, RankSVMz, RankSVM, RankLSVM, MLODM, PMLODM):
        model = kind(tol=1e-8, max_iter=100_000).fit(X, y)
        assert model.dual_gap_ <= 1e-8


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("kind", [CSRL, M3L, RankSVMz])
def test_a_decision_that_is_rounding_is_a_no(kind, kernel):
    # every row stands there twice, with opposite labels: all scores are zero but for rounding
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, size=(40, 4))
    model = kind(kernel=kernel, threshold="zero", tol=1e-6).fit(np.r_[X, X], np.r_[y, 1 - y])
    assert np.abs(model.label_scores(X)).max() < 1e-13
    np.testing.assert_array_equal(model.decision_function(X), 0.0)
    assert not model.predict(X).any()
