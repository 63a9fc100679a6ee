"""Every key and alias of the contract is known; what cannot run says how to get it."""

from __future__ import annotations

import pytest

from devops_bench import agents
from devops_bench.errors import ConfigError


@pytest.mark.parametrize("key", ["noop", "scripted", "api"])
def test_built_agents_are_there(key: str) -> None:
    agent = agents.get(key)
    assert agent.key == key
    assert agent.missing({}) is None


@pytest.mark.parametrize(
    ("key", "package"),
    [
        ("openclaw", "npm install -g openclaw"),
        ("gemini", "npm install -g @google/gemini-cli"),
        ("claude", "npm install -g @anthropic-ai/claude-code"),
        ("codex", "npm install -g @openai/codex"),
        ("opencode", "npm install -g opencode-ai"),
        ("antigravity", "put antigravity on PATH"),
        ("kubectl-ai", "put kubectl-ai on PATH"),
        ("hermes", "put hermes on PATH"),
        ("adk", "put adk on PATH"),
    ],
)
def test_known_agents_name_their_install_command_in_one_line(key: str, package: str) -> None:
    line = agents.get(key).missing({})
    assert line is not None
    assert package in line and key in line and "AGENT_TARGET" in line
    assert "\n" not in line
    assert "/opt/mine is set" in (agents.get(key).missing({"AGENT_TARGET": "/opt/mine"}) or "")


@pytest.mark.parametrize(
    ("given", "key"), [("gemini-cli", "gemini"), ("claude-code", "claude"), ("API", "api"), (" noop ", "noop")]
)
def test_aliases_resolve(given: str, key: str) -> None:
    assert agents.canonical(given) == key


def test_an_unknown_agent_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"no agent 'gemni'; did you mean gemini\?"):
        agents.get("gemni")
    with pytest.raises(ConfigError, match="the agents are noop, scripted, api"):
        agents.get("zzz")
