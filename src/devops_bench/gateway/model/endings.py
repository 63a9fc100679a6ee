"""The reply that ends a CLI at once: retries are the supervisor's; a CLI that tries again burns the attempt's time.

Clients differ in what they take for final: the adapter says by `ending_status` on which status its CLI gives up;
without one the provider's own status is passed on, and where there is none it is `FINAL`. The OpenAI and
Anthropic libraries obey `x-should-retry: false`.
"""

from __future__ import annotations

import json

from devops_bench.gateway.model.caps import End
from devops_bench.models.http import JSON
from devops_bench.models.player import WIRES

# For caps, missing grants and providers that are not there. Measured: with the header below it ends Claude Code, Codex,
# Gemini CLI and OpenClaw at once (a 403 makes Claude Code speak of a failed login).
FINAL = 400
NO_RETRY = ("x-should-retry", "false")

Reply = tuple[int, list[tuple[str, str]], bytes]


def ending(wire: str, end: End, ending_status: int | None) -> Reply:
    """Status, headers and body, in the wire's own form of an error."""
    status = ending_status or (end.status if end.status >= 400 else FINAL)
    told = f"HTTP {end.status} of the model's provider: {end.error}" if end.status >= 400 else end.error
    return reply(wire, status, told)


def reply(wire: str, status: int, message: str) -> Reply:
    """An error of the gateway's own."""
    body = json.dumps(WIRES[wire].error(status, message, None), ensure_ascii=False).encode()
    return status, [("Content-Type", JSON), NO_RETRY], body
