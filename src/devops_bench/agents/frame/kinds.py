"""Whose tool a call was, told from its name alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from devops_bench.agents.base import AgentTask, ToolCall, ToolKind
from devops_bench.agents.frame.types import Cli

_SKILL_FILE = re.compile(r"([a-z0-9][a-z0-9-]{0,63})/SKILL\.md")


def kind_of(cli: Cli, task: AgentTask, name: str) -> ToolKind:
    """`mcp` when it is named as this CLI names a tool of the granted server, `skill` for a tool that uses skills."""
    if name in cli.skill_tools:
        return ToolKind.SKILL
    if task.grants.mcp is not None and cli.mcp_name:
        head, _, tail = cli.mcp_name.partition("{tool}")
        if re.fullmatch(f"{_literal(head, task.grants.mcp.server)}.+{_literal(tail, '')}", name, re.DOTALL):
            return ToolKind.MCP
    return ToolKind.BUILTIN


def granted(cli: Cli, task: AgentTask) -> frozenset[str]:
    """The CLI's own tools that the model may have: AGENT_ALLOWED_TOOLS narrows them where it names any of them."""
    return cli.builtin_tools & frozenset(task.grants.allowed_tools) or cli.builtin_tools


def skill_file(args: Mapping[str, Any]) -> str | None:
    """The skill whose SKILL.md a call's arguments name: how agents without a tool for it use one."""
    for value in args.values():
        found = _SKILL_FILE.search(value) if isinstance(value, str) else None
        if found is not None:
            return found[1]
    return None


def waited(calls: Iterable[ToolCall]) -> float:
    """Seconds in which at least one of the calls ran: parallel ones count once."""
    total, until = 0.0, 0.0
    for started, ended in sorted((call.started, call.ended) for call in calls if call.started > 0):
        total += max(0.0, ended - max(started, until))
        until = max(until, ended)
    return total


def _literal(form: str, server: str) -> str:
    return re.escape(form.replace("{server}", server))
