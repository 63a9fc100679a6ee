"""How many combos may ask one provider at once: halved when it asks to slow down, given back in quiet spells.

A quiet spell (`Rules.quiet`) gives back half of what the last halving took, or twice what the one before it gave, at
least one: a limit that stays is approached in ever smaller steps, one that is gone is forgotten within a minute or two.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from devops_bench.supervisor.schedule.rules import Rules


@dataclass(frozen=True, slots=True)
class LimitChange:
    """A provider's cap went from `was` to `cap` (None: no cap); nothing starts before `wait` seconds are over."""

    provider: str
    was: int | None
    cap: int | None
    why: str
    wait: float = 0.0


class Gate:
    """One provider. Times are those of the caller's clock."""

    def __init__(self, provider: str, rules: Rules, now: float, cap: int | None = None) -> None:
        self.provider = provider
        self.cap = cap
        self.blocked_until = now
        self._rules = rules
        self._calm_since = now
        self._halved = float("-inf")
        self._heard: deque[float] = deque()
        self._level = 0  # at which it was too much, the last time
        self._calm = 0  # quiet spells in a row

    def room(self, running: int, now: float) -> bool:
        """Whether one more may start while `running` do."""
        return now >= self.blocked_until and (self.cap is None or running < self.cap)

    def limited(self, running: int, now: float, wait: float = 0.0) -> LimitChange | None:
        """The provider said 429 while `running` combos asked it; `wait` seconds were asked for, 0: not said.

        One storm halves once: what still comes from combos that were started before is no news. While there is a cap,
        a stray refusal only keeps it from growing; more of them in a quiet time than half the combos halve it again.
        """
        self._calm_since, self._calm = now, 0
        self._heard.append(now)
        while self._heard[0] <= now - self._rules.quiet:
            self._heard.popleft()
        longer = wait > 0 and now + wait > self.blocked_until + 1.0
        self.blocked_until = max(self.blocked_until, now + wait)
        stale = self.cap is not None and running > self.cap
        stray = self.cap is not None and len(self._heard) <= running // 2
        if stale or stray or now - self._halved < self._rules.settle:
            return LimitChange(self.provider, self.cap, self.cap, "waits for its reset", wait) if longer else None
        was, level = self.cap, max(1, running if self.cap is None else min(self.cap, running))
        self.cap = max(1, level // 2)
        self._level, self._halved = level, now
        self._heard.clear()
        return LimitChange(self.provider, was, self.cap, "rate limited", wait) if was != self.cap or longer else None

    def grow(self, now: float) -> LimitChange | None:
        """What quiet spells give back; no cap at all once everything fits."""
        if self.cap is None:
            return None
        spells = int((now - max(self._calm_since, self.blocked_until)) // self._rules.quiet)
        if spells <= 0:
            return None
        was = self.cap
        self._calm_since = max(self._calm_since, self.blocked_until) + spells * self._rules.quiet
        cap = was
        for _ in range(spells):
            cap += max(1 << self._calm, (self._level - cap) // 2)
            self._calm += 1
            if cap >= self._rules.max_parallel:
                break
        self.cap = None if cap >= self._rules.max_parallel else cap
        return LimitChange(self.provider, was, self.cap, "quiet")

    def next_change(self, now: float) -> float | None:
        """When more may start without anything happening."""
        if now < self.blocked_until:
            return self.blocked_until
        return None if self.cap is None else self._calm_since + self._rules.quiet
