"""Control planes for the combos of a run: the binary (built on first need) and the warm pool.

While the binary is being built, combos that need it are `unavailable` and the others run. Nothing heavy is imported
when no combo needs a plane.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devops_bench.errors import BenchError
from devops_bench.matrix.plan import Combo

if TYPE_CHECKING:
    from devops_bench.clusters.plane import Plane
    from devops_bench.clusters.pool import Pool
    from devops_bench.tasks.spec import ClusterNeeds

PROVIDER = "kwok"
LOOK_AHEAD = 8  # combos; the pool holds fewer planes, and each look costs their needs
REPORT_STEP = 25  # packages between two journalled figures of a build


class Planes:
    """Hands out ready control planes. `record` journals, `wake` makes the supervisor look again."""

    def __init__(
        self,
        combos: Mapping[str, Combo],
        env: Mapping[str, str],
        loop: asyncio.AbstractEventLoop,
        record: Callable[..., None],
        wake: Callable[[], None],
    ) -> None:
        self._combos = combos
        self._env = env
        self._loop = loop
        self._record = record
        self._wake = wake
        self._wanting = frozenset(rid for rid, combo in combos.items() if combo.provider == PROVIDER)
        self._needs: dict[str, ClusterNeeds] = {}
        self._pool: Pool | None = None
        self._builder: subprocess.Popen[bytes] | None = None
        self._heard = b""
        self._reported = 0
        self.failure: str | None = None
        self._closed = False

    def unavailable(self) -> frozenset[str]:
        """Cluster providers whose combos cannot start: nothing is built (yet, or, with `failure`, at all)."""
        return frozenset({PROVIDER}) if self._pool is None and self._wanting else frozenset()

    def look_ahead(self, planned: Iterable[str]) -> None:
        """Prepare for combos that will start next: find or build the binary, keep the pool warm."""
        coming = list(islice((rid for rid in planned if rid in self._wanting), LOOK_AHEAD))
        if self._closed or self.failure is not None:
            return
        if coming and self._pool is None and self._builder is None:
            self._find_binary()
        if self._pool is not None:
            self._pool.expect([needs for rid in coming if (needs := self._readable(rid)) is not None])

    async def acquire(self, rid: str) -> Plane | None:
        """A ready plane for `rid`, or None when it needs none. Raises TransientError or TaskError."""
        if rid not in self._wanting:
            return None
        assert self._pool is not None
        return await self._pool.acquire(self._needs_of(rid))

    def handed_over(self, plane: Plane) -> None:
        """The combo has the plane's write end now: close ours; the pool only reaps it at its end."""
        assert self._pool is not None
        self._pool.hand_over(plane)

    def give_back(self, plane: Plane) -> None:
        """A plane that was acquired for a combo which did not start: planes are used once, so it ends."""
        assert self._pool is not None
        self._pool.discard(plane)

    def _readable(self, rid: str) -> ClusterNeeds | None:
        """The needs of a combo that may come; None when its task cannot be read, which `acquire` will say."""
        try:
            return self._needs_of(rid)
        except BenchError:
            return None

    def _needs_of(self, rid: str) -> ClusterNeeds:
        file = self._combos[rid].task_file
        if file not in self._needs:
            from devops_bench.clusters.needs import absolute
            from devops_bench.tasks.loader import load_task

            task = load_task(Path(file))
            self._needs[file] = absolute(task.cluster, task.folder)
        return self._needs[file]

    def _find_binary(self) -> None:
        from devops_bench.clusters import binary

        try:
            found = binary.find(self._env)
        except BenchError as error:
            self._fail(error.message())
            return
        if found is not None:
            self._open_pool(found)
            return
        self._record("control_plane_build", done=0, total=0)
        self._builder = subprocess.Popen(
            [sys.executable, "-m", "devops_bench.supervisor.builder"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=dict(self._env),
        )
        assert self._builder.stdout is not None
        self._loop.add_reader(self._builder.stdout, self._builder_says)

    def _builder_says(self) -> None:
        assert self._builder is not None and self._builder.stdout is not None
        chunk = self._builder.stdout.read1(65536)  # type: ignore[attr-defined]
        self._heard += chunk
        *lines, self._heard = self._heard.split(b"\n")
        for line in lines:
            self._builder_line(json.loads(line))
        if not chunk:
            self._end_builder()
            if self._pool is None and self.failure is None:
                self._fail("the build of the control plane ended without a result; try `devops-bench clusters install`")
        self._wake()

    def _builder_line(self, said: dict[str, Any]) -> None:
        if "path" in said:
            self._record("control_plane_build", done=0, total=0, path=said["path"])
            self._open_pool(Path(said["path"]))
        elif "error" in said:
            self._fail(str(said["error"]))
        elif said["total"] and (said["done"] - self._reported >= REPORT_STEP or said["done"] == said["total"]):
            self._reported = said["done"]
            self._record("control_plane_build", done=said["done"], total=said["total"])

    def _fail(self, reason: str) -> None:
        self.failure = reason
        self._loop.call_soon(self._wake)

    def _open_pool(self, path: Path) -> None:
        from devops_bench.clusters.pool import Pool

        self._pool = Pool(path, self._env, loop=self._loop)

    def _end_builder(self) -> None:
        if self._builder is not None and self._builder.stdout is not None:
            self._loop.remove_reader(self._builder.stdout)
            self._builder.stdout.close()
            self._builder.terminate()
            self._builder.wait()
            self._builder = None

    def give_up(self) -> None:
        """Stop preparing: the run is being stopped."""
        self._closed = True
        self._end_builder()
        if self._pool is not None:
            self._pool.expect([])

    async def close(self) -> None:
        """End the builder and every plane that no combo has."""
        self.give_up()
        if self._pool is not None:
            await self._pool.close()
            self._pool = None
