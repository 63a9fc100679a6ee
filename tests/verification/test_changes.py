"""What wakes a waiting verification."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from devops_bench.kube import Deadline, KubeList, KubeUnavailable
from devops_bench.verification import changes
from devops_bench.verification.changes import Changes

DEADLINE = 30.0  # seconds


class Kind:
    """A kind that cannot be read until `readable` is set; then its watch is quiet until `over`."""

    timeout = DEADLINE

    def __init__(self) -> None:
        self.readable = threading.Event()
        self.over = threading.Event()
        self.tries = threading.Semaphore(0)

    def list_with_version(self, _kind: str, **_: Any) -> KubeList:
        self.tries.release()
        if not self.readable.is_set():
            raise KubeUnavailable("request to convert", status=500)
        return KubeList([], "1")

    def watch(self, _kind: str, **_: Any) -> Iterator[tuple[str, Any]]:
        self.over.wait(DEADLINE)
        return iter(())


def test_a_kind_that_cannot_be_read_wakes_once_and_again_when_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_REOPEN", 0.001)
    kind, news = Kind(), threading.Event()
    with Changes(kind, ["backups"], Deadline.after(DEADLINE), news):  # type: ignore[arg-type]
        assert news.wait(DEADLINE)
        news.clear()
        for _ in range(5):
            assert kind.tries.acquire(timeout=DEADLINE)
        assert not news.is_set()
        kind.readable.set()
        assert news.wait(DEADLINE)
        kind.over.set()
