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
    from devops_bench.agents.plugins import Plugin

ALIASES = {"gemini-cli": "gemini", "claude-code": "claude"}
BUILT = {
    "noop": ("devops_bench.agents.noop", "NoopAgent"),
    "scripted": ("devops_bench.agents.scripted", "ScriptedAgent"),
    "api": ("devops_bench.agents.api", "ApiAgent"),
    "openclaw": ("devops_bench.agents.clis.openclaw", "OpenClaw"),
    "gemini": ("devops_bench.agents.clis.gemini", "Gemini"),
    "claude": ("devops_bench.agents.clis.claude", "Claude"),
    "codex": ("devops_bench.agents.clis.codex", "Codex"),
    "opencode": ("devops_bench.agents.clis.opencode", "OpenCode"),
}
# Names that stand for something else where agents are named: short names of the matrix, programs that are no agents.
RESERVED = frozenset({"oc", "gcli", "cc", "agy", "node", "kubernetes-mcp-server"})


@dataclass(frozen=True, slots=True)
class KnownCli:
    """A real agent that has no adapter here. It is always missing, and says what to do instead."""

    key: str
    title: str

    def missing(self, env: Mapping[str, str]) -> str | None:
        """One line: it cannot run, what can, how an adapter is added."""
        return self._refusal().message()

    @property
    def wires(self) -> tuple[str, ...]:
        """None."""
        return ()

    def binds(self, env: Mapping[str, str]) -> tuple[Bind, ...]:
        """None."""
        return ()

    def run(self, task: AgentTask) -> AgentRun:
        """Refuse: ConfigError with the line of `missing`."""
        raise self._refusal()

    def _refusal(self) -> ConfigError:
        usable = [key for key in BUILT if key not in {"noop", "scripted"}]
        return ConfigError(
            f"agent {self.key} ({self.title}) cannot run: this version has no adapter for it",
            fix=f"use {', '.join(usable)}, or add an adapter for {self.key} (docs/extending/agents.md)",
        )


KNOWN = {
    cli.key: cli
    for cli in (
        KnownCli("antigravity", "Antigravity"),
        KnownCli("kubectl-ai", "kubectl-ai"),
        KnownCli("hermes", "Hermes"),
        KnownCli("adk", "Agent Development Kit"),
    )
}


def canonical(key: str) -> str:
    """The key that is recorded: aliases resolved, lower case. Raises ConfigError with a suggestion when unknown."""
    plain = ALIASES.get(key.strip().lower(), key.strip().lower())
    if plain in BUILT or plain in KNOWN:
        return plain
    found = plugin(key.strip()) or plugin(plain)
    if found is not None:
        return found.key
    near = get_close_matches(plain, keys(), n=1)
    hint = f"did you mean {near[0]}?" if near else f"the agents are {', '.join(keys())}"
    raise ConfigError(f"there is no agent {key!r}", fix=hint)


def keys() -> list[str]:
    """All canonical keys: ours, those of other packages, those that cannot run yet. Imports no adapter."""
    others = plugin_keys()
    return [*BUILT, *others, *(key for key in KNOWN if key not in others)]


def plugin_keys() -> list[str]:
    """The keys of other packages' agents, sorted, without those whose name cannot be used."""
    return [key for key, one in _plugins().items() if not one.problem]


def plugin(key: str, where: str | None = None, line: int | None = None) -> Plugin | None:
    """The agent `key` of another package, None when no package has it. Raises ConfigError at `where` when it has, but
    under a name that cannot be used.
    """
    one = _plugins().get(key)
    if one is not None and one.problem:
        raise one.error(where, line)
    return one


def plugin_problems() -> list[str]:
    """A line for each agent of another package that nobody can name."""
    return [one.error().message() for one in _plugins().values() if one.problem]


def get(key: str) -> Agent:
    """The agent of a key or alias. Ask its `missing` before running it. ConfigError also for a broken plugin."""
    plain = canonical(key)
    if plain in BUILT:
        module, name = BUILT[plain]
        return _as_agent(getattr(import_module(module), name)())
    found = plugin(plain)
    return _load(found) if found is not None else KNOWN[plain]


def _as_agent(made: Any) -> Agent:
    """A CLI's adapter gets the shared frame around it."""
    if hasattr(made, "launch"):
        from devops_bench.agents.frame.run import CliAgent

        return CliAgent(made)
    agent: Agent = made
    return agent


CLI_PARTS = (
    "key", "title", "package", "binary", "wires", "skills_folder", "mcp_name", "builtin_tools", "skill_tools",
    "follow", "read",
)  # fmt: skip
AGENT_PARTS = ("key", "missing", "wires", "binds", "run")


def _load(found: Plugin) -> Agent:
    """Make it, and look at what everything else relies on: its fault must be one line here, not a crash later."""
    try:
        made = found.entry.load()()
        lacking = [name for name in (CLI_PARTS if hasattr(made, "launch") else AGENT_PARTS) if not hasattr(made, name)]
        if lacking:
            raise TypeError(f"it has no {', '.join(lacking)}")
        if made.key != found.key:
            raise TypeError(f"its key is {made.key!r}")
        if not isinstance(made.wires, tuple):
            raise TypeError(f"its wires are {made.wires!r}, not a tuple of names")
        return _as_agent(made)
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"agent {found.key} of package {found.package} cannot be loaded: {type(error).__name__}: {error}",
            fix=f"update or uninstall {found.package}",
        ) from None


def _plugins() -> dict[str, Plugin]:
    """Looked up only where a key is not ours, or all are listed: it costs tens of milliseconds."""
    from devops_bench.agents import plugins

    return plugins.find(frozenset({*BUILT, *ALIASES, *RESERVED}))
