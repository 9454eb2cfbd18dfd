"""Our results next to Table 2 of paper 001 (candidate labels)."""

import textwrap

from .results import earlier
from .tables import at_least_as_good, bold, table, title

METHODS = ("PMLODM", "paper", "fixed", "MLODM", "Particle vls", "Particle map", "PMLLRS")
# in the order of the earlier results
MEASURES = (
    "ranking_loss",
    "hamming_loss",
    "coverage",
    "average_precision",
    "macro_f1",
    "micro_f1",
)
INTRODUCTION = """\
# Paper 001: learning from candidate labels, our results next to the paper's

Written by `python -m benchmarks papers 001` from the studies `benchmarks/papers/001-eta1.toml` and
`001-eta2.toml`. Random 80/20 splits, five per data set, η wrong candidates per training row,
features in [0, 1], measures against the true labels of the test part. C and γ are chosen for each
kernel method by cross-validation against the candidates of each training part. `PMLODM` is the
default (cross-fitted confidences), *paper* and *fixed* are `confidence="paper"` with adaptive and
fixed prototypes, MLODM is trained on the candidates as if they were labels. Bold: at least as good
as MLODM (PMLODM) or as the paper's PML-ODM (paper).
"""
EARLIER = (
    "Not run by these studies yet: {}. Their figures come from the script that was there before "
    "(`benchmarks/paper_001.py` of commit d7872f9): other random splits, C and γ chosen on the "
    "first training part only."
)
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
  (seeds 0 to 4), before this one became the default. The splits of this page (seeds from 100 on)
  are fresh, the data sets are not: some optimism is left in the column PMLODM.
- flags has 39 test rows, and five splits of it are few: the mean ranking loss of MLODM (C = 1,
  η = 1) was 0.17, 0.20 and 0.22 over three groups of five splits.
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


def page(results, figures):
    """The page docs/papers/001.md."""
    lines, before, missing = [], earlier("001"), {}
    for measure in MEASURES:
        for eta, paper in figures.items():
            rows, wins = [], {"PMLODM": 0, "paper": 0}
            for name in paper:
                values = _means(results, name, eta, measure)
                if values is None:
                    missing.setdefault(eta[-1], {})[name] = True
                    column = MEASURES.index(measure)
                    values = {m: before[f"{name} {eta[-1]} {m}"][column] for m in METHODS}
                values = {method: round(value, 3) for method, value in values.items()}
                rivals = {"PMLODM": values["MLODM"], "paper": paper[name][measure]}
                cells = []
                for method, value in values.items():
                    good = method in rivals and at_least_as_good(measure, value, rivals[method])
                    wins[method] = wins.get(method, 0) + good
                    cells.append(bold(f"{value:.3f}", good))
                rows.append([name, *cells, f"{rivals['paper']:.3f}"])
            lines += [f"{title(measure)}, η = {eta[-1]}", ""]
            lines += table(["data set", *METHODS, "PML-ODM in the paper"], rows)
            lines += [
                f"PMLODM at least as good as MLODM on {wins['PMLODM']} of {len(paper)} sets, the "
                f"paper's method as the paper's figures on {wins['paper']}.",
                "",
            ]
    which = "; ".join(f"η = {eta}: {', '.join(names)}" for eta, names in missing.items())
    explained = [textwrap.fill(EARLIER.format(which), 100), ""] if missing else []
    return "\n".join([INTRODUCTION, *explained, *lines, NOTES])


def _means(results, name, eta, measure):
    """Mean measures by method, or None if some are missing; coverage as a share of the labels."""
    study = f"001-{eta}"
    values = {m: results.values(name, m, measure, study) for m in METHODS}
    if not all(map(len, values.values())):
        return None
    n_labels = results.data[name].Y.shape[1] if measure == "coverage" else 1
    return {method: each.mean() / n_labels for method, each in values.items()}
