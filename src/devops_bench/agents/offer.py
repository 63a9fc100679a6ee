"""What the agent `api` offers to its model: tools of its own, the skill tool, and those of a granted MCP server."""

from __future__ import annotations

from collections.abc import Sequence

from devops_bench.agents.base import AgentTask
from devops_bench.agents.model_client import ToolSpec
from devops_bench.agents.skills import Skill
from devops_bench.errors import ConfigError

TIME = {"type": "number", "description": "seconds, default 120"}
TOOLS = {
    "bash": ToolSpec(
        "bash",
        "Run a bash command in the working folder. Each call is a new shell; files and background processes stay.",
        {
            "type": "object",
            "properties": {"command": {"type": "string"}, "timeout_sec": TIME},
            "required": ["command"],
        },
    ),
    "kubectl": ToolSpec(
        "kubectl",
        "Run kubectl. `args` is what follows the word kubectl, quoted as in a shell; `stdin` is for -f -.",
        {
            "type": "object",
            "properties": {"args": {"type": "string"}, "stdin": {"type": "string"}, "timeout_sec": TIME},
            "required": ["args"],
        },
    ),
    "file": ToolSpec(
        "file",
        "read or list a path; write `content` to it; edit it by replacing `old`, which must occur once, with `new`.",
        {
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": ["read", "write", "edit", "list"]},
                "path": {"type": "string"},
                "content": {"type": "string"},
                "old": {"type": "string"},
                "new": {"type": "string"},
            },
            "required": ["action", "path"],
        },
    ),
    "skill": ToolSpec(
        "skill",
        "Read a skill's instructions by name.",
        {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    ),
}


def offered(task: AgentTask, skills: Sequence[Skill]) -> list[ToolSpec]:
    """The agent's own tools: kubectl only with a cluster, skill only with skills, none that is not allowed.

    AGENT_ALLOWED_TOOLS names tools of the MCP server too; the gateway has narrowed the server to them already.
    """
    names = ["bash", "file"]
    if task.sandbox.spec.kubeconfig is not None:
        names.insert(1, "kubectl")
    allowed, mcp = task.grants.allowed_tools, task.grants.mcp
    known = (
        {*TOOLS, *(name for tool in mcp.tools for name in (tool, f"mcp__{mcp.server}__{tool}"))} if mcp else {*TOOLS}
    )
    unknown = sorted(set(allowed) - known)
    if unknown:
        there = ", ".join([*TOOLS, *(mcp.tools if mcp else ())])
        raise ConfigError(f"AGENT_ALLOWED_TOOLS names {', '.join(unknown)}", fix=f"agent api has {there}")
    names = [name for name in names if not allowed or name in allowed]
    return [TOOLS[name] for name in [*names, *(["skill"] if skills else [])]]
