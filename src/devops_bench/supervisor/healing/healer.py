"""The supervisor's side of unlimited mode: which fault goes to the fixer, and how the run goes on with its commit.

One repair at a time, in a process of its own; combos that are not concerned run on. A combo that waits for a fix has no
status file yet: if the supervisor dies meanwhile, the next one concludes it as it stands.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devops_bench.errors import BenchError
from devops_bench.matrix.plan import NO_MODEL
from devops_bench.paths import atomic_write, private_dir
from devops_bench.settings import FailureClass
from devops_bench.supervisor.healing import STOPS
from devops_bench.supervisor.healing.caps import Ledger
from devops_bench.supervisor.healing.repair import Order
from devops_bench.supervisor.healing.worktree import checkout
from devops_bench.supervisor.schedule.retry import Fault

if TYPE_CHECKING:
    from devops_bench.supervisor.core import Supervisor

REPAIRABLE = frozenset({FailureClass.HARNESS, FailureClass.TASK})
LOG_TAIL = 64 << 10
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
            self._of.record("unlimited", stops=list(STOPS), caps=asdict(self._ledger.caps))
        except BenchError as error:
            self._ledger.stopped = error.message()
            self._of.record("fix_refused", signature="", why=self._ledger.stopped)

    def takes(self, rid: str, fault: Fault) -> bool:
        """Whether `rid` waits for a fix of its fault from now on."""
        core = self._of
        if not core.orders.unlimited or fault.klass not in REPAIRABLE or core.state.stop_requested:
            return False
        if fault.signature in self._waiting:
            self._waiting[fault.signature][1].append(rid)
            return True
        why = self._ledger.refuses(fault.signature) or self._outside(rid, fault)
        if why:
            core.record(
                "fix_refused", rid=rid, signature=core.redactor.text(fault.signature), why=core.redactor.text(why)
            )
            return False
        self._waiting[fault.signature] = (fault, [rid])
        self._loop.call_soon(self._next)
        return True

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
        self._current, (fault, rids) = next(iter(self._waiting.items()))
        core = self._of
        combo = core.combos[rids[0]]
        status = core.state.combos[rids[0]]
        checks = core.env.get(CHECKS, "").strip()
        order = Order(
            root=str(self._root),
            worktree=str(self._folder()),
            stamp=core.run_dir.name,
            fixer=core.orders.fixer,
            checks=tuple(shlex.split(checks)) if checks else DEFAULT_CHECKS,
            configs=() if combo.config.agent in NO_MODEL else (combo.config.preset,),
            seconds=self._ledger.caps.one,
            klass=fault.klass.value,
            phase=fault.phase,
            signature=core.redactor.text(fault.signature),
            reason=status.reason,
            evidence=str(self._evidence(rids[0], fault)),
        )
        core.record("fix_started", rid=rids[0], signature=order.signature)
        self._heard = b""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "devops_bench.supervisor.healing.repair"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        with self._process.stdin as pipe:
            pipe.write(json.dumps(asdict(order)).encode())
        self._loop.add_reader(self._process.stdout, self._says)

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
        self._process.stdout.close()
        self._process.wait()
        self._process = None
        try:
            found: dict[str, Any] = json.loads(self._heard)
        except ValueError:
            found = {"commit": "", "why": "the repair ended without a result", "seconds": 0.0}
        self._ended(found)

    def _ended(self, found: dict[str, Any]) -> None:
        core, signature = self._of, self._current
        fault, rids = self._waiting.pop(signature)
        accepted = bool(found["commit"])
        self._ledger.note(signature, float(found.get("seconds") or 0.0), accepted)
        if found.get("final"):
            self._ledger.stopped = str(found["why"])
        why = core.redactor.text(str(found["why"]))
        core.record(
            "fix_ended",
            signature=core.redactor.text(signature),
            accepted=accepted,
            commit=found["commit"] or None,
            why=why,
            changed=list(found.get("changed") or []),
            seconds=found.get("seconds"),
            rids=rids,
        )
        if accepted:
            self._changelog(found["commit"], fault, why, rids, list(found.get("changed") or []))
            core.switch_code(self._folder(), found["commit"], signature)
        for rid in rids:
            core.go_on(rid, f"fixed by {found['commit'][:12]}" if accepted else "")
        self._loop.call_soon(self._next)
        core.wake()

    def _changelog(self, commit: str, fault: Fault, why: str, rids: list[str], changed: list[str]) -> None:
        path = self._of.run_dir / CHANGELOG
        before = path.read_text() if path.exists() else "# Fixes made during this run\n"
        entry = (
            f"\n- `{commit[:12]}` {fault.klass}, phase {fault.phase}: {self._of.redactor.text(fault.signature)}\n"
            f"  changed {', '.join(changed)}; run again: {', '.join(rids)}\n"
        )
        atomic_write(path, before + entry)

    def stop(self) -> None:
        """Give up: the run is being stopped, or its supervisor ends."""
        if self._process is not None:
            if self._process.stdout is not None:
                self._loop.remove_reader(self._process.stdout)
                self._process.stdout.close()
            self._process.terminate()
            self._process.wait()
            self._process = None
        self._waiting.clear()


def remap(task_file: str, root: Path, folder: Path) -> str:
    """The same file in the worktree, for one that lies in the checkout."""
    path = Path(task_file)
    return str(folder / path.relative_to(root)) if root in path.parents else task_file


def with_code(plan: Any, root: Path, folder: Path, note: str) -> Any:
    """The plan with its tasks taken from the worktree."""
    combos = tuple(replace(combo, task_file=remap(combo.task_file, root, folder)) for combo in plan.combos)
    return replace(plan, combos=combos, notes=(*plan.notes, note))
