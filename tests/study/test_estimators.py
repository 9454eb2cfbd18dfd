"""Classifiers from names, and the one that stands rare labels."""

import sys

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC
from skmultilearn.adapt import MLkNN
from skmultilearn.problem_transform import BinaryRelevance

from skml_odm import MLODM, RankSVM
from skml_odm.study import DefinitionError, OneClassAllowed
from skml_odm.study.estimators import make_estimator, make_value, seeded


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("MLODM", MLODM()),
        ("skml_odm.RankSVM", RankSVM()),
        ({"estimator": "SVC", "parameters": {"C": 3.0}}, SVC(C=3.0)),
        ("MLkNN", MLkNN()),
    ],
)
def test_names_and_paths(definition, expected):
    found = make_estimator(definition, "here")
    assert type(found) is type(expected)
    assert found.get_params() == expected.get_params()


def test_estimators_inside_estimators():
    inner = {"estimator": "SVC", "parameters": {"gamma": 0.5}}
    made = make_estimator(
        {
            "estimator": "BinaryRelevance",
            "parameters": {"classifier": inner, "require_dense": [True, True]},
        },
        "here",
    )
    assert isinstance(made, BinaryRelevance)
    assert made.classifier.gamma == 0.5
    assert made.require_dense == [True, True]


def test_given_estimators_are_cloned():
    given = MLODM(C=7.0)
    made = make_estimator({"estimator": given}, "here")
    assert made is not given
    assert made.C == 7.0


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ("Nonsense", r"here.estimator must be a name of skml_odm.*; got 'Nonsense'"),
        ("no.such.Place", r"here.estimator must name an importable class; got 'no.such.Place'"),
        ("sklearn.svm.nothing", r"here.estimator must be a name"),
        ({"estimator": 3}, "here.estimator must be the name of an estimator; got 3"),
        ({"estimator": "SVC", "parameters": {"D": 1}}, "here.parameters do not suit SVC"),
        ({"estimator": "SVC", "parameters": [1]}, "here.parameters must be a table"),
    ],
)
def test_wrong_definitions_say_where(definition, message):
    with pytest.raises(DefinitionError, match=message):
        make_estimator(definition, "here")


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("class Broken(:", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(1)", "SystemExit: 1"),
        ("import no_such_module", "ModuleNotFoundError: No module named"),
        (
            "class Broken:\n  def __init__(self): raise RuntimeError('as told')\n  fit = None",
            "RuntimeError: as told",
        ),
    ],
)
def test_modules_of_users_that_do_not_work(tmp_path, monkeypatch, module, message):
    (tmp_path / "users_module.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "users_module", raising=False)
    with pytest.raises(DefinitionError, match=rf"^here.*users_module.Broken.*{message}"):
        make_estimator("users_module.Broken", "here")
    monkeypatch.delitem(sys.modules, "users_module", raising=False)


@pytest.mark.parametrize("name", ["..X", ".X", "X.", "a..b", "a-b", "os.system()"])
def test_names_that_are_none(name):
    with pytest.raises(DefinitionError, match=r"^here.estimator must be a name of skml_odm"):
        make_estimator(name, "here")


def test_powers_of_two():
    assert make_value({"powers_of_two": [-1, 2]}, "here") == [0.5, 1.0, 2.0, 4.0]
    assert make_value({"powers_of_two": [-2, 3, 2]}, "here") == [0.25, 1.0, 4.0]
    for wrong in (3, [1], [2, 1], [1, 2, 0], [0.5, 1], [0, 2000], [-2000, 0], [False, True]):
        with pytest.raises(DefinitionError, match=r"here.powers_of_two must be \[first, last\]"):
            make_value({"powers_of_two": wrong}, "here")


def test_seeds_reach_everything_that_has_none():
    nested = BinaryRelevance(SVC(random_state=3))
    assert seeded(nested, 5).classifier.random_state == 3
    assert seeded(BinaryRelevance(SVC()), 5).classifier.random_state == 5
    assert seeded(MLODM(), 5).random_state == 5
    assert isinstance(seeded(MLkNN(), 5), MLkNN)


# one class


def test_one_class_is_answered_with_it():
    X = np.random.RandomState(0).randn(20, 3)
    for label in (0, 1):
        fitted = OneClassAllowed(SVC()).fit(X, np.full(20, label))
        assert (fitted.predict(X) == label).all()
        assert (fitted.decision_function(X) == 2 * label - 1).all()


def test_too_few_rows_of_a_class_are_answered_with_shares():
    X, y = np.random.RandomState(0).randn(20, 3), np.repeat([1, 0], [4, 16])
    calibrated = CalibratedClassifierCV(SVC(), cv=5, ensemble=False)
    with pytest.raises(ValueError, match="5-fold"):
        calibrated.fit(X, y)
    fitted = OneClassAllowed(calibrated, fewest=5).fit(X, y)
    np.testing.assert_allclose(fitted.predict_proba(X), np.tile([0.8, 0.2], (20, 1)))


def test_two_classes_are_learned():
    X = np.random.RandomState(0).randn(40, 3)
    y = (X[:, 0] > 0).astype(int)
    fitted = OneClassAllowed(SVC()).fit(X, y)
    np.testing.assert_array_equal(fitted.predict(X), SVC().fit(X, y).predict(X))
    np.testing.assert_array_equal(fitted.decision_function(X), SVC().fit(X, y).decision_function(X))
    assert not hasattr(fitted, "predict_proba")
