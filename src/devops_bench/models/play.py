"""What a scripted model answers to a request: a pure function of the scenario and the request's own history.

Nothing is remembered between requests, so retries and concurrent conversations cannot disturb each other. The exception
is asked for: a fault with `times: N` needs to know how often it struck, which `strikes` counts per conversation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass

from devops_bench.models.scenario import Fault, FaultKind, Scenario, Turn, Usage
from devops_bench.models.verbs import fill, make_calls
from devops_bench.models.wire import Conversation, Finish, MadeCall, Reply, Tokens, new_id

UNKNOWN_TASK = "I do not know this task."
NOTHING_MORE = "There is nothing more to do."
NO_TOOLS = "No tools are offered here."
CUT_OFF = "This answer is cut off by the limit on"


@dataclass(frozen=True, slots=True)
class Played:
    """A reply, and how it goes wrong, if it does; `delay` in seconds comes first."""

    reply: Reply
    fault: Fault | None = None
    delay: float = 0.0


def play(scenario: Scenario, said: Conversation, *, now: int, strikes: Callable[[str], int]) -> Played:
    """The answer to `said`. `strikes(key)` counts a fault that is about to strike and returns how often it did before.

    Raises verbs.NoToolError when the request lacks a tool that the turn needs.
    """
    turn = turn_for(scenario, said)
    fault = turn.fault
    if fault is not None and turn.fault_times is not None:
        seed = f"{scenario.name}\0{said.turns}\0{said.prompt}".encode()
        fault = fault if strikes(hashlib.sha256(seed).hexdigest()) < turn.fault_times else None
    if turn.every_call() and not said.tools and fault is None:
        # Agents also ask without tools, for a title or a summary.
        turn = Turn(text=turn.text or NO_TOOLS, usage=turn.usage)
    return Played(_reply(scenario, turn, fault, said, now), fault, turn.delay)


def turn_for(scenario: Scenario, said: Conversation) -> Turn:
    """The turn that comes next in this conversation."""
    section = scenario.section(said.prompt)
    if section is None:
        return Turn(text=UNKNOWN_TASK)
    if said.turns < len(section.turns):
        return section.turns[said.turns]
    return section.turns[-1] if section.repeat_last else Turn(text=NOTHING_MORE)


def _reply(scenario: Scenario, turn: Turn, fault: Fault | None, said: Conversation, now: int) -> Reply:
    text, finish = str(fill(turn.text, said)), Finish.STOP
    calls: tuple[MadeCall, ...] = ()
    kind = fault.kind if fault is not None else None
    if kind is FaultKind.EMPTY:
        text = ""
    elif kind is FaultKind.REFUSAL:
        finish = Finish.REFUSAL
    elif kind is FaultKind.MAX_TOKENS:
        text, finish = text or CUT_OFF, Finish.MAX_TOKENS
    elif kind is not FaultKind.HTTP:
        calls = make_calls(turn.every_call(), said)
        finish = Finish.CALLS if calls else Finish.STOP
    size = len(text) + len(turn.thinking) + sum(len(json.dumps(dict(call.args))) for call in calls)
    thinking = "" if kind is FaultKind.EMPTY else turn.thinking
    tokens = _tokens(turn.usage or Usage(), scenario.usage, said, size, len(thinking))
    return Reply(new_id(""), said.model, text, thinking, calls, tokens, finish, now)


def _tokens(own: Usage, default: Usage, said: Conversation, size: int, thinking: int) -> Tokens:
    """The turn's figures, else the file's, else an estimate of four bytes a token."""

    def figure(name: str, estimate: int) -> int:
        given = getattr(own, name)
        given = getattr(default, name) if given is None else given
        return estimate if given is None else int(given)

    output = figure("output", -(-size // 4))
    return Tokens(
        input=figure("input", said.input_tokens),
        output=output,
        cached=figure("cached", 0),
        cache_write=figure("cache_write", 0),
        reasoning=min(output, figure("reasoning", thinking // 4)),
    )
