"""What a supervisor takes over of a combo's own events: each once, whatever the clock did in between."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from devops_bench.process import ProcessIdentity, identity
from devops_bench.supervisor.inotify import Watches
from devops_bench.supervisor.journal import Journal
from devops_bench.supervisor.state import RunState, fold
from devops_bench.supervisor.worker import Limits, Worker

RID = "a__none__scripted"
LIMITS = Limits(wall=600.0, stall=600.0, grace=1.0)


@pytest.fixture
def sleeper() -> Iterator[ProcessIdentity]:
    """A process that runs as long as its input is open."""
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as process:
        who = identity(process.pid)
        assert who is not None
        yield who


class Run:
    """A run folder with a journal, its state, and one combo's attempt folder."""

    def __init__(self, root: Path, who: ProcessIdentity) -> None:
        self.folder = root / "20260101_000000-abcd"
        self.directory = self.folder / RID / "run_1"
        self.directory.mkdir(parents=True)
        self.who = who
        self.events = self.directory / "events.jsonl"
        self._journal = Journal(self.folder)
        self.state = RunState()
        self.record("launched", rids=[RID])
        self.record("combo_started", rid=RID, attempt=1, directory=f"{RID}/run_1", worker=who.to_data())

    def record(self, event: str, **fields: Any) -> None:
        self.state.apply(self._journal.append(event, **fields))

    def says(self, time: str, event: str, **fields: Any) -> None:
        """The combo appends an event whose clock shows `time`."""
        with self.events.open("a") as handle:
            handle.write(json.dumps({"time": time, "event": event, **fields}) + "\n")

    def supervise(self, told: list[str] | None = None) -> tuple[float, int]:
        """One supervisor's life: it takes what is there and dies. What the combo has cost so far."""

        async def life() -> tuple[float, int]:
            loop = asyncio.get_running_loop()
            watches = Watches(loop)
            names: list[str] = told if told is not None else []
            worker = Worker(
                RID, self.who, self.directory, loop, watches, self.record,
                lambda _worker: None, lambda _worker, name, _fields: names.append(name),
            )  # fmt: skip
            worker.start(LIMITS, self.state.combos[RID].heard)
            worker.close()
            watches.close()
            return worker.cost, worker.tokens

        return asyncio.run(life())

    def journalled(self, *names: str) -> Sequence[dict[str, Any]]:
        lines = (self.folder / "journal.jsonl").read_text().splitlines()
        return [event for line in lines if (event := json.loads(line))["event"] in names]


@pytest.fixture
def run(tmp_path: Path, sleeper: ProcessIdentity) -> Run:
    return Run(tmp_path, sleeper)


def test_events_after_a_clock_that_was_set_back_are_taken_by_the_next_supervisor(run: Run) -> None:
    run.says("2026-05-05T12:00:00.000Z", "phase", phase="setup")
    run.supervise()
    run.says("2026-05-05T09:00:00.000Z", "phase", phase="agent")
    run.says("2026-05-05T09:00:01.000Z", "guard_blocked", rule="foreign-cluster", tool="gcloud")
    run.supervise()
    assert [event["phase"] for event in run.journalled("phase")] == ["setup", "agent"]
    assert len(run.journalled("guard_blocked")) == 1
    assert run.state.combos[RID].phase == "agent"


def test_events_of_one_moment_are_neither_lost_nor_doubled(run: Run) -> None:
    moment = "2026-05-05T12:00:00.000Z"
    run.says(moment, "phase", phase="setup")
    run.supervise()
    run.says(moment, "phase", phase="agent")
    for _ in range(3):
        run.supervise()
    assert [event["phase"] for event in run.journalled("phase")] == ["setup", "agent"]


def test_what_was_spent_is_counted_anew_but_told_once(run: Run) -> None:
    told: list[str] = []
    run.says("2026-05-05T12:00:00.000Z", "model_request", cost=0.5, tokens=100)
    run.says("2026-05-05T12:00:01.000Z", "rate_limited", retry_after=3)
    assert run.supervise(told) == (0.5, 100) and told == ["model_request", "rate_limited"]
    run.says("2026-05-05T06:00:00.000Z", "model_request", cost=0.25, tokens=50)
    assert run.supervise(told) == (0.75, 150) and told[2:] == ["model_request"]
    assert len(run.journalled("rate_limited")) == 1


def test_a_combo_cannot_say_how_much_of_it_was_heard(run: Run) -> None:
    run.says("2026-05-05T12:00:00.000Z", "phase", phase="setup", heard=10_000, rid="another", seq=7)
    run.says("2026-05-05T12:00:01.000Z", "phase", phase="agent")
    run.supervise()
    assert [(e["phase"], e["heard"], e["rid"]) for e in run.journalled("phase")] == [
        ("setup", 1, RID), ("agent", 2, RID),
    ]  # fmt: skip


def test_another_attempt_starts_from_nothing_and_a_snapshot_keeps_the_count(run: Run) -> None:
    run.says("2026-05-05T12:00:00.000Z", "phase", phase="setup")
    run.supervise()
    assert RunState.from_data(json.loads(json.dumps(run.state.to_data()))).combos[RID].heard == 1
    events = [json.loads(line) for line in (run.folder / "journal.jsonl").read_text().splitlines()]
    assert fold(events).combos[RID].heard == 1
    run.record("combo_started", rid=RID, attempt=2, directory=f"{RID}/run_2", worker=run.who.to_data())
    assert run.state.combos[RID].heard == 0


def test_a_torn_line_is_taken_once_it_is_whole(run: Run) -> None:
    run.says("2026-05-05T12:00:00.000Z", "phase", phase="setup")
    line = json.dumps({"time": "2026-05-05T12:00:01.000Z", "event": "phase", "phase": "agent"}) + "\n"
    with run.events.open("a") as handle:
        handle.write(line[:20])
    run.supervise()
    with run.events.open("a") as handle:
        handle.write(line[20:])
    run.supervise()
    assert [event["phase"] for event in run.journalled("phase")] == ["setup", "agent"]


@pytest.mark.parametrize("ahead", [0.0, 7200.0])
def test_a_silent_combo_ends_also_when_its_log_is_of_a_later_hour(run: Run, ahead: float) -> None:
    log = run.directory.parent / "run.log"
    log.write_text("the last words\n")
    at = time.time() + ahead
    os.utime(log, (at, at))

    async def life() -> Worker:
        loop = asyncio.get_running_loop()
        watches, over = Watches(loop), asyncio.Event()
        worker = Worker(RID, run.who, run.directory, loop, watches, run.record, lambda _worker: over.set())
        worker.start(Limits(wall=600.0, stall=0.2, grace=30.0))
        try:
            await asyncio.wait_for(over.wait(), 60)
        finally:
            worker.close()
            watches.close()
        return worker

    ended = asyncio.run(life()).ended_for
    assert ended is not None and ended.signature == "combo-stalled"
