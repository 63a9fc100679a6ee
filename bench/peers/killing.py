"""SIGKILL in the middle of a run, then the tool's own resume: what is lost, done twice, left behind.

The witness is not the tool: every combo notes its begin and its end in a file. While it runs it holds a process of a
session of its own, which stands for the container (or cluster) that a real combo has.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from bench.peers import meter
from bench.peers.subjects import WIDTH, Job, Subject

COUNT = 12
SECONDS = 2.0
_PATIENCE = 900.0
_CLOCK = 0.05


class Scope(StrEnum):
    """Whom the kill hits."""

    DRIVER = "driver"
    EVERYTHING = "everything but the stand-ins"
    """As when the out-of-memory killer or a closed login takes the whole family; containers live elsewhere."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of COUNT combos. `begun_again`: were in flight at the kill and had to start over; `done_again`: their
    work had ended before, but was done again. `processes` and `files` (below TMPDIR) are left at
    the end of the resumed run."""

    ended_at_kill: int
    lost: int
    doubled_results: int
    begun_again: int
    done_again: int
    processes: int
    files: int
    resume_exit: int


def kill_and_resume(subject: Subject, scope: Scope, root: Path) -> Outcome:
    """SIGKILL `scope` when a third has ended and others are in flight; resume at once; count."""
    job = Job(root, COUNT, meter.token(), SECONDS)
    subject.prepare(job)
    env = subject.env(job)
    cwd = root / "work" if (root / "work").is_dir() else root
    log = root / "log"
    commands = subject.run(job)
    *before, last = commands[:-1] or commands
    for argv in before:
        meter.measure(argv, env, cwd, log)
    process = meter.start(last, env, cwd, log)
    end = time.monotonic() + _PATIENCE
    while not _in_the_middle(Counter(what for what, _name in _pairs(job))):
        if time.monotonic() > end:
            meter.kill(meter.family(job.mark, stand_ins=True))
            raise TimeoutError(f"{subject.name}: a third of {COUNT} combos did not end in {_PATIENCE:.0f} s, see {log}")
        time.sleep(_CLOCK)
    family = meter.family(job.mark)
    meter.kill(family if scope is Scope.EVERYTHING else subject.drivers(job, process.pid, family))
    done = set(_names(job, "end"))
    used = None
    for _turn in range(4):  # a tool without a driver needs a turn to notice and one to fold
        used = meter.measure(subject.resume(job), env, cwd, log)
        if len(set(_names(job, "end"))) == COUNT:
            break
    assert used is not None
    begins, ends = Counter(_names(job, "begin")), Counter(_names(job, "end"))
    results = subject.finished(job)
    left = meter.family(job.mark, stand_ins=True)
    meter.kill(left)
    meter.settle(job.mark, 5)
    return Outcome(
        ended_at_kill=len(done),
        lost=COUNT - len(results),
        doubled_results=sum(count > 1 for count in results.values()),
        begun_again=sum(count > 1 and name not in done for name, count in begins.items()),
        done_again=sum(ends[name] > 1 for name in done),
        processes=len(left),
        files=sum(len(names) for _folder, _sub, names in os.walk(root / "tmp")) + _folders(root / "tmp"),
        resume_exit=used.exit,
    )


def _in_the_middle(marks: Counter[str]) -> bool:
    """A third has ended, and as many as fit are in flight: the kill is to hit work, not a pause."""
    return marks["end"] >= COUNT // 3 and marks["begin"] - marks["end"] >= WIDTH


def _folders(tmp: Path) -> int:
    return sum(path.is_dir() for path in tmp.iterdir())


def _names(job: Job, what: str) -> list[str]:
    return [name for noted, name in _pairs(job) if noted == what]


def _pairs(job: Job) -> list[tuple[str, str]]:
    if not job.marks.exists():
        return []
    lines = job.marks.read_text().splitlines()
    return [(line.split()[0], line.split()[1]) for line in lines if len(line.split()) == 2]
