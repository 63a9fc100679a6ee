"""What a verification says about one entry, and its form in a record's `verification_report`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from devops_bench.tasks.spec import Entry, Mode, ParseFailure, Role, Severity
from devops_bench.verification.verdict import Status, Verdict, failed


@dataclass(frozen=True, slots=True)
class HoldReport:
    """How a hold entry was observed. Seconds count from the first sample's start."""

    sample_count: int
    error_count: int
    first_violation_reason: str | None
    first_violation_at_sec: float | None
    observed_window_sec: float

    def as_report(self) -> dict[str, Any]:
        """The `hold_*` keys."""
        return {
            "hold_sample_count": self.sample_count,
            "hold_error_count": self.error_count,
            "hold_first_violation_reason": self.first_violation_reason,
            "hold_first_violation_at_sec": self.first_violation_at_sec,
            "hold_observed_window_sec": self.observed_window_sec,
        }


@dataclass(frozen=True, slots=True)
class EntryResult:
    """One entry's verdict. `elapsed` is seconds from the start of its evaluation until it was settled."""

    name: str
    role: Role
    severity: Severity | None
    mode: Mode
    weight: float
    verdict: Verdict
    elapsed: float = 0.0
    title: str | None = None
    description: str | None = None
    group: str | None = None
    failure_hint: str | None = None
    hold: HoldReport | None = None
    unparsed: bool = False

    @classmethod
    def of(cls, entry: Entry, verdict: Verdict, elapsed: float = 0.0, hold: HoldReport | None = None) -> EntryResult:
        """The result of an entry that was evaluated."""
        return cls(
            name=entry.name,
            role=entry.role,
            severity=entry.effective_severity,
            mode=entry.effective_mode,
            weight=entry.weight,
            verdict=verdict,
            elapsed=round(elapsed, 3),
            title=entry.title,
            description=entry.description,
            group=entry.group,
            failure_hint=entry.failure_hint,
            hold=hold,
        )

    @classmethod
    def unreadable(cls, failure: ParseFailure) -> EntryResult:
        """An entry that could not be read: an unmet objective of weight 1."""
        return cls(
            name=failure.name,
            role=Role.OBJECTIVE,
            severity=None,
            mode=Mode.CONVERGE,
            weight=1.0,
            verdict=failed(f"the entry could not be read: {failure.reason}"),
            unparsed=True,
        )

    @property
    def status(self) -> Status:
        """Pass, fail or error."""
        return self.verdict.status

    def as_report(self) -> dict[str, Any]:
        """One item of `verification_report`."""
        item: dict[str, Any] = {
            "name": self.name,
            "role": self.role.value,
            "severity": self.severity.value if self.severity else None,
            "weight": self.weight,
            "mode": self.mode.value,
            "success": self.status is Status.PASS,
            "status": self.status.value,
            "reason": self.verdict.reason,
            "elapsed_time": self.elapsed,
            "children": [child.as_report() for child in self.verdict.children],
            "title": self.title,
            "description": self.description,
            "group": self.group,
            "failure_hint": self.failure_hint,
        }
        if self.hold is not None:
            item |= self.hold.as_report()
        return item
