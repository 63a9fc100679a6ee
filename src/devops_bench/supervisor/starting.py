"""Bringing one combo to life: its token, its control plane, the fork, and the moment at which it may run.

Part of the supervisor (core), which says what starts; here is how. A combo runs only after its pid is durable: the
intent is journalled, the process forked (it blocks on its gate), the pid journalled, the gate opened.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from devops_bench import paths, settings
from devops_bench.combo.outcome import Outcome
from devops_bench.combo.token import take_token
from devops_bench.errors import BenchError, HarnessError, TransientError
from devops_bench.matrix import ids
from devops_bench.process import identity
from devops_bench.settings import ComboState, FailureClass
from devops_bench.supervisor import before_retry
from devops_bench.supervisor.forks import ForkServerGone, open_gate

if TYPE_CHECKING:
    from devops_bench.clusters.plane import Plane
    from devops_bench.supervisor.core import Supervisor

LOCK_POLL = 1.0  # seconds between looks at a token held by another run; the kernel has no event for it
CLEAN_POLL = 5.0  # seconds between looks at what must hold before a retry
FORK_TRIES = 5  # fork servers that may die under one attempt before it is given up
CLEAN_LOOKS = 24  # then it starts anyway: the attempt itself will say what is wrong


class Starting:
    """Starts combos for one supervisor. `active` are those that have begun to start and do not run yet."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._of = supervisor
        self._looks: dict[str, int] = {}
        self.active: set[str] = set()

    def begin(self, rid: str) -> bool:
        """Start `rid`, which the scheduler counts as running; False when it has to wait and was put back."""
        core = self._of
        token = take_token(core.combos[rid].token, core.state_root)
        if token is None:
            if core.state.combos[rid].state is not ComboState.WAITING:
                core.record("combo_waiting", rid=rid, reason="another run on this host holds the same combo")
            core.later(rid, LOCK_POLL)
            return False
        if core.state.combos[rid].attempt and not self._clean(rid):
            os.close(token)
            core.later(rid, CLEAN_POLL)
            return False
        self.active.add(rid)
        core.spawn(self._start(rid, token))
        return True

    def _clean(self, rid: str) -> bool:
        """Whether another attempt may start: see `before_retry`. Says once what is waited for."""
        core = self._of
        wrong = before_retry.for_combo(core.combos[rid], core.run_dir, core.state_root)
        looks = self._looks[rid] = self._looks.get(rid, 0) + 1
        if not wrong or looks > CLEAN_LOOKS:
            self._looks.pop(rid, None)
            return True
        if looks == 1:
            reason = "; ".join(one.line() for one in wrong)
            core.record("combo_waiting", rid=rid, reason=core.redactor.text(f"before the retry: {reason}"))
        return False

    async def _start(self, rid: str, token: int) -> None:
        core = self._of
        attempt = core.state.combos[rid].attempt + 1
        plane: Plane | None = None
        directory: Path | None = None
        started = False
        try:
            plane = await core.planes.acquire(rid)
            if not core.state.stop_requested:
                directory = self._reserve(rid, attempt)
                if await self._fork(rid, attempt, directory, plane, token):
                    plane, started = None, True
        except BenchError as error:
            self._failed(rid, attempt, directory, error)
            started = True
        except OSError as error:
            self._failed(rid, attempt, directory, TransientError(f"cannot start the combo: {error}"))
            started = True
        finally:
            os.close(token)
            if plane is not None:
                core.planes.give_back(plane)
            self.active.discard(rid)
            if not started:
                core.schedule.released(rid)
            core.wake()

    def _reserve(self, rid: str, attempt: int) -> Path:
        """Make the attempt's folder and journal the intent."""
        core = self._of
        directory = ids.reserve_attempt_dir(paths.private_dir(core.run_dir / rid), rid)
        core.record("combo_intent", rid=rid, attempt=attempt, directory=str(directory.relative_to(core.run_dir)))
        return directory

    async def _fork(self, rid: str, attempt: int, directory: Path, plane: Plane | None, token: int) -> bool:
        """Fork the combo and let it run; False when a stop came first (its gate closes and it does nothing).

        The death of a fork server is not the combo's, which has not begun: another one is asked, and no attempt spent.
        """
        for _ in range(FORK_TRIES - 1):
            with contextlib.suppress(ForkServerGone):
                return await self._fork_once(rid, attempt, directory, plane, token)
        return await self._fork_once(rid, attempt, directory, plane, token)

    async def _fork_once(self, rid: str, attempt: int, directory: Path, plane: Plane | None, token: int) -> bool:
        """One try, with a gate of its own: a child that a dead server left at another gate must never begin."""
        core = self._of
        relative = str(directory.relative_to(core.run_dir))
        gate_read, gate_write = open_gate()
        try:
            request = {
                "run_dir": str(core.run_dir),
                "rid": rid,
                "attempt": attempt,
                "directory": str(directory),
                "plane": str(plane.folder) if plane is not None else None,
            }
            fds = {"gate": gate_read, "token": token}
            if plane is not None:
                assert plane.write_fd is not None
                fds["plane"] = plane.write_fd
            try:
                pid = await core.forks.fork(request, fds)
            finally:
                os.close(gate_read)
            if core.state.stop_requested:
                directory.rmdir()
                return False
            who = identity(pid)
            if who is None:
                raise TransientError("the combo's process ended before it began")
            core.record("combo_started", rid=rid, attempt=attempt, directory=relative, worker=who.to_data())
            if plane is not None:
                # The lease names the combo before the combo may run: no sweep takes the plane away from it.
                plane.lease_to(who, core.combos[rid].cluster_name)
                core.planes.handed_over(plane)
            core.watch(rid, who, directory, core.limits)
            with contextlib.suppress(BrokenPipeError):  # it died meanwhile: its pidfd tells
                os.write(gate_write, b"g")
            return True
        finally:
            os.close(gate_write)

    def _failed(self, rid: str, attempt: int, directory: Path | None, error: BenchError) -> None:
        if directory is None:
            with contextlib.suppress(OSError):  # where nothing can be written, the journal alone tells
                self._reserve(rid, attempt)  # an attempt has a folder, however short it was
        transient = isinstance(error, TransientError)
        klass = FailureClass.INFRA if transient else FailureClass.SETUP
        if isinstance(error, HarnessError):
            klass = FailureClass.HARNESS
        outcome = Outcome(
            state=ComboState.INVALID,
            exit=1,
            klass=klass.value,
            phase=settings.Phase.PROVISION.value,
            signature="provision-failed",
            reason=error.message(),
            transient=transient,
            delay=error.delay if isinstance(error, TransientError) else 0.0,
        )
        self._of.conclude(rid, attempt, outcome)
