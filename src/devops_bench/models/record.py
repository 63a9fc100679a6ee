"""The requests that a scripted model got, kept in memory within bounds, for tests and for evidence of grants."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_REQUESTS = 5000
MAX_BYTES = 64 << 20
MAX_BODY = 1 << 20
_HIDDEN = frozenset({"authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie", "proxy-authorization"})


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request and what became of it. `time` is UTC epoch seconds; keys are left out of headers and query."""

    time: float
    method: str
    path: str
    headers: Mapping[str, str]
    body: str = field(repr=False)
    wire: str | None = None
    action: str | None = None
    model: str | None = None
    scenario: str | None = None
    turn: int | None = None
    tools: tuple[str, ...] = ()
    stream: bool = False
    fault: str | None = None
    status: int = 0
    truncated: bool = False

    def json(self) -> Any:
        """The body, decoded. Raises ValueError when it was not JSON or was truncated."""
        return json.loads(self.body)


def without_keys(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers as they may be kept."""
    return {name: "[key]" if name in _HIDDEN else value for name, value in headers.items()}


class Log:
    """The last requests: at most MAX_REQUESTS and MAX_BYTES of bodies, each body cut to MAX_BODY. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: deque[Recorded] = deque()
        self._bytes = 0
        self.dropped = 0

    def add(self, one: Recorded) -> None:
        """Keep one, drop the oldest when there are too many."""
        with self._lock:
            self._kept.append(one)
            self._bytes += len(one.body)
            while len(self._kept) > MAX_REQUESTS or self._bytes > MAX_BYTES:
                self._bytes -= len(self._kept.popleft().body)
                self.dropped += 1

    def all(self) -> tuple[Recorded, ...]:
        """What is kept, oldest first."""
        with self._lock:
            return tuple(self._kept)
