"""OpenCode: `opencode run --format json`, one configuration file in, events on stdout out (checked with 1.18.33).

It is given the gateway as a provider of its OpenAI-compatible kind. By the words of an error it repeats a failed
request for minutes, whatever the status: the frame ends it then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from devops_bench.agents.base import AgentTask, EndReason, Usage
from devops_bench.agents.frame.kinds import granted
from devops_bench.agents.frame.loose import arguments, count, mapping, number, record, text, tidy
from devops_bench.agents.frame.record import Transcript
from devops_bench.agents.frame.types import Activity, Launch, Left, Reading
from devops_bench.agents.skills import Skill

# It searches by ripgrep, also for what lies beside a skill, and would fetch it: the pinned one is shown to it first.
START = 'PATH="$1:$PATH"; shift; exec "$@"'
RIPGREP = "@vscode/ripgrep-linux-x64/bin"
# Start-up traffic, what others left in HOME or workspace, and what a task has no use for.
OFF = (
    "MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "PROJECT_CONFIG", "CLAUDE_CODE", "EXTERNAL_SKILLS",
    "DEFAULT_PLUGINS", "SHARE", "TERMINAL_TITLE", "PRUNE",
)  # fmt: skip
# Of a reply's reason to end, those that are the end of a run.
ENDS = {
    "stop": (EndReason.COMPLETED, ""),
    "length": (EndReason.COMPLETED, "max_tokens"),
    "content-filter": (EndReason.REFUSED, "content_filter"),
}


class OpenCode:
    """The adapter."""

    key, title, package, binary = "opencode", "OpenCode", "opencode-ai", "opencode"
    wires, skills_folder = ("openai",), ".config/opencode/skills"
    mcp_name = "{server}_{tool}"
    builtin_tools = frozenset({"bash", "edit", "glob", "grep", "read", "write"})
    skill_tools = frozenset({"skill"})
    mcp_tools = frozenset({"list_mcp_resource_templates", "list_mcp_resources", "read_mcp_resource"})
    ending_status = 400  # final for all but what it takes for a rate limit or an overload

    def launch(self, task: AgentTask, program: Sequence[str], skills: Sequence[Skill]) -> Launch:
        """All settings in one file; the prompt by standard input."""
        mcp, model, endpoint = task.grants.mcp, "model", task.model_endpoint
        # A rule for `edit` is one for everything that writes; the last rule that fits counts.
        allowed: dict[str, Any] = {"*": "deny", **dict.fromkeys(sorted(granted(self, task)), "allow")}
        if skills:  # not the one that it brings itself
            allowed["skill"] = {"*": "deny", **{skill.name: "allow" for skill in skills}}
        settings: dict[str, Any] = {
            "model": f"gateway/{model}", "small_model": f"gateway/{model}", "share": "disabled", "autoupdate": False,
            "snapshot": False, "lsp": False, "formatter": False, "permission": allowed,
            "enabled_providers": ["gateway"],
            "experimental": {"mcp_timeout": max(60_000, int(task.limits.timeout_sec * 1000))},
            "provider": {"gateway": {
                "npm": "@ai-sdk/openai-compatible", "name": "gateway",
                "options": {"baseURL": endpoint.base_url, "apiKey": endpoint.key or "", "timeout": False},
                "models": {model: {"id": endpoint.model, "name": model, "tool_call": True,
                                   "limit": {"context": 200_000, "output": 32_000}}},
            }},
        }  # fmt: skip
        if mcp is not None:
            allowed[f"{mcp.server}_*"] = "allow"
            server = {"type": "local", "command": list(mcp.argv), "enabled": True, "timeout": 30_000}
            settings["mcp"] = {mcp.server: server}
        env = {"OPENCODE_CONFIG": f"{task.sandbox.home}/.agent/opencode.json"}
        env |= {f"OPENCODE_DISABLE_{name}": "1" for name in OFF}
        beside = f"{program[0].rpartition('/opencode-linux-')[0]}/{RIPGREP}"
        argv = ("/bin/bash", "-c", START, "opencode", beside, *program)
        flags = ("run", "--format", "json", "--thinking", "--title", "task")
        return Launch((*argv, *flags), env, {".agent/opencode.json": json.dumps(settings)}, task.prompt.encode())

    def follow(self, line: bytes) -> Activity | None:
        """Calls; they are told when they have ended."""
        one = record(line) or {}
        if one.get("type") != "tool_use":
            return None
        return Activity("tool_call", {"name": text(mapping(one.get("part")).get("tool")), "phase": "ended"})

    def read(self, left: Left, task: AgentTask) -> Reading:
        """Steps, tokens and end from the events on stdout. Calls are told when they end: ids tell their order."""
        events = [record(line) or {} for _, line in left.lines()]
        told, errors, last = Transcript(self, task), list[str](), ""
        for one in sorted(events, key=lambda event: text(mapping(event.get("part")).get("id"))):
            part = mapping(one.get("part"))
            reply, when = text(part.get("messageID")), _seconds(mapping(part.get("time")).get("start"))
            match one.get("type"):
                case "text":
                    told.said(reply, text(part.get("text")), when)
                    last = text(part.get("text")) or last
                case "reasoning":
                    told.thought(reply, text(part.get("text")), when)
                case "tool_use":
                    _call(told, reply, part)
                case "step_finish":
                    told.metered(reply, _usage(mapping(part.get("tokens"))))
                case "error":
                    error = mapping(one.get("error"))
                    errors += tidy(mapping(error.get("data")).get("message"), error.get("name"))[:1]
        reasons = [text(mapping(one.get("part")).get("reason")) for one in events if one.get("type") == "step_finish"]
        end, raw = ENDS.get(reasons[-1], (None, "")) if reasons else (None, "")
        if errors:
            end, raw = EndReason.API_ERROR, "error"
        return Reading(
            steps=told.steps(),
            output=last if end is EndReason.COMPLETED else "",
            end=end,
            raw_end=raw,
            errors=tuple(errors),
            usage=told.total(),
            skills_used=tuple(told.skills),
            session=next((text(one.get("sessionID")) for one in events if "sessionID" in one), ""),
        )


def _call(told: Transcript, reply: str, part: Mapping[str, Any]) -> None:
    """One call with its result; a command's exit is told beside it."""
    state, call = mapping(part.get("state")), text(part.get("callID"))
    name, args, time = text(part.get("tool")), arguments(state.get("input")), mapping(state.get("time"))
    told.called(reply, call, name, args, _seconds(time.get("start")))
    failed = state.get("status") != "completed" or bool(count(mapping(state.get("metadata")).get("exit")))
    result = text(state.get("output")) or text(state.get("error"))
    told.returned(call, result, _seconds(time.get("end")), failed=failed)


def _usage(given: Mapping[str, Any]) -> Usage | None:
    """Its figures leave each other out: input what was cached, output the reasoning."""
    cache = mapping(given.get("cache"))
    plain, output, thought = (count(given.get(name)) or 0 for name in ("input", "output", "reasoning"))
    cached, written = (count(cache.get(name)) or 0 for name in ("read", "write"))
    whole, said = plain + cached + written, output + thought
    return Usage(whole, said, cached, written, thought, whole + said) if whole + said else None


def _seconds(milliseconds: object) -> float:
    return (number(milliseconds) or 0.0) / 1000
