"""Every agent by its canonical key: the ones that run, and the ones we know but cannot run yet.

Adapters are imported only when asked for: the command line names agents it never runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module

from devops_bench.agents.base import Agent, AgentRun, AgentTask
from devops_bench.errors import ConfigError
from devops_bench.sandbox import Bind

ALIASES = {"gemini-cli": "gemini", "claude-code": "claude"}
BUILT = {
    "noop": ("devops_bench.agents.noop", "NoopAgent"),
    "scripted": ("devops_bench.agents.scripted", "ScriptedAgent"),
    "api": ("devops_bench.agents.api", "ApiAgent"),
}


@dataclass(frozen=True, slots=True)
class KnownCli:
    """A real CLI whose adapter does not exist yet. It is always missing, and says how it will be installed."""

    key: str
    title: str
    package: str
    binary: str

    def missing(self, env: Mapping[str, str]) -> str | None:
        """One line: what is not there, how it is installed, which variable points at a binary."""
        install = f"npm install -g {self.package}" if self.package else f"put {self.binary} on PATH"
        target = env.get("AGENT_TARGET")
        here = f"AGENT_TARGET={target} is set, but " if target else ""
        return (
            f"agent {self.key} ({self.title}): {here}this version has no adapter for it yet; it will run {self.binary} "
            f"(install: {install}; AGENT_TARGET overrides the binary)"
        )

    @property
    def wires(self) -> tuple[str, ...]:
        """None yet."""
        return ()

    def binds(self, env: Mapping[str, str]) -> tuple[Bind, ...]:
        """None yet."""
        return ()

    def run(self, task: AgentTask) -> AgentRun:
        """Refuse: ConfigError with the line of `missing`."""
        raise ConfigError(self.missing(task.env) or "", fix="use api, scripted or noop")


KNOWN = {
    cli.key: cli
    for cli in (
        KnownCli("openclaw", "OpenClaw", "openclaw", "openclaw"),
        KnownCli("gemini", "Gemini CLI", "@google/gemini-cli", "gemini"),
        KnownCli("claude", "Claude Code", "@anthropic-ai/claude-code", "claude"),
        KnownCli("codex", "Codex CLI", "@openai/codex", "codex"),
        KnownCli("opencode", "OpenCode", "opencode-ai", "opencode"),
        KnownCli("antigravity", "Antigravity", "", "antigravity"),
        KnownCli("kubectl-ai", "kubectl-ai", "", "kubectl-ai"),
        KnownCli("hermes", "Hermes", "", "hermes"),
        KnownCli("adk", "Agent Development Kit", "", "adk"),
    )
}


def canonical(key: str) -> str:
    """The key that is recorded: aliases resolved, lower case. Raises ConfigError with a suggestion when unknown."""
    plain = ALIASES.get(key.strip().lower(), key.strip().lower())
    if plain in BUILT or plain in KNOWN:
        return plain
    near = get_close_matches(plain, keys(), n=1)
    hint = f"did you mean {near[0]}?" if near else f"the agents are {', '.join(keys())}"
    raise ConfigError(f"there is no agent {key!r}", fix=hint)


def keys() -> list[str]:
    """All canonical keys, the ones that run first."""
    return [*BUILT, *KNOWN]


def get(key: str) -> Agent:
    """The agent of a key or alias. Ask its `missing` before running it."""
    plain = canonical(key)
    if plain in KNOWN:
        return KNOWN[plain]
    module, name = BUILT[plain]
    agent: Agent = getattr(import_module(module), name)()
    return agent
