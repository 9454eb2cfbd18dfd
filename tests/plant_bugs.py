"""Plants plausible bugs, one at a time, and tells which test of the fast group finds each.

Run it by hand: ``python tests/plant_bugs.py``. It copies the project to a temporary folder and
compiles it there; the project itself is left alone. For each bug it runs the tests of its rooms
first, then all; the exit code is 1 if a bug survives. Words as arguments choose the bugs that have
one of them in their file or description.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
NOT_COPIED = shutil.ignore_patterns(".git", "__pycache__", "_build", "dist", "*.egg-info")
LONGEST = 900  # seconds for one run of the fast group
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)


class Bug(NamedTuple):
    """One replacement in one file: the old text must be there exactly once."""

    file: str
    old: str
    new: str
    what: str
    rooms: str  # folders of tests that are to find it


BUGS = [
    Bug(
        "metrics/ranking.py",
        "wrong = scores[:, :, None] <= scores[:, None, :]",
        "wrong = scores[:, :, None] < scores[:, None, :]",
        "equal scores are ranked rightly",
        "metrics",
    ),
    Bug(
        "metrics/ranking.py",
        "depth = np.maximum((scores >= lowest).sum(axis=1) - 1, 0)",
        "depth = (scores >= lowest).sum(axis=1)",
        "coverage counts from one",
        "metrics",
    ),
    Bug(
        "metrics/scorers.py",
        "coverage_scorer = RankingScorer(coverage, greater_is_better=False)",
        "coverage_scorer = RankingScorer(coverage)",
        "the sign of a scorer",
        "metrics search",
    ),
    Bug(
        "decisions/thresholds.py",
        "optimal_cuts(scores.T / margin, indicator.T, sample_weight)",
        "optimal_cuts(scores.T / margin, indicator.T)",
        "thresholds forget the sample weights",
        "decisions estimators",
    ),
    Bug(
        "decisions/thresholds.py",
        "self.intercept_ = float(margin * (level - centre @ self.coef_))",
        "self.intercept_ = float(level - centre @ self.coef_)",
        "a threshold in units of another margin",
        "decisions estimators",
    ),
    Bug(
        "estimators/base.py",
        "scores, labels = result.scores[:, :n_labels],",
        "scores, labels = (result.scores - result.intercept)[:, :n_labels],",
        "thresholds are fitted to scores without intercept",
        "estimators decisions",
    ),
    Bug(
        "estimators/base.py",
        "counted = slice(None) if sample_weight is None else sample_weight > 0.0",
        "counted = slice(None)",
        "rows of weight zero say which labels there are",
        "estimators",
    ),
    Bug(
        "estimators/propagation.py",
        "alpha * (graph @ confidence) + (1 - alpha) * start",
        "(1 - alpha) * (graph @ confidence) + alpha * start",
        "candidates and neighbours swap their weights",
        "estimators",
    ),
    Bug(
        "features/kernels.py",
        "weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight",
        "weight = np.ones(X.shape[0])",
        "gamma='scale' forgets the sample weights",
        "features estimators",
    ),
    Bug(
        "features/kernels.py",
        "return Kernel(kernel, float(gamma), degree, float(coef0), center)",
        "return Kernel(kernel, float(gamma), float(coef0), degree, center)",
        "degree and coef0 are swapped",
        "features estimators",
    ),
    Bug(
        "features/kernels.py",
        "K[: rows.start, rows] = strip[:, : rows.start].T",
        "K[: rows.start, rows] = 0.0",
        "strips of a kernel matrix are not mirrored",
        "features",
    ),
    Bug(
        "features/operators.py",
        "np.matmul(self.kept[:, n_kept:].T, V[:n_kept], out=result[n_kept:])",
        "result[n_kept:] = 0.0",
        "rows in memory are missing from the others' products",
        "features",
    ),
    Bug(
        "features/operators.py",
        "self.weights += self.X[rows].T @ (self.A[rows] - before)",
        "self.weights += self.X[rows].T @ self.A[rows]",
        "weights of a linear kernel go stale",
        "features solvers estimators",
    ),
    Bug(
        "features/_gram.pyx",
        "if rows[b] >= stop:",
        "if rows[b] >= stop - 1:",
        "the last column of a sparse Gram matrix is missing",
        "features",
    ),
    Bug(
        "features/_gram.pyx",
        "distance = squared_norms[first + i] + squared_norms[j]",
        "distance = squared_norms[i] + squared_norms[j]",
        "squared norms of the first strip for all strips",
        "features",
    ),
    Bug(
        "problems/_confidence_loss.pyx",
        "gradient[i, order[i, j]] = weight[i] * g[j]",
        "gradient[i, order[i, j]] = g[j]",
        "a gradient without the row's weight",
        "problems solvers",
    ),
    Bug(
        "problems/pairs.py",
        "theta, mu):\n        self.lower, self.upper, self.mu = 1.0 - theta, 1.0 + theta,",
        "theta, mu):\n        self.lower, self.upper, self.mu = 1.0 - theta, 1.0,",
        "margins cost something from 1 on instead of 1 + theta",
        "problems solvers",
    ),
    Bug(
        "problems/pairs.py",
        "other.C, other.weight = float(C), self.weight * (float(C) / self.C)",
        "other.C, other.weight = float(C), self.weight",
        "the loss with another C keeps the old weights",
        "search problems",
    ),
    Bug(
        "utils/validation.py",
        "matrix.sum_duplicates()",
        "matrix.sort_indices()",
        "entries of a CSR matrix that are stored in parts stay apart",
        "estimators",
    ),
    Bug(
        "search/shared_fold.py",
        "return kernel.kind, kernel.gamma, kernel.degree, kernel.coef0",
        "return kernel.kind, kernel.degree, kernel.coef0",
        "a search uses the kernel of another gamma",
        "search",
    ),
    Bug(
        "search/fold.py",
        "if self.known != before:",
        "if self.known is None:",
        "a search uses the steps of another candidate",
        "search",
    ),
    Bug(
        "search/matrices.py",
        "values += squares[rows][:, None]",
        "values += squares[: len(rows), None]",
        "squared norms of the first rows for those of a fold",
        "search",
    ),
    Bug(
        "datasets/noise.py",
        "chosen = np.argsort(order, axis=1)[:, :n_noisy]",
        "chosen = np.argsort(order, axis=0)[:, :n_noisy]",
        "noisy labels are sorted along the wrong axis",
        "datasets",
    ),
    Bug(
        "study/statistics.py",
        "return stats.rankdata(losses, axis=1)",
        "return stats.rankdata(losses, axis=0)",
        "ranks along the wrong axis",
        "study",
    ),
    Bug(
        "study/protocol.py",
        "(np.sort(order[n_test:]), np.sort(order[:n_test]))",
        "(np.sort(order[:n_test]), np.sort(order[n_test:]))",
        "training and test rows are swapped",
        "study",
    ),
]


def copied_project(folder):
    """A compiled copy of the project."""
    copy = Path(folder) / "project"
    shutil.copytree(ROOT, copy, ignore=NOT_COPIED, symlinks=True)
    compile_package(copy)
    return copy


def compile_package(copy):
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    ended = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    if ended.returncode:
        sys.exit(f"cannot compile the copy:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")


def first_failure(copy, *paths):
    """The first test of the fast group that fails, or None."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider"]
    # the copy goes before an installed package, in processes that tests start as well
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    data = environment.get("SKML_ODM_DATA", ROOT.parent / "shared" / "data")
    environment["SKML_ODM_DATA"] = str(data)
    options = {"cwd": copy, "env": environment, "capture_output": True, "text": True}
    try:
        ended = subprocess.run([*command, *paths], timeout=LONGEST, **options)
    except subprocess.TimeoutExpired:
        return f"a test that does not end within {LONGEST} s"
    failed = FAILED.search(ended.stdout)
    if failed:
        return failed[1]
    if ended.returncode:
        sys.exit(f"pytest did not run:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return None


def plant(copy, bug):
    """Replace the bug's text in the copy; returns what brings the old text back."""
    path = copy / "skml_odm" / bug.file
    text = path.read_text()
    path.write_text(text.replace(bug.old, bug.new))
    compiled = path.suffix in (".pyx", ".pxd")
    if compiled:
        compile_package(copy)

    def remove():
        path.write_text(text)
        if compiled:
            compile_package(copy)

    return remove


def check_texts(bugs):
    """Stop if the sources have changed so that a bug cannot be planted any more."""
    wrong = []
    for bug in bugs:
        path = ROOT / "skml_odm" / bug.file
        found = path.read_text().count(bug.old) if path.is_file() else 0
        if found != 1:
            wrong.append(f"{bug.file} has {found} times: {bug.old}  ({bug.what})")
    if wrong:
        sys.exit("each text must be there exactly once:\n" + "\n".join(wrong))


def chosen(words):
    return [bug for bug in BUGS if not words or any(w in bug.file + bug.what for w in words)]


def main(words):
    bugs = chosen(words)
    check_texts(bugs)
    survived = 0
    with tempfile.TemporaryDirectory(prefix="planted-bugs-") as folder:
        copy = copied_project(folder)
        failed = first_failure(copy)
        if failed:
            sys.exit(f"a test fails without any bug: {failed}")
        print("| bug | found by | seconds |\n|---|---|---|", flush=True)
        for bug in bugs:
            start = time.monotonic()
            remove = plant(copy, bug)
            rooms = [f"tests/{room}" for room in bug.rooms.split()]
            found = first_failure(copy, *rooms) or first_failure(copy)
            remove()
            survived += found is None
            seconds = time.monotonic() - start
            print(
                f"| {bug.file}: {bug.what} | {found or '**nothing**'} | {seconds:.0f} |", flush=True
            )
    print(f"{len(bugs) - survived} of {len(bugs)} bugs found")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
