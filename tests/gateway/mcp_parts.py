"""Parts of the MCP gateway's tests: a gateway over the test server, and clients over a socket or the relay."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devops_bench.agents.base import McpGrant
from devops_bench.gateway.mcp import McpGateway
from devops_bench.sandbox import Sandbox, SandboxMode
from devops_bench.sandbox.box import Started

SERVER = Path(__file__).with_name("mcp_server.py")
PATIENCE = 60.0  # of a test, not of the gateway
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


@dataclass
class Heard:
    """What a gateway told its listener."""

    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def __call__(self, kind: str, fields: Mapping[str, Any]) -> None:
        self.events.append((kind, dict(fields)))

    def states(self) -> list[str]:
        return [fields["state"] for kind, fields in self.events if kind == "mcp_server"]


def gateway(mode: SandboxMode, tmp_path: Path, *flags: str, **more: Any) -> McpGateway:
    """A gateway over the test server, which runs under a marker of this test."""
    more.setdefault("record", tmp_path / "mcp.jsonl")
    return McpGateway([sys.executable, str(SERVER), *flags], mode=mode, folder=tmp_path / "mcp", **more)


class Peer:
    """A client of JSON lines over two descriptors. `ask` sends a request and gives its reply."""

    def __init__(self, read: int, write: Callable[[bytes], None]) -> None:
        self._read = read
        self._write = write
        self._buffer = b""
        self._next = 1
        self.others: list[dict[str, Any]] = []

    def send(self, item: object) -> None:
        self.raw(json.dumps({"jsonrpc": "2.0", **item} if isinstance(item, dict) else item).encode() + b"\n")

    def raw(self, data: bytes) -> None:
        self._write(data)

    def line(self, patience: float = PATIENCE) -> bytes:
        """The next line, b"" at the end of the stream; AssertionError after `patience` seconds."""
        parts = [self._buffer]
        deadline = time.monotonic() + patience
        while b"\n" not in parts[-1]:
            assert select.select([self._read], [], [], max(0, deadline - time.monotonic()))[0], "nothing came"
            try:
                data = os.read(self._read, 1 << 20)
            except ConnectionError:
                data = b""
            if not data:
                self._buffer = b""
                return b"".join(parts)
            parts.append(data)
        line, _newline, self._buffer = b"".join(parts).partition(b"\n")
        return line + b"\n"

    def receive(self) -> Any:
        line = self.line()
        assert line, "the connection has ended"
        return json.loads(line)

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        id, self._next = self._next, self._next + 1
        self.send({"id": id, "method": method, "params": params or {}})
        while True:
            item = self.receive()
            if item.get("id") == id and "method" not in item:
                assert isinstance(item, dict)
                return item
            self.others.append(item)

    def call(self, tool: str, **args: Any) -> dict[str, Any]:
        return self.ask("tools/call", {"name": tool, "arguments": args})

    def text(self, tool: str, **args: Any) -> str:
        return str(self.call(tool, **args)["result"]["content"][0]["text"])

    def hello(self) -> Peer:
        self.send(HELLO)
        assert "result" in self.receive()
        self.send({"method": "notifications/initialized"})
        return self


class SocketPeer(Peer):
    """A client on this host."""

    def __init__(self, grant: McpGrant, token: str | None = None) -> None:
        self.socket = socket.create_connection(grant.address, timeout=PATIENCE)
        super().__init__(self.socket.fileno(), self.socket.sendall)
        self.raw((grant.token if token is None else token).encode() + b"\n")

    def __enter__(self) -> SocketPeer:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.socket.close()


class RelayPeer(Peer):
    """A client that starts the relay, as a CLI does, in `box`."""

    def __init__(self, box: Sandbox, grant: McpGrant) -> None:
        self.started: Started = box.start(grant.argv, split=True)
        self.process = self.started.tree.process
        assert self.process.stdout is not None
        super().__init__(self.process.stdout.fileno(), self._feed)

    def _feed(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def end_of_input(self) -> int:
        """Close the relay's stdin, as a CLI does that is done; its exit."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(PATIENCE)

    def __enter__(self) -> RelayPeer:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.started.close()


def servers(marker: str, *, sandboxes: bool = False) -> list[int]:
    """Pids of the server processes whose command line holds `marker`; with `sandboxes` also those around them."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if entry.name.isdigit() and marker.encode() in words and (sandboxes or b"python" in words[0]):
            found.append(int(entry.name))
    return found


def kill_servers(marker: str) -> int:
    """SIGKILL to all of them; how many."""
    pids = servers(marker)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return len(pids)


def wait_for(what: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """The first true answer of `what`. For what has no event to wait on: another process's view of the world."""
    deadline = time.monotonic() + patience
    while not (answer := what()):
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.01)
    return answer
