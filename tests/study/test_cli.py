"""The command skml-odm: what it prints and writes, its exit codes, and that it loses nothing."""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from small_studies import has_outcomes

import skml_odm
from skml_odm.study import cli

pytest.importorskip("tqdm")
pytest.importorskip("pandas")
pytest.importorskip("matplotlib")
HELPERS = Path(__file__).parents[1]

STUDY = """
data = [{{ source = "rows.csv", labels = 2 }}]
[protocol]
folds = 2
[[classifiers]]
estimator = "study_stubs.{first}"
[[classifiers]]
name = "second"
estimator = "study_stubs.Frequencies"
"""
ROWS = "u,v,a,b\n" + "".join(f"{i % 7},{i % 5},{i % 2},{int(i % 3 > 0)}\n" for i in range(40))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a data file, in which the command runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(HELPERS))
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path


def write_study(folder, first="Frequencies"):
    (folder / "small.toml").write_text(STUDY.format(first=first))
    return "small.toml"


def test_a_study_prints_a_table_and_writes_a_report(folder, capsys):
    assert cli.main(["compare", write_study(folder)]) == 0
    out, err = capsys.readouterr()
    for words in ("ranking loss", "average precision", "Frequencies", "second", "report.html"):
        assert words in out
    assert "it/s" not in err, "no progress bar without a terminal"
    written = {path.name for path in (folder / "small").iterdir()}
    assert {"results.sqlite", "report.html", "report.md", "results.csv"} <= written
    page = (folder / "small" / "report.html").read_text()
    assert "Frequencies" in page
    # the study file is in the report
    assert "study_stubs.Frequencies" in page


def test_a_second_run_takes_what_is_there(folder, capsys):
    study = write_study(folder)
    cli.main(["compare", study])
    first = capsys.readouterr().out
    start = time.monotonic()
    assert cli.main(["compare", study]) == 0
    assert capsys.readouterr().out == first, "times are those of the fits that were made"
    assert time.monotonic() - start < 20


def test_failures_are_named_and_the_rest_is_reported(folder, capsys):
    assert cli.main(["compare", write_study(folder, "Failing")]) == 1
    out, err = capsys.readouterr()
    assert "rows, Failing, fold 1: failed: ValueError: as told" in err
    assert "Traceback" not in err
    assert "second" in out


def test_the_standard_study(folder, capsys):
    assert cli.main(["compare", "--data", "rows.csv", "--labels", "a,b", "--folds", "2"]) == 0
    out = capsys.readouterr().out
    for name in ("MLODM", "MLkNN", "BinaryRelevance(SVC)"):
        assert name in out
    assert (folder / "skml-odm-report" / "report.html").exists()


def test_sheets(folder, capsys):
    assert cli.main(["sheet", "--data", "rows.csv", "digits", "--labels", "2"]) == 2
    assert "option labels is not for the set digits" in capsys.readouterr().err
    assert cli.main(["sheet", "--data", "rows.csv", "--labels", "2"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"rows +40", out)
    assert "warning: " in out, "rows repeat others"


def test_init_writes_a_study_once(folder, capsys):
    assert cli.main(["init", "new.toml"]) == 0
    assert "skml-odm compare new.toml" in capsys.readouterr().out
    before = (folder / "new.toml").read_text()
    with pytest.raises(SystemExit) as raised:
        cli.main(["init", "new.toml"])
    assert raised.value.code == 2
    assert "must be a new file" in capsys.readouterr().err
    assert (folder / "new.toml").read_text() == before


BAD_FILES = {
    "truncated.arff": (
        b"@relation x\n@attribute a numeric\n@attribute b {0,1}\n@data\n1,0\n2",
        ":6:",
    ),
    "header.arff": (b"@relation x\n@attribute a numeric\n@data\n1\n", ""),
    "ragged.csv": (b"u,a\n1,0\n2,1,3\n4,1\n", ":3:"),
    "latin.csv": (b"u,a\n1,0\n\xe9,1\n", ":3:"),
    "empty.csv": (b"", ""),
    "missing.csv": (None, ""),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_give_one_line_and_exit_code_2(folder, capsys, name):
    content, line = BAD_FILES[name]
    if content is not None:
        (folder / name).write_bytes(content)
    labels = "b" if name.endswith(".arff") else "a"
    assert cli.main(["compare", "--data", name, "--labels", labels]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith(f"skml-odm: {name}{line}")


def test_bad_studies_give_one_line_and_exit_code_2(folder, capsys):
    (folder / "bad.toml").write_text("data = ['digits']\nclassifiers = ['Nonsense']")
    assert cli.main(["compare", "bad.toml"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("skml-odm: bad.toml: classifiers[0].estimator must be")
    assert err.count("\n") == 1


def spoil_with_garbage(store):
    store.write_text("garbage" * 500)


def spoil_by_truncation(store):
    store.write_bytes(store.read_bytes()[: store.stat().st_size // 2])


def spoil_with_another_program(store):
    store.unlink()
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")


def spoil_with_a_folder(store):
    store.unlink()
    store.mkdir()


@pytest.mark.parametrize(
    "spoil",
    [spoil_with_garbage, spoil_by_truncation, spoil_with_another_program, spoil_with_a_folder],
)
def test_bad_stores_give_one_line_and_exit_code_2(folder, capsys, spoil):
    study = write_study(folder)
    cli.main(["compare", study])
    capsys.readouterr()
    spoil(folder / "small" / "results.sqlite")
    assert cli.main(["compare", study]) == 2
    err = capsys.readouterr().err
    line = err.splitlines()[-1]
    assert line.startswith("skml-odm: the store of a study must be")
    assert "results.sqlite" in line
    assert "Traceback" not in err


def in_a_process(folder, *arguments, before="", command=()):
    """The command in a process of its own, after some code."""
    code = (
        f"import sys; sys.path.insert(0, {str(HELPERS)!r}); {before}\n"
        "from skml_odm.study.cli import main; sys.exit(main())"
    )
    return subprocess.run(
        [*command, sys.executable, "-c", code, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_a_full_disk_gives_one_line_and_exit_code_2(folder):
    pytest.importorskip("resource")
    # no file may grow beyond that: enough for an empty store, not for a report
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))"
    done = in_a_process(folder, "compare", write_study(folder), before=limit)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert re.match(r"skml-odm: .*(File too large|disk|full)", last), done.stderr


@pytest.mark.slow
def test_a_finished_study_in_a_read_only_folder(folder):
    study = write_study(folder)
    assert cli.main(["compare", study]) == 0
    for path in [folder / "small", *(folder / "small").rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    command = []
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # root may write anywhere, unless it gives up that right
        if shutil.which("setpriv") is None:
            pytest.skip("root can write to read-only folders, and there is no setpriv")
        command = ["setpriv", "--bounding-set=-dac_override"]
    done = in_a_process(folder, "compare", study, command=command)
    assert done.returncode == 2, done.stderr
    assert "ranking loss" in done.stdout, "what is finished is shown"
    assert "Traceback" not in done.stderr
    assert re.match(r"skml-odm: .*small.*Permission denied", done.stderr.splitlines()[-1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "--folds", "1"], "--folds: must be an integer in [2, 1000000]; got 1"),
        (["compare", "--folds", "two"], "invalid int value: 'two'"),
        (["compare", "--random-state", "-1"], "--random-state: must be an integer in [0,"),
        (["compete"], "invalid choice: 'compete'"),
        ([], "required: command"),
    ],
)
def test_wrong_arguments(arguments, message, capsys):
    with pytest.raises(SystemExit) as raised:
        cli.main(arguments)
    assert raised.value.code == 2
    assert message in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"skml-odm {skml_odm.__version__}\n"


@pytest.mark.slow
def test_interrupt_reports_what_is_finished(folder):
    """Ctrl-C in a terminal: the whole group gets it."""
    (folder / "slow.toml").write_text(
        STUDY.format(first="Frequencies")
        + '[[classifiers]]\nname = "slow"\nestimator = "study_stubs.Sleeping"\n'
        + "parameters = { seconds = 300.0 }\n"
    )
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        f"sys.path.insert(0, {str(HELPERS)!r});"
        "from skml_odm.study.cli import main; sys.exit(main())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "compare", "slow.toml"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not has_outcomes(
            folder / "slow" / "results.sqlite", 4
        ):
            time.sleep(0.1)
        time.sleep(0.3)
        # to the group, as a terminal does
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "interrupted with 4 results" in err
    assert "Traceback" not in err
    assert "ranking loss" in out
    assert (folder / "slow" / "report.html").exists()
