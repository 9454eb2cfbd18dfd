"""Fit times of MLODM at scale: against OneVsRest(LinearSVC), and against rows, labels and features.

Parts of ``python -m benchmarks linear``; seconds are those of the processor. The first table has
the best of several fits; in the others an exponent is fitted to the times of doubling sizes, with
the memory that fits allocate beside it.
"""

import time

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from skml_odm import CSRL, MLODM, RankLSVM

from .data import load_raw
from .mlodm import peak_bytes

GAP = 1e-3
LINEAR = {"kernel": "linear", "threshold": "zero", "tol": GAP, "random_state": 0}
MOST_ROWS_FOR_KERNELS = 5380
ROWS_FOR_LABELS = 2000


def load_tmc():
    X, Y, train, _ = load_raw("tmc2007-500")
    return X[train], Y[train].astype(int)


def load_arts():
    X, Y, *_ = load_raw("yahoo-full-arts")
    return TfidfTransformer().fit_transform(X), Y.astype(int)


def compare_with_linear_svc(repeats):
    print(f"\nlinear kernels, relative gap {GAP:g}, C = 1; LinearSVC at its defaults, in seconds")
    header = ("data set", "rows", "d", "q", "LinearSVC", "MLODM", "ratio", "RankLSVM", "CSRL")
    print("{:12} {:>6} {:>6} {:>3} {:>10} {:>8} {:>6} {:>9} {:>8}".format(*header))
    for name, (X, y) in (("tmc2007-500", load_tmc()), ("full-arts", load_arts())):
        theirs = timed(OneVsRestClassifier(LinearSVC()), X, y, repeats)
        ours = [timed(method(C=1.0, **LINEAR), X, y, repeats) for method in (MLODM, RankLSVM)]
        # slow on tmc, whose features are few
        ours.append(timed(CSRL(beta=1.0, **LINEAR), X, y, 1))
        print(
            f"{name:12} {X.shape[0]:6d} {X.shape[1]:6d} {y.shape[1]:3d} {theirs:10.2f} "
            f"{ours[0]:8.2f} {theirs / ours[0]:6.1f} {ours[1]:9.2f} {ours[2]:8.2f}",
            flush=True,
        )
    print("wanted: ratio at least 1")


def grow_rows(repeats):
    X, y = load_tmc()
    order = np.random.RandomState(0).permutation(len(y))
    for kernel, most, wanted in (("linear", len(y), 1.1), ("rbf", MOST_ROWS_FOR_KERNELS, 2.1)):
        sizes = [most >> k for k in range(4, -1, -1)]
        model = MLODM(kernel=kernel, threshold="regression", tol=GAP, random_state=0)
        parts = [(X[order[:m]], y[order[:m]]) for m in sizes]
        report(f"rows of tmc2007-500, {kernel} kernel", sizes, model, parts, repeats, wanted)


def grow_labels(repeats):
    X, Y, train, _ = load_raw("delicious")
    rng = np.random.RandomState(0)
    rows, labels = rng.permutation(train)[:ROWS_FOR_LABELS], rng.permutation(Y.shape[1])
    sizes = [Y.shape[1] >> k for k in range(4, -1, -1)]
    parts = [(X[rows], Y[np.ix_(rows, labels[:q])].astype(int)) for q in sizes]
    report(
        f"labels of delicious, {ROWS_FOR_LABELS} rows",
        sizes,
        MLODM(C=1.0, **LINEAR),
        parts,
        repeats,
        1.2,
    )


def report(title, sizes, model, parts, repeats, wanted):
    """Times and memory of fits of growing size, and the exponent of the times."""
    seconds = [timed(model, X, y, repeats) for X, y in parts]
    megabytes = [peak_bytes(model, X, y) / 1e6 for X, y in parts]
    exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    print(f"\n{title}: exponent {exponent:.2f} (wanted {wanted})")
    print("size    ", " ".join(f"{size:9d}" for size in sizes))
    print("seconds ", " ".join(f"{value:9.3f}" for value in seconds))
    print("megabyte", " ".join(f"{value:9.1f}" for value in megabytes), flush=True)


def text(m, d, q):
    """Random sparse rows of the size of a large text collection: time and memory of a fit."""
    rng = np.random.RandomState(0)
    per_row = 50
    # the frequency of words falls with their rank, as in text
    words = np.minimum((d * rng.random_sample(m * per_row) ** 3).astype(int), d - 1)
    rows = np.repeat(np.arange(m), per_row)
    X = sparse.csr_matrix((rng.random_sample(m * per_row), (rows, words)), shape=(m, d))
    # to unit length, as the vectorisers of text do
    X = normalize(X)
    scores = X @ rng.standard_normal((d, q))
    y = sparse.csr_matrix(scores > np.quantile(scores, 0.98, axis=1, keepdims=True)).astype(int)
    least = 12 * X.nnz + 8 * (m + d) * q
    print(f"\nsynthetic text, {m} rows, {d} features, {q} labels, {X.nnz} entries")
    for method in (MLODM, RankLSVM, CSRL):
        model = method(**LINEAR)
        start = time.process_time()
        peak = peak_bytes(model, X, y)
        seconds = time.process_time() - start
        print(
            f"{method.__name__:9} {seconds:7.1f} s, gap {model.dual_gap_:.1e}, peak memory "
            f"{peak / 1e6:.0f} MB, {peak / least:.1f} times nnz + (m + d) q numbers",
            flush=True,
        )


def timed(model, X, y, repeats):
    """Least seconds of the processor that a fit takes."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        model.fit(X, y)
        seconds.append(time.process_time() - start)
    return min(seconds)
