"""What `devops-bench agents` says of each key: agents of our own, CLIs, those of other packages, other programs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from devops_bench._version import __version__
from devops_bench.agents import install as installs
from devops_bench.agents import registry
from devops_bench.agents.frame.run import CliAgent
from devops_bench.agents.install import doctor
from devops_bench.agents.install.packages import PACKAGES
from devops_bench.errors import BenchError
from devops_bench.matrix.presets import PRESETS, preset_of

if TYPE_CHECKING:
    from devops_bench.agents.base import Agent
    from devops_bench.agents.install.doctor import Finding


def listed() -> list[str]:
    """Every key, agents first."""
    agents = registry.keys()
    return [*agents, *(key for key in programs() if key not in agents)]


def programs(*, all_known: bool = False) -> list[str]:
    """The keys of the table of installs; Node only when asked for."""
    return [key for key in PACKAGES if key != "node" or all_known]


def startable() -> list[str]:
    """What the doctor tries: all programs, and what other packages bring."""
    known = programs()
    return [*known, *(key for key in registry.plugin_keys() if key not in known)]


def canonical(key: str) -> str:
    """The key of an agent (by key, preset or alias) or program. Raises ConfigError with a suggestion."""
    return key if key in PACKAGES else registry.canonical(PRESETS.get(key, key))


def examined(key: str, *, wanted: bool) -> list[Finding]:
    """The doctor's findings on one key."""
    try:
        agent = _agent(key)
    except BenchError as error:
        return [doctor.Finding(key, doctor.State.BROKEN, error.what, error.fix)]
    if key not in PACKAGES:
        return _of_agent(key, agent, wanted=wanted)
    found = doctor.examine(key, os.environ, wanted=wanted)
    if isinstance(agent, registry.KnownCli) and (wanted or found[0].state is not doctor.State.MISSING):
        found.append(doctor.Finding(key, doctor.State.NOTE, agent.missing(os.environ) or ""))
    return found


def _agent(key: str) -> Agent | None:
    known = registry.keys()
    return registry.get(key) if key in known else None


def _of_agent(key: str, agent: Agent | None, *, wanted: bool) -> list[Finding]:
    if isinstance(agent, CliAgent):
        return doctor.examine_other(key, agent, os.environ, wanted=wanted)
    missing = agent.missing(os.environ) if agent is not None else None
    if missing is not None:
        return [doctor.Finding(key, doctor.State.BROKEN if wanted else doctor.State.MISSING, missing)]
    return [doctor.Finding(key, doctor.State.OK, "runs in the program itself: nothing to start")]


def unusable() -> list[Finding]:
    """Agents of other packages that nobody can name."""
    return [doctor.Finding("packages", doctor.State.NOTE, line) for line in registry.plugin_problems()]


def row_of(key: str) -> dict[str, Any]:
    """What `list` and `show` say of one key; never raises for an installation or package that cannot be used.

    `source`: `built in`, `pinned`, `target`, `path`, `package` (an agent that is the package itself), or empty.
    `package`: name and version of the other package that brings it. `adapter` False: nothing runs it yet.
    """
    known = registry.keys()
    plugin = registry.plugin(key) if key in registry.plugin_keys() else None
    row: dict[str, Any] = {
        "key": key,
        "preset": preset_of(key) if key in known else "",
        "title": "MCP server" if key not in known else "",
        "version": "",
        "pinned": "",
        "source": "",
        "package": plugin.label if plugin is not None else "",
        "adapter": True,
        "wires": [],
        "size": None,
        "problem": "",
    }
    try:
        agent = _agent(key)
        if agent is not None:
            title = getattr(getattr(agent, "cli", agent), "title", "")
            row |= {"title": title, "wires": list(agent.wires), "adapter": not isinstance(agent, registry.KnownCli)}
        if key in PACKAGES:
            return row | _installed(key)
        if plugin is None:
            return row | {"version": __version__, "source": "built in"}
        if isinstance(agent, CliAgent):
            found = agent.installed(os.environ)
            return row | ({"version": found.version, "source": found.source} if found is not None else {})
        missing = agent.missing(os.environ) if agent is not None else ""
        return row | ({"problem": missing} if missing else {"version": plugin.version, "source": "package"})
    except BenchError as error:
        return row | {"problem": error.message()}


def _installed(key: str) -> dict[str, Any]:
    """What the table of installs says of a program."""
    pinned = installs.pinned_version(key)
    try:
        found = installs.find(key, os.environ)
    except BenchError as error:
        return {"pinned": pinned, "problem": error.message()}
    if found is None:
        return {"pinned": pinned}
    size = installs.size(key, os.environ) if found.source == "pinned" else None
    return {"pinned": pinned, "version": found.version, "source": found.source, "size": size}
