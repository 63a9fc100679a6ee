"""OpenClaw (`openclaw agent exec`): a pinned config and a state folder in, a JSON envelope and a SQLite transcript out.

Its retries of a model request (10 in two minutes) are off by the settings file in the state folder: its config has no
such switch. Tool search would hide MCP tools behind a tool of its own. Larger rows of the transcript are compressed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from devops_bench.agents.base import AgentTask, CallStatus, EndReason, Step, ToolCall, Usage
from devops_bench.agents.clis.openclaw_transcript import read_events
from devops_bench.agents.frame import loose
from devops_bench.agents.frame.home import Home
from devops_bench.agents.frame.kinds import kind_of, skill_file
from devops_bench.agents.frame.types import Activity, Launch, Left, Reading
from devops_bench.agents.skills import Skill

STATE = ".agent/state"
CONFIG = ".agent/config.json"
DATABASE = f"{STATE}/agents/main/agent/openclaw-agent.sqlite"
SETTINGS = f"{STATE}/agents/main/agent/settings.json"
# Wire format -> its provider's name, its `api`, and what follows the base URL.
_APIS = {
    "google": ("google", "google-generative-ai", "/v1beta"),
    "anthropic": ("anthropic", "anthropic-messages", ""),
    "openai": ("openai", "openai-completions", ""),
    "openai-responses": ("openai", "openai-responses", ""),
}
_ENDS = {"stop": EndReason.COMPLETED, "length": EndReason.COMPLETED, "error": EndReason.API_ERROR}
_MCP_TOOLS = ("resources_list", "resources_read", "prompts_list", "prompts_get")


class OpenClaw:
    """The adapter."""

    key = "openclaw"
    title = "OpenClaw"
    package = "openclaw"
    binary = "openclaw"
    wires = tuple(_APIS)
    skills_folder = ".agent/skills"
    mcp_name = "{server}__{tool}"
    builtin_tools = frozenset({"read", "write", "edit", "apply_patch", "exec", "process", "ls"})
    skill_tools: frozenset[str] = frozenset()

    def launch(self, task: AgentTask, program: Sequence[str], skills: Sequence[Skill]) -> Launch:
        """The prompt goes in by stdin. Its own deadline lies behind ours, which ends it."""
        assert task.endpoint is not None
        home, (provider, _, _) = task.sandbox.home, _APIS[task.endpoint.provider]
        argv = (
            *(*program, "agent", "exec", "--message-file", "-", "--json"),
            *("--config", f"{home}/{CONFIG}", "--state-dir", f"{home}/{STATE}", "--cwd", str(task.sandbox.workspace)),
            *("--model", f"{provider}/{task.endpoint.model}", "--timeout", str(int(task.limits.timeout_sec) + 60)),
        )
        env = {
            "OPENCLAW_OFFLINE": "1",
            "OPENCLAW_NO_RESPAWN": "1",
            "OPENCLAW_STATE_DIR": f"{home}/{STATE}",
            "NODE_DISABLE_COMPILE_CACHE": "1",  # it would be written for nobody: the next run has another /tmp
        }
        once = {"retry": {"enabled": False, "maxRetries": 0, "provider": {"maxRetries": 0}}}
        files = {CONFIG: json.dumps(self._config(task, skills)), SETTINGS: json.dumps(once)}
        return Launch(argv, env, files, task.prompt.encode())

    def _config(self, task: AgentTask, skills: Sequence[Skill]) -> dict[str, Any]:
        endpoint, grant = task.endpoint, task.grants.mcp
        assert endpoint is not None
        provider, api, path = _APIS[endpoint.provider]
        own = self.builtin_tools & frozenset(task.grants.allowed_tools) or self.builtin_tools
        model = {
            "id": endpoint.model, "name": endpoint.model, "contextWindow": 200_000, "maxTokens": 32_000,
            "input": ["text"], "reasoning": False, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        }  # fmt: skip
        url = f"{endpoint.base_url}{path}"
        served = {"api": api, "baseUrl": url, "apiKey": endpoint.key or "none", "models": [model]}
        name = f"{provider}/{endpoint.model}"
        servers = {}
        if grant is not None:
            servers = {grant.server: {"command": grant.argv[0], "args": list(grant.argv[1:]), "enabled": True}}
        return {
            "models": {"providers": {provider: served}},
            "agents": {
                "defaults": {
                    "models": {name: {}},
                    "model": {"primary": name},
                    "skipBootstrap": True,
                    "skills": [skill.name for skill in skills],
                    "embeddedAgent": {"projectSettingsPolicy": "ignore"},
                }
            },
            "skills": {
                "allowBundled": [],
                "load": {"extraDirs": [f"{task.sandbox.home}/{self.skills_folder}"] if skills else [], "watch": False},
            },
            "plugins": {"enabled": False},
            "tools": {
                "profile": "coding",
                "toolSearch": False,
                "allow": [*sorted(own), *(["bundle-mcp"] if grant else [])],
                "deny": ["group:web", "browser"],
            },
            "mcp": {"servers": servers},
        }

    def follow(self, line: bytes) -> Activity | None:
        """It prints one envelope, at its end."""
        return None

    def read(self, left: Left, task: AgentTask) -> Reading:
        """Steps from the transcript; the end from its last reply's stop reason and from the envelope."""
        envelope = loose.record(left.stdout.strip().replace(b"\n", b" ")) or {}
        session = loose.text(envelope.get("sessionId"))
        events, errors = read_events(Home(left.home), DATABASE, session)
        messages = [loose.mapping(event.get("message")) for event in events if event.get("type") == "message"]
        asked = [one for one in messages if one.get("role") == "assistant"]
        steps = self._steps(messages, task)
        failed = loose.mapping(envelope.get("error"))
        said = [loose.text(asked[-1].get("errorMessage")) if asked else "", loose.text(failed.get("message"))]
        errors += tuple(" ".join(text.split())[:500] for text in said if text)
        end, raw = _end(envelope, loose.text(asked[-1].get("stopReason")) if asked else "")
        used = [name for step in steps for call in step.tool_calls if (name := self._skill(call))]
        usages = [step.usage for step in steps if step.usage]
        total = reduce(Usage.plus, usages) if usages else None
        output = loose.text(envelope.get("final"))
        return Reading(steps, output, end, raw, errors, total, skills_used=tuple(used), session=session)

    def _skill(self, call: ToolCall) -> str | None:
        """A skill is used by reading its file."""
        return skill_file(call.args) if call.name == "read" and call.status is CallStatus.OK else None

    def _steps(self, messages: Sequence[Mapping[str, Any]], task: AgentTask) -> tuple[Step, ...]:
        """A reply that asks for a tool that does not exist is not kept; what the model was told of it is."""
        results = {loose.text(one.get("toolCallId")): one for one in messages if one.get("role") == "toolResult"}
        steps: list[Step] = []
        for one in messages:
            if one.get("role") == "assistant" and loose.items(one.get("content")):
                steps.append(self._step(one, results, task))
                for call in steps[-1].tool_calls:
                    results.pop(call.call_id, None)
            elif one.get("role") == "toolResult" and loose.text(one.get("toolCallId")) in results:
                call = self._call({"name": one.get("toolName"), "id": one.get("toolCallId")}, one, 0.0, task)
                steps.append(Step("agent", tool_calls=(call,), time=call.started))
        return tuple(steps)

    def _step(self, message: Mapping[str, Any], results: Mapping[str, Mapping[str, Any]], task: AgentTask) -> Step:
        parts = [loose.mapping(part) for part in loose.items(message.get("content"))]
        when = (loose.number(message.get("timestamp")) or 0.0) / 1000
        return Step(
            source="agent",
            message="\n".join(loose.text(part.get("text")) for part in parts if part.get("type") == "text"),
            reasoning="\n".join(loose.text(part.get("thinking")) for part in parts if part.get("type") == "thinking"),
            tool_calls=tuple(
                self._call(part, results.get(loose.text(part.get("id")), {}), when, task)
                for part in parts
                if part.get("type") == "toolCall"
            ),
            usage=_usage(loose.mapping(message.get("usage"))),
            model=loose.text(message.get("model")) or None,
            time=when,
        )

    def _call(self, part: Mapping[str, Any], result: Mapping[str, Any], asked: float, task: AgentTask) -> ToolCall:
        name, details = loose.text(part.get("name")), loose.mapping(result.get("details"))
        ended = (loose.number(result.get("timestamp")) or 0.0) / 1000 or asked
        took = loose.number(details.get("durationMs"))
        failed = result.get("isError") is not False or details.get("exitCode") not in (None, 0)
        return ToolCall(
            name=name,
            args=loose.arguments(part.get("arguments")),
            result=loose.words(result.get("content")),
            status=CallStatus.ERROR if failed else CallStatus.OK,
            kind=kind_of(self, task, name),
            started=min(ended, max(asked, ended - took / 1000)) if took is not None else min(asked or ended, ended),
            ended=ended,
            call_id=loose.text(part.get("id")),
        )


def _usage(told: Mapping[str, Any]) -> Usage | None:
    """Its `input` leaves cached tokens out, its `output` holds the thoughts; nothing but zeros means not told."""
    names = ("input", "output", "cacheRead", "cacheWrite", "totalTokens")
    fresh, output, cached, written, total = (loose.count(told.get(name)) for name in names)
    if not total:
        return None
    return Usage((fresh or 0) + (cached or 0) + (written or 0), output, cached, written, None, total)


def _end(envelope: Mapping[str, Any], stop: str) -> tuple[EndReason | None, str]:
    """A failure by the envelope is one whatever the transcript says; a success needs both."""
    if not envelope:
        return None, ""
    if envelope.get("ok") is not True:
        return EndReason.API_ERROR, "error"
    return _ENDS.get(stop, EndReason.COMPLETED), stop or "ok"
