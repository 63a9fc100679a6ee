"""A look at a running tree a few times a second: what it takes, and whether a limit is passed that no kernel holds."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from devops_bench.sandbox.completed import Limit
from devops_bench.sandbox.disk import DiskWatch
from devops_bench.sandbox.limits import Cage

EVERY = 0.2  # seconds


def descendants(pid: int) -> list[int]:
    """`pid` and everything below it, as far as /proc shows."""
    found, todo = [], [pid]
    while todo:
        here = todo.pop()
        found.append(here)
        with suppress(OSError):  # it may end between any two looks
            for task in Path(f"/proc/{here}/task").glob("*/children"):
                with suppress(OSError):
                    todo += [int(child) for child in task.read_text().split()]
    return found


class Watch:
    """One thread per tree, from the opening of its gate to its end.

    `root`: the process above everything, bubblewrap itself: daemons are its init's children, not the command's.
    `disk` None: the kernel holds the quota. `processes` None: a cgroup or rlimit counts them. `inspect` is asked about
    every new command line (argv, environment) and returns true for one that must not run. `end` is called at most once,
    with the limit that was passed.
    """

    def __init__(
        self,
        root: int,
        cage: Cage,
        end: Callable[[Limit], None],
        *,
        disk: DiskWatch | None,
        processes: int | None,
        inspect: Callable[[Sequence[str], dict[str, str]], bool] | None,
    ) -> None:
        self._root = root
        self._cage = cage
        self._end = end
        self._disk = disk
        self._processes = processes
        self._inspect = inspect
        self._seen: dict[int, int] = {}  # hashes: what processes call themselves may be large
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="sandbox-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread. Idempotent; called before the tree's process is reaped."""
        self._over.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(EVERY):
            passed = self._look()
            if passed is not None and not self._over.is_set():
                self._end(passed)
                return

    def _look(self) -> Limit | None:
        self._cage.sample()
        if self._disk is None and self._processes is None and self._inspect is None:
            return None
        found = self._cage.pids()
        pids = descendants(self._root) if found is None else found
        if self._processes is not None and len(pids) > self._processes:
            return Limit.PROCESSES
        with suppress(OSError):
            if self._disk is not None and self._disk.exceeded(pids):
                return Limit.DISK
        if self._inspect is not None:
            self._seen = {pid: self._seen[pid] for pid in pids if pid in self._seen}
            if any(self._forbidden(pid) for pid in pids):
                return Limit.GUARD
        return None

    def _forbidden(self, pid: int) -> bool:
        """Ask about a process once for every command line it has."""
        assert self._inspect is not None
        with suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
            if line and self._seen.get(pid) != hash(line):
                self._seen[pid] = hash(line)
                environ = Path(f"/proc/{pid}/environ").read_bytes()
                pairs = (os.fsdecode(item).partition("=") for item in environ.split(b"\0") if b"=" in item)
                return self._inspect(
                    [os.fsdecode(word) for word in line.rstrip(b"\0").split(b"\0")],
                    {name: value for name, _sign, value in pairs},
                )
        return False
