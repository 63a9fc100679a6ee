"""Wakes a waiting verification as soon as something it reads changes: one metadata-only watch per kind concerned.

A watch that breaks wakes the waiter too (it looks again itself) and is opened anew after a second; so a lost watch
costs time, never a verdict. One that cannot be opened does not wake it: a kind that nobody can read would never let it
rest.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial

from devops_bench.kube import Deadline, KubeClient, KubeError
from devops_bench.kube.session import StreamHandle
from devops_bench.verification.bounded import spawn

_REOPEN = 1.0  # seconds before a broken watch is opened again


class Changes:
    """`event` is set on each change of one of `kinds`; clear it before looking. Close it, or use it as a context."""

    def __init__(self, kube: KubeClient, kinds: Sequence[str], deadline: Deadline, event: threading.Event) -> None:
        self.event = event
        self._kube = kube
        self._deadline = deadline
        self._closed = threading.Event()
        self._handles: list[StreamHandle] = []
        self._lock = threading.Lock()
        self._started = [threading.Event() for _ in kinds]
        for kind, started in zip(kinds, self._started, strict=True):
            spawn(partial(self._follow, kind, started), f"watch {kind}")

    def ready(self, deadline: Deadline) -> None:
        """Wait until every watch knows where it starts, so that no change after this is missed."""
        for started in self._started:
            started.wait(deadline.remaining())

    def close(self) -> None:
        """End all watches."""
        self._closed.set()
        with self._lock:
            handles = list(self._handles)
        for handle in handles:
            handle.close()

    def __enter__(self) -> Changes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _follow(self, kind: str, started: threading.Event) -> None:
        told = False  # the waiter knows that nobody watches
        while not self._closed.is_set() and not self._deadline.passed:
            handle = StreamHandle()
            with self._lock:
                self._handles[:] = [known for known in self._handles if not known.closed] + [handle]
            try:
                here = self._kube.list_with_version(
                    kind, metadata_only=True, limit=1, deadline=self._deadline.within(self._kube.timeout)
                )
                started.set()
                if told:
                    self.event.set()  # what happened in between
                told = False
                for event, _ in self._kube.watch(
                    kind,
                    resource_version=here.resource_version,
                    metadata_only=True,
                    deadline=self._deadline,
                    opened=handle,
                ):
                    if event != "BOOKMARK":
                        self.event.set()
            except KubeError:
                if not told:
                    self.event.set()
                told = True
            finally:
                started.set()
                handle.close()
            self._closed.wait(_REOPEN)
