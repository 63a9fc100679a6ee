"""One client connection as a pure state machine: lines in, lines and records out. No I/O, no threads.

The gateway feeds it what either side sent and does what it says. What passes, passes byte for byte.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from devops_bench.agents.mcp_content import result_text, shortened
from devops_bench.gateway.mcp import messages, policy
from devops_bench.gateway.mcp.messages import NotPassed
from devops_bench.gateway.mcp.policy import Policy
from devops_bench.gateway.mcp.types import McpCall, McpStatus, ProblemKind

CALL = "tools/call"
LIST = "tools/list"
CANCELLED = "notifications/cancelled"


@dataclass(slots=True)
class Pending:
    """A request of the client that the server has not answered. `batch` requests may be answered in one line."""

    id: str | int
    method: str
    tool: str
    arguments: Mapping[str, Any]
    started: float
    clock: float
    cancelled: bool = False


@dataclass(slots=True)
class Moves:
    """What is to be done: lines for either side in order, calls that ended, requests and pings whose time begins."""

    to_server: list[bytes] = field(default_factory=list)
    to_client: list[bytes] = field(default_factory=list)
    ended: list[McpCall] = field(default_factory=list)
    began: list[Pending] = field(default_factory=list)
    problems: list[tuple[ProblemKind, str]] = field(default_factory=list)
    pings: list[str] = field(default_factory=list)


class Session:
    """State of connection `number`. `cap` bounds the kept characters of arguments and result of a call."""

    def __init__(
        self,
        number: int,
        rules: Policy,
        *,
        cap: int,
        wall: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._number = number
        self._rules = rules
        self._cap = cap
        self._wall = wall
        self._clock = clock
        self._pending: dict[str, Pending] = {}
        self._dead: set[str] = set()
        self._pings: dict[str, str] = {}
        self.ignored = 0

    @property
    def waiting(self) -> int:
        """Requests without an answer."""
        return len(self._pending)

    @property
    def calling(self) -> bool:
        """Whether a tool call has no answer yet."""
        return any(request.method == CALL for request in self._pending.values())

    def from_client(self, line: bytes) -> Moves:
        """A line of the client."""
        moves = Moves()
        if not line.strip():
            return moves
        try:
            items = messages.read_client(line)
        except NotPassed as error:
            self._not_passed(error, moves)
            return moves
        passed = []
        for item in items:
            try:
                if self._passes(item, moves):
                    passed.append(item)
            except NotPassed as error:
                self._not_passed(error, moves)
        if len(passed) == len(items):
            moves.to_server.append(line if line.endswith(b"\n") else line + b"\n")
        elif passed:
            moves.to_server.append(messages.encode(passed))
        return moves

    def from_server(self, line: bytes) -> Moves:
        """A line of the server. What is no JSON-RPC is left out: clients end the connection over it."""
        moves = Moves()
        items = messages.read_server(line)
        if items is None:
            self.ignored += bool(line.strip())
            return moves
        leaks = self._rules.leaks(line)
        answers = [self._answer(item, leaks, moves) for item in items]
        kept = [new for new in answers if new is not None]
        if all(new is old for new, old in zip(answers, items, strict=True)):
            moves.to_client.append(line)
        elif len(items) > 1 and kept:
            moves.to_client.append(messages.encode(kept))
        elif kept:
            moves.to_client.append(messages.encode(kept[0]))
        return moves

    def expire(self, request: Pending, seconds: float) -> Moves:
        """`request` had its time: the client gets an error, the server is told, a late answer is dropped.

        A server that still answers a ping was only given long work; one that does not (`silent`) hangs.
        """
        moves = Moves()
        key = messages.key_of(request.id)
        if self._pending.get(key) is not request or request.cancelled:
            return moves
        del self._pending[key]
        self._dead.add(key)
        text = f"the MCP server did not answer within {seconds:g} s"
        moves.to_client.append(messages.error_line(request.id, messages.TIMED_OUT, text))
        params = {"requestId": request.id, "reason": "time limit"}
        moves.to_server.append(messages.encode({"jsonrpc": "2.0", "method": CANCELLED, "params": params}))
        self._record(request, text, McpStatus.TIMEOUT, moves)
        problem = f"{text} ({request.tool or request.method})"
        if request.method == "initialize":
            moves.problems.append((ProblemKind.TIMEOUT, problem))
            return moves
        self._ask(problem, moves)
        return moves

    def _ask(self, problem: str, moves: Moves) -> None:
        """Ping the server; `problem` is what it means when no answer comes."""
        ping = f"gateway-{secrets.token_hex(8)}"
        self._pings[messages.key_of(ping)] = problem
        moves.pings.append(messages.key_of(ping))
        moves.to_server.append(messages.encode({"jsonrpc": "2.0", "id": ping, "method": "ping"}))

    def overdue(self, seconds: float) -> Moves:
        """The client leaves. Whether a server hangs that has kept it waiting for `seconds` is asked by a ping."""
        moves = Moves()
        oldest = min(self._pending.values(), key=lambda one: one.clock, default=None)
        waited = self._clock() - oldest.clock if oldest is not None else 0.0
        if oldest is not None and waited >= seconds:
            text = f"the MCP server did not answer for {waited:.0f} s ({oldest.tool or oldest.method})"
            self._ask(f"{text} until the agent ended", moves)
        return moves

    @property
    def pings(self) -> tuple[str, ...]:
        """Pings that still wait for their answers."""
        return tuple(self._pings)

    def asked(self, ping: str) -> bool:
        """Whether `ping` still waits for its answer."""
        return ping in self._pings

    def silent(self, ping: str) -> Moves:
        """The time for an answer to `ping` is over: without one the server hangs."""
        problem = self._pings.pop(ping, None)
        return Moves(problems=[(ProblemKind.TIMEOUT, f"{problem}, nor a ping")] if problem is not None else [])

    def end(self, why: str) -> Moves:
        """The connection is over: whoever still waits gets an error."""
        moves = Moves()
        for request in self._pending.values():
            if not request.cancelled:
                moves.to_client.append(messages.error_line(request.id, messages.SERVER_GONE, why))
            self._record(request, "[cancelled by the client]" if request.cancelled else why, McpStatus.ERROR, moves)
        self._pending.clear()
        return moves

    def _passes(self, item: dict[str, Any], moves: Moves) -> bool:
        method, id = item.get("method"), messages.request_id(item)
        params = item.get("params")
        if method == CANCELLED and isinstance(params, dict):
            request = self._pending.get(messages.key_of(params.get("requestId")))
            if request is not None:
                request.cancelled = True
        if method is None or id is None:
            return True
        key = messages.key_of(id)
        if key in self._pending or key in self._dead:
            # Two calls of one id: their results could be exchanged in the record.
            raise NotPassed("the id is in use", id)
        tool = ""
        arguments: Mapping[str, Any] = {}
        if method == CALL:
            assert isinstance(params, dict)
            tool, arguments = params["name"], params.get("arguments") or {}
        request = Pending(id, method, tool, arguments, self._wall(), self._clock())
        if method == CALL:
            refusal = self._judge(tool, arguments, moves)
            if refusal is not None:
                moves.to_client.append(messages.encode(messages.refusal(id, refusal)))
                self._record(request, refusal, McpStatus.BLOCKED, moves)
                return False
        self._pending[key] = request
        moves.began.append(request)
        return True

    def _judge(self, tool: str, arguments: Mapping[str, Any], moves: Moves) -> str | None:
        try:
            return self._rules.refusal(tool, arguments)
        except Exception as error:
            # A guard that cannot judge lets nothing pass, and the attempt is not the model's to answer for.
            moves.problems.append((ProblemKind.GUARD, f"the guard failed on {tool}: {type(error).__name__}: {error}"))
            return "this call could not be checked and was not made"

    def _answer(self, item: dict[str, Any], leaks: bool, moves: Moves) -> dict[str, Any] | None:
        """The item to send on: itself, another in its place, or None."""
        if leaks:
            item = policy.without(item)
        if "method" in item:
            return item
        key = messages.key_of(item.get("id"))
        if key in self._dead or self._pings.pop(key, None) is not None:
            return None
        request = self._pending.pop(key, None)
        if request is None:
            return item
        if request.method == LIST and self._rules.tools is not None:
            return messages.with_tools(item, self._rules.tools)
        if request.method == CALL:
            text, bad = result_text(item)
            status = McpStatus.BLOCKED if leaks else McpStatus.ERROR if bad else McpStatus.OK
            self._record(request, text, status, moves)
        return item

    def _not_passed(self, error: NotPassed, moves: Moves) -> None:
        moves.to_client.append(messages.error_line(error.id, messages.INVALID_REQUEST, f"not passed on: {error}"))
        now = self._wall()
        id = messages.key_of(error.id)
        moves.ended.append(McpCall(now, id, self._number, "", {}, str(error), McpStatus.BLOCKED, 0.0))

    def _record(self, request: Pending, result: str, status: McpStatus, moves: Moves) -> None:
        if request.method != CALL:
            return
        moves.ended.append(
            McpCall(
                time=request.started,
                id=messages.key_of(request.id),
                connection=self._number,
                tool=request.tool,
                arguments=policy.printable(request.arguments, self._cap),
                result=shortened(result, self._cap),
                status=status,
                duration=round(self._clock() - request.clock, 4),
            )
        )
