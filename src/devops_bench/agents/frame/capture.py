"""What a CLI prints, taken as it comes: kept within one bound, cut into lines, each line followed by the adapter."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from devops_bench.agents.frame.loose import MAX_LINE, MAX_RECORDS
from devops_bench.agents.frame.types import Activity

Emit = Callable[[str, Mapping[str, Any]], None]


class Capture:
    """Both output streams of one run. `on_flood` is called once, when together they exceed `limit` bytes.

    What was printed up to the limit stays in `out` and `err`; `arrived` has the time (epoch seconds) of each line of
    `out`, for the first `MAX_RECORDS` lines.
    """

    def __init__(
        self, limit: int, follow: Callable[[bytes], Activity | None], emit: Emit, on_flood: Callable[[], None]
    ) -> None:
        self.out = bytearray()
        self.err = bytearray()
        self.arrived: list[float] = []
        self.flooded = False
        self._left = limit
        self._follow = follow
        self._emit = emit
        self._on_flood = on_flood
        self._line = bytearray()
        self._too_long = False

    def stdout(self, data: bytes) -> None:
        """The next bytes of standard output."""
        self._keep(self.out, data)
        if self.flooded:
            return
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._grow(part)
            self._ended()
        self._grow(rest)

    def stderr(self, data: bytes) -> None:
        """The next bytes of standard error."""
        self._keep(self.err, data)

    def last_error_line(self) -> str:
        """The last line of standard error that says something, at most 300 characters."""
        lines = [line.strip() for line in bytes(self.err[-4096:]).decode(errors="replace").splitlines()]
        return next((line for line in reversed(lines) if line), "")[:300]

    def _keep(self, kept: bytearray, data: bytes) -> None:
        if self.flooded:
            return
        kept += data[: self._left]
        self._left -= len(data)
        self._emit("output", {"text": data.decode(errors="replace")})
        if self._left < 0:
            self.flooded = True
            self._on_flood()

    def _grow(self, part: bytes) -> None:
        if len(self._line) + len(part) > MAX_LINE:
            self._too_long = True
            self._line.clear()
        elif not self._too_long:
            self._line += part

    def _ended(self) -> None:
        if len(self.arrived) < MAX_RECORDS:
            self.arrived.append(time.time())
        line, too_long = bytes(self._line), self._too_long
        self._line.clear()
        self._too_long = False
        if line and not too_long:
            activity = self._ask(line)
            if activity is not None:
                self._emit(activity.kind, activity.fields)

    def _ask(self, line: bytes) -> Activity | None:
        try:
            return self._follow(line)
        except Exception:
            # Activity is a convenience; the line itself is kept and read again at the end, where faults are reported.
            return None
