"""A small MCP client for our own agent: it speaks to the MCP gateway as a CLI's client does, over a socket, blocking.

A call never raises for what the server did: the reason is the result, and the status says error.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from devops_bench import settings
from devops_bench._version import __version__
from devops_bench.agents.base import CallStatus, McpGrant, ToolCall, ToolKind
from devops_bench.agents.mcp_content import plain_schema, result_text, shortened
from devops_bench.agents.model_client import ToolSpec

PROTOCOL = "2025-06-18"
START_SEC = 60.0
LINE_BYTES = 64 << 20
NAME_LENGTH = 64
CHUNK = 1 << 18
_ODD = re.compile(r"[^a-zA-Z0-9_-]")


class McpFailed(Exception):
    """The server cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool: its own name, and as offered to the model."""

    name: str
    spec: ToolSpec


class McpClient:
    """One connection, until `close`. Not for several threads. Deadlines are on time.monotonic."""

    def __init__(
        self,
        grant: McpGrant,
        *,
        start_sec: float = START_SEC,
        emit: Callable[[str, Mapping[str, Any]], None] = lambda _kind, _fields: None,
    ) -> None:
        """Connect, initialize, list the tools, within `start_sec` seconds. Raises McpFailed."""
        self._emit = emit
        self._cap = settings.integer("tool_result_cap", {})
        self._ids = count(1)
        self._buffer = bytearray()
        self.waited = 0.0
        until = time.monotonic() + min(start_sec, START_SEC)
        try:
            self._socket = socket.create_connection(grant.address, timeout=START_SEC)
        except OSError as error:
            raise McpFailed(f"MCP server {grant.server}: {error}") from None
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.sendall(grant.token.encode() + b"\n")
            client = {"name": "devops-bench", "version": __version__}
            hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
            self._result("initialize", hello, until)
            self._send({"method": "notifications/initialized"})
            self._tools = {tool.spec.name: tool for tool in self._listed(grant.server, until)}
        except (OSError, McpFailed) as error:
            self._socket.close()
            raise McpFailed(f"MCP server {grant.server}: {error or 'no answer in time'}") from None

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is offered them, in the server's order."""
        return tuple(tool.spec for tool in self._tools.values())

    def call(self, name: str, args: Mapping[str, Any], deadline: float, call_id: str = "") -> ToolCall:
        """Call a tool by the name that the model knows, until `deadline` at the longest."""
        started, clock = time.time(), time.monotonic()
        self._emit("tool_call", {"name": name, "phase": "started"})
        try:
            params = {"name": self._tools[name].name, "arguments": dict(args)}
            text, bad = result_text(self._ask("tools/call", params, deadline))
        except TimeoutError:
            text, bad = "the time is over; the call was given up", True
        except (OSError, McpFailed) as error:
            text, bad = f"the MCP server cannot be reached any more: {error}", True
        took = time.monotonic() - clock
        self.waited += took
        status = CallStatus.ERROR if bad else CallStatus.OK
        ended = {"name": name, "phase": "ended", "status": status.value, "seconds": round(took, 3)}
        self._emit("tool_call", ended)
        return ToolCall(
            name=name,
            args=dict(args),
            result=shortened(text, self._cap) or "[no output]",
            status=status,
            kind=ToolKind.MCP,
            started=started,
            ended=started + took,
            call_id=call_id or f"mcp_{next(self._ids)}",
        )

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def _listed(self, server: str, until: float) -> list[McpTool]:
        found: list[McpTool] = []
        params: dict[str, Any] = {}
        while True:
            result = self._result("tools/list", params, until)
            for tool in result.get("tools") or ():
                offered = offered_name(server, str(tool["name"]), {one.spec.name for one in found})
                spec = ToolSpec(offered, str(tool.get("description") or ""), plain_schema(tool.get("inputSchema")))
                found.append(McpTool(str(tool["name"]), spec))
            if not result.get("nextCursor"):
                return found
            params = {"cursor": result["nextCursor"]}

    def _result(self, method: str, params: Mapping[str, Any], until: float) -> Mapping[str, Any]:
        reply = self._ask(method, params, until)
        result = reply.get("result")
        if not isinstance(result, Mapping):
            raise McpFailed(f"it refused {method}: {json.dumps(reply.get('error'))[:300]}")
        return result

    def _ask(self, method: str, params: Mapping[str, Any], until: float) -> Mapping[str, Any]:
        """The reply to one request. TimeoutError at `until`, and the server is told; McpFailed when it is gone."""
        id = next(self._ids)
        self._send({"id": id, "method": method, "params": params})
        try:
            while True:
                item = self._receive(until)
                if "method" in item:
                    self._serve(item)
                elif item.get("id") == id:
                    return item
        except TimeoutError:
            self._send({"method": "notifications/cancelled", "params": {"requestId": id, "reason": "time limit"}})
            raise

    def _serve(self, item: Mapping[str, Any]) -> None:
        """Requests of the server: a ping is answered, for all else this client has no capability."""
        if "id" not in item:
            return
        if item["method"] == "ping":
            self._send({"id": item["id"], "result": {}})
        else:
            self._send({"id": item["id"], "error": {"code": -32601, "message": "this client does not do that"}})

    def _send(self, item: Mapping[str, Any]) -> None:
        self._socket.settimeout(START_SEC)
        self._socket.sendall(json.dumps({"jsonrpc": "2.0", **item}).encode() + b"\n")

    def _receive(self, until: float) -> Mapping[str, Any]:
        """The next JSON-RPC message; anything else is passed over."""
        while True:
            line = self._line(until)
            try:
                item = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(item, Mapping):
                return item

    def _line(self, until: float) -> bytes:
        searched = 0
        while (at := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > LINE_BYTES:
                raise McpFailed("its message is too large")
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)
            data = self._socket.recv(CHUNK)
            if not data:
                raise McpFailed("the connection has ended")
            self._buffer += data
        line = bytes(self._buffer[:at])
        del self._buffer[: at + 1]
        return line


def offered_name(server: str, tool: str, taken: set[str]) -> str:
    """`mcp__SERVER__TOOL` within what all providers allow: letters, digits, `_`, `-`, at most 64, each name once."""
    name = _ODD.sub("_", f"mcp__{server}__{tool}")
    if len(name) <= NAME_LENGTH and name not in taken:
        return name
    mark = hashlib.sha256(tool.encode()).hexdigest()[:8]
    return f"{name[: NAME_LENGTH - 9]}_{mark}"
