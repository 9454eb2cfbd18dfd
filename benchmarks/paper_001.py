"""Our results next to Table 2 of paper 001 (candidate labels): docs/papers/001.md.

Every data set is split at random five times, 80 per cent for training, and gets η = 1 or 2 wrong
candidate labels per training row. C and γ are chosen for each method with a kernel once per data
set and η, by 3-fold cross-validated ranking loss against the *candidates* of the first training
part. Finished cells are kept in benchmarks/paper_001.json.
"""

import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import (
    f1_score,
    hamming_loss,
    label_ranking_average_precision_score,
    label_ranking_loss,
)
from sklearn.model_selection import KFold

from skml_odm import MLODM, PMLLRS, PMLODM, Particle
from skml_odm.datasets import add_candidate_noise
from skml_odm.kernels import make_kernel
from skml_odm.metrics import coverage

from .data import load_raw, random_split, scaled_split

PAGE = Path(__file__).parents[1] / "docs" / "papers" / "001.md"
CELLS = Path(__file__).with_name("paper_001.json")
ETAS = (1, 2)
# Other seeds than those on whose splits the kinds of confidences were compared.
SEEDS = range(100, 105)
GRID = [(C, factor) for C in (1.0, 3.0, 10.0) for factor in (0.25, 1.0)]
# name, whether small is good
MEASURES = (
    ("ranking loss", True),
    ("Hamming loss", True),
    ("coverage", True),
    ("average precision", False),
    ("macro-F1", False),
    ("micro-F1", False),
)
# Table 2, column PML-ODM, η = 1 and 2, in the order of MEASURES
PAPER = {
    "flags": (
        (0.219, 0.334, 0.544, 0.831, 0.691, 0.747),
        (0.225, 0.424, 0.551, 0.795, 0.677, 0.721),
    ),
    "emotions": (
        (0.177, 0.274, 0.342, 0.791, 0.697, 0.711),
        (0.212, 0.392, 0.350, 0.760, 0.639, 0.677),
    ),
    "birds": (
        (0.217, 0.078, 0.119, 0.513, 0.531, 0.537),
        (0.243, 0.094, 0.142, 0.480, 0.485, 0.471),
    ),
    "genbase": (
        (0.002, 0.014, 0.012, 0.994, 0.924, 0.954),
        (0.004, 0.043, 0.016, 0.987, 0.889, 0.907),
    ),
    "medical": (
        (0.081, 0.027, 0.121, 0.703, 0.673, 0.709),
        (0.113, 0.028, 0.118, 0.644, 0.585, 0.664),
    ),
    "scene": (
        (0.079, 0.151, 0.112, 0.894, 0.821, 0.793),
        (0.117, 0.167, 0.119, 0.818, 0.772, 0.712),
    ),
    "yeast": (
        (0.169, 0.261, 0.455, 0.771, 0.773, 0.698),
        (0.168, 0.274, 0.457, 0.762, 0.644, 0.683),
    ),
    "enron": (
        (0.146, 0.059, 0.419, 0.559, 0.701, 0.471),
        (0.133, 0.008, 0.319, 0.629, 0.667, 0.457),
    ),
}
METHODS = ("PMLODM", "paper", "fixed", "MLODM", "Particle vls", "Particle map", "PMLLRS")
KERNEL_METHODS = METHODS[:4]


def run(arguments):
    cells = json.loads(CELLS.read_text()) if CELLS.exists() else {}
    for name in PAPER:
        for eta in ETAS:
            for method in METHODS:
                key = f"{name} {eta} {method}"
                if key not in cells:
                    start = time.perf_counter()
                    cells[key] = cell(name, eta, method, *choose(name, eta, method))
                    CELLS.write_text(json.dumps(cells, indent=1) + "\n")
                    print(
                        f"{key}: {' '.join(f'{value:.4f}' for value in cells[key])} "
                        f"({time.perf_counter() - start:.0f} s)",
                        flush=True,
                    )
    PAGE.write_text(page(cells))
    print(f"wrote {PAGE}")


def split_with_noise(name, eta, seed):
    """A random split, features in [0, 1], and wrong candidates in the training part."""
    X, Y = load_raw(name)[:2]
    train, test = random_split(len(Y), 0.8, seed)
    candidates = add_candidate_noise(Y[train].astype(int), eta, random_state=seed)
    return scaled_split(X, Y, Y, train, test)._replace(y_train=candidates)


def choose(name, eta, method):
    """C and γ of the smallest ranking loss against candidates."""
    if method not in KERNEL_METHODS:
        return 1.0, 1.0
    split = split_with_noise(name, eta, SEEDS[0])
    X, Z = split.X_train, split.y_train
    losses = []
    for C, factor in GRID:
        gamma = factor * scale(X)
        total = 0.0
        for train, test in KFold(3, shuffle=True, random_state=0).split(X):
            model = make(method, C, gamma, Z[train]).set_params(tol=1e-2)
            scores = quietly(model.fit, X[train], Z[train]).label_scores(X[test])
            total += label_ranking_loss(Z[test], scores)
        losses.append((total, C, gamma))
    return min(losses)[1:]


def quietly(call, *arguments):
    """A call without warnings of fits that stop early."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return call(*arguments)


def scale(X):
    """gamma="scale" as a number."""
    return make_kernel("rbf", "scale", 3, 0.0, X).gamma


def make(method, C, gamma, candidates):
    """A compared method; λ1 gives the pairs of a row the weight C when one label is sure."""
    m, q = candidates.shape
    options = {"C": C, "gamma": gamma, "random_state": 0}
    if method == "PMLODM":
        return PMLODM(**options)
    if method in ("paper", "fixed"):
        options["C"] = C * m * candidates.sum(axis=1).mean() * q / max(q - 1, 1)
        prototype = "fixed" if method == "fixed" else "adaptive"
        return PMLODM(**options, confidence="paper", prototype=prototype)
    if method == "MLODM":
        return MLODM(**options, threshold="per-label")
    if method == "PMLLRS":
        return PMLLRS()
    return Particle(variant=method.split()[1])


def cell(name, eta, method, C, gamma):
    """Mean measures over the splits."""
    values = []
    for seed in SEEDS:
        split = split_with_noise(name, eta, seed)
        model = make(method, C, gamma, split.y_train)
        quietly(model.fit, split.X_train, split.y_train)
        values.append(measures(model, split.X_test, split.y_test))
    return [float(value) for value in np.mean(values, axis=0)]


def measures(model, X, y):
    """The six measures of the paper; its coverage is divided by the number of labels."""
    scores, predicted = model.label_scores(X), model.predict(X)
    return (
        label_ranking_loss(y, scores),
        hamming_loss(y, predicted),
        coverage(y, scores) / y.shape[1],
        label_ranking_average_precision_score(y, scores),
        f1_score(y, predicted, average="macro", zero_division=0),
        f1_score(y, predicted, average="micro", zero_division=0),
    )


def page(cells):
    """The page docs/papers/001.md."""
    lines = [
        "# Paper 001: learning from candidate labels, our results next to the paper's",
        "",
        "Written by `python -m benchmarks papers 001`. Random 80/20 splits, five per data set, η",
        "wrong candidates per training row, features in [0, 1], measures against the true labels",
        "of the test part. C and γ were chosen for each kernel method by cross-validation against",
        "the candidates of the first training part. `PMLODM` is the default (cross-fitted",
        "confidences), *paper* and",
        '*fixed* are `confidence="paper"` with adaptive and fixed prototypes, MLODM is trained on',
        "the candidates as if they were labels. Bold: at least as good as MLODM (PMLODM) or as the",
        "paper's PML-ODM (paper).",
        "",
    ]
    for column, (measure, small) in enumerate(MEASURES):
        for position, eta in enumerate(ETAS):
            lines += [f"## {measure[0].upper() + measure[1:]}, η = {eta}", ""]
            lines += ["| data set | " + " | ".join(METHODS) + " | PML-ODM in the paper |"]
            lines += ["|---" * (len(METHODS) + 2) + "|"]
            wins = {"PMLODM": 0, "paper": 0}
            for name in PAPER:
                values = [round(cells[f"{name} {eta} {method}"][column], 3) for method in METHODS]
                rivals = {"PMLODM": values[METHODS.index("MLODM")]}
                rivals["paper"] = PAPER[name][position][column]
                shown = []
                for method, value in zip(METHODS, values, strict=True):
                    rival = rivals.get(method)
                    good = rival is not None and (value <= rival if small else value >= rival)
                    wins[method] = wins.get(method, 0) + good
                    shown.append(f"**{value:.3f}**" if good else f"{value:.3f}")
                shown.append(f"{rivals['paper']:.3f}")
                lines.append(f"| {name} | " + " | ".join(shown) + " |")
            lines += [
                "",
                f"PMLODM at least as good as MLODM on {wins['PMLODM']} of {len(PAPER)} sets, the "
                f"paper's method as the paper's figures on {wins['paper']}.",
                "",
            ]
    return "\n".join([*lines, NOTES])


NOTES = """\
## Differences explained

- The paper gives neither λ1 and λ2 nor how features are scaled, and tunes θ and μ as well. Here
  θ, μ and `prototype_weight` have their defaults, C has three values and γ two.
- Its PML-ODM starts from confidences that are scaled "appropriately" and calls a general solver
  for its confidence step. Solved exactly, that step keeps few labels per row: good where rows
  have one label (scene, medical), bad where they have many (yeast) or where many labels are rare.
- Figures of the paper for birds, medical and enron are far worse than those of any method here,
  taking all candidates for labels included; its data must differ in more than the noise.
- About twenty ways of finding confidences were tried, on test parts of splits of these data sets
  (seeds 0 to 4), before this one became the default. The splits of this page (seeds 100 to 104)
  are fresh, the data sets are not: some optimism is left in the column PMLODM.
- Parameters are tuned against candidates. A small C copes with wrong candidates by itself, so
  MLODM is a strong rival once it is tuned; what confidences gain grows with C.
- Real candidate labels (`python -m benchmarks pml`, C = 3, one split): ranking loss and average
  precision .123 and .781 on mirflickr5000 (MLODM .127 and .776), .101 and .734 on YeastMF (MLODM
  .100 and .735), whose rows have 1.04 candidates for 1.005 labels. Fits take 13 and 19 seconds.
- On the splits with seeds 0 to 4 the method of the paper reached the paper's ranking loss on 4 of 8
  sets at η = 1, and PMLODM was at least as good as MLODM on 7 of 8 in ranking loss (both η), on 5
  (η = 1) and 7 (η = 2) in average precision.
- PML-LRS and PARTICLE: see their pages for what could not be found out about them.
"""
