"""Does the matrix fit this host: memory and cores for MAX_PARALLEL combos, disk, and a runs root that can be written?

`look` measures, `judge` is pure. Nothing is written to find out.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devops_bench.clusters import capacity
from devops_bench.clusters.host import Host
from devops_bench.clusters.host import look as measure
from devops_bench.matrix.findings import Finding, Level
from devops_bench.matrix.plan import Plan
from devops_bench.paths import runs_root, state_root
from devops_bench.plaintext import counted
from devops_bench.settings import CORES_EACH

MIB = 1 << 20
# What one running agent takes, by canonical key: resident memory of the real CLIs; the rest run in the combo itself.
AGENT_MEMORY: Mapping[str, int] = {
    "openclaw": 1300 * MIB,
    "opencode": 510 * MIB,
    "gemini": 256 * MIB,
    "claude": 202 * MIB,
    "codex": 143 * MIB,
}
COMBO_MEMORY = 120 * MIB  # the forked combo process with its sandbox
COMBO_DISK = 4 * MIB  # what stays of one attempt: records, transcripts and the audit log, generously
DISK_LEAST = 256 * MIB  # below it no run is started: journals and etcd must not meet a full disk


@dataclass(frozen=True, slots=True)
class Room:
    """What the host has, as seen from the runs root and from the state root, where planes keep their stores.

    `unwritable` are roots that cannot be written: the variable that names each, and its path.
    """

    runs: Host
    state: Host
    unwritable: tuple[tuple[str, Path], ...] = ()


def check(plan: Plan, env: Mapping[str, str]) -> list[Finding]:
    """What this host lacks for `plan`. Raises ConfigError for a malformed setting of `env`."""
    return judge(plan, look(env), env)


def look(env: Mapping[str, str]) -> Room:
    """Measure the host. Creates nothing."""
    roots = {"DEVOPS_BENCH_RUNS": runs_root(env), "BENCH_RUN_STATE_ROOT": state_root(env)}
    runs, state = (measure(path) for path in roots.values())
    return Room(runs, state, tuple((name, path) for name, path in roots.items() if not _writable(path)))


def judge(plan: Plan, room: Room, env: Mapping[str, str]) -> list[Finding]:
    """Findings of `plan` in `room`; `env` may change the settings of planes and pool. Pure."""
    found = [
        Finding(Level.ERROR, "cannot be written", f"set {name} to a folder of yours", str(path))
        for name, path in room.unwritable
    ]
    here = room.state
    return [*found, *_disk(plan, room.runs), *_memory(plan, here, env), *_cores(plan, here), *_planes(plan, here, env)]


def _disk(plan: Plan, host: Host) -> list[Finding]:
    need = len(plan.combos) * COMBO_DISK
    if host.disk_free < DISK_LEAST:
        what = f"{host.disk_free // MIB} MiB of disk are free, a run needs at least {DISK_LEAST // MIB} MiB"
        return [Finding(Level.ERROR, what, "free some, or set DEVOPS_BENCH_RUNS", str(host.disk_path))]
    if host.disk_free < DISK_LEAST + need:
        who = counted(len(plan.combos), "combo")
        what = f"{who} may take {need // MIB} MiB of disk, {host.disk_free // MIB} MiB are free"
        return [Finding(Level.WARNING, what, "free some, or set DEVOPS_BENCH_RUNS", str(host.disk_path))]
    return []


def _memory(plan: Plan, host: Host, env: Mapping[str, str]) -> list[Finding]:
    """Planes, agents and combos together: the hungriest may meet, so the largest MAX_PARALLEL of them must fit."""
    lanes = min(plan.options.max_parallel, len(plan.combos))
    need = _memory_of(plan, lanes, env)
    if need <= host.memory_available:
        return []
    who = counted(lanes, "combo")
    what = f"{who} at once may take {need // MIB} MiB of memory, {host.memory_available // MIB} MiB are free"
    fits = next((n for n in range(lanes - 1, 0, -1) if _memory_of(plan, n, env) <= host.memory_available), 0)
    if not fits:
        return [Finding(Level.ERROR, f"{what}: not even one fits", "free memory, or use a larger host")]
    return [Finding(Level.WARNING, what, f"set MAX_PARALLEL={fits}")]


def _memory_of(plan: Plan, lanes: int, env: Mapping[str, str]) -> int:
    """Bytes for `lanes` combos at once, the pool's planes and the reserve included."""
    demand = _demand(plan, lanes, env)
    agents = sorted((AGENT_MEMORY.get(combo.config.agent, 0) for combo in plan.combos), reverse=True)[:lanes]
    planes = demand.planes * demand.memory_per_plane
    return planes + sum(agents) + lanes * COMBO_MEMORY + demand.memory_reserve


def _cores(plan: Plan, host: Host) -> list[Finding]:
    """Agents that need whole cores: so many of them may meet as there are lanes and combos."""
    found = []
    for agent, cores in CORES_EACH.items():
        at_once = min(plan.options.max_parallel, sum(combo.config.agent == agent for combo in plan.combos))
        fits = max(1, int(host.cores / cores))
        if at_once > fits:
            what = f"{at_once} combos of {agent} at once want {at_once * cores:g} cores, this host has {host.cores:g}"
            found.append(Finding(Level.WARNING, what, f"set MAX_PARALLEL={fits}"))
    return found


def _planes(plan: Plan, host: Host, env: Mapping[str, str]) -> list[Finding]:
    """What planes take beside memory: disk for their stores, inotify instances and watches."""
    demand = _demand(plan, plan.options.max_parallel, env)
    if not demand.planes:
        return []
    level = Level.WARNING if capacity.fitting_planes(host, demand) else Level.ERROR
    return [
        Finding(level, f"{one.subject}: {one.have}, but {one.need}", one.fix)
        for one in capacity.assess(host, demand)
        if not one.ok and one.subject != "memory"
    ]


def _demand(plan: Plan, lanes: int, env: Mapping[str, str]) -> capacity.Demand:
    return capacity.Demand.of(lanes, sum(combo.provider == "kwok" for combo in plan.combos), env)


def _writable(path: Path) -> bool:
    """Whether `path` is a folder that can be written, or could be made."""
    here = path.absolute()
    while not os.path.lexists(here):
        here = here.parent
    return here.is_dir() and os.access(here, os.W_OK | os.X_OK)
