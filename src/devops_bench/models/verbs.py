"""From a scenario's verbs to the tools that a request really offers: one table for all agents.

A request names its tools and gives their schemas. The tables say under which names agents know a verb and what they
call its arguments; which of them is meant is read from the schema, so that a renamed argument still works. Agents
without a file or skill tool (Codex) get the same done by their shell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from devops_bench.models.scenario import File, Mcp, Shell, Skill, Tool
from devops_bench.models.wire import Conversation, MadeCall, Offered, call_id

Verb = Shell | File | Mcp | Skill | Tool

# Verb -> names of its tool: api agent, Gemini CLI, Claude Code, OpenClaw, OpenCode, Codex, kubectl-ai.
TOOLS: Mapping[str, tuple[str, ...]] = {
    "shell": ("bash", "Bash", "run_shell_command", "exec", "exec_command", "shell_command", "shell"),
    "read": ("file", "read_file", "Read", "read"),
    "write": ("file", "write_file", "Write", "write"),
    "edit": ("file", "replace", "Edit", "edit"),
    "skill": ("activate_skill", "Skill", "skill"),
}
# What agents call an argument; the first is taken where the schema does not tell.
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "command": ("command", "cmd"),
    "path": ("path", "file_path", "filePath", "absolute_path"),
    "content": ("content", "contents"),
    "old": ("old", "old_string", "oldText", "oldString"),
    "new": ("new", "new_string", "newText", "newString"),
    "action": ("action",),
    "name": ("name", "skill", "skill_name", "command"),
}
# How agents name the tool of an MCP server; `{server}` is a pattern where the scenario leaves it open.
MCP_NAMES: tuple[str, ...] = (
    "mcp__{server}__{tool}",
    "mcp_{server}_{tool}",
    "{server}__{tool}",
    "{server}_{tool}",
    "{tool}",
)
_LAST_RESULT = re.compile(r"\{\{\s*last_result\s*\}\}")
_FILLERS: Mapping[str, Any] = {
    "string": "scripted",
    "boolean": False,
    "integer": 0,
    "number": 0,
    "array": [],
    "object": {},
}


class NoToolError(Exception):
    """The request offers no tool for a verb; the message names what there is."""


def make_calls(verbs: Iterable[Verb], conversation: Conversation) -> tuple[MadeCall, ...]:
    """The calls of one turn, with unique ids. Raises NoToolError."""
    made = []
    for number, verb in enumerate(verbs):
        tool, args = _bind(verb, conversation)
        args = fill(args, conversation)
        made.append(MadeCall(call_id(conversation.turns, number), tool.name, args, tool.namespace))
    return tuple(made)


def fill(value: Any, conversation: Conversation) -> Any:
    """`value` with every `{{last_result}}` replaced by the tool results of the turn before."""
    if isinstance(value, str):
        return _LAST_RESULT.sub(lambda _: "\n".join(conversation.results), value)
    if isinstance(value, Mapping):
        return {key: fill(item, conversation) for key, item in value.items()}
    return [fill(item, conversation) for item in value] if isinstance(value, list) else value


def _bind(verb: Verb, conversation: Conversation) -> tuple[Offered, dict[str, Any]]:
    tools = conversation.tools
    match verb:
        case Tool(name=name, args=args):
            return next((tool for tool in tools if tool.name == name), Offered(name)), dict(args)
        case Shell(command=command):
            return _shell(command, tools)
        case Mcp(tool=name, server=server, args=args):
            return _mcp(name, server, tools), dict(args)
        case Skill(name=name):
            found = _find("skill", tools)
            if found is not None:
                return found, arguments(found, {"name": name})
            return _bind(File(action="read", path=_skill_path(name, conversation)), conversation)
        case File():
            return _file(verb, tools)


def _shell(command: str, tools: tuple[Offered, ...]) -> tuple[Offered, dict[str, Any]]:
    found = _find("shell", tools)
    if found is None:
        raise _missing("shell", tools)
    return found, arguments(found, {"command": command})


def _file(verb: File, tools: tuple[Offered, ...]) -> tuple[Offered, dict[str, Any]]:
    values = {"path": verb.path}
    if verb.action == "write":
        values["content"] = verb.content
    elif verb.action == "edit":
        values |= {"old": verb.old, "new": verb.new}
    found = _find(verb.action, tools)
    if found is None:
        if _find("shell", tools) is None:
            raise _missing(f"file ({verb.action})", tools)
        return _shell(_by_shell(verb), tools)
    if found.name == "file":
        values["action"] = verb.action
    return found, arguments(found, values)


def _by_shell(verb: File) -> str:
    path = shlex.quote(verb.path)
    if verb.action == "read":
        return f"cat {path}"
    if verb.action == "write":
        return f'mkdir -p "$(dirname {path})" && printf %s {shlex.quote(verb.content)} > {path}'
    program = (
        "import sys; p, a, b = sys.argv[1:]; t = open(p).read(); assert a in t; open(p, 'w').write(t.replace(a, b, 1))"
    )
    return f"python3 -c {shlex.quote(program)} {path} {shlex.quote(verb.old)} {shlex.quote(verb.new)}"


def _mcp(names: str, server: str | None, tools: tuple[Offered, ...]) -> Offered:
    """The tool of the first of several names (`a|*list*`) that some tool has; `*` stands for anything."""
    for name in names.split("|"):
        found = _mcp_named(name, server, tools)
        if found is not None:
            return found
    raise _missing(f"mcp ({names})", tools)


def _mcp_named(name: str, server: str | None, tools: tuple[Offered, ...]) -> Offered | None:
    known = re.escape(server) if server else r".+?"
    own = re.escape(name).replace(r"\*", ".*")
    for tool in tools:
        if tool.namespace and re.fullmatch(own, tool.name) and re.fullmatch(f"(?:mcp__)?{known}", tool.namespace):
            return tool
    for form in MCP_NAMES:
        if "*" in name and (form == "{tool}" or (form == "{server}_{tool}" and not server)):
            continue  # a pattern alone would take any tool for one of a server
        pattern = re.compile(re.escape(form).replace(r"\{server\}", known).replace(r"\{tool\}", own))
        for tool in tools:
            if pattern.fullmatch(tool.name):
                return tool
    return None


def _skill_path(name: str, conversation: Conversation) -> str:
    """Agents without a skill tool list the paths of their skills to the model, which reads them."""
    text = f"{conversation.system}\n{conversation.prompt}"
    found = re.search(rf"[^\s\"'`<>()]*/{re.escape(name)}/SKILL\.md", text)
    if found is None:
        raise NoToolError(f"the request offers no skill tool and names no {name}/SKILL.md")
    # Codex shortens paths: a table of roots says what the first part stands for.
    alias, _slash, rest = found[0].partition("/")
    root = re.search(rf"`{re.escape(alias)}` = `([^`]+)`", text) if alias else None
    return f"{root[1]}/{rest}" if root else found[0]


def _find(verb: str, tools: tuple[Offered, ...]) -> Offered | None:
    named = {tool.name: tool for tool in tools if tool.namespace is None}
    return next((named[name] for name in TOOLS[verb] if name in named), None)


def _missing(what: str, tools: tuple[Offered, ...]) -> NoToolError:
    names = ", ".join(sorted(tool.name for tool in tools)[:40]) or "none"
    return NoToolError(f"the scenario wants {what}, but the request's tools are: {names}")


def arguments(tool: Offered, values: Mapping[str, str]) -> dict[str, Any]:
    """`values` under the tool's own names, and something harmless for what else it requires."""
    properties: Mapping[str, Any] = tool.schema.get("properties") or {}
    args: dict[str, Any] = {}
    if "edits" in properties and "old" in values and not set(ARGUMENTS["old"]) & set(properties):
        item = Offered("", properties["edits"].get("items") or {})
        args["edits"] = [arguments(item, {key: values[key] for key in ("old", "new")})]
        values = {key: value for key, value in values.items() if key not in {"old", "new"}}
    for key, value in values.items():
        name = next((alias for alias in ARGUMENTS[key] if alias in properties), ARGUMENTS[key][0])
        args[name] = ["bash", "-lc", value] if _kind(properties.get(name)) == "array" else value
    for name in tool.schema.get("required") or []:
        if name not in args:
            args[name] = _filler(properties.get(name) or {})
    return args


def _kind(schema: object) -> str:
    kind = schema.get("type", "") if isinstance(schema, Mapping) else ""
    return str(kind[0] if isinstance(kind, list) and kind else kind).lower()


def _filler(schema: Mapping[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    return _FILLERS.get(_kind(schema), "scripted")
