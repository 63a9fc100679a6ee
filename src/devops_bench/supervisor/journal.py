"""`journal.jsonl`: the run's memory. One JSON event a line; the run's state is a fold over it.

One writer at a time, guaranteed by the run's lock (supervisor.locks), which the caller must hold. Barrier events are
fsynced before `append` returns: what they announce may then become visible. The rest rides along with the next barrier.
A torn last line (the writer was killed, the disk was full) is dropped on reading and cut off before the next append.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from devops_bench.combo.events import now
from devops_bench.errors import ConfigError
from devops_bench.paths import FILE_MODE, fsync_dir

NAME = "journal.jsonl"
BALLAST = ".ballast"

# Announced before they become visible; everything else is group-committed.
BARRIERS = frozenset(
    {
        "launched",
        "combo_intent",
        "combo_started",
        "combo_finished",
        "retry_planned",
        "stop_requested",
        "summarised",
        "done",
    }
)


class Journal:
    """The writer. Open it only while holding the run's lock."""

    def __init__(self, run_dir: Path, *, clock: Callable[[], str] = now, ballast: int = 0) -> None:
        self.path = run_dir / NAME
        self.run = run_dir.name
        self._clock = clock
        self._ballast = run_dir / BALLAST
        created = not self.path.exists()
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, FILE_MODE)
        self.seq = 0
        for event in self._recover():
            self.seq = event["seq"]
        if created:
            fsync_dir(run_dir)
        if ballast and not self._ballast.exists():
            self._make_ballast(ballast)

    def _recover(self) -> Iterator[dict[str, Any]]:
        """Cut a torn tail off, then yield the events."""
        raw = self.path.read_bytes()
        whole = raw.rfind(b"\n") + 1
        if whole < len(raw):
            os.ftruncate(self._fd, whole)
            os.fsync(self._fd)
        yield from parse(raw[:whole], self.path)

    def _make_ballast(self, size: int) -> None:
        # Freed on a full disk, so that the last events (why we stopped) still find room.
        fd = os.open(self._ballast, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            os.posix_fallocate(fd, 0, size)
        except OSError:
            self._ballast.unlink(missing_ok=True)
        finally:
            os.close(fd)

    def append(self, event: str, **fields: Any) -> dict[str, Any]:
        """Append one event and return it. OSError when it could not be written whole; nothing torn stays."""
        record = {"seq": self.seq + 1, "time": self._clock(), "run": self.run, "event": event, **fields}
        line = (json.dumps(record, separators=(",", ":")) + "\n").encode()
        self._write(line)
        self.seq += 1
        if event in BARRIERS:
            os.fsync(self._fd)
        return record

    def _write(self, line: bytes) -> None:
        try:
            self._write_whole(line)
        except OSError:
            if not self._ballast.exists():
                raise
            self._ballast.unlink()
            self._write_whole(line)

    def _write_whole(self, line: bytes) -> None:
        before = os.lseek(self._fd, 0, os.SEEK_END)
        try:
            written = os.write(self._fd, line)
            while written < len(line):
                written += os.write(self._fd, line[written:])
        except OSError:
            os.ftruncate(self._fd, before)
            raise

    def sync(self) -> None:
        """Make everything appended so far durable."""
        os.fsync(self._fd)

    def close(self) -> None:
        """Sync and close."""
        if self._fd >= 0:
            self.sync()
            os.close(self._fd)
            self._fd = -1


def parse(raw: bytes, path: Path) -> list[dict[str, Any]]:
    """Decode whole lines. A damaged line is a ConfigError with its number: history must not be guessed."""
    events: list[dict[str, Any]] = []
    for number, line in enumerate(raw.splitlines(), start=1):
        try:
            event = json.loads(line)
            if not isinstance(event["seq"], int) or not isinstance(event["event"], str):
                raise TypeError("seq or event has the wrong type")
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"damaged journal line ({type(error).__name__})",
                where=path,
                line=number,
                fix="restore the file from a copy, or remove this line if you know what it said",
            ) from None
        events.append(event)
    return events


def read(run_dir: Path, offset: int = 0) -> tuple[list[dict[str, Any]], int]:
    """Events from byte `offset` on, and the offset after the last whole line. A torn last line is left for later."""
    path = run_dir / NAME
    try:
        with path.open("rb") as handle:
            handle.seek(offset)
            raw = handle.read()
    except FileNotFoundError:
        return [], offset
    whole = raw.rfind(b"\n") + 1
    return parse(raw[:whole], path), offset + whole
