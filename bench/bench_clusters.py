"""Control planes: cold boot, a plane from the warm pool, the agent's rights, destroy; wall, CPU and memory of each."""

from __future__ import annotations

import asyncio
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from bench.measure import children, row
from devops_bench.clusters import binary, host, kwok
from devops_bench.clusters.grants import grant_agent
from devops_bench.clusters.plane import Plane
from devops_bench.clusters.pool import Pool
from devops_bench.kube import KubeClient
from devops_bench.tasks.spec import ClusterNeeds

ROUNDS = 5
NEEDS = ClusterNeeds()
T = TypeVar("T")


def main() -> None:
    """Print the table; says so when there is no binary."""
    found = binary.find()
    if found is None:
        print("no control plane; run `devops-bench clusters install`")
        return
    print(f"medians of {ROUNDS}, {host.cores()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "state"
        root.mkdir(mode=0o700)
        boot = _cold(found, root)
        asyncio.run(_warm(found, root, boot))


def _cold(found: Path, root: Path) -> float:
    """Boot, grant and destroy one after the other; the median seconds to ready."""
    boots, said, memory, grants, again, ends, cpu = [], [], [], [], [], [], []
    provider = kwok.Kwok(found, {**os.environ, "BENCH_RUN_STATE_ROOT": str(root)})
    for number in range(ROUNDS):
        name, state_dir, before = f"c{number:07x}-bench", root / f"rid{number}", children()
        seconds, cluster = _timed(lambda name=name, state_dir=state_dir: provider.create(name, NEEDS, state_dir))
        plane = provider.planes[name]
        assert plane.ready and cluster.admin_kubeconfig
        boots.append(seconds)
        said.append(plane.ready.seconds)
        memory.append((host.memory_of(plane.pid) or 0) / 1e6)
        with KubeClient.from_kubeconfig(cluster.admin_kubeconfig) as kube:
            grants.append(_timed(lambda cluster=cluster, kube=kube: grant_agent(cluster, NEEDS, kube))[0])
            again.append(_timed(lambda cluster=cluster, kube=kube: grant_agent(cluster, NEEDS, kube))[0])
        ends.append(_timed(lambda cluster=cluster: provider.destroy(cluster))[0])
        cpu.append(children() - before)
    middle = statistics.median
    row("cold boot to ready", f"{middle(boots):.2f} s", f"{middle(said):.2f} s by its own clock", "<= 2.5 s")
    row("CPU of a plane from boot to end", f"{middle(cpu):.2f} s", "")
    row("memory when ready", f"{middle(memory):.0f} MB", "", "<= 320 MB")
    row("the agent's rights", f"{1e3 * middle(grants):.0f} ms", f"{1e3 * middle(again):.0f} ms a second time")
    row("destroy, residue gone", f"{1e3 * middle(ends):.0f} ms", "")
    return middle(boots)


async def _warm(found: Path, root: Path, boot: float) -> None:
    """Acquire from a full pool, hand over, end; the supervisor's own CPU for it."""
    pool = Pool(found, {**os.environ, "BENCH_RUN_STATE_ROOT": str(root), "BENCH_POOL_SIZE": "1"})
    waits, own = [], []
    for _ in range(ROUNDS):
        pool.expect([NEEDS])
        while pool.counts()["ready"] < 1:
            await asyncio.sleep(0.05)
        before = _own_cpu()
        began = time.perf_counter()
        plane: Plane = await pool.acquire(NEEDS)
        waits.append(time.perf_counter() - began)
        own.append(_own_cpu() - before)
        pool.discard(plane)
    await pool.close()
    middle = statistics.median(waits)
    row("a plane from the warm pool", f"{1e3 * middle:.1f} ms", f"{boot / middle:.0f} x faster than a boot")
    row("CPU of the pool's process for it", f"{1e3 * statistics.median(own):.1f} ms", "")


def _timed(call: Callable[[], T]) -> tuple[float, T]:
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


def _own_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
