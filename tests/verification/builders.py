"""Short ways to write entries and results in tests."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from devops_bench.tasks.checks import Check
from devops_bench.tasks.spec import Entry, Role, Severity
from devops_bench.verification import EntryResult, Limits, Status, Verdict

CHECK: TypeAdapter[Check] = TypeAdapter(Check)

LIMITS = Limits(converge=20, total=60, quiescence=1.0, hold_interval=0.2, call=5, once=10)


def check(kind: str, **fields: Any) -> Check:
    """A check of type `kind`, read as a task file's would be."""
    return CHECK.validate_python({"type": kind, **fields}, strict=False)


def entry(
    name: str,
    kind: str,
    /,
    *,
    role: str = "objective",
    severity: str | None = None,
    mode: str | None = None,
    weight: float = 1,
    hold: float | None = None,
    **fields: Any,
) -> Entry:
    """An entry around one check; `hold` is its window in seconds."""
    return Entry.model_validate(
        {
            "name": name,
            "role": role,
            "severity": severity,
            "mode": mode,
            "weight": weight,
            "hold_window_sec": hold,
            "check": {"type": kind, **fields},
        },
        strict=False,
    )


def result(
    name: str, status: Status, *, role: Role = Role.OBJECTIVE, severity: Severity | None = None, weight: float = 1.0
) -> EntryResult:
    """An entry's result with a made-up verdict."""
    base = entry(name, "file", file="x", role=role.value, severity=severity.value if severity else None, weight=weight)
    return EntryResult.of(base, Verdict(status, "said so"))


class FakeSandbox:
    """A callable sandbox that answers by the first argument; records what was run."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.ran: list[tuple[str, ...]] = []

    def __call__(self, argv: Any, seconds: float) -> tuple[int, str, str]:
        self.ran.append(tuple(argv))
        answer = self.answers[argv[0]]
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, BaseException):
            raise answer
        if callable(answer):
            answer = answer(seconds)
        return answer
