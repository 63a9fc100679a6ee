"""Collects what an adapter finds in a transcript, event by event, into steps: replies by id, results by call id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from devops_bench.agents.base import AgentTask, CallStatus, Step, ToolCall, ToolKind, Usage
from devops_bench.agents.frame.kinds import kind_of, skill_file
from devops_bench.agents.frame.loose import text
from devops_bench.agents.frame.types import Cli

NO_RESULT = "[no result: the run ended before]"


@dataclass(slots=True)
class _Reply:
    time: float
    model: str
    text: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)


class Transcript:
    """One run as it unfolds. Times are epoch seconds. `usage` maps a reply's id to its tokens.

    An event may come twice (some CLIs rewrite a line): a call is kept once, a later result replaces an earlier one.
    `skills` are those that were used: by a tool for it, or by reading their SKILL.md.
    """

    def __init__(self, cli: Cli, task: AgentTask) -> None:
        self.usage: dict[str, Usage] = {}
        self.skills: list[str] = []
        self._cli = cli
        self._task = task
        self._replies: dict[str, _Reply] = {}
        self._calls: dict[str, ToolCall] = {}
        self._last_call = ""

    def said(self, reply: str, words: str, when: float, model: str = "") -> None:
        """Text of the model, in the reply of that id."""
        if words:
            self._reply(reply, when, model).text.append(words)

    def thought(self, reply: str, words: str, when: float, model: str = "") -> None:
        """Reasoning of the model."""
        if words:
            self._reply(reply, when, model).thoughts.append(words)

    def called(
        self, reply: str, call_id: str, name: str, args: Mapping[str, Any], when: float, model: str = "",
        kind: ToolKind | None = None,
    ) -> None:  # fmt: skip
        """A tool call; its kind is told from its name unless given."""
        if call_id in self._calls:
            return
        kind = kind_of(self._cli, self._task, name) if kind is None else kind
        self._calls[call_id] = ToolCall(
            name, args, NO_RESULT, CallStatus.ERROR, kind, started=when, ended=when, call_id=call_id
        )
        self._reply(reply, when, model).calls.append(call_id)
        names = (text(args.get(key)) for key in ("skill", "name", "command"))
        used = next(filter(None, names), None) if kind is ToolKind.SKILL else skill_file(args)
        self.skills += [used] if used else []

    def returned(self, call_id: str, result: str, when: float, *, failed: bool, blocked: bool = False) -> None:
        """The result of a call as the model saw it; ignored for a call that nobody made.

        `blocked`: the CLI itself refused to run it.
        """
        call = self._calls.get(call_id)
        if call is not None:
            status = CallStatus.BLOCKED if blocked else CallStatus.ERROR if failed else CallStatus.OK
            self._calls[call_id] = replace(call, result=result, status=status, ended=max(when, call.started))
            self._last_call = call_id

    def added(self, words: str) -> None:
        """More that the model saw of the last result, if that was a skill's."""
        call = self._calls.get(self._last_call)
        if call is not None and call.kind is ToolKind.SKILL:
            self._calls[self._last_call] = replace(call, result=f"{call.result}\n{words}")

    def metered(self, reply: str, usage: Usage | None) -> None:
        """The tokens of a reply, as far as they were told."""
        self.usage |= {reply: usage} if usage else {}

    def total(self) -> Usage | None:
        """The tokens of all replies; None when none was told."""
        return reduce(Usage.plus, self.usage.values()) if self.usage else None

    def steps(self) -> tuple[Step, ...]:
        """One step for each reply, in order of their beginning."""
        return tuple(
            Step(
                source="agent",
                message="\n".join(reply.text),
                reasoning="\n".join(reply.thoughts),
                tool_calls=tuple(self._calls[call_id] for call_id in reply.calls),
                usage=self.usage.get(name),
                model=reply.model or None,
                time=reply.time,
            )
            for name, reply in self._replies.items()
        )

    def models(self) -> tuple[str, ...]:
        """The models that replied."""
        return tuple(dict.fromkeys(reply.model for reply in self._replies.values() if reply.model))

    def _reply(self, name: str, when: float, model: str) -> _Reply:
        return self._replies.setdefault(name, _Reply(when, model))
