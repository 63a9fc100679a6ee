"""How many clusters a host carries, and what is said when it does not."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from devops_bench.clusters import host
from devops_bench.clusters.capacity import Demand, assess, fitting_planes
from devops_bench.clusters.host import Host

GIB = 1 << 30
ROOMY = Host(
    memory_available=16 * GIB,
    cores=8,
    disk_free=100 * GIB,
    disk_path=Path("/state"),
    inotify_instances=8192,
    inotify_watches=100_000,
)
FIVE = Demand(planes=5, memory_per_plane=400 << 20, memory_reserve=GIB)


def test_a_roomy_host_passes_everything() -> None:
    assert all(finding.ok for finding in assess(ROOMY, FIVE))


@pytest.mark.parametrize(
    ("there", "line"),
    [
        (
            {"memory_available": 2 * GIB},
            "memory: 2048 MiB available, but 5 clusters at once need 3024 MiB (400 each, 1024 kept free); "
            "set MAX_PARALLEL so that at most 2 run (BENCH_POOL_SIZE counts too)",
        ),
        (
            {"disk_free": GIB},
            "disk: 1024 MiB free at /state, but 5 clusters at once need 1280 MiB; "
            "free some space, or set BENCH_RUN_STATE_ROOT to another disk",
        ),
        (
            {"inotify_instances": 128, "inotify_used": 90},
            "inotify instances: 128 allowed, 90 in use, but 5 clusters at once need 140; "
            "sudo sysctl fs.inotify.max_user_instances=512, or lower MAX_PARALLEL",
        ),
        (
            {"inotify_watches": 64},
            "inotify watches: 64 allowed, but 5 clusters at once need 100; sudo sysctl fs.inotify.max_user_watches=512",
        ),
    ],
)
def test_a_limit_is_named_with_its_fix(there: dict[str, int], line: str) -> None:
    bad = [finding for finding in assess(replace(ROOMY, **there), FIVE) if not finding.ok]
    assert [finding.line() for finding in bad] == [line]


def test_demand_is_summed_over_parallel_combos_and_the_pool() -> None:
    assert Demand.of(3, 20, {}).planes == 5
    assert Demand.of(3, 20, {"BENCH_POOL_SIZE": "0"}).planes == 3
    assert Demand.of(8, 4, {}).planes == 4
    assert Demand.of(3, 4, {}).planes == 4
    assert Demand.of(3, 0, {}).planes == 0


def test_hidden_limits_are_left_out() -> None:
    quiet = replace(ROOMY, inotify_instances=None, inotify_watches=None)
    assert [finding.subject for finding in assess(quiet, FIVE)] == ["memory", "disk"]
    assert fitting_planes(quiet, FIVE) == 38
    assert fitting_planes(replace(ROOMY, memory_available=0), FIVE) == 0


def test_this_host_can_be_looked_at(tmp_path: Path) -> None:
    seen = host.look(tmp_path / "not" / "there" / "yet")
    assert seen.memory_available > 0 and seen.cores >= 1 and seen.disk_free > 0
    assert seen.disk_path == tmp_path


def test_inotify_instances_in_use_are_counted() -> None:
    code = (
        "import ctypes, sys\nlibc = ctypes.CDLL(None)\n[libc.inotify_init() for _ in range(3)]\n"
        "print('on', flush=True)\nsys.stdin.read()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout and holder.stdout.readline() == b"on\n"
        assert host._inotify_of(str(holder.pid)) == 3
        holder.communicate()


def test_a_containers_limit_bounds_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("700000\n")
    (tmp_path / "memory.stat").write_text("anon 600000\ninactive_file 50000\n")
    monkeypatch.setattr(host, "CGROUP", tmp_path)
    assert host.memory_available() == 350_000
    (tmp_path / "memory.max").write_text("max\n")
    assert host.memory_available() > 1_000_000
