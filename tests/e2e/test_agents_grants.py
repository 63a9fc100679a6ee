"""Every CLI with every set of grants solves a task on a real cluster, and others than the CLI bear witness to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .agents_world import CLIS, GRANTS, Ran, ensure_installed, run, scale_task
from .world import World, assert_no_residue

pytestmark = [pytest.mark.kwok, pytest.mark.sandbox]

# In `make test`: each CLI once with everything, the quickest one with each set; OpenCode has a live test of its own.
QUICK = {(agent, "+mcp+skills") for agent in ("api", *CLIS) if agent != "opencode"} | {
    ("codex", grants) for grants in GRANTS
}


def cases() -> list[Any]:
    return [
        pytest.param(agent, grants, id=f"{agent}{grants}", marks=[] if (agent, grants) in QUICK else [pytest.mark.soak])
        for agent in ("api", *CLIS)
        for grants in GRANTS
    ]


def document(grants: str) -> dict[str, Any]:
    turns: list[dict[str, Any]] = []
    if "+skills" in grants:
        turns.append({"text": "The skill first.", "skill": "raise-replicas"})
    if "+mcp" in grants:
        turns.append({"mcp": {"tool": "pods_list_in_namespace", "args": {"namespace": "shop"}}})
    turns += [
        {"shell": "kubectl -n shop scale deployment web --replicas 3"},
        {"file": {"action": "write", "path": "note.txt", "content": "three replicas\n"}},
        {"text": "The deployment web has three replicas now."},
    ]
    return {"usage": {"input": 1000, "output": 50, "cached": 200, "reasoning": 10}, "turns": turns}


@pytest.mark.parametrize(("agent", "grants"), cases())
def test_a_task_is_solved_and_every_grant_is_proved(world: World, kube_binary: Path, agent: str, grants: str) -> None:
    ensure_installed(agent, "kubernetes-mcp-server")
    world.env["DEVOPS_BENCH_KUBE"] = str(kube_binary)
    ran = run(world, agent, scale_task(world), document(grants), grants=grants)
    assert ran.ended == ("scored", None, None), ran.explain()
    assert (ran.code, ran.end) == (0, "completed")
    assert ran.record["terminal_reason"] == "completed"
    assert ran.record["output"] == "The deployment web has three replicas now."

    turns = len(document(grants)["turns"])
    assert ran.record["model_turns"] == turns
    assert ran.record["tokens"]["input"] == 1000 * turns
    assert ran.record["tokens"]["output"] == 50 * turns
    assert ran.record["tokens"]["reasoning"] == 10 * turns
    assert len(ran.record["trajectory"]) == turns - 1
    assert all(call["status"] == "ok" for call in ran.record["trajectory"]), ran.record["trajectory"]
    assert any("scaled" in call["result"] for call in ran.record["trajectory"])

    with_mcp, with_skills = "+mcp" in grants, "+skills" in grants
    assert ran.told["mcp_calls"] == len(ran.lines("mcp.jsonl")) == (1 if with_mcp else 0)
    assert ran.record["capabilities_granted"] == {
        "use_mcp": with_mcp, "skills": ["raise-replicas"] if with_skills else []
    }  # fmt: skip
    assert ran.record["skills"] == (["raise-replicas"] if with_skills else [])
    assert ran.told["agreement"]["status"] == "agrees", ran.told["agreement"]
    _evidence(ran, with_mcp)
    assert_no_residue(world)


def _evidence(ran: Ran, with_mcp: bool) -> None:
    """The API server's own log tells the shell from the MCP server; the environment tells what ran."""
    users = {event["user"]["username"] for event in ran.lines("audit.jsonl")}
    assert "agent" in users
    assert ("agent-mcp" in users) is with_mcp
    environment = ran.environment
    assert environment["agent"]["version"]
    assert environment["agent"]["cpu_sec"] > 0
    # The loop of `api` runs in the harness: only its commands count, a shell at a time.
    assert environment["agent"]["rss_peak"] > (1 << 16 if environment["agent"]["name"] == "api" else 1 << 20)
    assert environment["network"] == "closed"
    assert environment["auth_mode"] == "scripted"
    assert environment["model_gateway"]["requests"] == ran.record["model_turns"]
    assert environment["mcp_server"].get("tools", 0) >= 15 if with_mcp else environment["mcp_server"] == {}
    requests = [line for line in ran.lines("model.jsonl") if line["event"] == "request"]
    assert len(requests) >= ran.record["model_turns"]
