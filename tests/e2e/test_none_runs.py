"""Matrices of combos without a cluster, end to end through the real program."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from devops_bench.process import ProcessIdentity
from devops_bench.supervisor import locks
from tests.mounts import small_disk

from .world import PROGRAM, World, assert_no_residue, attempts, done, events, of, until, working

pytestmark = pytest.mark.sandbox
RID = "write-answer__none__scripted"


def test_a_sandbox_that_a_flag_asks_for_is_there_whatever_the_variable_says(world: World) -> None:
    flags = world.matrix(world.task())
    assert world.call("run", *flags, "--sandbox", "bwrap", BENCH_AGENT_SANDBOX="off").returncode == 0
    (run_dir,) = world.runs.iterdir()
    (record,) = json.loads((attempts(run_dir, RID)[0] / "results.json").read_text())
    assert record["sandboxed"] is True


def test_a_solved_task_is_scored_recorded_and_leaves_nothing(world: World) -> None:
    finished = world.call("run", *world.matrix(world.task()))
    assert finished.returncode == 0, finished.stderr + finished.stdout
    (run_dir,) = world.runs.iterdir()
    assert f"STAMP={run_dir.name}\n" in finished.stdout
    assert (run_dir / ".done").read_text() == "ALL_DONE\n"
    assert (run_dir / RID / "status").read_text() == "exit=0\n"
    (attempt,) = attempts(run_dir, RID)
    names = {path.name for path in attempt.iterdir()}
    assert {"results.json", "rows.json", "manifest.json", "environment.json", "trajectory.json"} <= names
    assert {"attempt.json", "outcome.json", "events.jsonl"} <= names
    (record,) = json.loads((attempt / "results.json").read_text())
    assert record["status"] == "success" and record["scores"]["OutcomeScore"]["score"] == 1
    assert record["trajectory"] and record["sandboxed"] is True
    (row,) = json.loads((attempt / "rows.json").read_text())
    assert row["outcomeScore"] == 1 and row["harness"] == "scripted" and row["runId"] == attempt.name
    assert [e["phase"] for e in of(run_dir, "phase")] == [
        "preflight",
        "provision",
        "setup",
        "negative-check",
        "agent",
        "verify",
        "teardown",
        "record",
    ]
    kinds = [e["event"] for e in events(run_dir)]
    assert kinds[0] == "launched" and kinds[-2:] == ["summarised", "done"]
    assert_no_residue(world)


def test_an_idle_agent_fails_the_task_and_the_exit_code_says_so(world: World) -> None:
    finished = world.call("run", *world.matrix(world.task(), configs="noop"))
    assert finished.returncode == 1, finished.stderr
    (run_dir,) = world.runs.iterdir()
    rid = "write-answer__none__noop"
    assert (run_dir / rid / "status").read_text() == "exit=1\n"
    (row,) = json.loads((attempts(run_dir, rid)[0] / "rows.json").read_text())
    assert row["outcomeScore"] == 0
    (end,) = of(run_dir, "combo_finished")
    assert end["state"] == "failed" and "answered" in end["reason"]


def test_a_task_that_is_solved_at_the_start_is_invalid_and_never_scored(world: World) -> None:
    folder = world.task()
    (folder / "workspace").mkdir()
    (folder / "workspace" / "answer.txt").write_text("ready\n")
    finished = world.call("run", *world.matrix(folder))
    assert finished.returncode == 3
    (run_dir,) = world.runs.iterdir()
    (end,) = of(run_dir, "combo_finished")
    assert (end["state"], end["class"], end["phase"]) == ("invalid", "task", "negative-check")
    (row,) = json.loads((attempts(run_dir, RID)[0] / "rows.json").read_text())
    assert row["outcomeScore"] is None and row["correctnessScore"] is None


def test_a_matrix_mixes_verdicts_and_three_beats_one(world: World) -> None:
    solved_already = world.task("solved-already")
    (solved_already / "workspace").mkdir()
    (solved_already / "workspace" / "answer.txt").write_text("ready")
    finished = world.call("run", *world.matrix(world.task(), solved_already, configs="scripted noop"))
    assert finished.returncode == 3
    (run_dir,) = world.runs.iterdir()
    states = sorted(e["state"] for e in of(run_dir, "combo_finished"))
    assert states == ["failed", "invalid", "invalid", "scored"]
    rows = json.loads((run_dir / "rows.json").read_text())
    assert len(rows) == 4 and len({row["runId"] for row in rows}) == 1


def test_a_killed_supervisor_loses_nothing_and_resume_finishes_the_rest(world: World) -> None:
    """The runner dies: what runs goes on, what never started starts after resume, nothing runs twice."""
    slow = world.task("slow", before="for i in $(seq 300); do sleep 0.1; [ -e go ] && break; done")
    others = [world.task(f"task-{n}") for n in range(3)]
    run_dir = world.launch(*world.matrix(slow, *others, max_parallel="1"))
    started = until(lambda: of(run_dir, "combo_started"), "a combo starts")
    working(run_dir)
    who = json.loads((run_dir / "supervisor.json").read_text())
    supervisor = ProcessIdentity.from_data(who)
    assert supervisor is not None
    subprocess.run(["kill", "-KILL", str(supervisor.pid)], check=True)
    until(lambda: not supervisor.alive(), "the supervisor is dead")
    worker = ProcessIdentity.from_data(started[0]["worker"])
    assert worker is not None and worker.alive(), "a running combo outlives its supervisor"
    assert world.call("resume", "--detach", run_dir.name).returncode == 0
    assert until(lambda: of(run_dir, "adopted"), "it is adopted")[0]["rid"] == "slow__none__scripted"
    world.release("slow__none__scripted")
    done(run_dir)
    assert world.call("attach", run_dir.name).returncode == 0
    finished = [e["rid"] for e in of(run_dir, "combo_finished")]
    assert sorted(finished) == sorted(set(finished)) and len(finished) == 4
    assert_no_residue(world)


def test_attach_to_a_dead_supervisor_collects_and_says_how_to_go_on(world: World) -> None:
    slow = world.task("slow", before="for i in $(seq 300); do sleep 0.1; [ -e go ] && break; done")
    run_dir = world.launch(*world.matrix(slow, world.task("never"), max_parallel="1"))
    working(run_dir)
    pid = json.loads((run_dir / "supervisor.json").read_text())["pid"]
    subprocess.run(["kill", "-KILL", str(pid)], check=True)
    world.release("slow__none__scripted")
    attached = world.call("attach", run_dir.name)
    assert attached.returncode == 3
    assert f"devops-bench resume {run_dir.name}" in attached.stderr
    assert (run_dir / "slow__none__scripted" / "status").read_text() == "exit=0\n"
    assert not (run_dir / "never__none__scripted").exists(), "nothing new was started"
    assert not (run_dir / ".done").exists()


def test_a_combo_that_is_killed_is_invalid_then_tried_again(world: World) -> None:
    task = world.task(before="for i in $(seq 300); do sleep 0.1; [ -e go ] && break; done")
    run_dir = world.launch(*world.matrix(task))
    working(run_dir)
    (started,) = of(run_dir, "combo_started")
    subprocess.run(["kill", "-KILL", str(started["worker"]["pid"])], check=True)
    until(lambda: of(run_dir, "retry_planned"), "a retry is planned")
    until(lambda: len(of(run_dir, "combo_started")) == 2, "the second attempt starts")
    working(run_dir, 2)
    world.release(RID)
    done(run_dir)
    first, second = of(run_dir, "combo_finished")
    assert (first["state"], first["class"], first["signature"]) == ("invalid", "infra", "process-died")
    assert first["phase"] == "agent" and first["exit"] == 128 + signal.SIGKILL
    assert second["state"] == "scored"
    assert len(attempts(run_dir, RID)) == 2, "every attempt is kept"
    assert (run_dir / RID / "status").read_text() == "exit=0\n"
    assert_no_residue(world)


def test_stop_lets_combos_tear_down_and_resume_goes_on(world: World) -> None:
    task = world.task(before="for i in $(seq 300); do sleep 0.1; [ -e go ] && break; done")
    run_dir = world.launch(*world.matrix(task, world.task("second"), max_parallel="1"))
    working(run_dir)
    stopped = world.call("stop", run_dir.name)
    assert stopped.returncode == 0, stopped.stderr
    (end,) = of(run_dir, "combo_finished")
    assert end["state"] == "stopped"
    assert not (run_dir / RID / "status").exists() and not (run_dir / ".done").exists()
    assert_no_residue(world)
    process = subprocess.Popen(
        [PROGRAM, "resume", run_dir.name], env=world.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    working(run_dir, 2)
    world.release(RID)
    process.communicate(timeout=120)
    assert process.returncode == 0
    assert {(run_dir / rid / "status").read_text() for rid in (RID, "second__none__scripted")} == {"exit=0\n"}


def test_a_second_supervisor_of_a_run_is_refused(world: World) -> None:
    task = world.task(before="for i in $(seq 300); do sleep 0.1; [ -e go ] && break; done")
    run_dir = world.launch(*world.matrix(task))
    working(run_dir)
    again = world.call("resume", run_dir.name)
    assert again.returncode == 4
    assert again.stderr.count("\n") == 1 and "already active" in again.stderr
    world.release(RID)
    done(run_dir)
    assert len(of(run_dir, "combo_started")) == 1


def test_the_same_combo_in_two_runs_waits_for_its_turn(world: World) -> None:
    """The same combo launched twice must never run twice on one cluster name."""
    task = world.task(before="for i in $(seq 300); do sleep 0.1; [ -e go ] && break; done")
    first = world.launch(*world.matrix(task))
    working(first)
    refused = world.call("run", "--no-wait", *world.matrix(task))
    assert refused.returncode == 4 and RID in refused.stderr
    second = world.launch(*world.matrix(task, max_parallel="2"))  # another matrix with the same combo
    until(lambda: of(second, "combo_waiting"), "the second waits")
    assert not of(second, "combo_started")
    world.release(RID)
    done(first)
    working(second)
    world.release(RID)
    done(second)
    assert (second / RID / "status").read_text() == "exit=0\n"


def test_status_logs_events_and_report_read_a_finished_run(world: World) -> None:
    world.call("run", *world.matrix(world.task()))
    status = json.loads(world.call("status", "--json").stdout)
    assert status["state"] == "done" and status["counts"]["scored"] == 1
    assert [combo["rid"] for combo in status["combos"]] == [RID]
    assert "phase agent" in world.call("logs", "latest", "write-answer").stdout
    lines = world.call("events", "--json").stdout.splitlines()
    assert json.loads(lines[0])["event"] == "launched"
    assert "write-answer" in world.call("report").stdout
    again = world.call("resume")
    assert again.returncode == 0 and "nothing to resume" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["attach", "20200101_000000-nope"], "no run"),
        (["status", "nope"], "no run"),
        (["resume", "/nowhere"], "no run here"),
        (["logs", "latest"], "no run"),
        (["stop", "x"], "no run"),
    ],
)
def test_an_unknown_run_is_one_line(world: World, arguments: list[str], words: str) -> None:
    finished = world.call(*arguments)
    assert finished.returncode == 2 and finished.stdout == ""
    assert finished.stderr.count("\n") == 1 and words in finished.stderr


def test_a_combo_over_its_wall_clock_is_invalid_and_does_not_hold_up_the_others(world: World) -> None:
    """A hung combo starves nobody and ends with evidence."""
    hung = world.task("hung", before="trap '' TERM; while true; do sleep 1; done")
    run_dir = world.launch(
        *world.matrix(hung, world.task("fine"), max_parallel="1", agent_timeout_sec="1000"),
        BENCH_COMBO_OVERHEAD_SEC="1",
        BENCH_STALL_SEC="3",
        BENCH_STOP_GRACE_SEC="2",
    )
    until(lambda: (run_dir / "fine__none__scripted" / "status").exists(), "the other combo ran", 90)
    first = next(e for e in of(run_dir, "combo_finished") if e["rid"].startswith("hung"))
    assert (first["state"], first["class"], first["signature"]) == ("invalid", "infra", "combo-stalled")
    assert "last processes" in first["reason"]
    assert world.call("stop", "--now", run_dir.name).returncode == 0


def test_a_disk_that_fills_up_stops_the_launching_and_loses_nothing(world: World) -> None:
    """The run folder's file system fills up in the middle; once there is room again, resume finishes the rest."""
    with small_disk(world.runs) as mount:
        slow = world.task("slow", before="for i in $(seq 300); do sleep 0.1; [ -e go ] && break; done")
        tasks = [world.task(f"task-{n}") for n in range(3)]
        run_dir = world.launch(*world.matrix(slow, *tasks, max_parallel="1"))
        working(run_dir)
        filler = mount / "filler"
        with filler.open("wb") as handle, pytest.raises(OSError):
            while True:
                handle.write(bytes(1 << 16))
                handle.flush()
        world.release("slow__none__scripted")
        until(lambda: not locks.held(run_dir), "the supervisor gives up", 90)
        assert not (run_dir / ".done").exists()
        filler.unlink()
        resumed = world.call("resume", run_dir.name)
        assert (run_dir / ".done").exists(), resumed.stdout + resumed.stderr
        assert "Traceback" not in (run_dir / "supervisor.log").read_text()
        assert "No space left" in of(run_dir, "launching_stopped")[0]["reason"], "the ballast saved the last word"
        final = {e["rid"]: e["state"] for e in of(run_dir, "combo_finished")}
        assert set(final.values()) == {"scored"}, final
        scored = [e["rid"] for e in of(run_dir, "combo_finished") if e["state"] == "scored"]
        assert len(scored) == len(set(scored)) == 4, "no finished combo ran again"


WAITING = "for i in $(seq 300); do sleep 0.1; [ -e go ] && break; done"


def test_a_combo_that_somebody_else_stops_is_planned_again(world: World) -> None:
    run_dir = world.launch(*world.matrix(world.task(before=WAITING)))
    working(run_dir)
    subprocess.run(["kill", "-TERM", str(of(run_dir, "combo_started")[0]["worker"]["pid"])], check=True)
    until(lambda: of(run_dir, "combo_replanned"), "it is planned again")
    working(run_dir, 2)
    world.release(RID)
    done(run_dir)
    assert [e["state"] for e in of(run_dir, "combo_finished")] == ["stopped", "scored"]


def test_stop_right_after_the_launch_starts_nothing_more(world: World) -> None:
    run_dir = world.launch(*world.matrix(world.task(before=WAITING)))
    stopped = world.call("stop", run_dir.name)
    assert stopped.returncode == 0, stopped.stderr
    assert not [e for e in of(run_dir, "phase") if e["phase"] == "agent"]
    assert of(run_dir, "stop_requested")
    assert_no_residue(world)


def test_a_malformed_setting_refuses_the_resume_and_the_run_stays_resumable(world: World) -> None:
    run_dir = world.launch(*world.matrix(world.task(before=WAITING)))
    working(run_dir)
    assert world.call("stop", "--now", run_dir.name).returncode == 0
    refused = world.call("resume", "--detach", run_dir.name, BENCH_STALL_SEC="abc")
    assert refused.returncode == 2 and "BENCH_STALL_SEC" in refused.stderr and refused.stderr.count("\n") == 1
    assert world.call("resume", "--detach", run_dir.name).returncode == 0
    working(run_dir, 2)
    world.release(RID)
    done(run_dir)


def test_attach_to_an_old_run_leaves_the_same_combo_of_a_new_run_alone(world: World) -> None:
    task = world.task(before=WAITING)
    old = world.launch(*world.matrix(task))
    working(old)
    pids = [json.loads((old / "supervisor.json").read_text())["pid"], of(old, "combo_started")[0]["worker"]["pid"]]
    for pid in pids:
        subprocess.run(["kill", "-KILL", str(pid)], check=True)
    new = world.launch(*world.matrix(task))
    working(new)
    assert world.call("attach", old.name).returncode == 3
    world.release(RID)
    done(new)
    assert (new / RID / "status").read_text() == "exit=0\n"


def test_the_combo_command_refuses_a_combo_that_is_active(world: World) -> None:
    task = world.task(before=WAITING)
    env = world.environment(BENCH_AGENT_TYPE="scripted", RESULTS_ROOT=str(world.root / "out"))
    command = [PROGRAM, "combo", str(task)]
    first = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = (world.root / "out").glob
    until(lambda: any('"agent"' in file.read_text() for file in told("run_*/events.jsonl")), "the first one works")
    second = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert second.returncode == 2 and RID in second.stderr and second.stderr.count("\n") == 1
    world.release(RID)
    out, err = first.communicate(timeout=60)
    assert first.returncode == 0, out + err


def test_what_agents_put_into_reasons_does_not_drive_the_terminal(world: World) -> None:
    text = world.root / "tasks" / "loud"
    (text / "solution").mkdir(parents=True)
    (text / "task.yaml").write_text(
        "task_id: loud\nname: loud\ninfrastructure: {deployer: noop, provider: none}\nprompt: Say it.\n"
        "verification_spec:\n  - name: said\n    check: {type: command, command: [bash, say.sh]}\n"
    )
    (text / "solution" / "solve.sh").write_text(
        "# fix: say\nprintf 'printf \"\\\\033]0;owned\\\\007\\\\033[2Jfake\\\\n\" >&2; exit 1' > say.sh\n# end\n"
    )
    finished = world.call("run", *world.matrix(text))
    assert finished.returncode == 1
    for shown in (finished.stdout, world.call("status", "--all").stdout, world.call("events").stdout):
        assert "\x1b" not in shown and "\x07" not in shown
        assert "said" in shown
