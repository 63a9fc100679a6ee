"""The agent's way to the MCP server: the gateway of this attempt; the server runs outside the agent's sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from devops_bench.combo.request import Request
from devops_bench.combo.world import World
from devops_bench.errors import ConfigError
from devops_bench.gateway.mcp import McpGateway, default_server
from devops_bench.gateway.mcp.types import Guard, OnEvent
from devops_bench.redact import Redactor
from devops_bench.sandbox import SandboxMode

RECORD = "mcp.jsonl"
BINDS = "AGENT_MCP_BINDS"


def server_of(request: Request) -> Sequence[str]:
    """The command of the granted server. ConfigError when none is named and there is no default."""
    options = request.plan.options
    argv = options.mcp_server or default_server(request.combo.provider, request.env)
    if argv:
        return argv
    raise ConfigError(
        f"+mcp has no server to grant on a cluster of {request.combo.provider}",
        fix="run `devops-bench agents install kubernetes-mcp-server`, or set MCP_SERVER_BIN to a server's command",
    )


def open_mcp(
    here: World,
    request: Request,
    mode: SandboxMode,
    *,
    redactor: Redactor,
    on_event: OnEvent,
    guard: Guard | None,
    allowed: Sequence[str],
) -> McpGateway:
    """The gateway, not yet entered: entering starts the server, `grant` waits for it. Raises ConfigError."""
    return McpGateway(
        server_of(request),
        mode=mode,
        folder=here.state_dir / "mcp",
        kubeconfig=here.cluster.mcp_kubeconfig,
        record=request.directory / RECORD,
        redactor=redactor,
        on_event=on_event,
        guard=guard,
        allowed_tools=allowed,
        host_env=request.env,
        binds=[Path(item) for item in request.env.get(BINDS, "").split(":") if item],
        hidden=(here.raw.folder,),
    )


def figures(gateway: McpGateway) -> Mapping[str, Any]:
    """What environment.json says of the server."""
    info = gateway.info()
    by_status: dict[str, int] = {}
    for call in gateway.calls():
        by_status[call.status.value] = by_status.get(call.status.value, 0) + 1
    tools = info.pop("tools")
    return {**info, "tools": len(tools), "tool_names": tools, "by_status": dict(sorted(by_status.items()))}
