"""Our results next to Tables 3 to 7 of paper 003, for Rank-CVM and Rank-SVM: docs/papers/003.md.

Parameters are those of the paper's Table 2. Sets with a publishers' split are fitted once; image,
plant and slashdot, which the paper split at random, on five random splits of 60 and 40 per cent.
"""

from pathlib import Path

import numpy as np
from sklearn.metrics import (
    hamming_loss,
    label_ranking_average_precision_score,
    label_ranking_loss,
)

from skml_odm import RankCVM, RankSVM
from skml_odm.metrics import coverage, one_error

from .rank_data import PARAMETERS, RANDOM_SPLIT, load_for_rank

PAGE = Path(__file__).parents[1] / "docs" / "papers" / "003.md"
N_SPLITS = 5
METHODS = {"RankCVM": RankCVM, "RankSVM": RankSVM}
# name, digits, whether small is good
MEASURES = (
    ("coverage", 3, True),
    ("one-error", 2, True),
    ("average precision", 2, False),
    ("ranking loss", 2, True),
    ("Hamming loss", 2, True),
)
# Tables 3 to 7, in the order of MEASURES, all but coverage in per cent
PAPER = {
    "emotions": {
        "RankCVM": (1.851, 29.21, 80.11, 15.75, 20.63),
        "RankSVM": (1.807, 28.22, 80.58, 15.32, 20.38),
    },
    "image": {
        "RankCVM": (0.815, 25.75, 83.28, 13.39, 15.30),
        "RankSVM": (0.804, 25.00, 83.74, 13.15, 15.20),
    },
    "scene": {
        "RankCVM": (0.439, 19.40, 88.31, 6.70, 8.88),
        "RankSVM": (0.494, 20.07, 87.44, 7.74, 8.42),
    },
    "plant-pseaac": {
        "RankCVM": (2.005, 60.51, 58.29, 17.20, 10.62),
        "RankSVM": (1.844, 61.03, 58.91, 15.84, 10.77),
    },
    "genbase": {
        "RankCVM": (0.472, 0.00, 99.62, 0.41, 0.15),
        "RankSVM": (0.291, 0.50, 99.46, 0.12, 0.15),
    },
    "medical": {
        "RankCVM": (1.243, 13.51, 89.90, 1.71, 1.08),
        "RankSVM": (1.429, 13.81, 89.45, 1.95, 1.07),
    },
    "slashdot": {
        "RankCVM": (2.366, 38.93, 70.45, 9.09, 4.37),
        "RankSVM": (2.289, 39.46, 70.66, 8.76, 4.44),
    },
    "yeast": {
        "RankCVM": (6.792, 25.74, 73.94, 18.04, 22.90),
        "RankSVM": (6.293, 22.57, 76.90, 16.20, 19.26),
    },
}


NOTES = """\
## Differences explained

- The paper ends Rank-SVM after 50 Frank-Wolfe iterations, with relative gaps of 9 % on medical,
  3 % on genbase and 1 % on emotions (ours with `max_iter=50`), and Rank-CVM at |z| ≤ 10⁻³,
  where its objective is still 8 % (emotions) to 52 % (scene) too large. Ours are the optima.
  Early stopping is a regulariser of its own: parameters that were tuned for stopped models need
  not be the best ones for solved ones.
- Rank-SVM on genbase and medical: unregularised biases cost accuracy where most labels are
  rare. With `fit_intercept=False` and the same γ and C the ranking loss falls from 2.77 to 2.11
  on medical (paper: 1.95) and from 0.42 to 0.26 on genbase (paper: 0.12). After 50 Frank-Wolfe
  iterations it is 3.05 and 0.42 with the optimal biases for the scores, 2.07 and 0.16 when
  these are left out. The paper does not say how it computes biases; its figures fit biases
  close to zero.
- genbase is nearly solved: 157 of 199 test rows repeat a training row, and a few label pairs
  decide its measures.
- image, plant, slashdot: other random splits than the paper's, and for plant features from
  another run of PseAAC.
- medical: the two parts of the published split are exchanged, as in the paper.
- Support vectors: a row without one has all its margins at 1 or more. Optimal Rank-SVM is
  sparser than the paper's, whose Frank-Wolfe iterates are averages of many vertices (100 % of
  the rows on these sets after 50 iterations).
"""


def run(arguments):
    rows = {}
    for name in PARAMETERS:
        seeds = range(N_SPLITS) if name in RANDOM_SPLIT else (0,)
        for method in METHODS:
            values = [measure(load_for_rank(name, seed), name, method) for seed in seeds]
            rows[name, method] = np.mean(values, axis=0)
            print(
                name, method, " ".join(f"{value:.3f}" for value in rows[name, method]), flush=True
            )
    PAGE.write_text(page(rows))
    print(f"wrote {PAGE}")


def measure(split, name, method, tol=1e-4):
    """The five measures on the test part, and the share of training rows that are support vectors.

    All but coverage are in per cent.
    """
    model = METHODS[method](**PARAMETERS[name][method], tol=tol, random_state=0)
    model.fit(split.X_train, split.y_train)
    scores = model.label_scores(split.X_test)
    return (
        coverage(split.y_test, scores),
        100 * one_error(split.y_test, scores),
        100 * label_ranking_average_precision_score(split.y_test, scores),
        100 * label_ranking_loss(split.y_test, scores),
        100 * hamming_loss(split.y_test, model.predict(split.X_test)),
        100 * model.n_support_ / len(split.y_train),
    )


def page(rows):
    """The page docs/papers/003.md."""
    lines = [
        "# Paper 003: Rank-CVM and Rank-SVM, our results next to the paper's",
        "",
        "Written by `python -m benchmarks papers 003`. γ and C are those of the paper's Table 2;",
        "features are scaled to [0, 1] on the training part, labels are cut by the regression",
        "threshold, models are certified to a relative gap of 10⁻⁴. image, plant and slashdot are",
        f"means over {N_SPLITS} random splits, 60 % for training, for the paper's own random split",
        "is not published. Human is not among our data. All but coverage in per cent.",
        "",
    ]
    for column, (measure_name, digits, small) in enumerate(MEASURES):
        lines += [
            f"## {measure_name[0].upper() + measure_name[1:]}",
            "",
            "| data set | RankCVM | paper | RankSVM | paper |",
            "|---|---|---|---|---|",
        ]
        wins = dict.fromkeys(METHODS, 0)
        for name in PARAMETERS:
            cells = []
            for method in METHODS:
                ours, paper = round(rows[name, method][column], digits), PAPER[name][method][column]
                good = bool(ours <= paper if small else ours >= paper)
                wins[method] += good
                cells += [f"{'**' * good}{ours:.{digits}f}{'**' * good}", f"{paper:.{digits}f}"]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        counts = " and ".join(f"{method} on {wins[method]}" for method in METHODS)
        lines += ["", f"At least as good as the paper's: {counts} of {len(PARAMETERS)}.", ""]
    lines += [
        "## Support vectors",
        "",
        "Training rows with a coefficient other than zero, in per cent. The paper reports the",
        "averages over its nine data sets only: 85.50 for Rank-CVM, 98.98 for Rank-SVM.",
        "",
        "| data set | RankCVM | RankSVM |",
        "|---|---|---|",
    ]
    for name in PARAMETERS:
        lines.append(f"| {name} | " + " | ".join(f"{rows[name, m][5]:.1f}" for m in METHODS) + " |")
    mean = [np.mean([rows[name, m][5] for name in PARAMETERS]) for m in METHODS]
    lines += [f"| mean | {mean[0]:.1f} | {mean[1]:.1f} |", "", NOTES]
    return "\n".join(lines)
