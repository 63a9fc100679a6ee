"""A run as others read it: the contract's flat list of tool calls, and an ATIF v1.8 document.

ATIF is the Agent Trajectory Interchange Format of the Harbor project (RFC 0001). What it has no field for goes into
`extra`: a call's status, kind and duration, the end reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from devops_bench.agents.base import AgentRun, Step, ToolCall, Usage

SCHEMA_VERSION = "ATIF-v1.8"


@dataclass(frozen=True, slots=True)
class TrajectoryMeta:
    """What the document says beside the run: the attempt's id, the agent's key, the model, the prompt (epoch
    seconds).
    """

    session_id: str
    agent: str
    model: str | None = None
    prompt: str = ""
    started: float | None = None


def to_contract(run: AgentRun) -> list[dict[str, Any]]:
    """The record's `trajectory`: [{name, args, result, status}] in order."""
    return [
        {"name": call.name, "args": dict(call.args), "result": call.result, "status": call.status.value}
        for call in run.tool_calls
    ]


def to_atif(run: AgentRun, meta: TrajectoryMeta) -> dict[str, Any]:
    """An ATIF v1.8 document; never empty: the prompt is its first step."""
    steps = [_plain(1, "user", meta.prompt, meta.started)]
    ids: set[str] = set()
    for step in run.steps:
        steps.append(_step(len(steps) + 1, step, ids))
    return {
        "schema_version": SCHEMA_VERSION,
        "session_id": meta.session_id,
        "agent": _known({"name": meta.agent, "version": run.version or "unknown", "model_name": meta.model}),
        "steps": steps,
        "final_metrics": _known(
            {
                "total_prompt_tokens": run.usage.input if run.usage else None,
                "total_completion_tokens": run.usage.output if run.usage else None,
                "total_cached_tokens": run.usage.cached if run.usage else None,
                "total_cost_usd": run.cost_usd,
                "total_steps": len(steps),
                "extra": _known(
                    {
                        "reasoning_tokens": run.usage.reasoning if run.usage else None,
                        "cache_write_tokens": run.usage.cache_write if run.usage else None,
                        "latency_sec": round(run.latency, 3),
                        "tool_wait_sec": None if run.tool_wait_sec is None else round(run.tool_wait_sec, 3),
                        "model_turns": run.model_turns,
                    }
                ),
            }
        ),
        "extra": _known(
            {
                "end": run.end.value,
                "raw_end": run.raw_end or None,
                "served_models": list(run.served_models) or None,
                "skills_used": list(run.skills_used) or None,
                "errors": list(run.errors) or None,
            }
        ),
    }


def _step(number: int, step: Step, ids: set[str]) -> dict[str, Any]:
    if step.source != "agent":
        return _plain(number, step.source, step.message, step.time)
    calls = [(_unique(call.call_id or f"call_{number}", ids), call) for call in step.tool_calls]
    # ATIF: 0 marks a step no model made; metrics and reasoning must then be absent.
    deterministic = step.usage is None and step.model is None
    return _known(
        {
            **_plain(number, "agent", step.message, step.time),
            "model_name": step.model,
            "reasoning_content": None if deterministic else step.reasoning or None,
            "tool_calls": [
                {
                    "tool_call_id": name,
                    "function_name": call.name,
                    "arguments": dict(call.args),
                    "extra": {"kind": call.kind.value},
                }
                for name, call in calls
            ]
            or None,
            "observation": {"results": [_result(name, call) for name, call in calls]} if calls else None,
            "metrics": None if deterministic or step.usage is None else _metrics(step.usage),
            "llm_call_count": 0 if deterministic else 1,
        }
    )


def _result(name: str, call: ToolCall) -> dict[str, Any]:
    extra = {"status": call.status.value, "seconds": round(max(0.0, call.ended - call.started), 3)}
    return {"source_call_id": name, "content": call.result, "extra": extra}


def _metrics(usage: Usage) -> dict[str, Any]:
    extra = _known({"reasoning_tokens": usage.reasoning, "cache_write_tokens": usage.cache_write})
    return _known(
        {
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "cached_tokens": usage.cached,
            "extra": extra or None,
        }
    )


def _plain(number: int, source: str, message: str, when: float | None) -> dict[str, Any]:
    stamp = None
    if when:
        stamp = datetime.fromtimestamp(when, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return _known({"step_id": number, "timestamp": stamp, "source": source, "message": message})


def _unique(name: str, ids: set[str]) -> str:
    """Call ids must be unique in a document; some providers number them per reply."""
    candidate, number = name, 2
    while candidate in ids:
        candidate, number = f"{name}_{number}", number + 1
    ids.add(candidate)
    return candidate


def _known(pairs: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in pairs.items() if value is not None}
