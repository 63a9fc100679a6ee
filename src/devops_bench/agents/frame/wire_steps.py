"""A trajectory from the gateway's exchanges: the fallback when a CLI's own record cannot be read.

It knows what the model said and asked for. What came back from a tool is the CLI's to tell: here it stays unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from devops_bench.agents.base import AgentTask, CallStatus, Step, ToolCall, Usage
from devops_bench.agents.frame.kinds import kind_of
from devops_bench.agents.frame.types import Cli
from devops_bench.models.exchange import Exchange
from devops_bench.models.wire import Tokens

UNKNOWN_RESULT = "[not recorded]"


def steps_from(exchanges: Sequence[Exchange], cli: Cli, task: AgentTask) -> tuple[Step, ...]:
    """One step for each reply that came whole. A call is taken to last until the model was asked again."""
    steps = []
    for number, one in enumerate(exchanges):
        if one.fault or not (one.text or one.calls):
            continue
        replied = one.time + one.latency
        asked_again = exchanges[number + 1].time if number + 1 < len(exchanges) else replied
        calls = tuple(
            ToolCall(
                name=call.name,
                args=dict(call.args),
                result=UNKNOWN_RESULT,
                status=CallStatus.UNKNOWN,
                kind=kind_of(cli, task, f"{call.namespace}__{call.name}" if call.namespace else call.name),
                started=replied,
                ended=max(replied, asked_again),
                call_id=call.id,
            )
            for call in one.calls
        )
        steps.append(
            Step(
                source="agent",
                message=one.text,
                tool_calls=calls,
                usage=usage_of(one.tokens),
                model=one.served_model or one.model,
                time=replied,
            )
        )
    return tuple(steps)


def usage_of(tokens: Tokens | None) -> Usage | None:
    """The gateway's figures in our shape."""
    if tokens is None:
        return None
    return Usage(
        tokens.input, tokens.output, tokens.cached, tokens.cache_write, tokens.reasoning, tokens.input + tokens.output
    )


def total_usage(exchanges: Iterable[Exchange]) -> Usage | None:
    """All tokens of a run; None when no reply told any."""
    total: Usage | None = None
    for one in exchanges:
        part = usage_of(one.tokens)
        if part is not None:
            total = part if total is None else total.plus(part)
    return total


def total_cost(exchanges: Sequence[Exchange]) -> float | None:
    """USD of a run; None when a reply's price is not known."""
    costs = [one.cost_usd for one in exchanges if one.tokens is not None]
    return sum(cost for cost in costs if cost is not None) if costs and None not in costs else None


def served(exchanges: Iterable[Exchange]) -> tuple[str, ...]:
    """The models that answered, in order of their first reply."""
    return tuple(dict.fromkeys(one.served_model for one in exchanges if one.served_model))
