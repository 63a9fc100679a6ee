"""The reply that ends a CLI at once: retries are the supervisor's; a CLI that tries again burns the attempt's time.

Clients differ in what they take for final: the adapter says by `ending_status` on which status its CLI gives up;
without one the provider's own status is passed on, and where there is none it is that of `FINAL`. The OpenAI and
Anthropic libraries obey `x-should-retry: false`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from devops_bench.gateway.model.caps import End
from devops_bench.models.http import JSON
from devops_bench.models.player import WIRES

# By wire, for caps, missing grants and providers that are not there. Measured: Claude Code changes a request that was
# wrong (400) and tries twice more, a forbidden one ends it; the others end on 400 at once.
FINAL: Mapping[str, int] = {"anthropic": 403, "google": 400, "openai": 400, "openai-responses": 400}
NO_RETRY = ("x-should-retry", "false")

Reply = tuple[int, list[tuple[str, str]], bytes]


def ending(wire: str, end: End, ending_status: int | None) -> Reply:
    """Status, headers and body, in the wire's own form of an error."""
    status = ending_status or (end.status if end.status >= 400 else FINAL[wire])
    told = f"HTTP {end.status} of the model's provider: {end.error}" if end.status >= 400 else end.error
    return reply(wire, status, told)


def reply(wire: str, status: int, message: str) -> Reply:
    """An error of the gateway's own."""
    body = json.dumps(WIRES[wire].error(status, message, None), ensure_ascii=False).encode()
    return status, [("Content-Type", JSON), NO_RETRY], body
