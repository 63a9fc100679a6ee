"""What the MCP gateway costs: a call over the server's own pipes, through the gateway, and through relay and gateway.

The variants take turns in one process, so that a busy machine hits them alike.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.gateway.mcp_parts import SERVER, Peer, RelayPeer, SocketPeer

from bench.measure import medians_in_turn, row
from devops_bench.gateway.mcp import McpGateway
from devops_bench.sandbox import Sandbox, SandboxSpec, detect

ROUNDS = 200
LARGE_ROUNDS = 5
LARGE = 5_000_000


def main() -> None:
    """Print medians in milliseconds."""
    mode = detect({"PATH": os.environ.get("PATH", "")})
    if not mode.sandboxed:
        print(mode.warning)
        return
    argv = [sys.executable, str(SERVER)]
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen(argv, stdin=-1, stdout=-1) as direct:
        root = Path(folder)
        began = time.perf_counter()
        with McpGateway(argv, mode=mode, folder=root / "mcp", record=root / "mcp.jsonl") as gateway:
            tools = len(gateway.grant().tools)
            granted = time.perf_counter() - began
            spec = SandboxSpec(home=root / "home", workspace=root / "work", reach=(gateway.endpoint,))
            with Sandbox(mode, spec) as box:
                grant = gateway.grant(box)
                with SocketPeer(grant) as near, RelayPeer(box, grant) as far:
                    assert direct.stdin is not None and direct.stdout is not None
                    pipes = Peer(direct.stdout.fileno(), lambda data: _write(direct.stdin, data))
                    peers = {"server's own pipes": pipes, "gateway": near, "relay in the sandbox, gateway": far}
                    for peer in peers.values():
                        peer.hello()
                    small = medians_in_turn(
                        {name: _call(peer, "echo", text="x") for name, peer in peers.items()}, ROUNDS
                    )
                    large = medians_in_turn(
                        {name: _call(peer, "big", bytes=LARGE) for name, peer in peers.items()}, LARGE_ROUNDS
                    )
        direct.stdin.close()
    print(f"medians of {ROUNDS} and {LARGE_ROUNDS}, load {os.getloadavg()[0]:.1f}")
    row(f"start to grant ({tools} tools)", f"{granted * 1000:.0f} ms", "two sandboxed servers")
    for title, figures in (("call", small), ("5 MB result", large)):
        base = figures["server's own pipes"]
        for name, figure in figures.items():
            row(f"{title}: {name}", f"{figure:.2f} ms", f"+{figure - base:.2f} ms")


def _write(pipe: object, data: bytes) -> None:
    pipe.write(data)  # type: ignore[attr-defined]
    pipe.flush()  # type: ignore[attr-defined]


def _call(peer: Peer, tool: str, **args: object) -> Callable[[], object]:
    return lambda: peer.call(tool, **args)
