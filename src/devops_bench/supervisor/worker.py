"""One running combo as the supervisor sees it: its process, its events, its limits.

Works alike for a combo that this supervisor started and for one that it adopted: the end is learnt from a pidfd,
progress from the combo's own `events.jsonl`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from devops_bench import settings
from devops_bench.combo.events import NAME as EVENTS
from devops_bench.combo.outcome import Outcome
from devops_bench.process import ProcessIdentity
from devops_bench.settings import ComboState, FailureClass
from devops_bench.supervisor.inotify import Watches

BUSY_CPU = 1.0  # seconds between two looks for a stall: so much is work, less is waiting
# Events of a combo that go into the run's journal as they are; anything else counts as activity.
MERGED = frozenset({"phase", "guard_blocked", "heartbeat", "rate_limited"})


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds: the combo's wall clock, its longest silence, and what it has to tear down once it was told to end."""

    wall: float
    stall: float
    grace: float

    @classmethod
    def of(cls, agent_timeout: float, env: Mapping[str, str]) -> Limits:
        """From the plan and the settings. Raises ConfigError for a malformed variable."""
        return cls(
            wall=agent_timeout + settings.value("combo_overhead", env),
            stall=settings.value("stall", env),
            grace=settings.value("stop_grace", env),
        )

    def since(self, who: ProcessIdentity) -> Limits:
        """What is left of the wall clock for a combo that runs already. Told by the kernel: clocks are set and jump."""
        return replace(self, wall=max(1.0, self.wall - who.age()))


def _figure(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0.0


class Worker:
    """Watches one combo until its process has ended, then calls `on_end(self)` once.

    `cost` (USD) and `tokens` are what its model requests took so far; `on_event` hears of rate limits and requests.
    """

    def __init__(
        self,
        rid: str,
        who: ProcessIdentity,
        directory: Path,
        loop: asyncio.AbstractEventLoop,
        watches: Watches,
        record: Callable[..., None],
        on_end: Callable[[Worker], None],
        on_event: Callable[[Worker, str, Mapping[str, Any]], None] = lambda _worker, _name, _fields: None,
    ) -> None:
        self.rid = rid
        self.who = who
        self.directory = directory
        self.ended_for: Outcome | None = None
        self._loop = loop
        self._record = record
        self._on_end = on_end
        self._on_event = on_event
        self.cost = 0.0
        self.tokens = 0
        self._pidfd: int | None = None
        self._watches = watches
        self._watch: int | None = None
        self._offset = 0
        self._read = 0
        self._known = 0
        self._cpu_seen = 0.0
        self._log_time = 0.0
        self._grace = 0.0
        self._seen = time.monotonic()
        self._reported = 0.0
        self._timers: list[asyncio.TimerHandle] = []

    def start(self, limits: Limits, heard: int = 0) -> None:
        """Begin to watch. The combo's first `heard` events are in the journal already: an earlier supervisor's.

        Counted, not timed: the host's clock may have been set back since they were written.
        """
        self._grace = limits.grace
        self._known = heard
        self._pidfd = self.who.open_pidfd()
        if self._pidfd is None:
            self._loop.call_soon(self._ended)
            return
        self._loop.add_reader(self._pidfd, self._ended)
        try:
            self._watch = self._watches.add(self.directory, self._changed)
        except OSError:
            # Out of inotify watches: progress is then read once a second; the end still comes from the pidfd.
            self._later(1.0, self._tick)
        self._read_events()
        self._later(limits.wall, self._over_time)
        self._later(limits.stall, self._check_stall, limits.stall)

    def _later(self, delay: float, call: Callable[..., None], *args: Any) -> None:
        now = self._loop.time()
        self._timers = [timer for timer in self._timers if not timer.cancelled() and timer.when() > now]
        self._timers.append(self._loop.call_later(delay, call, *args))

    def _tick(self) -> None:
        self._read_events()
        self._later(1.0, self._tick)

    def _changed(self, name: str) -> None:
        self._seen = time.monotonic()
        if name == EVENTS:
            self._read_events()

    def _read_events(self) -> None:
        try:
            with (self.directory / EVENTS).open("rb") as handle:
                handle.seek(self._offset)
                raw = handle.read()
        except FileNotFoundError:
            return
        whole = raw.rfind(b"\n") + 1
        self._offset += whole
        for line in raw[:whole].splitlines():
            self._seen = time.monotonic()
            self._read += 1
            try:
                event = json.loads(line)
                self._merge(str(event.pop("event")), event)
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # a combo's own file may be damaged by a kill; its outcome does not depend on it

    def _merge(self, name: str, event: dict[str, Any]) -> None:
        for taken in ("seq", "time", "run", "rid", "heard"):
            event.pop(taken, None)
        if name == "model_request":
            self.cost += _figure(event.get("cost"))
            self.tokens += int(_figure(event.get("tokens")))
        if self._read <= self._known:
            return
        if name in {"model_request", "rate_limited"}:
            self._on_event(self, name, event)
        if name in MERGED:
            self._record(name, rid=self.rid, heard=self._read, **event)
        elif self._seen - self._reported >= settings.TABLE["activity_interval"].value:
            self._reported = self._seen
            self._record("agent_activity", rid=self.rid, heard=self._read, kind=name)

    def _over_time(self) -> None:
        self._give_up("combo-timeout", "the combo took longer than its wall-clock limit")

    def _check_stall(self, stall: float) -> None:
        if (cpu := self._cpu()) - self._cpu_seen >= BUSY_CPU:
            self._cpu_seen, self._seen = cpu, time.monotonic()
        self._look_at_logs()
        quiet = time.monotonic() - self._seen
        if quiet >= stall:
            self._give_up("combo-stalled", f"no event and no output for {quiet:.0f} s")
        else:
            self._later(max(1.0, stall - quiet), self._check_stall, stall)

    def _cpu(self) -> float:
        """CPU seconds of the combo's process tree so far."""
        import psutil

        total = 0.0
        with contextlib.suppress(psutil.Error):
            root = psutil.Process(self.who.pid)
            for process in [root, *root.children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    total += sum(process.cpu_times()[:4])
        return total

    def _look_at_logs(self) -> None:
        newest = 0.0
        for path in (self.directory.parent / "run.log", self.directory / "agent.log"):
            try:
                newest = max(newest, path.stat().st_mtime)
            except OSError:
                continue
        if newest != self._log_time:
            # A clock that was set back makes a file of the future: it was written by now, and is no news for ever.
            self._log_time = newest
            self._seen = max(self._seen, time.monotonic() - max(0.0, time.time() - newest))

    def _give_up(self, signature: str, reason: str) -> None:
        self.ended_for = Outcome(
            state=ComboState.INVALID,
            exit=1,
            klass=FailureClass.INFRA.value,
            signature=signature,
            reason=f"{reason}; last processes: {self._processes()}",
        )
        self.end(self._grace)

    def _processes(self) -> str:
        """Names and states of the combo's process tree: what hung."""
        import psutil

        try:
            root = psutil.Process(self.who.pid)
            tree = [root, *root.children(recursive=True)]
            return ", ".join(f"{p.name()}[{p.status()}]" for p in tree[:12])
        except psutil.Error:
            return "none"

    def end(self, grace: float) -> None:
        """Ask it to tear down (TERM and CONT); after `grace` seconds kill its process group."""
        if grace <= 0:
            self._signal(signal.SIGKILL)
            return
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)
        self._later(grace, self._signal, signal.SIGKILL)

    def _signal(self, sig: signal.Signals) -> None:
        if self._pidfd is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(self._pidfd, sig)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sig is signal.SIGKILL and os.getpgid(self.who.pid) == self.who.pid:
                os.killpg(self.who.pid, sig)

    def _ended(self) -> None:
        self._read_events()
        self.close()
        self._on_end(self)

    def close(self) -> None:
        """Stop watching; the combo goes on."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        if self._watch is not None:
            self._watches.remove(self._watch)
            self._watch = None
