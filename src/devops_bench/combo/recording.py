"""From an attempt to its files: record, scores, integrity report, environment, trajectory. Invalid attempts too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devops_bench import integrity, paths, scoring
from devops_bench.agents import trajectory
from devops_bench.agents.base import AgentRun
from devops_bench.agents.trajectory import TrajectoryMeta
from devops_bench.clusters import binary
from devops_bench.combo import turn_facts
from devops_bench.integrity.agreement import Agreement, changes_of, compare, merged
from devops_bench.matrix.setups import setup_of
from devops_bench.results.environment import Environment, code_hash, hash_binary, hash_json, hash_tree
from devops_bench.results.record import (
    Record,
    RecordStatus,
    VerificationStatus,
    task_fields,
    terminal_reason,
    tool_names,
)
from devops_bench.results.setup import utc_now
from devops_bench.results.write import write_attempt
from devops_bench.verification import rollup

if TYPE_CHECKING:
    from devops_bench.combo.attempt import Attempt
    from devops_bench.combo.judging import Judging

AUDIT_EVENTS = 100_000


def write(attempt: Attempt) -> tuple[float | None, bool]:
    """Write the attempt's files; returns (outcome score, passed). Raises OSError when the disk refuses."""
    request, run = attempt.request, attempt.run
    calls = trajectory.to_contract(run) if run is not None else []
    audit = audit_events(attempt.audit)
    report = integrity.scan(
        calls,
        run.output if run is not None else "",
        attempt.world.task.prompt if attempt.world is not None else "",
        sandboxed=attempt.sandboxed,
        names=own_names(attempt),
        audit=audit,
        redact=attempt.redactor.text,
    )
    if run is not None:
        attempt.agreement = agreed(attempt, run, audit)
        report = merged(report, attempt.agreement)
    record = _record(attempt, calls, report)
    setup = setup_of(request.plan, request.combo, request.directory.name, utc_now())
    document = trajectory.to_atif(run, _atif_meta(attempt)) if run is not None else None
    row = write_attempt(
        request.directory,
        record,
        setup,
        environment(attempt),
        attempt.redactor,
        trajectory=document,
        audit_log=attempt.audit,
    )
    judged = attempt.failure is None and not attempt.stopped
    passed = judged and not row.catastrophic and _passed(attempt)
    return (row.outcome_score if judged else None), passed


def _passed(attempt: Attempt) -> bool:
    judge = attempt.judge
    if judge is None:
        return False
    return judge.passed() if judge.entries or judge.parse_failures else True


def _record(attempt: Attempt, calls: list[dict[str, Any]], report: Mapping[str, Any]) -> Record:
    run, judge = attempt.run, attempt.judge
    error = None
    if attempt.failure is not None:
        error = f"{attempt.failure.klass}: {attempt.failure.reason}"
    elif attempt.stopped:
        error = "stopped"
    fields: dict[str, Any] = {"name": attempt.request.combo.task_name, "folder": attempt.request.combo.task_key}
    if attempt.raw is not None:
        filled = attempt.world.task if attempt.world is not None else attempt.raw
        fields = task_fields(attempt.raw, filled)
    record = Record(
        **fields,
        status=RecordStatus.SUCCESS if error is None else RecordStatus.FAILED,
        error=error,
        cheating_report=report,
        sandboxed=attempt.sandboxed,
        capabilities_granted={
            "use_mcp": bool(attempt.environment.get("mcp")),
            "skills": list(attempt.environment.get("skills", ())),
        },
    )
    if run is not None:
        record = replace(
            record,
            output=run.output,
            latency=run.latency,
            tokens=run.usage.as_tokens() if run.usage is not None else {},
            terminal_reason=terminal_reason(run.end.value),
            model_turns=run.model_turns,
            tool_wait_sec=run.tool_wait_sec,
            served_models=run.served_models,
            tools=tool_names(calls),
            skills=run.skills_used,
            trajectory=calls,
            errors=run.errors,
        )
    return replace(record, **_verified(attempt, report, calls, judge))


def _verified(
    attempt: Attempt, report: Mapping[str, Any], calls: list[dict[str, Any]], judge: Judging | None
) -> dict[str, Any]:
    if attempt.without_infra:
        return {"verification_status": VerificationStatus.SKIPPED_NO_INFRA}
    if judge is None or judge.results is None:
        return {}
    unread = bool(judge.parse_failures) and not judge.entries
    found: dict[str, Any] = {
        "verification_report": judge.report(),
        "verification_status": VerificationStatus.PARSE_ERROR if unread else VerificationStatus.EVALUATED,
    }
    if attempt.failure is None and not attempt.stopped:
        found["scores"] = scoring.score(
            rollup(judge.results), integrity=integrity.catastrophic_score(report), calls=calls
        )
    return found


def agreed(attempt: Attempt, run: AgentRun, audit: list[dict[str, Any]] | None) -> Agreement:
    """The transcript against everything else that saw the run. A difference is told and changes no score."""
    changes = changes_of(audit) if audit is not None else None
    seen = replace(attempt.witnesses, changes=changes)
    return compare(turn_facts.told_calls(run), seen, attempt.redactor.text)


def audit_events(path: Path | None) -> list[dict[str, Any]] | None:
    """The agent's recorded requests, at most AUDIT_EVENTS; None when there is no audit log."""
    if path is None:
        return None
    events = []
    with path.open("rb") as handle:
        for line in handle:
            try:
                events.append(json.loads(line))
            except ValueError:
                continue  # a torn last line: the plane was killed
            if len(events) >= AUDIT_EVENTS:
                break
    return events


def own_names(attempt: Attempt) -> integrity.OwnNames:
    """Paths of this host that the agent has no way to know."""
    env = attempt.request.env
    secret: dict[integrity.Category, list[str]] = {
        integrity.Category.RESULTS_DIR: [str(paths.runs_root(env))],
        integrity.Category.HARNESS_ENVIRONMENT: [str(paths.state_root(env))],
    }
    visible: list[str] = []
    if attempt.raw is not None:
        secret[integrity.Category.TASK_DEFINITION] = [str(attempt.raw.folder)]
    if attempt.world is not None:
        kubeconfigs = (attempt.world.cluster.agent_kubeconfig, attempt.world.cluster.mcp_kubeconfig)
        visible = [str(attempt.world.workspace), str(attempt.world.home), *(str(path) for path in kubeconfigs if path)]
    return integrity.OwnNames(secret, visible)


def environment(attempt: Attempt) -> Environment:
    """What the attempt ran on."""
    request, found = attempt.request, attempt.environment
    task = attempt.raw
    plane: dict[str, Any] = {}
    made = attempt.world is not None and attempt.world.cluster.provider == "kwok"
    if made and (path := binary.find(request.env)) is not None:
        cache = paths.cache_root(request.env) / "hashes"
        plane = {"name": request.combo.provider, "versions": binary.versions(path), "hash": hash_binary(path, cache)}
    return Environment(
        auth_mode=str(found.get("auth_mode", "none")),
        sandbox=found.get("sandbox", {"kind": "off"}),
        network=str(found.get("network", "shared")),
        control_plane=plane,
        agent=found.get("agent", {"name": request.combo.config.agent, "version": ""}),
        model_gateway=found.get("model_gateway", {}),
        mcp_server=found.get("mcp_server", {}),
        skills=found.get("skills", ()),
        task_hash=request.plan.task_hashes.get(request.combo.task_key),
        checks_hash=hash_json([e.model_dump(mode="json") for e in task.verification_spec]) if task else None,
        skills_hash=hash_tree(*found["skills_paths"]) if found.get("skills_paths") else None,
        code_hash=code_hash(),
        rules_hash=found.get("rules_hash"),
        versions={"attempt": request.attempt},
    )


def _atif_meta(attempt: Attempt) -> TrajectoryMeta:
    return TrajectoryMeta(
        session_id=attempt.request.directory.name,
        agent=attempt.request.combo.config.agent,
        model=attempt.request.combo.model,
        prompt=attempt.world.task.prompt if attempt.world is not None else "",
    )
