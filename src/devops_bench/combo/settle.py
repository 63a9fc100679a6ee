"""Waiting during setup: for checks that a task lists, or until the controllers have seen what was applied.

Woken by watches, never by a timer alone; the half second below only bounds what a lost watch can cost.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from devops_bench.errors import TaskError
from devops_bench.kube import Deadline, KubeClient
from devops_bench.tasks.checks import Check, CheckBase
from devops_bench.tasks.entries import first_problem
from devops_bench.tasks.semantics import check_problems
from devops_bench.tasks.spec import Entry, TaskSpec
from devops_bench.tasks.yaml_source import parse, read_text
from devops_bench.verification.changes import Changes
from devops_bench.verification.context import Limits, VerifyContext
from devops_bench.verification.evaluate import evaluate
from devops_bench.verification.scope import Scope
from devops_bench.verification.snapshot import Snapshot, kinds_read, wide_kinds
from devops_bench.verification.verdict import Status, Verdict

LOOK_AGAIN = 0.5  # seconds
_OBSERVED = {"Deployment": "deployments.apps", "StatefulSet": "statefulsets.apps", "DaemonSet": "daemonsets.apps"}
_CHECK: TypeAdapter[Check] = TypeAdapter(Check)


def read_waits(file: Path) -> list[tuple[int, Check]]:
    """(line, check) of a wait file. TaskError with file:line."""
    doc = parse(read_text(file), file)
    if not isinstance(doc.data, list):
        raise TaskError("a wait file is a list of checks", where=file, line=doc.line(()))
    found = []
    for index, raw in enumerate(doc.data):
        line = doc.line((index,))
        try:
            check = _CHECK.validate_json(json.dumps(raw))
        except ValidationError as error:
            what = first_problem(error, raw, CheckBase)[1]
            raise TaskError(what, where=file, line=line) from None
        for _, problem in check_problems(check, raw, ()):
            raise TaskError(problem, where=file, line=line)
        found.append((line, check))
    return found


def wait_for(file: Path, kube: KubeClient, task: TaskSpec, deadline: Deadline) -> None:
    """Block until every check of `file` passes. TaskError naming the first that does not by the deadline."""
    pending = read_waits(file)
    context = VerifyContext(kube=kube, limits=Limits.from_env())
    entries = [Entry(name=f"wait-{line}", check=check) for line, check in pending]
    event = threading.Event()
    kinds = sorted(kinds_read(entries, context.namespace))
    with Changes(kube, kinds, deadline, event) as changes:
        changes.ready(deadline)
        while True:
            event.clear()
            snapshot = Snapshot(kube, context.limits.call, wide_kinds(entries, context.namespace))
            verdicts = [(line, check, evaluate(check, Scope(context, snapshot, deadline))) for line, check in pending]
            pending = [(line, check) for line, check, verdict in verdicts if verdict.status is not Status.PASS]
            if not pending:
                return
            if deadline.passed:
                raise _unmet(file, verdicts)
            event.wait(min(LOOK_AGAIN, max(0.0, deadline.remaining())))


def _unmet(file: Path, verdicts: Sequence[tuple[int, Check, Verdict]]) -> TaskError:
    line, _, verdict = next(item for item in verdicts if item[2].status is not Status.PASS)
    return TaskError(f"setup is not there in time: {verdict.label}: {verdict.reason}", where=file, line=line)


@dataclass(frozen=True, slots=True)
class Workload:
    """An applied workload, and where it was read."""

    kind: str
    namespace: str
    name: str
    file: Path
    line: int


def workload(data: dict[str, Any], file: Path, line: int) -> Workload | None:
    """The workload that `data` is; None for objects whose controllers do not report what they have seen."""
    kind = _OBSERVED.get(str(data["kind"]))
    if kind is None:
        return None
    metadata = data["metadata"]
    return Workload(kind, str(metadata.get("namespace") or "default"), str(metadata["name"]), file, line)


def wait_observed(workloads: Sequence[Workload], kube: KubeClient, deadline: Deadline) -> None:
    """Block until the controllers have seen the newest version of each workload. TaskError at the deadline."""
    if not workloads:
        return
    event = threading.Event()
    with Changes(kube, sorted({item.kind for item in workloads}), deadline, event) as changes:
        changes.ready(deadline)
        while True:
            event.clear()
            behind = [item for item in workloads if not _observed(kube, item, deadline)]
            if not behind:
                return
            if deadline.passed:
                first = behind[0]
                what = f"setup: {first.kind} {first.namespace}/{first.name} is not seen by its controller"
                raise TaskError(what, where=first.file, line=first.line)
            event.wait(min(LOOK_AGAIN, max(0.0, deadline.remaining())))


def _observed(kube: KubeClient, item: Workload, deadline: Deadline) -> bool:
    found = kube.get(item.kind, item.name, item.namespace, deadline=deadline)
    seen = int((found.get("status") or {}).get("observedGeneration") or 0)
    return seen >= int(found["metadata"].get("generation") or 0)
