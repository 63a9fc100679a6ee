"""What hangs or takes too much ends within its limit, under the right class, and harms nobody beside it.

Each case runs in one matrix with a combo that works at the same time: that one is scored in its first attempt.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from .agents_world import mcp_server, scenario
from .test_kwok_runs import scale_task
from .world import World, assert_no_residue, attempts, done, of, until

pytestmark = pytest.mark.sandbox
BESIDE = "beside"
LONG = 900.0
"""Seconds until a test gives up: the limits themselves are far shorter, the host may be busy."""

HOSTILE = {
    # name: (script, the end of the agent's turn, state)
    "ignores-term": ("trap '' TERM INT HUP; while true; do sleep 1; done", "timeout", "failed"),
    "writes-10-gb": ("set +e; head -c 10G /dev/zero > big; rm big; set -e", "completed", "scored"),
    "fills-its-disk": ("head -c 10G /dev/zero > big", None, "failed"),
    "prints-10-gb": ("head -c 10G /dev/zero | tr '\\0' x", None, "failed"),
    "1000-processes": ("for i in $(seq 1000); do sleep 600 & done", "completed", "scored"),
    "forks-without-end": ("set +e; f() { f | f & }; f; while true; do sleep 1; done", None, "failed"),
}
QUICK = ("ignores-term", "writes-10-gb", "1000-processes")


@pytest.fixture(autouse=True)
def _no_smoke(world: World) -> None:
    world.env["BENCH_SMOKE"] = "off"


def rid(task: str) -> str:
    return f"{task}__none__scripted"


def ended(run_dir: Path, name: str) -> list[dict[str, Any]]:
    return [e for e in of(run_dir, "combo_finished") if e["rid"] == name]


def unharmed(run_dir: Path, name: str) -> None:
    """It worked while the others did, once, and was scored."""
    (own,) = ended(run_dir, name)
    assert (own["state"], own["score"]) == ("scored", 1), own
    (began,) = [e["seq"] for e in of(run_dir, "combo_started") if e["rid"] == name]
    others = {(e["rid"], e["attempt"]): e["seq"] for e in of(run_dir, "combo_started") if e["rid"] != name}
    ends = {(e["rid"], e["attempt"]): e["seq"] for e in of(run_dir, "combo_finished")}
    assert any(start < own["seq"] and ends[one] > began for one, start in others.items()), "it ran at the same time"


def told(run_dir: Path, name: str) -> dict[str, Any]:
    """attempt.json of the first attempt."""
    found: dict[str, Any] = json.loads((attempts(run_dir, name)[0] / "attempt.json").read_text())
    return found


def hostile_matrix(world: World, names: tuple[str, ...]) -> None:
    beside = world.task(BESIDE, before="for i in $(seq 40); do sleep 0.1; done")
    tasks = [world.task(name, before=HOSTILE[name][0]) for name in names]
    flags = world.matrix(beside, *tasks, max_parallel=str(len(tasks) + 1), agent_timeout_sec="30")
    run_dir = world.launch(*flags)
    done(run_dir, LONG)
    for name in names:
        _, end, state = HOSTILE[name]
        (last,) = ended(run_dir, rid(name))
        said = told(run_dir, rid(name))
        assert last["state"] == state, (name, last, said)
        assert last["class"] is None, (name, last)
        assert end is None or said["end"] == end, (name, said)
    unharmed(run_dir, rid(BESIDE))
    assert_no_residue(world)


def test_agents_that_take_what_they_can_end_at_their_limits(world: World) -> None:
    hostile_matrix(world, QUICK)


@pytest.mark.soak
@pytest.mark.parametrize("name", HOSTILE)
def test_an_agent_that_takes_what_it_can_ends_at_its_limit(world: World, name: str) -> None:
    hostile_matrix(world, (name,))


@pytest.mark.kwok
@pytest.mark.soak
def test_a_control_plane_that_hangs_is_the_infrastructure_s_fault(world: World, kube_binary: Path) -> None:
    """Stopped, not dead: nothing closes, nothing answers."""
    world.env["DEVOPS_BENCH_KUBE"] = str(kube_binary)
    hung = scale_task(
        world, "hung", before="until [ -e go ]; do kubectl get pods >/dev/null && touch go; done; sleep 5"
    )
    beside = world.task(BESIDE, before="sleep 50")
    flags = world.matrix(hung, beside, max_parallel="2", agent_timeout_sec="70")
    run_dir = world.launch(*flags, BENCH_POOL_SIZE="0")
    name = rid("hung")
    until(lambda: [e for e in of(run_dir, "phase") if e["rid"] == name and e["phase"] == "agent"], "it works", 300)
    lease = json.loads(next(world.state.glob("planes/*/lease.json")).read_text())
    os.kill(lease["plane"]["pid"], signal.SIGSTOP)
    first = until(lambda: ended(run_dir, name), "the attempt ends", LONG)[0]
    assert (first["state"], first["class"]) == ("invalid", "infra"), first
    done(run_dir, LONG)
    assert ended(run_dir, name)[-1]["state"] == "scored", "tried again on a plane that works"
    unharmed(run_dir, rid(BESIDE))
    assert_no_residue(world)


@pytest.mark.parametrize(
    "limit",
    [pytest.param("45", id="longer-than-the-agent-may"), pytest.param("600", id="within", marks=pytest.mark.soak)],
)
def test_an_mcp_server_that_hangs_is_the_setup_s_fault(world: World, limit: str) -> None:
    """Whichever limit comes first, the agent's or that of one call: the model is not blamed."""
    play = {
        "sections": [{"when": "hung", "turns": [{"mcp": "freeze"}, {"text": "Done."}]}],
        "turns": [{"shell": "sleep 6; echo ready > answer.txt"}, {"text": "Done."}],
    }
    hung, beside = world.task("hung"), world.task(BESIDE)
    text = (hung / "task.yaml").read_text()
    (hung / "task.yaml").write_text(text.replace("Write the word", "Be hung, then write the word"))
    more = {"scenarios_dir": str(world.root / "scenarios"), "max_parallel": "2", "agent_timeout_sec": limit}
    flags = world.matrix(hung, beside, models=scenario(world, play), configs="api+mcp", **more)
    run_dir = world.launch(*flags, **mcp_server(world))
    done(run_dir, LONG)
    by_task = {e["rid"].split("__")[0]: e["rid"] for e in of(run_dir, "combo_started")}
    first = ended(run_dir, by_task["hung"])[0]
    assert (first["state"], first["class"]) == ("invalid", "setup"), first
    assert "mcp-server" in first["signature"], first
    unharmed(run_dir, by_task[BESIDE])
    assert_no_residue(world)
