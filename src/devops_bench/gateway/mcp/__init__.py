"""The MCP gateway: every MCP server behind one recorded, guarded, bounded door.

`McpGateway` runs it for one attempt, `default_server` names the server of a cluster provider.
"""

from __future__ import annotations

from devops_bench.gateway.mcp.default import default_server
from devops_bench.gateway.mcp.gateway import SERVER, McpGateway
from devops_bench.gateway.mcp.serving import McpUnavailable
from devops_bench.gateway.mcp.types import Guard, McpCall, McpLimits, McpProblem, McpStatus, ProblemKind

__all__ = [
    "SERVER",
    "Guard",
    "McpCall",
    "McpGateway",
    "McpLimits",
    "McpProblem",
    "McpStatus",
    "McpUnavailable",
    "ProblemKind",
    "default_server",
]
