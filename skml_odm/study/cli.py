"""The command ``skml-odm``: a comparative study in its small form."""

import argparse
import contextlib
import csv
import dataclasses
import sys

from sklearn.datasets import make_multilabel_classification

from .. import __version__
from ..datasets import load_digit_attributes
from .comparison import FoldResult, compare, standard_classifiers
from .table import format_table

INTERRUPTED = 130  # what shells report for Ctrl-C
LARGEST_SEED = 2**32 - 1

LEGEND = """\
Mean ± standard deviation over folds. * best of the line: the lowest value,
but the highest of average precision and micro-F1."""


def digits_data(random_state):
    """Attributes of handwritten digits, the same for every random state."""
    return load_digit_attributes(return_X_y=True)


def synthetic_data(random_state):
    """Random documents with about three of eight topics, word counts scaled to [0, 1]."""
    X, y = make_multilabel_classification(
        n_samples=1000,
        n_features=50,
        n_classes=8,
        n_labels=3,
        allow_unlabeled=False,
        random_state=random_state,
    )
    return X / X.max(), y


DATA = {"digits": digits_data, "synthetic": synthetic_data}


def main(argv=None):
    """Run the command with the given arguments and return its exit code."""
    arguments = _parser().parse_args(argv)
    return arguments.run(arguments)


def _parser():
    parser = argparse.ArgumentParser(
        prog="skml-odm", description="Margin-distribution learning for multi-label data."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    command = commands.add_parser(
        "compare",
        help="cross-validate MLODM against MLkNN and binary relevance",
        description="Cross-validate MLODM against the host's MLkNN and BinaryRelevance(SVC), and "
        "print a table of ranking and classification measures. Ctrl-C ends the run and prints the "
        "results finished so far.",
    )
    command.add_argument(
        "--data",
        choices=tuple(DATA),
        default="digits",
        help="attributes of handwritten digits, or random documents (default: %(default)s)",
    )
    command.add_argument(
        "--folds", type=int, default=5, metavar="N", help="number of folds (default: %(default)s)"
    )
    command.add_argument(
        "--random-state",
        type=int,
        default=0,
        metavar="N",
        help="seed of the folds, the synthetic data and the solvers (default: %(default)s)",
    )
    command.add_argument(
        "--output",
        metavar="FILE.csv",
        help="new file for the result of each classifier and fold, written as soon as it is there",
    )
    command.set_defaults(run=_compare, error=command.error)
    return parser


def _compare(arguments):
    progress_bar = _import_progress_bar()
    _require_integer(arguments, "random_state", 0, LARGEST_SEED)
    X, y = DATA[arguments.data](arguments.random_state)
    _require_integer(arguments, "folds", 2, len(X))
    classifiers = standard_classifiers(y.shape[1], arguments.random_state)
    results = []
    try:
        with (
            _output(arguments) as write,
            # disable=None: no bar unless it goes to a terminal
            progress_bar(total=arguments.folds * len(classifiers), unit="fit", disable=None) as bar,
        ):

            def keep(result):
                results.append(result)
                write(result)
                bar.set_description(f"fold {result.fold}, {result.classifier}", refresh=False)
                bar.update()

            compare(
                classifiers,
                X,
                y,
                folds=arguments.folds,
                random_state=arguments.random_state,
                on_result=keep,
            )
    except KeyboardInterrupt:
        finished = f"{len(results)} of {arguments.folds * len(classifiers)} results"
        print(f"skml-odm: interrupted with {finished} finished.", file=sys.stderr)
        return INTERRUPTED
    finally:
        # also when a classifier fails: nothing finished is lost
        if results:
            size = f"{X.shape[0]} rows, {X.shape[1]} features, {y.shape[1]} labels"
            _print(f"{arguments.data}: {size}\n\n{format_table(results)}\n\n{LEGEND}")
    return 0


def _import_progress_bar():
    try:
        from tqdm import tqdm
    except ImportError:
        raise SystemExit(
            'skml-odm compare needs tqdm, which is not installed: pip install "skml-odm[study]"'
        ) from None
    return tqdm


def _require_integer(arguments, name, low, high):
    value = getattr(arguments, name)
    if not low <= value <= high:
        option = "--" + name.replace("_", "-")
        arguments.error(f"argument {option}: must be an integer in [{low}, {high}]; got {value}")


@contextlib.contextmanager
def _output(arguments):
    """A function that writes a result to the output file at once, or does nothing without one."""
    if arguments.output is None:
        yield lambda result: None
        return
    with contextlib.ExitStack() as stack:
        try:
            # "x": results of an earlier run are never overwritten
            file = stack.enter_context(open(arguments.output, "x", newline="", encoding="utf-8"))
        except OSError as error:
            arguments.error(
                f"argument --output: must name a new file in an existing directory; "
                f"got {arguments.output!r} ({error.strerror})"
            )
        writer = csv.DictWriter(file, [field.name for field in dataclasses.fields(FoldResult)])
        writer.writeheader()
        file.flush()

        def write(result):
            writer.writerow(dataclasses.asdict(result))
            file.flush()

        yield write


def _print(text):
    """Print to whatever the terminal can show: no finished run may end in an encoding error."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, errors="replace").decode(encoding))


if __name__ == "__main__":
    sys.exit(main())
