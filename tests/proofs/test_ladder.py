"""The ladder: which rungs a task has, what they score, and what is kept and written of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from devops_bench.errors import ConfigError
from devops_bench.proofs.calibrate import calibrate, keep_rows, read_rows
from devops_bench.proofs.engine import TaskState, prove, store
from devops_bench.proofs.judge import Judgement
from devops_bench.proofs.ladder import Row, Rung, document, rungs_of, score_of, table
from devops_bench.sandbox import detect
from devops_bench.tasks import content_hash, find_tasks, load_task
from devops_bench.tasks.review import review_tasks
from devops_bench.tasks.scaffold import scaffold
from devops_bench.verification import Status

PASS, FAIL, ERROR = Status.PASS, Status.FAIL, Status.ERROR


def workspace_task(tmp_path: Path) -> Path:
    scaffold(tmp_path / "drain", "none")
    return tmp_path / "drain"


def test_a_workspace_task_has_nothing_to_restart_and_marked_scripts_are_rungs(tmp_path: Path) -> None:
    rungs = rungs_of(load_task(workspace_task(tmp_path)))
    assert [rung for rung, case in rungs.items() if case is None] == [Rung.RESTART, Rung.RECREATE, Rung.PARTIAL]
    obvious = rungs[Rung.OBVIOUS]
    assert obvious is not None and "override.ini" in obvious.script


def test_honest_partial_is_the_solution_without_its_last_step_unless_a_script_says_otherwise(tmp_path: Path) -> None:
    folder = workspace_task(tmp_path)
    (folder / "solution" / "sed.sh").write_text("# fix: a\necho a\n# fix: b\necho b\n# end\n")
    partial = rungs_of(load_task(folder))[Rung.PARTIAL]
    assert partial is not None and "echo a" in partial.script and "echo b" not in partial.script
    (folder / "wrong" / "part.sh").write_text("# breaks: drain\n# rung: honest-partial\necho c\n")
    partial = rungs_of(load_task(folder))[Rung.PARTIAL]
    assert partial is not None and "echo c" in partial.script


@pytest.mark.parametrize(
    ("drain", "kept", "wanted"),
    [(PASS, PASS, 1.0), (FAIL, PASS, 0.0), (PASS, FAIL, pytest.approx(0.316, abs=0.001)), (ERROR, PASS, None)],
)
def test_a_score_is_what_a_combo_with_these_verdicts_gets(
    tmp_path: Path, drain: Status, kept: Status, wanted: float | None
) -> None:
    task = load_task(workspace_task(tmp_path))
    statuses = {"drain": drain, "others-kept": kept}
    judgement = Judgement("x", statuses, dict.fromkeys(statuses, ""))
    assert score_of(judgement, task.verification_spec) == wanted


def test_the_ladder_is_climbed_for_real_kept_and_written(tmp_path: Path) -> None:
    folder = workspace_task(tmp_path)
    found = find_tasks([str(folder)])
    (row,) = calibrate(found, detect(os.environ), jobs=2)
    assert dict(row.scores) == {Rung.IDLE: 0.0, Rung.RESTART: None, Rung.RECREATE: None, Rung.OBVIOUS: 0.0,
                                Rung.PARTIAL: None, Rung.SOLUTION: 1.0}  # fmt: skip
    kept = keep_rows(tmp_path, [row, Row("gone", "sha256:0", {})], {found[0].key})
    assert read_rows(tmp_path) == kept == {found[0].key: row}
    text = document([load_task(folder)], kept)
    assert "| 0.00 | - | - | 0.00 | - | 1.00 |" in text
    assert content_hash(folder).removeprefix("sha256:")[:12] in text
    (tmp_path / ".calibration.json").write_text('{"a": 1}')
    with pytest.raises(ConfigError, match="calibrate again"):
        read_rows(tmp_path)


def test_what_the_proofs_have_climbed_is_not_climbed_again(tmp_path: Path) -> None:
    found = find_tasks([str(workspace_task(tmp_path))])
    (report,) = prove(found, detect(os.environ), jobs=2)
    store(report, "2026-01-01T00:00:00Z")
    seen: list[Rung] = []
    (row,) = calibrate(found, detect(os.environ), jobs=2, progress=lambda _key, rung, _score: seen.append(rung))
    assert seen == []
    assert (row.scores[Rung.IDLE], row.scores[Rung.OBVIOUS], row.scores[Rung.SOLUTION]) == (0.0, 0.0, 1.0)
    (found[0].folder / "README.md").write_text("changed\n")
    calibrate(found, detect(os.environ), jobs=2, progress=lambda _key, rung, _score: seen.append(rung))
    assert set(seen) == {Rung.IDLE, Rung.OBVIOUS, Rung.SOLUTION}


def test_a_task_that_the_obvious_solves_is_named() -> None:
    row = Row("easy", "sha256:0", {Rung.IDLE: 0.0, Rung.RESTART: 0.51, Rung.OBVIOUS: 1.0, Rung.PARTIAL: 0.9})
    assert row.too_easy() == [Rung.RESTART, Rung.OBVIOUS]
    assert [line.split(":")[0:2] for line in table([row])[-2:]] == [
        ["easy", " restart-everything scores 0.51, more than 0.5"],
        ["easy", " first-obvious-fix scores 1.00, more than 0.5"],
    ]


@pytest.mark.parametrize("provider", ["none", pytest.param("kwok", marks=pytest.mark.kwok)])
def test_a_new_task_is_in_shape_and_proves_itself(tmp_path: Path, provider: str) -> None:
    scaffold(tmp_path / "fresh", provider)
    found = find_tasks([str(tmp_path / "fresh")])
    assert review_tasks(found) == []
    (report,) = prove(found, detect(os.environ), jobs=2)
    assert report.lines() == []
    assert report.state is TaskState.PROVED
    with pytest.raises(ConfigError, match="exists already"):
        scaffold(tmp_path / "fresh", provider)
