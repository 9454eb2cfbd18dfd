"""Classes as labels, in a study."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from skmultilearn.problem_transform import LabelPowerset

from skml_odm import MCODM
from skml_odm.study import OneLabel

X, CLASSES = load_iris(return_X_y=True)
Y = np.eye(3, dtype=int)[CLASSES]


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_it_does_what_label_powerset_does(convert):
    ours = OneLabel(MCODM(random_state=0)).fit(X, convert(Y)).predict(X)
    host = LabelPowerset(MCODM(random_state=0)).fit(X, sparse.csr_matrix(Y)).predict(X)
    np.testing.assert_array_equal(ours, host.toarray())


def test_parameters_of_the_classifier_are_its_own():
    model = OneLabel(MCODM(C=3.0)).set_params(classifier__C=7.0).fit(X, Y)
    assert model.classifier.C == model.classifier_.C == 7.0
    assert not hasattr(model.classifier, "classes_")


@pytest.mark.parametrize("number", [0, 2])
def test_other_numbers_of_labels_are_refused(number):
    wrong = Y.copy()
    wrong[5] = np.arange(3) < number
    with pytest.raises(
        ValueError, match=f"y must have exactly one label in every row; row 5 has {number}"
    ):
        OneLabel(MCODM()).fit(X, wrong)
