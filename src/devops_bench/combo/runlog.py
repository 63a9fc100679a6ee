"""`run.log`: everything that a combo prints, redacted before it reaches the file.

In a forked combo `sys.stdout` and `sys.stderr` are replaced by this log, so that a stray print of a library cannot
leak a key. Descriptors 1 and 2 point to /dev/null: no child inherits a way around the redactor.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from devops_bench.paths import FILE_MODE

CAP_BYTES = 16 << 20


class RedactsStream(Protocol):
    """A redactor for a stream."""

    def feed(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


class RunLog(io.TextIOBase):
    """A text stream into a file through a stream redactor; size-capped; safe to use from several threads."""

    def __init__(self, path: Path, stream: RedactsStream, *, cap: int = CAP_BYTES) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, FILE_MODE)
        self._stream = stream
        self._lock = threading.Lock()
        self._left = cap

    def writable(self) -> bool:
        """Always true."""
        return True

    def write(self, text: str) -> int:
        """Redact and append."""
        self.feed(text.encode("utf-8", "replace"))
        return len(text)

    def feed(self, data: bytes) -> None:
        """Append bytes (an agent's output)."""
        with self._lock:
            self._put(self._stream.feed(data))

    def line(self, text: str) -> None:
        """One line with the time in front."""
        self.write(f"{datetime.now(UTC):%H:%M:%S} {text}\n")
        self.flush()

    def flush(self) -> None:
        """Write what the redactor held back; call at the end of a message, never inside one."""
        with self._lock:
            self._put(self._stream.flush())

    def _put(self, data: bytes) -> None:
        if not data or self._left <= 0 or self._fd < 0:
            return
        if len(data) > self._left:
            data = data[: self._left] + b"\n[log cut here: size cap reached]\n"
        self._left -= len(data)
        try:
            os.write(self._fd, data)
        except OSError:
            self._left = 0  # a full disk must not end the combo through its log

    def close(self) -> None:
        """Flush and close."""
        if not self.closed and self._fd >= 0:
            self.flush()
            os.close(self._fd)
            self._fd = -1
        super().close()


def capture(log: RunLog) -> None:
    """Send everything this process prints into `log`."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    stream: Any = log
    sys.stdout = sys.stderr = stream
