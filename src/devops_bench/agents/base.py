"""The agent interface: what every adapter gets and must give back. It knows nothing of tasks, clusters or scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from devops_bench.models.exchange import Exchange
    from devops_bench.sandbox import Bind, Sandbox


class EndReason(StrEnum):
    """How the model's turn ended, from structured output, never from an exit code alone.

    `SELF_ENDED`: a command of the agent's own took its program down; what it did until then is judged.
    """

    COMPLETED = "completed"
    MAX_TURNS = "max_turns"
    REFUSED = "refused"
    API_ERROR = "api_error"
    TIMEOUT = "timeout"
    EMPTY = "empty"
    CRASHED = "crashed"
    SELF_ENDED = "self_ended"


class ToolKind(StrEnum):
    """Where a tool came from."""

    BUILTIN = "builtin"
    MCP = "mcp"
    SKILL = "skill"


class CallStatus(StrEnum):
    """What became of a tool call; `unknown` when only the wire, not the agent's own record, tells of it."""

    OK = "ok"
    ERROR = "error"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call as the model made it and saw its result. Times are UTC epoch seconds."""

    name: str
    args: Mapping[str, Any]
    result: str
    status: CallStatus
    kind: ToolKind = ToolKind.BUILTIN
    started: float = 0.0
    ended: float = 0.0
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request or of a run; None means not told, never zero. `output` includes `reasoning`."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    total: int | None = None

    def plus(self, other: Usage) -> Usage:
        """Sum where both or one are known."""

        def add(a: int | None, b: int | None) -> int | None:
            return None if a is None and b is None else (a or 0) + (b or 0)

        return Usage(
            add(self.input, other.input),
            add(self.output, other.output),
            add(self.cached, other.cached),
            add(self.cache_write, other.cache_write),
            add(self.reasoning, other.reasoning),
            add(self.total, other.total),
        )

    def as_tokens(self) -> dict[str, int]:
        """The `tokens` dict of a record: known figures only."""
        pairs = {
            "input": self.input,
            "output": self.output,
            "cached": self.cached,
            "cache_write": self.cache_write,
            "reasoning": self.reasoning,
            "total": self.total,
        }
        return {key: value for key, value in pairs.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Step:
    """One turn: what the model said and which tools it called. `source` is `agent`, `user` or `system`."""

    source: str
    message: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    model: str | None = None
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """Where the agent finds its model. Behind a CLI it is always the gateway, and `key` the attempt's own token.

    `provider` is the wire format: google, openai, openai-responses or anthropic (for the agent `api` also the names of
    `models.providers`).
    """

    provider: str
    model: str
    base_url: str | None = None
    key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds, counts, bytes."""

    timeout_sec: float
    max_turns: int
    output_bytes: int


@dataclass(frozen=True, slots=True)
class McpGrant:
    """An MCP server, reached through the gateway.

    `argv` is a stdio relay as seen inside the sandbox: the CLI starts it like any MCP server. `address` is where the
    gateway listens on this host, for an agent that runs in our own process. `tools` are the server's own tool names,
    from its `tools/list`.
    """

    server: str
    argv: tuple[str, ...]
    address: tuple[str, int]
    token: str = field(repr=False)
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grants:
    """What the configuration promises the agent. `mcp` None: no MCP; empty `skills_paths`: no skills."""

    mcp: McpGrant | None = None
    skills_paths: tuple[Path, ...] = ()
    allowed_tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentTask:
    """Everything an adapter gets.

    `workspace` and `home` are host paths; `sandbox.workspace` and `sandbox.home` are what the agent sees. `env` is
    added to its commands: never a secret. `exchanges()` is what the model gateway recorded so far. `emit(kind, fields)`
    reports activity: `tool_call` (name, phase started|ended, status, seconds), `model_request` (turn, seconds, tokens),
    `text` and `output` (text).
    """

    prompt: str
    workspace: Path
    home: Path
    sandbox: Sandbox
    endpoint: ModelEndpoint | None
    grants: Grants
    limits: Limits
    env: Mapping[str, str]
    extra_flags: Sequence[str] = ()
    target: str | None = None
    script: Path | None = None
    rules_text: str = ""
    emit: Callable[[str, Mapping[str, Any]], None] = lambda _kind, _fields: None
    exchanges: Callable[[], Sequence[Exchange]] = tuple

    @property
    def model_endpoint(self) -> ModelEndpoint:
        """`endpoint` of an agent that has `wires`: the harness gives it one."""
        assert self.endpoint is not None
        return self.endpoint


@dataclass(frozen=True, slots=True)
class AgentRun:
    """What an adapter gives back. `latency` is seconds of the agent alone."""

    end: EndReason
    output: str
    steps: tuple[Step, ...]
    usage: Usage | None
    latency: float
    errors: tuple[str, ...] = ()
    served_models: tuple[str, ...] = ()
    model_turns: int | None = None
    tool_wait_sec: float | None = None
    cost_usd: float | None = None
    skills_used: tuple[str, ...] = ()
    version: str = ""
    raw_end: str = ""

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """All tool calls in order."""
        return tuple(call for step in self.steps for call in step.tool_calls)


class Agent(Protocol):
    """One adapter."""

    @property
    def key(self) -> str:
        """Its canonical key, as in rows."""
        ...

    def missing(self, env: Mapping[str, str]) -> str | None:
        """None if it can run here, else one line naming the install command."""
        ...

    @property
    def wires(self) -> tuple[str, ...]:
        """The wire formats it speaks to its model, the usual one first; empty: it has no model."""
        ...

    def binds(self, env: Mapping[str, str]) -> tuple[Bind, ...]:
        """Host paths that its sandbox must show: where it is installed. Empty for agents of our own."""
        ...

    def run(self, task: AgentTask) -> AgentRun:
        """Run to its end or limit; never raises for what the model or the API did, only HarnessError or ConfigError."""
        ...
