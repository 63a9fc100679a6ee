"""The supervisor: one asyncio loop that starts, watches, adopts and finishes combos, and writes all of it down first.

Called by `supervisor.__main__` in a detached process that holds the run's lock. Invariants:

* an event is in the journal before what it announces is visible; a combo runs only after its pid is durable;
* the end of any process is learnt from its pidfd, its outcome from `outcome.json`; nothing is polled but a foreign
lock;
* whatever ends this process, running combos go on, and the next supervisor adopts them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devops_bench import paths, settings
from devops_bench.combo import outcome as outcomes
from devops_bench.combo.outcome import Outcome
from devops_bench.combo.token import take_token
from devops_bench.errors import BenchError, ConfigError, HarnessError, RefusedError, TransientError
from devops_bench.matrix import ids
from devops_bench.matrix.plan import Combo, Plan
from devops_bench.process import ProcessIdentity, boot_id, identity
from devops_bench.redact import Redactor
from devops_bench.settings import ComboState, FailureClass
from devops_bench.supervisor import policy, snapshot, summary
from devops_bench.supervisor.endings import Again, Endings
from devops_bench.supervisor.forks import ForkServer, open_gate
from devops_bench.supervisor.inotify import Watches
from devops_bench.supervisor.journal import Journal
from devops_bench.supervisor.planes import Planes
from devops_bench.supervisor.state import RunState
from devops_bench.supervisor.worker import Limits, Worker

if TYPE_CHECKING:
    from devops_bench.clusters.plane import Plane

LOCK_POLL = 1.0  # seconds between looks at a token held by another run; the kernel has no event for it


class Supervisor:
    """Runs a plan to its end, or to a stop. `run()` returns True when the run is done.

    Raises ConfigError for malformed settings before anything is started.
    """

    def __init__(self, plan: Plan, run_dir: Path, journal: Journal, state: RunState, env: Mapping[str, str]) -> None:
        self.plan = plan
        self.run_dir = run_dir
        self.journal = journal
        self.state = state
        self.env = env
        self.state_root = paths.state_root(env)
        self.combos: dict[str, Combo] = {combo.rid: combo for combo in plan.combos}
        self.workers: dict[str, Worker] = {}
        self._limits = Limits.of(plan.options.agent_timeout_sec, env)
        self._redactor = Redactor.of_run(env)
        self._endings = Endings(run_dir, state, self.combos, self.state_root, self.record, self._redactor)
        self._starting: set[str] = set()
        self._held: set[str] = set()
        # Rids that may still start, in plan order; so that a step costs what is free, not what is planned.
        self._open: dict[str, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._since_snapshot = 0
        self._fatal: BaseException | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._callback_failed)
        self._watches = Watches(self._loop)
        self._forks = ForkServer(self._loop, run_dir)
        self._planes = Planes(self.combos, env, self._loop, self.record, self._wake.set)

    def record(self, event: str, **fields: Any) -> None:
        """Append to the journal and fold into the state."""
        self.state.apply(self.journal.append(event, **fields))
        self._since_snapshot += 1
        if self._since_snapshot >= settings.TABLE["journal_snapshot"].value:
            self.take_snapshot()

    def take_snapshot(self) -> None:
        """Cache the state for `status`; losing it costs nothing but time."""
        self._since_snapshot = 0
        try:
            snapshot.write(self.run_dir, self.state, self.journal.path.stat().st_size)
        except OSError:
            (self.run_dir / snapshot.NAME).unlink(missing_ok=True)

    def listen(self) -> None:
        """Take stop signals. Before the launcher is told that the run is ours, so that none is lost."""
        self._loop.add_signal_handler(signal.SIGTERM, self.stop, "graceful")
        self._loop.add_signal_handler(signal.SIGINT, self.stop, "graceful")
        self._loop.add_signal_handler(signal.SIGUSR1, self.stop, "now")

    def resume(self) -> None:
        """Take over a run that another supervisor left; what its death left half done is mended in `run`."""
        self.record("resumed")
        # An older snapshot may speak of journal lines that did not survive a power loss.
        self.take_snapshot()

    async def run(self) -> bool:
        """Work until everything is terminal or a stop is complete."""
        try:
            if any(not c.state.terminal for c in self.state.combos.values()):
                self._forks.start()
            self._adopt()
            for rid in self.state.combos:
                self._reopen(rid, self._endings.mend(rid))
            while self._fatal is None:
                self._start_what_fits()
                if self._finished():
                    break
                await self._wake.wait()
                self._wake.clear()
            if self._fatal is not None:
                raise self._fatal
        finally:
            await self._planes.close()
            self._forks.close()
            for worker in self.workers.values():
                worker.close()
            self._watches.close()
        if self.state.stop_requested:
            self.take_snapshot()
            return False
        summary.finish(self)
        return True

    def cost(self) -> dict[str, float]:
        """CPU seconds and peak memory (MB) of this process and of the fork server; CPU seconds of combos and of all
        children together (fork server, combos, control planes, the builder).
        """
        mine, all_children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        own: dict[str, float] = {
            "supervisor_cpu": round(mine.ru_utime + mine.ru_stime, 3),
            "supervisor_rss_mb": mine.ru_maxrss // 1024,
            "children_cpu": round(all_children.ru_utime + all_children.ru_stime, 3),
        }
        return own | {f"zygote_{name}": figure for name, figure in self._forks.cost.items()}

    def _finished(self) -> bool:
        if self.workers or self._starting:
            return False
        if self.state.stop_requested or self.state.all_terminal:
            return True
        if self._planes.failure is not None and set(self._open) <= self._planes.unavailable():
            # Not the combos' fault and not theirs to pay: they stay planned, and resume goes on after the fix.
            self._fail(ConfigError(self._planes.failure))
        return False

    # -- starting ---------------------------------------------------------------------------------------------------

    def _start_what_fits(self) -> None:
        if self.state.stop_requested or self._fatal is not None or not self._room():
            return
        self._planes.look_ahead(self._open)
        held = self._planes.unavailable() | self._held | self._starting
        busy = len(self.workers) + len(self._starting)
        for rid in policy.startable(self._open, self.state.combos, busy, self.plan.options.max_parallel, held):
            if not self._begin(rid):
                # Its place is free for the next one; a locked combo is looked at again in a moment.
                self._loop.call_soon(self._wake.set)

    def _room(self) -> bool:
        """False, and the run is over for now, when the disk of the runs is full."""
        if not self._open:
            return True
        disk = os.statvfs(self.run_dir)
        free = disk.f_bavail * disk.f_frsize
        if free >= settings.TABLE["least_free"].value:
            return True
        what = f"No space left for results: {free >> 20} MiB free"
        self._fail(TransientError(what, where=self.run_dir, fix="free some, then resume"))
        return False

    def _begin(self, rid: str) -> bool:
        token = take_token(self.combos[rid].token, self.state_root)
        if token is None:
            if self.state.combos[rid].state is not ComboState.WAITING:
                self.record("combo_waiting", rid=rid, reason="another run on this host holds the same combo")
            self._hold(rid, LOCK_POLL)
            return False
        self._starting.add(rid)
        self._open.pop(rid, None)
        self._spawn(self._start(rid, token))
        return True

    def _hold(self, rid: str, delay: float) -> None:
        def release() -> None:
            self._held.discard(rid)
            self._wake.set()

        self._held.add(rid)
        self._loop.call_later(delay, release)

    def _reopen(self, rid: str, again: Again | None) -> None:
        """Let a combo start (again), after its delay."""
        if self.state.combos[rid].state in {ComboState.PLANNED, ComboState.WAITING}:
            self._open[rid] = None
            if again is not None and again.delay > 0:
                self._hold(rid, again.delay)

    async def _start(self, rid: str, token: int) -> None:
        attempt = self.state.combos[rid].attempt + 1
        plane: Plane | None = None
        try:
            plane = await self._planes.acquire(rid)
            if not self.state.stop_requested and await self._fork(rid, attempt, plane, token):
                plane = None
        except BenchError as error:
            self._finish_unstarted(rid, attempt, error)
        except OSError as error:
            self._finish_unstarted(rid, attempt, TransientError(f"cannot start the combo: {error}"))
        finally:
            os.close(token)
            if plane is not None:
                self._planes.give_back(plane)
            self._starting.discard(rid)
            self._wake.set()

    async def _fork(self, rid: str, attempt: int, plane: Plane | None, token: int) -> bool:
        """Fork the combo and let it run; False when a stop came first (its gate closes and it does nothing)."""
        directory = ids.reserve_attempt_dir(paths.private_dir(self.run_dir / rid), rid)
        relative = str(directory.relative_to(self.run_dir))
        self.record("combo_intent", rid=rid, attempt=attempt, directory=relative)
        gate_read, gate_write = open_gate()
        try:
            request = {
                "run_dir": str(self.run_dir),
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
                pid = await self._forks.fork(request, fds)
            finally:
                os.close(gate_read)
            if self.state.stop_requested:
                directory.rmdir()
                return False
            who = identity(pid)
            if who is None:
                raise TransientError("the combo's process ended before it began")
            self.record("combo_started", rid=rid, attempt=attempt, directory=relative, worker=who.to_data())
            if plane is not None:
                # The lease names the combo before the combo may run: no sweep takes the plane away from it.
                plane.lease_to(who, self.combos[rid].cluster_name)
                self._planes.handed_over(plane)
            self._watch(rid, who, directory, self._limits)
            with contextlib.suppress(BrokenPipeError):  # it died meanwhile: its pidfd tells
                os.write(gate_write, b"g")
            return True
        finally:
            os.close(gate_write)

    def _finish_unstarted(self, rid: str, attempt: int, error: BenchError) -> None:
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
        self._reopen(rid, self._endings.conclude(rid, attempt, outcome))

    # -- watching ---------------------------------------------------------------------------------------------------

    def _adopt(self) -> None:
        for rid, combo in list(self.state.combos.items()):
            if combo.state is not ComboState.RUNNING:
                continue
            directory = self.run_dir / combo.directory
            who = ProcessIdentity.from_data(combo.worker)
            if who is not None and who.alive():
                self.record("adopted", rid=rid, attempt=combo.attempt)
                self._watch(rid, who, directory, self._limits.since(combo.started), seen=combo.seen)
            elif who is not None and who.foreign and who.boot == boot_id():
                raise RefusedError(
                    f"combo {rid} was started in another container, where it may still run", fix="resume there"
                )
            else:
                self._ended(rid, directory)

    def _watch(self, rid: str, who: ProcessIdentity, directory: Path, limits: Limits, seen: str = "") -> None:
        worker = Worker(rid, who, directory, self._loop, self._watches, self.record, self._worker_ended)
        worker.start(limits, seen)
        self.workers[rid] = worker

    def _worker_ended(self, worker: Worker) -> None:
        if outcomes.read(worker.directory) is None:
            # It died. The slot stays taken until it is known how, and what it left is swept.
            self._spawn(self._worker_died(worker))
            return
        self._forks.exits.pop(worker.who.pid, None)
        self._settle(worker, None)

    async def _worker_died(self, worker: Worker) -> None:
        self._settle(worker, await self._forks.exit_code(worker.who.pid))

    def _settle(self, worker: Worker, code: int | None) -> None:
        self.workers.pop(worker.rid, None)
        self._ended(worker.rid, worker.directory, worker.ended_for, code)
        self._wake.set()

    def _ended(self, rid: str, directory: Path, ordered: Outcome | None = None, code: int | None = None) -> None:
        """Take the outcome, or conclude one. `ordered` is why we ended it ourselves, if we did."""
        combo = self.state.combos[rid]
        outcome = self._endings.outcome_of(rid, directory, code)
        if ordered is not None and outcome.state in {ComboState.STOPPED, ComboState.INVALID}:
            outcome = replace(
                outcome,
                state=ordered.state,
                exit=ordered.exit,
                klass=ordered.klass,
                signature=ordered.signature,
                reason=ordered.reason,
                transient=ordered.transient,
            )
        self._reopen(rid, self._endings.conclude(rid, combo.attempt, outcome))

    # -- faults of our own ------------------------------------------------------------------------------------------

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _callback_failed(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._fail(context.get("exception") or HarnessError(str(context.get("message"))))

    def _fail(self, error: BaseException) -> None:
        """Nothing more can be started, or we are wrong. Running combos go on and are adopted; the run is resumable."""
        if self._fatal is None:
            self._fatal = error
            reason = error.message() if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
            with contextlib.suppress(OSError):
                self.record("launching_stopped", reason=self._redactor.text(reason))
        self._wake.set()

    # -- stopping ---------------------------------------------------------------------------------------------------

    def stop(self, how: str) -> None:
        """Stop: no new combos; running ones tear down and end (`graceful`) or are killed (`now`)."""
        if self.state.stop_requested != "now":
            self.record("stop_requested", how=how)
        for worker in self.workers.values():
            worker.end(0.0 if how == "now" else self._limits.grace)
        self._planes.give_up()
        self._wake.set()
