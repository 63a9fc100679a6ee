"""The result of the proofs for people (a table and one line per finding) and for programs (plain data)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from devops_bench.plaintext import columns
from devops_bench.proofs.cases import Kind
from devops_bench.proofs.engine import TaskReport
from devops_bench.verification import Status

COLUMNS = {
    Kind.IDLE: "idle",
    Kind.SOLUTION: "solution",
    Kind.MINUS: "minus step",
    Kind.WRONG: "wrong",
    Kind.COPIES: "copies",
}


def lines(reports: Sequence[TaskReport]) -> list[str]:
    """The table: passed/all of each kind of case, then the findings."""
    rows = [["task", *COLUMNS.values(), "alone", "result"]]
    for report in reports:
        cells = [report.key]
        for kind in COLUMNS:
            mine = [case for case in report.cases if case.outcome.case.kind is kind]
            cells.append(f"{sum(not case.findings for case in mine)}/{len(mine)}" if mine else "-")
        entries = len(report.alone) + len(report.uncovered)
        cells.append(f"{len(report.alone)}/{entries}" if entries else "-")
        cells.append(report.state.value + (f" ({report.skipped})" if report.skipped else ""))
        rows.append(cells)
    out = columns(rows)
    problems = [line for report in reports for line in report.lines()]
    return [*out, "", *problems] if problems else out


def data(reports: Sequence[TaskReport]) -> list[dict[str, Any]]:
    """JSON types; seconds by phase for each case."""
    return [
        {
            "task": report.key,
            "file": str(report.found.file),
            "state": report.state.value,
            "content_hash": report.hash,
            "skipped": report.skipped or None,
            "static": report.static,
            "uncovered": report.uncovered,
            "caught_alone_by": report.alone,
            "cases": [
                {
                    "kind": case.outcome.case.kind.value,
                    "name": case.outcome.case.name,
                    "findings": list(case.findings),
                    "failing": sorted(case.outcome.last.having(Status.FAIL)) if case.outcome.last else [],
                    "seconds": dict(case.outcome.seconds),
                }
                for case in report.cases
            ],
        }
        for report in reports
    ]
