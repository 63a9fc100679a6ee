"""What the MCP gateway reports: calls, problems, limits. Plain data for the combo and the agreement check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

# A guard gets a server's own tool name and the arguments; its text is why the call is refused, None lets it pass.
Guard = Callable[[str, Mapping[str, Any]], str | None]
# on_event(kind, fields): `mcp_call` (tool, phase started|ended, status, seconds), `mcp_server` (state, detail).
OnEvent = Callable[[str, Mapping[str, Any]], None]


class McpStatus(StrEnum):
    """What became of a call, as the model saw it."""

    OK = "ok"
    ERROR = "error"
    BLOCKED = "blocked"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class McpCall:
    """One `tools/call`. `time` is UTC epoch seconds, `duration` seconds, `id` the client's own request id as JSON.

    `connection` numbers the client's connections from 1. `result` is the text that the model could see, shortened in
    its middle. A message that could not be understood and was refused has an empty `tool`.
    """

    time: float
    id: str
    connection: int
    tool: str
    arguments: Mapping[str, Any]
    result: str
    status: McpStatus
    duration: float


class ProblemKind(StrEnum):
    """What went wrong with the server or its record; none of it is the model's doing."""

    START = "start"
    DIED = "died"
    TIMEOUT = "timeout"
    TOO_LARGE = "too_large"
    RECORD = "record"
    GUARD = "guard"
    GATEWAY = "gateway"


@dataclass(frozen=True, slots=True)
class McpProblem:
    """One line of evidence that the attempt cannot be judged. `time` is UTC epoch seconds."""

    time: float
    kind: ProblemKind
    text: str


@dataclass(frozen=True, slots=True)
class McpLimits:
    """Seconds, bytes, counts.

    `startup` is for the gateway's own first look and for `initialize` (the CLI's connection gets a server that began at
    the same time); `call` for any other request; `ping` for the question whether a server that overran it still lives,
    asked as well when a client leaves that waited `late` for an answer: an agent's own limit may be the shorter one.
    `message` is for one JSON-RPC line of the server: a list of all pods of a large cluster is 10 MB; `request` for one
    of the client, which is hostile input. `connections` at a time: a CLI has one, and one for each subagent; `starts`
    in all; `strangers` are connections that have yet to show a token.
    """

    startup: float = 60.0
    call: float = 120.0
    ping: float = 5.0
    late: float = 10.0
    message: int = 32 << 20
    request: int = 8 << 20
    connections: int = 8
    starts: int = 1000
    strangers: int = 32
