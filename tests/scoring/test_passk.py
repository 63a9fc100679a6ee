"""`python -m devops_bench.metrics.passk`: the command, its file, and what counts as an attempt."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from devops_bench.metrics.passk import main
from devops_bench.scoring.passk import summarise


def row(
    score: float | None,
    run: str = "run_20260101_000000_a",
    iteration: int = 0,
    task: str = "common/a",
    setup: str = "m-noop",
) -> dict[str, Any]:
    return {
        "setupId": setup,
        "model": "m",
        "harness": "noop",
        "augmentation": ["mcp"],
        "runId": run,
        "iteration": iteration,
        "taskFolder": task,
        "taskName": task.title(),
        "outcomeScore": score,
        "more": "keys",
    }


def put(folder: Path, *rows: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rows.json").write_text(json.dumps(rows))


def test_the_summary_is_exactly_as_agreed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, score in enumerate([1.0, 1.0, 0.99, 0.2, 1.0, None]):
        put(tmp_path / f"c{number}", row(score, f"run_20260101_00000{number}"))
    put(tmp_path / "other", row(1.0, task="common/b"))
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "passk_summary.json")
    found = json.loads((tmp_path / "passk_summary.json").read_text())
    assert found == {
        "k": 5,
        "threshold": 1.0,
        "setups": [
            {
                "setupId": "m-noop",
                "model": "m",
                "harness": "noop",
                "augmentation": ["mcp"],
                "tasks": [
                    {
                        "taskFolder": "common/a",
                        "taskName": "Common/A",
                        "n": 5,
                        "c": 3,
                        "passAt1": 0.6,
                        "passAtK": 1.0,
                        "passPowK": 0.0,
                    },
                    {
                        "taskFolder": "common/b",
                        "taskName": "Common/B",
                        "n": 1,
                        "c": 1,
                        "passAt1": 1.0,
                        "passAtK": None,
                        "passPowK": None,
                    },
                ],
                "overall": {"passAt1": 0.8, "passAtK": 1.0, "passPowK": 0.0},
            }
        ],
    }


def test_k_threshold_and_output_can_be_chosen(tmp_path: Path) -> None:
    put(tmp_path / "a", row(0.5), row(0.9, iteration=1), row(0.1, iteration=2))
    out = tmp_path / "x.json"
    assert main([str(tmp_path), "-o", str(out), "--k", "2", "--threshold", "0.5"]) == 0
    task = json.loads(out.read_text())["setups"][0]["tasks"][0]
    assert (task["n"], task["c"], task["passAt1"], task["passAtK"], task["passPowK"]) == (3, 2, 0.6667, 1.0, 0.3333)


def test_an_attempt_is_a_distinct_run_and_iteration() -> None:
    rows = [row(1.0), row(1.0), row(None), row(0.0, iteration=1), row(0.0, run="run_20260101_000001")]
    task = summarise(rows, 1, 1.0)["setups"][0]["tasks"][0]
    assert (task["n"], task["c"]) == (3, 1)


def test_a_task_without_any_score_is_listed_with_nulls() -> None:
    setup = summarise([row(None)], 5, 1.0)["setups"][0]
    assert setup["tasks"][0] == {
        "taskFolder": "common/a",
        "taskName": "Common/A",
        "n": 0,
        "c": 0,
        "passAt1": None,
        "passAtK": None,
        "passPowK": None,
    }
    assert setup["overall"] == {"passAt1": None, "passAtK": None, "passPowK": None}


def test_an_aggregated_batch_does_not_count_its_combos_twice(tmp_path: Path) -> None:
    put(tmp_path / "stamp/rid/run_20260101_000000_rid", row(1.0))
    put(tmp_path / "stamp", row(1.0, run="run_20260102_000000_batch"))
    (tmp_path / "stamp/manifests.json").write_text("[]")
    put(tmp_path / "pulled", row(0.0, run="run_20260103_000000_batch"))
    (tmp_path / "pulled/manifests.json").write_text("[]")
    assert main([str(tmp_path), "--k", "1"]) == 0
    task = json.loads((tmp_path / "passk_summary.json").read_text())["setups"][0]["tasks"][0]
    assert (task["n"], task["c"]) == (2, 1)


def test_rounding_errors_do_not_miss_the_threshold() -> None:
    assert summarise([row(1 - 1e-12)], 1, 1.0)["setups"][0]["tasks"][0]["c"] == 1


@pytest.mark.parametrize(
    "text", ["{", "{}", "[1]", "[{}]", json.dumps([row("high")]), json.dumps([{**row(1.0), "iteration": "0"}])]
)  # type: ignore[arg-type]
def test_a_malformed_row_names_its_file_and_nothing_is_written(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "good", row(1.0))
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/rows.json").write_text(text)
    assert main([str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert str(tmp_path / "bad/rows.json") in said
    assert said.count("\n") == 1
    assert not (tmp_path / "passk_summary.json").exists()


@pytest.mark.parametrize("argv", [["gone"], ["."], [".", "--k", "0"], [".", "--k", "x"], []])
def test_a_usage_error_is_exit_2_without_a_traceback(tmp_path: Path, argv: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "devops_bench.metrics.passk", *argv], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
