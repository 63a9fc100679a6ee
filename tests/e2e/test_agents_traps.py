"""What makes a label a lie, in the real CLIs: each is caught on the model's first request, before a token is spent.

The CLI is given a switch that its own users have, so that the trap is the CLI's and not a request made up by a test.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

import pytest

from .agents_world import ANSWER, ensure_installed, mcp_server, run
from .world import World, assert_no_residue

pytestmark = pytest.mark.sandbox
SEARCH = json.dumps({"env": {"ENABLE_TOOL_SEARCH": "true"}})
TURNS = {"turns": [{"shell": ANSWER}, {"text": "Done."}]}


@dataclass(frozen=True)
class Trap:
    """`flags` are the CLI's own; `signature` and a word of the reason are what the attempt must end with."""

    agent: str
    grants: str
    flags: tuple[str, ...]
    signature: str
    named: str


TRAPS = {
    "an-allowlist-hides-the-server": Trap(
        "gemini", "+mcp", ("--allowed-mcp-server-names", "other"), "grant-missing", "mcp_k8s_echo"
    ),
    "tool-search-hides-the-schemas": Trap(
        "claude", "+mcp", ("--settings", SEARCH, "--tools", "Bash,Read,ToolSearch"), "grant-missing", "mcp__k8s__"
    ),
    "skills-are-switched-off": Trap(
        "claude", "+skills", ("--disable-slash-commands",), "grant-missing", "raise-replicas"
    ),
    "a-web-tool-in-the-baseline": Trap("claude", "", ("--tools", "Bash,Read,WebFetch"), "grant-leaked", "WebFetch"),
    "a-web-search-of-the-provider": Trap("codex", "", ("-c", 'web_search="live"'), "grant-leaked", "web_search"),
    "bundled-skills-in-the-baseline": Trap(
        "codex", "", ("-c", "skills.bundled.enabled=true"), "grant-leaked", "skill-creator"
    ),
}


@pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS.keys())
def test_a_label_that_lies_is_caught_before_a_token_is_spent(world: World, trap: Trap) -> None:
    ensure_installed(trap.agent)
    env = mcp_server(world) if "+mcp" in trap.grants else {}
    flags = shlex.join(trap.flags)
    ran = run(world, trap.agent, world.task(), TURNS, grants=trap.grants, AGENT_EXTRA_FLAGS=flags, **env)
    assert ran.ended == ("invalid", "setup", trap.signature), ran.explain()
    assert trap.named in ran.outcome["reason"]
    assert ran.told["raw_end"] == "grant_missing"
    assert ran.record["scores"] == {} and ran.record["trajectory"] == []
    assert ran.environment["model_gateway"]["tokens"] == {}
    assert not [line for line in ran.lines("model.jsonl") if line["event"] == "reply" and line["status"] == 200]
    assert_no_residue(world)
