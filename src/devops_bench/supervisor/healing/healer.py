"""The supervisor's side of unlimited mode: which fault goes to the fixer, and how the run goes on with its commit.

One repair at a time, in a process of its own; combos that are not concerned run on. A combo that waits for a fix has no
status file yet: if the supervisor dies meanwhile, the next one concludes it as it stands, and the repair ends with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devops_bench.errors import BenchError
from devops_bench.matrix.plan import NO_MODEL
from devops_bench.paths import atomic_write, private_dir
from devops_bench.process import boottime
from devops_bench.settings import FailureClass
from devops_bench.supervisor import journal
from devops_bench.supervisor.healing import STOPS
from devops_bench.supervisor.healing.caps import Ledger
from devops_bench.supervisor.healing.repair import Order
from devops_bench.supervisor.healing.spend import Spend
from devops_bench.supervisor.healing.worktree import checkout, head
from devops_bench.supervisor.schedule.retry import Fault

if TYPE_CHECKING:
    from devops_bench.supervisor.core import Supervisor

REPAIRABLE = frozenset({FailureClass.HARNESS, FailureClass.TASK})
LOG_TAIL = 64 << 10
LEAVE_SEC = 10.0  # for a repair to kill what it started and put the worktree back
CHANGELOG = "fixes.md"
CHECKS = "BENCH_FIX_CHECKS"
DEFAULT_CHECKS = (sys.executable, "-m", "pytest", "-q", "-x", "-m", "not kwok and not soak", "tests")


class Healer:
    """Bound to one supervisor. Does nothing unless the run's orders say unlimited."""

    def __init__(self, supervisor: Supervisor, loop: asyncio.AbstractEventLoop) -> None:
        self._of = supervisor
        self._loop = loop
        self._ledger = Ledger()
        self._waiting: dict[str, tuple[Fault, list[str]]] = {}
        self._current = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._gave_up = ""
        self._heard = b""
        self._root: Path | None = None

    @property
    def root(self) -> Path:
        """The checkout that the program runs from."""
        assert self._root is not None
        return self._root

    @property
    def busy(self) -> bool:
        """Whether combos wait for a fix."""
        return bool(self._waiting)

    def start(self) -> None:
        """Say what ends it; unlimited mode is off for the rest of the run when it cannot work here."""
        if not self._of.orders.unlimited:
            return
        try:
            self._root = checkout()
            self._ledger.restore(journal.read(self._of.run_dir)[0])
            self._ledger.commit = self._ledger.commit or head(self._root)
            self._of.record(
                "unlimited",
                stops=list(STOPS),
                caps=asdict(self._ledger.caps),
                budget=asdict(self._of.orders.budget),
                commit=self._ledger.commit,
            )
        except BenchError as error:
            self._ledger.stopped = error.message()
            self._of.record("fix_refused", signature="", why=self._ledger.stopped)

    def takes(self, rid: str, fault: Fault) -> bool:
        """Whether `rid` waits for a fix of its fault from now on."""
        core = self._of
        if not core.orders.unlimited or fault.klass not in REPAIRABLE or core.state.stop_requested:
            return False
        signature = core.redactor.text(fault.signature)
        if signature in self._waiting:
            self._waiting[signature][1].append(rid)
            return True
        why = self._ledger.refuses(signature) or self._outside(rid, fault)
        if why:
            core.record("fix_refused", rid=rid, signature=signature, why=core.redactor.text(why))
            return False
        self._waiting[signature] = (fault, [rid])
        self._loop.call_soon(self._next)
        return True

    def within_budget(self, now: float) -> None:
        """Nothing is repaired beyond the run's budget: a repair that runs is given up, what waits for one is planned
        again, and runs when the run is resumed with a higher budget.
        """
        why = self._of.schedule.used_up(now) if self._waiting else ""
        if why and self._process is not None:
            self._give_up(why)
        elif why:
            self._postpone(why)

    def _postpone(self, why: str) -> None:
        core, waiting = self._of, self._waiting
        self._waiting = {}
        for signature, (_fault, rids) in waiting.items():
            core.record("fix_refused", rid=rids[0], signature=signature, why=why)
            for rid in rids:
                core.go_on(rid, f"its fix waits: {why}")
        core.wake()

    def _give_up(self, why: str) -> None:
        """End the repair; its result comes as every other's does."""
        self._gave_up = self._gave_up or why
        if self._process is not None and self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()

    def _outside(self, rid: str, fault: Fault) -> str:
        assert self._root is not None
        task = Path(self._of.combos[rid].task_file)
        inside = self._root in task.parents or self._folder() in task.parents
        return "" if fault.klass is FailureClass.HARNESS or inside else f"the task lies outside of the checkout: {task}"

    def _folder(self) -> Path:
        return self._of.run_dir / "fixes" / "tree"

    def _next(self) -> None:
        if self._process is not None or not self._waiting:
            return
        core, now = self._of, boottime()
        if why := core.schedule.used_up(now):
            self._postpone(why)
            return
        left = core.schedule.left(now)
        self._current, (fault, rids) = next(iter(self._waiting.items()))
        combo = core.combos[rids[0]]
        status = core.state.combos[rids[0]]
        checks = core.env.get(CHECKS, "").strip()
        order = Order(
            root=str(self._root),
            worktree=str(self._folder()),
            base=self._ledger.commit,
            stamp=core.run_dir.name,
            fixer=core.orders.fixer,
            checks=tuple(shlex.split(checks)) if checks else DEFAULT_CHECKS,
            configs=() if combo.config.agent in NO_MODEL else (combo.config.preset,),
            seconds=min(self._ledger.caps.one, left.duration or self._ledger.caps.one),
            klass=fault.klass.value,
            phase=fault.phase,
            signature=self._current,
            reason=status.reason,
            evidence=str(self._evidence(rids[0], fault)),
            left_usd=left.cost,
            left_tokens=left.tokens,
        )
        core.record("fix_started", rid=rids[0], signature=order.signature)
        self._heard, self._gave_up = b"", ""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "devops_bench.supervisor.healing.repair"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        # Kept open: its end tells the repair that this process is gone, or has given it up.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
            self._process.stdin.flush()
        self._loop.add_reader(self._process.stdout, self._says)
        if left.duration is not None:
            self._alarm = self._loop.call_later(left.duration + 0.05, core.wake)

    def _evidence(self, rid: str, fault: Fault) -> Path:
        """A folder with what is known of the fault. Its sources were redacted when they were written."""
        core = self._of
        folder = private_dir(core.run_dir / "fixes" / f"{len(self._ledger.tried)}-{rid}")
        combo = core.state.combos[rid]
        told = {
            **asdict(fault),
            "klass": fault.klass.value,
            "rid": rid,
            "reason": combo.reason,
            "attempt": combo.attempt,
        }
        told["signature"] = core.redactor.text(fault.signature)
        atomic_write(folder / "fault.json", json.dumps(told, indent=1) + "\n")
        log = core.run_dir / rid / "run.log"
        if log.is_file():
            atomic_write(folder / "log.txt", log.read_bytes()[-LOG_TAIL:])
        return folder

    def _says(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        chunk = os.read(self._process.stdout.fileno(), 65536)
        self._heard += chunk
        if chunk:
            return
        self._loop.remove_reader(self._process.stdout)
        self._close_pipes(self._process)
        self._process.wait()
        self._process = None
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        try:
            found: dict[str, Any] = json.loads(self._heard)
        except ValueError:
            found = {"commit": "", "why": "the repair ended without a result", "seconds": 0.0}
        self._ended(found)

    def _ended(self, found: dict[str, Any]) -> None:
        core, signature = self._of, self._current
        fault, rids = self._waiting.pop(signature)
        seconds, commit = float(found.get("seconds") or 0.0), str(found["commit"] or "")
        postponed = bool(self._gave_up) and not commit
        spend = Spend(found.get("cost_usd"), found.get("tokens"))
        why = core.redactor.text(f"given up: {self._gave_up}" if postponed else str(found["why"]))
        if postponed:  # it counts as not tried, and had no time to say what it spent
            self._ledger.seconds += seconds
        else:
            self._ledger.note(signature, seconds, bool(commit))
            self._ledger.hear_spend(spend, core.orders.budget)
        if found.get("final"):
            self._ledger.stopped = why
        core.schedule.spent(spend.cost, spend.tokens)
        core.record(
            "fix_ended",
            signature=signature,
            accepted=bool(commit),
            postponed=postponed,
            final=bool(found.get("final")),
            commit=commit or None,
            why=why,
            changed=list(found.get("changed") or []),
            seconds=seconds,
            cost_usd=spend.cost,
            tokens=spend.tokens,
            rids=rids,
        )
        again = f"its fix waits: {self._gave_up}" if postponed else ""
        if commit:
            self._ledger.commit = commit
            self._changelog(commit, fault, rids, list(found.get("changed") or []))
            core.switch_code(self._folder(), commit, signature)
            again = f"fixed by {commit[:12]}"
        for rid in rids:
            core.go_on(rid, again)
        self._loop.call_soon(self._next)
        core.wake()

    def _changelog(self, commit: str, fault: Fault, rids: list[str], changed: list[str]) -> None:
        path = self._of.run_dir / CHANGELOG
        before = path.read_text() if path.exists() else "# Fixes made during this run\n"
        entry = (
            f"\n- `{commit[:12]}` {fault.klass}, phase {fault.phase}: {self._of.redactor.text(fault.signature)}\n"
            f"  changed {', '.join(changed)}; run again: {', '.join(rids)}\n"
        )
        atomic_write(path, before + entry)

    def stop(self) -> None:
        """The run is being stopped, or its supervisor ends: so does the repair, with all that it started."""
        if self._process is not None:
            if self._process.stdout is not None:
                self._loop.remove_reader(self._process.stdout)
            self._close_pipes(self._process)
            try:
                self._process.wait(LEAVE_SEC)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._alarm is not None:
            self._alarm.cancel()
        self._waiting.clear()

    @staticmethod
    def _close_pipes(process: subprocess.Popen[bytes]) -> None:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
