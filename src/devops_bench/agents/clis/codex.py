"""Codex CLI: `codex exec --json`, config.toml in, its rollout file out (checked with 0.171.0).

Its newest models get one tool that runs JavaScript, in which all others hide: no grant could be proved. So its own list
of models is given back to it with that mode off. Why a reply ended it does not tell: that is the gateway's to know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from devops_bench.agents.base import AgentTask, EndReason, Usage
from devops_bench.agents.frame.home import Home
from devops_bench.agents.frame.kinds import granted
from devops_bench.agents.frame.loose import arguments, count, mapping, moment, record, text, words
from devops_bench.agents.frame.record import Transcript
from devops_bench.agents.frame.types import Activity, Launch, Left, Reading
from devops_bench.agents.skills import Skill
from devops_bench.errors import ConfigError

# Arguments: how many words the program has, the program, its flags.
START = r"""
codex=("${@:2:$1}") list="$CODEX_HOME/models.json"; shift
if "${codex[@]}" debug models 2>/dev/null | sed -E -e 's/"tool_mode": *"[a-z_]*"/"tool_mode":null/g' \
  -e 's/"(use_responses_lite|supports_search_tool)": *true/"\1":false/g' \
  -e 's/"experimental_supported_tools": *\[[^]]*\]/"experimental_supported_tools":[]/g' >"$list" && [ -s "$list" ]
then set -- "$@" -c "model_catalog_json='$list'"; fi
exec "$@"
"""
OFF = (
    "allow_login_shell", "check_for_update_on_startup", "agents.enabled", "analytics.enabled", "skills.bundled.enabled",
    "features.plugins", "features.remote_plugin", "features.apps", "features.goals", "features.memories",
    "features.image_generation", "features.unbounded_connection_retries",
    "shell_environment_policy.ignore_default_excludes",  # no key or token for commands
)  # fmt: skip
GATEWAY = {"name": "gateway", "env_key": "OPENAI_API_KEY", "wire_api": "responses", "request_max_retries": 0,
           "stream_max_retries": 0}  # fmt: skip
_FAILED = re.compile(r"^unsupported call: |^Process exited with code [1-9]", re.MULTILINE)


class Codex:
    """The adapter."""

    key, title, package, binary = "codex", "Codex CLI", "@openai/codex", "codex"
    wires = ("openai-responses",)
    skills_folder = ".codex/skills"
    mcp_name = "mcp__{server}__{tool}"
    builtin_tools = frozenset({"apply_patch", "exec_command", "request_user_input", "view_image", "write_stdin"})
    skill_tools: frozenset[str] = frozenset()
    mcp_tools = frozenset({"list_mcp_resource_templates", "list_mcp_resources", "read_mcp_resource"})

    def launch(self, task: AgentTask, program: Sequence[str], skills: Sequence[Skill]) -> Launch:
        """All settings in one file; the prompt by standard input. ConfigError for a tool that it cannot leave out."""
        if granted(self, task) != self.builtin_tools:
            raise ConfigError("agent codex cannot leave out its own tools", fix="name MCP tools in AGENT_ALLOWED_TOOLS")
        patience = max(
            60, int(task.limits.timeout_sec)
        )  # how long a model or tool may be silent is the gateways' to say
        provider = {**GATEWAY, "base_url": task.model_endpoint.base_url, "stream_idle_timeout_ms": patience * 1000}
        settings: dict[str, Any] = {
            "model": task.model_endpoint.model, "model_provider": "gateway", "approval_policy": "never",
            "sandbox_mode": "danger-full-access", "web_search": "disabled", **dict.fromkeys(OFF, False),
            **{f"model_providers.gateway.{name}": value for name, value in provider.items()},
        }  # fmt: skip
        if (mcp := task.grants.mcp) is not None:
            server = {"command": mcp.argv[0], "args": mcp.argv[1:], "required": True, "startup_timeout_sec": 30}
            server["tool_timeout_sec"] = patience
            settings |= {f"mcp_servers.{json.dumps(mcp.server)}.{name}": value for name, value in server.items()}
        config = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
        env = {"CODEX_HOME": f"{task.sandbox.home}/.codex", "OPENAI_API_KEY": task.model_endpoint.key or ""}
        argv = ("/bin/bash", "-c", START, "codex", str(len(program)), *program, "exec", "--json")
        flags = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
        return Launch((*argv, *flags), env, {".codex/config.toml": config}, task.prompt.encode())

    def follow(self, line: bytes) -> Activity | None:
        """Commands and MCP calls as they begin."""
        one = record(line) or {}
        item = mapping(one.get("item")) if one.get("type") == "item.started" else {}
        name = text(item.get("tool")) or ("exec_command" if "command" in item else "")
        return Activity("tool_call", {"name": name, "phase": "started"}) if name else None

    def read(self, left: Left, task: AgentTask) -> Reading:
        """The end from stdout, the steps from the rollout of the same thread."""
        events = [record(line) or {} for _, line in left.lines()]
        thread = next((text(one.get("thread_id")) for one in events if one.get("type") == "thread.started"), "")
        told = Transcript(self, task)
        home = Home(left.home)
        for name in home.files(".codex/sessions", f"{thread}.jsonl") if thread else ():
            _rollout(told, (home.read(name) or b"").split(b"\n"))
        said = [mapping(one.get("item")) for one in events if mapping(one.get("item")).get("type") == "agent_message"]
        closing = [{}, *(one for one in events if text(one.get("type")).startswith("turn."))][-1]
        end, raw, errors = _end(closing)
        output = text(said[-1].get("text")) if said and end is EndReason.COMPLETED else ""
        usage = _usage(mapping(closing.get("usage")))
        mcp, lost = task.grants.mcp, b"required MCP servers failed" in left.stderr
        servers = {mcp.server: "failed"} if mcp is not None and lost else {}
        return Reading(told.steps(), output, end, raw, errors, usage, None, (), tuple(told.skills), servers, thread)


def _rollout(told: Transcript, lines: Sequence[bytes]) -> None:
    """Items of the conversation in order; what belongs to one reply ends with a record of its tokens."""
    reply, failed, model = 0, set(), ""
    for one in (record(line) or {} for line in lines):
        item, when, kind = mapping(one.get("payload")), moment(one.get("timestamp")), text(one.get("type"))
        call, what = text(item.get("call_id")), text(item.get("type"))
        if kind == "turn_context":
            model = text(item.get("model"))
        elif kind == "token_usage_record":
            told.metered(str(reply), _usage(mapping(item.get("usage"))))
            reply += 1
        elif kind == "event_msg" and mapping(item.get("item")).get("status") == "failed":
            failed.add(text(mapping(item.get("item")).get("id")))
        elif kind == "response_item" and what == "message" and item.get("role") == "assistant":
            told.said(str(reply), words(item.get("content")), when, model)
        elif kind == "response_item" and what == "reasoning":
            told.thought(str(reply), words(item.get("summary")), when, model)
        elif kind == "response_item" and what in {"function_call", "custom_tool_call"}:
            name = "__".join(filter(None, [text(item.get("namespace")), text(item.get("name"))]))
            args = arguments(item.get("arguments")) if what == "function_call" else {"input": text(item.get("input"))}
            told.called(str(reply), call, name, args, when, model)
        elif kind == "response_item" and what in {"function_call_output", "custom_tool_call_output"}:
            result = words(item.get("output"))
            told.returned(call, result, when, failed=call in failed or bool(_FAILED.search(result[:400])))


def _usage(given: Mapping[str, Any]) -> Usage | None:
    """Input includes what was cached, output the reasoning."""
    names = ("input", "output", "cached_input", "cache_write_input", "reasoning_output")
    whole, output, cached, written, thought = (count(given.get(f"{name}_tokens")) for name in names)
    total = (whole or 0) + (output or 0)
    return Usage(whole, output, cached, written, thought, total) if total else None


def _end(closing: Mapping[str, Any]) -> tuple[EndReason | None, str, tuple[str, ...]]:
    """The end in the words of the last `turn.` event. A reply that its limit of tokens cut off is the model's doing."""
    said = text(mapping(closing.get("error")).get("message"))
    if closing.get("type") == "turn.completed":
        return EndReason.COMPLETED, "", ()
    if closing.get("type") != "turn.failed":
        return None, "", ()
    if said.startswith("Incomplete response"):
        refused = "content_filter" in said
        end = EndReason.REFUSED if refused else EndReason.COMPLETED
        return end, "content_filter" if refused else "max_tokens", (said,)
    status = re.search(r"\bstatus:? (\d{3})\b", said)
    return EndReason.API_ERROR, f"http_{status[1]}" if status else "error", (said,)
