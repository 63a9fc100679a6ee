"""The end of a run: status files, the aggregated rows, the summary, and `.done`, in this order and never twice."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from devops_bench.paths import atomic_write, private_dir
from devops_bench.supervisor.journal import BALLAST

if TYPE_CHECKING:
    from devops_bench.supervisor.core import Supervisor

STATUS = "status"
DONE = ".done"
SUMMARY_SEC = 600.0  # a report of 10,000 combos takes well under a minute
COPIED = frozenset(
    {"results.json", "rows.json", "manifest.json", "manifests.json", "summary.json", "trajectory.json", STATUS}
)


def write_status(run_dir: Path, rid: str, exit_code: int) -> None:
    """`exit=<rc>`: this rid is terminal. Made durable with all others before `.done`; until then the journal knows."""
    atomic_write(private_dir(run_dir / rid) / STATUS, f"exit={exit_code}\n", durable=False)


def has_status(run_dir: Path, rid: str) -> bool:
    """Whether the rid's status file is there and whole."""
    try:
        return (run_dir / rid / STATUS).read_bytes().startswith(b"exit=")
    except OSError:
        return False


def finish(supervisor: Supervisor) -> None:
    """Summarise and mark the run as done. Safe to repeat after a crash at any point."""
    run_dir = supervisor.run_dir
    if not supervisor.state.summarised:
        supervisor.journal.sync()
        supervisor.take_snapshot()
        whole = summarise(run_dir)
        supervisor.record("summarised", counts=supervisor.state.counts(), ok=whole)
    try:
        publish(run_dir, supervisor.plan.options.results_dir)
    except OSError as error:
        supervisor.record("results_not_copied", reason=str(error))
    if not supervisor.state.done:
        supervisor.record("done", cost=cost(supervisor.forks.cost))
    supervisor.take_snapshot()
    supervisor.beat.end()  # before `.done`: whoever sees that finds no heartbeat of a run that goes on
    if not (run_dir / DONE).exists():
        (run_dir / BALLAST).unlink(missing_ok=True)
        sync_file_system(run_dir)
        atomic_write(run_dir / DONE, "ALL_DONE\n")


def cost(zygote: Mapping[str, float]) -> dict[str, float]:
    """CPU seconds and peak memory (MB) of this process and of the fork server (`zygote`, what it told itself); CPU
    seconds of combos and of all children together (fork server, combos, control planes, the builder).
    """
    mine, all_children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    own: dict[str, float] = {
        "supervisor_cpu": round(mine.ru_utime + mine.ru_stime, 3),
        "supervisor_rss_mb": mine.ru_maxrss // 1024,
        "children_cpu": round(all_children.ru_utime + all_children.ru_stime, 3),
    }
    return own | {f"zygote_{name}": figure for name, figure in zygote.items()}


def summarise(run_dir: Path) -> bool:
    """Write rows, summary and report in a process of its own: a slip in a report must not keep a run from its end.

    False when that did not work; it can be made again at any time. A process that was killed is tried once more.
    """
    command = [sys.executable, "-m", "devops_bench.report", str(run_dir)]
    for _ in range(2):
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, check=False, timeout=SUMMARY_SEC)
        except subprocess.TimeoutExpired:
            return False
        if done.returncode >= 0:
            return done.returncode == 0
    return False


def sync_file_system(run_dir: Path) -> None:
    """Make every file of the run durable with one call (syncfs)."""
    fd = os.open(run_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        ctypes.CDLL(None).syncfs(fd)
    finally:
        os.close(fd)


def publish(run_dir: Path, results_dir: str | None) -> None:
    """Copy the contract's files to `results_dir/<stamp>`, never half: a temporary name, then a rename."""
    if not results_dir:
        return
    target = Path(results_dir).expanduser() / run_dir.name
    if target.exists():
        return
    private_dir(target.parent)
    draft = target.parent / f".{run_dir.name}.tmp"
    shutil.rmtree(draft, ignore_errors=True)
    for source in sorted(run_dir.rglob("*")):
        if source.is_file() and source.name in COPIED:
            goal = draft / source.relative_to(run_dir)
            private_dir(goal.parent)
            shutil.copy2(source, goal)
    if draft.exists():
        draft.rename(target)
