"""What `attach` and `stop` do when the supervisor is dead: gather what combos finished, sweep, start nothing new."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Mapping
from pathlib import Path

from devops_bench import paths
from devops_bench.combo import outcome as outcomes
from devops_bench.matrix.plan import Plan
from devops_bench.process import ProcessIdentity, end_process
from devops_bench.settings import ComboState
from devops_bench.supervisor import attempts, snapshot, summary
from devops_bench.supervisor.journal import Journal
from devops_bench.supervisor.locks import RunLock
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
    names = {combo.rid: combo.cluster_name for combo in plan.combos}
    state_root = paths.state_root(env)
    with RunLock(run_dir) as lock:
        lock.acquire("collector")
        journal = Journal(run_dir)
        try:
            state, _offset = snapshot.load(run_dir)
            if stop:
                state.apply(journal.append("stop_requested", how=stop))
                for who in living(state).values():
                    end_process(who, 0.0 if stop == "now" else grace, group=True)
            alive = living(state)
            for rid, combo in state.combos.items():
                if combo.state is not ComboState.RUNNING or rid in alive:
                    continue
                outcome = outcomes.read(run_dir / combo.directory)
                if outcome is None:
                    outcome = attempts.died(combo.phase, None)
                    _sweep(state_root, rid, names.get(rid, ""))
                state.apply(journal.append("combo_finished", rid=rid, attempt=combo.attempt, **outcome.fields()))
                if outcome.state in {ComboState.SCORED, ComboState.FAILED}:
                    summary.write_status(run_dir, rid, outcome.exit)
            from devops_bench.clusters.sweep import sweep

            sweep(state_root)
        finally:
            journal.close()
    return state


def _sweep(state_root: Path, rid: str, cluster: str) -> None:
    from devops_bench.combo.cleanup import sweep_combo

    sweep_combo(state_root, rid, cluster)


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
