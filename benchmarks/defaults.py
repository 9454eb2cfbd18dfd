"""Which θ and μ are good defaults: cross-validated ranking loss, all else at MLODM's defaults.

For each data set of paper 000 (training part, features in [0, 1]) the loss at each θ and μ is
divided by the smallest one; printed is the mean of these ratios over the data sets.
"""

import numpy as np

from .data import load_as_in_paper
from .papers.results import figures
from .search import path_search

THETA = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7)
MU = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)


def add_arguments(parser):
    pass


def run(arguments):
    ratios = []
    for name in figures("000"):
        split = load_as_in_paper(name)
        search = path_search({"theta": THETA, "mu": MU}, 2, refit=False)
        search.fit(split.X_train, split.y_train.astype(int))
        # the grid is in the order of its parameters' names
        losses = -search.cv_results_["mean_test_score"].reshape(len(MU), len(THETA)).T
        ratios.append(losses / losses.min())
        print(f"{name}: best {100 * losses.min():.2f}, worst {100 * losses.max():.2f}", flush=True)
    print("\n| θ \\ μ | " + " | ".join(f"{mu:g}" for mu in MU) + " |")
    print("|---" * (len(MU) + 1) + "|")
    for theta, row in zip(THETA, np.mean(ratios, axis=0), strict=True):
        print(f"| {theta:g} | " + " | ".join(f"{value:.3f}" for value in row) + " |")
