"""The three steps of a fit, and docstrings whose parts are shared."""

import inspect
import re
import subprocess
import sys

import numpy as np
import pytest
from small_data import random_data

import skml_odm
from skml_odm import (
    CSRL,
    M3L,
    MCODM,
    MLODM,
    ODM,
    PMLODM,
    PathSearchCV,
    RankCVM,
    RankLSVM,
    RankSVM,
    RankSVMz,
)
from skml_odm.estimators.kernel_model import KernelModel
from skml_odm.utils.docs import documented

KERNEL_MODELS = [CSRL, M3L, MCODM, MLODM, ODM, PMLODM, RankCVM, RankLSVM, RankSVM, RankSVMz]
CLASSES = [each for each in vars(skml_odm).values() if inspect.isclass(each)]


@pytest.mark.parametrize("method", KERNEL_MODELS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_steps_are_the_fit(method, kernel):
    X, y = random_data()
    y = y[:, 0] if method in (MCODM, ODM) else y
    whole = method(kernel=kernel, random_state=0).fit(X, y)
    model = method(kernel=kernel, random_state=0)
    prepared = model.prepare(X, y)
    assert not hasattr(model, "dual_coef_")
    assert model.keep(prepared, model.solve(prepared)) is model
    np.testing.assert_array_equal(model.dual_coef_, whole.dual_coef_)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))
    assert vars(model).keys() == vars(whole).keys()


def test_a_step_may_be_replaced():
    """As a search does it: another kernel matrix, and rows that are not copied."""
    X, y = random_data()
    model = MLODM(gamma=0.3)
    prepared = model.check_data(X, y)
    prepared.kernel = model.make_kernel(prepared)
    K = prepared.kernel.matrix(X)
    prepared.operator, prepared.eigenvectors = model.make_operator(prepared, K)
    assert prepared.operator.matrix is K
    prepared.problem = model.make_problem(prepared)
    model.keep(prepared, model.solve(prepared), copy=False)
    assert np.shares_memory(model.X_fit_, X)
    np.testing.assert_array_equal(model.dual_coef_, MLODM(gamma=0.3).fit(X, y).dual_coef_)
    assert not np.shares_memory(MLODM(gamma=0.3).fit(X, y).X_fit_, X)


class Counting(MLODM):
    """An estimator with a fit of its own."""

    n_fits = 0

    def fit(self, X, y):
        type(self).n_fits += 1
        return super().fit(X, y)


def test_a_search_calls_a_fit_that_is_not_ours():
    X, y = random_data()
    PathSearchCV(Counting(), {"C": [1.0, 2.0]}, cv=2, refit=False).fit(X, y)
    assert Counting.n_fits == 4


@pytest.mark.parametrize("cls", CLASSES)
def test_docstrings_have_every_parameter_and_its_default(cls):
    assert "{kernel}" not in cls.__doc__ and "default=..." not in cls.__doc__
    assert not re.search(r"^ *\{\w+\}$", cls.__doc__, re.MULTILINE)
    parameters = inspect.signature(cls).parameters
    section = inspect.getdoc(cls).split("Parameters\n")[1].split("Attributes\n")[0]
    entries = re.findall(r"^(\w+) : (.*)$", section, re.MULTILINE)
    assert [name for name, _ in entries] == list(parameters)
    for name, text in entries:
        default = parameters[name].default
        if default is not inspect.Parameter.empty and default == default:
            assert eval(text.split("default=")[1]) == default


@pytest.mark.parametrize("cls", [each for each in CLASSES if issubclass(each, KernelModel)])
def test_fitted_attributes_are_documented(cls):
    X, y = random_data()
    model = cls(kernel="linear").fit(X, y[:, 0] if cls in (MCODM, ODM) else y)
    section = inspect.getdoc(cls).split("Attributes\n")[1]
    known = set(re.findall(r"^(\w+_) : ", section, re.MULTILINE))
    fitted = {name for name in vars(model) if name.endswith("_")}
    assert known - fitted <= {"X_fit_", "feature_names_in_", "label_names_"}
    assert fitted <= known


def test_parts_are_filled_in_and_may_have_parts():
    @documented(one="{two}", two="a : int, default=...\n    What a is.")
    class Example:
        """An example.

        {one}
        Not a part: {1}.
        """

        def __init__(self, a="x"):
            pass

    lines = inspect.getdoc(Example).split("\n")
    assert lines[2:] == ['a : int, default="x"', "    What a is.", "Not a part: {1}."]


@pytest.mark.slow
def test_without_docstrings(tmp_path):
    """python -OO drops them."""
    code = "import skml_odm; assert skml_odm.MLODM.__doc__ is None"
    script = f"{code}; skml_odm.MLODM(C=2.0)"
    # without assert statements the exit code is that of the import and of the constructor
    # not in the folder of the sources, which may not be compiled
    subprocess.run([sys.executable, "-OO", "-c", script], check=True, cwd=tmp_path)
