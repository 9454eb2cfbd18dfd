"""Which parameters are good defaults.

``margins``: θ and μ of MLODM. For each data set of paper 000 (training part, features in [0, 1])
the cross-validated ranking loss at each θ and μ, all else at the defaults, is divided by the
smallest one; printed is the mean of these ratios over the data sets.

``decisions``: the trade-off and the decision of every estimator. ``widths``: C and the width of the
kernel of MLODM. A random split (70 : 30) of at most 700 rows of the training parts, with features
in [0, 1], and another with standardised ones (tf-idf for text), all else at the defaults. Printed
are ranks among an estimator's variants, from 0 (the best in every split) to 1, averaged over splits
of the sets that chose the defaults, and of others that confirm them. ``rules``: which labels MLODM
predicts at its defaults, on the data sets and folds of ``python -m benchmarks decisions defaults``,
which has to be run before: means, and ranks among the other classifiers there.
"""

import itertools

import numpy as np
from scipy.special import logit
from scipy.stats import rankdata

from skml_odm import CSRL, M3L, MLODM, PMLODM, RankLSVM, RankSVM, RankSVMz
from skml_odm.decisions.rules import AtLeastOne, CommonCut, FixedCut
from skml_odm.features.kernels import make_kernel
from skml_odm.metrics import ranking_loss
from skml_odm.metrics.labels import LABEL_MEASURES, subset_accuracy
from skml_odm.study.evaluation import scaled

from .data import load_as_in_paper, load_raw, random_split
from .decisions import outer_split, read_outcomes, second_scaling
from .decisions_page import HEADINGS, SETS, Figures
from .papers.results import figures as paper_figures
from .papers.tables import bold, table
from .rivals import AT_DEFAULTS
from .search import path_search

THETA = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7)
MU = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)

CHOOSING = ("birds", "emotions", "flags", "medical", "scene", "slashdot")
CONFIRMING = ("enron", "genbase", "image", "plant-pseaac", "tmc2007-500", "yeast")
MEASURES = ("hamming", "micro-f1", "example-f1", "subset-accuracy")
MOST_ROWS = 700

# estimator, its trade-off with values, and the threshold of its paper
TRADE_OFFS = (
    (MLODM, "C", (1.0, 4.0, 8.0, 16.0, 32.0), "regression"),
    (RankLSVM, "C", (1.0, 8.0, 32.0), "regression"),
    (RankSVM, "C", (1.0, 8.0, 32.0), "regression"),
    (RankSVMz, "C", (1.0, 8.0, 32.0), "zero"),
    (PMLODM, "C", (1.0, 8.0, 32.0), "per-label"),
    (CSRL, "beta", (1.0, 0.3, 0.1), "zero"),
    (M3L, "C", (1.0, 8.0, 32.0), "zero"),
)
# multiples of γ = "scale"
WIDTHS = (0.25, 0.5, 1.0, 2.0)


def add_arguments(parser):
    parser.add_argument(
        "part", choices=("margins", "decisions", "widths", "rules"), help="which defaults"
    )


def run(arguments):
    if arguments.part == "margins":
        show_margins()
    elif arguments.part == "rules":
        show_rules()
    else:
        show_ranks({"decisions": decisions, "widths": widths}[arguments.part])


def show_margins():
    ratios = []
    for name in paper_figures("000"):
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


def decisions(X):
    """Models to compare, by estimator and by what is said of them."""
    found: dict = {}
    for cls, trade_off, values, papers in TRADE_OFFS:
        for value, threshold in itertools.product(values, (papers, "calibrated")):
            key = (cls.__name__, f"{trade_off} = {value:g}", threshold)
            model = cls(threshold=threshold, **{trade_off: value})
            found.setdefault(cls.__name__, {})[key] = model
    return found


def widths(X):
    scale = make_kernel("rbf", "scale", 1, 0.0, X).gamma
    models = {
        ("MLODM", f"C = {C:g}", f"{width:g} · scale"): MLODM(C=C, gamma=width * scale)
        for C, width in itertools.product(TRADE_OFFS[0][2], WIDTHS)
    }
    return {"MLODM": models}


def show_ranks(variants):
    ranks = [_ranks(names, variants) for names in (CHOOSING, CONFIRMING)]
    heads = ("Hamming", "micro-F1", "example-F1", "subset accuracy", "ranking loss", "mean")
    rows = []
    for key in ranks[0]:
        pairs = zip(*([*each[key], each[key].mean()] for each in ranks), strict=True)
        rows.append([*key, *(f"{a:.2f} / {b:.2f}" for a, b in pairs)])
    print("\n".join(table(("estimator", "trade-off", "decision, or γ", *heads), rows)))


def _ranks(names, variants):
    """Mean rank of every variant among those of its estimator, by measure."""
    found: dict = {}
    for name in names:
        X, Y, rows, _ = load_raw(name)
        rows = np.arange(len(Y)) if rows is None else np.asarray(rows)
        rows = np.random.RandomState(0).permutation(rows)[:MOST_ROWS]
        for seed, scaling in enumerate(("unit", second_scaling(name))):
            train, test = (rows[part] for part in random_split(len(rows), 0.7, seed))
            X_train, X_test = scaled(X[train], X[test], scaling)
            for models in variants(X_train).values():
                fitted = [model.fit(X_train, Y[train].astype(int)) for model in models.values()]
                losses = np.array([_losses(model, X_test, Y[test]) for model in fitted])
                for key, rank in zip(models, _relative_ranks(losses), strict=True):
                    found.setdefault(key, []).append(rank)
        print(name, flush=True)
    return {key: np.mean(each, axis=0) for key, each in found.items()}


def _losses(model, X, Y):
    """Small for good models."""
    decision = model.decision_function(X)
    signs = {"hamming": 1.0}
    of_labels = [signs.get(name, -1.0) * LABEL_MEASURES[name](Y, decision > 0) for name in MEASURES]
    return [*of_labels, ranking_loss(Y, decision)]


def _relative_ranks(losses):
    """Ranks of the rows in every column, from 0 to 1."""
    return (rankdata(losses, axis=0) - 1.0) / (len(losses) - 1.0)


def rules():
    """Rules for calibrated log-odds, by what they do."""
    best = {
        f"best label above {share}": AtLeastOne(FixedCut(), subset_accuracy, logit(share))
        for share in (0.45, 0.4, 0.35, 0.3, 0.25)
    }
    return {
        "p > ½": FixedCut(),
        **best,
        "best label, always": AtLeastOne(FixedCut(), subset_accuracy),
        "cut for micro-F1": CommonCut(),
    }


def show_rules():
    outcomes = read_outcomes()
    for name, scaling, fold in itertools.product(SETS, (0, 1), (0, 1)):
        scaling = ("unit", second_scaling(name))[scaling]
        X, y, X_test, y_test = outer_split("defaults", name, scaling, fold)
        model = MLODM()
        prepared = model.prepare(X, y)
        result = model.solve(prepared)
        unseen = model.unseen_scores(prepared, result)
        calibrated = model.keep(prepared, result).threshold_
        values, new = (calibrated.values(s) for s in (unseen, model.label_scores(X_test)))
        for rule_name, rule in rules().items():
            cut = rule.fit(values, y.astype(bool), np.ones(len(y))).cut(new)
            predicted = (new > cut) & y.any(axis=0)
            of_labels = {m: measure(y_test, predicted) for m, measure in LABEL_MEASURES.items()}
            outcomes["defaults", name, scaling, fold, rule_name] = {"plain": of_labels}
    figures = Figures(outcomes, "defaults")
    others = [name for name in AT_DEFAULTS if name != "MLODM"]
    rows = []
    for name in rules():
        cells = []
        for measure in LABEL_MEASURES:
            rank, *theirs = figures.ranks([name, *others], measure)
            mean = figures.column(name, measure).mean()
            cells.append(f"{mean:.4f} ({bold(f'{rank:.2f}', rank < min(theirs))})")
        rows.append([name, *cells])
    print("\n".join(table(["rule", *(HEADINGS[m] for m in LABEL_MEASURES)], rows)))
