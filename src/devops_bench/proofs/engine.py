"""Proves tasks side by side and puts each task's cases together into one report.

Lanes (threads) take task after task; the cases of a task share a cluster that is taken back to the end of its setup. A
case waits most of its time (for a rollout, for rest), so there are more lanes than cores.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from queue import SimpleQueue

import psutil

from devops_bench import settings
from devops_bench._version import __version__
from devops_bench.clusters.none import NoCluster
from devops_bench.errors import BenchError
from devops_bench.proofs.cases import Case, Kind, load_cases
from devops_bench.proofs.judge import Outcome, coverage, findings
from devops_bench.proofs.lab import Lab
from devops_bench.proofs.ladder import SCORES, proved_scores
from devops_bench.proofs.roster import Roster
from devops_bench.proofs.statics import static_problems
from devops_bench.sandbox import SandboxMode
from devops_bench.tasks.catalogue import FoundTask
from devops_bench.tasks.fingerprint import content_hash
from devops_bench.tasks.loader import load_task
from devops_bench.tasks.proved import ProofRecord, write_record
from devops_bench.tasks.spec import TaskSpec

SERVED = ("none", "kwok")
LANES = 4
LANE_MEMORY = 2  # times that of a plane that is used once: less is collected


class TaskState(StrEnum):
    """What the proofs say of a task."""

    PROVED = "proved"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CaseReport:
    """One case and the promises that it broke."""

    outcome: Outcome
    findings: tuple[str, ...]


@dataclass(slots=True)
class TaskReport:
    """All that was found about a task.

    `static` are findings without a cluster; `alone` maps an entry to a case that it alone caught.
    """

    key: str
    found: FoundTask
    hash: str = ""
    cases: list[CaseReport] = field(default_factory=list)
    static: list[str] = field(default_factory=list)
    uncovered: list[str] = field(default_factory=list)
    alone: dict[str, str] = field(default_factory=dict)
    skipped: str = ""

    @property
    def state(self) -> TaskState:
        """Proved only if nothing at all was found."""
        if self.skipped:
            return TaskState.SKIPPED
        bad = self.static or self.uncovered or any(case.findings for case in self.cases)
        return TaskState.FAILED if bad else TaskState.PROVED

    def lines(self) -> list[str]:
        """One line per finding."""
        return [
            *(f"{self.key}: {text}" for text in self.static),
            *(f"{self.key}: {case.outcome.case.kind} {case.outcome.case.name}: {text}"
              for case in self.cases for text in case.findings),
            *(f"{self.key}: {text}" for text in self.uncovered),
        ]  # fmt: skip


Progress = Callable[[str, CaseReport, float], None]
"""Called with the task's key, a finished case and its seconds."""


def default_jobs() -> int:
    """LANES for each core, within the free memory."""
    cores = len(os.sched_getaffinity(0))
    room = psutil.virtual_memory().available - settings.TABLE["memory_reserve"].value
    return max(1, min(cores * LANES, int(room // (LANE_MEMORY * settings.TABLE["plane_memory"].value))))


def prove(
    tasks: Sequence[FoundTask],
    mode: SandboxMode,
    *,
    jobs: int | None = None,
    only: Callable[[Case], bool] = lambda _case: True,
    progress: Progress = lambda _key, _case, _seconds: None,
    complete: Callable[[TaskReport], None] = lambda _report: None,
    seed: int | None = None,
    fresh: bool = False,
    env: Mapping[str, str] = os.environ,
) -> list[TaskReport]:
    """Run all cases for which `only` holds, and the static proofs. Reports are in the order of `tasks`.

    `complete` hears of each task when its last case has ended. Tasks with the most cases begin first; with a `seed`,
    tasks, and the cases of each, go in the order that it gives. `fresh`: every case on a cluster of its own; then a
    seed mixes the cases of all tasks.
    """
    reports = [TaskReport(found.key, found) for found in tasks]
    planned = [(report, task, case) for report in reports for task, case in _prepare(report, only)]
    left = Counter(report.key for report, _, _ in planned)
    if seed is None:
        # What takes longest first, and at the end what any lane can take over at no cost: else one lane is busy alone.
        planned.sort(key=lambda item: (item[1].provider == NoCluster.name, -left[item[0].key]))
    else:
        random.Random(seed).shuffle(planned)  # noqa: S311 - an order, not a secret
    named = {report.key: (report, task) for report, task, _ in planned}
    # Cases of one group share a cluster.
    roster = Roster(((report.key, place if fresh else 0), case) for place, (report, _, case) in enumerate(planned))
    heard: SimpleQueue[tuple[str, Outcome, float] | None] = SimpleQueue()

    def lane() -> None:
        try:
            while (group := roster.join()) is not None:
                key = group[0]
                with Lab(named[key][1], mode, env, again=not fresh) as lab:
                    while (case := roster.take(group)) is not None:
                        started = time.monotonic()
                        heard.put((key, lab.run(case), time.monotonic() - started))
        finally:
            heard.put(None)

    with ThreadPoolExecutor(lanes := jobs or default_jobs(), thread_name_prefix="proof") as pool:
        running = [pool.submit(lane) for _ in range(lanes)]
        try:
            for report in reports:
                if not left[report.key]:
                    complete(_concluded(report))
            while lanes:
                if (found := heard.get()) is None:
                    lanes -= 1
                    continue
                key, outcome, seconds = found
                report, task = named[key]
                case_report = CaseReport(outcome, tuple(findings(outcome, task.verification_spec)))
                report.cases.append(case_report)
                progress(key, case_report, seconds)
                left[key] -= 1
                if not left[key]:
                    complete(_concluded(report))
        except BaseException:
            roster.drop()
            raise
    for future in running:
        future.result()
    return reports


def _prepare(report: TaskReport, only: Callable[[Case], bool]) -> list[tuple[TaskSpec, Case]]:
    try:
        task = load_task(report.found.file, key=report.key)
        report.hash = content_hash(report.found.folder)
    except BenchError as error:
        report.static.append(error.message())
        return []
    if task.provider not in SERVED:
        report.skipped = f"needs a cluster of provider {task.provider}"
        return []
    cases, problems = load_cases(task)
    report.static += problems + static_problems(task)
    if task.parse_failures:
        return []  # an entry that cannot be read has no verdict to prove
    return [(task, case) for case in cases if only(case)]


def _concluded(report: TaskReport) -> TaskReport:
    """What only all cases together show: whether every check is needed, and whether the files stayed the same."""
    order = {kind: place for place, kind in enumerate(Kind)}
    report.cases.sort(key=lambda case: (order[case.outcome.case.kind], case.outcome.case.name))
    if report.skipped or not report.hash:
        return report
    ran = {case.outcome.case.kind for case in report.cases}
    if {Kind.WRONG, Kind.MINUS} <= ran:
        task = load_task(report.found.file, key=report.key)
        report.alone, report.uncovered = coverage([case.outcome for case in report.cases], task.verification_spec)
    if content_hash(report.found.folder) != report.hash:
        report.static.append("its files changed while it was proved; run it again")
    return report


def store(report: TaskReport, at: str) -> None:
    """Write the record beside task.yaml. `at` is UTC ISO-8601. OSError when the folder cannot be written."""
    counts: dict[str, int] = {}
    for case in report.cases:
        counts[case.outcome.case.kind.value] = counts.get(case.outcome.case.kind.value, 0) + 1
    task = load_task(report.found.file, key=report.key)
    scores = proved_scores(task, [case.outcome for case in report.cases]) if not task.parse_failures else {}
    proofs = {"cases": counts, "caught_alone_by": dict(sorted(report.alone.items())), SCORES: scores}
    record = ProofRecord(report.hash, report.state is TaskState.PROVED, at, __version__, proofs)
    write_record(report.found.folder, record)
