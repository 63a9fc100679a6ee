"""Commands of one evaluation pass: equal ones run once, and all entries judge that answer.

Each command sees a copy of the workspace of its own, so none can change what another finds.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future

from devops_bench.kube import Deadline
from devops_bench.verification.context import SandboxRun

Answer = tuple[int, str, str]


class Runs:
    """The commands of one pass. Thread-safe; throw it away after the pass."""

    def __init__(self, run: SandboxRun) -> None:
        self._run = run
        self._answers: dict[tuple[tuple[str, ...], float], Future[Answer]] = {}
        self._lock = threading.Lock()

    def answer(self, argv: Sequence[str], limit: float, deadline: Deadline) -> Answer:
        """Exit code, stdout and stderr of `argv`, which may take `limit` seconds but not longer than the deadline.

        Who asks what is asked already, with the same limit, waits for that answer. Raises TimeoutError, OSError; such
        an answer is not kept, so that asking again is another try.
        """
        asked = tuple(argv), limit
        with self._lock:
            future = self._answers.get(asked)
            mine = future is None
            if future is None:
                future = self._answers[asked] = Future()
        if mine:
            try:
                future.set_result(self._run(argv, min(limit, deadline.remaining())))
            except BaseException as error:  # every waiter must learn of it
                with self._lock:
                    del self._answers[asked]
                future.set_exception(error)
        return future.result()
