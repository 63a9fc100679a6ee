"""AGENT_ALLOWED_TOOLS narrows what a model is offered, in every CLI: the server's tools, and the CLI's own."""

from __future__ import annotations

import json

import pytest

from devops_bench import agents
from devops_bench.combo.surfaces import surface_of
from devops_bench.models.player import WIRES

from .agents_world import ANSWER, CLIS, ECHO, Ran, ensure_installed, mcp_server, run
from .world import World, assert_no_residue

pytestmark = pytest.mark.sandbox

# What is left of a CLI's own tools; Codex cannot leave any of its own out.
OWN = {
    "claude": "Bash",
    "gemini": "run_shell_command",
    "openclaw": "exec",
    "opencode": "bash",
    "codex": "",
    "api": "bash",
}
QUICK = {"claude", "codex", "gemini"}


def offered(ran: Ran, wire: str) -> set[str]:
    """All that the first request with tools offers."""
    for line in ran.lines("model.jsonl"):
        if line["event"] == "request":
            body = json.loads(line["body"])
            tools = WIRES[wire].heading(body, "m", stream=True, size=0).tools
            if tools:
                return {f"{tool.namespace}__{tool.name}" if tool.namespace else tool.name for tool in tools}
    return set()


@pytest.mark.parametrize(
    "agent", [pytest.param(agent, marks=[] if agent in QUICK else [pytest.mark.soak]) for agent in ("api", *CLIS)]
)
def test_only_the_tools_that_are_allowed_are_offered(world: World, agent: str) -> None:
    ensure_installed(agent)
    allowed = ",".join(filter(None, (OWN[agent], "echo")))
    turns = {"turns": [ECHO, {"shell": ANSWER}, {"text": "Done."}]}
    ran = run(world, agent, world.task(), turns, grants="+mcp", AGENT_ALLOWED_TOOLS=allowed, **mcp_server(world))
    assert ran.ended == ("scored", None, None), ran.explain()
    assert ran.told["mcp_calls"] == 1
    there = agents.get(agent)
    surface = surface_of(there)
    assert surface is not None
    names = offered(ran, there.wires[0])
    of_server = {name for name in names if "k8s" in name or name == "echo"} - {
        name.format(server="k8s") for name in getattr(surface, "mcp_tools", ())
    }
    assert of_server == {surface.mcp_name.format(server="k8s", tool="echo")}, names
    own = names & surface.builtin_tools
    assert own == {OWN[agent]} if OWN[agent] else own <= surface.builtin_tools
    assert_no_residue(world)


def test_a_cli_that_cannot_leave_its_own_tools_out_says_so(world: World) -> None:
    ensure_installed("codex")
    ran = run(world, "codex", world.task(), {"turns": ["not asked"]}, AGENT_ALLOWED_TOOLS="exec_command")
    assert ran.outcome["state"] == "invalid" and ran.outcome["class"] == "config-auth", ran.explain()
    assert "cannot leave out its own tools" in ran.outcome["reason"]
    assert not [line for line in ran.lines("model.jsonl") if line["event"] == "request"]
