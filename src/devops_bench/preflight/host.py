"""Does the matrix fit this host: memory and cores for MAX_PARALLEL combos, disk, and a runs root that can be written?

`look` measures, `judge` is pure. Nothing is written to find out.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devops_bench import settings
from devops_bench.clusters import host as measured
from devops_bench.matrix.findings import Finding, Level
from devops_bench.matrix.plan import Combo, Plan
from devops_bench.paths import runs_root, state_root

MIB = 1 << 20
# What one running agent takes, by canonical key: resident memory of the real CLIs; the rest run in the combo itself.
AGENT_MEMORY: Mapping[str, int] = {
    "openclaw": 1300 * MIB,
    "opencode": 490 * MIB,
    "gemini": 256 * MIB,
    "claude": 202 * MIB,
    "codex": 143 * MIB,
}
COMBO_MEMORY = 120 * MIB  # the forked combo process with its sandbox
COMBO_DISK = 4 * MIB  # records, transcripts and audit log of one attempt, generously
DISK_LEAST = 256 * MIB  # below it no run is started: journals and etcd must not meet a full disk


@dataclass(frozen=True, slots=True)
class Room:
    """What the host has. Bytes. `unwritable` names a root that cannot be written, with the reason."""

    memory: int
    disk: int
    disk_path: Path
    inotify_free: int | None
    unwritable: tuple[tuple[str, Path], ...] = ()


def check(plan: Plan, env: Mapping[str, str]) -> list[Finding]:
    """What this host lacks for `plan`."""
    return judge(plan, look(env))


def look(env: Mapping[str, str]) -> Room:
    """Measure the host. Creates nothing."""
    roots = {"DEVOPS_BENCH_RUNS": runs_root(env), "BENCH_RUN_STATE_ROOT": state_root(env)}
    host = measured.look(roots["DEVOPS_BENCH_RUNS"])
    limit = host.inotify_instances
    return Room(
        memory=host.memory_available,
        disk=host.disk_free,
        disk_path=host.disk_path,
        inotify_free=None if limit is None else limit - host.inotify_used,
        unwritable=tuple((name, path) for name, path in roots.items() if not _writable(path)),
    )


def judge(plan: Plan, room: Room) -> list[Finding]:
    """Findings of `plan` in `room`. Pure."""
    found = [
        Finding(Level.ERROR, "cannot be written", f"set {name} to a folder of yours", str(path))
        for name, path in room.unwritable
    ]
    return [*found, *_disk(plan, room), *_memory(plan, room), *_inotify(plan, room)]


def _disk(plan: Plan, room: Room) -> list[Finding]:
    need = len(plan.combos) * COMBO_DISK
    if room.disk < DISK_LEAST:
        what = f"{room.disk // MIB} MiB of disk are free, a run needs at least {DISK_LEAST // MIB} MiB"
        return [Finding(Level.ERROR, what, "free some, or set DEVOPS_BENCH_RUNS", str(room.disk_path))]
    if room.disk < DISK_LEAST + need:
        what = f"{len(plan.combos)} combos may take {need // MIB} MiB of disk, {room.disk // MIB} MiB are free"
        return [Finding(Level.WARNING, what, "free some, or set DEVOPS_BENCH_RUNS", str(room.disk_path))]
    return []


def _memory(plan: Plan, room: Room) -> list[Finding]:
    """The hungriest combos may meet: the sum over the MAX_PARALLEL largest is what must fit."""
    needs = sorted(map(_memory_of, plan.combos), reverse=True)[: plan.options.max_parallel]
    have = room.memory - settings.integer("memory_reserve", {})
    if sum(needs) <= have:
        return []
    fits, total = 0, 0
    for need in needs:
        total += need
        if total > have:
            break
        fits += 1
    what = (
        f"{len(needs)} combos at once may take {sum(needs) // MIB} MiB of memory, "
        f"{max(0, have) // MIB} MiB are free beside the reserve"
    )
    if fits == 0:
        return [Finding(Level.ERROR, what + ": not even one fits", "free memory, or use a larger host")]
    return [Finding(Level.WARNING, what, f"set MAX_PARALLEL={fits}; until then combos wait for memory")]


def _memory_of(combo: Combo) -> int:
    plane = settings.integer("plane_memory", {}) if combo.provider == "kwok" else 0
    return COMBO_MEMORY + plane + AGENT_MEMORY.get(combo.config.agent, 0)


def _inotify(plan: Plan, room: Room) -> list[Finding]:
    need = min(plan.options.max_parallel, len(plan.combos)) + 2
    if room.inotify_free is None or room.inotify_free >= need:
        return []
    what = f"{room.inotify_free} inotify instances are free, the run needs {need}"
    return [Finding(Level.WARNING, what, "raise fs.inotify.max_user_instances by sysctl")]


def _writable(path: Path) -> bool:
    """Whether `path` is a folder that can be written, or could be made."""
    here = path.absolute()
    while not os.path.lexists(here):
        here = here.parent
    return here.is_dir() and os.access(here, os.W_OK | os.X_OK)
