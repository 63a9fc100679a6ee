"""A world without processes around the real scheduling core: fold, follow-up and scheduler are the program's own;
combos, providers and crashes are invented. Time is a number.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from devops_bench.combo.outcome import Outcome
from devops_bench.settings import ComboState
from devops_bench.supervisor.follow_up import fault_of, follow_up
from devops_bench.supervisor.schedule import Budget, End, Fault, Job, Rules, Scheduler
from devops_bench.supervisor.schedule.restore import restore
from devops_bench.supervisor.state import RunState

EPOCH = datetime(2026, 11, 29, tzinfo=UTC)
PASSED = Outcome(ComboState.SCORED, 0, score=1.0, cost_usd=0.01, tokens=100)
ENDS = (
    Outcome(ComboState.FAILED, 1, score=0.0, cost_usd=0.01, tokens=100),
    Outcome(ComboState.INVALID, 1, klass="infra", signature="process-died", transient=True, phase="agent"),
    Outcome(ComboState.INVALID, 1, klass="infra", signature="model-unavailable", transient=True, phase="agent"),
    Outcome(ComboState.INVALID, 1, klass="infra", signature="agent-oom", phase="agent", cost_usd=0.01),
    Outcome(ComboState.INVALID, 1, klass="unknown", reason="the gizmo fell over", phase="verify"),
    Outcome(ComboState.INVALID, 1, klass="model", signature="empty", phase="agent"),
    Outcome(ComboState.INVALID, 1, klass="task", signature="setup-task-error", phase="setup"),
    Outcome(ComboState.INVALID, 1, klass="config-auth", signature="model-auth", phase="agent"),
    Outcome(ComboState.INVALID, 1, klass="infra", signature="model-rate-limit", transient=True, phase="agent"),
)


@lru_cache(maxsize=64)
def looked_up(outcome: Outcome) -> Fault | None:
    """The table's answer, asked once for each of the few outcomes that are played."""
    return fault_of(outcome)


@dataclass
class Simulation:
    """`outcome(rng, rid, attempt)` and `seconds(rng)` decide what combos do; `crashes` supervisors die on the way."""

    jobs: list[Job]
    rules: Rules
    seed: int
    outcome: Callable[[random.Random, str, int], Outcome]
    seconds: Callable[[random.Random], float] = lambda rng: rng.uniform(1, 60)
    crashes: int = 0
    busy_tokens: float = 0.0
    state: RunState = field(default_factory=RunState)
    now: float = 0.0
    ended: int = 0
    log: list[dict[str, Any]] = field(default_factory=list)
    most_at_once: int = 0
    most_by_weight: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.by_rid = {job.rid: job for job in self.jobs}
        self.processes: list[tuple[float, int, str]] = []
        self.alive: dict[str, tuple[float, int]] = {}
        self.plan: Scheduler

    def record(self, event: str, **fields: Any) -> None:
        time = (EPOCH + timedelta(seconds=self.now)).isoformat()
        line = {"seq": len(self.log) + 1, "time": time, "run": "r", "event": event, **fields}
        self.log.append(line)
        self.state.apply(line)

    def run(self) -> None:
        """Supervise until done or halted; crash on the way; resume by itself after crashes only."""
        self.record("launched", rids=[job.rid for job in self.jobs])
        moments = sorted(self.rng.uniform(0, 1) for _ in range(self.crashes))
        total = len(self.jobs)
        self.restart()
        while True:
            if moments and self.ended >= moments[0] * total:
                moments.pop(0)
                self.record("resumed")
                self.restart()
            self.start()
            if not self.alive and (self.plan.halt is not None or not self.plan.waiting):
                break
            self.step()
        if self.state.all_terminal:
            self.record("summarised")
            self.record("done")

    def restart(self) -> None:
        """A new supervisor: everything but the journal and the running processes is forgotten."""
        self.plan = restore(self.jobs, self.rules, self.state, self.now)
        for rid, combo in self.state.combos.items():
            if combo.state is ComboState.RUNNING:
                self.plan.running(rid)
            elif not combo.state.terminal:
                self.plan.ready(rid, self.now, self.now)

    def start(self) -> None:
        for change in self.plan.grow(self.now):
            self.record("limit_changed", provider=change.provider, cap=change.cap, was=change.was, why=change.why)
        for rid in self.plan.due(self.now):
            if self.rng.random() < self.busy_tokens:
                self.plan.ready(rid, self.now + 1.0, self.now)
                continue
            attempt = self.state.combos[rid].attempt + 1
            self.record("combo_started", rid=rid, attempt=attempt, directory=rid, worker={"pid": 1})
            end = self.now + self.seconds(self.rng)
            self.alive[rid] = (end, attempt)
            heapq.heappush(self.processes, (end, attempt, rid))
        self.most_at_once = max(self.most_at_once, len(self.alive))
        for weight, count in Counter(self.by_rid[rid].weight for rid in self.alive).items():
            self.most_by_weight[weight] = max(self.most_by_weight[weight], count)

    def step(self) -> None:
        """To the next moment at which something happens."""
        change = self.plan.next_change(self.now)
        ends = self.processes[0][0] if self.processes else None
        if ends is None or (change is not None and change < ends):
            assert change is not None, "the run would hang"
            self.now = max(change, self.now + 1e-9)
            return
        self.now, attempt, rid = heapq.heappop(self.processes)
        del self.alive[rid]
        self.ended += 1
        self.finish(rid, attempt, self.outcome(self.rng, rid, attempt))

    def finish(self, rid: str, attempt: int, outcome: Outcome) -> None:
        self.record("combo_finished", rid=rid, attempt=attempt, **outcome.fields())
        fault = looked_up(outcome)
        klass = fault.klass if fault is not None else None
        end = End(
            outcome.state, klass, fault.signature if fault else "", bool(fault and fault.rate_limit), outcome.delay
        )
        change = self.plan.ended(rid, end, self.now)
        self.plan.spent(outcome.cost_usd, outcome.tokens)
        if change is not None:
            self.record("limit_changed", provider=change.provider, cap=change.cap, was=change.was, why=change.why)
        found = follow_up(self.state.combos[rid], outcome, fault, False, self.rules, self.rng)
        if found.retry is not None:
            assert fault is not None
            self.record("retry_planned", rid=rid, attempt=attempt, delay=found.retry.delay,
                        signature=found.retry.signature, phase=fault.phase)  # fmt: skip
            self.plan.ready(rid, self.now + found.retry.delay, self.now)
        elif found.exhausted:
            self.record("retry_exhausted", rid=rid, attempt=attempt)


Weather = Callable[[float], float]


def steady(_now: float) -> float:
    """The same at all times."""
    return 1.0


@dataclass
class Provider:
    """Serves `rate` requests a minute times what the `weather` at that time is, with `burst` seconds' worth at once;
    beyond that it says 429.
    """

    rate: float
    burst: float = 10.0
    weather: Weather = steady
    tokens: float = 0.0
    seen: float = 0.0

    def ask(self, now: float) -> bool:
        while self.seen < now:
            step = min(1.0, now - self.seen)
            per_second = self.rate * self.weather(self.seen) / 60
            self.tokens = min(max(1.0, self.burst * per_second), self.tokens + step * per_second)
            self.seen += step
        if self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True


@dataclass
class Storm:
    """Combos of `requests` model requests each against one provider, with the scheduler in between. A request takes
    about `latency` seconds; a refused one is sent again after about `pause` (as clients do), and each refusal is told.
    """

    combos: int
    requests: int
    parallel: int
    rate: float
    latency: float = 6.0
    pause: float = 10.0
    burst: float = 10.0
    weather: Weather = steady
    seed: int = 1
    changes: list[tuple[float, int | None, int | None]] = field(default_factory=list)

    def run(self) -> float:
        """Seconds until all are done."""
        jobs = [Job(str(n), n, "google", "api") for n in range(self.combos)]
        plan = Scheduler(jobs, Rules(self.parallel, budget=Budget()), 0.0)
        for job in jobs:
            plan.ready(job.rid, 0.0, 0.0)
        rng = random.Random(self.seed)
        provider, now, left = (
            Provider(self.rate, self.burst, self.weather),
            0.0,
            dict.fromkeys((job.rid for job in jobs), self.requests),
        )
        events: list[tuple[float, int, str]] = []
        queue: deque[str] = deque()
        serial = 0
        while plan.waiting or plan.busy:
            for change in plan.grow(now):
                self.changes.append((now, change.was, change.cap))
            queue.extend(plan.due(now))
            while queue:
                serial += 1
                heapq.heappush(events, (now, serial, queue.popleft()))
            wake = plan.next_change(now)
            if not events or (wake is not None and now < wake < events[0][0]):
                assert wake is not None
                now = wake
                continue
            now, _, rid = heapq.heappop(events)
            if left[rid] == 0:
                plan.ended(rid, End(ComboState.SCORED), now)
                continue
            serial += 1
            if provider.ask(now):
                left[rid] -= 1
                heapq.heappush(events, (now + self.latency * rng.uniform(0.5, 1.5), serial, rid))
            else:
                changed = plan.limited("google", now)
                if changed is not None:
                    self.changes.append((now, changed.was, changed.cap))
                heapq.heappush(events, (now + self.pause * rng.uniform(0.5, 1.5), serial, rid))
        return now

    @property
    def ideal(self) -> float:
        """Seconds at the allowed rate, or at what `parallel` combos can ask at most, for one who knows the weather."""
        left, now = float(self.combos * self.requests), 0.0
        while left > 0:
            rate = min(self.rate * self.weather(now) / 60, self.parallel / self.latency)
            now += 1.0 if left > rate else left / rate
            left -= rate
        return now
