"""The narrow interface between the shared frame and one adapter: three pure functions over plain data.

The frame installs skills, writes files, starts the CLI in the sandbox, follows its output, stops it, and merges what
the CLI says with what the gateway saw. An adapter only knows its CLI: configuration in, transcript out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from devops_bench.agents.base import AgentTask, EndReason, Step, Usage
from devops_bench.agents.skills import Skill


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start it. Paths are as the CLI sees them; `files` are relative to its HOME, written 0600 before.

    The task's `extra_flags` are appended to `argv`: a prompt belongs into `stdin`, where no length limit and no process
    list meets it.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""


@dataclass(frozen=True, slots=True)
class Left:
    """What a run of the CLI left behind. `home` is the HOME on this host: hostile content, to be read by `frame.home`.

    Times in epoch seconds; `arrived[i]` is when line i of `stdout` was complete (it may be shorter than the lines).
    `exit` is 128+n after signal n.
    """

    stdout: bytes
    stderr: bytes
    exit: int
    timed_out: bool
    home: Path
    started: float
    ended: float
    arrived: Sequence[float] = ()

    def lines(self) -> Iterator[tuple[float, bytes]]:
        """Each line of stdout with the time of its arrival."""
        for number, line in enumerate(self.stdout.split(b"\n")):
            yield (self.arrived[number] if number < len(self.arrived) else self.ended), line


@dataclass(frozen=True, slots=True)
class Reading:
    """What the CLI itself says of its run.

    `end` None: its own output does not tell; the frame then asks the gateway's exchanges. Never a success because of an
    exit code alone. `mcp_servers` maps a server to its state where the CLI tells it. `model_turns` None: the frame
    counts the gateway's exchanges, else the steps.
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
    model_turns: int | None = None


@dataclass(frozen=True, slots=True)
class Activity:
    """Something to report while it runs: an `emit` kind and its fields."""

    kind: str
    fields: Mapping[str, Any]


class Surface(Protocol):
    """How an agent shows tools to its model; see `Cli`. All that grant checks need to know of it."""

    @property
    def mcp_name(self) -> str: ...
    @property
    def builtin_tools(self) -> frozenset[str]: ...
    @property
    def skill_tools(self) -> frozenset[str]: ...


class Cli(Surface, Protocol):
    """One adapter. Its functions are pure but for reading `left.home`.

    `key` canonical; `title` for people; `wires` the model formats it speaks, the usual one first; `package` the npm
    package (empty: PATH only); `binary` its name on PATH; `skills_folder` where skills go, relative to HOME (empty: it
    has no skills); `mcp_name` how it calls a server's tool towards the model, with {server} and {tool} (empty: it has
    no MCP); `builtin_tools` every tool that a baseline run may offer to the model (grant checks call anything else a
    leak); `skill_tools` those that appear with skills only. An adapter may also have `ending_status`: the HTTP status
    on which the CLI gives up at once, and `mcp_tools`: tools of its own that appear with an MCP server only.
    """

    @property
    def key(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def package(self) -> str: ...
    @property
    def binary(self) -> str: ...
    @property
    def wires(self) -> tuple[str, ...]: ...
    @property
    def skills_folder(self) -> str: ...

    def launch(self, task: AgentTask, program: Sequence[str], skills: Sequence[Skill]) -> Launch:
        """The command line, environment and files for `task`; `program` is the argv prefix inside the sandbox.

        `task.prompt` already starts with the preamble that all agents get.
        """
        ...

    def follow(self, line: bytes) -> Activity | None:
        """One line of stdout while it runs, as activity; None for anything that is none or not readable."""
        ...

    def read(self, left: Left, task: AgentTask) -> Reading:
        """What it did. Should never raise for what is in the output: what cannot be read becomes `errors`."""
        ...
