"""Waits until entries become true: each in a thread of its own, woken by changes, ended by its deadline or by rest.

A coordinator bumps a generation whenever something changed; every waiting entry then judges that generation's shared
snapshot. So all entries see the same states, one list per kind serves them all, a slow entry only skips generations
that the others judge, and the order of entries means nothing. Once passed, an entry stays passed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from devops_bench.kube import Deadline
from devops_bench.tasks.spec import Entry
from devops_bench.verification.bounded import GRACE, spawn
from devops_bench.verification.changes import Changes
from devops_bench.verification.context import VerifyContext
from devops_bench.verification.evaluate import evaluate_entry
from devops_bench.verification.quiescence import LOOK_EVERY, RestWatcher
from devops_bench.verification.scope import Scope
from devops_bench.verification.snapshot import Snapshot, checks_of, kinds_read, wide_kinds
from devops_bench.verification.verdict import Status, Verdict, errored

_BETWEEN = 0.2  # seconds between two generations: a storm of events must not spin the evaluation
_FIRST = 2.0  # seconds given to the first generation before watches are opened
_LIVING = frozenset({"resource_property", "pod_healthy", "scaling_complete", "identity_preserved", "dry_run"})


@dataclass(frozen=True, slots=True)
class Settled:
    """An entry's last verdict and the seconds until then."""

    verdict: Verdict
    elapsed: float


class _Board:
    """What coordinator and entries share, under one condition."""

    def __init__(self, entries: Sequence[Entry], scope: Scope) -> None:
        self.condition = threading.Condition()
        self.news = threading.Event()  # something changed, or everything is done
        self.generation = 0
        self.scope = scope  # what that generation is judged by
        self.closed = False
        self.judged = {entry.name: 0 for entry in entries}
        self.done: set[str] = set()
        self.verdicts: dict[str, Settled] = {}

    def bump(self, scope: Scope) -> None:
        with self.condition:
            self.generation += 1
            self.scope = scope
            self.condition.notify_all()

    def close(self) -> None:
        with self.condition:
            self.closed = True
            self.condition.notify_all()

    def all_done(self) -> bool:
        return len(self.done) == len(self.judged)

    def up_to_date(self) -> bool:
        """Every entry that still waits has judged the newest generation."""
        return all(seen == self.generation for name, seen in self.judged.items() if name not in self.done)

    def wait_done(self, seconds: float) -> None:
        with self.condition:
            self.condition.wait_for(self.all_done, timeout=max(0.0, seconds))

    def wait_up_to_date(self, seconds: float) -> None:
        with self.condition:
            self.condition.wait_for(lambda: self.all_done() or self.up_to_date(), timeout=seconds)


def converge(entries: Sequence[Entry], context: VerifyContext, total: Deadline) -> dict[str, Settled]:
    """The verdict of each entry by name, once it passed, or when its time is over or waiting cannot help."""
    if not entries:
        return {}
    started = time.monotonic()
    deadline = total.within(context.limits.converge)
    board = _Board(entries, Scope(context, None, deadline))
    for entry in entries:
        spawn(partial(_await, entry, context, board, deadline, started), f"entry {entry.name}")
    _coordinate(entries, context, board, deadline)
    board.close()
    with board.condition:
        board.condition.wait_for(board.all_done, timeout=deadline.remaining() + GRACE)
        verdicts = dict(board.verdicts)
        late = {entry.name for entry in entries} - board.done
    elapsed = time.monotonic() - started
    for name in late:
        verdicts[name] = Settled(errored("did not finish in time"), elapsed)
    return verdicts


def _await(entry: Entry, context: VerifyContext, board: _Board, deadline: Deadline, started: float) -> None:
    """Judge each new generation until it passes, the board closes or no time is left for another look."""
    margin = min(2.0, context.limits.converge / 20)
    living = is_living(entry)
    seen = 0
    while True:
        with board.condition:
            board.condition.wait_for(
                lambda: board.generation > seen or board.closed,  # noqa: B023 - called before `seen` changes
                timeout=max(0.0, deadline.remaining() - margin) if seen else None,
            )
            news = board.generation > seen
            # A look that cannot be finished would turn an established fail into an error.
            if not news or (seen and deadline.remaining() < margin):
                break
            seen, scope = board.generation, board.scope
        verdict = evaluate_entry(entry, scope)
        settled = verdict.status is Status.PASS or not living
        with board.condition:
            board.judged[entry.name] = seen
            board.verdicts[entry.name] = Settled(verdict, time.monotonic() - started)
            board.condition.notify_all()
        if settled:
            break
    with board.condition:
        board.done.add(entry.name)
        if board.all_done():
            board.news.set()
        board.condition.notify_all()


def is_living(entry: Entry) -> bool:
    """Whether anything it reads can still change by itself once the agent has ended: the cluster can, files cannot."""
    return any(check.type in _LIVING for check in checks_of([entry]))


def _coordinate(entries: Sequence[Entry], context: VerifyContext, board: _Board, deadline: Deadline) -> None:
    """Bump generations until all are done, the deadline, or rest."""
    wide = wide_kinds(entries, context.namespace)
    kube = context.kube

    def bump() -> None:
        snapshot = Snapshot(kube, context.limits.call, wide) if kube else None
        board.bump(Scope.of_pass(context, snapshot, deadline))

    bump()
    board.wait_up_to_date(min(_FIRST, deadline.remaining()))
    if board.all_done() or kube is None:
        return
    concerned, limits = set(kinds_read(entries, context.namespace)), context.limits
    rest = context.rest or RestWatcher(kube, kubelets=context.kubelets)
    rest.read_anew()
    with Changes(kube, sorted(concerned), deadline, board.news) as changes:
        changes.ready(deadline.within(5.0))
        rest.look(deadline.within(context.limits.call))
        bumped = time.monotonic()
        bump()
        while not (board.all_done() or deadline.passed or context.cancelled.is_set()):
            woken = board.news.wait(min(LOOK_EVERY, deadline.remaining()))
            if board.all_done():
                return
            moved = rest.look(deadline.within(context.limits.call))
            if woken or moved:
                rest.read_anew()
                board.wait_done(bumped + _BETWEEN - time.monotonic())
                board.news.clear()
                bumped = time.monotonic()
                bump()
            elif board.up_to_date() and rest.is_over(concerned, limits.quiescence, limits.call, deadline):
                # What the API server only keeps in memory (admission policies follow within a second or so) changes
                # without a write: one last look, now that nothing else will move.
                bump()
                board.wait_up_to_date(deadline.within(context.limits.call).remaining())
                return
