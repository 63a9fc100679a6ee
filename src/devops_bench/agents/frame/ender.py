"""Ends a running CLI before its time, from any thread, and watches the gateway for a reason to.

A CLI that goes on after its model failed only burns time: many retry for minutes. Once a turn has failed and no request
is under way, the CLI has `GRACE` seconds to say so itself.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from devops_bench.agents.frame.ends import terminal_fault, under_way
from devops_bench.models.exchange import Exchange

GRACE = 3.0
INTERVAL = 0.25


class Ender:
    """Kills the tree of a process, once told which by `begin`. A context manager.

    Through a descriptor of the process, so that a number used again by the system is never hit.
    """

    def __init__(self, exchanges: Callable[[], Sequence[Exchange]], grace: float = GRACE) -> None:
        self._exchanges = exchanges
        self._grace = grace
        self._fd: int | None = None
        self._quiet = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="agent-ender", daemon=True)

    def __enter__(self) -> Ender:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._quiet.set()
        if self._fd is not None:
            self._thread.join()
            os.close(self._fd)

    def begin(self, pid: int) -> None:
        """Watch from now on; `pid` is a child that is not reaped yet."""
        self._fd = os.pidfd_open(pid)
        self._thread.start()

    def kill(self) -> None:
        """End it now; the sandbox's process namespace, or its watchdog, takes the rest."""
        if self._fd is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._fd, signal.SIGKILL)

    def _watch(self) -> None:
        since: float | None = None
        while not self._quiet.wait(INTERVAL):
            exchanges = self._exchanges()
            if terminal_fault(exchanges) is None:
                since = None
                continue
            since = time.monotonic() if since is None else since
            # A CLI may do better with another request (a shorter one, say): it gets to hear the answer.
            if time.monotonic() - since >= self._grace and not any(under_way(one) for one in exchanges):
                self.kill()
                return
