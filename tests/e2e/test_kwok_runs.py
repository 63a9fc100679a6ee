"""Matrices on the embedded control plane, end to end: verdicts, evidence, and what dies with what."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from devops_bench.process import ProcessIdentity

from . import agents_world
from .world import PROGRAM, World, assert_no_residue, attempts, done, of, until, working

pytestmark = [pytest.mark.kwok, pytest.mark.sandbox]

SOLUTION = (
    "#!/usr/bin/env bash\nset -eu\n{before}\n# fix: scale\nkubectl -n shop scale deployment web --replicas 3\n# end\n"
)
WAIT = "for i in $(seq 600); do sleep 0.1; [ -e go ] && break; done"


@pytest.fixture(autouse=True)
def _binary(kube_binary: Path, world: World) -> None:
    world.env["DEVOPS_BENCH_KUBE"] = str(kube_binary)


def scale_task(world: World, name: str = "scale-up", before: str = "") -> Path:
    """Without the note, solved by a script that first runs `before`."""
    return agents_world.scale_task(world, name, noted=False, solution=SOLUTION.format(before=before))


def audit(attempt: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (attempt / "audit.jsonl").read_text().splitlines()]


def test_solved_and_idle_side_by_side_with_evidence_and_no_residue(world: World) -> None:
    finished = world.call("run", *world.matrix(scale_task(world), configs="scripted noop"), timeout=300)
    assert finished.returncode == 1, finished.stderr + finished.stdout
    (run_dir,) = world.runs.iterdir()
    scored, failed = "scale-up__none__scripted", "scale-up__none__noop"
    assert (run_dir / scored / "status").read_text() == "exit=0\n"
    assert (run_dir / failed / "status").read_text() == "exit=1\n"
    (attempt,) = attempts(run_dir, scored)
    recorded = audit(attempt)
    assert {event["user"]["username"] for event in recorded} == {"agent"}, "only the agent is in the audit log"
    writes = [e for e in recorded if e["verb"] in {"patch", "update", "create", "delete"}]
    assert [(e["verb"], e["objectRef"]["resource"], e["objectRef"].get("subresource")) for e in writes] == [
        ("patch", "deployments", "scale")
    ]
    assert writes[0]["requestObject"]["spec"]["replicas"] == 3
    assert audit(attempts(run_dir, failed)[0]) == []
    environment = json.loads((attempt / "environment.json").read_text())
    assert environment["control_plane"]["versions"]["kubernetes"]
    assert_no_residue(world)


def test_a_control_plane_that_dies_makes_the_attempt_invalid_and_it_is_tried_again(world: World) -> None:
    run_dir = world.launch(*world.matrix(scale_task(world, before=WAIT)))
    working(run_dir)
    lease = json.loads(next(world.state.glob("planes/*/lease.json")).read_text())
    os.kill(lease["plane"]["pid"], signal.SIGKILL)
    working(run_dir, 2)
    world.release("scale-up__none__scripted")
    done(run_dir, 180)
    first, second = of(run_dir, "combo_finished")
    assert (first["state"], first["class"], first["signature"]) == ("invalid", "infra", "control-plane-died")
    assert (second["state"], second["score"]) == ("scored", 1)
    assert_no_residue(world)


def test_a_killed_combo_takes_its_agent_and_control_plane_with_it(world: World) -> None:
    run_dir = world.launch(*world.matrix(scale_task(world, before=WAIT)), BENCH_POOL_SIZE="0")
    working(run_dir)
    lease = json.loads(next(world.state.glob("planes/*/lease.json")).read_text())
    plane = ProcessIdentity.from_data(lease["plane"])
    assert plane is not None and plane.alive()
    supervisor = json.loads((run_dir / "supervisor.json").read_text())["pid"]
    os.kill(supervisor, signal.SIGSTOP)
    try:
        (started,) = of(run_dir, "combo_started")
        os.kill(started["worker"]["pid"], signal.SIGKILL)
        until(lambda: not plane.alive(), "the control plane ends although the supervisor is stopped", 30)
    finally:
        os.kill(supervisor, signal.SIGCONT)
    working(run_dir, 2)
    assert world.call("stop", "--now", run_dir.name).returncode == 0
    assert_no_residue(world)


def test_killing_everything_leaves_nothing_after_the_next_attach(world: World) -> None:
    run_dir = world.launch(*world.matrix(scale_task(world, before=WAIT), scale_task(world, "other", before=WAIT)))
    working(run_dir)
    pids = [json.loads((run_dir / "supervisor.json").read_text())["pid"]]
    pids += [event["worker"]["pid"] for event in of(run_dir, "combo_started")]
    for pid in pids:
        subprocess.run(["kill", "-KILL", str(pid)], check=False)
    attached = world.call("attach", run_dir.name)
    assert attached.returncode == 3 and "resume" in attached.stderr
    assert_no_residue(world)
    for scripts in world.tasks.glob("*/solution/solve.sh"):
        assert WAIT in scripts.read_text()
    process = subprocess.Popen(
        [PROGRAM, "resume", run_dir.name], env=world.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )

    def release() -> bool:
        for rid in ("scale-up__none__scripted", "other__none__scripted"):
            with contextlib.suppress(FileNotFoundError):  # not there yet, or gone already
                world.release(rid)
        return process.poll() is not None

    until(release, "the resumed run ends", 240)
    output = process.communicate()[0].decode()
    assert process.returncode == 0, output
    assert_no_residue(world)


def test_a_pool_serves_many_combos_one_plane_each(world: World) -> None:
    tasks = [scale_task(world, f"scale-{n}") for n in range(3)]
    finished = world.call("run", *world.matrix(*tasks), timeout=300)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    (run_dir,) = world.runs.iterdir()
    leases = [
        json.loads((attempts(run_dir, e["rid"])[0] / "attempt.json").read_text())["lease"]
        for e in of(run_dir, "combo_finished")
    ]
    assert len(set(leases)) == 3, "a control plane is used once"
    assert_no_residue(world)


def test_the_combo_command_runs_one_task_with_a_cluster_of_its_own(world: World) -> None:
    folder = scale_task(world)
    finished = subprocess.run(
        [PROGRAM, "combo", "--agent-type", "scripted", "--results-root", str(world.root / "out"), str(folder)],
        env=world.environment(RUN_ID="mine"),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    (run_dir,) = (world.root / "out").iterdir()
    assert run_dir.name.endswith("_mine")
    (record,) = json.loads((run_dir / "results.json").read_text())
    assert record["scores"]["OutcomeScore"]["score"] == 1
    assert_no_residue(world)
