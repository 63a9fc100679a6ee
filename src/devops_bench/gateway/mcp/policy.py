"""Which calls pass: allowed tools, the guard, and no reply that gives the server's own credentials away."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devops_bench.gateway.mcp import messages
from devops_bench.gateway.mcp.types import Guard

CREDENTIALS = "[withheld: the reply held the MCP server's own credentials]"
_LEAST = 24  # characters: shorter values occur by chance
_CHUNK = 44  # of a long one, from its middle: whatever wraps or escapes it, some chunk stays whole
_KEYS = ("client-key-data", "token", "password", "id-token", "refresh-token", "client-secret")


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for all connections. `tools` None: all tools may be called. `needles` are credentials in any form."""

    tools: frozenset[str] | None = None
    guard: Guard | None = None
    needles: tuple[bytes, ...] = ()

    def refusal(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Why a call is not made, or None. May raise what the guard raises."""
        if self.tools is not None and tool not in self.tools:
            return f"the tool {tool!r} is not allowed here"
        return self.guard(tool, arguments) if self.guard is not None else None

    def leaks(self, line: bytes) -> bool:
        """True when a line holds a part of a credential."""
        return any(needle in line for needle in self.needles)


def allowed(server: str, names: Sequence[str], tools: Sequence[str]) -> frozenset[str] | None:
    """The server's tools that `names` (AGENT_ALLOWED_TOOLS) leaves; None when nothing is restricted.

    A tool is named as the server calls it, or as `mcp__SERVER__TOOL`.
    """
    if not names:
        return None
    return frozenset(tool for tool in tools if tool in names or f"mcp__{server}__{tool}" in names)


def needles(kubeconfig: Path | None) -> tuple[bytes, ...]:
    """Byte strings that give away the private part of a kubeconfig: chunks of its keys and tokens, in base64 and plain.

    With them an agent could act under the server's identity, and the audit log could not tell its shell from a tool.
    """
    if kubeconfig is None:
        return ()
    found: list[bytes] = []
    pattern = rf"[\"']?(?:{'|'.join(_KEYS)})[\"']?\s*:\s*[\"']?([^\s\"',}}]+)"
    for value in re.findall(pattern, kubeconfig.read_text()):
        found += _chunks(value)
        try:
            plain = base64.b64decode(value, validate=True).decode()
        except ValueError:
            continue
        if "PRIVATE KEY" in plain:
            for line in plain.splitlines():
                found += _chunks(line) if "PRIVATE KEY" not in line else []
    return tuple(dict.fromkeys(found))


def _chunks(value: str) -> list[bytes]:
    if len(value) < _LEAST:
        return []
    if len(value) <= 2 * _CHUNK:
        return [value[: max(_LEAST, len(value) // 2)].encode(), value[-max(_LEAST, len(value) // 2) :].encode()]
    # The ends are alike in all keys (a header); every chunk of the middle is this key's own.
    return [value[at : at + _CHUNK].encode() for at in range(_CHUNK, len(value) - _CHUNK, _CHUNK)]


def without(item: Mapping[str, Any]) -> dict[str, Any]:
    """A reply in place of one that leaks: an error result, or an error."""
    if "method" in item:
        return {
            "jsonrpc": "2.0",
            "method": "notifications/message",
            "params": {"level": "warning", "data": CREDENTIALS},
        }
    return messages.refusal(item.get("id"), CREDENTIALS)


def printable(arguments: Mapping[str, Any], cap: int) -> Mapping[str, Any]:
    """The arguments, or their shortened JSON when they are too large to keep."""
    text = json.dumps(arguments, ensure_ascii=False)
    if len(text) <= cap:
        return arguments
    return {"shortened": text[: cap // 2], "characters": len(text)}
