"""What the agent had and did, from evidence of its run rather than from the plan: for environment.json, attempt.json
and the agreement check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from devops_bench.agents.base import Agent, AgentRun, EndReason, Grants, ModelEndpoint
from devops_bench.agents.frame.ends import Facts, settle
from devops_bench.agents.frame.run import CliAgent
from devops_bench.agents.frame.types import Reading
from devops_bench.agents.frame.wire_steps import served
from devops_bench.combo import mcp_door, model_door
from devops_bench.combo.grants import strays
from devops_bench.errors import BenchError
from devops_bench.gateway.mcp import SERVER, McpGateway
from devops_bench.gateway.model import ModelGateway
from devops_bench.integrity.agreement import Told, Witnesses, asked_calls
from devops_bench.models.exchange import AskedCall, Exchange
from devops_bench.models.providers import is_scripted
from devops_bench.results.environment import hash_text
from devops_bench.sandbox import Sandbox

RULES = "AGENT_RULES_TEXT"


@dataclass(frozen=True, slots=True)
class Had:
    """Everything that stood behind one turn."""

    agent: Agent
    endpoint: ModelEndpoint | None
    auth_mode: str
    box: Sandbox
    grants: Grants
    skills: tuple[str, ...]
    model: ModelGateway | None
    mcp: McpGateway | None
    guard: Sequence[Mapping[str, Any]]


def with_gateway(run: AgentRun, agent: Agent, model: ModelGateway | None) -> AgentRun:
    """The run with the gateway's figures where they are whole: they mean the same for every CLI and provider."""
    if model is None:
        return run
    exchanges = model.exchanges()
    if not isinstance(agent, CliAgent):
        run = _settled(run, exchanges)
    usage = model_door.usage_of(exchanges) or run.usage
    cost = model_door.cost_of(exchanges)
    if cost is None and not is_scripted(model.model):
        cost = run.cost_usd
    return replace(run, usage=usage, cost_usd=cost, served_models=served(exchanges) or run.served_models)


def _settled(run: AgentRun, exchanges: Sequence[Exchange]) -> AgentRun:
    """The end of a run without a CLI's frame, in the same words: what the gateway saw bears out what the agent says."""
    reading = Reading(end=run.end, raw_end=run.raw_end, output=run.output)
    end = settle(reading, Facts(exit=0, steps=len(run.steps), exchanges=exchanges))
    errors = (end.error, *run.errors) if end.error and end.reason is not run.end else run.errors or (end.error,)
    return replace(run, end=end.reason, raw_end=end.raw, errors=tuple(error for error in errors if error))


def environment(run: AgentRun, had: Had, env: Mapping[str, str]) -> dict[str, Any]:
    """The turn's part of environment.json, and what the combo itself needs of it (`mcp`, `mcp_calls`, `skills`)."""
    info = had.box.info()
    return {
        "auth_mode": had.auth_mode,
        "sandbox": info,
        "network": info["network"],
        "agent": {
            "name": had.agent.key,
            "version": run.version,
            **_installed(had.agent, env),
            **had.box.taken(),
        },
        "model_gateway": _model(had),
        "mcp_server": mcp_door.figures(had.mcp) if had.mcp is not None else {},
        "mcp": had.grants.mcp is not None,
        "mcp_calls": had.mcp.count if had.mcp is not None else 0,
        "skills": list(had.skills),
        "skills_used": list(run.skills_used),
        "skills_paths": had.grants.skills_paths,
        "guard": list(had.guard),
        # They change what the agent is told, and no setup's name holds them. Without a model nobody reads them.
        "rules_hash": hash_text(env.get(RULES, "").strip()) if had.agent.wires else None,
    }


def told_calls(run: AgentRun) -> list[Told]:
    """The transcript's calls as the agreement check takes them."""
    return [Told(call.name, call.args, call.status.value, call.kind.value, call.call_id) for call in run.tool_calls]


def witnesses(run: AgentRun, had: Had, ended: float) -> Witnesses:
    """What others saw of this run; the audit log is added once the cluster is gone."""
    settled = run.end in {EndReason.COMPLETED, EndReason.REFUSED, EndReason.EMPTY}
    # Without a tool's name it was no call that the gateway could read, and none that a transcript would tell.
    seen = [call.tool for call in had.mcp.calls() if call.tool] if had.mcp is not None else None
    asked: list[AskedCall] | None = None
    maybe: list[AskedCall] = []
    refused: list[str] = []
    if had.model is not None:
        asked, maybe = asked_calls(had.model.exchanges(), settled=settled)
        refused = [one.error for one in strays(had.model.exchanges())]
    return Witnesses(asked=asked, maybe=maybe, mcp=seen, refused=refused, server=SERVER, ended=ended, settled=settled)


def _model(had: Had) -> dict[str, Any]:
    if had.model is None or had.endpoint is None:
        return {}
    return model_door.figures(had.model, had.endpoint.provider)


def _installed(agent: Agent, env: Mapping[str, str]) -> dict[str, Any]:
    """Where a CLI came from: `target`, `pinned` or `path`; our own agents come with the program."""
    if not isinstance(agent, CliAgent):
        return {"source": "built in"}
    try:
        found = agent.installed(env)
    except BenchError:
        return {}
    return {"source": found.source} if found is not None else {}
