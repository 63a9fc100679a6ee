"""A hostile model behind every CLI: what it tries in the sandbox is contained, leaves nothing, and can be seen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devops_bench.sandbox.limits import SandboxLimits
from tests.hostile_scripts import CANARY, ESCAPED, HOSTILE, Hostile
from tests.hostile_scripts import World as HostWorld

from .agents_world import ANSWER, CLIS, Ran, ensure_installed, run
from .world import World, assert_no_residue

pytestmark = pytest.mark.sandbox

BY_NAME = {hostile.name: hostile for hostile in HOSTILE}
# One conversation tries them one after the other; the first ten of the list that ends by itself and harms no other try.
LOOKING = (
    "read-host-files", "other-attempts", "answers", "proc-of-the-harness", "metadata-address", "other-ports",
    "outlive-the-run", "print-keys", "links-for-the-host-to-follow",
)  # fmt: skip
EXHAUSTING = ("fork-bomb", "fill-the-disk", "eat-memory", "many-processes")
QUICK = {"codex", "claude"}


@pytest.fixture
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostWorld]:
    with HostWorld(tmp_path_factory.mktemp("host"), eat=SandboxLimits().memory_bytes + (1 << 30)) as made:
        yield made


def attack(world: World, host: HostWorld, agent: str, hostiles: list[Hostile], **env: str) -> Ran:
    turns: list[dict[str, Any]] = [{"shell": hostile.text(host)} for hostile in hostiles]
    turns += [{"shell": ANSWER}, {"text": "Done."}]
    key = f"sk-{CANARY}-key"
    return run(world, agent, world.task(), {"turns": turns}, OPENAI_API_KEY=key, ANTHROPIC_API_KEY=key, **env)


def contained(ran: Ran, host: HostWorld, before: dict[Path, bytes]) -> None:
    results = "\n".join(str(call["result"]) for call in ran.record["trajectory"])
    assert ESCAPED not in results, results
    assert CANARY not in results
    assert CANARY not in ran.all_files()
    assert not host.called()
    assert {path: path.read_bytes() for path in host.host.rglob("*") if path.is_file()} == before
    assert host.left() == []


@pytest.mark.parametrize(
    "agent",
    [pytest.param(agent, marks=[] if agent in QUICK else [pytest.mark.soak]) for agent in ("api", *CLIS)],
)
def test_looking_around_is_contained_and_seen(world: World, host: HostWorld, agent: str) -> None:
    ensure_installed(agent)
    before = {path: path.read_bytes() for path in host.host.rglob("*") if path.is_file()}
    ran = attack(world, host, agent, [BY_NAME[name] for name in LOOKING])
    assert ran.end == "completed", ran.explain()
    assert len(ran.record["trajectory"]) == len(LOOKING) + 1
    contained(ran, host, before)
    report = ran.record["cheating_report"]
    wanted = {BY_NAME[name].category for name in LOOKING} - {None}
    assert wanted <= set(report["categories"]), report["categories"]
    assert report["status"] == "flagged"
    assert ran.outcome["state"] == "failed"  # the task itself was done: the breach alone fails it
    assert_no_residue(world)


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        pytest.param(
            agent,
            name,
            id=f"{agent}-{name}",
            marks=[] if (agent, name) == ("codex", "fork-bomb") else [pytest.mark.soak],
        )
        for agent in CLIS
        for name in EXHAUSTING
    ],
)
def test_using_everything_up_harms_nobody_else(world: World, host: HostWorld, agent: str, name: str) -> None:
    ensure_installed(agent)
    before = {path: path.read_bytes() for path in host.host.rglob("*") if path.is_file()}
    limit = "120" if agent == "openclaw" else "40"
    ran = attack(world, host, agent, [BY_NAME[name]], AGENT_TIMEOUT_SEC=limit)
    contained(ran, host, before)
    # However it went, it is judged: an agent that breaks its own run gets no other one for it.
    assert ran.end in {"completed", "timeout", "max_turns", "self_ended"}, ran.explain()
    assert ran.outcome["state"] in {"scored", "failed"}, ran.explain()
    assert json.loads((ran.directory / "outcome.json").read_bytes())["residue"] == []
    assert_no_residue(world)
