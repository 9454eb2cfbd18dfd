"""scikit-learn's own checks.

Multi-label estimators have the one failure that the host's base class makes inevitable; the plain
classifiers have none of their own.
"""

import sklearn
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from skml_odm import (
    CSRL,
    M3L,
    MCODM,
    MLODM,
    ODM,
    PMLLRS,
    PMLODM,
    Particle,
    RankCVM,
    RankLSVM,
    RankSVM,
    RankSVMz,
)

ESTIMATORS = [
    MLODM(),
    MLODM(kernel="linear"),
    PMLODM(),
    PMLODM(confidence="paper"),
    RankSVM(),
    RankSVM(kernel="linear"),
    RankLSVM(),
    RankCVM(),
    RankSVMz(),
    RankSVMz(kernel="linear"),
    Particle(),
    Particle(variant="map"),
    PMLLRS(),
    CSRL(),
    CSRL(kernel="linear"),
    CSRL(covariance="learn"),
    CSRL(kernel="linear", covariance="learn", dummy="zero"),
    M3L(),
    M3L(kernel="linear"),
]


def expected_failures_of_classifiers(estimator):
    """Names of checks that cannot pass, each with the reason."""
    if estimator.__sklearn_tags__().classifier_tags.multi_class or parse_version(
        sklearn.__version__
    ) >= parse_version("1.7"):
        return {}
    # not ours: see _enforce_estimator_tags_y there
    reason = "this scikit-learn makes its three-class y binary by its first entry, which "
    reason += "differs between the weighted and the repeated data"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


def expected_failures(estimator):
    """The same for multi-label estimators."""
    return {
        "check_mixin_order": "MLClassifierBase, the host's base class, lists BaseEstimator before "
        "ClassifierMixin",
        **expected_failures_of_classifiers(estimator),
    }


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_estimator(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [
        MCODM(),
        MCODM(kernel="rbf"),
        MCODM(C=1.0, solver="descent"),
        ODM(),
        ODM(kernel="rbf"),
    ],
    expected_failed_checks=expected_failures_of_classifiers,
)
def test_classifier(estimator, check):
    check(estimator)
