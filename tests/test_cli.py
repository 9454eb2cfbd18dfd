"""The command skml-odm: what it prints and writes, its exit codes, and that it loses nothing."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import skml_odm
from skml_odm.study import cli

pytest.importorskip("tqdm")
pytest.importorskip("pandas")
pytest.importorskip("matplotlib")
HERE = Path(__file__).parent

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
    monkeypatch.syspath_prepend(str(HERE))
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


def test_interrupt_reports_what_is_finished(folder):
    """Ctrl-C in a terminal: the whole group gets it."""
    (folder / "slow.toml").write_text(
        STUDY.format(first="Frequencies")
        + '[[classifiers]]\nname = "slow"\nestimator = "study_stubs.Sleeping"\n'
        + "parameters = { seconds = 300.0 }\n"
    )
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        f"sys.path.insert(0, {str(HERE)!r}); from skml_odm.study.cli import main; sys.exit(main())"
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
        while time.monotonic() < deadline and not _has_outcomes(folder / "slow", 4):
            time.sleep(0.1)
        time.sleep(0.3)
        # to the group, as a terminal does
        import os

        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "interrupted with 4 results" in err
    assert "Traceback" not in err
    assert "ranking loss" in out
    assert (folder / "slow" / "report.html").exists()


def _has_outcomes(folder, number):
    import sqlite3

    try:
        with sqlite3.connect(folder / "results.sqlite") as connection:
            return connection.execute("SELECT COUNT(*) FROM outcomes").fetchone()[0] >= number
    except sqlite3.Error:
        return False
