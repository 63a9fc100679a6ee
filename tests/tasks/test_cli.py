"""`devops-bench tasks`: output for people and programs, exit codes, one line per error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TASK = """\
task_id: answer
title: Answer
prompt: Put the word yes into answer.txt.
infrastructure: {provider: none}
verification_spec:
  - name: answer
    title: It is there
    check: {type: file, file: answer.txt, op: eq, value: "yes"}
"""
FILES = {
    "task.yaml": TASK,
    "solution/write.sh": "# fix: write\necho yes > answer.txt\n",
    "wrong/no.sh": "# breaks: answer\necho no > answer.txt\n",
}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "tasks/common/answer" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def run(cwd: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from devops_bench.cli import main; main()", "tasks", *args],
        cwd=cwd, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"}, timeout=120, check=False,
    )  # fmt: skip


def test_list_names_every_task(here: Path) -> None:
    done = run(here, "list")
    assert done.returncode == 0
    head, row = done.stdout.splitlines()
    assert head.split() == ["TASK", "PROVIDER", "LEVEL", "CATEGORY", "PROOF", "TITLE"]
    assert row.split() == ["common/answer", "none", "-", "-", "none", "Answer"]
    (item,) = json.loads(run(here, "list", "--json").stdout)
    assert (item["task"], item["entries"], item["proof"], item["error"]) == ("common/answer", 1, "none", None)


def test_list_shows_a_broken_task_beside_the_others(here: Path) -> None:
    (here / "tasks/broken").mkdir()
    (here / "tasks/broken/task.yaml").write_text("promt: x\n")
    done = run(here, "list")
    assert done.returncode == 2
    assert "common/answer" in done.stdout
    file = here / "tasks/broken/task.yaml"
    assert done.stderr == f"error: {file}:1: unknown key 'promt'; did you mean prompt?\n"


def test_show_tells_prompt_and_checks(here: Path) -> None:
    text = run(here, "show", "common/answer").stdout
    assert "Put the word yes into answer.txt." in text
    assert "answer (objective, converge, weight 1): It is there" in text
    data = json.loads(run(here, "show", "common/answer", "--json").stdout)
    assert data["key"] == "common/answer" and data["content_hash"].startswith("sha256:")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["show", "common/anwser"], "error: common/anwser: no such task; did you mean common/answer?"),
        (["list", "nowhere"], "error: nowhere: no such task; check the path; quote it if it has a space"),
        (["validate", "--jobs", "0"], "error: Invalid value for '--jobs'"),
        (["shwo"], "error: No such command 'shwo'"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(here: Path, args: list[str], message: str) -> None:
    done = run(here, *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


def test_review_prints_findings_in_three_forms(here: Path) -> None:
    done = run(here, "review")
    assert done.returncode == 1
    assert done.stdout == (
        "tasks/common/answer/task.yaml:5: no-safeguard: no safeguard; add what a careless solution would harm\n"
    )
    (item,) = json.loads(run(here, "review", "--json").stdout)
    assert (item["rule"], item["line"]) == ("no-safeguard", 5)
    assert run(here, "review", "--github").stdout.startswith("::error file=tasks/common/answer/task.yaml,line=5,")
    assert "tautology" in run(here, "review", "--rules").stdout


def test_validate_proves_records_and_knows_what_changed(here: Path) -> None:
    done = run(here, "validate")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[1].split()[-1] == "proved"
    assert "ok" in done.stderr
    record = json.loads((here / "tasks/common/answer/.validated.json").read_text())
    assert record["passed"] is True
    assert record["proofs"]["caught_alone_by"]["answer"]
    assert run(here, "validate", "--changed").stdout.splitlines()[1:] == []
    (here / "tasks/common/answer/wrong/no.sh").write_text("# breaks: answer\necho yes > answer.txt\n")
    done = run(here, "validate", "--changed", "--json", "--quiet")
    assert done.returncode == 1
    (report,) = json.loads(done.stdout)
    assert report["state"] == "failed"
    assert json.loads((here / "tasks/common/answer/.validated.json").read_text())["passed"] is False


def test_validate_of_some_cases_records_nothing(here: Path) -> None:
    done = run(here, "validate", "--case", "wrong *")
    assert done.returncode == 0
    assert not (here / "tasks/common/answer/.validated.json").exists()
