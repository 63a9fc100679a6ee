"""One absolute point in time for a whole chain of calls: the timeouts of single reads add up, this does not."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the monotonic clock, in seconds."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The deadline `seconds` from now."""
        return cls(time.monotonic() + seconds)

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - time.monotonic())

    @property
    def passed(self) -> bool:
        """True once no time is left."""
        return time.monotonic() >= self.at

    def within(self, seconds: float) -> Deadline:
        """The earlier of this deadline and `seconds` from now."""
        return Deadline(min(self.at, time.monotonic() + seconds))
