"""`devops-bench report` as a user types it."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from io import StringIO
from pathlib import Path

import pytest

from devops_bench import cli

from .runs import STAMP, RunFolder, combo


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, showcase_folder: Path) -> Path:
    monkeypatch.setenv("DEVOPS_BENCH_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(showcase_folder, tmp_path / "runs" / STAMP)
    return tmp_path / "runs" / STAMP


def report(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        cli.main(["report", *args])
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


@pytest.mark.parametrize("name", ["latest", STAMP, STAMP[:8], "runs/" + STAMP])
def test_a_run_is_found_by_any_of_its_names(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, out, _err = report(capsys, name)
    assert code == 0
    assert out.startswith(f"run {STAMP}\n")


def test_each_form_is_readable_by_its_reader(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(report(capsys, "--json")[1])["stamp"] == STAMP
    assert len(list(csv.DictReader(StringIO(report(capsys, "--csv")[1])))) == 21
    assert ET.fromstring(report(capsys, "--junit")[1]).get("tests") == "21"
    assert report(capsys, "--md")[1].startswith("# Run ")


@pytest.mark.parametrize(
    ("args", "place"),
    [
        (["--html"], f"runs/{STAMP}/report.html"),
        (["--html", STAMP], f"runs/{STAMP}/report.html"),
        ([STAMP, "--html", "out/page.html"], "out/page.html"),
        (["--html", "page.html"], "page.html"),
        (["--html", "."], "report.html"),
    ],
)
def test_the_page_goes_where_it_is_asked_for(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], args: list[str], place: str
) -> None:
    code, out, _err = report(capsys, *args)
    assert code == 0
    assert Path(out.strip()).resolve() == tmp_path / place
    assert (tmp_path / place).read_text().startswith("<!DOCTYPE html>")
    assert not (tmp_path / STAMP).exists()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["no-such-run"], "no run 'no-such-run'"),
        (["./absent"], "no run here"),
        (["/"], "no run folder"),
        (["--json", "--html"], "--html writes a file"),
        (["--html", "/proc/nowhere/x.html"], "cannot be written"),
        (["--nonsense"], "No such option"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_2(
    folder: Path, capsys: pytest.CaptureFixture[str], args: list[str], words: str
) -> None:
    code, out, err = report(capsys, *args)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert words in err
    assert "Traceback" not in err


def test_the_runs_own_exit_code_is_given_when_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(capsys, "--exit-code")[0] == 3


@pytest.mark.parametrize(("state", "code"), [("scored", 0), ("failed", 1), ("invalid", 3), ("stopped", 3)])
def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str], state: str, code: int) -> None:
    run = RunFolder(tmp_path)
    run.attempt(run.add(combo("a", "m", "api")))
    run.attempt(run.add(combo("b", "m", "api")), state=state, score=0.5)
    run.attempt(run.add(combo("c", "m", "api")), state="failed" if code == 3 else "scored")
    assert report(capsys, str(run.finish()), "--exit-code")[0] == code


@pytest.mark.parametrize(
    ("module", "args", "words"),
    [
        ("devops_bench.report", ["NOSUCH"], "no such folder"),
        ("devops_bench.report", [], "python -m devops_bench.report RUN_DIR"),
        ("devops_bench.supervisor", [], "devops-bench run"),
        ("devops_bench.supervisor.keepalive", [], "devops-bench run"),
    ],
)
def test_inner_programs_that_are_called_by_hand_say_one_line(
    tmp_path: Path, module: str, args: list[str], words: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, *args], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith("error: ") and words in done.stderr
    assert list(tmp_path.iterdir()) == []
