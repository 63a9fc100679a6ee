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
import random
import resource
import signal
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devops_bench import paths, settings
from devops_bench.combo import outcome as outcomes
from devops_bench.combo.outcome import Outcome
from devops_bench.errors import BenchError, HarnessError, TransientError
from devops_bench.matrix.plan import Combo, Plan
from devops_bench.process import ProcessIdentity, identity
from devops_bench.settings import ComboState, FailureClass
from devops_bench.supervisor import attempts, policy, snapshot, summary
from devops_bench.supervisor.forks import ForkServer, open_gate
from devops_bench.supervisor.inotify import Watches
from devops_bench.supervisor.journal import Journal
from devops_bench.supervisor.locks import take_token
from devops_bench.supervisor.planes import Planes
from devops_bench.supervisor.state import RunState
from devops_bench.supervisor.worker import Worker

if TYPE_CHECKING:
    from devops_bench.clusters.plane import Plane

LOCK_POLL = 1.0  # seconds between looks at a token held by another run; the kernel has no event for it


class Supervisor:
    """Runs a plan to its end, or to a stop. `run()` returns True when the run is done."""

    def __init__(self, plan: Plan, run_dir: Path, journal: Journal, state: RunState, env: Mapping[str, str]) -> None:
        self.plan = plan
        self.run_dir = run_dir
        self.journal = journal
        self.state = state
        self.env = env
        self.state_root = paths.state_root(env)
        self.combos: dict[str, Combo] = {combo.rid: combo for combo in plan.combos}
        self.workers: dict[str, Worker] = {}
        self._starting: set[str] = set()
        self._held: dict[str, str] = {}
        # Rids that may still start, in plan order; so that a step costs what is free, not what is planned.
        self._open: dict[str, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret
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

    async def run(self) -> bool:
        """Work until everything is terminal or a stop is complete."""
        self._loop.add_signal_handler(signal.SIGTERM, self.stop, "graceful")
        self._loop.add_signal_handler(signal.SIGINT, self.stop, "graceful")
        self._loop.add_signal_handler(signal.SIGUSR1, self.stop, "now")
        try:
            if any(not c.state.terminal for c in self.state.combos.values()):
                self._forks.start()
            self._adopt()
            self._open = dict.fromkeys(rid for rid, combo in self.state.combos.items() if not combo.state.terminal)
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

    def resume(self) -> None:
        """Take over a run that another supervisor left:

        Stopped combos are planned again, half-told endings are told.
        """
        self.record("resumed")
        for rid, combo in self.state.combos.items():
            if combo.state is ComboState.STOPPED:
                self.record("combo_replanned", rid=rid, reason="resumed after a stop")
            elif combo.state.terminal and not (self.run_dir / rid / summary.STATUS).exists():
                self._after_end(rid, combo.attempt, self._last_outcome(rid))

    def _last_outcome(self, rid: str) -> Outcome:
        combo = self.state.combos[rid]
        if combo.directory and (found := outcomes.read(self.run_dir / combo.directory)) is not None:
            return found
        return attempts.died(combo.phase, None)

    def cost(self) -> dict[str, float]:
        """CPU seconds and peak memory (MB) of this process and of the fork server; CPU seconds of the combos."""
        mine = resource.getrusage(resource.RUSAGE_SELF)
        own = {"supervisor_cpu": round(mine.ru_utime + mine.ru_stime, 3), "supervisor_rss_mb": mine.ru_maxrss // 1024}
        return own | {f"zygote_{name}": figure for name, figure in self._forks.cost.items()}

    def _finished(self) -> bool:
        if self.workers or self._starting:
            return False
        return bool(self.state.stop_requested) or self.state.all_terminal

    # -- starting ---------------------------------------------------------------------------------------------------

    def _start_what_fits(self) -> None:
        if self.state.stop_requested or not self._room():
            return
        self._planes.look_ahead(self._open)
        while True:
            held = frozenset(self._held) | frozenset(self._starting) | self._planes.unavailable()
            busy = len(self.workers) + len(self._starting)
            chosen = policy.startable(self._open, self.state.combos, busy, self.plan.options.max_parallel, held)
            if not chosen:
                return
            for rid in chosen:
                self._begin(rid)

    def _room(self) -> bool:
        """False, and the run is over for now, when the disk of the runs is full."""
        if not self._open:
            return True
        disk = os.statvfs(self.run_dir)
        free = disk.f_bavail * disk.f_frsize
        if free >= settings.TABLE["least_free"].value:
            return True
        self._fail(
            TransientError(
                f"No space left for results: {free >> 20} MiB free", where=self.run_dir, fix="free some, then resume"
            )
        )
        return False

    def _begin(self, rid: str) -> None:
        token = take_token(self.combos[rid].token, self.state_root)
        if token is None:
            if self.state.combos[rid].state is not ComboState.WAITING:
                self.record("combo_waiting", rid=rid, reason="another run on this host holds the same combo")
            self._hold(rid, LOCK_POLL, "locked")
            return
        self._starting.add(rid)
        self._open.pop(rid, None)
        self._spawn(self._start(rid, token))

    def _hold(self, rid: str, delay: float, why: str) -> None:
        def release() -> None:
            self._held.pop(rid, None)
            self._wake.set()

        self._held[rid] = why
        self._loop.call_later(delay, release)

    async def _start(self, rid: str, token: int) -> None:
        attempt = self.state.combos[rid].attempt + 1
        plane: Plane | None = None
        try:
            plane = await self._planes.acquire(rid)
            if self.state.stop_requested:
                return
            directory = attempts.reserve(self.run_dir, rid)
            await self._fork(rid, attempt, directory, plane, token)
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

    async def _fork(self, rid: str, attempt: int, directory: Path, plane: Plane | None, token: int) -> None:
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
            who = identity(pid)
            if who is None:
                raise TransientError("the combo's process ended before it began")
            self.record("combo_started", rid=rid, attempt=attempt, directory=relative, worker=who.to_data())
            if plane is not None:
                # The lease names the combo before the combo may run: no sweep takes the plane away from it.
                plane.lease_to(who, self.combos[rid].cluster_name)
                self._planes.handed_over(plane)
            self._watch(rid, who, directory)
            os.write(gate_write, b"g")
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
        )
        self._conclude(rid, attempt, outcome)

    # -- watching ---------------------------------------------------------------------------------------------------

    def _adopt(self) -> None:
        for rid, combo in list(self.state.combos.items()):
            if combo.state is not ComboState.RUNNING:
                continue
            directory = self.run_dir / combo.directory
            who = ProcessIdentity.from_data(combo.worker)
            if who is not None and who.alive():
                self.record("adopted", rid=rid, attempt=combo.attempt)
                self._watch(rid, who, directory)
            else:
                self._ended(rid, directory)

    def _watch(self, rid: str, who: ProcessIdentity, directory: Path) -> None:
        worker = Worker(rid, who, directory, self._loop, self._watches, self.record, self._worker_ended)
        self.workers[rid] = worker
        worker.start(
            wall=self.plan.options.agent_timeout_sec + settings.value("combo_overhead", self.env),
            stall=settings.value("stall", self.env),
        )

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
        """The journal cannot be written, or we are wrong: start nothing more. Running combos go on and are adopted."""
        if self._fatal is None:
            self._fatal = error
            reason = error.message() if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
            with contextlib.suppress(OSError):
                self.record("launching_stopped", reason=reason)
        self._wake.set()

    def _ended(self, rid: str, directory: Path, ordered: Outcome | None = None, code: int | None = None) -> None:
        """Take the outcome, or conclude one. `ordered` is why we ended it ourselves, if we did."""
        combo = self.state.combos[rid]
        outcome = outcomes.read(directory)
        if outcome is None:
            outcome = attempts.died(combo.phase, code)
            self._sweep(rid)
            if self.state.stop_requested:
                outcome = Outcome(ComboState.STOPPED, outcome.exit, phase=outcome.phase, reason="killed by stop")
        if ordered is not None and outcome.state in {ComboState.STOPPED, ComboState.INVALID}:
            outcome = replace(ordered, phase=combo.phase or None)
        self._conclude(rid, combo.attempt, outcome)

    def _conclude(self, rid: str, attempt: int, outcome: Outcome) -> None:
        self.record("combo_finished", rid=rid, attempt=attempt, **outcome.fields())
        if outcome.residue:
            self.record("combo_residue", rid=rid, attempt=attempt, residue=list(outcome.residue))
        self._after_end(rid, attempt, outcome)

    def _after_end(self, rid: str, attempt: int, outcome: Outcome) -> None:
        """The journalled end is the truth; now a retry, or the status file that says the rid is terminal."""
        retries = self.state.combos[rid].retries
        retry = policy.decide_retry(outcome, retries, bool(self.state.stop_requested), self._rng)
        if retry is not None:
            self.record(
                "retry_planned",
                rid=rid,
                attempt=attempt,
                delay=round(retry.delay, 3),
                signature=retry.signature,
                reason=retry.reason,
            )
            self._open[rid] = None
            self._hold(rid, retry.delay, "backing off")
        elif outcome.state is not ComboState.STOPPED:
            if outcome.state is ComboState.INVALID and outcome.transient:
                self.record("retry_exhausted", rid=rid, attempt=attempt, signature=outcome.signature)
            summary.write_status(self.run_dir, rid, outcome.exit)

    def _sweep(self, rid: str) -> None:
        """Remove what a dead combo left on this host; what cannot be removed is said, not hidden."""
        from devops_bench.combo.cleanup import sweep_combo

        left = sweep_combo(self.state_root, rid, self.combos[rid].cluster_name)
        if left:
            self.record("combo_residue", rid=rid, residue=left)

    # -- stopping ---------------------------------------------------------------------------------------------------

    def stop(self, how: str) -> None:
        """Stop: no new combos; running ones tear down and end (`graceful`) or are killed (`now`)."""
        if self.state.stop_requested != "now":
            self.record("stop_requested", how=how)
        grace = 0.0 if how == "now" else settings.value("stop_grace", self.env)
        for worker in self.workers.values():
            worker.end(grace)
        self._planes.give_up()
        self._wake.set()
