"""Supervision end to end through the real program: limits, budgets, halts, two launches at once, keepalive, retries."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from .world import PROGRAM, World, assert_no_residue, done, events, of, processes, until, working

pytestmark = pytest.mark.sandbox
WAITING = "for i in $(seq 3000); do sleep 0.1; [ -e go ] && break; done"
RID = "write-answer__none__scripted"


def scenarios(world: World, name: str, text: str) -> dict[str, str]:
    folder = world.root / "scenarios"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(text)
    return {"models": f"scripted:{name}", "configs": "api", "scenarios_dir": str(folder)}


# -- two launches, one run --------------------------------------------------------------------------------------------


def test_two_launches_of_one_matrix_at_the_same_moment_make_one_run(world: World) -> None:
    task = world.task(before=WAITING)
    command = [PROGRAM, "run", "--detach", *world.matrix(task)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(command, env=world.environment(), **pipes) for _ in range(2)]  # type: ignore[call-overload]
    answers = [(process.communicate(timeout=120), process.returncode) for process in both]
    stamps = {line for (out, _), _ in answers for line in out.splitlines() if line.startswith("STAMP=")}
    assert len(stamps) == 1, answers
    assert sorted(code for _, code in answers) in ([0, 0], [0, 4]), answers
    (run_dir,) = world.runs.iterdir()
    working(run_dir)
    world.release(RID)
    done(run_dir)
    assert len(of(run_dir, "combo_started")) == 1


def test_a_launch_of_a_running_matrix_attaches_or_is_refused(world: World) -> None:
    task = world.task(before=WAITING)
    first = world.launch(*world.matrix(task))
    second = world.call("run", "--detach", *world.matrix(task))
    assert second.returncode == 0 and f"STAMP={first.name}\n" in second.stdout and "attached" in second.stderr
    refused = world.call("run", "--detach", "--no-wait", *world.matrix(task))
    assert refused.returncode == 4
    assert len(list(world.runs.iterdir())) == 1
    working(first)
    world.release(RID)
    done(first)


# -- limits -----------------------------------------------------------------------------------------------------------


def test_a_429_halves_what_runs_at_once_and_quiet_time_gives_it_back(world: World) -> None:
    play = "turns:\n  - {shell: sleep 1}\n  - {fault: 429, times: 9, text: done}\n"
    tasks = [world.task(f"task-{n}") for n in range(4)]
    flags = world.matrix(*tasks, max_parallel="4", **scenarios(world, "busy", play))
    run_dir = world.launch(*flags, BENCH_LIMIT_QUIET_SEC="0.3")
    done(run_dir, 240)
    changes = of(run_dir, "limit_changed")
    assert changes and changes[0]["provider"] == "scripted" and changes[0]["was"] is None, changes
    assert 1 <= changes[0]["cap"] <= 2
    assert any(change["why"] == "quiet" for change in changes), changes
    ends = of(run_dir, "combo_finished")
    assert {(e["state"], e["class"]) for e in ends} == {("invalid", "infra")} and len(ends) == 12
    retries = Counter(e["rid"] for e in of(run_dir, "retry_planned"))
    assert set(retries.values()) == {2} and len(of(run_dir, "retry_exhausted")) == 4, "at most two each"


def test_the_circuit_breaks_when_all_keys_are_refused_and_resume_goes_on(world: World) -> None:
    play = "turns:\n  - {fault: 401, times: 99, text: never}\n"
    tasks = [world.task(f"task-{n}") for n in range(8)]
    flags = scenarios(world, "refused", play)
    halted = world.call("run", *world.matrix(*tasks, max_parallel="1", **flags), timeout=400)
    assert halted.returncode == 3, halted.stderr
    assert "in a row" in halted.stderr and "devops-bench resume" in halted.stderr
    (run_dir,) = world.runs.iterdir()
    ends = of(run_dir, "combo_finished")
    assert len(ends) == 3 and {e["class"] for e in ends} == {"config-auth"}
    assert {e["class"] for e in of(run_dir, "classified")} == {"config-auth"} and not of(run_dir, "retry_planned")
    status = json.loads(world.call("status", "--json").stdout)
    assert status["state"] == "halted" and status["counts"]["planned"] == 5 and "in a row" in status["halted"]
    scenarios(world, "refused", "turns:\n  - shell: echo ready > answer.txt\n  - text: done\n")
    resumed = world.call("resume", run_dir.name, timeout=400)
    assert (run_dir / ".done").exists() and resumed.returncode == 3, "three stay invalid"
    final = {e["rid"]: e["state"] for e in of(run_dir, "combo_finished")}
    assert Counter(final.values()) == {"scored": 5, "invalid": 3}


def test_a_budget_stops_launching_and_a_higher_one_resumes(world: World) -> None:
    tasks = [world.task(f"task-{n}", before="sleep 0.4") for n in range(6)]
    flags = world.matrix(*tasks, max_parallel="1")
    halted = world.call("run", "--max-duration", "1", *flags)
    assert halted.returncode == 3 and "--max-duration" in halted.stderr
    (run_dir,) = world.runs.iterdir()
    assert not (run_dir / ".done").exists() and of(run_dir, "budget")
    assert heartbeat(run_dir)["state"] == "halted" and "--max-duration" in heartbeat(run_dir)["halted"]
    left = json.loads(world.call("status", "--json").stdout)["counts"]["planned"]
    assert left >= 1 and {e["state"] for e in of(run_dir, "combo_finished")} <= {"scored"}
    resumed = world.call("resume", "--max-duration", "1h", run_dir.name, timeout=300)
    assert resumed.returncode == 0 and (run_dir / ".done").exists()
    assert len(of(run_dir, "combo_started")) == 6, "nothing ran twice"


def test_a_budget_in_usd_names_the_models_that_it_does_not_count(world: World) -> None:
    env = {"OPENAI_COMPATIBLE_BASE_URL": "http://127.0.0.1:9/v1", "AGENT_PROVIDER": "openai-compatible"}
    flags = world.matrix(world.task(), models="my-own", configs="api")
    launched = world.call("run", "--detach", "--max-cost", "1", *flags, **env)
    said = "no price is known for my-own: the budget of 1 USD counts this as 0"
    assert launched.returncode == 0 and f"warning: {said}" in launched.stderr, launched.stderr
    (run_dir,) = world.runs.iterdir()
    done(run_dir)
    assert any(said in note for note in json.loads((run_dir / "plan.json").read_text())["notes"])


@pytest.mark.parametrize("flag", [["--max-cost", "0"], ["--max-tokens", "x"], ["--max-duration", "soon"]])
def test_a_malformed_budget_is_a_usage_error(world: World, flag: list[str]) -> None:
    answer = world.call("run", *flag, *world.matrix(world.task()))
    assert answer.returncode == 2 and answer.stderr.count("\n") == 1 and not world.runs.exists()


# -- retries ----------------------------------------------------------------------------------------------------------


def flaky_matrix(world: World, combos: int, seed: int) -> None:
    """A tenth of the combos is killed in its first attempt: each is retried with its reason, none more than twice."""
    rng = random.Random(seed)
    repeats = max(1, combos // 50)
    flaky = combos // 10
    slow = [world.task(f"slow-{n}", before="sleep 2") for n in range(flaky // repeats)]
    order = [*slow, *(world.task(f"quick-{n}") for n in range(combos // repeats - len(slow)))]
    rng.shuffle(order)
    flags = world.matrix(*order, max_parallel="4", repeats=str(repeats))
    run_dir = world.launch(*flags)
    killed: set[str] = set()

    with (run_dir / "journal.jsonl").open("rb") as news:

        def play() -> bool:
            while (line := news.readline()).endswith(b"\n"):
                event = json.loads(line)
                if event["event"] == "combo_started" and event["attempt"] == 1 and event["rid"].startswith("slow-"):
                    os.kill(event["worker"]["pid"], signal.SIGKILL)
                    killed.add(event["rid"])
            news.seek(-len(line), os.SEEK_CUR)  # a line that is being written
            return (run_dir / ".done").exists()

        until(play, f"seed {seed}: the run ends", 60 + 3 * combos)
    journal = events(run_dir)
    retries = [e for e in journal if e["event"] == "retry_planned"]
    invalid = [e for e in journal if e["event"] == "combo_finished" and e["state"] == "invalid"]
    assert len(killed) == len(retries) == len(invalid) == flaky, (seed, len(killed), len(retries), len(invalid))
    assert all(e["reason"] and e["signature"] == "process-died" for e in retries)
    final = {e["rid"]: e["state"] for e in journal if e["event"] == "combo_finished"}
    assert set(final.values()) == {"scored"} and len(final) == combos
    running = most = 0
    for event in journal:
        running += {"combo_started": 1, "combo_finished": -1}.get(event["event"], 0)
        most = max(most, running)
    assert most <= 4
    assert world.call("attach", run_dir.name).returncode == 0
    rows = json.loads((run_dir / "rows.json").read_text())
    assert len(rows) == len(final), "the table has one row for each combo"
    assert_no_residue(world)


def test_a_matrix_with_flakes_retries_them_with_reasons_and_ends_right(world: World) -> None:
    flaky_matrix(world, 30, seed=1)


@pytest.mark.soak
def test_a_thousand_combos_with_a_tenth_of_flakes(world: World) -> None:
    flaky_matrix(world, 1000, seed=2)


def test_retry_is_a_new_run_that_names_the_old_one(world: World) -> None:
    world.call("run", *world.matrix(world.task(), world.task("other"), configs="noop"))
    (old,) = world.runs.iterdir()
    nothing = world.call("retry", old.name)
    assert nothing.returncode == 2 and "--failed" in nothing.stderr
    again = world.call("retry", old.name, "other", RESUME_STAMP=old.name)
    assert again.returncode == 1, again.stderr
    (new,) = set(world.runs.iterdir()) - {old}
    plan = json.loads((new / "plan.json").read_text())
    assert plan["retry_of"] == old.name and [c["rid"] for c in plan["combos"]] == ["other__none__noop"]
    assert len(of(old, "combo_finished")) == 2, "the old run stays as it is"
    both = world.call("retry", old.name, "--failed", "--detach")
    assert both.returncode == 0 and "STAMP=" in both.stdout


# -- hands off --------------------------------------------------------------------------------------------------------


def test_hands_off_restarts_a_dead_supervisor_and_tells_of_the_end(world: World) -> None:
    heard = world.root / "heard"
    heard.mkdir()
    script = world.root / "hear.sh"
    script.write_text(f"#!/bin/sh\ncat > {heard}/draft.$$ && mv {heard}/draft.$$ {heard}/$$.json\n")
    script.chmod(0o755)
    env = {"BENCH_NOTIFY_COMMAND": str(script), "BENCH_HEARTBEAT_SEC": "1"}
    task = world.task(before=WAITING)
    run_dir = world.launch("--hands-off", *world.matrix(task, world.task("second"), max_parallel="1"), **env)
    working(run_dir)
    until(lambda: of(run_dir, "heartbeat"), "a heartbeat")
    path = run_dir / "heartbeat.json"
    beat = until(lambda: b if (b := json.loads(path.read_text()))["active"] == {"agent": 1} else None, "it says so")
    assert (beat["total"], beat["done"], beat["state"]) == (2, 0, "running")
    os.kill(json.loads((run_dir / "supervisor.json").read_text())["pid"], signal.SIGKILL)
    until(lambda: of(run_dir, "adopted"), "the watchdog starts another supervisor", 60)
    assert not any("done" in kind for kind in kinds(heard)), "no completion before the end"
    world.release(RID)
    done(run_dir)
    until(lambda: "devops_bench_done" in kinds(heard), "people are told")
    assert kinds(heard).count("devops_bench_done") == 1 and "devops_bench_heartbeat" in kinds(heard)
    last = next(one for one in messages(heard) if one["metadata"]["event_type"] == "devops_bench_done")
    assert run_dir.name in last["text"] and "2 passed" in last["text"] and last["blocks"]
    assert_no_residue(world)
    assert "done" in (run_dir / "keepalive.log").read_text()


def test_the_printed_cron_line_revives_a_run_from_an_empty_environment(tmp_path: Path) -> None:
    world = World(tmp_path / "a place")
    flags = world.matrix(world.task(before=WAITING))
    launched = world.call("run", "--hands-off", "--detach", *flags, DEVOPS_BENCH_CACHE=str(world.root / "cache"))
    (run_dir,) = world.runs.iterdir()
    working(run_dir)
    (line,) = [text for text in launched.stderr.splitlines() if text.strip().startswith("cron:")]
    command = line.split(":", 1)[1].split(None, 5)[5]
    cron = ["env", "-i", "PATH=/usr/bin:/bin", f"HOME={os.environ['HOME']}", "sh", "-c", command]

    def minute() -> None:
        ran = subprocess.run(cron, capture_output=True, text=True, timeout=120, cwd="/")
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")

    minute()
    assert not of(run_dir, "resumed"), "its supervisor lives"
    for pid, words in processes(str(run_dir)):
        if "supervisor.keepalive" in words:
            os.kill(pid, signal.SIGKILL)
    os.kill(json.loads((run_dir / "supervisor.json").read_text())["pid"], signal.SIGKILL)
    minute()
    until(lambda: of(run_dir, "adopted"), "it goes on")
    pid = json.loads((run_dir / "supervisor.json").read_text())["pid"]
    assert f"PATH={os.environ['PATH']}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    world.release(RID)
    done(run_dir)
    minute()
    assert_no_residue(world)


def test_the_watchdog_leaves_a_stopped_run_alone(world: World) -> None:
    run_dir = world.launch("--hands-off", *world.matrix(world.task(before=WAITING)))
    working(run_dir)
    assert world.call("stop", "--now", run_dir.name).returncode == 0
    until(lambda: "stopped" in (run_dir / "keepalive.log").read_text(), "the watchdog ends")
    assert world.call("resume", "--keepalive", run_dir.name).returncode == 0
    assert not of(run_dir, "resumed")
    assert_no_residue(world)


def test_the_last_heartbeat_says_what_became_of_the_run(world: World) -> None:
    run_dir = world.launch(*world.matrix(world.task(before=WAITING)))
    working(run_dir)
    assert heartbeat(run_dir)["state"] == "running"
    os.kill(json.loads((run_dir / "supervisor.json").read_text())["pid"], signal.SIGKILL)
    assert world.call("stop", "--now", run_dir.name).returncode == 0
    assert (heartbeat(run_dir)["state"], heartbeat(run_dir)["pid"]) == ("stopped", None), "nobody else can say so"
    assert world.call("resume", "--detach", run_dir.name).returncode == 0
    working(run_dir, 2)
    assert world.call("stop", "--now", run_dir.name).returncode == 0
    assert heartbeat(run_dir)["state"] == "stopped"
    assert world.call("resume", "--detach", run_dir.name).returncode == 0
    working(run_dir, 3)
    world.release(RID)
    done(run_dir)
    last = heartbeat(run_dir)
    assert (last["state"], last["done"], last["total"], last["active"]) == ("done", 1, 1, {})


def heartbeat(run_dir: Path) -> dict[str, Any]:
    return json.loads((run_dir / "heartbeat.json").read_text())  # type: ignore[no-any-return]


def messages(path: Path) -> list[dict[str, dict[str, str]]]:
    return [json.loads(file.read_text()) for file in path.glob("*.json")]


def kinds(path: Path) -> list[str]:
    return [one["metadata"]["event_type"] for one in messages(path)]


# -- looking at the host ----------------------------------------------------------------------------------------------


def test_preflight_works_through_the_list_and_names_each_fix(world: World) -> None:
    run_dir = world.launch(*world.matrix(world.task(before=WAITING)))
    working(run_dir)
    active = json.loads(world.call("preflight", "--json", run_dir.name).stdout)
    assert [one["check"] for one in active["checks"]][:4] == ["residue", "lock", "disk", "inotify"]
    started = of(run_dir, "combo_started")[0]["worker"]["pid"]
    for pid in (json.loads((run_dir / "supervisor.json").read_text())["pid"], started):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{started}").exists(), "the combo is dead")
    answer = world.call("preflight", run_dir.name)
    assert answer.returncode == 3 and "WRONG   residue" in answer.stdout and "devops-bench clean" in answer.stdout
    dry = world.call("clean", "--dry-run")
    assert f"would remove state of {RID}" in dry.stdout and (world.state / RID).exists()
    assert world.call("clean").returncode == 0 and not (world.state / RID).exists()
    assert world.call("preflight", run_dir.name).returncode == 0
    doctor = world.call("doctor", "--json")
    dead = [line for line in json.loads(doctor.stdout) if line["area"] == "runs"]
    assert dead[0]["fix"] == f"devops-bench resume {run_dir.name}"


def test_clean_leaves_what_is_active_alone(world: World) -> None:
    run_dir = world.launch(*world.matrix(world.task(before=WAITING)))
    working(run_dir)
    assert "nothing to remove" in world.call("clean").stdout
    world.release(RID)
    done(run_dir)
    assert (run_dir / RID / "status").read_text() == "exit=0\n"
    old = world.call("clean", "--runs-older-than", "0", "--yes")
    assert run_dir.name in old.stdout and not run_dir.exists()
