"""Gemini CLI (`@google/gemini-cli`): settings.json in, `stream-json` and its session file out.

`tools.core` is an allowlist that also hides MCP tools, so a granted server's are named there. The CLI refuses shell
commands with a command substitution, whatever the approval mode: such calls are `blocked`. Its own telemetry stays off:
it would hold the whole conversation once per request; why a reply ended is the gateway's to tell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from devops_bench.agents.base import AgentTask, CallStatus, EndReason, Step, ToolCall, Usage
from devops_bench.agents.frame import loose
from devops_bench.agents.frame.home import Home
from devops_bench.agents.frame.kinds import kind_of
from devops_bench.agents.frame.types import Activity, Launch, Left, Reading
from devops_bench.agents.skills import Skill

# fmt: off
_SETTINGS: Mapping[str, Any] = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "topicUpdateNarration": False,
                "maxAttempts": 1},
    "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
    "experimental": {"enableAgents": False},
}
# fmt: on
_STATUS = {"success": CallStatus.OK, "cancelled": CallStatus.BLOCKED}
_FAILED = re.compile(r"^(?:Exit Code: [1-9]\d*|Signal: \w+)\n(?:[^\n]*\n?){0,3}\Z", re.MULTILINE)
_TURN_LIMIT = 53  # its exit status when `maxSessionTurns` are used up
_ENDS = (
    (re.compile("blocked due to safety|prohibited content", re.IGNORECASE), EndReason.REFUSED, "content_filter"),
    (re.compile("empty response", re.IGNORECASE), EndReason.EMPTY, "empty"),
    (re.compile("max session turns", re.IGNORECASE), EndReason.MAX_TURNS, "max_turns"),
)


class Gemini:
    """The adapter."""

    key = "gemini"
    title = "Gemini CLI"
    package = "@google/gemini-cli"
    binary = "gemini"
    wires = ("google",)
    skills_folder = ".gemini/skills"
    mcp_name = "mcp_{server}_{tool}"
    builtin_tools = frozenset(
        {"list_directory", "read_file", "grep_search", "glob", "replace", "write_file", "run_shell_command"}
    )
    skill_tools = frozenset({"activate_skill"})

    def launch(self, task: AgentTask, program: Sequence[str], skills: Sequence[Skill]) -> Launch:
        """The prompt goes in by stdin. No relaunch: it would survive the end of its parent."""
        endpoint = task.endpoint
        assert endpoint is not None
        argv = (*program, "--model", endpoint.model, "--approval-mode", "yolo", "--output-format", "stream-json")
        env = {
            "GEMINI_API_KEY": endpoint.key or "none",
            "GOOGLE_GEMINI_BASE_URL": endpoint.base_url or "",
            "GEMINI_CLI_NO_RELAUNCH": "true",
        }
        files = {".gemini/settings.json": json.dumps(self._settings(task, skills))}
        return Launch(argv, env, files, task.prompt.encode())

    def _settings(self, task: AgentTask, skills: Sequence[Skill]) -> dict[str, Any]:
        own = self.builtin_tools & frozenset(task.grants.allowed_tools) or self.builtin_tools
        tools = [*sorted(own), *(self.skill_tools if skills else ())]
        settings = {**_SETTINGS, "model": {"maxSessionTurns": task.limits.max_turns}, "mcp": {"allowed": []}}
        settings["skills"] = {"enabled": bool(skills), "disabled": ["skill-creator", "antigravity-support"]}
        if (grant := task.grants.mcp) is not None:
            patience = int(task.limits.timeout_sec * 1000)  # a slow tool is the gateway's to end
            server = {"command": grant.argv[0], "args": grant.argv[1:], "trust": True, "timeout": patience}
            settings |= {"mcp": {"allowed": [grant.server]}, "mcpServers": {grant.server: server}}
            tools.append(f"mcp_{grant.server}_*")
        shell = {"enableInteractiveShell": False}
        return {**settings, "tools": {"core": tools, "useRipgrep": False, "shell": shell}}

    def follow(self, line: bytes) -> Activity | None:
        """Tool calls and text as they happen. A tool's id starts with its name."""
        event = loose.record(line) or {}
        kind, name = event.get("type"), loose.text(event.get("tool_id")).rpartition("__")[0]
        if kind == "tool_use":
            return Activity("tool_call", {"name": loose.text(event.get("tool_name")), "phase": "started"})
        if kind == "tool_result":
            status = _STATUS.get(loose.text(event.get("status")), CallStatus.ERROR)
            return Activity("tool_call", {"name": name, "phase": "ended", "status": status.value})
        if kind == "message" and event.get("role") == "assistant":
            return Activity("text", {"text": loose.text(event.get("content"))})
        return None

    def read(self, left: Left, task: AgentTask) -> Reading:
        """Steps from the session file, the end from the last event of stdout: without one, nothing says it finished."""
        events, broken = loose.records(left.stdout.split(b"\n"))
        session = next((loose.text(event.get("session_id")) for event in events if event.get("type") == "init"), "")
        begun = {
            loose.text(event.get("tool_id")): loose.moment(event.get("timestamp"))
            for event in events
            if event.get("type") == "tool_use"
        }
        steps = tuple(self._step(message, begun, task) for message in _messages(Home(left.home), session))
        result = next((event for event in reversed(events) if event.get("type") == "result"), None)
        said = [loose.text(event.get("message")) for event in events if event.get("type") == "error"]
        said.append(loose.text(loose.mapping(loose.mapping(result).get("error")).get("message")))
        errors = [" ".join(text.split())[:500] for text in said if text]
        end, raw = _end(result, errors, left.exit)
        errors += [f"{broken} lines of its output cannot be read"] if broken else []
        calls = [call for step in steps for call in step.tool_calls]
        used = [
            loose.text(call.args.get("name"))
            for call in calls
            if call.name in self.skill_tools and call.status is CallStatus.OK
        ]
        usages = [step.usage for step in steps if step.usage]
        total = reduce(Usage.plus, usages) if usages else None
        return Reading(steps, "", end, raw, tuple(errors), total, skills_used=tuple(used), session=session)

    def _step(self, message: Mapping[str, Any], begun: Mapping[str, float], task: AgentTask) -> Step:
        thoughts = [
            ": ".join(
                filter(None, (loose.text(loose.mapping(item).get(part)).strip() for part in ("subject", "description")))
            )
            for item in loose.items(message.get("thoughts"))
        ]
        calls = [loose.mapping(item) for item in loose.items(message.get("toolCalls"))]
        return Step(
            source="agent",
            message=loose.words(message.get("content")),
            reasoning="\n".join(thoughts),
            tool_calls=tuple(self._call(call, begun, task) for call in calls),
            usage=_usage(loose.mapping(message.get("tokens"))),
            model=loose.text(message.get("model")) or None,
            time=loose.moment(message.get("timestamp")),
        )

    def _call(self, call: Mapping[str, Any], begun: Mapping[str, float], task: AgentTask) -> ToolCall:
        name, identifier = loose.text(call.get("name")), loose.text(call.get("id"))
        shown = "\n".join(_shown(part) for part in loose.items(call.get("result")))
        status = _STATUS.get(loose.text(call.get("status")), CallStatus.ERROR)
        if loose.text(call.get("resultDisplay")).startswith("Blocked:"):
            status = CallStatus.BLOCKED
        elif name == "run_shell_command" and status is CallStatus.OK and _FAILED.search(shown):
            status = CallStatus.ERROR
        ended = loose.moment(call.get("timestamp"))
        started = min(begun.get(identifier) or ended, ended)
        args, kind = loose.arguments(call.get("args")), kind_of(self, task, name)
        return ToolCall(name, args, shown, status, kind, started, ended, identifier)


def _messages(home: Home, session: str) -> list[Mapping[str, Any]]:
    """The model's messages of a session. An id that comes again is the same message with more in it."""
    for name in home.files(".gemini/tmp", ".jsonl"):
        entries, _ = loose.records((home.read(name) or b"").split(b"\n"))
        if "/chats/session-" in name and entries and entries[0].get("sessionId") == session:
            last = {loose.text(entry.get("id")): entry for entry in entries if entry.get("type") == "gemini"}
            return list(last.values())
    return []


def _shown(part: object) -> str:
    """A part of a tool's result as the model saw it."""
    response = loose.mapping(loose.mapping(loose.mapping(part).get("functionResponse")).get("response"))
    told = next((response[name] for name in ("output", "error") if name in response), None)
    return loose.words(part) if not response else told if isinstance(told, str) else json.dumps(told or response)


def _usage(tokens: Mapping[str, Any]) -> Usage | None:
    """Its `output` leaves the thoughts out."""
    if not tokens:
        return None
    told, thoughts = loose.count(tokens.get("output")), loose.count(tokens.get("thoughts"))
    return Usage(
        input=loose.count(tokens.get("input")),
        output=None if told is None else told + (thoughts or 0),
        cached=loose.count(tokens.get("cached")),
        reasoning=thoughts,
        total=loose.count(tokens.get("total")),
    )


def _end(result: Mapping[str, Any] | None, errors: Sequence[str], code: int) -> tuple[EndReason | None, str]:
    known = next(((end, raw) for form, end, raw in _ENDS if any(form.search(text) for text in errors)), None)
    if known is not None or code == _TURN_LIMIT:
        return known or (EndReason.MAX_TURNS, "max_turns")
    if result is None:
        return None, ""
    return (EndReason.COMPLETED, "stop") if result.get("status") == "success" else (EndReason.API_ERROR, "error")
