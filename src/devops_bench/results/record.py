"""The record of one attempt at one task, as it stands in results.json: the same keys on success and on failure.

The combo starts from `Record(**task_fields(...))` and fills it by `dataclasses.replace`. An invalid attempt is status
`failed` with `error` set and no scores; what class of fault it was is in attempt.json, not here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from devops_bench.results.jsontext import clean, dumps
from devops_bench.results.scorekeys import number
from devops_bench.tasks.proved import is_validated

if TYPE_CHECKING:
    from devops_bench.tasks.spec import TaskSpec


class RecordStatus(StrEnum):
    """Whether the attempt ran to a result. It says nothing about pass or fail."""

    SUCCESS = "success"
    FAILED = "failed"


class VerificationStatus(StrEnum):
    """What became of the checks."""

    EVALUATED = "evaluated"
    SKIPPED_NO_INFRA = "skipped_no_infra"
    NOT_EVALUATED = "not_evaluated"
    PARSE_ERROR = "parse_error"


TERMINAL = {
    "completed": "completed",
    "max_turns": "completed",
    "refused": "completed",
    "self_ended": "completed",
    "timeout": "timeout",
    "api_error": "error",
    "empty": "error",
    "crashed": "error",
}
"""End of the run -> `terminal_reason`. Turns, refusals and killing oneself are the model's doing: scored."""


def terminal_reason(end: str | None) -> str:
    """completed, timeout, error, or empty when the agent never ran."""
    return TERMINAL.get(str(end), "error") if end else ""


def _no_scan() -> dict[str, Any]:
    return {
        "schema_version": 1,
        "detector_version": "",
        "status": "no_data",
        "categories": [],
        "findings": [],
        "scanned": {"trajectory_entries": 0, "output_chars": 0},
    }


def _no_grants() -> dict[str, Any]:
    return {"use_mcp": False, "skills": []}


def _no_metadata() -> dict[str, Any]:
    return {"title": "", "summary": "", "category": "", "tags": [], "check_groups": {}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One attempt. `latency` and `tool_wait_sec` are seconds of the agent alone.

    `trajectory` items are {name, args, result, status}; `tools` are the names of the tools called, each once, in order
    of first use. `sandboxed` None: asked for, but the agent never ran.
    """

    name: str = ""
    folder: str = ""
    input: str = ""
    output: str = ""
    status: RecordStatus = RecordStatus.FAILED
    error: str | None = None
    expected_output: str = ""
    expected_output_raw: str = ""
    latency: float = 0.0
    tokens: Mapping[str, Any] = field(default_factory=dict)
    scores: Mapping[str, Any] = field(default_factory=dict)
    terminal_reason: str = ""
    model_turns: int | None = None
    tool_wait_sec: float | None = None
    served_models: Sequence[str] = ()
    tools: Sequence[str] = ()
    skills: Sequence[str] = ()
    trajectory: Sequence[Mapping[str, Any]] = ()
    errors: Sequence[str] = ()
    capabilities_granted: Mapping[str, Any] = field(default_factory=_no_grants)
    sandboxed: bool | None = None
    verification_status: VerificationStatus = VerificationStatus.NOT_EVALUATED
    verification_spec: Sequence[Mapping[str, Any]] | None = None
    verification_report: Sequence[Mapping[str, Any]] = ()
    verification_parse_errors: Sequence[Mapping[str, str]] = ()
    cheating_report: Mapping[str, Any] = field(default_factory=_no_scan)
    chaos_spec: Any = None
    chaos_report: Mapping[str, Any] = field(default_factory=dict)
    perf_report: Mapping[str, Any] = field(default_factory=dict)
    documentation: Sequence[Mapping[str, Any]] = ()
    retrieval_context: Sequence[str] = ()
    recoverable_safety: Sequence[str] = ()
    task_metadata: Mapping[str, Any] = field(default_factory=_no_metadata)
    generation_only: bool = False
    validated: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The JSON object: every key of the format, finite numbers, plain lists and dicts."""
        data: dict[str, Any] = {item.name: clean(getattr(self, item.name)) for item in fields(self)}
        data["latency"] = seconds(self.latency)
        data["scores"] = {key: value for key, value in data["scores"].items() if value is not None}
        return data

    def to_json(self) -> str:
        """JSON text of the object alone; a results.json holds a list of them."""
        return dumps(self.as_dict())

    @property
    def unscored(self) -> bool:
        """True for an agent error, or errors with an empty trajectory: such a run has no outcome and no correctness."""
        if self.error is not None or self.terminal_reason == "error":
            return True
        return bool(self.errors) and not self.trajectory

    @property
    def agent_ran(self) -> bool:
        """Whether the agent was started at all; only then are its counts known."""
        return bool(self.terminal_reason or self.trajectory) or self.model_turns is not None

    @property
    def catastrophic_unresolved(self) -> bool:
        """A catastrophic safeguard could not be evaluated, so that nobody can say that it held."""
        return any(
            item.get("role") == "safeguard" and item.get("severity") == "catastrophic" and item.get("status") == "error"
            for item in self.verification_report
        )


def task_fields(raw: TaskSpec, filled: TaskSpec) -> dict[str, Any]:
    """What a record says about its task. `raw` still has its placeholders, `filled` is what the agent was given."""
    entries = [entry.model_dump(mode="json", exclude_none=True) for entry in filled.verification_spec]
    return {
        "name": filled.name,
        "folder": filled.key,
        "input": filled.prompt,
        "expected_output": filled.expected_output,
        "expected_output_raw": raw.expected_output,
        "verification_spec": entries or None,
        "verification_parse_errors": [{"name": bad.name, "reason": bad.reason} for bad in filled.parse_failures],
        "chaos_spec": list(filled.chaos_spec) or None,
        "documentation": [doc.model_dump(mode="json", exclude_none=True) for doc in filled.documentation],
        "retrieval_context": list(filled.retrieval_context),
        "recoverable_safety": list(filled.recoverable_safety),
        "task_metadata": {
            "title": filled.title,
            "summary": filled.summary,
            "category": filled.category.value if filled.category else "",
            "tags": list(filled.tags),
            "check_groups": {slug: group.model_dump() for slug, group in filled.check_groups.items()},
        },
        "generation_only": filled.provider == "none",
        "validated": is_validated(filled),
    }


def tool_names(trajectory: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of the tools called, each once, in order of first use."""
    return list(dict.fromkeys(str(call.get("name", "")) for call in trajectory if call.get("name")))


def seconds(value: Any) -> float:
    """A duration in seconds that is a finite number >= 0; anything else is 0.0 (`latency` has no null)."""
    found = number(value)
    return max(found, 0.0) if found is not None else 0.0
