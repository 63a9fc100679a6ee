"""Commands of one evaluation pass: equal ones run once, and all entries judge that answer, as they share its lists."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace

from devops_bench.verification.context import SandboxRun, VerifyContext

Answer = tuple[int, str, str]


def one_pass(context: VerifyContext) -> VerifyContext:
    """`context` for one pass. Its commands see a copy of the workspace each, so none can change what another finds."""
    return context if context.sandbox_run is None else replace(context, sandbox_run=_shared(context.sandbox_run))


def _shared(run: SandboxRun) -> SandboxRun:
    """`run`, but whoever asks what was asked before, with as much time for it, gets that answer."""
    answers: dict[tuple[tuple[str, ...], int], Future[Answer]] = {}
    lock = threading.Lock()

    def shared(argv: Sequence[str], seconds: float) -> Answer:
        asked = tuple(argv), round(seconds)
        with lock:
            future = answers.get(asked)
            mine = future is None
            if future is None:
                future = answers[asked] = Future()
        if mine:
            try:
                future.set_result(run(argv, seconds))
            except BaseException as error:  # every waiter must learn of it; who asks after that may have more luck
                with lock:
                    del answers[asked]
                future.set_exception(error)
        return future.result(None if mine else seconds)

    return shared
