"""`devops-bench known-issues`: match on standard input, drafts, and what may be appended."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from devops_bench.redact import Redactor
from devops_bench.router import draft, table
from devops_bench.settings import Phase

PROGRAM = str(Path(sys.executable).parent / "devops-bench")
GOOD = "| Widget jams: `the widget has jammed` phases: setup | rust | oil it | Setup | No |"


def call(*args: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, "known-issues", *args], input=text, capture_output=True, text=True, timeout=60)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    path = tmp_path / "issues.md"
    shutil.copy(table.shipped(), path)
    return path


def test_match_reads_standard_input_and_prints_one_json_object() -> None:
    done = call(
        "match", "--json", "--phase", "agent", "--exit", "53", text="Reached max session turns for this session\n"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {"class", "signature", "row", "action", "retry"} <= found.keys()
    assert (found["class"], found["retry"]) == ("model", False) and isinstance(found["row"], int)
    unknown = json.loads(call("match", "--json", text="the gizmo is out of phase").stdout)
    assert (unknown["class"], unknown["row"], unknown["retry"]) == ("unknown", None, True)
    assert unknown["signature"].startswith("fp-")


def test_match_without_anything_to_match_is_a_usage_error() -> None:
    done = call("match", "--json")
    assert done.returncode == 2 and "nothing to match" in done.stderr


def test_list_and_check_of_the_shipped_table() -> None:
    rows = json.loads(call("list", "--json").stdout)
    assert len(rows) >= 40 and {"row", "class", "signatures", "action"} <= rows[0].keys()
    assert call("check").returncode == 0


def test_a_completed_row_is_appended_and_then_matched(copy: Path) -> None:
    done = call("append", "--table", str(copy), GOOD)
    assert done.returncode == 0, done.stderr
    found = json.loads(
        call("match", "--json", "--phase", "setup", "--table", str(copy), text="The widget has jammed.").stdout
    )
    assert found["class"] == "setup" and found["row"] == table.parse(copy.read_text(), copy).rows[-1].line
    again = call("append", "--table", str(copy), GOOD)
    assert again.returncode == 2 and "already" in again.stderr


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (GOOD.replace("rust", "TODO"), "not completed"),
        (GOOD.replace("rust", "key AIzaSyA1234567890abcdefghijklmnopqrstuv used"), "secret"),
        (GOOD.replace("rust", "gemini has a pass rate of 40%"), "scores"),
        (GOOD.replace("rust", "happened in 3 of 20 runs"), "counts runs"),
        (GOOD.replace("the widget has jammed", "no space left on device"), "covered by line"),
        (GOOD.replace("| Setup |", "| Nonsense |"), "unknown class"),
        ("| a | b |", "4 or 5 cells"),
    ],
)
def test_what_may_not_stand_in_the_table_is_refused_and_nothing_is_written(copy: Path, row: str, why: str) -> None:
    before = copy.read_text()
    done = call("append", "--table", str(copy), row)
    assert done.returncode == 2 and why in done.stderr
    assert copy.read_text() == before


def test_a_draft_names_what_stays_the_same_and_must_be_completed() -> None:
    said = "error: gizmo at /var/x/17 went sideways because of flux at 10:11:12"
    line = draft.draft(said, "fp-0123456789ab", Phase.VERIFY, Redactor.from_env({})).line()
    assert "`went sideways because of flux at`" in line and "fp-0123456789ab" in line and "phases: verify" in line
    assert line.count("TODO") == 4
