"""A run tells of every combo, also of those whose attempts died before they could write a record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from devops_bench.report import summarise
from devops_bench.report.load import load_run
from devops_bench.results.read import read_manifest, read_rows

from .runs import RunFolder, combo

A = combo("common/a", "m", "api")
B = combo("common/b", "m", "api+mcp", repeat=1)
DIED = {
    "class": "infra",
    "phase": "agent",
    "signature": "process-died",
    "reason": "its process was killed by signal 9 in phase agent",
    "exit": 137,
}
RECORD = ("results.json", "rows.json", "manifest.json", "environment.json", "attempt.json", "outcome.json")


def killed(run: RunFolder, planned: Any, left: tuple[str, ...] = (), **more: Any) -> Path:
    """An attempt that died; of its record only `left` had been written."""
    folder = run.attempt(planned, with_outcome=False, **{"state": "invalid", "outcome": DIED, **more})
    for name in set(RECORD) - set(left):
        (folder / name).unlink(missing_ok=True)
    return folder


def rows(run_dir: Path) -> dict[tuple[str, int], dict[str, Any]]:
    return {(row["taskFolder"], row["iteration"]): row for row in read_rows(run_dir / "rows.json")}


def test_a_combo_all_of_whose_attempts_were_killed_has_a_row_without_a_score(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.attempt(run.add(A), status=0)
    run.add(B)
    folders = [killed(run, B), killed(run, B), killed(run, B)]
    run_dir = run.finish()
    summarise(run_dir)
    assert set(rows(run_dir)) == {("common/a", 0), ("common/b", 1)}
    row = rows(run_dir)["common/b", 1]
    assert (row["status"], row["outcomeScore"], row["correctnessScore"], row["toolCalls"]) == (
        "failed", None, None, None,
    )  # fmt: skip
    assert (row["setupId"], row["augmentation"], row["timeoutSec"]) == ("m-api-mcp", ["mcp"], 1200)
    for folder in folders:
        (record,) = json.loads((folder / "results.json").read_text())
        assert (record["name"], record["status"], record["scores"]) == ("b", "failed", {})
        assert record["error"] == f"infra: {DIED['reason']}"
        assert read_manifest(folder / "manifest.json")["runId"] == folder.name
        told = json.loads((folder / "attempt.json").read_text())
        assert (told["state"], told["class"], told["phase"]) == ("invalid", "infra", "agent")


def test_a_score_of_an_attempt_that_died_before_its_outcome_is_taken_back(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    folder = run.attempt(run.add(A), state="scored", with_outcome=False, record={"output": "all done"})
    assert read_rows(folder / "rows.json")[0]["outcomeScore"] == 1.0
    run.events[-1] |= {"state": "invalid", "score": None, **DIED}
    run_dir = run.finish()
    summarise(run_dir)
    assert [row["outcomeScore"] for row in read_rows(run_dir / "rows.json")] == [None]
    (record,) = json.loads((folder / "results.json").read_text())
    assert (record["output"], record["status"], record["scores"]) == ("all done", "failed", {})


def test_a_verdict_is_never_touched_and_beats_the_rows_of_the_dead(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.add(A)
    killed(run, A)
    judged = run.attempt(A, state="failed", score=0.25, status=1)
    before = (judged / "rows.json").read_bytes()
    run_dir = run.finish()
    summarise(run_dir)
    assert (judged / "rows.json").read_bytes() == before
    assert [row["outcomeScore"] for row in read_rows(run_dir / "rows.json")] == [0.25]


def test_half_a_record_is_completed_and_a_second_time_changes_nothing(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.add(A)
    torn, whole = killed(run, A, left=("results.json",)), killed(run, A, left=("results.json", "environment.json"))
    (torn / "results.json").write_text('[{"name": "a", "outp')
    run_dir = run.finish()
    summarise(run_dir)
    names = ("results.json", "rows.json", "manifest.json", "attempt.json")
    first = [(folder / name).read_bytes() for folder in (torn, whole) for name in names]
    summarise(run_dir)
    assert [(folder / name).read_bytes() for folder in (torn, whole) for name in names] == first
    assert len(read_rows(run_dir / "rows.json")) == 1


def test_an_attempt_that_was_never_forked_is_told_by_its_own_end(tmp_path: Path) -> None:
    """Its folder is known from the intent alone; a folder whose supervisor died before the fork is no attempt."""
    run = RunFolder(tmp_path)
    run.add(A)
    names = [f"run_20260131_12000{number}_{A.rid}" for number in range(3)]
    reason = {"class": "infra", "phase": "provision", "signature": "provision-failed", "exit": 1}
    for number, attempt in enumerate((1, 1, 2)):
        (run.path / A.rid / names[number]).mkdir(parents=True)
        run.event("combo_intent", rid=A.rid, attempt=attempt, directory=f"{A.rid}/{names[number]}")
        if number:
            why = f"the fork server died {attempt}"
            run.event("combo_finished", rid=A.rid, attempt=attempt, state="invalid", reason=why, **reason)
    run_dir = run.finish()
    summarise(run_dir)
    (read,) = load_run(run_dir).combos
    assert (read.attempts, read.reason, read.phase) == (2, "the fork server died 2", "provision")
    assert not (run_dir / A.rid / names[0] / "rows.json").exists()
    assert len(rows(run_dir)) == 1
