"""A made-up study: plausible effects, a classifier that fails and one that is too slow."""

from types import SimpleNamespace

import numpy as np

from skml_odm.study.outcome import Outcome

DATA = ("emotions", "scene", "yeast", "birds", "genbase", "medical", "enron", "image")
CLASSIFIERS = (
    "MLODM",
    "RankSVM",
    "RankCVM",
    "RankSVMz",
    "RankLSVM",
    "CSRL",
    "M3L",
    "MLkNN",
    "BinaryRelevance(SVC)",
    "ClassifierChain(LogisticRegression)",
)
SETTINGS = """\
# study.toml
data = ["emotions", "scene"]
folds = 10
"""


def fake_study(n_sets=8, n_classifiers=9, n_folds=10, seed=0, with_failures=True):
    """Outcomes in the order in which an engine would finish them: fold by fold."""
    rng = np.random.default_rng(seed)
    difficulty = rng.uniform(0.02, 0.25, n_sets)
    effects = 1 + 0.06 * np.arange(n_classifiers) + rng.normal(0, 0.05, (n_sets, n_classifiers))
    outcomes = []
    for s in range(n_sets):
        for fold in range(1, n_folds + 1):
            luck = rng.normal(0, 0.05)
            for c in range(n_classifiers):
                loss = difficulty[s] * effects[s, c] * (1 + luck + rng.normal(0, 0.02))
                outcome = _outcome(rng, DATA[s], CLASSIFIERS[c], fold, loss, c)
                if with_failures and (DATA[s], CLASSIFIERS[c]) == ("enron", "RankSVM"):
                    outcome = _missing(outcome, "failed", "MemoryError: 12.4 GB for K & A_1 < all")
                if with_failures and (DATA[s], CLASSIFIERS[c]) == ("yeast", "M3L") and fold > 7:
                    outcome = _missing(outcome, "too slow", "stopped after 600 s")
                outcomes.append(outcome)
    return outcomes


def fake_sheets(n_sets=8):
    rng = np.random.default_rng(1)
    return [
        SimpleNamespace(
            name=name,
            facts={"rows": int(rng.integers(300, 3000)), "labels": 6 + i, "cardinality": 1.5 + i},
            warnings=("2 labels are never relevant",) if name == "birds" else (),
        )
        for i, name in enumerate(DATA[:n_sets])
    ]


def _outcome(rng, data, classifier, fold, loss, place):
    margins = np.quantile(
        rng.normal(1.0, 0.5 + 0.08 * place, 2000) * 2.0**place, np.arange(101) / 100
    )
    curve = []
    if classifier in CLASSIFIERS[:2]:
        steps = np.array([1, 2, 4, 8, 16, 32, 64, 128])
        curve = [
            (int(n), float(0.8 * n**-1.7), float(loss * (0.7 + 1 / n)), float(loss * (1 + 0.8 / n)))
            for n in steps
        ]
    seconds = 0.02 * 2.5**place * float(rng.lognormal(0, 0.1))
    return Outcome(
        data,
        classifier,
        fold,
        measures={
            "ranking_loss": float(loss),
            "average_precision": float(1 - 1.3 * loss + rng.normal(0, 0.002)),
            "one_error": float(1.2 * loss),
            "coverage": float(20 * loss),
            "macro_auc": float(1 - loss),
            "hamming_loss": float(0.7 * loss + rng.normal(0, 0.003)),
            "micro_f1": float(1 - 2 * loss),
            "fit_seconds": seconds,
            "predict_seconds": seconds / 10,
            "peak_megabytes": 80 + 30.0 * place,
        },
        parameters={"C": 2.0 ** int(rng.integers(0, 3)), "gamma": "scale"} if place < 7 else {},
        margins=[float(q) for q in margins],
        curve=curve,
        facts={
            "seed": 7 + fold,
            "n_train": 900,
            "n_test": 100,
            "started": f"2025-01-01T00:{fold:02d}:00",
            "versions": {"skml-odm": "0.1.0", "numpy": "2.3.1"},
        },
    )


def _missing(outcome, status, error):
    return Outcome(
        outcome.data, outcome.classifier, outcome.fold, status, error, facts=outcome.facts
    )
