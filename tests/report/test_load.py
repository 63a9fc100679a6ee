"""What is read from a run's folder, whatever state it is in."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from devops_bench.errors import ConfigError, ExitCode
from devops_bench.report import exit_code
from devops_bench.report.load import load_run
from devops_bench.report.model import Run, Verdict

from .runs import STAMP, RunFolder, check, combo

A = combo("common/a", "m", "api")
B = combo("common/b", "m", "api+mcp")


def test_a_finished_run_is_read_in_the_plans_order(tmp_path: Path) -> None:
    run = RunFolder(tmp_path, notes=("left out: 1",))
    run.attempt(run.add(A), status=0)
    run.attempt(run.add(B), state="failed", score=0.5, checks=[check("x"), check("y", "fail")], status=1)
    read = load_run(run.finish())
    assert (read.stamp, read.done, read.complete, read.planned, read.scored) == (STAMP, True, True, 2, 2)
    assert [(c.task, c.verdict, c.exit, c.score) for c in read.combos] == [
        ("common/a", Verdict.PASSED, 0, 1.0),
        ("common/b", Verdict.FAILED, 1, 0.5),
    ]
    first, second = read.combos
    assert (first.checks_passed, len(first.checks)) == (1, 1)
    assert (second.checks_passed, len(second.checks)) == (1, 2)
    assert (first.auth_mode, first.latency_sec, first.wall_sec, first.cost_usd) == ("api-key", 41.5, 52.3, 0.0312)
    assert (first.tokens.input, first.tokens.total, first.tokens.cached) == (18250, 19162, None)
    assert first.end == "completed"
    assert read.notes == ("left out: 1",)
    assert read.problems == ()
    assert exit_code(read) is ExitCode.FAILED


def test_mcp_calls_are_told_only_where_mcp_was_granted(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.attempt(run.add(A))
    run.attempt(run.add(B))
    assert [c.mcp_calls for c in load_run(run.finish()).combos] == [None, 4]


def test_of_several_attempts_the_judged_one_counts_and_all_are_counted(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.add(A)
    run.attempt(A, state="invalid", outcome={"class": "infra"})
    run.attempt(A, state="failed", score=0.25)
    run.attempt(A, state="invalid", outcome={"class": "infra"})
    [read] = load_run(run.finish()).combos
    assert (read.verdict, read.score, read.attempts) == (Verdict.FAILED, 0.25, 3)


def test_an_invalid_combo_has_a_reason_and_no_score(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    reason = {"class": "infra", "phase": "provision", "signature": "sig", "reason": "no cluster", "score": 1.0}
    run.attempt(run.add(A), state="invalid", outcome=reason, status=1)
    summary = load_run(run.finish())
    [read] = summary.combos
    assert (read.klass, read.phase, read.signature, read.reason) == ("infra", "provision", "sig", "no cluster")
    assert (read.score, read.latency_sec, read.cost_usd, read.tool_calls, read.checks_passed) == (None,) * 5
    assert exit_code(summary) is ExitCode.INVALID


def test_an_attempt_whose_process_died_is_told_by_the_journal(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    ended = {
        "class": "infra",
        "phase": "agent",
        "signature": "process-died",
        "reason": "killed by signal 9",
        "exit": 137,
    }
    run.attempt(run.add(A), state="invalid", with_outcome=False, outcome=ended)
    [read] = load_run(run.finish()).combos
    assert (read.verdict, read.klass, read.reason, read.exit) == (Verdict.INVALID, "infra", "killed by signal 9", 137)


def test_a_combo_that_its_supervisor_ended_is_invalid_whatever_it_said_itself(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    ended = {"class": "infra", "phase": "agent", "signature": "combo-stalled", "reason": "no event for 900 s"}
    folder = run.attempt(run.add(A), state="invalid", outcome=ended, status=1)
    own = json.loads((folder / "outcome.json").read_text())
    stopped = {"state": "stopped", "class": None, "signature": None, "reason": "stopped"}
    (folder / "outcome.json").write_text(json.dumps({**own, **stopped}))
    [read] = load_run(run.finish()).combos
    assert (read.state, read.verdict) == ("invalid", Verdict.INVALID)
    assert (read.klass, read.signature, read.reason) == ("infra", "combo-stalled", "no event for 900 s")


@pytest.mark.parametrize(
    ("status", "done", "verdict", "state"),
    [
        (None, False, Verdict.UNFINISHED, "running"),
        (None, True, Verdict.INVALID, "invalid"),
        (1, False, Verdict.INVALID, "invalid"),
        (0, True, Verdict.INVALID, "invalid"),
    ],
)
def test_an_attempt_without_outcome_or_journal_is_never_a_pass(
    tmp_path: Path, status: int | None, done: bool, verdict: Verdict, state: str
) -> None:
    run = RunFolder(tmp_path)
    run.attempt(run.add(A), with_outcome=False, status=status)
    run.events.clear()
    [read] = load_run(run.finish(done=done)).combos
    assert (read.verdict, read.state, read.score) == (verdict, state, None)


def test_a_run_is_done_when_no_combo_is_unfinished_even_before_it_says_so(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.attempt(run.add(A))
    assert load_run(run.finish(done=False)).done is True
    run.add(B)
    assert load_run(run.finish(done=False)).done is False


def test_combos_that_never_started_are_unfinished(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.add(A)
    run.attempt(run.add(B), state="stopped")
    summary = load_run(run.finish(done=False))
    assert [(c.state, c.verdict) for c in summary.combos] == [
        ("planned", Verdict.UNFINISHED),
        ("stopped", Verdict.UNFINISHED),
    ]
    assert exit_code(summary) is ExitCode.INVALID


@pytest.mark.parametrize(
    ("passed", "score", "exit_code", "verdict"),
    [(True, 0.8, 0, Verdict.PASSED), (False, 1.0, 0, Verdict.FAILED), (None, 0.8, 1, Verdict.FAILED)],
)
def test_the_outcome_decides_what_a_pass_is(
    tmp_path: Path, passed: bool | None, score: float, exit_code: int, verdict: Verdict
) -> None:
    run = RunFolder(tmp_path)
    more = {} if passed is None else {"passed": passed}
    run.attempt(run.add(A), score=score, outcome={"exit": exit_code, **more})
    assert load_run(run.finish()).combos[0].verdict is verdict


DAMAGE = [b"", b'{"state": "sco', b"\x00\xff\xfe", b"[" * 50_000, b"[]", b"3", b'{"state": {"a": NaN}}']


@pytest.mark.parametrize("name", ["outcome.json", "attempt.json", "rows.json", "environment.json", "results.json"])
@pytest.mark.parametrize("content", DAMAGE, ids=range(len(DAMAGE)))
def test_a_damaged_file_costs_one_line_and_no_other_combo(tmp_path: Path, name: str, content: bytes) -> None:
    run = RunFolder(tmp_path)
    bad = run.attempt(run.add(A), status=0)
    run.attempt(run.add(B), status=0)
    folder = run.finish()
    (bad / name).write_bytes(content)
    read = load_run(folder)
    assert [c.verdict for c in read.combos] == [Verdict.PASSED, Verdict.PASSED]
    assert len(read.problems) <= 1
    assert all(name in line and "\n" not in line for line in read.problems)
    is_object, is_list = content.startswith(b'{"state": {'), content == b"[]"
    readable = is_list if name == "rows.json" else is_object
    assert bool(read.problems) is (name != "results.json" and not readable)


def test_a_damaged_status_file_is_told(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.attempt(run.add(A))
    folder = run.finish()
    (folder / A.rid / "status").write_bytes(b"\xff")
    assert "status" in load_run(folder).problems[0]
    (folder / A.rid / "status").write_text("exit=banana")
    assert "not `exit=<code>`" in load_run(folder).problems[0]


def test_a_torn_end_of_the_journal_is_no_problem_and_a_damaged_line_is_one(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.attempt(run.add(A))
    folder = run.finish()
    with (folder / "journal.jsonl").open("a") as journal:
        journal.write('{"seq": 99, "event": "combo_fin')
    assert load_run(folder).problems == ()
    with (folder / "journal.jsonl").open("a") as journal:
        journal.write('ished"\n{"event": "combo_finished"}\n')
    problems = load_run(folder).problems
    assert len(problems) == 2
    assert "journal.jsonl:5" in problems[1]


def test_a_copied_run_reads_the_same(tmp_path: Path, showcase_folder: Path, showcase_run: Run) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(showcase_folder, copy)
    one, two = showcase_run, load_run(copy)
    assert [(c.rid, c.verdict, c.score, c.reason) for c in one.combos] == [
        (c.rid, c.verdict, c.score, c.reason) for c in two.combos
    ]
    assert two.problems == ()


def test_without_a_plan_the_attempts_that_are_there_are_shown_and_it_is_said(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.attempt(run.add(A), status=0)
    folder = run.finish()
    (folder / "plan.json").unlink()
    read = load_run(folder)
    assert [(c.model, c.preset, c.verdict) for c in read.combos] == [("m", "api", Verdict.PASSED)]
    assert read.complete is False
    assert "no plan.json" in read.problems[0]


@pytest.mark.parametrize("plan", [b"", b"{}", b'{"version": 99}', b"\xff"], ids=range(4))
def test_a_damaged_plan_is_an_error_because_denominators_must_not_be_guessed(tmp_path: Path, plan: bytes) -> None:
    run = RunFolder(tmp_path)
    run.attempt(run.add(A))
    folder = run.finish()
    (folder / "plan.json").write_bytes(plan)
    with pytest.raises(ConfigError, match=r"plan\.json"):
        load_run(folder)


def test_what_is_no_run_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    for path in (tmp_path / "x", tmp_path / "absent"):
        with pytest.raises(ConfigError, match=r"no plan\.json|no such folder"):
            load_run(path)


def test_residue_of_attempts_and_of_the_journal_is_gathered_once(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.attempt(run.add(A), outcome={"residue": ["socket x"]})
    run.event("combo_residue", rid=A.rid, residue=["socket x", "process 7"])
    assert load_run(run.finish()).residue == (f"{A.rid}: socket x", f"{A.rid}: process 7")


def test_strange_values_in_files_stay_unknown(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    attempt = run.attempt(run.add(A), outcome={"score": "1.0", "cost_usd": True, "exit": "0", "class": 5})
    told = json.loads((attempt / "attempt.json").read_text())
    (attempt / "attempt.json").write_text(json.dumps({**told, "started": 5, "mcp_calls": "many", "end": None}))
    [read] = load_run(run.finish()).combos
    assert (read.score, read.cost_usd, read.wall_sec, read.mcp_calls) == (None, None, None, None)
