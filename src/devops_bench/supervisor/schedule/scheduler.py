"""Which combos start now, and when nothing more may: slots, lanes, rate limits, budgets, the circuit breaker.

Driven from outside: `due` says what to start, `ended`, `limited` and `spent` tell what happened, `next_change` says
when to ask again if nothing does. Invariants: a job is in exactly one of open, held, running, closed; never more run
than any cap allows; after a halt nothing starts.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from devops_bench.plaintext import counted
from devops_bench.settings import ComboState, FailureClass
from devops_bench.supervisor.schedule.jobs import Job
from devops_bench.supervisor.schedule.limits import Gate, LimitChange
from devops_bench.supervisor.schedule.rules import Budget, Rules

_BREAKING = frozenset({FailureClass.CONFIG_AUTH, FailureClass.SETUP})
Lane = tuple[str | None, str, str]


class HaltKind(StrEnum):
    """Why launching stopped."""

    BUDGET = "budget"
    BREAKER = "breaker"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Halt:
    """Nothing more is started: what runs finishes, the rest stays planned."""

    kind: HaltKind
    reason: str


@dataclass(frozen=True, slots=True)
class End:
    """How an attempt ended, as far as scheduling cares. `klass` and `signature` are an invalid attempt's."""

    state: ComboState
    klass: FailureClass | None = None
    signature: str = ""
    rate_limit: bool = False
    delay: float = 0.0


class Scheduler:
    """`now` is any clock that does not jump. `worked` seconds, `cost` and `tokens` were spent before."""

    def __init__(
        self,
        jobs: Iterable[Job],
        rules: Rules,
        now: float,
        *,
        worked: float = 0.0,
        cost: float = 0.0,
        tokens: int = 0,
        caps: Mapping[str, int] | None = None,
    ) -> None:
        self.rules = rules
        self.halt: Halt | None = None
        self._jobs = {job.rid: job for job in jobs}
        self._order = {job.index: job.rid for job in self._jobs.values()}
        self._lanes: dict[Lane, list[int]] = {}
        self._open: set[str] = set()
        self._held: dict[str, float] = {}
        self._alarms: list[tuple[float, int]] = []
        self._running: dict[str, Job] = {}
        self._asking: Counter[str | None] = Counter()
        self._weights: Counter[str] = Counter()
        self._gates = {name: Gate(name, rules, now, cap) for name, cap in (caps or {}).items()}
        self._began = now - worked
        self._cost, self._tokens = cost, tokens
        self._live: dict[str, tuple[float, int]] = {}
        self._streak: tuple[str, int] = ("", 0)

    # -- what may start ---------------------------------------------------------------------------------------------

    def ready(self, rid: str, at: float, now: float) -> None:
        """`rid` may start, from `at` on."""
        job = self._jobs[rid]
        self._close(rid)
        if at > now:
            self._held[rid] = at
            heapq.heappush(self._alarms, (at, job.index))
        else:
            self._open.add(rid)
            heapq.heappush(self._lanes.setdefault(job.lane, []), job.index)

    def running(self, rid: str) -> None:
        """`rid` runs already (adopted)."""
        self._close(rid)
        self._enter(self._jobs[rid])

    def due(self, now: float, unavailable: frozenset[str] = frozenset()) -> list[str]:
        """Rids to start now, in plan order; they count as running from now on. `unavailable` cluster providers wait."""
        self._release(now)
        chosen: list[str] = []
        if self.halt is not None or self.over_budget(now) is not None:
            return chosen
        while len(self._running) < self.rules.max_parallel:
            index = min((heap[0] for lane, heap in self._heaps() if self._may(lane, now, unavailable)), default=None)
            if index is None:
                break
            rid = self._order[index]
            heapq.heappop(self._lanes[self._jobs[rid].lane])
            self._open.discard(rid)
            self._enter(self._jobs[rid])
            chosen.append(rid)
        return chosen

    @property
    def waiting(self) -> bool:
        """Whether some combo is still to be started."""
        return bool(self._open or self._held)

    @property
    def busy(self) -> int:
        """How many run."""
        return len(self._running)

    def open_rids(self, most: int) -> list[str]:
        """Up to about `most` rids that may start next, in plan order."""
        nearest = heapq.nsmallest(most, (index for _lane, heap in self._heaps() for index in heap[: 2 * most]))
        return [self._order[index] for index in nearest]

    def only_waits_for(self, clusters: frozenset[str]) -> bool:
        """True when every combo that is still to start needs one of these cluster providers."""
        return self.waiting and all(self._jobs[rid].cluster in clusters for rid in (*self._open, *self._held))

    def next_change(self, now: float) -> float | None:
        """When `due` may have something new although nothing happened; None: only an event can change it."""
        if not self.waiting or self.halt is not None:
            return None
        times = [self._alarms[0][0]] if self._alarms else []
        for lane, _heap in self._heaps():
            gate = self._gates.get(lane[0] or "")
            if gate is not None and (change := gate.next_change(now)) is not None:
                times.append(change)
        if self.rules.budget.duration is not None:
            times.append(self._began + self.rules.budget.duration)
        return max(min(times), now) if times else None

    # -- what happened ----------------------------------------------------------------------------------------------

    def ended(self, rid: str, end: End, now: float) -> LimitChange | None:
        """An attempt ended: its slot is free; its failure may halve a provider's cap or break the circuit."""
        job = self._jobs[rid]
        change = None
        if end.rate_limit and job.provider is not None:
            change = self.limited(job.provider, now, end.delay)
        self._leave(rid)
        if end.state is ComboState.STOPPED:
            return change
        breaking = end.state is ComboState.INVALID and end.klass in _BREAKING
        name = f"{end.klass}: {end.signature}" if breaking else ""
        count = self._streak[1] + 1 if breaking and name == self._streak[0] else int(breaking)
        self._streak = (name, count)
        if count >= self.rules.breaker and self.halt is None:
            reason = f"{counted(count, 'combo')} in a row invalid for one reason ({name}); correct it, then resume"
            self.halt = Halt(HaltKind.BREAKER, reason)
        return change

    def released(self, rid: str) -> None:
        """A start came to nothing: the slot is free, nothing was tried."""
        self._leave(rid)

    def limited(self, provider: str, now: float, wait: float = 0.0) -> LimitChange | None:
        """The provider asked to slow down; `wait` seconds, 0: not said."""
        gate = self._gates.setdefault(provider, Gate(provider, self.rules, now))
        return gate.limited(self._asking[provider], now, wait)

    def provider_of(self, rid: str) -> str | None:
        """Whose rate limit `rid` shares."""
        return self._jobs[rid].provider

    def grow(self, now: float) -> list[LimitChange]:
        """What quiet spells allow again."""
        return [change for gate in self._gates.values() if (change := gate.grow(now)) is not None]

    def spent(self, cost: float | None, tokens: int | None) -> None:
        """An ended attempt's spend."""
        self._cost += cost or 0.0
        self._tokens += tokens or 0

    def spending(self, rid: str, cost: float, tokens: int) -> None:
        """What a running attempt has spent so far."""
        if rid in self._running:
            self._live[rid] = (cost, tokens)

    @property
    def spend(self) -> tuple[float, int]:
        """USD and tokens so far, running attempts included."""
        live = self._live.values()
        return self._cost + sum(cost for cost, _ in live), self._tokens + sum(tokens for _, tokens in live)

    def over_budget(self, now: float) -> Halt | None:
        """Notices (once) that a budget is reached."""
        if self.halt is None and self.waiting and (reason := self.used_up(now)):
            self.halt = Halt(HaltKind.BUDGET, f"{reason}; resume with a higher one")
        return self.halt

    def used_up(self, now: float) -> str:
        """Which budget is reached, as a sentence; empty while there is something left, or no budget at all."""
        budget = self.rules.budget
        cost, tokens = self.spend
        for what, used, limit, form in (
            ("cost", cost, budget.cost, "{:.2f} USD"),
            ("tokens", tokens, budget.tokens, "{:,.0f} tokens"),
            ("duration", now - self._began, budget.duration, "{:.0f} s"),
        ):
            if limit is not None and used >= limit:
                return f"budget reached: {form.format(used)} of {form.format(limit)} (--max-{what})"
        return ""

    def left(self, now: float) -> Budget:
        """What the budgets leave, never below nothing; None where there is none."""
        budget = self.rules.budget
        cost, tokens = self.spend
        return Budget(
            None if budget.cost is None else max(0.0, budget.cost - cost),
            None if budget.tokens is None else max(0, budget.tokens - tokens),
            None if budget.duration is None else max(0.0, budget.duration - (now - self._began)),
        )

    # -- inside -----------------------------------------------------------------------------------------------------

    def _heaps(self) -> Iterable[tuple[Lane, list[int]]]:
        return ((lane, heap) for lane, heap in self._lanes.items() if heap)

    def _may(self, lane: Lane, now: float, unavailable: frozenset[str]) -> bool:
        provider, weight, cluster = lane
        if cluster in unavailable:
            return False
        if self._weights[weight] >= self.rules.weights.get(weight, self.rules.max_parallel):
            return False
        gate = self._gates.get(provider or "")
        return gate is None or gate.room(self._asking[provider], now)

    def _release(self, now: float) -> None:
        while self._alarms and self._alarms[0][0] <= now:
            at, index = heapq.heappop(self._alarms)
            rid = self._order[index]
            if self._held.get(rid) == at:
                self.ready(rid, at, now)

    def _enter(self, job: Job) -> None:
        self._running[job.rid] = job
        self._asking[job.provider] += 1
        self._weights[job.weight] += 1

    def _leave(self, rid: str) -> None:
        job = self._running.pop(rid, None)
        if job is not None:
            self._asking[job.provider] -= 1
            self._weights[job.weight] -= 1
        self._live.pop(rid, None)

    def _close(self, rid: str) -> None:
        """Out of every other place: a job stands in one only."""
        self._leave(rid)
        self._held.pop(rid, None)
        if rid in self._open:
            self._open.discard(rid)
            heap = self._lanes[self._jobs[rid].lane]
            heap.remove(self._jobs[rid].index)
            heapq.heapify(heap)
