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
import signal
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from devops_bench import paths, settings
from devops_bench.combo import outcome as outcomes
from devops_bench.combo.outcome import Outcome
from devops_bench.errors import BenchError, ConfigError, HarnessError, RefusedError, TransientError
from devops_bench.matrix.plan import Combo, Plan
from devops_bench.process import ProcessIdentity, boot_id, boottime
from devops_bench.redact import Redactor
from devops_bench.settings import ComboState
from devops_bench.supervisor import snapshot, summary
from devops_bench.supervisor.beat import Beat
from devops_bench.supervisor.endings import Again, Endings
from devops_bench.supervisor.forks import ForkServer
from devops_bench.supervisor.healing.code import with_code
from devops_bench.supervisor.healing.healer import Healer
from devops_bench.supervisor.inotify import Watches
from devops_bench.supervisor.journal import Journal
from devops_bench.supervisor.notify import Target
from devops_bench.supervisor.orders import Orders
from devops_bench.supervisor.planes import LOOK_AHEAD, Planes
from devops_bench.supervisor.schedule import Halt, HaltKind, Rules
from devops_bench.supervisor.schedule.jobs import jobs_of
from devops_bench.supervisor.schedule.limits import LimitChange
from devops_bench.supervisor.schedule.restore import restore
from devops_bench.supervisor.schedule.retry import Fault
from devops_bench.supervisor.starting import Starting
from devops_bench.supervisor.state import RunState
from devops_bench.supervisor.telling import Telling
from devops_bench.supervisor.worker import Limits, Worker


class Supervisor:
    """Runs a plan to its end, to a stop, or to a halt. `run()` returns True when the run is done.

    What may start, and when, is the scheduler's to decide (`schedule`, pure); here it meets processes and the clock.
    Raises ConfigError for malformed settings before anything is started.
    """

    def __init__(
        self,
        plan: Plan,
        run_dir: Path,
        journal: Journal,
        state: RunState,
        env: Mapping[str, str],
        orders: Orders,
        target: Target,
    ) -> None:
        self.plan = plan
        self.run_dir = run_dir
        self.journal = journal
        self.state = state
        self.env = env
        self.orders = orders
        self.state_root = paths.state_root(env)
        self.combos: dict[str, Combo] = {combo.rid: combo for combo in plan.combos}
        self.workers: dict[str, Worker] = {}
        self.limits = Limits.of(plan.options.agent_timeout_sec, env)
        self.redactor = Redactor.of_run(env)
        rules = Rules.of(plan.options.max_parallel, orders.budget, env)
        self._endings = Endings(
            run_dir, state, self.combos, self.state_root, self.record, self.redactor, rules, self._holds
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._awake = asyncio.Event()
        self._alarm: asyncio.TimerHandle | None = None
        self._since_snapshot = 0
        self._fatal: BaseException | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._callback_failed)
        self._watches = Watches(self._loop)
        self.forks = ForkServer(self._loop, run_dir)
        self.forks.code = Path(state.code_tree) if state.code_tree else None
        self.planes = Planes(self.combos, env, self._loop, self.record, self.wake)
        self.schedule = restore(jobs_of(plan), rules, state, boottime())
        self.starting = Starting(self)
        self.telling = Telling(target, self)
        self.healer = Healer(self, self._loop)
        self.beat = Beat(self, self._loop)

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

    def wake(self) -> None:
        """Look again at what may start, and whether it is over."""
        self._awake.set()

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
        """Work until everything is terminal, or a stop or a halt is complete."""
        try:
            if any(not c.state.terminal for c in self.state.combos.values()):
                self.forks.start()
            self._adopt()
            for rid in self.state.combos:
                self._reopen(rid, self._endings.mend(rid))
            self.beat.start()
            self.healer.start()
            while self._fatal is None:
                self._start_what_fits()
                if self._finished():
                    break
                await self._awake.wait()
                self._awake.clear()
            if self._fatal is not None:
                raise self._fatal
        finally:
            self.beat.stop()
            self.healer.stop()
            if self._alarm is not None:
                self._alarm.cancel()
            await self.planes.close()
            self.forks.close()
            for worker in self.workers.values():
                worker.close()
            self._watches.close()
        if self.state.stop_requested or not self.state.all_terminal:
            self.take_snapshot()
            return False
        summary.finish(self)
        return True

    def _finished(self) -> bool:
        if self.workers or self.starting.active or (self.healer.busy and not self.state.stop_requested):
            return False
        if self.state.stop_requested or self.state.all_terminal or self.schedule.halt is not None:
            return True
        if self.planes.failure is not None and self.schedule.only_waits_for(self.planes.unavailable()):
            # Not the combos' fault and not theirs to pay: they stay planned, and resume goes on after the fix.
            self.fail(ConfigError(self.planes.failure))
        return False

    # -- starting ---------------------------------------------------------------------------------------------------

    def _start_what_fits(self) -> None:
        now = boottime()
        self.healer.within_budget(now)
        for change in self.schedule.grow(now):
            self._limit_changed(change)
        if self.state.stop_requested or self._fatal is not None or not self._room():
            return
        self.planes.look_ahead(self.schedule.open_rids(LOOK_AHEAD))
        for rid in self.schedule.due(now, self.planes.unavailable()):
            if not self.starting.begin(rid):
                # Its place is free for the next one; a locked combo is looked at again in a moment.
                self._loop.call_soon(self.wake)
        self._note_halt()
        self._set_alarm(now)

    def _set_alarm(self, now: float) -> None:
        """Look again when time alone lets something start."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        at = self.schedule.next_change(now)
        if at is not None:
            self._alarm = self._loop.call_later(max(0.01, at - now), self.wake)

    def _note_halt(self) -> None:
        halt = self.schedule.halt
        if halt is None or self.state.halted:
            return
        if halt.kind is HaltKind.BUDGET:
            cost, tokens = self.schedule.spend
            self.record("budget", reason=halt.reason, spent_usd=round(cost, 6), spent_tokens=tokens)
        self.record("launching_stopped", kind=halt.kind.value, reason=self.redactor.text(halt.reason))

    def _room(self) -> bool:
        """False, and the run is over for now, when the disk of the runs is full."""
        if not self.schedule.waiting:
            return True
        disk = os.statvfs(self.run_dir)
        free = disk.f_bavail * disk.f_frsize
        if free >= settings.TABLE["least_free"].value:
            return True
        what = f"No space left for results: {free >> 20} MiB free"
        self.fail(TransientError(what, where=self.run_dir, fix="free some, then resume"))
        return False

    def later(self, rid: str, delay: float) -> None:
        """Put a combo back: it may start in `delay` seconds."""
        now = boottime()
        self.schedule.ready(rid, now + delay, now)
        self._set_alarm(now)

    def _reopen(self, rid: str, again: Again | None) -> None:
        """Let a combo start (again), after its delay."""
        if self.state.combos[rid].state in {ComboState.PLANNED, ComboState.WAITING}:
            self.later(rid, again.delay if again is not None else 0.0)

    # -- watching ---------------------------------------------------------------------------------------------------

    def _adopt(self) -> None:
        for rid, combo in list(self.state.combos.items()):
            if combo.state is not ComboState.RUNNING:
                continue
            directory = self.run_dir / combo.directory
            who = ProcessIdentity.from_data(combo.worker)
            if who is not None and who.alive():
                self.record("adopted", rid=rid, attempt=combo.attempt)
                self.schedule.running(rid)
                self.watch(rid, who, directory, self.limits.since(who), combo.heard)
            elif who is not None and who.foreign and who.boot == boot_id():
                raise RefusedError(
                    f"combo {rid} was started in another container, where it may still run", fix="resume there"
                )
            else:
                self._ended(rid, directory)

    def watch(self, rid: str, who: ProcessIdentity, directory: Path, limits: Limits, heard: int = 0) -> None:
        """Follow a running combo to its end; its first `heard` events are in the journal already."""
        loop, watches = self._loop, self._watches
        worker = Worker(rid, who, directory, loop, watches, self.record, self._worker_ended, self._worker_told)
        self.workers[rid] = worker
        worker.start(limits, heard)

    def _worker_told(self, worker: Worker, name: str, fields: Mapping[str, Any]) -> None:
        """A model request, or a provider's wish for fewer of them."""
        if name == "model_request":
            self.schedule.spending(worker.rid, worker.cost, worker.tokens)
            if self.schedule.over_budget(boottime()) is not None:
                self.wake()
            return
        wait = fields.get("retry_after")
        provider = self.schedule.provider_of(worker.rid)
        if provider is not None:
            seconds = float(wait) if isinstance(wait, int | float) else 0.0
            self._limit_changed(self.schedule.limited(provider, boottime(), seconds))

    def _limit_changed(self, change: LimitChange | None) -> None:
        if change is None:
            return
        self.record(
            "limit_changed",
            provider=change.provider,
            cap=change.cap,
            was=change.was,
            why=change.why,
            wait=round(change.wait, 1),
        )
        self.wake()

    def _worker_ended(self, worker: Worker) -> None:
        if outcomes.read(worker.directory) is None:
            # It died. The slot stays taken until it is known how, and what it left is swept.
            self.spawn(self._worker_died(worker))
            return
        self.forks.exits.pop(worker.who.pid, None)
        self._settle(worker, None)

    async def _worker_died(self, worker: Worker) -> None:
        self._settle(worker, await self.forks.exit_code(worker.who.pid))

    def _settle(self, worker: Worker, code: int | None) -> None:
        self.workers.pop(worker.rid, None)
        self._ended(worker.rid, worker.directory, worker, code)
        self.wake()

    def _ended(self, rid: str, directory: Path, worker: Worker | None = None, code: int | None = None) -> None:
        """Take the outcome, or conclude one, with why we ended the combo ourselves, if we did."""
        combo = self.state.combos[rid]
        outcome = self._endings.outcome_of(rid, directory, code)
        ordered = worker.ended_for if worker is not None else None
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
        if worker is not None and outcome.cost_usd is None and worker.cost > 0:
            outcome = replace(outcome, cost_usd=round(worker.cost, 6))
        if worker is not None and outcome.tokens is None and worker.tokens > 0:
            outcome = replace(outcome, tokens=worker.tokens)
        self.conclude(rid, combo.attempt, outcome)

    def conclude(self, rid: str, attempt: int, outcome: Outcome) -> None:
        """An attempt is over: journal, scheduler, and whether it starts again."""
        ended = self._endings.conclude(rid, attempt, outcome)
        self._limit_changed(self.schedule.ended(rid, ended.end, boottime()))
        self.schedule.spent(outcome.cost_usd, outcome.tokens)
        self._note_halt()
        self._reopen(rid, ended.again)

    # -- repairs ----------------------------------------------------------------------------------------------------

    def _holds(self, rid: str, fault: Fault) -> bool:
        return self.healer.takes(rid, fault)

    def go_on(self, rid: str, why: str) -> None:
        """The waiting for a fix is over: `why` the combo runs again, empty: there is no fix, and its end stands."""
        if not why:
            summary.write_status(self.run_dir, rid, self.state.combos[rid].exit or 1)
            return
        self.record("combo_replanned", rid=rid, reason=why)
        self._reopen(rid, None)

    def switch_code(self, folder: Path, commit: str, signature: str) -> None:
        """Combos that start from now on run the code and the tasks of the worktree at `folder`."""
        note = f"code changed to {commit[:12]} during the run (fix of {signature}): see fixes.md"
        root = Path(self.state.code_tree) if self.state.code_tree else self.healer.root
        self.plan = with_code(self.plan, root, folder, self.redactor.text(note))
        self.plan.write(self.run_dir)
        self.combos.update({combo.rid: combo for combo in self.plan.combos})
        self.record("code_changed", commit=commit, worktree=str(folder))
        self.forks.renew(folder)

    # -- faults of our own ------------------------------------------------------------------------------------------

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` in the loop; what it raises ends the supervisor."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error)

    def _callback_failed(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.fail(context.get("exception") or HarnessError(str(context.get("message"))))

    def fail(self, error: BaseException) -> None:
        """Nothing more can be started, or we are wrong. Running combos go on and are adopted; the run is resumable."""
        if self._fatal is None:
            self._fatal = error
            reason = error.message() if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
            self.schedule.halt = self.schedule.halt or Halt(HaltKind.FAULT, reason)
            with contextlib.suppress(OSError):
                self.record("launching_stopped", kind=HaltKind.FAULT.value, reason=self.redactor.text(reason))
        self.wake()

    # -- stopping ---------------------------------------------------------------------------------------------------

    def stop(self, how: str) -> None:
        """Stop: no new combos; running ones tear down and end (`graceful`) or are killed (`now`)."""
        if self.state.stop_requested != "now":
            self.record("stop_requested", how=how)
        for worker in self.workers.values():
            worker.end(0.0 if how == "now" else self.limits.grace)
        self.planes.give_up()
        self.wake()
