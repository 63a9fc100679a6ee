"""The narrow interface between the shared frame and one adapter: three pure functions over plain data.

The frame installs skills, writes files, starts the CLI in the sandbox, follows its output, stops it, and merges what
the CLI says with what the gateway saw. An adapter only knows its CLI: configuration in, transcript out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from devops_bench.agents.base import AgentTask, EndReason, Step, Usage
from devops_bench.agents.skills import Skill


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start it. Paths are as the CLI sees them; `files` are relative to its HOME, written 0600 before."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""


@dataclass(frozen=True, slots=True)
class Left:
    """What a run of the CLI left behind. `home` is the HOME on this host, hostile content. Times in epoch seconds."""

    stdout: bytes
    stderr: bytes
    exit: int
    timed_out: bool
    home: Path
    started: float
    ended: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What the CLI itself says of its run.

    `end` None: its own output does not tell; the frame then asks the gateway's exchanges. Never a success because of an
    exit code alone. `mcp_servers` maps a server to its state where the CLI tells it.
    """

    steps: tuple[Step, ...] = ()
    output: str = ""
    end: EndReason | None = None
    raw_end: str = ""
    errors: tuple[str, ...] = ()
    usage: Usage | None = None
    cost_usd: float | None = None
    served_models: tuple[str, ...] = ()
    skills_used: tuple[str, ...] = ()
    mcp_servers: Mapping[str, str] = field(default_factory=dict)
    session: str = ""


@dataclass(frozen=True, slots=True)
class Activity:
    """Something to report while it runs: an `emit` kind and its fields."""

    kind: str
    fields: Mapping[str, Any]


class Cli(Protocol):
    """One adapter. Its functions are pure but for reading `left.home`.

    `key` canonical; `title` for people; `wires` the model formats it speaks, the usual one first; `package` the npm
    package (empty: PATH only); `binary` its name on PATH; `skills_folder` where skills go, relative to HOME (empty: it
    has no skills); `mcp_name` how it calls a server's tool towards the model, with {server} and {tool};
    `builtin_tools` every tool that a baseline run may offer to the model (grant checks call anything else a leak);
    `skill_tools` those that appear with skills only.
    """

    key: str
    title: str
    package: str
    binary: str
    wires: tuple[str, ...]
    skills_folder: str
    mcp_name: str
    builtin_tools: frozenset[str]
    skill_tools: frozenset[str]

    def launch(self, task: AgentTask, program: Sequence[str], skills: Sequence[Skill]) -> Launch:
        """The command line, environment and files for `task`; `program` is the argv prefix inside the sandbox."""
        ...

    def follow(self, line: bytes) -> Activity | None:
        """One line of stdout while it runs, as activity; None for anything that is none or not readable."""
        ...

    def read(self, left: Left, task: AgentTask) -> Reading:
        """What it did. Never raises for what is in the output: what cannot be read becomes `errors`."""
        ...
