"""Find and remove what dead owners left: planes, their folders and leases. Every supervisor start calls `sweep`.

Touches only what is provably ours: folders below the planes root of the state root, and processes whose arguments name
such a folder. A plane whose owner lives is never touched.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from devops_bench.clusters import leases
from devops_bench.clusters.plane import end_by_pidfd, remove
from devops_bench.process import ProcessIdentity, identity

# Seconds. A draft, and a lease whose plane has no log yet, are microseconds old unless their maker was killed then.
UNFINISHED_AGE = 60.0
SWEEP_GRACE = 0.2
PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Swept:
    """One plane folder that a sweep removed, and whether a process had to be ended for it."""

    folder: Path
    name: str | None
    ended: bool

    def __str__(self) -> str:
        return f"{self.folder.name} ({self.name or 'unused'}){', process ended' if self.ended else ''}"


def sweep(
    state_root: Path,
    alive_owner: Callable[[ProcessIdentity], bool] | None = None,
    *,
    dry: bool = False,
    only: str | None = None,
) -> list[Swept]:
    """Remove every plane whose owner is dead; what was (with `dry`: would be) removed. Safe to run twice at once.

    `alive_owner` replaces the test of an owner's life, `only` restricts to one cluster name.
    """
    gone: list[Swept] = []
    for folder in leases.folders(state_root):
        lease = leases.read(folder)
        if not abandoned(folder, lease, alive_owner) or (only and (lease is None or lease.name != only)):
            continue
        running = list(processes_of(folder))
        if not dry:
            for who in running:
                end(who)
            remove(folder)
        gone.append(Swept(folder, lease.name if lease else None, bool(running)))
    return gone


def abandoned(
    folder: Path, lease: leases.Lease | None, alive_owner: Callable[[ProcessIdentity], bool] | None = None
) -> bool:
    """True when nobody owns the plane of `folder` any more."""
    if lease is not None and alive_owner is not None:
        return not alive_owner(lease.owner)
    if lease is not None and not lease.owner.foreign:
        return not lease.owner.alive()
    # Another boot, container or host, or no readable lease: a plane ends with its owner and then lets go of its log.
    if lease is None and (folder / leases.LOG).exists():
        return not leases.log_is_held(folder)  # its plane was started: nothing is unfinished here, whatever its age
    try:
        finished = time.time() - folder.stat().st_mtime > UNFINISHED_AGE
    except OSError:
        return False
    return finished and not leases.log_is_held(folder)


def end(who: ProcessIdentity, grace: float = SWEEP_GRACE) -> bool:
    """End a plane's process that need not be our child; True when it has ended."""
    pidfd = who.open_pidfd()
    if pidfd is None:
        return True
    try:
        return end_by_pidfd(pidfd, grace)
    finally:
        os.close(pidfd)


def processes_of(folder: Path) -> Iterator[ProcessIdentity]:
    """Running processes whose arguments say `--dir <folder>/data`."""
    wanted = os.fsencode(folder / leases.DATA)
    for pid, argv in command_lines():
        if b"--dir" in argv and wanted in argv and (who := identity(pid)) is not None and who.alive():
            yield who


def command_lines() -> Iterator[tuple[int, list[bytes]]]:
    """Pid and arguments of every process that this one can see."""
    for name in os.listdir(PROC):
        if name.isdigit():
            try:
                yield int(name), (PROC / name / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
