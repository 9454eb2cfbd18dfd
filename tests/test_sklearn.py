"""scikit-learn's own checks, with the one failure that the host's base class makes inevitable."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skml_odm import MLODM

ESTIMATORS = [MLODM(), MLODM(kernel="linear")]


def expected_failures(estimator):
    return {
        "check_mixin_order": "MLClassifierBase, the host's base class, lists BaseEstimator before "
        "ClassifierMixin",
    }


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_estimator(estimator, check):
    check(estimator)
