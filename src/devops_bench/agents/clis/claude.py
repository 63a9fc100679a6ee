"""Claude Code: `claude -p`, its events as JSON lines on stdout (checked with 2.1.332).

Exit code and `subtype` say little: an API failure is a `success` with `is_error`; a failed MCP server shows only in the
first event. Bundled skills, tool search, retries and fallbacks to other models are switched off.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from devops_bench.agents.base import AgentTask, EndReason, Usage
from devops_bench.agents.frame.home import Home
from devops_bench.agents.frame.kinds import granted
from devops_bench.agents.frame.loose import arguments, count, items, mapping, moment, number, record, text, words
from devops_bench.agents.frame.record import Transcript
from devops_bench.agents.frame.types import Activity, Launch, Left, Reading
from devops_bench.agents.skills import Skill

MCP_FILE = ".claude/mcp.json"
SYNTHETIC = "<synthetic>"  # the model of messages that the CLI writes itself
OFF = {f"cc-plugin-{name}@builtin": False for name in ("agents-md", "privacy", "plugin-authoring")}
NO_PLUGINS = ("--settings", json.dumps({"enabledPlugins": OFF}))  # they come with the CLI; one brings a skill
ON = (
    "IS_SANDBOX", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_GROWTHBOOK",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY", "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS", "CLAUDE_CODE_DISABLE_REFUSAL_RETRY",
    "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK", "CLAUDE_CODE_NO_MODEL_FALLBACK",
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
)  # fmt: skip


class Claude:
    """The adapter."""

    key, title, package, binary = "claude", "Claude Code", "@anthropic-ai/claude-code", "claude"
    wires, skills_folder = ("anthropic",), ".claude/skills"
    mcp_name = "mcp__{server}__{tool}"
    builtin_tools = frozenset({"Bash", "Edit", "Glob", "Grep", "Read", "Write"})
    skill_tools = frozenset({"Skill"})

    def launch(self, task: AgentTask, program: Sequence[str], skills: Sequence[Skill]) -> Launch:
        """One conversation without a terminal; of the user's settings nothing but the place of skills is read."""
        tools = sorted(granted(self, task) | (self.skill_tools if skills else frozenset()))
        argv = [
            *program, "-p", "--output-format", "stream-json", "--verbose", "--model", task.model_endpoint.model,
            "--permission-mode", "bypassPermissions", "--tools", ",".join(tools), "--strict-mcp-config", *NO_PLUGINS,
            "--max-turns", str(task.limits.max_turns), "--session-id", str(uuid.uuid5(uuid.NAMESPACE_OID, task.prompt)),
            *(["--setting-sources=user"] if skills else ["--setting-sources=", "--disable-slash-commands"]),
        ]  # fmt: skip
        files = {}
        if (mcp := task.grants.mcp) is not None:
            server = {"type": "stdio", "command": mcp.argv[0], "args": mcp.argv[1:]}
            files[MCP_FILE] = json.dumps({"mcpServers": {mcp.server: server}})
            argv += ["--mcp-config", f"{task.sandbox.home}/{MCP_FILE}"]
        patience = str(int(max(task.limits.timeout_sec, 60) * 1000))  # a silent model is the gateway's to end
        env = {
            **dict.fromkeys(ON, "1"),
            "ANTHROPIC_BASE_URL": task.model_endpoint.base_url or "",
            "ANTHROPIC_API_KEY": task.model_endpoint.key or "",
            "ENABLE_TOOL_SEARCH": "false",
            "MCP_TIMEOUT": "30000",
            **dict.fromkeys(("CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_ATTRIBUTION_HEADER"), "0"),
            **dict.fromkeys(("API_TIMEOUT_MS", "CLAUDE_STREAM_IDLE_TIMEOUT_MS"), patience),
        }
        return Launch(tuple(argv), env, files, task.prompt.encode())

    def follow(self, line: bytes) -> Activity | None:
        """Tool calls: each comes as a message of its own."""
        one = record(line) or {}
        calls = [block for block in map(mapping, items(mapping(one.get("message")).get("content"))) if "input" in block]
        return Activity("tool_call", {"name": text(calls[0].get("name")), "phase": "started"}) if calls else None

    def read(self, left: Left, task: AgentTask) -> Reading:
        """Messages of one id are one reply; results come as messages of the user."""
        told = Transcript(self, task)
        begun: Mapping[str, Any] = {}
        result: Mapping[str, Any] = {}
        for arrived, line in left.lines():
            one = record(line) or {}
            message, when = mapping(one.get("message")), moment(one.get("timestamp"), arrived)
            begun = begun or (one if one.get("subtype") == "init" else {})  # a later one may be the agent's own writing
            result = one if one.get("type") == "result" else result
            for block in map(mapping, items(message.get("content"))):
                if message.get("model") != SYNTHETIC:
                    self._block(told, message, block, when)
        session = text(begun.get("session_id"))
        told.usage |= _usages(Home(left.home), session)
        servers = map(mapping, items(begun.get("mcp_servers")))
        return Reading(
            steps=told.steps(),
            output="" if result.get("is_error") else text(result.get("result")),
            usage=_usage(mapping(result.get("usage"))),
            cost_usd=number(result.get("total_cost_usd")),
            served_models=told.models(),
            skills_used=tuple(told.skills),
            mcp_servers={text(server.get("name")): text(server.get("status")) for server in servers},
            session=session,
            **_end(result),
        )

    def _block(self, told: Transcript, message: Mapping[str, Any], block: Mapping[str, Any], when: float) -> None:
        reply, model, said = text(message.get("id")), text(message.get("model")), text(block.get("text"))
        match block.get("type"), message.get("role"):
            case "text", "assistant":
                told.said(reply, said, when, model)
            case "text", _:
                told.added(said)  # a skill's text follows its call as a message of its own
            case "thinking", _:
                told.thought(reply, text(block.get("thinking")), when, model)
            case "tool_use", _:
                name, args = text(block.get("name")), arguments(block.get("input"))
                told.called(reply, text(block.get("id")), name, args, when, model)
            case "tool_result", _:
                call, result = text(block.get("tool_use_id")), words(block.get("content"))
                told.returned(call, result, when, failed=block.get("is_error") is True)


def _usages(home: Home, session: str) -> dict[str, Usage]:
    """Each reply's tokens: stdout has only those of its beginning, the session's file the final ones."""
    found = {}
    for name in home.files(".claude/projects", f"{session}.jsonl") if session else ():
        for line in (home.read(name) or b"").split(b"\n"):
            message = mapping((record(line) or {}).get("message"))
            found[text(message.get("id"))] = _usage(mapping(message.get("usage")))
    return {name: usage for name, usage in found.items() if usage is not None}


def _usage(given: Mapping[str, Any]) -> Usage | None:
    """`input_tokens` leaves out what was read from or written to the cache; ours counts all."""
    cached, written = (count(given.get(f"cache_{kind}_input_tokens")) or 0 for kind in ("read", "creation"))
    whole, output = (count(given.get("input_tokens")) or 0) + cached + written, count(given.get("output_tokens")) or 0
    thought = count(mapping(given.get("output_tokens_details")).get("thinking_tokens"))
    return Usage(whole, output, cached, written, thought, whole + output) if whole or output else None


def _end(result: Mapping[str, Any]) -> dict[str, Any]:
    """The end in the words of the result event; nothing when there is none."""
    reason, status = text(result.get("terminal_reason")), count(result.get("api_error_status"))
    said = tuple(filter(None, [text(result.get("result")), *map(text, items(result.get("errors")))]))
    if not result:
        return {}
    if reason == "max_turns":
        return {"end": EndReason.MAX_TURNS, "raw_end": reason, "errors": said}
    if not result.get("is_error"):
        return {"end": EndReason.COMPLETED, "raw_end": text(result.get("stop_reason"))}
    end = EndReason.API_ERROR if status or reason == "api_error" else EndReason.CRASHED
    return {"end": end, "raw_end": f"http_{status}" if status else reason or "error", "errors": said}
