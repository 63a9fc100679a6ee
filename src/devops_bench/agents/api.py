"""The agent `api`: a plain loop of model replies and tool calls, for any endpoint, with no CLI in between.

The model's key stays in this process; the tools run in the sandbox. Whatever happens, what was done so far is kept.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from devops_bench._version import __version__
from devops_bench.agents.base import (
    AgentRun,
    AgentTask,
    CallStatus,
    EndReason,
    Step,
    ToolCall,
    ToolKind,
    Usage,
)
from devops_bench.agents.frame.ends import GRANT_MISSING
from devops_bench.agents.mcp_client import McpClient, McpFailed
from devops_bench.agents.model_client import Conversation, Reply, RequestFailed, Wanted
from devops_bench.agents.offer import offered
from devops_bench.agents.preamble import SKILL_FOLDER, system_prompt
from devops_bench.agents.skills import Skill, find_skills, install
from devops_bench.agents.tools import Toolbox
from devops_bench.errors import ConfigError
from devops_bench.models.prices import cost_usd
from devops_bench.sandbox import Bind

# A reply comes in one piece, so a long thought is silence; beyond this it is a hang of the API.
TURN_TIMEOUT = 300.0


class ApiAgent:
    """The loop. `turn_timeout`: seconds one reply may take."""

    key = "api"
    wires: tuple[str, ...] = ("google", "anthropic", "openai", "openai-responses")

    def __init__(self, turn_timeout: float = TURN_TIMEOUT) -> None:
        self._turn_timeout = turn_timeout

    def missing(self, env: Mapping[str, str]) -> str | None:
        """It needs the extra `agents`."""
        if find_spec("pydantic_ai") is None:
            return "agent api: pydantic-ai is not installed; pip install 'devops-bench[agents]'"
        return None

    def binds(self, env: Mapping[str, str]) -> tuple[Bind, ...]:
        """None: it runs in this process."""
        return ()

    def run(self, task: AgentTask) -> AgentRun:
        """Run the loop to its end. ConfigError for a grant, key or flag that cannot be honoured."""
        if task.endpoint is None:
            raise ConfigError("agent api has no model", fix="name one with --model or AGENT_MODEL")
        skills = find_skills(task.grants.skills_paths)
        install(skills, task.home / SKILL_FOLDER)
        tools, settings = offered(task, skills), model_settings(task)
        began = time.monotonic()
        mcp: McpClient | None = None
        if task.grants.mcp is not None:
            try:
                mcp = McpClient(task.grants.mcp, start_sec=task.limits.timeout_sec, emit=task.emit)
            except McpFailed as error:
                return _without_grant(str(error), began)
            tools += mcp.tools
        names = tuple(tool.name for tool in tools)
        loop = _Loop(task, names, {skill.name: skill for skill in skills}, self._turn_timeout, mcp)
        try:
            conversation = Conversation(
                task.endpoint,
                system_prompt(task.sandbox, task.limits, names, skills, task.rules_text),
                task.prompt,
                tools,
                settings,
            )
            return asyncio.run(loop.run(conversation))
        finally:
            if mcp is not None:
                mcp.close()


def model_settings(task: AgentTask) -> dict[str, Any]:
    """`extra_flags` of the form name=value are settings of the model request (temperature=0, max_tokens=8000)."""
    settings = {}
    for flag in task.extra_flags:
        name, equals, value = flag.lstrip("-").partition("=")
        if not equals or not name:
            raise ConfigError(f"AGENT_EXTRA_FLAGS has {flag!r}", fix="agent api takes name=value, as temperature=0")
        try:
            settings[name.replace("-", "_")] = json.loads(value)
        except ValueError:
            settings[name.replace("-", "_")] = value
    return settings


@dataclass(slots=True)
class _Loop:
    """One run: what was said and done so far, so that every way out keeps it."""

    task: AgentTask
    names: tuple[str, ...]
    skills: Mapping[str, Skill]
    turn_timeout: float
    mcp: McpClient | None = None
    deadline: float = 0.0
    steps: list[Step] = field(default_factory=list)
    usage: Usage | None = None
    served: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    turns: int = 0
    output: str = ""
    cost: float | None = None

    async def run(self, conversation: Conversation) -> AgentRun:
        """Talk until an end."""
        began = time.monotonic()
        self.deadline = began + self.task.limits.timeout_sec
        tools = Toolbox(self.task.sandbox, deadline=self.deadline, env=self.task.env, emit=self.task.emit)
        try:
            end, raw = await self._talk(conversation, tools)
        except RequestFailed as error:
            end, raw = error.end, error.raw
            self.errors.append(str(error))
        finally:
            tools.close()
            await conversation.close()
        return AgentRun(
            end=end,
            output=self.output,
            steps=tuple(self.steps),
            usage=self.usage,
            latency=time.monotonic() - began,
            errors=tuple(self.errors),
            served_models=tuple(self.served),
            model_turns=self.turns,
            tool_wait_sec=tools.waited + (self.mcp.waited if self.mcp else 0.0),
            cost_usd=self.cost,
            skills_used=tuple(self.used),
            version=__version__,
            raw_end=raw,
        )

    async def _talk(self, conversation: Conversation, tools: Toolbox) -> tuple[EndReason, str]:
        while True:
            if self.turns >= self.task.limits.max_turns:
                return EndReason.MAX_TURNS, "max_turns"
            left = self.deadline - time.monotonic()
            if left <= 0:
                return self._out_of_time()
            asked = time.time()
            try:
                reply = await conversation.ask(min(left, self.turn_timeout))
            except TimeoutError:
                if left <= self.turn_timeout:
                    return self._out_of_time()
                self.errors.append(f"the model did not answer within {self.turn_timeout:g} s")
                return EndReason.API_ERROR, "no_reply"
            self._heard(reply, asked)
            if reply.calls:
                # Each call is recorded as it ends: a timeout in the middle of them loses none.
                for wanted in reply.calls:
                    self._add_call(self._call(wanted, tools))
                conversation.answer(self.steps[-1].tool_calls)
                continue
            return self._ended(reply)

    def _ended(self, reply: Reply) -> tuple[EndReason, str]:
        self.output = reply.text
        if reply.finish == "content_filter":
            self.errors.append("the model refused, or its reply was withheld")
            return EndReason.REFUSED, "content_filter"
        if reply.finish == "error":
            self.errors.append("the API ended the reply with an error")
            return EndReason.API_ERROR, "error"
        if not reply.text.strip():
            self.errors.append(f"the model's reply was empty (finish reason: {reply.finish or 'not told'})")
            return EndReason.EMPTY, reply.finish or "empty"
        return EndReason.COMPLETED, reply.finish or "stop"

    def _out_of_time(self) -> tuple[EndReason, str]:
        self.errors.append(f"the time limit of {self.task.limits.timeout_sec:g} s was reached")
        return EndReason.TIMEOUT, "timeout"

    def _heard(self, reply: Reply, asked: float) -> None:
        self.turns += 1
        if reply.usage is not None:
            self.usage = reply.usage if self.usage is None else self.usage.plus(reply.usage)
            self._charge(reply.usage)
        if reply.model and reply.model not in self.served:
            self.served.append(reply.model)
        step = Step(
            source="agent",
            message=reply.text,
            reasoning=reply.reasoning,
            usage=reply.usage,
            model=reply.model,
            time=time.time(),
        )
        self.steps.append(step)
        seconds = round(step.time - asked, 3)
        tokens = reply.usage.as_tokens() if reply.usage else {}
        self.task.emit("model_request", {"turn": self.turns, "seconds": seconds, "tokens": tokens})
        if reply.text:
            self.task.emit("text", {"text": reply.text})

    def _charge(self, usage: Usage) -> None:
        """Request by request: long prompts have another price. One unknown price makes the sum unknown."""
        assert self.task.endpoint is not None
        price = cost_usd(
            self.task.endpoint.model,
            self.task.endpoint.provider,
            input=usage.input,
            output=usage.output,
            cached=usage.cached,
            cache_write=usage.cache_write,
        )
        if price is None:
            self.cost = None
        elif self.turns == 1 or self.cost is not None:
            self.cost = (self.cost or 0.0) + price

    def _add_call(self, call: ToolCall) -> None:
        last = self.steps[-1]
        self.steps[-1] = Step(
            last.source, last.message, last.reasoning, (*last.tool_calls, call), last.usage, last.model, last.time
        )

    def _call(self, wanted: Wanted, tools: Toolbox) -> ToolCall:
        if wanted.args is None:
            return _error(wanted, {"raw": wanted.raw}, "the arguments are not a JSON object; send the call again")
        if wanted.name == "skill" and self.skills:
            return self._skill(wanted, wanted.args)
        if wanted.name not in self.names:
            known = ", ".join(self.names)
            return _error(wanted, wanted.args, f"there is no tool {wanted.name!r}; the tools are {known}")
        if self.mcp is not None and wanted.name in {tool.name for tool in self.mcp.tools}:
            return self.mcp.call(wanted.name, wanted.args, self.deadline, wanted.call_id)
        return tools.call(wanted.name, wanted.args, wanted.call_id)

    def _skill(self, wanted: Wanted, args: Mapping[str, Any]) -> ToolCall:
        skill = self.skills.get(str(args.get("name")))
        if skill is None:
            return _error(wanted, args, f"no such skill; there are {', '.join(self.skills)}")
        if skill.name not in self.used:
            self.used.append(skill.name)
        now = time.time()
        place = self.task.sandbox.home / SKILL_FOLDER / skill.name
        return ToolCall(
            name="skill",
            args=dict(args),
            result=f"{skill.text()}\n[the files of this skill are in {place}]",
            status=CallStatus.OK,
            kind=ToolKind.SKILL,
            started=now,
            ended=now,
            call_id=wanted.call_id,
        )


def _without_grant(why: str, began: float) -> AgentRun:
    """A run that cannot begin: what was granted is not there."""
    return AgentRun(
        end=EndReason.CRASHED,
        output="",
        steps=(),
        usage=None,
        latency=time.monotonic() - began,
        errors=(" ".join(why.split()),),
        version=__version__,
        raw_end=GRANT_MISSING,
    )


def _error(wanted: Wanted, args: Mapping[str, Any], result: str) -> ToolCall:
    now = time.time()
    return ToolCall(
        name=wanted.name,
        args=dict(args),
        result=result,
        status=CallStatus.ERROR,
        started=now,
        ended=now,
        call_id=wanted.call_id,
    )
