"""OpenClaw (`openclaw agent exec`): a pinned config and a state folder in, a JSON envelope and a SQLite transcript out.

Its retries of a model request (10 in two minutes) are off by the settings file in the state folder: its config has no
such switch. Tool search would hide MCP tools behind a tool of its own. Larger rows of the transcript are compressed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from devops_bench.agents.base import AgentTask, EndReason, Usage
from devops_bench.agents.clis.openclaw_transcript import read_events
from devops_bench.agents.frame.home import Home
from devops_bench.agents.frame.kinds import granted
from devops_bench.agents.frame.loose import arguments, count, items, mapping, number, record, text, tidy, words
from devops_bench.agents.frame.record import Transcript
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
RETRY_OFF = {"retry": {"enabled": False, "maxRetries": 0, "provider": {"maxRetries": 0}}}


class OpenClaw:
    """The adapter."""

    key, title, package, binary = "openclaw", "OpenClaw", "openclaw", "openclaw"
    wires, skills_folder, mcp_name = tuple(_APIS), ".agent/skills", "{server}__{tool}"
    builtin_tools = frozenset({"read", "write", "edit", "apply_patch", "exec", "process", "ls"})
    skill_tools: frozenset[str] = frozenset()
    # Its own tools for resources and prompts of a server are let in where a tool of the server has the same name.
    mcp_tools = frozenset(
        f"{{server}}__{name}-2" for name in ("resources_list", "resources_read", "prompts_list", "prompts_get")
    )

    def launch(self, task: AgentTask, program: Sequence[str], skills: Sequence[Skill]) -> Launch:
        """The prompt goes in by stdin. Its own deadline lies behind ours, which ends it."""
        home, endpoint, patience = task.sandbox.home, task.model_endpoint, str(int(task.limits.timeout_sec) + 60)
        argv = (
            *(*program, "agent", "exec", "--message-file", "-", "--json"),
            *("--config", f"{home}/{CONFIG}", "--state-dir", f"{home}/{STATE}", "--cwd", str(task.sandbox.workspace)),
            *("--model", f"{_APIS[endpoint.provider][0]}/{endpoint.model}", "--timeout", patience),
        )
        # A compile cache would be written for nobody: the next run has another /tmp.
        env = dict.fromkeys(("OPENCLAW_OFFLINE", "OPENCLAW_NO_RESPAWN", "NODE_DISABLE_COMPILE_CACHE"), "1")
        env["OPENCLAW_STATE_DIR"] = f"{home}/{STATE}"
        files = {CONFIG: json.dumps(self._config(task, skills)), SETTINGS: json.dumps(RETRY_OFF)}
        return Launch(argv, env, files, task.prompt.encode())

    def _config(self, task: AgentTask, skills: Sequence[Skill]) -> dict[str, Any]:
        endpoint, grant = task.model_endpoint, task.grants.mcp
        provider, api, path = _APIS[endpoint.provider]
        name, url = f"{provider}/{endpoint.model}", f"{endpoint.base_url}{path}"
        only = {"include": grant.tools} if grant else {}  # else it adds tools of its own for resources and prompts
        server = {"command": grant.argv[0], "args": grant.argv[1:], "toolFilter": only} if grant else {}
        extra = [f"{task.sandbox.home}/{self.skills_folder}"] if skills else []
        tools = [*sorted(granted(self, task)), *(["bundle-mcp"] if grant else [])]
        model = {
            "id": endpoint.model, "name": endpoint.model, "contextWindow": 200_000, "maxTokens": 32_000,
            "input": ["text"], "reasoning": False, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        }  # fmt: skip
        served = {"api": api, "baseUrl": url, "apiKey": endpoint.key or "none", "models": [model]}
        defaults = {
            "models": {name: {}}, "model": {"primary": name}, "skipBootstrap": True,
            "skills": [skill.name for skill in skills], "embeddedAgent": {"projectSettingsPolicy": "ignore"},
        }  # fmt: skip
        return {
            "models": {"providers": {provider: served}},
            "agents": {"defaults": defaults},
            "skills": {"allowBundled": [], "load": {"extraDirs": extra, "watch": False}},
            "plugins": {"enabled": False},
            "tools": {"profile": "coding", "toolSearch": False, "allow": tools, "deny": ["group:web", "browser"]},
            "mcp": {"servers": {grant.server: server} if grant else {}},
        }

    def follow(self, line: bytes) -> Activity | None:
        """It prints one envelope, at its end."""
        return None

    def read(self, left: Left, task: AgentTask) -> Reading:
        """Steps from the transcript, the end from the envelope: without one, nothing says that it finished."""
        envelope = record(left.stdout.strip()) or {}
        session = text(envelope.get("sessionId"))
        events, errors = read_events(Home(left.home), DATABASE, session)
        told, stop, failed = Transcript(self, task), "", text(mapping(envelope.get("error")).get("message"))
        for event in events:
            message = mapping(event.get("message")) if event.get("type") == "message" else {}
            if message.get("role") == "assistant":
                self._reply(told, text(event.get("id")), message)
                stop = text(message.get("stopReason"))
                errors += (text(message.get("errorMessage")),)
            elif message.get("role") == "toolResult":
                self._result(told, message)
        end, raw = _end(envelope, stop)
        said, final, used = tidy(*errors, failed), text(envelope.get("final")), tuple(told.skills)
        return Reading(told.steps(), final, end, raw, said, told.total(), skills_used=used, session=session)

    def _reply(self, told: Transcript, reply: str, message: Mapping[str, Any]) -> None:
        when, model = _moment(message), text(message.get("model"))
        for part in map(mapping, items(message.get("content"))):
            match part.get("type"):
                case "text":
                    told.said(reply, text(part.get("text")), when, model)
                case "thinking":
                    told.thought(reply, text(part.get("thinking")), when, model)
                case "toolCall":
                    name, args = text(part.get("name")), arguments(part.get("arguments"))
                    told.called(reply, text(part.get("id")), name, args, when, model)
        told.metered(reply, _usage(mapping(message.get("usage"))))

    def _result(self, told: Transcript, message: Mapping[str, Any]) -> None:
        """A reply that asks for a tool that does not exist is not kept; what the model was told of it is."""
        call, when = text(message.get("toolCallId")), _moment(message)
        told.called(f"of {call}", call, text(message.get("toolName")), {}, when)
        failed = message.get("isError") is not False or mapping(message.get("details")).get("exitCode") not in (None, 0)
        told.returned(call, words(message.get("content")), when, failed=failed)


def _moment(message: Mapping[str, Any]) -> float:
    return (number(message.get("timestamp")) or 0.0) / 1000


def _usage(told: Mapping[str, Any]) -> Usage | None:
    """Its `input` leaves cached tokens out, its `output` holds the thoughts; nothing but zeros means not told."""
    names = ("input", "output", "cacheRead", "cacheWrite", "totalTokens")
    fresh, output, cached, written, total = (count(told.get(name)) for name in names)
    whole = (fresh or 0) + (cached or 0) + (written or 0)
    return Usage(whole, output, cached, written, None, total) if total else None


def _end(envelope: Mapping[str, Any], stop: str) -> tuple[EndReason | None, str]:
    """A failure by the envelope is one whatever the transcript says; a success needs both."""
    if not envelope:
        return None, ""
    if envelope.get("ok") is not True:
        return EndReason.API_ERROR, "error"
    return EndReason.COMPLETED, stop or "ok"
