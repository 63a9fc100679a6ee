"""Server-sent events out of bytes in any portions, within bounds.

Source: the HTML standard, server-sent events (only `data` lines matter here: all wires repeat the event's type in it).
"""

from __future__ import annotations

from typing import Final

# Bytes of one event; a longer one is dropped, and what follows it is read again.
MAX_EVENT: Final = 16 << 20


class EventSplitter:
    """`feed` gives the data of every event that is complete."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._size = 0
        self._too_long = False
        self.dropped = False

    def feed(self, portion: bytes) -> list[bytes]:
        """The events that end in this portion, in order."""
        found: list[bytes] = []
        at = 0
        while (end := portion.find(b"\n", at)) >= 0:
            self._keep(portion[at:end])
            line, self._line = b"".join(self._line), []
            at = end + 1
            self._take(line.removesuffix(b"\r"), found)
        if at < len(portion):
            self._keep(portion[at:])
        return found

    def rest(self) -> list[bytes]:
        """What stands at the end without its blank line: providers may leave it out."""
        return self.feed(b"\n\n") if self._line or self._data else []

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > MAX_EVENT:
            self._too_long = self.dropped = True
            self._line, self._data = [], []
        elif part:
            self._line.append(part)

    def _take(self, line: bytes, found: list[bytes]) -> None:
        if not line:
            if self._data and not self._too_long:
                found.append(b"\n".join(self._data))
            self._data, self._size, self._too_long = [], 0, False
        elif line.startswith(b"data:") and not self._too_long:
            data = line[5:]
            self._data.append(data[1:] if data.startswith(b" ") else data)
