"""Ends a script's `kubectl wait` and `kubectl rollout status` once the cluster is at rest, as their timeout would.

What a step less leaves undone never comes, and half of all cases would sit out a timeout for it. By the same rule as
for entries that fail (decisions.md, quiescence): no write for the quiet time, and no timer that could move anything.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from devops_bench.kube import Deadline, KubeClient
from devops_bench.process import identity
from devops_bench.sandbox.watch import descendants
from devops_bench.verification.context import VerifyContext
from devops_bench.verification.quiescence import LOOK_EVERY, RestWatcher

_YOUNG = 1.0  # seconds in which a wait may find by itself that it has come true


class WaitEnder:
    """Watches the waits of one script, from `begin` to `end`.

    `concerned` are the kinds that the task's entries read; `within` bounds the script (seconds).
    """

    def __init__(self, kube: KubeClient, context: VerifyContext, concerned: Collection[str], within: float) -> None:
        self._kube = kube
        self._limits = context.limits
        self._kubelets = context.kubelets
        self._concerned = concerned
        self._within = within
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._rest: RestWatcher | None = None

    def begin(self, pid: int) -> None:
        """Watch what the process `pid` starts."""
        until = Deadline.after(self._within)
        self._thread = threading.Thread(target=self._watch, args=(pid, until), name="waits", daemon=True)
        self._thread.start()

    def end(self) -> RestWatcher | None:
        """Stop. What has been followed of the cluster, if there was a wait: it may be followed on from there."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        return self._rest

    def _watch(self, pid: int, until: Deadline) -> None:
        while not self._over.wait(LOOK_EVERY):
            waiting = list(_waits(pid))
            if self._rest is None and waiting:
                self._rest = RestWatcher(self._kube, kubelets=self._kubelets)
            if self._rest is None:
                continue
            self._rest.look(Deadline.after(self._limits.call))
            if waiting and self._rest.is_over(self._concerned, self._limits.quiescence, self._limits.call, until):
                for process in waiting:
                    with suppress(ProcessLookupError):
                        os.kill(process, signal.SIGTERM)


def _waits(root: int) -> Iterator[int]:
    """Processes below `root` that do nothing but wait for the cluster, and are not young; none once it has ended."""
    for pid in descendants(root):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"kubectl") and (b"wait" in words or {b"rollout", b"status"} <= set(words)):
            who = identity(pid)
            if who is not None and who.age() >= _YOUNG:
                yield pid
