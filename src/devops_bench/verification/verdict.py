"""Pass, fail or error, and how verdicts combine. Pure.

Fail means: established, and not so. Error means: could not be established. They are never exchanged; what an agent made
badly (unparsable file, missing repository, refused request) is a fail, what we could not read is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

_LONGEST_REASON = 500


class Status(StrEnum):
    """The three verdicts."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One check's verdict. `reason` is one bounded line; `children` are a group's parts in order."""

    status: Status
    reason: str
    label: str = ""
    children: tuple[Verdict, ...] = field(default=())

    def labelled(self, label: str) -> Verdict:
        """The same verdict under a check's name or type."""
        return Verdict(self.status, self.reason, label, self.children)

    def as_report(self) -> dict[str, Any]:
        """A child of a verification report item."""
        return {
            "name": self.label,
            "success": self.status is Status.PASS,
            "status": self.status.value,
            "reason": self.reason,
            "children": [child.as_report() for child in self.children],
        }


def passed(reason: str) -> Verdict:
    """Established, and so."""
    return Verdict(Status.PASS, tidy(reason))


def failed(reason: str) -> Verdict:
    """Established, and not so."""
    return Verdict(Status.FAIL, tidy(reason))


def errored(reason: str) -> Verdict:
    """Could not be established."""
    return Verdict(Status.ERROR, tidy(reason))


def tidy(reason: str) -> str:
    """One line, bounded, without control characters: reasons quote hostile data."""
    text = " ".join("".join(char if char.isprintable() else " " for char in reason).split())
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 3] + "..."


def _first(verdicts: Sequence[Verdict], status: Status) -> Verdict | None:
    return next((verdict for verdict in verdicts if verdict.status is status), None)


def _ranked(verdicts: Sequence[Verdict], order: tuple[Status, ...]) -> Status:
    present = {verdict.status for verdict in verdicts}
    return next(status for status in order if status in present)


def conjunction(verdicts: Sequence[Verdict]) -> Verdict:
    """All must pass: fail over error over pass. An error beside a fail cannot save it."""
    status = _ranked(verdicts, (Status.FAIL, Status.ERROR, Status.PASS))
    decisive = _first(verdicts, status)
    assert decisive is not None
    count = f"{sum(verdict.status is Status.PASS for verdict in verdicts)} of {len(verdicts)} pass"
    reason = count if status is Status.PASS else f"{count}; {_named(decisive)}"
    return Verdict(status, tidy(reason), children=tuple(verdicts))


def disjunction(verdicts: Sequence[Verdict]) -> Verdict:
    """One must pass: pass over error over fail. A fail beside an error proves nothing."""
    status = _ranked(verdicts, (Status.PASS, Status.ERROR, Status.FAIL))
    decisive = _first(verdicts, status)
    assert decisive is not None
    reason = _named(decisive) if status is not Status.FAIL else f"none of {len(verdicts)} passes; {_named(decisive)}"
    return Verdict(status, tidy(reason), children=tuple(verdicts))


def rejection(verdicts: Sequence[Verdict]) -> Verdict:
    """None may pass: the negation of `disjunction`, so one pass fails it, and an error leaves it open."""
    status = {Status.PASS: Status.FAIL, Status.FAIL: Status.PASS, Status.ERROR: Status.ERROR}[
        disjunction(verdicts).status
    ]
    if status is Status.PASS:
        reason = f"none of {len(verdicts)} passes, as required"
    else:
        decisive = _first(verdicts, Status.PASS if status is Status.FAIL else Status.ERROR)
        assert decisive is not None
        reason = _named(decisive) + (", but must not pass" if status is Status.FAIL else "")
    return Verdict(status, tidy(reason), children=tuple(verdicts))


def _named(verdict: Verdict) -> str:
    return f"{verdict.label}: {verdict.reason}" if verdict.label else verdict.reason
