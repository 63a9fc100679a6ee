"""Forking from a thread that lasts, because the kernel's parent-death signal fires when the forking *thread* ends."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
_keeper: threading.Thread | None = None
_keeper_pid = 0
_keeper_lock = threading.Lock()


def lasting(make: Callable[[], T]) -> T:
    """Call `make` in a thread that lasts as long as this process, and give back what it gives.

    The kernel's parent-death signal fires when the forking *thread* ends. The main thread lasts; a worker thread of
    some pool does not, and its end would kill the sandbox. So calls from other threads are passed to one kept for this.
    """
    global _keeper, _keeper_pid, _jobs
    if threading.current_thread() is threading.main_thread():
        return make()
    with _keeper_lock:
        if _keeper is None or _keeper_pid != os.getpid():
            _jobs = queue.SimpleQueue()
            _keeper_pid = os.getpid()
            _keeper = threading.Thread(target=_keep, args=(_jobs,), name="sandbox-spawner", daemon=True)
            _keeper.start()
    answer: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def job() -> None:
        try:
            answer.put((make(), None))
        except BaseException as error:
            answer.put((None, error))

    _jobs.put(job)
    value, error = answer.get()
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


def _keep(jobs: queue.SimpleQueue[Callable[[], None]]) -> None:
    while True:
        jobs.get()()
