"""A combo that has not begun does not pay for the death of the fork server, and what a dead one left never begins."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from devops_bench.combo.token import take_token
from devops_bench.supervisor import forks as fork_server
from devops_bench.supervisor import starting
from devops_bench.supervisor.forks import ForkServer, ForkServerGone
from devops_bench.supervisor.journal import Journal
from devops_bench.supervisor.starting import FORK_TRIES, Starting
from devops_bench.supervisor.state import RunState

RID = "a__none__scripted"


class Forks:
    """A fork server that dies `deaths` times. Each time it leaves a child at its gate, and says nothing of it."""

    def __init__(self, deaths: int) -> None:
        self.deaths = deaths
        self.children: list[subprocess.Popen[bytes]] = []

    async def fork(self, request: dict[str, Any], fds: dict[str, int]) -> int:
        script = "import os, sys; sys.exit(7 if os.read(int(sys.argv[1]), 1) == b'g' else 0)"
        gate = fds["gate"]
        self.children.append(subprocess.Popen([sys.executable, "-c", script, str(gate)], pass_fds=[gate]))
        if len(self.children) <= self.deaths:
            raise ForkServerGone("the fork server died")
        return self.children[-1].pid


class Core:
    """What `Starting` needs of a supervisor, with a journal and a state."""

    def __init__(self, root: Path, deaths: int) -> None:
        self.run_dir, self.state_root = root / "run", root / "state"
        self.run_dir.mkdir()
        self.state_root.mkdir()
        self._journal = Journal(self.run_dir)
        self.state = RunState()
        self.forks = Forks(deaths)
        self.combos = {RID: SimpleNamespace(token="c0ffee1", cluster_name="c0ffee1-eval")}
        self.planes = SimpleNamespace(acquire=self._no_plane)
        self.schedule = SimpleNamespace(released=lambda rid: self.log.append("released"))
        self.limits = None
        self.log: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.record("launched", rids=[RID])

    async def _no_plane(self, rid: str) -> None:
        return None

    def record(self, event: str, **fields: Any) -> None:
        self.state.apply(self._journal.append(event, **fields))
        self.log.append(event)

    def watch(self, *_: Any) -> None:
        self.log.append("watch")

    def wake(self) -> None:
        self.log.append("wake")

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.get_running_loop().create_task(work))

    def conclude(self, rid: str, attempt: int, outcome: Any) -> None:
        self.log.append(f"{outcome.state}: {outcome.reason}")


def start(core: Core) -> None:
    async def go() -> None:
        assert Starting(core).begin(RID)  # type: ignore[arg-type]
        await asyncio.gather(*core.tasks)

    asyncio.run(go())


def test_a_combo_outlives_the_deaths_of_fork_servers_and_only_the_last_child_begins(tmp_path: Path) -> None:
    core = Core(tmp_path, deaths=FORK_TRIES - 1)
    start(core)
    assert core.log == ["launched", "combo_intent", "combo_started", "watch", "wake"]
    assert [child.wait(60) for child in core.forks.children] == [0] * (FORK_TRIES - 1) + [7]
    combo = core.state.combos[RID]
    assert combo.attempt == 1 and combo.worker is not None and combo.worker["pid"] == core.forks.children[-1].pid
    assert len(list((core.run_dir / RID).iterdir())) == 1


def test_where_no_fork_server_lives_the_attempt_ends_and_its_token_is_free(tmp_path: Path) -> None:
    core = Core(tmp_path, deaths=100)
    start(core)
    assert core.log == ["launched", "combo_intent", "invalid: the fork server died", "wake"]
    assert [child.wait(60) for child in core.forks.children] == [0] * FORK_TRIES
    token = take_token("c0ffee1", core.state_root)
    assert token is not None
    os.close(token)


def test_a_fork_server_that_is_killed_under_a_fork_is_told_by_a_name_of_its_own(tmp_path: Path) -> None:
    async def go() -> None:
        forks = ForkServer(asyncio.get_running_loop(), tmp_path)
        forks.start()
        assert forks.pid is not None
        os.kill(forks.pid, signal.SIGSTOP)
        read, write = starting.open_gate()
        asked = asyncio.ensure_future(forks.fork({}, {"gate": read}))
        await asyncio.sleep(0)
        os.kill(forks.pid, signal.SIGKILL)
        try:
            await asyncio.wait_for(asked, 60)
        except ForkServerGone:
            return
        finally:
            os.close(read)
            os.close(write)
            forks.close()
        raise AssertionError("nothing was raised")

    asyncio.run(go())


def served_by(script: str, tmp_path: Path, answer: bool) -> int | None:
    """What a fork is told whose server runs `script` and, with `answer`, speaks when it has done its work."""

    async def go() -> int | None:
        loop = asyncio.get_running_loop()
        forks = ForkServer(loop, tmp_path)
        forks._process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
        said: asyncio.Future[int] = loop.create_future()
        forks._waiting[1] = said
        assert forks._process.stdout is not None
        if answer:
            loop.add_reader(forks._process.stdout, lambda: said.done() or said.set_result(7))
        with forks._process.stdout as pipe:
            try:
                return await asyncio.wait_for(forks._heard(said), 60)
            except ForkServerGone:
                return None
            finally:
                loop.remove_reader(pipe)
                forks.close()

    return asyncio.run(go())


BUSY = "import time\nwhile time.process_time() < 1: pass\nprint(1, flush=True); time.sleep(60)"


def test_a_fork_server_that_works_is_waited_for_and_one_that_does_nothing_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_server, "ANSWER_WAIT", 0.1)
    monkeypatch.setattr(fork_server, "ANSWER_LOOKS", 5)
    assert served_by("import time; time.sleep(60)", tmp_path, answer=False) is None
    monkeypatch.setattr(fork_server, "ANSWER_LOOKS", 50)
    monkeypatch.setattr(fork_server, "WORK_MOST", 0.5)
    assert served_by(BUSY, tmp_path, answer=True) is None, "work without end is no answer either"
    monkeypatch.setattr(fork_server, "WORK_MOST", 60.0)
    assert served_by(BUSY, tmp_path, answer=True) == 7
