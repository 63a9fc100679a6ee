"""What a command that has ended says of itself, and how its output is kept within bounds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Limit(StrEnum):
    """A limit that an agent can run into. `GUARD` is no amount: a forbidden program was seen running."""

    MEMORY = "memory"
    PROCESSES = "processes"
    DISK = "disk"
    OUTPUT = "output"
    GUARD = "guard"


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that has ended. `out` is at most the cap: its head and tail when `dropped` bytes were left out between.

    `exit` is the command's code, 128+n after signal n. Seconds and bytes; `source` says where the figures come from:
    they are the whole tree's, living or dead. `killed_by`: the limit that ended it, None when it ended by itself or by
    its time limit; `struck`: every limit that refused it something, ended by it or not.
    """

    exit: int
    out: bytes
    err: bytes
    duration: float
    timed_out: bool
    dropped: int = 0
    cpu_sec: float | None = None
    rss_peak: int | None = None
    source: str = "none"
    killed_by: Limit | None = None
    struck: tuple[Limit, ...] = ()

    def text(self) -> str:
        """The output as text."""
        return self.out.decode(errors="replace")


class CappedOutput:
    """Keeps the first and last half of `cap` bytes, whatever passes through."""

    def __init__(self, cap: int) -> None:
        self._half = max(1, cap // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    @property
    def dropped(self) -> int:
        """Bytes left out."""
        return max(0, self.total - 2 * self._half)

    def value(self) -> bytes:
        """Head, a notice when something is missing, tail."""
        if not self.dropped:
            return bytes(self._head + self._tail)
        notice = f"\n[... {self.dropped} bytes left out ...]\n".encode()
        return bytes(self._head) + notice + bytes(self._tail[-self._half :])
