"""Does this host carry so many clusters at once? A pure function from what is asked and what is there to findings.

Summed over MAX_PARALLEL and the warm pool before a launch (preflight), and shown by `clusters doctor`. Costs of one
plane are measured: about 340 MB, 10 inotify instances, 16 watches, 10 MB of disk at boot plus its audit log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from devops_bench.clusters.host import Host
from devops_bench.settings import integer

INOTIFY_PER_PLANE = 10
WATCHES_PER_PLANE = 20
DISK_PER_PLANE = 256 << 20  # bytes: store, audit log with bodies, evidence copies
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Demand:
    """What a launch asks for: planes at once (combos that need one, plus the pool), memory per plane and kept free."""

    planes: int
    memory_per_plane: int
    memory_reserve: int

    @classmethod
    def of(cls, max_parallel: int, cluster_combos: int, env: Mapping[str, str]) -> Demand:
        """For `cluster_combos` combos on kwok, `max_parallel` at once; the pool holds no more than are left to run."""
        running = min(max_parallel, cluster_combos)
        ahead = min(integer("pool_size", env), cluster_combos - running)
        return cls(running + ahead, integer("plane_memory", env), integer("memory_reserve", env))


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: `have` says what is there; when not `ok`, `need` what is missing and `fix` what to do."""

    subject: str
    ok: bool
    have: str
    need: str = ""
    fix: str = ""

    def line(self) -> str:
        """One line for a person."""
        if self.ok:
            return f"{self.subject}: {self.have}"
        return f"{self.subject}: {self.have}, but {self.need}" + (f"; {self.fix}" if self.fix else "")


def assess(host: Host, demand: Demand) -> list[Finding]:
    """Memory, disk and inotify for `demand`, one finding each, good or bad. Limits that the host hides are left out."""
    return [
        finding
        for finding in (_memory(host, demand), _disk(host, demand), _instances(host, demand), _watches(host, demand))
        if finding is not None
    ]


def fitting_planes(host: Host, demand: Demand) -> int:
    """How many planes at once this host carries; at least 0."""
    counts = [(host.memory_available - demand.memory_reserve) // demand.memory_per_plane]
    counts.append(host.disk_free // DISK_PER_PLANE)
    if host.inotify_instances is not None:
        counts.append((host.inotify_instances - host.inotify_used) // INOTIFY_PER_PLANE)
    return max(0, min(counts))


def _memory(host: Host, demand: Demand) -> Finding:
    need = demand.planes * demand.memory_per_plane + demand.memory_reserve
    have = f"{host.memory_available // MIB} MiB available"
    if host.memory_available >= need:
        return Finding("memory", True, have)
    return Finding(
        "memory",
        False,
        have,
        f"{demand.planes} clusters at once need {need // MIB} MiB "
        f"({demand.memory_per_plane // MIB} each, {demand.memory_reserve // MIB} kept free)",
        f"set MAX_PARALLEL so that at most {fitting_planes(host, demand)} run (BENCH_POOL_SIZE counts too)",
    )


def _disk(host: Host, demand: Demand) -> Finding:
    need = demand.planes * DISK_PER_PLANE
    have = f"{host.disk_free // MIB} MiB free at {host.disk_path}"
    if host.disk_free >= need:
        return Finding("disk", True, have)
    fix = "free some space, or set BENCH_RUN_STATE_ROOT to another disk"
    return Finding("disk", False, have, f"{demand.planes} clusters at once need {need // MIB} MiB", fix)


def _instances(host: Host, demand: Demand) -> Finding | None:
    if host.inotify_instances is None:
        return None
    need = demand.planes * INOTIFY_PER_PLANE + host.inotify_used
    have = f"{host.inotify_instances} allowed, {host.inotify_used} in use"
    if host.inotify_instances >= need:
        return Finding("inotify instances", True, have)
    return Finding(
        "inotify instances",
        False,
        have,
        f"{demand.planes} clusters at once need {need}",
        f"sudo sysctl fs.inotify.max_user_instances={_round_up(need)}, or lower MAX_PARALLEL",
    )


def _watches(host: Host, demand: Demand) -> Finding | None:
    if host.inotify_watches is None:
        return None
    need = demand.planes * WATCHES_PER_PLANE
    have = f"{host.inotify_watches} allowed"
    if host.inotify_watches >= need:
        return Finding("inotify watches", True, have)
    fix = f"sudo sysctl fs.inotify.max_user_watches={_round_up(need)}"
    return Finding("inotify watches", False, have, f"{demand.planes} clusters at once need {need}", fix)


def _round_up(number: int) -> int:
    """The next power of two from 512 on."""
    return max(512, 1 << (number - 1).bit_length())
