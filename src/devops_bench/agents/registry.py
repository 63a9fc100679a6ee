"""Every agent by its canonical key: our own, the CLIs, those of other packages, and the ones known but not runnable.

Adapters are imported only when asked for: the command line names agents it never runs. A package adds an agent by an
entry point in the group `devops_bench.agents`: `KEY = "module:Class"`, where the class makes either a `frame.types.Cli`
or a whole `base.Agent`, without arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from devops_bench.agents.base import Agent, AgentRun, AgentTask
from devops_bench.errors import ConfigError
from devops_bench.sandbox import Bind

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "devops_bench.agents"
ALIASES = {"gemini-cli": "gemini", "claude-code": "claude"}
BUILT = {
    "noop": ("devops_bench.agents.noop", "NoopAgent"),
    "scripted": ("devops_bench.agents.scripted", "ScriptedAgent"),
    "api": ("devops_bench.agents.api", "ApiAgent"),
    "openclaw": ("devops_bench.agents.clis.openclaw", "OpenClaw"),
    "gemini": ("devops_bench.agents.clis.gemini", "Gemini"),
    "claude": ("devops_bench.agents.clis.claude", "Claude"),
    "codex": ("devops_bench.agents.clis.codex", "Codex"),
}


@dataclass(frozen=True, slots=True)
class KnownCli:
    """A real CLI that has no adapter. It is always missing, and says how it would be installed."""

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
    if plain in BUILT or plain in KNOWN or plain in _plugins():
        return plain
    near = get_close_matches(plain, keys(), n=1)
    hint = f"did you mean {near[0]}?" if near else f"the agents are {', '.join(keys())}"
    raise ConfigError(f"there is no agent {key!r}", fix=hint)


def keys() -> list[str]:
    """All canonical keys: ours, those of other packages, those that cannot run yet. Imports no adapter."""
    return [*BUILT, *sorted(_plugins()), *KNOWN]


def get(key: str) -> Agent:
    """The agent of a key or alias. Ask its `missing` before running it. ConfigError also for a broken plugin."""
    plain = canonical(key)
    if plain in BUILT:
        module, name = BUILT[plain]
        return _as_agent(getattr(import_module(module), name)())
    return KNOWN[plain] if plain in KNOWN else _load(plain, _plugins()[plain])


def _as_agent(made: Any) -> Agent:
    """A CLI's adapter gets the shared frame around it."""
    if hasattr(made, "launch"):
        from devops_bench.agents.frame.run import CliAgent

        return CliAgent(made)
    agent: Agent = made
    return agent


def _load(key: str, entry: EntryPoint) -> Agent:
    package = entry.dist.name if entry.dist is not None else entry.value
    try:
        agent = _as_agent(entry.load()())
        if agent.key != key:
            raise TypeError(f"its key is {agent.key!r}")
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigError(
            f"agent {key} of package {package} cannot be loaded: {said}", fix=f"update or uninstall {package}"
        ) from None
    return agent


def _plugins() -> dict[str, EntryPoint]:
    """Entry points of other packages by key; one that takes a key of ours is not asked."""
    # Costs 100 ms: only where a key is not ours, or all are listed.
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in BUILT | KNOWN}
