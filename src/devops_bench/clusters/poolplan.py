"""What a warm pool should do next, as a pure function of what is wanted, what is there and what the host can carry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """`ahead`: planes kept beyond those that somebody waits for. `boots`: at once. `room`: more planes that fit."""

    ahead: int
    boots: int
    room: int


@dataclass(frozen=True, slots=True)
class Step:
    """Keys to boot, in order of urgency, and keys of idle planes to end."""

    boot: tuple[str, ...] = ()
    kill: tuple[str, ...] = ()


def room_for(available: int, reserve: int, per_plane: int, booting: int) -> int:
    """How many more planes fit into `available` bytes; booting ones have not taken theirs yet."""
    return max(0, (available - reserve) // per_plane - booting)


def plan_pool(
    waiting: Sequence[str],
    upcoming: Sequence[str],
    ready: Sequence[str],
    booting: Sequence[str],
    limits: Limits,
) -> Step:
    """Decide one step. `waiting` and `upcoming` are in the order in which combos will use them.

    Who waits comes before who will come. A plane that no combo can use any more is ended at once; one that only later
    combos can use is kept, unless somebody waits and has no room otherwise (he may hold the only place to run).
    """
    pool = [*ready, *booting]
    idle = Counter(pool)
    urgent = [key for key in waiting if not _take(idle, key)]
    near = upcoming[: limits.ahead]
    soon = [key for key in near if not _take(idle, key)]
    surplus = [key for key in pool if _take(idle, key)]
    ever = set(upcoming)
    kill = [key for key in surplus if key not in ever]
    # The first to be given up for somebody who waits: what is wanted last.
    spare = [key for key in surplus if key in ever]
    spare += list((Counter(near) - Counter(soon)).elements())

    slots = max(0, limits.boots - len(booting))
    urgent = urgent[:slots]
    room = limits.room + len(kill)
    while spare and room < len(urgent):
        kill.append(spare.pop(0))
        room += 1
    below_size = limits.ahead + len(waiting) - (len(pool) - len(kill)) - len(urgent)
    boot = [*urgent, *soon[: max(0, min(slots - len(urgent), below_size))]]
    return Step(tuple(boot[:room]), tuple(kill))


def _take(counter: Counter[str], key: str) -> bool:
    if counter[key] <= 0:
        return False
    counter[key] -= 1
    return True
