"""Run several functions side by side, each against one deadline, and never wait longer than that for any of them.

A check that hangs (a stopped API server, a sandbox that does not answer) is left behind in a daemon thread and becomes
an error; its siblings keep their own time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

from devops_bench.kube import Deadline
from devops_bench.verification.verdict import Verdict, errored

T = TypeVar("T")

GRACE = 1.0  # seconds beyond the deadline for a call that notices it by itself and gives a better reason


def spawn(work: Callable[[], T], name: str) -> Future[T]:
    """`work` in a daemon thread of its own."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # handed to whoever waits
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


def side_by_side(tasks: Sequence[tuple[str, Callable[[], Verdict]]], deadline: Deadline) -> list[Verdict]:
    """The verdict of each (label, function), in order; one that outlives the deadline is an error."""
    if len(tasks) == 1 and deadline.passed:
        return [errored("no time was left for it")]
    futures = [(label, spawn(work, f"check {label}")) for label, work in tasks]
    return [_verdict(future, deadline) for _, future in futures]


def _verdict(future: Future[Verdict], deadline: Deadline) -> Verdict:
    try:
        return future.result(timeout=deadline.remaining() + GRACE)
    except TimeoutError:
        return errored("did not finish in time")
