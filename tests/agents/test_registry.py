"""Every key and alias of the contract is known; what cannot run says how to get it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devops_bench import agents
from devops_bench.errors import ConfigError


@pytest.mark.parametrize("key", ["noop", "scripted", "api"])
def test_built_agents_are_there(key: str) -> None:
    agent = agents.get(key)
    assert agent.key == key
    assert agent.missing({}) is None


@pytest.mark.parametrize(
    ("key", "title"),
    [
        ("antigravity", "Antigravity"),
        ("kubectl-ai", "kubectl-ai"),
        ("hermes", "Hermes"),
        ("adk", "Agent Development Kit"),
    ],
)
def test_a_known_agent_without_an_adapter_says_so_what_works_and_how_one_is_added(key: str, title: str) -> None:
    said = (
        f"agent {key} ({title}) cannot run: this version has no adapter for it; use api, openclaw, gemini, claude, "
        f"codex, opencode, or add an adapter for {key} (docs/extending/agents.md)"
    )
    for env in ({}, {"AGENT_TARGET": "/opt/mine"}):
        assert agents.get(key).missing(env) == said


@pytest.mark.parametrize("key", ["openclaw", "gemini", "claude", "codex", "opencode"])
def test_a_cli_that_is_not_installed_names_the_command(key: str, tmp_path: Path) -> None:
    agent = agents.get(key)
    assert agent.key == key and agent.wires
    line = agent.missing({"PATH": "", "DEVOPS_BENCH_CACHE": str(tmp_path)})
    assert line is not None and f"devops-bench agents install {key}" in line and "\n" not in line
    wrong = agent.missing({"PATH": "", "DEVOPS_BENCH_CACHE": str(tmp_path), "AGENT_TARGET": "/absent/program"})
    assert wrong is not None and "/absent/program" in wrong and "\n" not in wrong


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


PLUGIN = """
from devops_bench.agents.frame.types import Launch, Reading


class Mine:
    key, title, package, binary = "mine", "My agent", "", "mine"
    wires, skills_folder, mcp_name = ("openai",), "", ""
    builtin_tools, skill_tools = frozenset(), frozenset()

    def launch(self, task, program, skills):
        return Launch(tuple(program))

    def follow(self, line):
        return None

    def read(self, left, task):
        return Reading()


def broken():
    raise RuntimeError("no such thing")
"""
ASK = """
import sys
from devops_bench import agents
from devops_bench.agents.frame.run import CliAgent
from devops_bench.errors import ConfigError

agent = agents.get("Mine")
assert isinstance(agent, CliAgent) and agent.wires == ("openai",), agent
assert "put mine on PATH" in agent.missing({"PATH": ""})
assert {"mine", "wrong", "renamed"} <= set(agents.keys())
assert type(agents.get("noop")).__name__ == "NoopAgent", "a plugin cannot take a key of ours"
for key in ("wrong", "renamed", "gone"):
    try:
        agents.get(key)
    except ConfigError as error:
        print(error.message())
"""


def test_a_separate_package_adds_an_agent_by_an_entry_point(tmp_path: Path) -> None:
    info = tmp_path / "site" / "my_agents-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-agents\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[devops_bench.agents]\nmine = my_agents:Mine\nnoop = my_agents:Mine\nwrong = my_agents:broken\n"
        "renamed = my_agents:Mine\ngone = my_agents_gone:Mine\n"
    )
    (tmp_path / "site" / "my_agents.py").write_text(PLUGIN)
    paths = [str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    fix = "update or uninstall my-agents"
    head = "of package my-agents cannot be loaded:"
    assert done.stdout.splitlines() == [
        f"agent wrong {head} RuntimeError: no such thing; {fix}",
        f"agent renamed {head} TypeError: its key is 'mine'; {fix}",
        f"agent gone {head} ModuleNotFoundError: No module named 'my_agents_gone'; {fix}",
    ]


def test_naming_agents_imports_no_adapter_and_no_client() -> None:
    ask = (
        "import sys; from devops_bench.agents import registry; registry.keys(); registry.canonical('claude-code')\n"
        "heavy = {'pydantic', 'devops_bench.agents.frame.run', 'devops_bench.agents.api', 'pydantic_ai'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
