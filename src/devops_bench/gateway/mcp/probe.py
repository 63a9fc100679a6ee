"""The gateway's own first look at a server: it initializes, it lists its tools. What it says is the grant."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from devops_bench._version import __version__
from devops_bench.gateway.mcp import messages
from devops_bench.gateway.mcp.instance import Instance

PROTOCOL = "2025-06-18"
MOST_PAGES = 50


class ProbeFailed(Exception):
    """The server did not do what an MCP server does; the text says what."""


async def look(instance: Instance) -> tuple[str, ...]:
    """The names of the server's tools, in its order. Raises ProbeFailed and TooLarge; the caller sets the time."""
    lines = instance.lines()
    try:
        client = {"name": "mcp-gateway", "version": __version__}
        hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
        await _ask(instance, lines, "initialize", 1, hello)
        await instance.send(messages.encode({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        names: list[str] = []
        params: dict[str, Any] = {}
        for page in range(MOST_PAGES):
            result = await _ask(instance, lines, "tools/list", 2 + page, params)
            tools = result.get("tools")
            if not isinstance(tools, list):
                raise ProbeFailed("its tools/list has no list of tools")
            names += [str(tool["name"]) for tool in tools if isinstance(tool, Mapping) and "name" in tool]
            if not result.get("nextCursor"):
                break
            params = {"cursor": result["nextCursor"]}
    finally:
        await lines.aclose()
    if not names:
        raise ProbeFailed("it has no tools")
    return tuple(names)


async def _ask(
    instance: Instance, lines: AsyncIterator[bytes], method: str, id: int, params: Mapping[str, Any]
) -> Mapping[str, Any]:
    """One request's result. Requests of the server are answered as a client without capabilities does."""
    await instance.send(messages.encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    async for line in lines:
        for item in messages.read_server(line) or ():
            if "method" in item:
                if messages.request_id(item) is not None:
                    await instance.send(_reply(item))
                continue
            if item.get("id") != id:
                continue
            result = item.get("result")
            if not isinstance(result, Mapping):
                said = json.dumps(item.get("error"))[:200]
                raise ProbeFailed(f"it refused {method}: {said}")
            return result
    raise ProbeFailed(f"it ended before it answered {method}")


def _reply(item: Mapping[str, Any]) -> bytes:
    if item["method"] == "ping":
        return messages.encode({"jsonrpc": "2.0", "id": item["id"], "result": {}})
    return messages.error_line(item["id"], -32601, "the client does not do this")
