"""The agent's way to its model: the gateway of this attempt, in front of a provider or a script.

The real key stays in this process. What the agent gets is the gateway's address and a token that dies with the attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from devops_bench import settings
from devops_bench.agents.base import Agent, ModelEndpoint, Usage
from devops_bench.combo.request import Request
from devops_bench.errors import ConfigError
from devops_bench.gateway.model import Caps, Forward, ModelGateway, Patience, Scripted, wire_for
from devops_bench.gateway.model.upstream import Upstream
from devops_bench.models import providers
from devops_bench.models.exchange import Exchange
from devops_bench.models.wire import Conversation
from devops_bench.redact import Redactor

RECORD = "model.jsonl"

Hook = Callable[[Conversation, bytes], str | None]
Later = Callable[[tuple[str, ...]], str | None]
OnEvent = Callable[[str, Mapping[str, Any]], None]


def open_model(
    request: Request,
    agent: Agent,
    *,
    redactor: Redactor,
    on_event: OnEvent,
    first_request: Hook | None,
    later_request: Later | None = None,
    token: str = "",
) -> tuple[ModelGateway, ModelEndpoint, str]:
    """The gateway (serving; the caller closes it), the endpoint for the agent, and how the model is authenticated:
    `scripted`, `vertex` or `api-key`.

    Raises ConfigError when the agent's wire formats do not lead to the model's provider, when its key is missing, or
    when there is no such scenario.
    """
    options, model = request.plan.options, request.combo.model
    told = options.agent_provider
    resolved = providers.resolve(model, told, request.env)
    wire = wire_for(agent.key, agent.wires, resolved, told)
    upstream: Upstream
    if providers.is_scripted(model):
        if options.scenarios_dir is None:
            raise ConfigError("a scripted model needs scenarios", fix="set BENCH_SCENARIOS_DIR or --scenarios-dir")
        upstream, asked, mode = Scripted(Path(options.scenarios_dir), model), model, "scripted"
    else:
        upstream, asked = Forward(resolved, env=request.env), resolved.model
        mode = "vertex" if resolved.provider == "vertex" else "api-key"
    gateway = ModelGateway(
        upstream,
        wire=wire,
        model=asked,
        caps=caps_of(request),
        patience=Patience.of(request.env),
        record=request.directory / RECORD,
        redactor=redactor,
        on_event=on_event,
        first_request=first_request,
        later_request=later_request,
        token=token,
    )
    return gateway, ModelEndpoint(wire, asked, base_url=gateway.base_url(), key=gateway.token), mode


def caps_of(request: Request) -> Caps:
    """Turns as the plan limits them (not every CLI can), tokens and cost as the settings do. Raises ConfigError."""
    tokens = settings.integer("attempt_tokens", request.env)
    cost = settings.value("attempt_cost", request.env)
    return Caps(request.plan.options.agent_max_turns, tokens or None, cost or None)


def usage_of(exchanges: tuple[Exchange, ...]) -> Usage | None:
    """Tokens of all answered requests; None unless every one of them tells: a part would look like the whole."""
    answered = [one for one in exchanges if one.status == 200 and not one.fault]
    if not answered or any(one.tokens is None for one in answered):
        return None
    total: Usage | None = None
    for one in answered:
        assert one.tokens is not None
        own = Usage(
            input=one.tokens.input,
            output=one.tokens.output,
            cached=one.tokens.cached or None,
            cache_write=one.tokens.cache_write or None,
            reasoning=one.tokens.reasoning or None,
            total=one.tokens.total,
        )
        total = own if total is None else total.plus(own)
    return total


def cost_of(exchanges: tuple[Exchange, ...]) -> float | None:
    """USD of all requests that have a price; None when one that was answered has none."""
    answered = [one for one in exchanges if one.tokens is not None or (one.status == 200 and not one.fault)]
    if not answered or any(one.cost_usd is None for one in answered):
        return None
    return sum(one.cost_usd or 0.0 for one in answered)


def figures(gateway: ModelGateway, wire: str) -> dict[str, Any]:
    """What environment.json says of the gateway: requests by what became of them, tokens, cost, waits in seconds."""
    exchanges = gateway.exchanges()
    faults: dict[str, int] = {}
    for one in exchanges:
        if one.fault:
            faults[one.fault] = faults.get(one.fault, 0) + 1
    spent, end, usage = gateway.spent, gateway.end, usage_of(exchanges)
    return {
        "wire": wire,
        "provider": gateway.upstream.provider,
        "requests": spent.turns,
        "other_requests": spent.others,
        "faults": dict(sorted(faults.items())),
        "not_the_cli_s": sum(not one.own for one in exchanges),
        "tokens_estimated": spent.estimated,
        "tokens": usage.as_tokens() if usage is not None else {},
        "cost_usd": cost_of(exchanges),
        "model_sec": round(sum(one.latency for one in exchanges), 3),
        "end": {"kind": end.kind, "status": end.status, "retry_after": end.retry_after} if end is not None else None,
        "record_problem": gateway.recording.problem,
    }
