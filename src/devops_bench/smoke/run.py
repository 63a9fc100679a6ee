"""Runs smoke combos: each in a forked process as in a matrix, several at once within what the host can carry."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from devops_bench.clusters.host import cores
from devops_bench.combo import entry
from devops_bench.combo.cleanup import sweep_combo
from devops_bench.combo.request import Request
from devops_bench.combo.runlog import RunLog, capture
from devops_bench.matrix.environment import launch_environment
from devops_bench.matrix.plan import AgentConfig, Combo, Plan, PlanOptions
from devops_bench.paths import private_dir, state_root
from devops_bench.redact import Redactor
from devops_bench.settings import CORES_EACH
from devops_bench.smoke.plan import SmokeOptions, plan
from devops_bench.smoke.verdict import Row, Verdict, judge, look

GRACE_SEC = 300.0
"""Beyond the agent's own time: cluster, setup, verification, teardown. Then the combo is ended."""
STOP_SEC = 20.0
PREFIX = "devops-bench-smoke-"

Progress = Callable[[Row], None]


@dataclass(frozen=True, slots=True)
class Report:
    """All rows in the order of the configurations. `work` holds logs and records; None when nothing went wrong."""

    rows: tuple[Row, ...]
    work: Path | None = None

    @property
    def verdict(self) -> Verdict:
        """The worst of the rows."""
        for verdict in (Verdict.INVALID, Verdict.BAD):
            if any(row.verdict is verdict for row in self.rows):
                return verdict
        return Verdict.GOOD


def check(
    configs: Sequence[AgentConfig],
    options: PlanOptions,
    env: Mapping[str, str],
    smoke: SmokeOptions | None = None,
    progress: Progress = lambda _row: None,
) -> Report:
    """Run one combo for each configuration that asks a model, and judge it. Blocks; call it from a process without
    threads. `progress` hears of each row as it comes. What was good leaves nothing behind.

    Raises ConfigError or TaskError when the combos cannot even be planned.
    """
    work = private_dir(Path(tempfile.mkdtemp(prefix=PREFIX)))
    keep = True
    try:
        planned = plan(configs, options, smoke or SmokeOptions(), work)
        rows = _Runner(planned, env, work, progress).run()
        keep = any(row.verdict is not Verdict.GOOD for row in rows)
        return Report(rows, work if keep else None)
    except BaseException:
        keep = False
        raise
    finally:
        if not keep:
            shutil.rmtree(work, ignore_errors=True)


@dataclass(slots=True)
class _Running:
    """A combo's process."""

    combo: Combo
    directory: Path
    pid: int
    pidfd: int
    began: float
    weight: float


@dataclass(slots=True)
class _Runner:
    plan: Plan
    env: Mapping[str, str]
    work: Path
    progress: Progress
    running: dict[int, _Running] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)

    def run(self) -> tuple[Row, ...]:
        """All combos, heavy ones first so that they do not come last alone."""
        room = float(max(1, cores()))
        waiting = sorted(self.plan.combos, key=lambda combo: -_weight(combo))
        redactor = Redactor.of_run(self.env)
        try:
            while waiting or self.running:
                used = sum(one.weight for one in self.running.values())
                if waiting and (not self.running or used + _weight(waiting[0]) <= room):
                    self._start(waiting.pop(0), redactor)
                else:
                    self._wait()
        except BaseException:
            self._stop()
            raise
        return tuple(self.rows[combo.rid] for combo in self.plan.combos)

    def _start(self, combo: Combo, redactor: Redactor) -> None:
        # A name of the kind that every attempt has: the record's run id.
        directory = private_dir(self.work / f"run_{datetime.now(UTC):%Y%m%d_%H%M%S}_{combo.rid}")
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            _child(self.plan, combo, directory, self.env, redactor)
        fd = os.pidfd_open(pid)
        self.running[fd] = _Running(combo, directory, pid, fd, time.monotonic(), _weight(combo))

    def _wait(self) -> None:
        """Until a combo ends, or the first is over its time."""
        limit = self.plan.options.agent_timeout_sec + GRACE_SEC
        oldest = min(one.began for one in self.running.values())
        poll = select.poll()
        for fd in self.running:
            poll.register(fd, select.POLLIN)
        ended = poll.poll(max(0.0, oldest + limit - time.monotonic()) * 1000 + 1)
        for fd, _event in ended:
            self._ended(self.running.pop(fd))
        if not ended:
            for one in [one for one in self.running.values() if time.monotonic() - one.began >= limit]:
                _end(one)
                self._ended(self.running.pop(one.pidfd))

    def _ended(self, one: _Running) -> None:
        os.close(one.pidfd)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(one.pid, 0)
        seen = look(one.directory)
        if seen.outcome is None:
            sweep_combo(state_root(self.env), one.combo.rid, one.combo.cluster_name)
        verdict, line = judge(one.combo.config, seen)
        row = Row(
            config=one.combo.config.preset,
            agent=one.combo.config.agent,
            verdict=verdict,
            line=line,
            seconds=time.monotonic() - one.began,
            seen=seen,
            directory=str(one.directory) if verdict is not Verdict.GOOD else "",
        )
        self.rows[one.combo.rid] = row
        self.progress(row)

    def _stop(self) -> None:
        """Interrupted: the combos take their clusters away, then they go."""
        for one in self.running.values():
            _end(one)
            os.close(one.pidfd)
        self.running.clear()


def _weight(combo: Combo) -> float:
    return CORES_EACH.get(combo.config.agent, 1.0)


def _end(one: _Running) -> None:
    for sig, wait in ((signal.SIGTERM, STOP_SEC), (signal.SIGKILL, 5.0)):
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(one.pidfd, sig)
        if select.select([one.pidfd], [], [], wait)[0]:
            break


def _child(plan: Plan, combo: Combo, directory: Path, env: Mapping[str, str], redactor: Redactor) -> NoReturn:
    code = 1
    try:
        log = RunLog(directory / "run.log", redactor.stream())
        capture(log)
        request = Request(
            plan=plan, combo=combo, attempt=1, directory=directory, env=launch_environment(plan.options, env)
        )
        code = entry.run_guarded(request, log, redactor).exit
        log.close()
    finally:
        os._exit(code)
