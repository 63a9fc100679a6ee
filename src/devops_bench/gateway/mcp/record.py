"""mcp.jsonl: one redacted line for each call, bounded in size; and the same calls in memory for the agreement check."""

from __future__ import annotations

import errno
import json
import os
import threading
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from devops_bench.gateway.mcp.types import McpCall
from devops_bench.paths import FILE_MODE
from devops_bench.redact import Redactor

NOT_KEPT = "[not kept: the record is full]"
ROOM_BYTES = 32 << 20
"""For arguments and results of one attempt; after that lines hold neither, so that a loop of calls fills no disk."""
MOST_LINES = 50_000


class McpRecord:
    """Appends calls; `path` None keeps them in memory only. Raises OSError when the file cannot be written."""

    def __init__(self, path: Path | None, redactor: Redactor, *, room: int = ROOM_BYTES) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(path, flags, FILE_MODE) if path is not None else None
        self.redactor = redactor
        self._room = room
        self._lock = threading.Lock()
        self._calls: list[McpCall] = []
        self.count = 0

    def add(self, call: McpCall) -> None:
        """Record one call that has ended."""
        call = replace(call, arguments=self.redactor.obj(call.arguments), result=self.redactor.text(call.result))
        line = _line(call)
        with self._lock:
            self.count += 1
            if self.count > MOST_LINES:
                return
            if len(line) > self._room:
                call = replace(call, arguments={}, result=NOT_KEPT)
                line = _line(call)
            else:
                self._room -= len(line)
            self._calls.append(call)
            if self._fd is not None and os.write(self._fd, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def calls(self) -> tuple[McpCall, ...]:
        """All kept calls, in the order in which they ended."""
        with self._lock:
            return tuple(self._calls)

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _line(call: McpCall) -> bytes:
    time = datetime.fromtimestamp(call.time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    data = {**asdict(call), "time": time, "arguments": dict(call.arguments), "status": call.status.value}
    return json.dumps(data, ensure_ascii=False, default=str).encode(errors="replace") + b"\n"
