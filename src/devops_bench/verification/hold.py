"""Entries that must stay true: sampled at the start, at an interval, and at the end of their window.

Each entry has a thread and a schedule of its own, so a slow one cannot thin out another's samples. Any fail settles it;
no sample, or all or the last two errored, is an error: then nobody knows whether it held.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial

from devops_bench.kube import Deadline
from devops_bench.plaintext import counted
from devops_bench.tasks.spec import Entry, Mode, Role
from devops_bench.verification.admission import await_admission
from devops_bench.verification.bounded import GRACE, spawn
from devops_bench.verification.context import VerifyContext
from devops_bench.verification.evaluate import evaluate_entry
from devops_bench.verification.result import HoldReport
from devops_bench.verification.scope import Scope
from devops_bench.verification.snapshot import Snapshot, wide_kinds
from devops_bench.verification.verdict import Status, Verdict, errored, failed, passed


@dataclass(slots=True)
class HoldTrack:
    """The samples of one entry. Seconds are counted from the first sample. Written by one thread."""

    samples: list[tuple[float, Verdict]] = field(default_factory=list)
    required_sec: float | None = None

    def add(self, at: float, verdict: Verdict) -> None:
        """Record a sample."""
        self.samples.append((at, verdict))

    @property
    def violated(self) -> bool:
        """True once a sample failed: nothing later can change that."""
        return any(verdict.status is Status.FAIL for _, verdict in self.samples)

    def verdict(self) -> Verdict:
        """What the samples prove together."""
        statuses = [verdict.status for _, verdict in self.samples]
        violation = self._violation()
        if violation is not None:
            at, sample = violation
            return Verdict(
                Status.FAIL, failed(f"broken after {at:.1f} s: {sample.reason}").reason, children=sample.children
            )
        if not statuses:
            return errored("it was never sampled")
        last = self.samples[-1][1]
        if all(status is Status.ERROR for status in statuses):
            return errored(f"{len(statuses)} of {counted(len(statuses), 'sample')} errored: {last.reason}")
        if len(statuses) > 1 and statuses[-2:] == [Status.ERROR] * 2:
            return errored(f"the last two samples errored: {last.reason}")
        observed = self._observed()
        if self.required_sec is not None and observed < self.required_sec * 0.99:
            return errored(
                f"observed for {observed:.1f} s of {self.required_sec:g} s: the time for verification was used up"
            )
        return passed(f"held in {counted(statuses.count(Status.PASS), 'sample')} over {observed:.1f} s")

    def report(self) -> HoldReport:
        """The `hold_*` fields of the record."""
        violation = self._violation()
        return HoldReport(
            sample_count=len(self.samples),
            error_count=sum(verdict.status is Status.ERROR for _, verdict in self.samples),
            first_violation_reason=violation[1].reason if violation else None,
            first_violation_at_sec=round(violation[0], 3) if violation else None,
            observed_window_sec=round(self._observed(), 3),
        )

    def _violation(self) -> tuple[float, Verdict] | None:
        return next(((at, verdict) for at, verdict in self.samples if verdict.status is Status.FAIL), None)

    def _observed(self) -> float:
        return self.samples[-1][0] - self.samples[0][0] if self.samples else 0.0


def sample(entry: Entry, context: VerifyContext) -> Verdict:
    """One look at one entry, at most one call's time long."""
    deadline = Deadline.after(context.limits.call)
    kube = context.kube
    snapshot = Snapshot(kube, context.limits.call, wide_kinds([entry], context.namespace)) if kube else None
    future = spawn(partial(evaluate_entry, entry, Scope(context, snapshot, deadline)), f"hold {entry.name}")
    try:
        return future.result(timeout=deadline.remaining() + GRACE)
    except TimeoutError:
        return errored("the sample did not finish in time")


class HoldSampler:
    """Samples the hold safeguards among `entries` from `start` to `stop`: the agent's turn."""

    def __init__(self, entries: Sequence[Entry], context: VerifyContext) -> None:
        self._context = context
        self._entries = [e for e in entries if e.role is Role.SAFEGUARD and e.effective_mode is Mode.HOLD]
        self.tracks = {entry.name: HoldTrack() for entry in self._entries}
        self._stop = threading.Event()
        self._threads: list[Future[None]] = []

    def start(self) -> None:
        """Begin; returns when every entry has its first sample, so that the agent's first act is already watched."""
        first = [threading.Event() for _ in self._entries]
        for entry, done in zip(self._entries, first, strict=True):
            track = self.tracks[entry.name]
            self._threads.append(
                spawn(_Follower(entry, self._context, track, self._stop, None, done), f"hold {entry.name}")
            )
        for done in first:
            done.wait(self._context.limits.call + 2 * GRACE)

    def stop(self) -> dict[str, HoldTrack]:
        """Take a last sample of each, end, and give the tracks by entry name. At most two samples' time, and before
        them the moment until the API server uses what was changed last in admission.
        """
        await_admission([e for e in self._entries if not self.tracks[e.name].violated], self._context)
        self._stop.set()
        deadline = Deadline.after(2 * (self._context.limits.call + 2 * GRACE))
        for thread in self._threads:
            try:
                thread.result(timeout=deadline.remaining())
            except TimeoutError:
                continue
        return self.tracks

    def __enter__(self) -> HoldSampler:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def hold_windows(entries: Sequence[Entry], context: VerifyContext, total: Deadline) -> Mapping[str, HoldTrack]:
    """Observe hold objectives, all side by side, each for its own window but not beyond `total`."""
    tracks: dict[str, HoldTrack] = {}
    threads = []
    for entry in entries:
        window = entry.hold_window_sec or 0.0
        track = tracks[entry.name] = HoldTrack(required_sec=window)
        threads.append(
            spawn(_Follower(entry, context, track, context.cancelled, (window, total), None), f"hold {entry.name}")
        )
    longest = max((entry.hold_window_sec or 0.0 for entry in entries), default=0.0)
    deadline = Deadline.after(min(longest, total.remaining()) + 2 * (context.limits.call + 2 * GRACE))
    for thread in threads:
        try:
            thread.result(timeout=deadline.remaining())
        except TimeoutError:
            continue
    return tracks


class _Follower:
    """The loop of one entry: until `stop`, or for `window` (seconds, but not beyond a deadline)."""

    def __init__(
        self,
        entry: Entry,
        context: VerifyContext,
        track: HoldTrack,
        stop: threading.Event,
        window: tuple[float, Deadline] | None,
        first: threading.Event | None,
    ) -> None:
        self.entry, self.context, self.track = entry, context, track
        self.stop, self.window, self.first = stop, window, first
        self.end: Deadline | None = None
        self.interval = entry.hold_poll_interval_sec or context.limits.hold_interval

    def __call__(self) -> None:
        started = time.monotonic()
        due = started
        if self.window is not None:
            seconds, total = self.window
            self.end = Deadline(min(started + seconds, total.at))
        try:
            while True:
                last = self._over()
                self.track.add(time.monotonic() - started, sample(self.entry, self.context))
                if self.first is not None:
                    self.first.set()
                if last or self.track.violated:
                    return
                # A sample that took longer than the interval skips the missed ones instead of crowding them.
                due = max(due + self.interval, time.monotonic())
                self._wait(due)
        finally:
            if self.first is not None:
                self.first.set()

    def _over(self) -> bool:
        return self.stop.is_set() or (self.end is not None and self.end.passed)

    def _wait(self, until: float) -> None:
        if self.end is not None:
            until = min(until, self.end.at)
        self.stop.wait(max(0.0, until - time.monotonic()))
