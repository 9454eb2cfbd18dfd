"""The confidence step of PML-ODM against HiGHS, and fits on sets with real candidate labels.

HiGHS solves the step once per instance, and once for all instances together. Candidates are the
labels of the training rows and two wrong ones each, scores are those of MLODM trained on them,
costs the distances to the mean rows of the labels. One thread.
"""

import time

import numpy as np
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss
from threadpoolctl import threadpool_limits

from skml_odm import MLODM, PMLODM
from skml_odm.datasets import add_candidate_noise
from skml_odm.estimators.candidates import Prototypes
from skml_odm.solvers.confidence import Programs, confidences, solve_by_highs

from .data import load_as_in_paper, load_candidates
from .timing import best_time

DATA_SETS = ("emotions", "yeast", "medical", "enron")
# Rows that HiGHS solves one by one: enough for a mean.
N_SINGLE = 50
REAL = ("pml-mirflickr5000", "pml-YeastMF")


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=5, help="repeats of our step (default 5)")


def run(arguments):
    with threadpool_limits(1):
        compare(arguments.repeats)
        fit_real_candidates()


def compare(repeats):
    header = ("data set", "rows", "labels", "ms", "difference", "HiGHS per row", "HiGHS whole")
    print("{:10} {:>6} {:>6} {:>8} {:>11} {:>14} {:>12}".format(*header))
    for name in DATA_SETS:
        split = load_as_in_paper(name)
        X, m = split.X_train, len(split.y_train)
        candidates = add_candidate_noise(split.y_train.astype(int), 2, random_state=0).astype(bool)
        model = MLODM(C=10.0, threshold="zero", zero_label=False, random_state=0)
        scores = model.fit(X, candidates).label_scores(X)
        prototypes = Prototypes(X, candidates.shape[1])
        prototypes.update(candidates.astype(float))
        weight = 1.0 / candidates.sum(axis=1)
        step = (scores, candidates, 0.1 * prototypes.distances(), weight, 1.0, 1.0, 0.7)
        ours = best_time(lambda step=step: confidences(*step), repeats)
        all_rows = Programs(*step)
        programs = [all_rows.row(i) for i in range(m)]
        rows = np.linspace(0, m - 1, N_SINGLE).astype(int)

        def one_by_one(rows=rows, programs=programs):
            for i in rows:
                solve_by_highs([programs[i]])

        single = best_time(one_by_one, 1) * m / N_SINGLE
        whole = best_time(lambda programs=programs: solve_by_highs(programs), 1)
        parts = solve_by_highs(programs)
        reference = sum(
            program.objective(part) for program, part in zip(programs, parts, strict=True)
        )
        found = confidences(*step)
        print(
            f"{name:10} {m:6d} {candidates.shape[1]:6d} {ours * 1e3:8.2f} "
            f"{abs(found.value - reference) / reference:11.1e} {single / ours:14.0f} "
            f"{whole / ours:12.0f}",
            flush=True,
        )
    print("columns 6 and 7: time of HiGHS / ours; wanted 100 and 10")


def fit_real_candidates():
    """Whole fits, C = 3 and gamma="scale", on 80 per cent of the rows."""
    print(
        "\nreal candidates: fit seconds, gap, ranking loss and average precision on the other rows"
    )
    for name in REAL:
        split = load_candidates(name)
        mlodm = MLODM(C=3.0, threshold="regression", zero_label=False, random_state=0)
        for model in (mlodm, PMLODM(C=3.0, threshold="per-label", random_state=0)):
            start = time.perf_counter()
            model.fit(split.X_train, split.y_train)
            spent = time.perf_counter() - start
            scores = model.label_scores(split.X_test)
            print(
                f"{name:18} {type(model).__name__:7} {spent:6.1f} {model.dual_gap_:9.1e} "
                f"{label_ranking_loss(split.y_test, scores):8.4f} "
                f"{label_ranking_average_precision_score(split.y_test, scores):8.4f}",
                flush=True,
            )
