"""Our results next to Tables 3 to 7 of paper 003, for Rank-CVM and Rank-SVM."""

import numpy as np

from .tables import MISSING, at_least_as_good, bold, table, title

METHODS = ("RankCVM", "RankSVM")
# digits; all but coverage in per cent
MEASURES = {
    "coverage": 3,
    "one_error": 2,
    "average_precision": 2,
    "ranking_loss": 2,
    "hamming_loss": 2,
}
INTRODUCTION = """\
# Paper 003: Rank-CVM and Rank-SVM, our results next to the paper's

Written by `python -m benchmarks papers 003` from the studies `benchmarks/papers/003.toml` and
`003-random.toml`. γ and C are those of the paper's Table 2; features are scaled to [0, 1] on the
training part, labels are cut by the regression threshold, models are certified to a relative gap of
10⁻⁶ (RankCVM) or 10⁻⁴ (RankSVM). image, plant and slashdot are means over five random splits, 60 %
for training, for the paper's own random split is not published. Human is not among our data. All
but coverage in per cent.
"""
SUPPORT = """\
## Support vectors

Training rows with a coefficient other than zero, in per cent. The paper reports the
averages over its nine data sets only: 85.50 for Rank-CVM, 98.98 for Rank-SVM.
"""
NOTES = """\
## Differences explained

- The paper ends Rank-SVM after 50 Frank-Wolfe iterations, with relative gaps of 9 % on medical,
  3 % on genbase and 1 % on emotions (ours with `max_iter=50`), and Rank-CVM at |z| ≤ 10⁻³,
  where its objective is still 8 % (emotions) to 52 % (scene) too large. Ours are the optima.
  Early stopping is a regulariser of its own: parameters that were tuned for stopped models need
  not be the best ones for solved ones.
- RankCVM's gap was 10⁻⁴ at first, and was made 10⁻⁶ after its figures had been seen: at 10⁻⁴ the
  ranking loss on medical was 2.44 on an earlier version of this page and is 2.51 now, the support
  vectors 100 and 96 %. Of the comparisons with the paper, this turned two, both on genbase
  (coverage and ranking loss), from slightly worse into equal.
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


def page(results, figures):
    """The page docs/papers/003.md."""
    names = list(figures[METHODS[0]])
    lines = [INTRODUCTION]
    for measure, digits in MEASURES.items():
        rows, wins = [], dict.fromkeys(METHODS, 0)
        for name in names:
            cells = []
            for method in METHODS:
                paper = figures[method][name][measure]
                values = results.values(name, method, measure)
                ours, good = MISSING, False
                if len(values):
                    mean = round(values.mean() * (1 if measure == "coverage" else 100), digits)
                    ours, good = f"{mean:.{digits}f}", at_least_as_good(measure, mean, paper)
                wins[method] += good
                cells += [bold(ours, good), f"{paper:.{digits}f}"]
            rows.append([name, *cells])
        lines += [title(measure), ""]
        lines += table(["data set", "RankCVM", "paper", "RankSVM", "paper"], rows)
        counts = " and ".join(f"{method} on {wins[method]}" for method in METHODS)
        lines += [f"At least as good as the paper's: {counts} of {len(names)}.", ""]
    lines += [SUPPORT, *support(results, names), NOTES]
    return "\n".join(lines)


def support(results, names):
    """The table of support vectors."""
    shares = {}
    for name in names:
        for method in METHODS:
            facts = [outcome.facts for outcome in results.outcomes(name, method)]
            shares[name, method] = np.array([100 * f["support_rows"] / f["n_train"] for f in facts])
    rows = [
        [name, *(f"{s.mean():.1f}" if len(s := shares[name, m]) else MISSING for m in METHODS)]
        for name in names
    ]
    if all(map(len, shares.values())):
        means = [np.mean([shares[name, m].mean() for name in names]) for m in METHODS]
        rows.append(["mean", *(f"{mean:.1f}" for mean in means)])
    return table(["data set", *METHODS], rows)
