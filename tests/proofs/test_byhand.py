"""A person in the agent's place: the prompt and a shell first, the verdicts after it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.proofs.test_engine import TASK, task

PROGRAM = Path(sys.executable).with_name("devops-bench")
SAID = 'verification_spec:\n  - name: said\n    check: {type: answer, op: contains, value: "it is done"}\n'
SPOKEN = TASK.replace("verification_spec:\n", SAID)


def play(folder: Path, words: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [str(PROGRAM), "tasks", "try", str(folder), *more]
    return subprocess.run(command, input=words, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("echo yes > answer.txt\n", 0, "score 1.00"),
        ("", 1, "fail   answer: "),
        ("cat > answer.txt <<'END'\nyes\nEND\necho gone > notes.txt\n", 1, "fail   notes: "),
    ],
)
def test_what_the_shell_leaves_is_judged(tmp_path: Path, words: str, code: int, says: str) -> None:
    done = play(task(tmp_path / "answer"), words)
    assert done.returncode == code, done.stderr
    assert says in done.stdout
    assert done.stderr.startswith("Put the word yes into answer.txt")


def test_the_answer_is_read_and_the_checks_are_no_part_of_what_is_told_before(tmp_path: Path) -> None:
    answer = tmp_path / "answer.md"
    answer.write_text("it is done\n")
    folder = task(tmp_path / "answer", **{"task.yaml": SPOKEN})
    done = play(folder, "echo yes > answer.txt; ls -a ~ . ..\n", "--answer", str(answer), "--json")
    verdicts = json.loads(done.stdout)
    assert (done.returncode, verdicts["score"]) == (0, 1.0), done.stdout
    assert {one["name"]: one["status"] for one in verdicts["entries"]} == dict.fromkeys(
        ["said", "answer", "notes"], "pass"
    )
    assert "it is done" not in done.stderr
    assert "task.yaml" not in done.stderr


def test_several_tasks_are_refused(tmp_path: Path) -> None:
    task(tmp_path / "a")
    task(tmp_path / "b")
    done = play(tmp_path, "")
    assert done.returncode == 2
    assert "means 2 tasks" in done.stderr
