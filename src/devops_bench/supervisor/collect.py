"""What `attach` and `stop` do when the supervisor is dead: gather what combos finished, sweep, start nothing new."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Mapping
from pathlib import Path

from devops_bench import paths, settings
from devops_bench.matrix.plan import Plan
from devops_bench.process import ProcessIdentity, end_process
from devops_bench.redact import Redactor
from devops_bench.settings import ComboState
from devops_bench.supervisor import beat, snapshot
from devops_bench.supervisor.endings import Endings, recorder
from devops_bench.supervisor.journal import Journal
from devops_bench.supervisor.locks import RunLock
from devops_bench.supervisor.schedule import Budget, Rules
from devops_bench.supervisor.state import RunState


def living(state: RunState) -> dict[str, ProcessIdentity]:
    """Running combos whose process is alive, by rid."""
    found = {}
    for rid, combo in state.combos.items():
        who = ProcessIdentity.from_data(combo.worker) if combo.state is ComboState.RUNNING else None
        if who is not None and who.alive():
            found[rid] = who
    return found


def wait_for_any(workers: Mapping[str, ProcessIdentity], timeout: float) -> None:
    """Return when one of the processes has ended, or after `timeout` seconds."""
    poller = select.poll()
    fds = [fd for who in workers.values() if (fd := who.open_pidfd()) is not None]
    try:
        for fd in fds:
            poller.register(fd, select.POLLIN)
        if len(fds) == len(workers):
            poller.poll(timeout * 1000)
    finally:
        for fd in fds:
            os.close(fd)


def collect(run_dir: Path, env: Mapping[str, str], *, stop: str = "", grace: float = 0.0) -> RunState:
    """Take the dead supervisor's place for a moment: journal what has ended, write status files, sweep.

    With `stop` (`graceful` or `now`) living combos are ended first. Raises RefusedError when a supervisor is alive.
    """
    plan = Plan.read(run_dir)
    state_root = paths.state_root(env)
    with RunLock(run_dir) as lock:
        lock.acquire("collector")
        journal = Journal(run_dir)
        try:
            state, _offset = snapshot.load(run_dir)
            record = recorder(journal, state)
            combos = {combo.rid: combo for combo in plan.combos}
            rules = Rules.of(plan.options.max_parallel, Budget(), env)
            endings = Endings(run_dir, state, combos, state_root, record, Redactor.of_run(env), rules)
            if stop:
                record("stop_requested", how=stop)
                for who in living(state).values():
                    end_process(who, 0.0 if stop == "now" else grace, group=True)
            alive = living(state)
            for rid, combo in state.combos.items():
                if combo.state is ComboState.RUNNING and rid not in alive:
                    endings.conclude(rid, combo.attempt, endings.outcome_of(rid, run_dir / combo.directory))
            from devops_bench.clusters.sweep import sweep

            sweep(state_root)
            every, spend = settings.value("heartbeat", env), (state.spent_usd, state.spent_tokens)
            last = beat.facts(run_dir, state, plan.options.max_parallel, every, spend, living=False)
            beat.write(run_dir, {**last, "pid": None})
        finally:
            journal.close()
    return state


def wake(who: ProcessIdentity, sig: signal.Signals) -> bool:
    """Send `sig` and CONT to a supervisor that may be stopped; False when it is gone."""
    fd = who.open_pidfd()
    if fd is None:
        return False
    try:
        signal.pidfd_send_signal(fd, sig)
        signal.pidfd_send_signal(fd, signal.SIGCONT)
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)
    return True
