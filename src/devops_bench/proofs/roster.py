"""Who runs which cases: a lane takes a task after another and keeps to it while that has cases. Pure but for a lock."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Group = TypeVar("Group", bound=Hashable)
Item = TypeVar("Item")

# Cases that must be left for each lane of a task before another lane joins in: joining costs a start and a setup, which
# take as long as a case or two.
WORTH_JOINING = 2


class Roster(Generic[Group, Item]):
    """Items by group, each handed out once. Thread-safe."""

    def __init__(self, items: Iterable[tuple[Group, Item]]) -> None:
        self._lock = threading.Lock()
        self._left: dict[Group, deque[Item]] = {}
        self._lanes: dict[Group, int] = {}
        for group, item in items:
            self._left.setdefault(group, deque()).append(item)

    def join(self) -> Group | None:
        """The next group that nobody has begun, else the one with the most left for each lane at it; None: no work."""
        with self._lock:
            fresh = next((group for group, left in self._left.items() if left and group not in self._lanes), None)
            chosen = fresh if fresh is not None else max(self._left, key=self._share, default=None)
            if chosen is None or (fresh is None and self._share(chosen) < WORTH_JOINING):
                return None
            self._lanes[chosen] = self._lanes.get(chosen, 0) + 1
            return chosen

    def take(self, group: Group) -> Item | None:
        """The next item of a group that was joined; None: it has no more, and is left."""
        with self._lock:
            if self._left[group]:
                return self._left[group].popleft()
            self._lanes[group] -= 1
            return None

    def drop(self) -> None:
        """Hand out nothing more."""
        with self._lock:
            for left in self._left.values():
                left.clear()

    def _share(self, group: Group) -> float:
        return len(self._left[group]) / (self._lanes.get(group, 0) + 1)
