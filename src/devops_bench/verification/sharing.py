"""What all entries of one evaluation pass share: whoever asks first finds it out, the others wait for that answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

from devops_bench.kube import Deadline
from devops_bench.verification.context import SandboxRun

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

Answer = tuple[int, str, str]


class Shared(Generic[Key, Value]):
    """The answers of one pass by what was asked. Thread-safe; throw it away after the pass."""

    def __init__(self, *, keep_errors: bool) -> None:
        """`keep_errors`: an error is an answer as well; else whoever asks after it tries again."""
        self._keep_errors = keep_errors
        self._answers: dict[Key, Future[Value]] = {}
        self._lock = threading.Lock()

    def get(self, asked: Key, find_out: Callable[[], Value], timeout: float | None = None) -> Value:
        """The answer, found out by the first caller. Raises what that raised; TimeoutError for who waits too long."""
        with self._lock:
            future = self._answers.get(asked)
            mine = future is None
            if future is None:
                future = self._answers[asked] = Future()
        if mine:
            try:
                future.set_result(find_out())
            except BaseException as error:  # every waiter must learn of it
                if not self._keep_errors:
                    with self._lock:
                        del self._answers[asked]
                future.set_exception(error)
        return future.result(timeout)


class Runs:
    """The commands of one pass. Each sees a copy of the workspace of its own, so none can change what another finds."""

    def __init__(self, run: SandboxRun) -> None:
        self._run = run
        self._answers: Shared[tuple[tuple[str, ...], float], Answer] = Shared(keep_errors=False)

    def answer(self, argv: Sequence[str], limit: float, deadline: Deadline) -> Answer:
        """Exit code, stdout and stderr of `argv`, which may take `limit` seconds but not longer than the deadline.

        Equal commands with the same limit run once. Raises TimeoutError, OSError; then asking again is another try.
        """
        return self._answers.get((tuple(argv), limit), lambda: self._run(argv, min(limit, deadline.remaining())))
