"""Plants plausible bugs, one at a time, and tells which test of the fast group catches each.

Run it by hand: ``python tests/plant_bugs.py``. It copies the project to a temporary folder,
compiles it there and leaves the project itself alone. For each bug it runs the test files that
should catch it, and stops at the first failure. The exit code is 1 if a bug survives. Words as
arguments choose the bugs with one of them in their file or description.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
NOT_COPIED = shutil.ignore_patterns(".git", "__pycache__", "_build", "dist", "*.egg-info")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)


class Bug(NamedTuple):
    """One replacement in one file: the old text must be there exactly once."""

    what: str
    file: str
    old: str
    new: str
    tests: str  # the files that should catch it


BUGS = [
    Bug(
        "wrong sign in the gradient of the hinge loss",
        "problems/_hinge.pyx",
        "coefficients[i, other] -= c",
        "coefficients[i, other] += c",
        "problems/test_losses.py solvers/test_hinge_solvers.py",
    ),
    Bug(
        "a gradient without the row's weight",
        "problems/_confidence_loss.pyx",
        "gradient[i, self.order[i, j]] = self.weight[i] * g[j]",
        "gradient[i, self.order[i, j]] = g[j]",
        "problems/test_confidence_loss.py",
    ),
    Bug(
        "off by one: inner products leave out the last entry of a CSR row",
        "features/_gram.pyx",
        "range(row_start[first + i], row_start[first + i + 1])",
        "range(row_start[first + i], row_start[first + i + 1] - 1)",
        "features/test_kernels.py",
    ),
    Bug(
        "stale cache: a search reuses the kernel of another gamma",
        "search/fold_cache.py",
        "kernel = model.kernel, model.gamma, model.degree,",
        "kernel = model.kernel, model.degree,",
        "search/test_fold_cache.py",
    ),
    Bug(
        "ranks along the wrong axis",
        "study/statistics.py",
        "return stats.rankdata(losses, axis=1)",
        "return stats.rankdata(losses, axis=0)",
        "study/test_statistics.py",
    ),
    Bug(
        "swapped arguments: degree and coef0 of a kernel",
        "features/kernels.py",
        "return Kernel(kernel, float(gamma), degree, float(coef0), center)",
        "return Kernel(kernel, float(gamma), float(coef0), degree, center)",
        "features/test_kernels.py",
    ),
    Bug(
        "thresholds per label ignore the sample weights",
        "decisions/thresholds.py",
        "optimal_cuts(scores.T / margin, indicator.T, sample_weight, known)",
        "optimal_cuts(scores.T / margin, indicator.T, None, known)",
        "decisions",
    ),
    Bug(
        "an unknown label takes the place of the zero label",
        "problems/zero_label.py",
        "kinds[:, -1] = 2",
        "kinds[:, -1] = 3",
        "estimators/test_unknown.py",
    ),
    Bug(
        "thresholds are fitted to scores without the intercept",
        "estimators/base.py",
        "scores = result.scores\n",
        "scores = result.scores - result.intercept\n",
        "decisions",
    ),
    Bug(
        "decisions are fitted to scores of rows that the model has seen",
        "estimators/unseen.py",
        "kept = np.delete(np.arange(m), fold)",
        "kept = np.arange(m)",
        "estimators/test_label_decision.py",
    ),
    Bug(
        "off by one: a guarantee without the one for the new row",
        "decisions/guarantee.py",
        "(share.sum() + 1.0) - 1.0",
        "share.sum()",
        "decisions",
    ),
    Bug(
        "wrong branch: repeated entries of a CSR matrix are not added up",
        "utils/validation.py",
        "if not matrix.has_canonical_format:",
        "if matrix.has_canonical_format:",
        "estimators/test_containers.py",
    ),
    Bug(
        "wrong factor: the lower bound in a certificate is twice too high",
        "solvers/frank_wolfe.py",
        "max(slope, 0.0) ** 2 / (4.0 * max(value, TINY))",
        "max(slope, 0.0) ** 2 / (2.0 * max(value, TINY))",
        "solvers/test_frank_wolfe.py",
    ),
    Bug(
        "wrong bound: multipliers of a row's quadratic program become negative",
        "problems/_covariance_rows.pyx",
        "length = fmin(m[k], apart / curvature)",
        "length = fmin(weight, apart / curvature)",
        "solvers/test_row_solvers.py",
    ),
    Bug(
        "ties: equal scores count as ranked correctly",
        "metrics/ranking.py",
        "wrong = scores[:, :, None] <= scores[:, None, :]",
        "wrong = scores[:, :, None] < scores[:, None, :]",
        "metrics",
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


def first_failure(copy, bugs):
    """The first test that fails among those for the bugs, or None."""
    files = dict.fromkeys(f"tests/{name}" for bug in bugs for name in bug.tests.split())
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "--tb=no", *files]
    # the copy goes before an installed package, in processes that tests start as well
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    failed = FAILED.search(ended.stdout)
    if failed:
        return failed[1]
    if ended.returncode:
        sys.exit(f"pytest did not run:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return None


def catch(copy, bug):
    """Plant a bug in the copy, run its tests, and remove it."""
    path = copy / "skml_odm" / bug.file
    text = path.read_text()
    is_compiled = path.suffix == ".pyx"
    path.write_text(text.replace(bug.old, bug.new))
    if is_compiled:
        compile_package(copy)
    failed = first_failure(copy, [bug])
    path.write_text(text)
    if is_compiled:
        compile_package(copy)
    return failed


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


def main(words):
    bugs = [bug for bug in BUGS if not words or any(w in bug.file + bug.what for w in words)]
    check_texts(bugs)
    survived = 0
    with tempfile.TemporaryDirectory(prefix="planted-bugs-") as folder:
        copy = copied_project(folder)
        failed = first_failure(copy, bugs)
        if failed:
            sys.exit(f"a test fails without any bug: {failed}")
        print("| bug | file | caught by |\n|---|---|---|", flush=True)
        for bug in bugs:
            failed = catch(copy, bug)
            survived += failed is None
            caught_by = f"`{failed.removeprefix('tests/')}`" if failed else "**nothing**"
            print(f"| {bug.what} | `{bug.file}` | {caught_by} |", flush=True)
    print(f"{len(bugs) - survived} of {len(bugs)} bugs caught")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
