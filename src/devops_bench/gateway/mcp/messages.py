"""JSON-RPC lines, read so that the server cannot read them otherwise. Pure functions.

Servers are written in many languages and read leniently: Go takes `"Method"` for `"method"`, Python splits lines at a
carriage return, each keeps another of two equal keys. A line from the client's side that leaves room for that could
carry a call past the record and the guard, so it is refused. What the server says only has to be readable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

KEYS = ("jsonrpc", "id", "method", "params", "result", "error")
CALL_KEYS = ("name", "arguments", "_meta", "task")
INVALID_REQUEST = -32600
SERVER_GONE = -32000
TIMED_OUT = -32001


class NotPassed(Exception):
    """A client's message that is refused; the text says why. `id` is its request id where one could be read."""

    def __init__(self, why: str, id: str | int | None = None) -> None:
        self.id = id
        super().__init__(why)


def read_client(line: bytes) -> list[dict[str, Any]]:
    """The messages of one line (several in a batch). Raises NotPassed where it can be read in two ways."""
    body = line.removesuffix(b"\n").removesuffix(b"\r")
    if b"\r" in body:
        raise NotPassed("a carriage return inside a message")
    try:
        text = body.decode()
        data = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except NotPassed:
        raise
    except (ValueError, RecursionError):
        raise NotPassed("the message is not JSON") from None
    items = data if isinstance(data, list) else [data]
    if not items:
        raise NotPassed("an empty batch")
    for item in items:
        if not isinstance(item, dict):
            raise NotPassed("the message is not a JSON object")
        _exact(item, KEYS, item)
        _check(item)
    return items


def read_server(line: bytes) -> list[dict[str, Any]] | None:
    """The messages of a server's line; None for anything that is no JSON-RPC."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    items = data if isinstance(data, list) else [data]
    if not items or not all(isinstance(item, dict) and ("method" in item or "id" in item) for item in items):
        return None
    return items


def key_of(id: object) -> str:
    """A request id as a dictionary key and as text: 1 and "1" are two ids."""
    return json.dumps(id)


def request_id(item: Mapping[str, Any]) -> str | int | None:
    """The id of a message, if it is one that JSON-RPC and MCP allow."""
    value = item.get("id")
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def encode(item: object) -> bytes:
    """One line."""
    return json.dumps(item, separators=(",", ":"), ensure_ascii=False).encode(errors="replace") + b"\n"


def error_line(id: str | int | None, code: int, text: str) -> bytes:
    """A JSON-RPC error reply."""
    return encode({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}})


def refusal(id: object, text: str) -> dict[str, Any]:
    """A tool result that tells the model why it gets no other."""
    content = [{"type": "text", "text": text}]
    return {"jsonrpc": "2.0", "id": id, "result": {"content": content, "isError": True}}


def with_tools(item: Mapping[str, Any], keep: frozenset[str]) -> dict[str, Any]:
    """A reply to `tools/list` that holds only the tools of `keep`."""
    result = item.get("result")
    tools = result.get("tools") if isinstance(result, Mapping) else None
    if not isinstance(result, Mapping) or not isinstance(tools, list):
        return dict(item)
    kept = [tool for tool in tools if isinstance(tool, Mapping) and tool.get("name") in keep]
    return {**item, "result": {**result, "tools": kept}}


def _check(item: dict[str, Any]) -> None:
    if "id" in item and request_id(item) is None:
        raise NotPassed("the id is neither text nor a whole number")
    id = request_id(item)
    method = item.get("method")
    if "method" in item and not isinstance(method, str):
        raise NotPassed("the method is no text", id)
    if method is None and not {"result", "error"} & item.keys():
        raise NotPassed("neither a request nor a reply", id)
    if method != "tools/call":
        return
    params = item.get("params")
    if not isinstance(params, dict) or not isinstance(params.get("name"), str):
        raise NotPassed("a tool call without a name", id)
    if not isinstance(params.get("arguments", {}) or {}, dict):
        raise NotPassed("the arguments are not a JSON object", id)
    if id is None:
        raise NotPassed("a tool call without an id")
    _exact(params, CALL_KEYS, item)


def _exact(item: Mapping[str, Any], known: Sequence[str], message: Mapping[str, Any]) -> None:
    """Refuse keys that a lenient reader takes for one of `known`."""
    for key in item:
        if key not in known and key.casefold() in known:
            raise NotPassed(f"the key {key!r} is not {key.casefold()!r}", request_id(message))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotPassed("a key occurs twice")
    return found


def _no_constant(name: str) -> Any:
    raise NotPassed(f"{name} is not JSON")
