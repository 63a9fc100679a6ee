"""`events.jsonl`: what a combo does while it does it. Appended without fsync; the supervisor follows it."""

from __future__ import annotations

import json
import os
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from devops_bench.paths import FILE_MODE

NAME = "events.jsonl"
CAP_BYTES = 4 << 20
"""An agent that calls a million tools must not fill the disk through its events."""


def now() -> str:
    """UTC with milliseconds, `Z`: the time of every event, of a combo and of a run."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class RedactsObjects(Protocol):
    """What is needed of a redactor."""

    def obj(self, value: Any, /) -> Any: ...


class EventLog:
    """Appends redacted events; safe to use from several threads.

    Phases are never dropped, activity is beyond the cap.
    """

    def __init__(self, directory: Path, redactor: RedactsObjects) -> None:
        self._fd = os.open(directory / NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, FILE_MODE)
        self._redactor = redactor
        self._lock = threading.Lock()
        self._written = 0
        self.phases: dict[str, float] = {}
        self._phase: str | None = None
        self._since = time.monotonic()

    def emit(self, event: str, **fields: Any) -> None:
        """Append one event; a full disk is not this log's business and never ends a combo."""
        record = {"time": now(), "event": event}
        line = (json.dumps({**record, **self._redactor.obj(fields)}, default=str) + "\n").encode()
        with self._lock:
            if self._written + len(line) > CAP_BYTES and event != "phase":
                return
            try:
                os.write(self._fd, line)
            except OSError:
                return
            self._written += len(line)

    def phase(self, name: str) -> None:
        """Enter a phase; the seconds of the one before are kept in `phases`."""
        self.end_phase()
        self._phase, self._since = name, time.monotonic()
        self.emit("phase", phase=name)

    def end_phase(self) -> None:
        """Account for the current phase."""
        if self._phase is not None:
            spent = time.monotonic() - self._since
            self.phases[self._phase] = round(self.phases.get(self._phase, 0.0) + spent, 4)
            self._phase = None

    @property
    def current(self) -> str:
        """The phase under way, or the last one."""
        return self._phase or (list(self.phases)[-1] if self.phases else "")

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


def last_phase(directory: Path) -> str:
    """The last phase that an attempt entered, as far as its events tell; empty when they tell nothing."""
    try:
        lines = (directory / NAME).read_bytes().splitlines()
    except OSError:
        return ""
    for line in reversed(lines):
        if b'"event": "phase"' in line:
            try:
                return str(json.loads(line)["phase"])
            except (ValueError, KeyError, TypeError):
                continue
    return ""
