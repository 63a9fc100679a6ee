"""The warm pool: control planes booted ahead, so that a combo waits for none of the boot.

Used by the supervisor inside its event loop: no threads, no timers but deadlines; readiness and ends of planes arrive
as readable descriptors. A plane is used by one combo and thrown away. The decisions are `poolplan.plan_pool`'s.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from devops_bench.clusters import host
from devops_bench.clusters.needs import needs_key
from devops_bench.clusters.plane import Plane, remove, start
from devops_bench.clusters.poolplan import Limits, plan_pool, room_for
from devops_bench.errors import BenchError, TransientError
from devops_bench.paths import state_root
from devops_bench.settings import integer, value
from devops_bench.tasks.spec import ClusterNeeds

CORES_PER_BOOT = 1  # a boot takes little more than one core for its seconds (measured)
MEMORY_RETRY = 1.0  # seconds between looks at the host's memory while somebody waits for room
END_TIMEOUT = 10.0  # seconds for killed planes to leave the process table at close
STOPPING = "the run is being stopped: no control plane is handed out"


class Pool:
    """Planes of one run, by needs. All methods belong to the thread of `loop`."""

    def __init__(
        self, binary: Path, env: Mapping[str, str] = os.environ, *, loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self.binary = binary
        self.root = state_root(env)
        self._env = env
        self._loop = loop or asyncio.get_running_loop()
        self._ahead = integer("pool_size", env)
        self._boots = max(1, host.cores() // CORES_PER_BOOT)
        self._timeout = value("plane_ready_timeout", env)
        self._needs: dict[str, ClusterNeeds] = {}
        self._keys: dict[int, tuple[ClusterNeeds, str]] = {}
        self._upcoming: list[str] = []
        self._waiting: deque[tuple[str, asyncio.Future[Plane]]] = deque()
        self._ready: list[Plane] = []
        self._booting: dict[Plane, asyncio.TimerHandle] = {}
        self._lent: set[Plane] = set()
        self._leased: set[Plane] = set()
        self._dying: set[Plane] = set()
        self._failed: set[str] = set()
        self._retry: asyncio.TimerHandle | None = None
        self._emptied: asyncio.Future[None] | None = None
        self._closed = False
        self._stepping = False

    # What the supervisor calls

    def expect(self, upcoming: Sequence[ClusterNeeds]) -> None:
        """Tell which needs will be acquired next, soonest first; an empty list lets all idle planes go."""
        self._upcoming = [self._key(needs) for needs in upcoming]
        self._step_soon()

    async def acquire(self, needs: ClusterNeeds) -> Plane:
        """A ready plane for `needs`; the caller must `hand_over` or `discard` it.

        Raises the boot's TransientError (or TaskError for unreadable stages), TransientError when the host has no room.
        """
        if self._closed:
            raise TransientError(STOPPING)
        key = self._key(needs)
        self._failed.discard(key)
        future: asyncio.Future[Plane] = self._loop.create_future()
        self._waiting.append((key, future))
        self._serve()
        self._step_soon()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self._lent.discard(plane := future.result())
                self._ready.append(plane)  # granted in the very moment of the cancellation
            raise
        finally:
            self._waiting = deque(entry for entry in self._waiting if entry[1] is not future)
            self._step_soon()

    def hand_over(self, plane: Plane) -> None:
        """The combo has the plane's write end: close ours. From here on the pool only reaps it at its end."""
        self._lent.discard(plane)
        self._leased.add(plane)
        plane.give_away()
        self._step_soon()

    def discard(self, plane: Plane) -> None:
        """End an acquired plane that no combo took."""
        self._lent.discard(plane)
        self._kill(plane)
        self._step_soon()

    async def close(self) -> None:
        """End every plane that no combo has, fail who still waits, and stop watching the others."""
        self._closed = True
        if self._retry is not None:
            self._retry.cancel()
        for plane in [*self._ready, *self._booting, *self._lent]:
            self._kill(plane)
        self._ready.clear()
        self._lent.clear()
        self._fail(None, TransientError(STOPPING))
        if self._dying:
            self._emptied = self._loop.create_future()
            await asyncio.wait([self._emptied], timeout=END_TIMEOUT)
        for plane in [*self._leased, *self._dying]:
            self._forget(plane)
        self._leased.clear()

    def counts(self) -> dict[str, int]:
        """How many planes are ready, booting, lent, leased; how many callers wait."""
        return {
            "ready": len(self._ready),
            "booting": len(self._booting),
            "lent": len(self._lent),
            "leased": len(self._leased),
            "waiting": len(self._waiting),
        }

    # One step

    def _step_soon(self) -> None:
        """Decide once in the next turn of the loop: whoever just got a plane runs before the next one is started."""
        if not self._stepping and not self._closed:
            self._stepping = True
            self._loop.call_soon(self._step)

    def _step(self) -> None:
        self._stepping = False
        if self._closed:
            return
        waiting = [key for key, future in self._waiting if not future.done()]
        upcoming = [key for key in self._upcoming if key not in self._failed]
        booting = [plane.lease.key for plane in self._booting]
        limits = Limits(self._ahead, self._boots, self._room())
        step = plan_pool(waiting, upcoming, [plane.lease.key for plane in self._ready], booting, limits)
        for key in step.kill:
            self._kill(self._idle(key))
        for key in step.boot:
            self._boot(key)
        self._watch_memory(waiting)

    def _room(self) -> int:
        per_plane = int(value("plane_memory", self._env))
        reserve = int(value("memory_reserve", self._env))
        return room_for(host.memory_available(), reserve, per_plane, len(self._booting))

    def _watch_memory(self, waiting: Sequence[str]) -> None:
        """Somebody waits and nothing boots for want of memory: look again soon, or give up if nothing will free any."""
        if not waiting or self._booting or self._ready or self._retry is not None:
            return
        if not (self._leased or self._lent or self._dying):
            free = host.memory_available() >> 20
            need = int(value("plane_memory", self._env) + value("memory_reserve", self._env)) >> 20
            self._fail(
                None,
                TransientError(
                    f"no memory for a control plane: {free} MiB available, {need} MiB needed",
                    delay=30.0,
                    fix="free memory or lower MAX_PARALLEL",
                ),
            )
            return
        self._retry = self._loop.call_later(MEMORY_RETRY, self._look_again)

    def _look_again(self) -> None:
        self._retry = None
        self._step_soon()

    def _idle(self, key: str) -> Plane:
        return next(plane for plane in (*self._ready, *self._booting) if plane.lease.key == key)

    # Planes

    def _boot(self, key: str) -> None:
        try:
            plane = start(self.binary, self.root, self._needs[key], env=self._env)
        except BenchError as error:
            self._boot_failed(key, error)
            return
        assert plane.stdout_fd is not None
        self._booting[plane] = self._loop.call_later(self._timeout, self._too_late, plane)
        self._loop.add_reader(plane.stdout_fd, self._says, plane, plane.stdout_fd)
        self._loop.add_reader(plane.pidfd, self._ended, plane)

    def _says(self, plane: Plane, fd: int) -> None:
        try:
            if plane.on_readable() is None:
                return
        except (BenchError, OSError) as error:
            self._kill(plane)
            failure = error if isinstance(error, BenchError) else TransientError(f"cannot write a lease: {error}")
            self._boot_failed(plane.lease.key, failure)
            return
        self._loop.remove_reader(fd)
        self._booting.pop(plane).cancel()
        self._ready.append(plane)
        self._serve()
        self._step_soon()

    def _too_late(self, plane: Plane) -> None:
        self._kill(plane)
        self._boot_failed(
            plane.lease.key, TransientError(f"control plane not ready after {self._timeout:g} s", delay=1.0)
        )

    def _boot_failed(self, key: str, error: BenchError) -> None:
        """The first who waits for it learns why. If nobody does, none of that kind is booted until somebody asks."""
        if not self._fail(key, error):
            self._failed.add(key)
        self._step_soon()

    def _ended(self, plane: Plane) -> None:
        """A plane's process is gone, whoever ended it."""
        if plane in self._booting:
            assert plane.stdout_fd is not None
            self._says(plane, plane.stdout_fd)  # its last words say why
            if plane in self._booting:
                return  # more to read: called again at once
        self._ready = [other for other in self._ready if other is not plane]
        self._forget(plane)
        if plane not in self._leased and plane not in self._lent:
            remove(plane.folder)
        self._leased.discard(plane)
        self._dying.discard(plane)
        if self._emptied is not None and not self._dying and not self._emptied.done():
            self._emptied.set_result(None)
        self._step_soon()

    def _serve(self) -> None:
        """Give ready planes to those who wait for such, first come first served."""
        for key, future in self._waiting:
            plane = next((plane for plane in self._ready if plane.lease.key == key), None)
            if plane is not None and not future.done():
                self._ready.remove(plane)
                self._lent.add(plane)
                future.set_result(plane)

    def _fail(self, key: str | None, error: BenchError) -> bool:
        """Fail the first who waits for `key`, or (None) all; True if there was one."""
        hit = False
        for wanted, future in self._waiting:
            if not future.done() and key in (None, wanted):
                future.set_exception(error)
                hit = True
                if key is not None:
                    break
        return hit

    def _kill(self, plane: Plane) -> None:
        """Nothing was done in it, so nothing is lost: KILL at once; its folder goes when it has ended."""
        if plane in self._booting:
            self._booting.pop(plane).cancel()
        if plane in self._ready:
            self._ready.remove(plane)
        if plane.stdout_fd is not None:
            self._loop.remove_reader(plane.stdout_fd)
        plane.give_away()
        if plane.pidfd < 0:
            remove(plane.folder)  # it has ended and was reaped while it was lent
            return
        self._dying.add(plane)
        try:
            signal.pidfd_send_signal(plane.pidfd, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def _forget(self, plane: Plane) -> None:
        """Stop watching; reap it if it has ended."""
        if plane.pidfd >= 0:
            self._loop.remove_reader(plane.pidfd)
            plane.reap()
            os.close(plane.pidfd)
            plane.pidfd = -1

    def _key(self, needs: ClusterNeeds) -> str:
        """The key of `needs`, computed once per object: it reads files."""
        known = self._keys.get(id(needs))
        if known is None:
            known = self._keys[id(needs)] = (needs, needs_key(needs))
            self._needs.setdefault(known[1], needs)
        return known[1]
