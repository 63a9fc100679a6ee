"""A verification from end to end, and the single pass before the agent starts.

Order of work: entries that may converge, side by side; then those judged once, on the state that was reached; then the
windows of hold objectives, side by side. The order of entries in the task never matters.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from devops_bench.kube import Deadline
from devops_bench.tasks.spec import Entry, Mode, ParseFailure, Role
from devops_bench.verification.admission import await_admission
from devops_bench.verification.bounded import GRACE, spawn
from devops_bench.verification.context import VerifyContext
from devops_bench.verification.converge import Settled, converge
from devops_bench.verification.evaluate import evaluate_entry
from devops_bench.verification.hold import HoldSampler, HoldTrack, hold_windows
from devops_bench.verification.result import EntryResult
from devops_bench.verification.scope import Scope
from devops_bench.verification.snapshot import Snapshot, wide_kinds
from devops_bench.verification.verdict import Status, errored

_RETRY_AFTER = 1.0  # seconds between an errored look and the next


def assert_once(entries: Sequence[Entry], context: VerifyContext) -> list[EntryResult]:
    """Every entry judged once as it is now, whatever its mode; nothing is waited for. In the entries' order."""
    settled = judge_once(entries, context, Deadline.after(context.limits.once), retry=False)
    return [EntryResult.of(entry, settled[entry.name].verdict, settled[entry.name].elapsed) for entry in entries]


def verify(
    entries: Sequence[Entry],
    parse_failures: Sequence[ParseFailure],
    context: VerifyContext,
    hold_samples: HoldSampler | Mapping[str, HoldTrack] | None = None,
) -> list[EntryResult]:
    """Judge everything after the agent has ended. In the entries' order, unreadable entries last.

    `hold_samples` is the stopped sampler of the agent's turn, or its tracks. Never raises for what the cluster or the
    agent did.
    """
    total = Deadline.after(context.limits.total)
    awaited = [entry for entry in entries if entry.effective_mode is Mode.CONVERGE]
    once = [entry for entry in entries if entry.effective_mode is Mode.ASSERT]
    windows = [e for e in entries if e.effective_mode is Mode.HOLD and e.role is Role.OBJECTIVE]
    await_admission([*awaited, *once, *windows], context)
    settled = converge(awaited, context, total)
    settled |= judge_once(once, context, total.within(context.limits.once), retry=True)
    sampled = hold_samples.tracks if isinstance(hold_samples, HoldSampler) else hold_samples or {}
    tracks = dict(sampled) | dict(hold_windows(windows, context, total))
    results = []
    for entry in entries:
        if entry.effective_mode is Mode.HOLD:
            track = tracks.get(entry.name, HoldTrack())
            report = track.report()
            results.append(EntryResult.of(entry, track.verdict(), report.observed_window_sec, report))
        else:
            mine = settled[entry.name]
            results.append(EntryResult.of(entry, mine.verdict, mine.elapsed))
    return results + [EntryResult.unreadable(failure) for failure in parse_failures]


def judge_once(
    entries: Sequence[Entry], context: VerifyContext, deadline: Deadline, *, retry: bool
) -> dict[str, Settled]:
    """One pass over a shared snapshot, side by side. With `retry` an errored entry is looked at again in time."""
    started = time.monotonic()
    scope = Scope.of_pass(context, _snapshot(entries, context), deadline)
    futures = {entry.name: spawn(partial(_once, entry, scope, retry), f"entry {entry.name}") for entry in entries}
    settled = {}
    for name, future in futures.items():
        try:
            settled[name] = future.result(timeout=deadline.remaining() + GRACE)
        except TimeoutError:
            settled[name] = Settled(errored("did not finish in time"), time.monotonic() - started)
    return settled


def _once(entry: Entry, scope: Scope, retry: bool) -> Settled:
    started = time.monotonic()
    context = scope.context
    while True:
        verdict = evaluate_entry(entry, scope)
        over = context.cancelled.is_set() or scope.deadline.remaining() <= _RETRY_AFTER
        if verdict.status is not Status.ERROR or not retry or over:
            return Settled(verdict, time.monotonic() - started)
        context.cancelled.wait(_RETRY_AFTER)
        scope = replace(scope, snapshot=_snapshot([entry], context))


def _snapshot(entries: Sequence[Entry], context: VerifyContext) -> Snapshot | None:
    if context.kube is None:
        return None
    return Snapshot(context.kube, context.limits.call, wide_kinds(entries, context.namespace))
