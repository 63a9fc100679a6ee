"""`clean` removes runs only when somebody has said so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).parent / "devops-bench"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A runs root with two finished runs, beside it the state of a dead combo."""
    for name in ("20260101_000000-aaaa", "20260102_000000-bbbb"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "plan.json").write_text("{}")
        (tmp_path / "runs" / name / ".done").write_text("ALL_DONE\n")
    (tmp_path / "state" / "task__model__api").mkdir(parents=True)
    return tmp_path / "runs"


def clean(runs: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "DEVOPS_BENCH_RUNS": str(runs), "BENCH_RUN_STATE_ROOT": str(runs.parent / "state")}
    return subprocess.run(
        [str(PROGRAM), "clean", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=env
    )


def test_without_a_terminal_and_without_yes_nothing_at_all_is_removed(runs: Path) -> None:
    done = clean(runs, "--runs-older-than", "0")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: 2 finished runs would be removed with their results; confirm with --yes\n"
    assert len(list(runs.iterdir())) == 2 and (runs.parent / "state" / "task__model__api").exists()


def test_yes_removes_and_a_dry_run_asks_nothing(runs: Path) -> None:
    dry = clean(runs, "--runs-older-than", "0", "--dry-run")
    assert dry.returncode == 0 and dry.stdout.count("would remove run ") == 2 and len(list(runs.iterdir())) == 2
    done = clean(runs, "--runs-older-than", "0", "--yes")
    assert done.returncode == 0 and done.stdout.count("removed run ") == 2 and list(runs.iterdir()) == []


def test_where_no_run_is_old_enough_there_is_nothing_to_ask(runs: Path) -> None:
    done = clean(runs, "--runs-older-than", "10000")
    assert done.returncode == 0 and len(list(runs.iterdir())) == 2
