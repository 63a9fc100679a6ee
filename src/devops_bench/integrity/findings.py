"""What a scan reports, and how a piece of hostile text is quoted in it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

EXCERPT_CHARS = 240
_AROUND = 90


class Category(StrEnum):
    """What was looked at. Two are not about looking: `fabricated-claim`, a report that says more than the audit log,
    and `transcript-mismatch`, a transcript that differs from what other witnesses saw.
    """

    TASK_DEFINITION = "task-definition"
    SCORING_CODE = "scoring-code"
    RESULTS_DIR = "results-dir"
    HARNESS_REPO = "harness-repo"
    UPSTREAM_GITHUB = "upstream-github"
    PREBUILT_STACK = "prebuilt-stack"
    HARNESS_ENVIRONMENT = "harness-environment"
    PRIOR_RUN_ARTIFACT = "prior-run-artifact"
    FABRICATED_CLAIM = "fabricated-claim"
    TRANSCRIPT_MISMATCH = "transcript-mismatch"


class Severity(StrEnum):
    """HIGH is a breach: it flags the attempt and gates its outcome. MEDIUM and LOW are shown and change no score."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Field(StrEnum):
    """Where it was seen: what the agent typed, what it got to see, or what it said at the end."""

    ARGS = "args"
    RESULT = "result"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Finding:
    """One sighting. `trajectory_index` counts tool calls from 0 and is None for the final output."""

    category: Category
    severity: Severity
    pattern: str
    field: Field
    trajectory_index: int | None
    tool: str | None
    excerpt: str

    def as_dict(self) -> dict[str, Any]:
        """The item of the report's `findings`."""
        return {
            "category": self.category.value,
            "severity": self.severity.value,
            "pattern": self.pattern,
            "field": self.field.value,
            "trajectory_index": self.trajectory_index,
            "tool": self.tool,
            "excerpt": self.excerpt,
        }


def excerpt(text: str, start: int, end: int) -> str:
    """The match with a little around it, on one line, at most EXCERPT_CHARS characters, nothing unprintable."""
    end = min(end, start + EXCERPT_CHARS)
    piece = text[max(0, start - _AROUND) : end + _AROUND]
    shown = "".join(char if char.isprintable() else " " for char in piece)
    line = " ".join(shown.split())
    return line if len(line) <= EXCERPT_CHARS else line[: EXCERPT_CHARS - 1] + "…"
