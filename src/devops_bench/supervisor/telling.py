"""What the supervisor tells people: the end of a run, a stop, a halt, and the heartbeats of hands-off runs."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from devops_bench.supervisor.notify import Kind, Target, message, send
from devops_bench.supervisor.view import progress

if TYPE_CHECKING:
    from devops_bench.supervisor.core import Supervisor

LAST_SEC = 2.0  # so long the last messages may take before the supervisor ends without knowing


class Telling:
    """Sends messages of one run. A receiver that fails is journalled; one that hangs holds up neither combos nor the
    end: its delivery goes on alone, and says in the supervisor's log what became of it.
    """

    def __init__(self, target: Target, supervisor: Supervisor) -> None:
        self._target = target
        self._of = supervisor
        self._sent: list[tuple[Kind, subprocess.Popen[bytes]]] = []

    def heartbeat(self, data: Mapping[str, Any]) -> None:
        """Where the run stands; never looks like its end."""
        self._tell(Kind.HEARTBEAT, progress(self._of.state), data)

    def end(self, data: Mapping[str, Any], error: str = "") -> None:
        """The supervisor is about to end: done, stopped, or it needs a person."""
        state = self._of.state
        if state.done:
            self._tell(Kind.DONE, progress(state), data)
        elif state.stop_requested:
            self._tell(Kind.STOPPED, progress(state), data)
        else:
            reason = error or state.halted or "the supervisor ended"
            go_on = f"go on with `devops-bench resume {self._of.run_dir.name}`"
            self._tell(Kind.NEEDS_YOU, f"{reason}; {go_on} ({progress(state)})", {**data, "reason": reason})
        deadline = time.monotonic() + LAST_SEC
        for kind, process in self._sent:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
                self._ended(kind, process)

    def _tell(self, kind: Kind, text: str, data: Mapping[str, Any]) -> None:
        if not self._target:
            return
        still = []
        for earlier, process in self._sent:
            if process.poll() is None:
                still.append((earlier, process))
            else:
                self._ended(earlier, process)
        self._sent = still
        redact = self._of.redactor
        body = message(kind, self._of.run_dir.name, redact.text(text), redact.obj(dict(data)))
        try:
            delivery = send(self._target, body)
        except OSError:  # no process to be had: nobody is told, and the run goes on
            self._failed(kind)
            return
        if delivery is not None:
            self._sent.append((kind, delivery))

    def _ended(self, kind: Kind, process: subprocess.Popen[bytes]) -> None:
        if process.returncode:
            self._failed(kind)

    def _failed(self, kind: Kind) -> None:
        # After `done` the journal is closed for good.
        if not self._of.state.done:
            with contextlib.suppress(OSError):
                self._of.record("notify_failed", kind=kind.value)
