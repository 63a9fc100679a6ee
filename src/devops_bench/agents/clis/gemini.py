"""Gemini CLI (`@google/gemini-cli`): settings.json in, `stream-json` and its session file out.

`tools.core` is an allowlist that also hides MCP tools, so a granted server's are named there. The CLI refuses shell
commands with a command substitution, whatever the approval mode: such calls are `blocked`. Its own telemetry stays off:
it would hold the whole conversation once per request; why a reply ended is the gateway's to tell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from devops_bench.agents.base import AgentTask, EndReason, Usage
from devops_bench.agents.frame.home import Home
from devops_bench.agents.frame.kinds import granted
from devops_bench.agents.frame.loose import arguments, count, items, mapping, moment, record, records, text, tidy, words
from devops_bench.agents.frame.record import Transcript
from devops_bench.agents.frame.types import Activity, Launch, Left, Reading
from devops_bench.agents.skills import Skill

_TOOLS = ("list_directory", "read_file", "grep_search", "glob", "replace", "write_file", "run_shell_command")
_SETTINGS: Mapping[str, Any] = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "topicUpdateNarration": False,
                "maxAttempts": 1}, "experimental": {"enableAgents": False},
    "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
}  # fmt: skip
_FAILED = re.compile(r"^(?:Exit Code: [1-9]\d*|Signal: \w+)\n(?:[^\n]*\n?){0,3}\Z", re.MULTILINE)
_TURN_LIMIT = 53  # its exit status when `maxSessionTurns` are used up
_ENDS = (
    (re.compile("blocked due to safety|prohibited content", re.IGNORECASE), EndReason.REFUSED, "content_filter"),
    (re.compile("empty response", re.IGNORECASE), EndReason.EMPTY, "empty"),
    (re.compile("max session turns", re.IGNORECASE), EndReason.MAX_TURNS, "max_turns"),
)


class Gemini:
    """The adapter."""

    key, title, package, binary = "gemini", "Gemini CLI", "@google/gemini-cli", "gemini"
    wires, skills_folder, mcp_name = ("google",), ".gemini/skills", "mcp_{server}_{tool}"
    builtin_tools = frozenset(_TOOLS)
    skill_tools = frozenset({"activate_skill"})

    def launch(self, task: AgentTask, program: Sequence[str], skills: Sequence[Skill]) -> Launch:
        """The prompt goes in by stdin. No relaunch: it would survive the end of its parent."""
        endpoint = task.model_endpoint
        argv = (*program, "--model", endpoint.model, "--approval-mode", "yolo", "--output-format", "stream-json")
        env = {"GEMINI_API_KEY": endpoint.key or "none", "GOOGLE_GEMINI_BASE_URL": endpoint.base_url or ""}
        env["GEMINI_CLI_NO_RELAUNCH"] = "true"
        files = {".gemini/settings.json": json.dumps(self._settings(task, skills))}
        return Launch(argv, env, files, task.prompt.encode())

    def _settings(self, task: AgentTask, skills: Sequence[Skill]) -> dict[str, Any]:
        tools = [*sorted(granted(self, task)), *(self.skill_tools if skills else ())]
        settings = {**_SETTINGS, "model": {"maxSessionTurns": task.limits.max_turns}, "mcp": {"allowed": []}}
        settings["skills"] = {"enabled": bool(skills), "disabled": ["skill-creator", "antigravity-support"]}
        if (grant := task.grants.mcp) is not None:
            patience = int(task.limits.timeout_sec * 1000)  # a slow tool is the gateway's to end
            server = {"command": grant.argv[0], "args": grant.argv[1:], "trust": True, "timeout": patience}
            settings |= {"mcp": {"allowed": [grant.server]}, "mcpServers": {grant.server: server}}
            tools.append(f"mcp_{grant.server}_*")
        return {**settings, "tools": {"core": tools, "useRipgrep": False, "shell": {"enableInteractiveShell": False}}}

    def follow(self, line: bytes) -> Activity | None:
        """Tool calls and text as they happen. A call's id starts with its tool's name."""
        event = record(line) or {}
        match event.get("type"), event.get("role"):
            case "tool_use", _:
                return Activity("tool_call", {"name": text(event.get("tool_name")), "phase": "started"})
            case "tool_result", _:
                name, status = text(event.get("tool_id")).rpartition("__")[0], text(event.get("status"))
                ended = {"name": name, "phase": "ended", "status": status.replace("success", "ok")}
                return Activity("tool_call", ended)
            case "message", "assistant":
                return Activity("text", {"text": text(event.get("content"))})
        return None

    def read(self, left: Left, task: AgentTask) -> Reading:
        """Steps from the session file, the end from the last event of stdout: without one, nothing says it finished."""
        events, broken = records(left.stdout.split(b"\n"))
        by_type = {text(event.get("type")): event for event in events}
        session, result = text(by_type.get("init", {}).get("session_id")), by_type.get("result", {})
        begun = {
            text(event.get("tool_id")): moment(event.get("timestamp")) for event in events if "parameters" in event
        }
        told = Transcript(self, task)
        for message in _messages(Home(left.home), session):
            self._reply(told, message, begun)
        failures = [event for event in events if event.get("type") == "error"] + [mapping(result.get("error"))]
        errors = tidy(*(one.get("message") for one in failures))
        end, raw = _end(result, errors, left.exit)
        last = told.steps()[-1:]
        if end is None and left.exit == 0 and left.stdout[-1:] != b"\n" and last and not last[0].tool_calls:
            # It exits without waiting for a full pipe: the last line is cut, but the session holds a last word.
            end, raw = EndReason.COMPLETED, "stop"
        errors += (f"{broken} lines of its output cannot be read",) if broken else ()
        used = tuple(told.skills)
        return Reading(told.steps(), "", end, raw, errors, told.total(), skills_used=used, session=session)

    def _reply(self, told: Transcript, message: Mapping[str, Any], begun: Mapping[str, float]) -> None:
        reply, when, model = text(message.get("id")), moment(message.get("timestamp")), text(message.get("model"))
        for thought in map(mapping, items(message.get("thoughts"))):
            parts = (text(thought.get(name)).strip() for name in ("subject", "description"))
            told.thought(reply, ": ".join(filter(None, parts)), when, model)
        told.said(reply, words(message.get("content")), when, model)
        told.metered(reply, _usage(mapping(message.get("tokens"))))
        for call in map(mapping, items(message.get("toolCalls"))):
            name, identifier = text(call.get("name")), text(call.get("id"))
            told.called(reply, identifier, name, arguments(call.get("args")), begun.get(identifier) or when, model)
            shown = "\n".join(_shown(part) for part in items(call.get("result")))
            failed = call.get("status") != "success" or (name == "run_shell_command" and bool(_FAILED.search(shown)))
            blocked = call.get("status") == "cancelled" or text(call.get("resultDisplay")).startswith("Blocked:")
            told.returned(identifier, shown, moment(call.get("timestamp"), when), failed=failed, blocked=blocked)


def _messages(home: Home, session: str) -> list[Mapping[str, Any]]:
    """The model's messages of a session. An id that comes again is the same message with more in it."""
    for name in home.files(".gemini/tmp", ".jsonl"):
        entries, _ = records((home.read(name) or b"").split(b"\n"))
        if "/chats/session-" in name and entries and entries[0].get("sessionId") == session:
            return list({text(entry.get("id")): entry for entry in entries if entry.get("type") == "gemini"}.values())
    return []


def _shown(part: object) -> str:
    """A part of a tool's result as the model saw it."""
    response = mapping(mapping(mapping(part).get("functionResponse")).get("response"))
    told = next((response[name] for name in ("output", "error") if name in response), None)
    return words(part) if not response else told if isinstance(told, str) else json.dumps(told or response)


def _usage(tokens: Mapping[str, Any]) -> Usage | None:
    """Its `output` leaves the thoughts out."""
    names = ("input", "output", "cached", "thoughts", "total")
    fresh, output, cached, thoughts, total = (count(tokens.get(name)) for name in names)
    spoken = None if output is None else output + (thoughts or 0)
    return Usage(fresh, spoken, cached, None, thoughts, total) if total else None


def _end(result: Mapping[str, Any], errors: Sequence[str], code: int) -> tuple[EndReason | None, str]:
    known = next(((end, raw) for form, end, raw in _ENDS if any(form.search(text) for text in errors)), None)
    if known or code == _TURN_LIMIT:
        return known or (EndReason.MAX_TURNS, "max_turns")
    if not result:
        return None, ""
    return (EndReason.COMPLETED, "stop") if result.get("status") == "success" else (EndReason.API_ERROR, "error")
