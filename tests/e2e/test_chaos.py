"""Random SIGKILLs over supervisor, fork server, combos, agents and planes: nothing lost, doubled or left behind.

The seed is in the test's id and in every failure; one seed plays one plan of kills (their timing is the host's).
`make test` plays one seed with a few kills, `make soak` fifty kills over ten seeds.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest

from devops_bench.settings import ComboState

from .test_kwok_runs import scale_task
from .world import World, assert_no_residue, events, of, processes, until

pytestmark = [pytest.mark.kwok, pytest.mark.sandbox]
TARGETS = ("supervisor", "zygote", "combo", "agent", "plane")


@pytest.fixture(autouse=True)
def _binary(kube_binary: Path, world: World) -> None:
    world.env["DEVOPS_BENCH_KUBE"] = str(kube_binary)


@pytest.mark.parametrize("seed", [1])
def test_a_few_kills(world: World, seed: int) -> None:
    chaos(world, seed, kills=4)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10, 20))
def test_fifty_kills(world: World, seed: int) -> None:
    chaos(world, seed, kills=5)


def chaos(world: World, seed: int, kills: int) -> None:
    rng = random.Random(seed)
    nap = "sleep 0.5"
    tasks = [scale_task(world, f"kwok-{n}", before=nap) for n in range(3)]
    tasks += [world.task(f"none-{n}", before=nap) for n in range(6)]
    rng.shuffle(tasks)
    run_dir = world.launch(*world.matrix(*tasks, max_parallel="3"))
    killed: list[str] = []
    for _ in range(kills):
        time.sleep(rng.uniform(0.1, 2.0))  # the one place where real time is the subject
        target = rng.choice(TARGETS)
        if kill(world, run_dir, target, rng):
            killed.append(target)
        if (run_dir / ".done").exists():
            break
        if not supervised(run_dir):
            answer = world.call(*rng.choice([["resume", "--detach"], ["resume", "--detach"], ["attach"]]), run_dir.name)
            assert answer.returncode in {0, 3, 4}, (seed, answer.stderr)
    if not (run_dir / ".done").exists() and not supervised(run_dir):
        assert world.call("resume", "--detach", run_dir.name).returncode == 0, seed
    until(lambda: (run_dir / ".done").exists() or not supervised(run_dir), f"seed {seed}: the run ends", 240)
    assert (run_dir / ".done").exists(), (seed, killed, (run_dir / "supervisor.log").read_text()[-2000:])
    print(f"seed {seed}: killed {', '.join(killed)}")
    verify(run_dir, seed, killed, len(tasks))
    assert_no_residue(world)


def supervised(run_dir: Path) -> bool:
    from devops_bench.supervisor import locks

    return locks.held(run_dir)


def kill(world: World, run_dir: Path, target: str, rng: random.Random) -> bool:
    """SIGKILL one process of that kind; False when there is none now."""
    found = candidates(world, run_dir, target)
    if not found:
        return False
    try:
        os.kill(rng.choice(found), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def candidates(world: World, run_dir: Path, target: str) -> list[int]:
    if target == "supervisor":
        return [pid for pid, line in processes(str(run_dir)) if "devops_bench.supervisor " in line]
    if target == "zygote":
        return [pid for pid, line in processes(str(run_dir)) if "supervisor.zygote" in line]
    if target == "combo":
        ended = {(e["rid"], e["attempt"]) for e in of(run_dir, "combo_finished")}
        started = of(run_dir, "combo_started")
        return [e["worker"]["pid"] for e in started if (e["rid"], e["attempt"]) not in ended]
    if target == "plane":
        return [
            lease["plane"]["pid"]
            for path in world.state.glob("planes/*/lease.json")
            if (lease := read(path)) is not None and lease.get("plane")
        ]
    return [pid for pid, line in processes("solve") if "bwrap" in line]


def read(path: Path) -> dict[str, dict[str, int]] | None:
    try:
        found: dict[str, dict[str, int]] = json.loads(path.read_text())
        return found
    except (OSError, ValueError):
        return None


def verify(run_dir: Path, seed: int, killed: list[str], combos: int) -> None:
    """Every combo has one final verdict; none ran again after it; sequence numbers are whole."""
    journal = events(run_dir)
    context = (seed, killed)
    assert [e["seq"] for e in journal] == list(range(1, len(journal) + 1)), context
    assert sum(e["event"] == "done" for e in journal) == 1, context
    final: dict[str, str] = {}
    for event in journal:
        rid = event.get("rid")
        if event["event"] == "combo_started":
            assert final.get(rid) not in {"scored", "failed"}, (context, rid, "ran again after its verdict")
        if event["event"] == "combo_finished":
            assert final.get(rid) not in {"scored", "failed"}, (context, rid, "finished twice")
            final[rid] = event["state"]
    assert len(final) == combos, context
    allowed = {ComboState.SCORED.value} | ({ComboState.INVALID.value} if killed else set())
    # An agent that is killed ends like a script that failed: judged, and rightly not solved.
    allowed |= {ComboState.FAILED.value} if "agent" in killed else set()
    assert set(final.values()) <= allowed, (context, final)
    for rid in final:
        assert (run_dir / rid / "status").read_text().startswith("exit="), context
