"""The flat row of one attempt (rows.json): setup x task x run x iteration, in camelCase, for dashboards and statistics.

Null is not zero: a score or a count that nobody measured is null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from devops_bench.results import scorekeys
from devops_bench.results.jsontext import clean
from devops_bench.results.record import Record, seconds
from devops_bench.results.setup import Setup
from devops_bench.results.tokens import read_tokens

_FAILED_CALL = frozenset({"error", "failed", "blocked"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row. `latency_sec`, `tool_wait_sec` and `timeout_sec` are seconds; scores are in [0, 1] or None."""

    setup_id: str
    model: str
    harness: str
    augmentation: tuple[str, ...]
    run_id: str
    t: str
    task_folder: str
    task_name: str
    iteration: int
    status: str
    outcome_score: float | None
    correctness_score: float | None
    recoverable_safety_score: float | None
    catastrophic: bool
    catastrophic_kinds: tuple[str, ...]
    catastrophic_unresolved: bool
    scoring_version: str
    tool_score: float | None
    latency_sec: float
    tool_wait_sec: float | None
    timeout_sec: float | None
    tool_calls: int | None
    tool_errors: int | None
    model_turns: int | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    cache_write_tokens: int | None
    total_tokens: int | None
    sandboxed: bool | None
    served_model: str
    terminal_reason: str
    task_title: str
    task_summary: str
    task_category: str
    task_tags: tuple[str, ...]
    check_groups: Mapping[str, Mapping[str, str]]
    checks: tuple[Mapping[str, Any], ...]
    validated: bool

    def as_dict(self) -> dict[str, Any]:
        """The JSON object in camelCase."""
        return {camel(item.name): clean(getattr(self, item.name)) for item in fields(self)}


def camel(name: str) -> str:
    """`task_folder` -> `taskFolder`."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def rows_from(record: Record, setup: Setup) -> list[Row]:
    """The rows of one record: exactly one.

    The outcome is null when the run is unscored, when a catastrophic safeguard could not be evaluated (unless another
    one fired, which decides), and when a planned grant was missing: the row would claim a setup that did not exist.
    """
    actual = setup.resolved(record)
    scores = record.scores
    fired = scorekeys.fired(scores)
    unresolved = record.catastrophic_unresolved and not fired
    unscored = record.unscored or bool(setup.missing_grants(record))
    tokens = read_tokens(record.tokens)
    meta = record.task_metadata
    ran = record.agent_ran
    row = Row(
        setup_id=actual.id,
        model=actual.model,
        harness=actual.harness,
        augmentation=tuple(actual.tokens),
        run_id=actual.run_id,
        t=actual.t,
        task_folder=record.folder,
        task_name=record.name,
        iteration=actual.iteration,
        status=str(record.status),
        outcome_score=None if unscored or unresolved else scorekeys.score(scores, scorekeys.OUTCOME),
        correctness_score=None if unscored else scorekeys.first(scores, scorekeys.CORRECTNESS),
        recoverable_safety_score=scorekeys.first(scores, scorekeys.RECOVERABLE),
        catastrophic=bool(fired),
        catastrophic_kinds=tuple(fired),
        catastrophic_unresolved=unresolved,
        scoring_version=scorekeys.outcome_version(scores),
        tool_score=scorekeys.score(scores, scorekeys.TOOL),
        latency_sec=seconds(record.latency),
        tool_wait_sec=scorekeys.number(record.tool_wait_sec),
        timeout_sec=scorekeys.number(actual.timeout_sec),
        tool_calls=len(record.trajectory) if ran else None,
        tool_errors=sum(str(call.get("status")) in _FAILED_CALL for call in record.trajectory) if ran else None,
        model_turns=record.model_turns,
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cached_tokens=tokens.cached,
        reasoning_tokens=tokens.reasoning,
        cache_write_tokens=tokens.cache_write,
        total_tokens=tokens.total,
        sandboxed=record.sandboxed,
        served_model=",".join(dict.fromkeys(record.served_models)),
        terminal_reason=record.terminal_reason,
        task_title=str(meta.get("title") or ""),
        task_summary=str(meta.get("summary") or ""),
        task_category=str(meta.get("category") or ""),
        task_tags=tuple(meta.get("tags") or ()),
        check_groups=meta.get("check_groups") or {},
        checks=_checks(record),
        validated=record.validated,
    )
    return [row]


def _checks(record: Record) -> tuple[Mapping[str, Any], ...]:
    """Each reported entry, then the entries that did not parse: those count as unmet objectives and must be seen."""
    seen = {str(item.get("name")) for item in record.verification_report}
    unparsed = [
        {"name": bad.get("name"), "role": "objective", "weight": 1.0, "status": "error", "reason": bad.get("reason")}
        for bad in record.verification_parse_errors
        if str(bad.get("name")) not in seen
    ]
    return tuple(_check(item) for item in [*record.verification_report, *unparsed])


def _check(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": str(item.get("name") or ""),
        "title": item.get("title"),
        "description": item.get("description"),
        "group": item.get("group"),
        "failureHint": item.get("failure_hint"),
        "role": item.get("role"),
        "severity": item.get("severity"),
        "weight": scorekeys.number(item.get("weight")),
        "mode": item.get("mode"),
        "status": item.get("status"),
        "reason": item.get("reason"),
    }
