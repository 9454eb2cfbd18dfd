"""The study that runs when nobody says which."""

from sklearn.svm import SVC

from .definition import make_study


def standard_study(data, *, folds=5, seed=0):
    """MLODM against two classifiers of the host, all of them at their defaults.

    Parameters
    ----------
    data : list of DataSet
    folds : int, default=5
    seed : int, default=0

    Returns
    -------
    Study
    """
    relevance = {
        "classifier": {"estimator": "OneClassAllowed", "parameters": {"estimator": SVC()}},
        "require_dense": [True, True],
    }
    return make_study(
        {
            "title": "MLODM next to ML-kNN and Binary Relevance",
            "data": data,
            "protocol": {"folds": folds, "seed": seed},
            "classifiers": [
                {"estimator": "MLODM"},
                {"estimator": "MLkNN"},
                {
                    "name": "BinaryRelevance(SVC)",
                    "estimator": "BinaryRelevance",
                    "parameters": relevance,
                },
            ],
        }
    )
