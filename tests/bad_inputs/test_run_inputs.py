"""Damaged runs and wrong calls: one line each, the right exit code, no traceback, nothing changed on disk."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from devops_bench.matrix.plan import AgentConfig, Combo, Plan, PlanOptions
from devops_bench.supervisor.journal import Journal

PROGRAM = str(Path(sys.executable).parent / "devops-bench")
STAMP = "20261129_120000-abcdefgh"
RID = "t__m__noop"


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / STAMP
    folder.mkdir(parents=True)
    combo = Combo(RID, "c0000000", "c0000000-eval", "/t/task.yaml", "t", "t", "none", "m", AgentConfig("noop", "noop"))
    Plan(STAMP, (combo,), PlanOptions(1, 10, 10), "2026-11-29T12:00:00Z").write(folder)
    journal = Journal(folder)
    journal.append("launched", rids=[RID], notes=[])
    journal.close()
    return folder


def call(run_dir: Path, *args: str, module: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", module] if module else [PROGRAM]
    return subprocess.run(
        [*argv, *args],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=run_dir.parent,
        env={**os.environ, "DEVOPS_BENCH_RUNS": str(run_dir.parent), **env},
    )


def fingerprint(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "dir"
        for path in sorted(root.rglob("*"))
    }


def no_journal_line(folder: Path) -> None:
    path = folder / "journal.jsonl"
    path.write_bytes(path.read_bytes() + b"this is not json\n")


def wrong_seq(folder: Path) -> None:
    path = folder / "journal.jsonl"
    path.write_bytes(path.read_bytes() + b'{"event":"done"}\n')


def empty_plan(folder: Path) -> None:
    (folder / "plan.json").write_text("")


def foreign_plan(folder: Path) -> None:
    (folder / "plan.json").write_text('{"version": 99}')


def wrong_plan(folder: Path) -> None:
    data = json.loads((folder / "plan.json").read_text())
    del data["combos"][0]["rid"]
    (folder / "plan.json").write_text(json.dumps(data))


def list_plan(folder: Path) -> None:
    (folder / "plan.json").write_text("[]")


DAMAGE: list[tuple[Callable[[Path], None], str, list[str]]] = [
    (no_journal_line, "journal.jsonl:2:", ["status"]),
    (no_journal_line, "journal.jsonl:2:", ["events"]),
    (no_journal_line, "journal.jsonl:2:", ["attach"]),
    (no_journal_line, "journal.jsonl:2:", ["stop"]),
    (wrong_seq, "journal.jsonl:2:", ["status", "--json"]),
    (empty_plan, "plan.json", ["resume"]),
    (foreign_plan, "version 99", ["resume"]),
    (wrong_plan, "damaged plan", ["resume"]),
    (list_plan, "damaged plan", ["resume"]),
    (empty_plan, "plan.json", ["logs", "latest", "t"]),
]


@pytest.mark.parametrize(("damage", "words", "command"), DAMAGE)
def test_a_damaged_run_is_one_line_and_stays_as_it_is(
    run_dir: Path, damage: Callable[[Path], None], words: str, command: list[str]
) -> None:
    damage(run_dir)
    before = fingerprint(run_dir.parent)
    done = call(run_dir, *command)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1 and words in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    after = fingerprint(run_dir.parent)
    # Taking the lock may leave who took it; nothing else may change.
    after.pop(f"{STAMP}/supervisor.json", None)
    after.pop(f"{STAMP}/supervisor.log", None)
    assert after == before


def test_resume_of_a_run_with_a_damaged_journal_starts_nothing(run_dir: Path) -> None:
    no_journal_line(run_dir)
    before = (run_dir / "journal.jsonl").read_bytes()
    done = call(run_dir, "resume", "--detach")
    assert done.returncode == 2 and "journal.jsonl:2:" in done.stderr and done.stderr.count("\n") == 1
    assert (run_dir / "journal.jsonl").read_bytes() == before


CALLS: list[tuple[list[str], dict[str, str], str]] = [
    (["combo", "nowhere"], {"BENCH_AGENT_TYPE": "noop"}, "nowhere"),
    (["combo", "."], {}, "no agent given"),
    (["combo", "."], {"BENCH_AGENT_TYPE": "gemnini"}, "gemini"),
    (["combo", "."], {"BENCH_AGENT_TYPE": "api"}, "AGENT_MODEL"),
    (["combo", "t"], {"BENCH_AGENT_TYPE": "noop", "EVAL_LIMIT": "x"}, "EVAL_LIMIT"),
    (["combo", "t"], {"BENCH_AGENT_TYPE": "noop", "EVAL_LIMIT": "0"}, "EVAL_LIMIT"),
    (["combo", "t"], {"BENCH_AGENT_TYPE": "noop", "BENCH_PARALLEL": "perhaps"}, "BENCH_PARALLEL"),
    (["combo", "t"], {"BENCH_AGENT_TYPE": "noop", "BENCH_USE_MCP": "2"}, "BENCH_USE_MCP"),
    (["combo", "t"], {"BENCH_AGENT_TYPE": "noop", "AGENT_TIMEOUT_SEC": "soon"}, "AGENT_TIMEOUT_SEC"),
    (["combo", "t"], {"BENCH_AGENT_TYPE": "noop", "RUN_ID": "../x"}, "../x"),
    (["combo"], {}, "SOURCE"),
    (["report", "nope"], {}, "nope"),
    (["tasks", "show", "nope"], {}, "nope"),
    (["models", "check", "nowhere.yaml"], {}, "nowhere.yaml"),
    (["clusters", "lst"], {}, "lst"),
]


@pytest.mark.parametrize(("command", "env", "words"), CALLS)
def test_a_wrong_call_is_one_line_and_makes_nothing(
    run_dir: Path, command: list[str], env: dict[str, str], words: str
) -> None:
    task = run_dir.parent / "t"
    task.mkdir()
    (task / "task.yaml").write_text("task_id: t\nname: t\ninfrastructure: {provider: none}\nprompt: Nothing.\n")
    before = fingerprint(run_dir.parent)
    done = call(run_dir, *command, **env)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1 and words in done.stderr, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert fingerprint(run_dir.parent) == before


@pytest.mark.parametrize(
    ("content", "words"), [("[{]", "rows.json"), ('[{"setupId": 1}]', "rows.json"), ('{"a": 1}', "rows.json")]
)
def test_a_malformed_rows_file_names_itself(run_dir: Path, content: str, words: str) -> None:
    attempt = run_dir / RID / f"run_20261129_120000_{RID}"
    attempt.mkdir(parents=True)
    (attempt / "rows.json").write_text(content)
    before = fingerprint(run_dir.parent)
    done = call(run_dir, str(run_dir), module="devops_bench.results.aggregate")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and words in done.stderr, done.stderr
    assert fingerprint(run_dir.parent) == before
