"""The study that runs when nobody says which."""

from sklearn.svm import SVC

from .definition import make_study


def standard_study(data, *, folds=5, seed=0):
    """MLODM against two classifiers of the host, all of them at fixed parameters.

    The support vector machines of ``BinaryRelevance`` have the same kernel. Their C is the weight
    of a row *and* label, MLODM's that of a row: as many times as much as there are labels, so that
    a row weighs the same in both. All else is at the defaults.

    Parameters
    ----------
    data : list of DataSet
    folds : int, default=5
    seed : int, default=0

    Returns
    -------
    Study
    """
    machine = SVC()
    weights = {one.name: {"C": one.Y.shape[1] * machine.C} for one in data}
    relevance = {
        "classifier": {"estimator": "OneClassAllowed", "parameters": {"estimator": machine}},
        "require_dense": [True, True],
    }
    return make_study(
        {
            "title": "MLODM next to ML-kNN and Binary Relevance",
            "data": data,
            "protocol": {"folds": folds, "seed": seed},
            "classifiers": [
                {"estimator": "MLODM", "on_data": weights},
                {"estimator": "MLkNN"},
                {
                    "name": "BinaryRelevance(SVC)",
                    "estimator": "BinaryRelevance",
                    "parameters": relevance,
                },
            ],
        }
    )
