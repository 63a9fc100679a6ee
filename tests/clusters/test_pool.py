"""The warm pool: real planes where they serve, stand-in programs where a plane must misbehave."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from devops_bench.clusters import host, leases
from devops_bench.clusters.plane import Plane, adopt
from devops_bench.clusters.pool import Pool
from devops_bench.errors import TransientError
from devops_bench.process import ProcessIdentity, wait_ended
from devops_bench.tasks.spec import ClusterNeeds, NodeGroup

PATIENCE = 60.0
PLAIN = ClusterNeeds()
TWO_NODES = ClusterNeeds(nodes=[NodeGroup(name="std", count=2)])


def run(
    binary: Path, root: Path, body: Callable[[Pool], Coroutine[Any, Any, None]], **settings: object
) -> list[leases.Lease | None]:
    """Run `body` with a pool, close the pool, and return the leases that are left."""

    async def scenario() -> None:
        env = {**os.environ, "BENCH_RUN_STATE_ROOT": str(root), **{name: str(v) for name, v in settings.items()}}
        pool = Pool(binary, env)
        try:
            async with asyncio.timeout(PATIENCE):
                await body(pool)
        finally:
            await pool.close()

    asyncio.run(scenario())
    return [leases.read(folder) for folder in leases.folders(root)]


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


@pytest.fixture
def stand_in(tmp_path: Path) -> Callable[[str], Path]:
    """A program in the place of the control plane that does what `code` says; `ready()` prints a ready line."""

    def make(code: str) -> Path:
        path = tmp_path / "stand-in"
        path.write_text(
            f"#!{sys.executable}\n"
            "import json, os, sys, signal\n"
            "directory = sys.argv[sys.argv.index('--dir') + 1]\n"
            "def ready():\n"
            "    files = {name: '/x' for name in ('admin', 'agent', 'agent-mcp')}\n"
            "    print(json.dumps({'server': 'https://127.0.0.1:1', 'kubeconfigs': files, 'audit_log': '/x',\n"
            "                      'kubernetes': 'v1', 'nodes': 3, 'seconds': 0.1}), flush=True)\n"
            f"{code}\n"
        )
        path.chmod(0o700)
        return path

    return make


@pytest.mark.kwok
def test_planes_are_booted_ahead_and_none_is_left_at_the_end(kube: Path, root: Path) -> None:
    seen: list[Plane] = []

    async def body(pool: Pool) -> None:
        pool.expect([PLAIN, TWO_NODES, PLAIN])
        await until(lambda: pool.counts()["ready"] == 2)
        first = await pool.acquire(PLAIN)
        assert first.ready and first.ready.nodes == 3
        second = await pool.acquire(TWO_NODES)
        assert second.ready and second.ready.nodes == 2
        seen.extend([first, second])
        pool.discard(second)

    assert run(kube, root, body) == []
    assert all(plane.pidfd == -1 for plane in seen)


@pytest.mark.kwok
def test_a_leased_plane_outlives_the_pool_and_ends_with_its_write_end(kube: Path, root: Path) -> None:
    handed: list[tuple[Path, int]] = []

    async def body(pool: Pool) -> None:
        plane = await pool.acquire(PLAIN)
        assert plane.write_fd is not None
        handed.append((plane.folder, os.dup(plane.write_fd)))
        plane.lease_to(leases.myself(), "c0000009-eval")
        pool.hand_over(plane)

    [lease] = run(kube, root, body)
    assert lease and lease.name == "c0000009-eval"
    plane = adopt(*handed[0])
    assert plane.process.alive()
    plane.end()
    assert list(leases.folders(root)) == []


def test_a_boot_that_fails_tells_who_waits_for_it(root: Path, stand_in: Callable[[str], Path]) -> None:
    binary = stand_in("sys.exit('cannot bind: no more ports')")

    async def body(pool: Pool) -> None:
        with pytest.raises(TransientError, match=r"ended before it was ready.*no more ports"):
            await pool.acquire(PLAIN)

    assert run(binary, root, body) == []


def test_a_failing_boot_ahead_is_not_repeated_until_somebody_asks(
    root: Path, tmp_path: Path, stand_in: Callable[[str], Path]
) -> None:
    binary = stand_in(f"open({str(tmp_path / 'starts')!r}, 'a').write('x')\nsys.exit('broken')")

    async def body(pool: Pool) -> None:
        pool.expect([PLAIN, PLAIN, PLAIN])
        await until(lambda: (tmp_path / "starts").exists() and pool.counts()["booting"] == 0)
        pool.expect([PLAIN, PLAIN, PLAIN])
        await asyncio.sleep(0.005)
        assert pool.counts()["booting"] == 0
        with pytest.raises(TransientError, match="broken"):
            await pool.acquire(PLAIN)

    assert run(binary, root, body) == []
    assert len((tmp_path / "starts").read_text()) <= 3


def test_a_boot_that_never_gets_ready_fails_at_its_deadline(root: Path, stand_in: Callable[[str], Path]) -> None:
    binary = stand_in("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.pause()")

    async def body(pool: Pool) -> None:
        with pytest.raises(TransientError, match="not ready after 1 s"):
            await pool.acquire(PLAIN)

    assert run(binary, root, body, BENCH_PLANE_READY_SEC=1) == []


def test_a_plane_that_dies_while_it_waits_is_replaced(root: Path, stand_in: Callable[[str], Path]) -> None:
    binary = stand_in("ready()\nsys.stdin.read()")

    async def body(pool: Pool) -> None:
        pool.expect([PLAIN])
        await until(lambda: pool.counts()["ready"] == 1)
        [folder] = leases.folders(root)
        lease = leases.read(folder)
        assert lease and lease.plane
        os.kill(lease.plane.pid, signal.SIGKILL)
        await until(lambda: folder not in list(leases.folders(root)))
        plane = await pool.acquire(PLAIN)
        assert plane.folder != folder
        pool.discard(plane)

    assert run(binary, root, body) == []


def test_two_callers_never_get_the_same_plane(root: Path, stand_in: Callable[[str], Path]) -> None:
    binary = stand_in("ready()\nsys.stdin.read()")

    async def body(pool: Pool) -> None:
        pool.expect([PLAIN] * 4)
        planes = await asyncio.gather(*(pool.acquire(PLAIN) for _ in range(4)))
        assert len({plane.pid for plane in planes}) == 4
        for plane in planes:
            pool.discard(plane)

    assert run(binary, root, body) == []


def test_a_cancelled_caller_leaves_its_plane_to_the_next(root: Path, stand_in: Callable[[str], Path]) -> None:
    binary = stand_in("ready()\nsys.stdin.read()")

    async def body(pool: Pool) -> None:
        impatient = asyncio.ensure_future(pool.acquire(PLAIN))
        await asyncio.sleep(0.005)
        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        assert pool.counts()["waiting"] == 0
        pool.discard(await pool.acquire(PLAIN))

    assert run(binary, root, body) == []


def test_without_memory_the_caller_is_told_how_much_is_missing(
    root: Path, stand_in: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "memory_available", lambda: 300 << 20)
    binary = stand_in("ready()\nsys.stdin.read()")

    async def body(pool: Pool) -> None:
        with pytest.raises(TransientError, match="300 MiB available, 1504 MiB needed"):
            await pool.acquire(PLAIN)

    assert run(binary, root, body) == []


def test_closing_fails_who_still_waits(root: Path, stand_in: Callable[[str], Path]) -> None:
    binary = stand_in("sys.stdin.read()")

    async def body(pool: Pool) -> None:
        waiter = asyncio.ensure_future(pool.acquire(PLAIN))
        await until(lambda: pool.counts()["booting"] == 1)
        await pool.close()
        with pytest.raises(TransientError, match="being stopped"):
            await waiter
        with pytest.raises(TransientError, match="being stopped"):
            await pool.acquire(PLAIN)

    assert run(binary, root, body) == []


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak), pytest.param(3, marks=pytest.mark.soak)])
def test_callers_that_come_go_and_die_at_random_leave_nothing(
    root: Path, stand_in: Callable[[str], Path], seed: int
) -> None:
    """Planes that fail to boot or die at any moment, callers that give up: nothing hangs, nothing stays."""
    binary = stand_in("import random\nif random.random() < 0.2:\n    sys.exit('bad luck')\nready()\nsys.stdin.read()")
    dice = random.Random(seed)
    pids: set[int] = set()

    async def caller(pool: Pool, number: int) -> None:
        needs = PLAIN if number % 2 else TWO_NODES
        try:
            async with asyncio.timeout(dice.choice([0.01, 0.2, PATIENCE])):
                plane = await pool.acquire(needs)
        except (TransientError, TimeoutError):
            return
        assert plane.pid not in pids
        pids.add(plane.pid)
        if dice.random() < 0.3 and plane.pidfd >= 0:
            signal.pidfd_send_signal(plane.pidfd, signal.SIGKILL)
            await asyncio.sleep(dice.random() / 50)
        pool.discard(plane)

    async def body(pool: Pool) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(30):
                pool.expect([PLAIN, TWO_NODES, PLAIN][: dice.randrange(4)])
                group.create_task(caller(pool, number))
                await asyncio.sleep(dice.random() / 20)
        pool.expect([PLAIN])

    assert run(binary, root, body, BENCH_POOL_SIZE=3) == []


def test_a_plane_that_ended_while_lent_is_removed_when_it_comes_back(
    root: Path, stand_in: Callable[[str], Path]
) -> None:
    binary = stand_in("ready()\nsys.stdin.read()")
    who: list[ProcessIdentity] = []

    async def body(pool: Pool) -> None:
        plane = await pool.acquire(PLAIN)
        who.append(plane.process)
        os.kill(plane.pid, signal.SIGKILL)
        assert wait_ended(plane.pidfd, PATIENCE)
        await until(lambda: plane.pidfd == -1)
        pool.discard(plane)

    assert run(binary, root, body) == []
    assert not who[0].alive()
