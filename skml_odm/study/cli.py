"""The command ``skml-odm``."""

import argparse
import contextlib
import sys
from pathlib import Path
from typing import Any

from .. import __version__
from ..datasets import DataFileError, data_sheet, load_data
from ..utils.sqlite import StoreError
from .definition import read_study
from .estimators import DefinitionError
from .outcome import DONE
from .report import write_report
from .run import prepared, run_study
from .standard import standard_study
from .store import Store
from .table import format_table
from .template import TEMPLATE

SOME_FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130
LARGEST_SEED = 2**31
LEGEND = "Mean ± standard deviation over folds. * best of the line."


def main(arguments=None):
    """Run the command line.

    Parameters
    ----------
    arguments : list of str, optional
        ``sys.argv[1:]`` by default.

    Returns
    -------
    int
        The exit code: 1 if a classifier failed somewhere, 2 if a file or a setting is wrong or
        cannot be used, 130 after Ctrl-C.
    """
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except (DataFileError, DefinitionError, StoreError, ImportError) as error:
        return _refuse(error)
    except OSError as error:
        # no space, no permission, too many files
        where = f"{error.filename}: " if error.filename else ""
        return _refuse(f"{where}{error.strerror or error}")


def _refuse(message):
    print(f"skml-odm: {' '.join(str(message).split())}", file=sys.stderr)
    return WRONG_INPUT


def _parser():
    parser = argparse.ArgumentParser(
        prog="skml-odm", description="Margin-distribution learning for multi-label data."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    compare = commands.add_parser(
        "compare",
        help="compare classifiers on data sets",
        description="Run a study: data sets, classifiers and a protocol from a study file. Without "
        "one, MLODM is compared with the host's MLkNN and BinaryRelevance(SVC). Finished results "
        "are kept in the folder: after Ctrl-C, a crash or a change of the study the next run does "
        "what is missing.",
    )
    compare.add_argument("study", nargs="?", metavar="STUDY", help="a TOML or YAML file")
    _add_data(compare)
    compare.add_argument(
        "--folds", type=int, default=5, metavar="N", help="folds without a study (default: 5)"
    )
    compare.add_argument(
        "--random-state", type=int, default=0, metavar="N", help="seed without a study (default: 0)"
    )
    compare.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="workers; -1 for all cores (default: 1)"
    )
    compare.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="address of a Dask scheduler whose workers do the fits and see the folder",
    )
    compare.add_argument(
        "--folder",
        metavar="FOLDER",
        help="for results and report (default: the study's name, or skml-odm-report)",
    )
    compare.add_argument(
        "--retry", action="store_true", help="run again what failed or was too slow"
    )
    compare.set_defaults(run=_compare, error=compare.error)
    sheet = commands.add_parser(
        "sheet",
        help="print what is to be known about data sets before anything runs",
        description="Print the data sheets of a study's data sets: sizes, label statistics, and "
        "warnings.",
    )
    sheet.add_argument("study", nargs="?", metavar="STUDY", help="a TOML or YAML file")
    _add_data(sheet)
    sheet.set_defaults(run=_sheet, error=sheet.error, folds=5, random_state=0)
    init = commands.add_parser(
        "init", help="write a study file that explains itself", description="Write a study file."
    )
    init.add_argument("file", nargs="?", default="study.toml", metavar="FILE.toml")
    init.set_defaults(run=_init, error=init.error)
    return parser


def _add_data(command):
    command.add_argument(
        "--data",
        nargs="+",
        default=["digits"],
        metavar="SOURCE",
        help="files or names of data sets, without a study (default: digits)",
    )
    command.add_argument(
        "--labels",
        metavar="LABELS",
        help="label columns of --data: names with commas between them, or how many of the last",
    )


def _study(options):
    """The study that was asked for."""
    if options.study is not None:
        return read_study(options.study)
    for name, low, high in (("folds", 2, 10**6), ("random_state", 0, LARGEST_SEED)):
        value = getattr(options, name)
        if not low <= value <= high:
            flag = "--" + name.replace("_", "-")
            options.error(f"argument {flag}: must be an integer in [{low}, {high}]; got {value}")
    labels: Any = options.labels
    if labels is not None:
        labels = int(labels) if labels.isdecimal() else labels.split(",")
    more = {} if labels is None else {"labels": labels}
    data = [load_data(source, **more) for source in options.data]
    return standard_study(data, folds=options.folds, seed=options.random_state)


def _compare(options):
    study = _study(options)
    folder = Path(
        options.folder or (Path(options.study).stem if options.study else "skml-odm-report")
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DefinitionError(f"--folder: {folder} cannot be made ({error.strerror}).") from error
    store = Store(folder / "results.sqlite")
    sheets = _sheets(study)
    for sheet in sheets:
        for warning in sheet.warnings:
            print(f"skml-odm: {sheet.name}: {warning}", file=sys.stderr)
    outcomes: list = []
    code = 0
    try:
        with _progress() as tell, _workers(options.dask):

            def keep(outcome, total):
                outcomes.append(outcome)
                tell(outcome, total)

            found = run_study(
                study,
                store,
                n_jobs=options.jobs if options.dask is None else -1,
                retry=options.retry,
                on_outcome=keep,
            )
            outcomes = found
    except KeyboardInterrupt:
        code = INTERRUPTED
        print(f"skml-odm: interrupted with {len(outcomes)} results.", file=sys.stderr)
    if outcomes:
        _print(format_table(outcomes))
        paths = write_report(
            outcomes,
            folder,
            title=study.title,
            sheets=sheets,
            control=study.control,
            settings=study.text,
        )
        _print(f"\n{LEGEND}\nReport: {paths['report.html']}")
    failed = [outcome for outcome in outcomes if outcome.status != DONE]
    for outcome in failed:
        where = f"{outcome.data}, {outcome.classifier}, fold {outcome.fold}"
        print(f"skml-odm: {where}: {outcome.status}: {outcome.error}", file=sys.stderr)
    return code or (SOME_FAILED if failed else 0)


def _sheets(study):
    """The data sheets of all data sets, as the protocol leaves them."""
    kept = [prepared(data, study.protocol) for data in study.data]
    try:
        return [data_sheet(data, study.protocol.splits(data)) for data in kept]
    except ValueError as error:
        raise DefinitionError(f"protocol: {error}") from error


def _sheet(options):
    for sheet in _sheets(_study(options)):
        width = max(map(len, sheet.facts))
        lines = [f"{heading.ljust(width)}  {value}" for heading, value in sheet.facts.items()]
        warnings = [f"warning: {warning}" for warning in sheet.warnings]
        _print("\n".join([sheet.name, *lines, *warnings, ""]))
    return 0


def _init(options):
    try:
        # "x": a study that is there is never overwritten
        with open(options.file, "x", encoding="utf-8") as file:
            file.write(TEMPLATE)
    except OSError as error:
        options.error(
            f"argument FILE.toml: must be a new file in an existing folder; got {options.file!r} "
            f"({error.strerror})"
        )
    print(f"{options.file} written; edit it, then run: skml-odm compare {options.file}")
    return 0


@contextlib.contextmanager
def _progress():
    """A function that moves a bar with every outcome."""
    try:
        from tqdm import tqdm
    except ImportError:
        raise ImportError(
            'skml-odm compare needs tqdm, which is not installed: pip install "skml-odm[study]"'
        ) from None
    # disable=None: no bar unless it goes to a terminal
    with tqdm(unit="fit", disable=None) as bar:

        def tell(outcome, total):
            bar.total = total
            where = f"{outcome.data}, {outcome.classifier}, fold {outcome.fold}"
            bar.set_description(where, refresh=False)
            bar.update()

        yield tell


@contextlib.contextmanager
def _workers(address):
    """The backend of joblib: processes here, or the workers of a Dask cluster."""
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise ImportError('--dask needs distributed: pip install "skml-odm[dask]"') from None
    import joblib

    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise DefinitionError(f"--dask: no scheduler answers at {address!r} ({error}).") from error
    with client, joblib.parallel_config(backend="dask"):
        yield


def _print(text):
    """Print to whatever the terminal can show: no finished run may end in an encoding error."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, errors="replace").decode(encoding))


if __name__ == "__main__":
    sys.exit(main())
